package report

import (
	"strings"
	"testing"
	"time"

	"assay/internal/record/recordtest"
	"assay/internal/spec"
	"assay/store"
)

func TestSettingsAreADifferenceFromTheDefaults(t *testing.T) {
	d := store.Description{Options: []store.Option{
		{Name: "bnum", Type: store.Int, Default: "131071"}, {Name: "cache_bytes", Type: store.Bytes, Default: "8388608"}, {Name: "dictionary", Type: store.String},
	}}
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{nil, "all defaults"},
		{map[string]string{"bnum": "131071", "cache_bytes": "8MiB"}, "all defaults"},
		{map[string]string{"bnum": "9", "cache_bytes": "8MiB", "dictionary": "d"}, "options changed from default: bnum=9 (default 131071), dictionary=d"},
		{map[string]string{"cache_bytes": "64MiB"}, "options changed from default: cache_bytes=64MiB (default 8388608)"},
	} {
		if got := changedText(spec.Store{Options: c.options, Description: d}); got != c.want {
			t.Errorf("%v: %q, want %q", c.options, got, c.want)
		}
	}
}

// What is the same of several runs is said once, and what differs is listed.
func TestConditionsOfSeveralRuns(t *testing.T) {
	v := View{Environment: []Fact{
		{"a 1: CPU", "x × 4"}, {"a 1: Memory", "25 GB"}, {"a 1: File system", "ext4 rw"}, {"a 1: fdatasync of 4 KiB", "232 µs (median)"},
		{"b 2: CPU", "x × 4"}, {"b 2: Memory", "17 GB"}, {"b 2: File system", "ext4 rw"}, {"b 2: fdatasync of 4 KiB", "151 µs (median)"},
		{"b 2: Values under zstd", "4 % of their size"}, {"b 2: " + quotaFactName, "tmpfs in memory, 1.00 GB, 1.00 GB of it usable"},
	}}
	const want = "x × 4 · 25 GB or 17 GB of memory · file system ext4 · fdatasync 232 µs or 151 µs · values compress to 4 % with zstd · each trial of b 2 on tmpfs in memory of its own"
	if got := conditionsOf(v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{150 * time.Millisecond: "150 ms", 20 * time.Second: "20 s", 90 * time.Second: "90 s", 10 * time.Minute: "10 min", 1500 * time.Millisecond: "1.5 s"} {
		if got := durationText(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
}

// Whatever two cells differ in, their names do: tables of one name can't be told apart.
func TestCellsOfOneClassHaveDifferentNames(t *testing.T) {
	base := spec.Cell{Durability: store.D1, Records: 1_000_000, ValueBytes: 1_000, Threads: 4, Handles: spec.Shared}
	for what, change := range map[string]func(*spec.Cell){
		"case": func(c *spec.Cell) { c.Case = "tiny" }, "records": func(c *spec.Cell) { c.Records++ }, "value bytes": func(c *spec.Cell) { c.ValueBytes++ },
		"threads": func(c *spec.Cell) { c.Threads++ }, "handles": func(c *spec.Cell) { c.Handles = spec.PerOperation },
		"pool": func(c *spec.Cell) { c.Handles, c.PoolHandles = spec.Pool, 1 }, "memory limit": func(c *spec.Cell) { c.MemoryLimit = 1 << 26 },
		"disk quota": func(c *spec.Cell) { c.DiskQuota = 1 << 26 },
	} {
		one, other := base, base
		if what == "case" {
			one.Case = "large"
		}
		if what == "pool" {
			one.Handles, one.PoolHandles = spec.Pool, 3
		}
		change(&other)
		cells := []spec.Cell{one, other}
		a, b := cellDiffers(cells, 0), cellDiffers(cells, 1)
		if a == "" || a == b {
			t.Errorf("two cells of different %s are called %q and %q", what, a, b)
		}
	}
	cells := []spec.Cell{{Handles: spec.Pool, PoolHandles: 1}, {Handles: spec.PerOperation}}
	if a, b := cellDiffers(cells, 0), cellDiffers(cells, 1); a != "handles pool(1)" || b != "handles per_operation" {
		t.Errorf("handles are called %q and %q, and in the experiment file pool(1) and per_operation", a, b)
	}
	if text := cellText(&spec.Experiment{}, cells[0]); !strings.Contains(text, "a pool of 1 handle,") {
		t.Errorf("a pool of one is described: %s", text)
	}
}

// Every line that opens a table in the text names what tells it from the others.
func TestTextNamesTheCellOfATable(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	for i := range run.Experiment.Cells { // of one class, and different
		run.Experiment.Cells[i].Durability, run.Experiment.Cells[i].Handles, run.Experiment.Cells[i].PoolHandles = store.D1, spec.Pool, i+1
	}
	v, err := Build(run)
	if err != nil {
		t.Fatal(err)
	}
	if label := v.Answers[0].Label; label != "D1 put, handles pool(1)" {
		t.Errorf("the first answer is of %q", label)
	}
	var out strings.Builder
	if err := Text(&out, v, false, 120); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nput, handles pool(1): ", "\nput, handles pool(2): ", "\nget, handles pool(3): "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no table begins %q", strings.TrimSpace(want))
		}
	}
}

