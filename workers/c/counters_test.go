package c_test

import (
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/execution/control"
	"assay/store"
)

// Every counter that a driver names before a phase has a number in it, none comes or goes until after
// it, and each name in the driver's source is among them: a line that asks the library for a counter
// that it does not have would go unnoticed.
func TestPhaseReportsEveryCounter(t *testing.T) {
	tried := map[string]bool{}
	for _, e := range engines {
		if tried[e.driver] || e.program == "null" {
			continue // other options, or nothing to tell
		}
		tried[e.driver] = true
		t.Run(e.driver, func(t *testing.T) {
			t.Parallel()
			class := store.D3
			if e.driver == "kyotocabinet-tree" {
				class = store.D0 // all that it has
			}
			before, told, after := counted(t, e, class, roundLength)
			if len(before) == 0 {
				t.Fatal("no counters")
			}
			for i, name := range before {
				if math.IsNaN(told[i]) || math.IsInf(told[i], 0) {
					t.Errorf("%s is named, and told as %v", name, told[i])
				}
			}
			if now := slices.Sorted(maps.Keys(after)); !slices.Equal(now, before) {
				t.Errorf("named before the phase: %v; told after it: %v", before, now)
			}
			written := namesInSource(t, e)
			if len(written) == 0 {
				t.Error("no name of a counter was found in the source")
			}
			for _, name := range written {
				if !slices.ContainsFunc(before, name.MatchString) {
					t.Errorf("%v stands in the source and is never told", name)
				}
			}
		})
	}
}

// What the libraries give as text is read from the right place: in a phase that fills many small
// memtables, these counters move. Bytes that are printed in hundredths of a GiB would need a long
// phase, or a fast machine.
func TestCountersMove(t *testing.T) {
	const backgroundThreads = 2 // RocksDB's default
	for _, test := range []struct {
		engine
		class           store.Durability
		moving, bounded []string // bounded: nanoseconds
	}{
		{engine{program: "rocksdb", driver: "rocksdb", options: map[string]string{
			"write_buffer_bytes": "64KiB", "level0_compaction_files": "2", "level0_slowdown_files": "2", "level0_stop_files": "4"}},
			store.D1, []string{"stalls", "stalls_level0_slowdown", "level0_compactions"},
			[]string{"stall_ns", "level0_compaction_ns"}},
		{engine{program: "rocksdb", driver: "rocksdb"}, store.D3, []string{"wal_syncs"}, nil},
		{engine{program: "leveldb", driver: "leveldb", options: map[string]string{"write_buffer_bytes": "64KiB"}},
			store.D1, []string{"level0_compaction_written_bytes"}, nil},
		{engine{program: "sqlite", driver: "sqlite-c"},
			store.D1, []string{"cache_hits", "cache_misses", "cache_pages_written", "file_bytes", "wal_bytes"}, nil},
	} {
		t.Run(test.driver+"/"+string(test.class), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			names, _, after := counted(t, test.engine, test.class, roundLength)
			still := func(name string) bool { return !(after[name] > 0) }
			for length := 4 * roundLength; slices.ContainsFunc(test.moving, still) &&
				length < 2*time.Minute; length *= 4 {
				names, _, after = counted(t, test.engine, test.class, length) // others kept the machine busy
			}
			most := float64(backgroundThreads * time.Since(began))
			for _, name := range slices.Concat(test.moving, test.bounded) {
				if !slices.Contains(names, name) || !(after[name] > 0) {
					t.Errorf("%s is %v after the phase, of %v", name, after[name], after)
				}
			}
			for _, name := range test.bounded {
				if after[name] > most {
					t.Errorf("%s is %v, and no more than %v can have been spent", name, after[name], most)
				}
			}
		})
	}
}

// roundLength is long enough for a round of live counters.
const roundLength = 1500 * time.Millisecond

// counted runs a phase, and returns the counters' names, sorted, their values in the last round, and
// what the store reports when asked after the phase.
func counted(t *testing.T, e engine, class store.Durability, length time.Duration) (names []string, told []float64,
	after map[string]float64) {
	t.Helper()
	worker := openedAs(t, plain.worker(t, e.program), &control.Open{Driver: e.driver, Directory: t.TempDir(),
		Durability: class,
		Handles:    control.HandlesPerThread, Options: e.options, Threads: 1})
	c, prepared := prepared(t, worker, func(p *control.Prepare) { p.DeadlineNS = int64(length) })
	if err := worker.Call(control.Request{Command: control.CommandRun}, costTimeout, nil); err != nil {
		t.Fatal(err)
	}
	rounds, values := c.Stats(len(prepared.Stats))
	if rounds == 0 {
		t.Fatalf("no round of counters in a phase of %v", length)
	}
	var inspected control.Inspected
	if err := worker.Call(control.Request{Command: control.CommandInspect}, costTimeout, &inspected); err != nil {
		t.Fatal(err)
	}
	byName := map[string]float64{}
	for i, name := range prepared.Stats {
		byName[name] = values[i]
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		names, told = append(names, name), append(told, byName[name])
	}
	return names, told, inspected.Stats
}

var (
	comment = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	// What is defined at the outermost level of a file: a function or a table. Blank lines stand
	// between definitions only.
	defined = regexp.MustCompile(`(?m)^[^ \n].*?(\w+)(?:\(|\[\w*\] = \{)`)
	used    = regexp.MustCompile(`(\w+)[(\[]`)
	// A counter's name, or a part of one: "level%d_tables".
	counterName = regexp.MustCompile(`"([a-z][a-z0-9_]*(?:%d[a-z0-9_]*)?)"`)
	// The names of the shared part of Tokyo Cabinet's drivers stand in each driver's own table.
	numberNames = regexp.MustCompile(`\.number_names = \{[^}]*\}`)
)

// kyotoWords are that library's own names of settings, and of counters that have another name here or
// that only one of its two drivers reports.
var kyotoWords = []string{"path", "bnum", "count", "size", "cusage", "lcnt", "icnt", "first", "last", "root", "frgcnt"}

// namesInSource finds the counters' names in what a driver's inspect uses of its own file:
// functions that it calls and tables that it reads.
func namesInSource(t *testing.T, e engine) []*regexp.Regexp {
	t.Helper()
	file := filepath.Join("drivers", e.program+".c")
	switch e.program {
	case "redb":
		file = "rust-redb/src/driver.rs"
	case "tokyocabinet":
		file = filepath.Join("drivers", e.program, strings.TrimPrefix(e.driver, "tokyocabinet-")+".c")
	}
	source := comment.ReplaceAllString(read(t, file), "")
	definitions := map[string]string{}
	for text := range strings.SplitSeq(source, "\n\n") {
		for _, name := range defined.FindAllStringSubmatch(text, -1) {
			definitions[name[1]] = text
		}
	}
	reached := strings.Join(numberNames.FindAllString(source, -1), "\n")
	for open := []string{"inspect"}; len(open) > 0; {
		text := definitions[open[0]]
		delete(definitions, open[0])
		open = open[1:]
		for _, name := range used.FindAllStringSubmatch(text, -1) {
			open = append(open, name[1])
		}
		reached += text
	}
	var names []*regexp.Regexp
	for _, found := range counterName.FindAllStringSubmatch(reached, -1) {
		if e.program != "kyotocabinet" || !slices.Contains(kyotoWords, found[1]) {
			names = append(names, regexp.MustCompile(`(^|_)`+strings.ReplaceAll(found[1], "%d", `\d+`)+`$`))
		}
	}
	return names
}
