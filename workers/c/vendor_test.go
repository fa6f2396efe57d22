package c_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"assay/internal/analysis/stat"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

const vendorRounds = 15

// The worker beside the tools that come with the engines, at the same work: the same number of keys
// and values of the same lengths in the same order, one thread, no sync, stored in an empty store
// and then read. The tools time whole runs, their opening and closing included.
func TestRateBesideVendorTools(t *testing.T) {
	if !long() {
		t.Skip("takes minutes and a quiet machine: set ASSAY_LONG=1")
	}
	t.Run("tchtest", func(t *testing.T) {
		tool := vendorTool(t, "tchtest", "tokyocabinet-bin")
		const records = 1_000_000
		w := timing{program: plain.worker(t, "tokyocabinet"), driver: "tokyocabinet-hash", durability: store.D1, handles: control.HandlesShared,
			operation: trace.Read, threads: 1, records: records, order: trace.Sequential, laps: 1,
			keys: keyval.KeyShape{Format: keyval.Decimal, Digits: 8}, valueBytes: 8}
		compareWithVendor(t, w, func(t *testing.T, directory string) (stored, read float64) {
			file := filepath.Join(directory, "vendor.tch")
			stored = vendorSays(t, `(?m)^time: ([0-9.]+)`, tool, "write", "-mt", file, strconv.Itoa(records))
			read = vendorSays(t, `(?m)^time: ([0-9.]+)`, tool, "read", "-mt", file)
			return stored * 1e9 / records, read * 1e9 / records
		})
	})
	// The tool's numbers and flags are random ones; these have about the same lengths. Each record
	// is of four columns on either side.
	t.Run("tcttest", func(t *testing.T) {
		tool := vendorTool(t, "tcttest", "tokyocabinet-bin")
		const records = 500_000
		text := func(name string, s keyval.Sequence) keyval.Column {
			return keyval.Column{Name: name, Type: store.TextColumn, Sequence: &s}
		}
		w := timing{program: plain.worker(t, "tokyocabinet"), driver: "tokyocabinet-table", durability: store.D1, handles: control.HandlesShared,
			operation: trace.Read, threads: 1, records: records, order: trace.Sequential, laps: 1,
			keys: keyval.KeyShape{Format: keyval.Decimal},
			columns: []keyval.Column{text("str", keyval.Sequence{Add: 1}), text("num", keyval.Sequence{Add: 1}), text("type", keyval.Sequence{Modulo: 32, Add: 1}),
				text("flag", keyval.Sequence{Prefix: "3,", Modulo: 20})}}
		compareWithVendor(t, w, func(t *testing.T, directory string) (stored, read float64) {
			file := filepath.Join(directory, "vendor.tct")
			stored = vendorSays(t, `(?m)^time: ([0-9.]+)`, tool, "write", "-mt", file, strconv.Itoa(records))
			read = vendorSays(t, `(?m)^time: ([0-9.]+)`, tool, "read", "-mt", file)
			return stored * 1e9 / records, read * 1e9 / records
		})
	})
	// All records stay in the memtable of both, so that no compaction takes part in one and not in
	// the other. db_bench turns off the library's counters (perf_level 1), which every other
	// program pays for (2, kEnableCount, is the default): a quarter of such a read.
	t.Run("db_bench", func(t *testing.T) {
		tool := vendorTool(t, "db_bench", "rocksdb-tools")
		const records = 200_000
		w := timing{program: plain.worker(t, "rocksdb"), driver: "rocksdb", durability: store.D1, handles: control.HandlesShared,
			options: map[string]string{"pipelined_write": "true"}, operation: trace.Read, threads: 1, records: records, laps: 5}
		compareWithVendor(t, w, func(t *testing.T, directory string) (stored, read float64) {
			arguments := []string{"--benchmarks=fillseq,readrandom", "--num=" + strconv.Itoa(records), "--reads=" + strconv.Itoa(5*records), "--key_size=16", "--value_size=100",
				"--compression_type=snappy", "--cache_size=8388608", "--perf_level=2",
				"--threads=1", "--db=" + filepath.Join(directory, "vendor"), "--seed=1"}
			output := vendorOutput(t, tool, arguments...)
			return 1e3 * number(t, `fillseq +: +([0-9.]+) micros/op`, output), 1e3 * number(t, `readrandom +: +([0-9.]+) micros/op`, output)
		})
	})
}

// compareWithVendor runs both sides in turns, each on fresh directories. vendor returns ns a
// record.
func compareWithVendor(t *testing.T, w timing, vendor func(t *testing.T, directory string) (stored, read float64)) {
	t.Helper()
	var stored, read, vendorStored, vendorRead []float64
	for range vendorRounds {
		directory, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		w.worker(t, directory, func(process *conductor.Worker) {
			stored = append(stored, w.load(t, process))
			each, _ := w.timed(t, process)
			read = append(read, each)
		})
		if directory, err = os.MkdirTemp(t.TempDir(), ""); err != nil {
			t.Fatal(err)
		}
		s, r := vendor(t, directory)
		vendorStored, vendorRead = append(vendorStored, s), append(vendorRead, r)
	}
	for _, c := range []struct {
		name           string
		theirs, worker []float64
	}{{"stored", vendorStored, stored}, {"read", vendorRead, read}} {
		rate := stat.Compare([][]float64{c.theirs, c.worker}, stat.Options{}).Pair(0, 1)
		t.Logf("%-6s the tool %.0f ns, the worker %.0f ns a record: %.1f %% of its rate (%.1f to %.1f)", c.name, median(c.theirs), median(c.worker),
			100*rate.Value, 100*rate.Interval.Low, 100*rate.Interval.High)
		if rate.Interval.High < rateLeast {
			t.Errorf("%s: the worker reaches %.1f %% of the tool's rate", c.name, 100*rate.Value)
		}
	}
}

func vendorTool(t *testing.T, name, debianPackage string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s here: apt-get install %s", name, debianPackage)
	}
	return program
}

func vendorOutput(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	output, err := exec.Command(program, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, output)
	}
	return string(output)
}

func vendorSays(t *testing.T, pattern, program string, arguments ...string) float64 {
	t.Helper()
	return number(t, pattern, vendorOutput(t, program, arguments...))
}

// number is the last one that a pattern finds.
func number(t *testing.T, pattern, output string) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(output, -1)
	if len(found) == 0 {
		t.Fatalf("no %s in\n%s", pattern, output)
	}
	value, err := strconv.ParseFloat(found[len(found)-1][1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
