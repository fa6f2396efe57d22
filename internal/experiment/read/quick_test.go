package read_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

func quick(stores, mixes []string, changes ...read.Change) (*read.Loaded, error) {
	source, err := read.Quick(stores, mixes, "", changes, nil)
	if err != nil {
		return nil, err
	}
	return source.Load(fakeDrivers())
}

func mustQuick(t *testing.T, stores, mixes []string, changes ...read.Change) *read.Loaded {
	t.Helper()
	l, err := quick(stores, mixes, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func classesOf(e *experiment.Experiment) (classes []string) {
	for _, c := range e.Cells {
		classes = append(classes, c.ClassText())
	}
	return classes
}

func TestQuick(t *testing.T) {
	l := mustQuick(t, []string{"bbolt", "pebble"}, []string{"read=95,update=5"},
		read.Change{Flag: "--threads", Path: "threads", Value: "1,8"}, read.Change{Flag: "--for", Path: "phases.*.for", Value: "2s"},
		read.Change{Flag: "--set", Value: "stores.pebble.options.cache_bytes=64MiB"})
	e := l.Experiment
	if e.Name != "bbolt-pebble" || e.Baseline != "bbolt" || len(e.Cells) != 2 || e.Cells[0].Records != 100_000 || e.Cells[1].Threads != 8 ||
		e.Cells[0].Durability != store.D3 || e.Stores[1].Options["cache_bytes"] != "64MiB" {
		t.Errorf("%+v", e)
	}
	if len(e.Phases) != 2 || !e.Phases[0].Load || e.Phases[1].Name != "read-update" || e.Phases[1].Duration != 2*time.Second {
		t.Errorf("%+v", e.Phases)
	}
	if want := []string{"durability: D3, the strongest class that all stores reach"}; !slices.Equal(l.Notes, want) {
		t.Errorf("notes %q, want %q", l.Notes, want)
	}
}

func TestQuick_warm_up(t *testing.T) {
	source, err := read.Quick([]string{"bbolt"}, []string{"write", "read"}, "3s", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := source.Load(fakeDrivers())
	if err != nil {
		t.Fatal(err)
	}
	phases := l.Experiment.Phases
	if len(phases) != 4 || phases[1].Name != "warm-up" || phases[1].Duration != 3*time.Second || !phases[1].Unmeasured ||
		phases[1].Mix["upsert"] != 100 || phases[2].Unmeasured || phases[2].Duration != 10*time.Second {
		t.Errorf("%+v", phases)
	}
	if _, err = read.Quick([]string{"bbolt"}, nil, "3", nil, nil); err == nil || !strings.Contains(err.Error(), "--warm-up 3: expected a duration") {
		t.Errorf("a warm-up of 3: %v", err)
	}
}

func TestQuickClasses(t *testing.T) {
	for _, c := range []struct {
		stores  string
		classes string
		note    string
	}{
		{"bbolt pebble", "D3", "D3, the strongest"},
		{"memory", "D0", "D0, the strongest"},
		{"memory pebble", "D0", "D0, the strongest"},
		{"memory bbolt", "D0 D3", "no class is common"},
		{"memcached@127.0.0.1:1 pebble", "D0", "keys are decimal: memcached takes no binary keys"},
	} {
		l := mustQuick(t, strings.Fields(c.stores), nil)
		if got := strings.Join(classesOf(l.Experiment), " "); got != c.classes || !strings.Contains(strings.Join(l.Notes, "\n"), c.note) {
			t.Errorf("%s: %s, notes %q", c.stores, got, l.Notes)
		}
	}
}

// A store that can lose a node where it has replicas is not taken to have them.
func TestNoReplicasAreAssumed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims []store.Durability
		want   string
	}{
		"synced too": {[]store.Durability{store.D2, store.D3, store.D4}, "D3"}, "nothing else": {[]store.Durability{store.D4}, "D4"},
	} {
		source, err := read.Quick([]string{"redis@127.0.0.1:1"}, nil, "", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		drivers := fakeDrivers()
		drivers.Names = append(drivers.Names, "redis")
		describe := drivers.Describe
		drivers.Describe = func(s experiment.Store) (store.Description, error) {
			if s.Driver == "redis" {
				d := embedded("redis", c.claims...)
				d.Kind = store.Server
				return d, nil
			}
			return describe(s)
		}
		l, err := source.Load(drivers)
		if err != nil || string(l.Experiment.Cells[0].Durability) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A server that is running has the class that its settings give, whatever its driver claims.
func TestClassFollowsTheServersSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stores  string
		given   *read.Given
		classes string
		note    string
	}{
		"not asked":           {"redis@127.0.0.1:1", nil, "D3", "durability: D3, the strongest class that all stores reach"},
		"as it is set":        {"redis@127.0.0.1:1", gives("D0", 0), "D0", "durability: D0, the strongest class that all stores reach; as it is set, no D3"},
		"the strongest":       {"redis@127.0.0.1:1", &read.Given{Classes: gives("D3", 0).Classes}, "D3", "durability: D3, the strongest class that all stores reach"},
		"a window":            {"redis@127.0.0.1:1", gives("D2", 3*time.Second), "D2(3s)", "durability: D2(3s), the strongest class that all stores reach; as it is set, no D3"},
		"beside an engine":    {"pebble redis@127.0.0.1:1", gives("D0", 0), "D0", "durability: D0, the strongest class that all stores reach; as it is set, no D3"},
		"one that is started": {"memcached@start", gives("D3", 0), "D0", "durability: D0, the strongest class that all stores reach"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := read.Quick(strings.Fields(c.stores), nil, "", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			drivers := fakeDrivers()
			drivers.Names = append(drivers.Names, "redis")
			describe := drivers.Describe
			drivers.Describe = func(s experiment.Store) (store.Description, error) {
				if s.Driver != "redis" {
					return describe(s)
				}
				d := embedded("redis", store.D0, store.D1, store.D2, store.D3)
				d.Kind, d.ServerSetsClass = store.Server, true
				return d, nil
			}
			drivers.Gives = func(experiment.Store) *read.Given { return c.given }
			l, err := source.Load(drivers)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.Experiment.Cells[0].ClassText(); len(l.Experiment.Cells) != 1 || got != c.classes ||
				!slices.Contains(l.Notes, c.note) {
				t.Errorf("%s, notes %q", got, l.Notes)
			}
		})
	}
}

func gives(class store.Durability, window time.Duration) *read.Given {
	return &read.Given{Classes: []read.DurabilityForm{{Class: class, Window: window}}, Stronger: "no D3"}
}

func TestQuickRefuses(t *testing.T) {
	at := func(flag, path, value string) []read.Change {
		return []read.Change{{Flag: flag, Path: path, Value: value}}
	}
	for _, c := range []struct {
		name    string
		stores  string
		mixes   []string
		changes []read.Change
		says    string
	}{
		{"operation", "bbolt", []string{"raed=95"}, nil, "--mix raed=95: unknown operation \"raed\"\n   | raed=95\n   | ^^^^\n"},
		{"weight", "bbolt", []string{"read=lots"}, nil, "expected OPERATION=WEIGHT, got \"read=lots\""},
		{"twice", "bbolt", []string{"read=1,read=2"}, nil, "read is in the mix twice"},
		{"flag's value", "bbolt", nil, at("--threads", "threads", "8x"), "--threads 8x: expected a whole number from 1 to 65535, got \"8x\"\n   | 8x\n   | ^^"},
		{"flag's member", "bbolt", nil, at("--threads", "threads", "1,x"), "--threads 1,x: expected a whole number"},
		{"class", "bbolt", nil, at("--durability", "durability", "D9"), "--durability D9: unknown durability class"},
		{"class no store reaches", "bbolt", nil, at("--durability", "durability", "D0"), "no store can do this: bbolt can't reach D0"},
		{"no endpoint", "memcached", nil, nil, "expected memcached@start (Assay starts one for each trial), or memcached@HOST:PORT"},
		{"password", "memcached@me:hunter2@h:1", nil, nil, "an endpoint has no user"},
		{"same driver twice", "bbolt bbolt", nil, nil, "a second store named \"bbolt\""},
	} {
		_, err := quick(strings.Fields(c.stores), c.mixes, c.changes...)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The classes, the baseline and the optional phases of a preset follow from the stores that a flag
// names, unless a flag gives them too.
func TestStoresOfAFlagAreFollowed(t *testing.T) {
	const text = `name: x
stores: [memory, bbolt, badger]
baseline: bbolt
durability: [D0, D1, D3]
phases:
  - {name: load, load: true}
  - {name: batches, mix: {update: 1}, batch: 10, optional: true, for: 1s}
  - {name: read, mix: {read: 1}, for: 1s}
`
	for _, c := range []struct {
		sets     string
		classes  string
		baseline string
		phases   int
		notes    []string
	}{
		{"stores=[pebble, sqlite]", "D0 D1 D3", "pebble", 3, []string{"the baseline is pebble: bbolt is not one of the stores"}},
		{"stores=[pogreb, sqlite]", "D1 D3", "pogreb", 3, []string{"the baseline is pogreb: bbolt is not one of the stores", "durability D0 left out: no store reaches it"}},
		{"stores=[pogreb]", "D1 D3", "pogreb", 2, []string{"the baseline is pogreb: bbolt is not one of the stores", "durability D0 left out: no store reaches it",
			"phase batches left out: pogreb can't write batches"}},
		{"stores.memory=null", "D1 D3", "bbolt", 3, []string{"durability D0 left out: no store reaches it"}},
		{"durability=D1 stores=[memory]", "", "", 0, []string{"no store can do this: memory can't reach D1"}},
		{"stores=[pogreb] baseline=bbolt", "", "", 0, []string{"the baseline \"bbolt\" is none of the stores"}},
		{"durability=D3", "D3", "bbolt", 3, nil},
	} {
		source := read.Source{Text: []byte(text), Name: "x.yaml"}
		for _, set := range strings.Fields(strings.ReplaceAll(c.sets, ", ", ",")) {
			source.Changes = append(source.Changes, read.Change{Flag: "--set", Value: set})
		}
		l, err := source.Load(fakeDrivers())
		if c.classes == "" {
			if err == nil || !strings.Contains(err.Error(), c.notes[0]) {
				t.Errorf("%s: %v", c.sets, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.sets, err)
			continue
		}
		if e := l.Experiment; strings.Join(classesOf(e), " ") != c.classes || e.Baseline != c.baseline || len(e.Phases) != c.phases || !slices.Equal(l.Notes, c.notes) {
			t.Errorf("%s: %v, %s, %d phases, notes %q", c.sets, classesOf(e), e.Baseline, len(e.Phases), l.Notes)
		}
	}
}

func TestMixesAreScaled(t *testing.T) {
	for mix, want := range map[string]string{
		"read=95,update=5": "", "read=0.5,update=0.5": "", "read": "", "read=1": "", "read=3": "",
		"read=100,update=20": "the weights add up to 120 and are scaled to 100 %: 83.3 % read, 16.7 % update",
		"read=9,update=1":    "the weights add up to 10 and are scaled to 100 %: 90 % read, 10 % update",
	} {
		notes := strings.Join(mustQuick(t, []string{"pebble"}, []string{mix}).Notes, "\n")
		if strings.Contains(notes, "weights") != (want != "") || !strings.Contains(notes, want) {
			t.Errorf("%s: %q", mix, notes)
		}
	}
}

// What --save-as writes is the same experiment, from whatever it was made.
func TestSavedFileIsTheSameExperiment(t *testing.T) {
	same := func(t interface{ Fatalf(string, ...any) }, l *read.Loaded) {
		text := l.File()
		again, err := read.Load(text, "saved.yaml", nil, fakeDrivers())
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		l.Experiment.Scale = ""
		if !reflect.DeepEqual(again, l.Experiment) {
			t.Fatalf("saved\n%s\nis\n%+v\nnot\n%+v", text, again, l.Experiment)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		stores := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"bbolt", "pebble", "memory", "memcached@[::1]:11211", "sqlite"}), 1, 4, rapid.ID[string]).Draw(t, "stores")
		mixes := rapid.SliceOfN(rapid.SampledFrom([]string{"read=95,update=5", "read", "update", "insert=3.5", "upsert=1,delete=1"}), 0, 3).Draw(t, "mixes")
		var changes []read.Change
		for _, c := range []read.Change{
			{"--threads", "threads", "1,8"}, {"--records", "records", "10k"}, {"--values", "values.bytes", "1kib"}, {"--memory-limit", "memory_limit", "512mb"},
			{"--rate", "phases.*.rate", "10k"}, {"--order", "phases.*.order", "{distribution: hotspot, hot_records: 0.1}"}, {"--seed", "seed", "1e19"},
			{"--set", "", "stores.0.name=a.b"}, {"--set", "", `about="# no: comment, [a"`}, {"--set", "", `keys={format: decimal, prefix: "12"}`},
		} {
			if rapid.Bool().Draw(t, c.Path+c.Value) {
				changes = append(changes, c)
			}
		}
		l, err := quick(stores, mixes, changes...)
		if err != nil {
			if strings.Contains(err.Error(), "no store can do this") || strings.Contains(err.Error(), "so far delete keys") {
				t.Skip()
			}
			t.Fatal(err)
		}
		same(t, l)
	})
	for _, sets := range [][]string{nil, {"scale=tiny"}, {"stores=[pogreb]"}, {"stores.bbolt=null", "durability=[D1, D2(5ms)]", "stores.0={driver: x, worker: [./d2, \"-a b\"]}"}} {
		source := read.Source{Text: []byte(small), Name: "small.yaml"}
		for _, set := range sets {
			source.Changes = append(source.Changes, read.Change{Flag: "--set", Value: set})
		}
		l, err := source.Load(fakeDrivers())
		if err != nil {
			t.Fatal(err)
		}
		same(t, l)
	}
}
