package c_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

const (
	vectorsFolder = "../../vectors"
	contract      = "../../docs/worker-contract.md"
)

// All vectors of the contract come out the same in C, none passed over.
func TestVectors(t *testing.T) {
	tool := plain.tool(t, "vectors", "vectors")
	output, err := exec.Command(tool, vectorsFolder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	files, err := filepath.Glob(filepath.Join(vectorsFolder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if name == "mix" && !strings.Contains(string(output), "mix ") || !regexp.MustCompile(`(?m)^`+name+` [1-9]`).Match(output) {
			t.Errorf("%s was held against nothing:\n%s", name, output)
		}
	}
	t.Logf("values held against vectors:\n%s", output)
}

// The check sees a vector that is not right: each file, with its first number or word changed.
func TestVectorsCheckFindsErrors(t *testing.T) {
	tool := plain.tool(t, "vectors", "vectors")
	for name, change := range map[string][2]string{
		"mix":          {`"mix": "e2`, `"mix": "e3`},
		"keys":         {`"key": "00"`, `"key": "10"`},
		"pool":         {`"bytes": 6144`, `"bytes": 6145`},
		"values":       {`"first": "00`, `"first": "01`},
		"short_values": {`"c2"`, `"00"`},
		"checks":       {`"right": true`, `"right": false`},
		"versions":     {`"phase": 3`, `"phase": 4`},
		"traces":       {`"stride": 30`, `"stride": 31`},
		"counters":     {`"slot_bytes": 36992`, `"slot_bytes": 36993`},
		"buckets":      {`"bucket": 506`, `"bucket": 507`},
		"records":      {`"prefix": "mikio"`, `"prefix": "mikip"`},
		"history":      {`"outcome": 6`, `"outcome": 5`},
	} {
		folder := t.TempDir()
		if err := os.CopyFS(folder, os.DirFS(vectorsFolder)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, name+".json")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %s to change", name, change[0])
		}
		if !json.Valid([]byte(changed)) {
			t.Fatalf("%s is no JSON after the change", name)
		}
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if output, err := exec.Command(tool, folder).CombinedOutput(); err == nil {
			t.Errorf("%s: %s was changed to %s, and the check passed:\n%s", name, change[0], change[1], output)
		}
	}
}

// constants returns what the C sources are compiled with, by name.
func constants(t *testing.T) map[string]uint64 {
	t.Helper()
	output, err := exec.Command(plain.tool(t, "vectors", "vectors"), "constants").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint64{}
	for line := range strings.Lines(string(output)) {
		at := strings.LastIndex(line, " ")
		value, err := strconv.ParseUint(strings.TrimSpace(line[at+1:]), 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[line[:at]] = value
	}
	return all
}

// unknownInC are operations that no worker in C does: it refuses a trace with them as one that it does not
// know, as the contract has it.
var unknownInC = map[string]bool{"multi_read": true, "read_or_fill": true, "touch": true, "append": true,
	"get_and_set": true}

// rowsOfOthers begin the rows of the contract's tables that are about these operations alone.
var rowsOfOthers = []string{"absent: of multi-reads", "calls that multi-reads"}

// The C sources and Go's have the same constants.
func TestConstantsAreGos(t *testing.T) {
	got := constants(t)
	want := map[string]uint64{
		"constant histogram_bits": histogram.SubBucketBits, "constant histogram_buckets": histogram.Buckets,
		"constant error_places": counters.ErrorPlaces, "constant stats_max": counters.StatsMax, "constant threads_max": trace.ThreadsMax,
		"constant stamp_bytes": keyval.StampBytes, "constant index_max": keyval.IndexMax,
		"constant flag_due": trace.FlagDue, "constant flag_record_versions": trace.FlagRecordVersions,
		"observed miss": counters.ObservedMiss, "observed wrong": counters.ObservedWrong, "observed error": counters.ObservedError,
		"observed foreign": counters.ObservedForeign, "constant flag_history": trace.FlagHistory,
		"observed not_read": counters.ObservedNotRead, "observed short": counters.ObservedShort,
	}
	for _, name := range trace.OperationNames() {
		o, _ := trace.ParseOperation(name)
		if unknownInC[name] {
			continue
		}
		want["operation "+name] = uint64(o)
	}
	for o := range counters.Outcomes {
		want["outcome "+o.String()] = uint64(o)
	}
	for name, value := range want {
		if c, there := got[name]; !there || c != value {
			t.Errorf("%s is %d in C (there: %v), %d in Go", name, c, there, value)
		}
	}
}

// fieldsOfContract are rows of the contract's tables, by the words that a row begins with, and
// their names in C.
var fieldsOfContract = []struct{ section, words, name string }{
	{"3.1", "magic", "3.1 magic"}, {"3.1", "format version", "3.1 format_version"}, {"3.1", "header bytes", "3.1 header_bytes"},
	{"3.1", "threads", "3.1 threads"}, {"3.1", "slots", "3.1 slots"}, {"3.1", "thread bytes", "3.1 thread_bytes"},
	{"3.1", "histogram sub-bucket bits", "3.1 histogram_bits"}, {"3.1", "histogram buckets", "3.1 histogram_buckets"},
	{"3.1", "error places", "3.1 error_places"}, {"3.1", "flags", "3.1 flags"},
	{"3.1", "offset of the observed versions", "3.1 observed_offset"}, {"3.1", "operation code of each slot", "3.1 operation"}, {"3.1", "query of each slot", "3.1 query"},
	{"3.1", "state", "3.1 state"}, {"3.1", "start", "3.1 start_ns"}, {"3.1", "end", "3.1 end_ns"}, {"3.1", "clock in use", "3.1 clock"},
	{"3.1", "largest difference", "3.1 clock_difference_ns"}, {"3.1", "stop", "3.1 stop"},
	{"3.1", "optional: rounds", "3.1 rounds"}, {"3.1", "optional: the store's own counters", "3.1 stats"},
	{"3.2", "**attempted**", "3.2 attempted"}, {"3.2", "**acknowledged**", "3.2 acknowledged"}, {"3.2", "clock at the end", "3.2 now_ns"},
	{"3.2", "state", "3.2 state"}, {"3.2", "time spent waiting", "3.2 handle_wait_ns"}, {"3.2", "handles opened", "3.2 handles_opened"},
	{"3.2", "largest dispatch lateness", "3.2 lateness_max_ns"}, {"3.2", "25 words", "3.2 late"},
	{"3.2", "ok", "slot ok"}, {"3.2", "miss", "slot miss"}, {"3.2", "lost", "slot lost"}, {"3.2", "conflict", "slot conflict"},
	{"3.2", "wrong value", "slot wrong"}, {"3.2", "error", "slot error"}, {"3.2", "timeout", "slot timeout"},
	{"3.2", "bytes of keys and values written", "slot bytes_sent"}, {"3.2", "bytes of values read", "slot bytes_read"},
	{"3.2", "items", "slot items"}, {"3.2", "longest service time", "slot service_max_ns"},
	{"3.2", "of the wrong", "slot foreign"}, {"3.2", "sort sum", "slot sort_sum"},
	{"3.2", "service-time histogram", "slot service"}, {"3.5", "begin", "3.5 begin_ns"}, {"3.5", "end", "3.5 end_ns"},
	{"3.5", "what", "3.5 what"}, {"3.5", "read", "3.5 read"},
}

// The offsets in the contract's text are those of the C structs; every row of its tables is known
// here.
func TestOffsetsAreTheContracts(t *testing.T) {
	got := constants(t)
	text, err := os.ReadFile(contract)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^\| ([0-9,]+)(?:–[0-9]+)? \|(?: [0-9A-Za-z× ]+ \|)? ([^|]+)`)
	section, seen := "", map[string]bool{}
	operation := regexp.MustCompile(`^\| ([0-9]+) \| ([a-z_]+) \|`)
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, "### "); is {
			section, _, _ = strings.Cut(rest, " ")
		}
		if m := operation.FindStringSubmatch(line); section == "2.4" && m != nil && m[2] != "reserved" {
			seen["operation "+m[2]] = true
			if code, _ := strconv.ParseUint(m[1], 10, 64); !unknownInC[m[2]] && got["operation "+m[2]] != code {
				t.Errorf("operation %s has code %d in the contract, %d in C", m[2], code, got["operation "+m[2]])
			}
		}
		m := row.FindStringSubmatch(line)
		if m == nil || section != "3.1" && section != "3.2" && section != "3.5" {
			continue
		}
		words := strings.TrimSpace(m[2])
		if strings.HasPrefix(words, "reserved") || slices.ContainsFunc(rowsOfOthers, func(of string) bool { return strings.HasPrefix(words, of) }) {
			continue
		}
		offset, err := strconv.ParseUint(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		known := false
		for _, field := range fieldsOfContract {
			if field.section != section || seen[field.name] || !strings.HasPrefix(words, field.words) {
				continue
			}
			known, seen[field.name] = true, true
			if got[field.name] != offset {
				t.Errorf("section %s, %s: offset %d in the contract, %d in C", section, words, offset, got[field.name])
			}
			break
		}
		if !known {
			t.Errorf("section %s has the row %q, which this test does not know", section, words)
		}
	}
	for _, field := range fieldsOfContract {
		if !seen[field.name] {
			t.Errorf("the contract has no row for %s", field.name)
		}
	}
	for _, name := range trace.OperationNames() {
		if !seen["operation "+name] {
			t.Errorf("the contract has no row for operation %s", name)
		}
	}
}