// A phase's own threads are those that ran: the cell's beside them would be a second number for one thing.
func TestThreadsOfAPhaseAreSaidOnce(t *testing.T) {
	run := recordtest.Run(recordtest.Example())
	for i := range run.Experiment.Phases {
		if run.Experiment.Phases[i].Name == "put" {
			run.Experiment.Phases[i].Threads = 3
		}
	}
	v, err := Build(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range v.Tables {
		conditions, want, other := table.Doing+". "+table.Cell, " 8 threads", " 3 threads"
		if table.Phase == "put" {
			want, other = other, want
		}
		if strings.Count(conditions, "thread") != 1 || !strings.Contains(conditions, want) || strings.Contains(conditions, other) {
			t.Errorf("%s ran with%s, and its conditions are: %s", table.Phase, want, conditions)
		}
	}
}

func TestLengthsOfAMixture(t *testing.T) {
	for _, c := range []struct {
		sizes []spec.Size
		mean  int
		want  string
	}{
		{nil, 1000, "1,000 B"},
		{[]spec.Size{{Bytes: 1000, Weight: 1}}, 1000, "1,000 B"},
		{[]spec.Size{{Bytes: 4000, Weight: 1}, {Bytes: 24, Weight: 9}}, 422, "24 B (90 %) and 4,000 B (10 %), mean 422 B"},
		{[]spec.Size{{Bytes: 1, Weight: 1}, {Bytes: 2, Weight: 1}, {Bytes: 3, Weight: 1}}, 2, "1 B (33.3 %), 2 B (33.3 %) and 3 B (33.3 %), mean 2 B"},
		{[]spec.Size{{Bytes: 5, Weight: 1}, {Bytes: 2, Weight: 1}, {Bytes: 3, Weight: 1}, {Bytes: 4, Weight: 1}, {Bytes: 1, Weight: 1}}, 3, "1 to 5 B, mean 3 B"},
	} {
		if got := lengthText(&spec.Values{Sizes: c.sizes}, c.mean); got != c.want {
			t.Errorf("%v: %q, want %q", c.sizes, got, c.want)
		}
	}
	e := &spec.Experiment{Values: spec.Values{Sizes: []spec.Size{{Bytes: 24, Weight: 9}, {Bytes: 4000, Weight: 1}}}}
	if text := cellText(e, spec.Cell{Records: 2000, ValueBytes: 422, Threads: 1, Handles: spec.PerThread}); !strings.HasPrefix(text, "2,000 records of 24 B (90 %) and 4,000 B (10 %), mean 422 B, 1 thread") {
		t.Errorf("a mixture of lengths is described: %s", text)
	}
	if text := phaseText(spec.Phase{Mix: map[string]float64{"read": 1}, Operations: 1}, &spec.Values{}); !strings.HasSuffix(text, ", 1 operation") {
		t.Errorf("one operation is described: %s", text)
	}
}
