package read_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/read"
	"assay/internal/experiment/trace"
	"assay/store"
)

func TestDefaultsAreWrittenOut(t *testing.T) {
	e := mustLoad(t, "name: x\nstores: [bbolt]\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}, {name: z, mix: {scan: 1}, order: latest, operations: 5}]\n")
	want := []experiment.Cell{{Durability: store.D3, Records: 10_000, ValueBytes: 100, Threads: 1, Handles: "per_thread"}}
	if !reflect.DeepEqual(e.Cells, want) {
		t.Errorf("cells %+v, want %+v", e.Cells, want)
	}
	if !reflect.DeepEqual(e.Keys, keyval.KeyShape{Format: keyval.Binary, Bytes: 16}) {
		t.Errorf("keys %+v", e.Keys)
	}
	if e.Values.RepeatedPermille != 500 || e.Values.PoolBytes != 256<<10 {
		t.Errorf("values %+v", e.Values)
	}
	if e.Blocks != 3 || e.Seed != 1 || !e.Verify || e.VerifyRecords != 1_000_000 || e.Clock != "auto" || e.Sample != 0 || e.StepTimeout != time.Minute || e.Baseline != "bbolt" {
		t.Errorf("experiment %+v", e)
	}
	if o := e.Phases[0].Order.Distribution + " " + e.Phases[1].Order.Distribution; o != "sequential uniform" {
		t.Errorf("orders %s", o)
	}
	if p := e.Phases[2]; p.Scan != (experiment.Scan{Min: 1, Max: 100, Distribution: "uniform"}) || p.Order.Theta != 0.99 {
		t.Errorf("phase %+v", p)
	}
}

func TestListsMakeTheMatrix(t *testing.T) {
	e := mustLoad(t, `
name: x
stores: [bbolt]
records: [10, 20]
values: {bytes: [100, 1KiB]}
threads: [1, 2]
handles: [shared, pool(3)]
memory_limit: [none, 512MiB]
disk_quota: 2GiB
durability: [D1, D3]
phases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]
`)
	if len(e.Cells) != 64 {
		t.Fatalf("%d cells, want 64", len(e.Cells))
	}
	last := experiment.Cell{Durability: store.D3, Records: 20, ValueBytes: 1024, Threads: 2, Handles: "pool", PoolHandles: 3, MemoryLimit: 512 << 20, DiskQuota: 2 << 30}
	if e.Cells[63] != last {
		t.Errorf("last cell %+v, want %+v", e.Cells[63], last)
	}
	if e.Cells[1].Durability != store.D3 || e.Cells[2].MemoryLimit == 0 {
		t.Errorf("durability must be the innermost axis, the memory limit the next: %+v", e.Cells[:3])
	}
}

func TestCasesSetSeveralParameters(t *testing.T) {
	e := mustLoad(t, `
name: x
stores: [bbolt]
durability: [D1, D3]
cases: [{name: a, records: 5, values.bytes: 7}, {name: b, threads: [2, 3], durability: D3}]
phases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]
`)
	want := []experiment.Cell{
		{Case: "a", Durability: store.D1, Records: 5, ValueBytes: 7, Threads: 1, Handles: "per_thread"},
		{Case: "a", Durability: store.D3, Records: 5, ValueBytes: 7, Threads: 1, Handles: "per_thread"},
		{Case: "b", Durability: store.D3, Records: 10_000, ValueBytes: 100, Threads: 2, Handles: "per_thread"},
		{Case: "b", Durability: store.D3, Records: 10_000, ValueBytes: 100, Threads: 3, Handles: "per_thread"},
	}
	if !reflect.DeepEqual(e.Cells, want) {
		t.Errorf("cells\n%+v\nwant\n%+v", e.Cells, want)
	}
}

