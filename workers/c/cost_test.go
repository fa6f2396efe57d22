package c_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/conductor"
	"assay/internal/control"
	"assay/internal/counters"
	"assay/internal/keyval"
	"assay/internal/trace"
	"assay/store"
)

const (
	costRecords = 100_000
	costRounds  = 9
	costLength  = 500 * time.Millisecond
	costTimeout = time.Minute
)

// timing is one thing that a worker is timed at.
type timing struct {
	program, driver string
	durability      store.Durability
	handles         string
	options         map[string]string
	operation       trace.Operation
	threads         int
	records         uint64
	verify          bool
}

// nsEach loads records where there are any, and returns ns an operation over all threads, by the clock and of processor time.
func (w timing) nsEach(t *testing.T) (clock, processor float64) {
	t.Helper()
	process, err := conductor.Start([]string{w.program}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := process.End(costTimeout); err != nil {
			t.Error(err)
		}
	}()
	open := &control.Open{Driver: w.driver, Directory: t.TempDir(), Durability: w.durability, Handles: w.handles, Options: w.options, Threads: w.threads}
	if err := process.Call(control.Request{Command: control.CommandOpen, Open: open}, costTimeout, nil); err != nil {
		t.Fatal(err)
	}
	sizes := []trace.Size{{Bytes: 100, Weight: 1}}
	if w.records > 0 {
		w.phase(t, process, trace.Spec{Load: true, Records: w.records, Fresh: w.records, Order: trace.Order{Distribution: trace.Sequential},
			Sizes: sizes, Threads: 1}, control.Prepare{Phase: "load", ZeroVersions: true})
	}
	records := max(w.records, costRecords)
	return w.phase(t, process, trace.Spec{Mix: []trace.Share{{Operation: w.operation, Weight: 1}}, Records: records, Fresh: records,
		Order: trace.Order{Distribution: trace.Uniform}, Sizes: sizes, Threads: w.threads, ThreadEntries: 1 << 20, Seed: 1},
		control.Prepare{Phase: "timed", Number: 1, Verify: w.verify, LoadedRecords: w.records, MustHitBelow: w.records, DeadlineNS: int64(costLength)})
}

func (w timing) phase(t *testing.T, process *conductor.Worker, s trace.Spec, p control.Prepare) (clock, processor float64) {
	t.Helper()
	file, err := trace.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	p.Trace, p.Counters, p.Clock = filepath.Join(folder, "trace"), filepath.Join(folder, "counters"), "auto"
	p.Keys = keyval.KeyShape{Format: keyval.Binary, Bytes: 16}
	p.Values = keyval.ValueShape{PoolBytes: 1 << 20, PoolSeed: 1, RepeatedPermille: 500, LengthMax: 100}
	if err := file.Write(p.Trace); err != nil {
		t.Fatal(err)
	}
	c, err := counters.Create(p.Counters, file)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Unmap()
	if err := process.Call(control.Request{Command: control.CommandPrepare, Prepare: &p}, costTimeout, nil); err != nil {
		t.Fatal(err)
	}
	var ran control.Ran
	if err := process.Call(control.Request{Command: control.CommandRun}, costTimeout, &ran); err != nil {
		t.Fatal(err)
	}
	done := uint64(0)
	for _, total := range c.Sample(false).Totals {
		done += total.Outcomes[counters.OK]
		if total.Operations() != total.Outcomes[counters.OK] {
			t.Fatalf("%s: %v of %s, expected ok only", p.Phase, total.Outcomes, total.Operation)
		}
	}
	return float64(c.EndNS()-c.StartNS()) / float64(done), (ran.Runtime["cpu_user_ns"] + ran.Runtime["cpu_system_ns"]) / float64(done)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// What the native harness costs an operation: its rate on the null driver bounds every other.
func TestCostOnTheNullDriver(t *testing.T) {
	if !long() {
		t.Skip("takes a minute and a quiet machine: set ASSAY_LONG=1")
	}
	program := plain.worker(t, "null")
	for _, threads := range []int{1, 2} {
		for _, v := range []struct {
			name      string
			operation trace.Operation
			verify    bool
		}{{"read", trace.Read, false}, {"read, value checked", trace.Read, true}, {"update", trace.Update, false}} {
			var times, processor []float64
			for range costRounds {
				clock, cpu := timing{program: program, driver: "null-c", durability: store.D0, handles: control.HandlesShared,
					operation: v.operation, threads: threads, verify: v.verify}.nsEach(t)
				times, processor = append(times, clock), append(processor, cpu)
			}
			t.Logf("%d thread(s), %-20s %5.1f ns an operation (%.1f to %.1f), of processor time %5.1f", threads, v.name, median(times),
				slices.Min(times), slices.Max(times), median(processor))
		}
	}
}

// rateLeast is the share of a bare loop's rate below which something is wrong with the harness. What is aimed at is 0.97; the rest is room
// for a busy machine, on which single rounds were seen to differ by a third either way.
const rateLeast = 0.75

// The worker's rate of reads beside a loop without a harness on the same engine, in turns. Processor time is compared: what else the
// machine does takes clock time from either.
func TestRateBesideBareLoops(t *testing.T) {
	if !long() {
		t.Skip("takes a minute and a quiet machine: set ASSAY_LONG=1")
	}
	for _, e := range []struct {
		program, bare, driver, handles string
		options                        map[string]string
	}{
		{"tokyocabinet", "bare-tokyocabinet", "tokyocabinet-hash", control.HandlesShared, nil},
		{"lmdb", "bare-lmdb", "lmdb", control.HandlesPerThread, map[string]string{"map_bytes": "1GiB"}},
	} {
		t.Run(e.driver, func(t *testing.T) {
			program := plain.worker(t, e.program)
			bare := plain.tool(t, filepath.Join(plain.folder, e.bare), e.bare)
			var ours, theirs, shares []float64
			for range costRounds {
				folder, err := os.MkdirTemp(t.TempDir(), "bare")
				if err != nil {
					t.Fatal(err)
				}
				output, err := exec.Command(bare, folder, fmt.Sprint(costRecords), fmt.Sprint(costLength.Seconds())).Output()
				if err != nil {
					t.Fatal(err)
				}
				times := strings.Fields(string(output))
				loop, err := strconv.ParseFloat(times[len(times)-1], 64)
				if err != nil {
					t.Fatal(err)
				}
				_, worker := timing{program: program, driver: e.driver, durability: store.D1, handles: e.handles, options: e.options,
					operation: trace.Read, threads: 1, records: costRecords}.nsEach(t)
				ours, theirs, shares = append(ours, worker), append(theirs, loop), append(shares, loop/worker)
			}
			// Neighbours on the machine only ever add time: the least of each side is nearest to its own.
			share := slices.Min(theirs) / slices.Min(ours)
			t.Logf("bare loop %.0f ns of processor time a read, worker %.0f ns: %.1f %% of its rate (median of rounds %.1f %%, all: %.3f)",
				slices.Min(theirs), slices.Min(ours), 100*share, 100*median(shares), shares)
			if share < rateLeast {
				t.Errorf("the worker reaches %.1f %% of a bare loop's rate", 100*share)
			}
		})
	}
}
