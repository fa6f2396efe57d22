package presets_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/presets"
	"assay/store"
)

// native drivers are known, but their workers are not built for this test.
var native = []string{"tokyocabinet-table", "tokyocabinet-hash", "tokyocabinet-btree", "lmdb", "rocksdb", "sqlite-c"}

// jvm drivers are planned as if they were built: they need a JVM to tell of themselves.
var (
	jvm        = []string{"whalin", "spymemcached", "xmemcached", "folsom"}
	jvmEngines = []string{"tokyocabinet-hash-java", "rocksdb-java", "lmdb-java"}
)

func engineForTheJVM(name string) store.Description {
	d := store.Description{Name: name, Kind: store.Embedded, Durability: []store.DurabilityClaim{{Class: store.D1},
		{Class: store.D3}}}
	for _, option := range []string{"bnum", "xmsiz_bytes", "map_bytes", "native_library"} {
		d.Options = append(d.Options, store.Option{Name: option, Type: store.String})
	}
	return d
}

func clientOfMemcached(name string) store.Description {
	d := store.Description{Name: name, Kind: store.Server, HandlesShareable: true, KeyText: true, KeyBytesMax: 250,
		Durability: []store.DurabilityClaim{{Class: store.D0}}, Abilities: store.Abilities{Add: true,
			CompareAndSwap: true}}
	for _, option := range []string{"weights", "init_conn", "min_conn", "max_conn"} {
		d.Options = append(d.Options, store.Option{Name: option, Type: store.String})
	}
	return d
}

// trueDrivers look descriptions up in Assay's own drivers; no store is opened.
func trueDrivers() read.Drivers {
	byName := map[string]store.Description{}
	var names []string
	for _, d := range drivers.All() {
		description := d.Describe()
		description.Hosted.Fills = true // by Assay's own worker
		byName[description.Name] = description
		names = append(names, description.Name)
	}
	return read.Drivers{Names: slices.Concat(names, native, jvm, jvmEngines),
		ProgramOf: server.Startable(installed(os.Args[0])), Describe: func(s experiment.Store) (store.Description,
			error) {
			if d, ok := byName[s.Driver]; ok {
				return d, nil
			}
			if slices.Contains(jvm, s.Driver) {
				return clientOfMemcached(s.Driver), nil
			}
			if slices.Contains(jvmEngines, s.Driver) {
				return engineForTheJVM(s.Driver), nil
			}
			if slices.Contains(native, s.Driver) {
				return store.Description{}, fmt.Errorf("%w: make native", read.ErrNotHere)
			}
			return store.Description{}, fmt.Errorf("no driver is named %q", s.Driver)
		}, OnJVM: func(driver string) bool { return slices.Contains(slices.Concat(jvm, jvmEngines), driver) }, JarsOf: func(string) (string, error) { return "/cache", nil }}
}

// installed returns the servers that Assay can start, as if each were at a path, so that the tests
// do not depend on what this machine has.
func installed(path string) func(driver string) (server.Program, bool) {
	return func(driver string) (server.Program, bool) {
		if slices.Contains(jvm, driver) {
			driver = "memcached"
		}
		p, known := drivers.Program(driver)
		p.Binaries = []string{path}
		return p, known
	}
}

func load(t *testing.T, preset string, sets ...string) *experiment.Experiment {
	t.Helper()
	return loadWith(t, trueDrivers(), preset, sets...)
}