func TestSetChangesWhatItNames(t *testing.T) {
	for _, c := range []struct {
		set  string
		got  func(e *experiment.Experiment) any
		want any
	}{
		{"records=77", func(e *experiment.Experiment) any { return e.Cells[0].Records }, uint64(77)},
		{"threads=[3]", func(e *experiment.Experiment) any { return e.Cells[0].Threads }, 3},
		{"phases.read.for=2s", func(e *experiment.Experiment) any { return e.Phases[1].Duration }, 2 * time.Second},
		{"phases.1.for=2s", func(e *experiment.Experiment) any { return e.Phases[1].Duration }, 2 * time.Second},
		{"phases.read.order.theta=0.5", func(e *experiment.Experiment) any { return e.Phases[1].Order }, experiment.Order{Distribution: "zipfian", Theta: 0.5}},
		{"phases.read.order={distribution: hotspot}", func(e *experiment.Experiment) any { return e.Phases[1].Order.HotOps }, 0.8},
		{"phases.read.mix.update=3", func(e *experiment.Experiment) any { return e.Phases[1].Mix["update"] }, 3.0},
		{"stores.pebble-2.1.options.cache_bytes=8MiB", func(e *experiment.Experiment) any { return e.Stores[1].Options["cache_bytes"] }, "8MiB"},
		{"stores.bbolt.name=bolt", func(e *experiment.Experiment) any { return e.Stores[0].Name }, "bolt"},
		{"stores.pebble-2.1=null", func(e *experiment.Experiment) any { return len(e.Stores) }, 1},
		{"stores=[sqlite]", func(e *experiment.Experiment) any { return e.Stores[0].Driver }, "sqlite"},
		{"durability=D3", func(e *experiment.Experiment) any { return len(e.Cells) }, 4},
		{"values.repeated=0.25", func(e *experiment.Experiment) any { return e.Values.RepeatedPermille }, 250},
		{"handles=pool(4)", func(e *experiment.Experiment) any { return e.Cells[0].PoolHandles }, 4},
		{"scale=tiny", func(e *experiment.Experiment) any {
			return []any{e.Scale, e.Blocks, e.Cells[0].Records, e.Phases[1].Duration}
		},
			[]any{"tiny", 2, uint64(10), time.Second}},
		{"scales.tiny.blocks=4", func(e *experiment.Experiment) any { return e.Blocks }, 3}, // not chosen
		{"stores=[{driver: memcached, endpoints: [127.0.0.1:11211, localhost:2, \"[::1]:3\"]}, bbolt]", func(e *experiment.Experiment) any { return e.Stores[0].Endpoints },
			[]string{"127.0.0.1:11211", "localhost:2", "[::1]:3"}},
		{"threads=null", func(e *experiment.Experiment) any { return len(e.Cells) }, 4},
	} {
		e := mustLoad(t, small, c.set)
		if got := c.got(e); !reflect.DeepEqual(got, c.want) {
			t.Errorf("--set %s: %v, want %v", c.set, got, c.want)
		}
	}
}

func TestSetIsStrongerThanScale(t *testing.T) {
	e := mustLoad(t, small, "blocks=7", "scale=tiny")
	if e.Blocks != 7 || e.Cells[0].Records != 10 || len(e.Cells) != 4 {
		t.Errorf("blocks %d, cells %+v", e.Blocks, e.Cells)
	}
}

func TestScalesDoNotLeakIntoEachOther(t *testing.T) {
	text := small + "  other: {phases.read.order: {distribution: zipfian}, phases.read.order.theta: 0.7}\nscale: other\n"
	for range 2 {
		e := mustLoad(t, text)
		if e.Phases[1].Order.Theta != 0.7 || e.Blocks != 3 {
			t.Fatalf("%+v", e)
		}
	}
}

func TestExperimentRoundTripsThroughJSON(t *testing.T) {
	e := mustLoad(t, small, "durability=[D1, D2(100ms), D3]", "stores.0={driver: null-like, name: far, worker: [./d2]}", "memory_limit=512MiB",
		"phases.read={name: s, mix: {scan: 1}, rate: 5, threads: 2, for: 1s, operations: 9, unmeasured: false}")
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var back experiment.Experiment
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*e, back) {
		t.Errorf("after a round trip\n%+v\nbefore\n%+v", back, *e)
	}
	if e.Cells[1].ClassText() != "D2(100ms)" {
		t.Errorf("class %s", e.Cells[1].ClassText())
	}
}

func TestMixedSizesGiveTheMean(t *testing.T) {
	e := mustLoad(t, small, "values={sizes: [{bytes: 100, weight: 9}, {bytes: 1KiB, weight: 1}]}")
	if e.Cells[0].ValueBytes != 192 || e.ValueBytesMax(e.Cells[0]) != 1024 || len(e.Values.Sizes) != 2 {
		t.Errorf("mean %d, longest %d", e.Cells[0].ValueBytes, e.ValueBytesMax(e.Cells[0]))
	}
}

func TestLoadsTakeTheBatchesThatAStoreHas(t *testing.T) {
	load := experiment.Phase{Load: true, Batch: 1000}
	batches := store.Abilities{Batch: true}
	for _, c := range []struct {
		d           store.Description
		bytes, want int
	}{
		{store.Description{}, 116, 1},
		{store.Description{Abilities: batches}, 116, 1000},
		{store.Description{Abilities: batches, BatchMax: 25}, 116, 25},
		{store.Description{Abilities: batches, BatchMax: 128, BatchBytesMax: 3 << 19}, 116, 128},
		{store.Description{Abilities: batches, BatchMax: 128, BatchBytesMax: 3 << 19}, 20000, 78},
		{store.Description{Abilities: batches, BatchBytesMax: 50 << 10}, 1 << 20, 1},
		{store.Description{Abilities: batches}, 1 << 20, 64}, // 64 MiB, whatever the store takes
	} {
		if got := load.BatchFor(c.d, c.bytes); got != c.want {
			t.Errorf("batch %d of %d bytes, want %d", got, c.bytes, c.want)
		}
	}
}

// A few lines of aliases must not become millions of values.
func TestAliasBombIsRefused(t *testing.T) {
	bomb := "name: x\na: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", ") + "]\n"
	}
	_, err := read.Load([]byte(bomb), "bomb.yaml", nil, fakeDrivers())
	if err == nil || !strings.Contains(err.Error(), "aliases included") {
		t.Errorf("error %v", err)
	}
}

func TestAnchorsWork(t *testing.T) {
	e := mustLoad(t, `
name: x
stores: [bbolt]
phases:
  - {name: load, load: true}
  - &read {name: r1, mix: {read: 1}, for: 1s}
  - {<<: *read, name: r2}
`)
	if len(e.Phases) != 3 || e.Phases[2].Name != "r2" || e.Phases[2].Duration != time.Second {
		t.Errorf("%+v", e.Phases)
	}
}

// The parser recurses: a file as large as is allowed, nested as deep as can be, must neither end
// the process nor take long enough to be noticed. (The test has no time limit of its own; a parser
// that is not linear here never ends.)
func TestHostileNestingIsRefused(t *testing.T) {
	for _, piece := range []string{"[", "{a: ", "- ", "[{", "? ", "&a ", "!!x ", "a: b\n ", "- - -\n", "\"", "|", "<<: *a\n"} {
		text := strings.Repeat(piece, 60_000/len(piece))
		_, err := read.Load([]byte(text), "deep.yaml", nil, fakeDrivers())
		if err == nil {
			t.Errorf("%q is accepted", piece)
			continue
		}
		checkPlaced(t, err)
	}
	if _, err := read.Load(make([]byte, 1<<20), "large.yaml", nil, fakeDrivers()); err == nil || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("%v", err)
	}
}

func TestRuleOfDashesIsNoNesting(t *testing.T) {
	mustLoad(t, "# "+strings.Repeat("-", 500)+"\n"+small)
}

// Whatever --set puts anywhere, Load answers with an experiment or with an *Error that says where.
func TestErrorsOfAnySetHaveAPlace(t *testing.T) {
	paths := []string{"records", "stores", "stores.bbolt", "stores.0.options", "phases.read", "phases.read.mix", "phases.read.mix.read",
		"phases.load.batch", "keys", "keys.bytes", "values.sizes", "cases", "cases.x.records", "scales.tiny", "scale", "handles", "durability", "x", "phases.9", ""}
	values := []string{"", "null", "[]", "{}", "1", "-1", "1e30", "[1, [2]]", "{a: b}", "D2", "pool(0)", "*a", "&a b", "'", "[", "64MiB", "true", "~", "!x y", "\"q\"", "{name: 1}"}
	rapid.Check(t, func(rt *rapid.T) {
		var sets []string
		for range rapid.IntRange(1, 3).Draw(rt, "n") {
			sets = append(sets, rapid.SampledFrom(paths).Draw(rt, "path")+"="+rapid.SampledFrom(values).Draw(rt, "value"))
		}
		_, err := read.Load([]byte(small), "small.yaml", sets, fakeDrivers())
		if err != nil {
			checkPlaced(rt, err)
		}
	})
}