func loadWith(t *testing.T, d read.Drivers, preset string, sets ...string) *experiment.Experiment {
	t.Helper()
	text, err := presets.Source(preset)
	if err != nil {
		t.Fatal(err)
	}
	e, err := read.Load(text, preset+".yaml", sets, d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEveryPresetLoadsInEveryScale(t *testing.T) {
	scales := map[string][]string{
		"capacity": {"", "sql", "all"}, "capacity-embedded": {""},
		"put-get": {"", "small", "full", "million", "20m", "100m"}, "smoke": {""}, "power-cut": {"", "full"}, "bindings": {"", "full", "rocksdb", "lmdb", "sqlite"},
		"cache-get-set": {"", "larger", "full"}, "cache-clients": {"", "full"}, "cache-kv": {"", "full"}, "cache-graph": {"", "full"}, "sql-kv": {"", "larger", "full"}, "cart": {"", "larger", "full"},
		"news-insert":  {"", "cap", "update", "queries", "full"},
		"table-insert": {"", "full", "endless"}, "table-insert-same-keys": {"", "full", "endless"},
	}
	for _, workload := range "abcdef" {
		scales["ycsb-"+string(workload)] = []string{"", "published", "larger", "full"}
	}
	for _, p := range presets.All() {
		if len(p.Summary) < 10 || strings.Contains(p.Summary, "\n") {
			t.Errorf("%s: summary %q", p.Name, p.Summary)
		}
		if len(scales[p.Name]) == 0 {
			t.Errorf("%s: no scales are listed here", p.Name)
		}
		for _, scale := range scales[p.Name] {
			var sets []string
			if scale != "" {
				sets = []string{"scale=" + scale}
			}
			if e := load(t, p.Name, sets...); e.Name != p.Name {
				t.Errorf("the file %s has an experiment %s", p.Name, e.Name)
			}
		}
		delete(scales, p.Name)
	}
	if len(scales) > 0 {
		t.Errorf("presets that are gone: %v", scales)
	}
}

func TestPutGetHasThePublishedSizes(t *testing.T) {
	e := load(t, "put-get", "scale=full")
	want := map[uint64]int{10: 785, 10_000: 1465, 100_000: 1556}
	for _, cell := range e.Cells {
		if got := cell.ValueBytes + e.Keys.Bytes; got != want[cell.Records] {
			t.Errorf("%d records of %d bytes, want %d", cell.Records, got, want[cell.Records])
		}
	}
	if len(e.Cells) != 9 || len(e.Phases) != 7 || e.Blocks != 5 {
		t.Errorf("%d cells, %d phases, %d blocks", len(e.Cells), len(e.Phases), e.Blocks)
	}
}

func TestPresetsOfEnginesNameEachOne(t *testing.T) {
	for _, preset := range []string{"put-get", "power-cut"} {
		stores := load(t, preset).Stores
		for _, driver := range drivers.All() {
			name := driver.Describe().Name
			if driver.Describe().Kind == store.Embedded && !slices.ContainsFunc(stores,
				func(s experiment.Store) bool { return s.Driver == name }) {
				t.Errorf("presets/%s.yaml leaves %s out", preset, name)
			}
		}
	}
}

// The demo is to end in three minutes, and its phases are to be long enough to be judged. What
// surrounds the phases of a trial (process, open, load of 10,000 records, drains, the final check)
// takes about half a second on a quiet machine.
func TestDemoHasRoomInThreeMinutes(t *testing.T) {
	e := load(t, "put-get")
	estimate := plan.EstimateOf(e, plan.Plan(e))
	run := float64(estimate.Trials - estimate.Refused)
	if total := estimate.SecondsLow + 0.9*run; total > 180 {
		t.Errorf("%v trials, phases of %v s: %v s in all", run, estimate.SecondsLow, total)
	}
	if run < 50 || len(e.Cells) < 2 || e.Blocks < 3 {
		t.Errorf("%v trials in %d cells, %d blocks: stores or classes are missing", run, len(e.Cells), e.Blocks)
	}
	const samplesMin, sampleMin = 20, 50 * time.Millisecond
	for _, p := range e.Phases {
		if !p.Load && p.Duration < samplesMin*sampleMin {
			t.Errorf("%s of %v is too short to be judged", p.Name, p.Duration)
		}
	}
}

func TestSmokeIsShort(t *testing.T) {
	e := load(t, "smoke")
	estimate := plan.EstimateOf(e, plan.Plan(e))
	if estimate.SecondsLow > 4 || estimate.Trials < 8 || estimate.Refused == 0 {
		t.Errorf("%s", estimate)
	}
}

// What surrounds the phases of a trial takes longer where a server is made and started; 4 s is more
// than any of them takes on a quiet machine. cart has ten minutes: in five it leaves much undecided.
func TestSmallServerPresetsHaveRoomInMinutes(t *testing.T) {
	for preset, most := range map[string]float64{"cache-get-set": 300, "sql-kv": 300, "cart": 600} {
		e := load(t, preset)
		estimate := plan.EstimateOf(e, plan.Plan(e))
		if total := estimate.SecondsLow + 4*float64(estimate.Trials); total > most {
			t.Errorf("%s: %d trials, phases of %v s: %v s in all", preset, estimate.Trials, estimate.SecondsLow, total)
		}
		if e.Blocks < 3 || estimate.Refused > 0 {
			t.Errorf("%s: %d blocks, %d trials refused", preset, e.Blocks, estimate.Refused)
		}
	}
}

// A machine with none of the servers still compares what it has, and says how to get the others.
func TestServerPresetsNameTheInstallLine(t *testing.T) {
	d := trueDrivers()
	d.ProgramOf = server.Startable(installed("/nonexistent/server"))
	for _, preset := range []string{"cache-get-set", "sql-kv", "cart"} {
		e, runs := loadWith(t, d, preset), 0
		for s := range e.Stores {
			refusal := e.Refusal(s, 0)
			switch {
			case e.Stores[s].Server == nil && refusal == nil:
				runs++
			case refusal == nil || !strings.Contains(refusal.Reason, "apt-get install"):
				t.Errorf("%s: %s: %v", preset, e.Stores[s].Name, refusal)
			}
		}
		if runs == 0 {
			t.Errorf("%s: no store is left", preset)
		}
	}
}

// In every preset each class has a table worth reading: two stores at least.
func TestPresetsCompareSomething(t *testing.T) {
	for _, p := range presets.All() {
		e := load(t, p.Name)
		for i := range e.Cells {
			can := 0
			for s := range e.Stores {
				if refusal := e.Refusal(s, i); refusal == nil || p.Name == "bindings" && strings.Contains(refusal.Reason, "make native") {
					can++ // without a native worker there is no binding to compare
				}
			}
			if can < 2 {
				t.Errorf("%s, cell %d: %d stores", p.Name, i, can)
			}
		}
	}
}

func TestUnknownPresetNamesTheNearest(t *testing.T) {
	for name, want := range map[string]string{"putget": "put-get", "ycsb-aa": "ycsb-a", "smok": "smoke", ".": "expected one of", "*": "expected one of", "": "expected one of"} {
		_, err := presets.Source(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", name, err, want)
		}
	}
}