type failer interface {
	Fatalf(format string, args ...any)
}

// checkPlaced holds an error to the promise that it says where it is.
func checkPlaced(t failer, err error) {
	var mistake *read.Error
	if !errors.As(err, &mistake) {
		t.Fatalf("not an *Error: %v", err)
	}
	if mistake.Message == "" || mistake.Source == "" {
		t.Fatalf("an error that says nothing: %#v", mistake)
	}
	if mistake.Line < 1 && mistake.Path == "" && !strings.Contains(mistake.Message, "the file") {
		t.Fatalf("an error without a place: %#v", mistake)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(small), "records=5")
	f.Add(read.Template(), "scale=x")
	f.Add([]byte("a: &a [*a]"), "stores.bbolt.options.x=1")
	f.Add([]byte("? [a]: b\n- c"), "=")
	f.Add([]byte("name: x\nstores: null\nphases:\n\t- a"), "phases=[{}]")
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		var sets []string
		if set != "" {
			sets = []string{set}
		}
		e, err := read.Load(text, "fuzz.yaml", sets, fakeDrivers())
		if err != nil {
			checkPlaced(t, err)
			_ = err.Error()
			return
		}
		if len(e.Cells) == 0 || len(e.Cells) > 1000 || len(e.Stores) == 0 || len(e.Phases) == 0 {
			t.Fatalf("an experiment of nothing, or of too much: %+v", e)
		}
	})
}

func TestArrivals(t *testing.T) {
	e := mustLoad(t, `
name: x
stores: [bbolt]
phases:
  - {name: load, load: true}
  - {name: closed, mix: {read: 1}, for: 1s}
  - {name: default, mix: {read: 1}, rate: 100, for: 1s}
  - {name: even, mix: {read: 1}, rate: 100, arrivals: constant, for: 1s}
  - {name: groups, for: 1s, groups: [{name: g, mix: {read: 1}, rate: 100, pacing: constant}]}
`)
	got := []trace.Arrivals{e.Phases[0].Arrivals, e.Phases[1].Arrivals, e.Phases[2].Arrivals, e.Phases[3].Arrivals,
		e.Phases[4].Groups[0].Arrivals}
	if want := []trace.Arrivals{"", "", trace.Poisson, trace.Constant, trace.Constant}; !slices.Equal(got, want) {
		t.Errorf("arrivals %q, want %q", got, want)
	}
}

// What the command line says wins over the cases of a file, and a note says so.
func TestChangeReplacesWhatCasesHave(t *testing.T) {
	text := []byte("name: x\nstores: [bbolt]\ndurability: D3\nphases: [{name: load, load: true}, {name: r, mix: {read: 1}, for: 1s}]\n" +
		"cases:\n  - {name: a, records: 5, values.bytes: 10}\n  - {name: b, records: 6, values.bytes: 10}\n  - {name: c, records: 6, values.bytes: 20}\n  - {name: d, records: 9}\n")
	for _, flag := range []read.Change{{Flag: "--records", Path: "records", Value: "7,8"}, {Flag: "--set", Value: "records=[7, 8]"}} {
		source := read.Source{Text: text, Name: "x.yaml", Changes: []read.Change{flag}}
		loaded, err := source.Load(fakeDrivers())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range loaded.Experiment.Cells {
			got = append(got, fmt.Sprint(c.Case, c.Records, " ", c.ValueBytes))
		}
		if want := []string{"a7 10", "a8 10", "c7 20", "c8 20", "d7 100", "d8 100"}; !slices.Equal(got, want) {
			t.Errorf("%s: cells %q, want %q", flag.Flag, got, want)
		}
		if len(loaded.Notes) != 1 || !strings.Contains(loaded.Notes[0], "a, b, c, d; without it b would repeat another case") {
			t.Errorf("%s: notes %q", flag.Flag, loaded.Notes)
		}
	}
}
