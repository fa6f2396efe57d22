package read_test

import (
	"fmt"
	"os"
	"testing"

	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/store"
)

// fakeDrivers describe stores as the true ones do, as far as a plan depends on it.
func fakeDrivers() read.Drivers {
	var names []string
	for _, d := range fakeDescriptions() {
		names = append(names, d.Name)
	}
	return read.Drivers{Names: names, Describe: func(s experiment.Store) (store.Description, error) {
		if len(s.Worker) > 0 {
			if s.JVM != nil {
				d := embedded(s.Driver, store.D0)
				d.Kind, d.KeyText = store.Server, true
				return d, nil
			}
			if s.Worker[0] == "./broken" {
				return store.Description{}, fmt.Errorf("the worker ./broken does not start")
			}
			return embedded(s.Driver, store.D1, store.D2, store.D3), nil
		}
		for _, d := range fakeDescriptions() {
			if d.Name == s.Driver {
				return d, nil
			}
		}
		return store.Description{}, fmt.Errorf("not there")
	}, OnJVM: func(driver string) bool { return driver == "whalin" },
		JarsOf: func(coordinates string) (string, error) { return "/cache/" + coordinates, nil }, ProgramOf: server.Startable(func(driver string) (server.Program, bool) {
			return server.Program{Driver: driver, Several: server.Independent, Replicates: true,
				Binaries: []string{os.Args[0]}, Packages: []string{driver}, Options: []store.Option{
					{Name: "memory_bytes", Type: store.Bytes, Default: "64MiB"}, {Name: "threads", Type: store.Int, Default: "4"},
				}}, driver == "memcached" || driver == "whalin"
		})}
}

func embedded(name string, classes ...store.Durability) store.Description {
	d := store.Description{Name: name, Kind: store.Embedded, HandlesShareable: true,
		Hosted:    store.Hosted{Pauses: true, Fills: true, KeyLengths: true},
		Abilities: store.Abilities{Batch: true, Scan: true, MultiGet: true}}
	for _, class := range classes {
		d.Durability = append(d.Durability, store.DurabilityClaim{Class: class, How: "fake"})
	}
	return d
}

func renamed(d store.Description, name string) store.Description {
	d.Name = name
	return d
}

func fakeDescriptions() []store.Description {
	badger := embedded("badger", store.D1, store.D3)
	badger.KeyBytesMax, badger.ValueBytesMax = 65000, 1<<20
	memory := embedded("memory", store.D0)
	memory.Kind = store.Memory
	memory.Abilities.Add, memory.Abilities.Touch = true, true
	memory.Abilities.Append, memory.Abilities.GetAndSet = true, true
	memory.Abilities.Expire, memory.Expiry = true, &store.Expiry{UnitNS: 1e6}
	memcached := embedded("memcached", store.D0)
	memcached.Kind, memcached.KeyBytesMax, memcached.KeyBytesMin, memcached.HandlesShareable =
		store.Server, 250, 1, false
	memcached.Abilities = store.Abilities{Add: true, CompareAndSwap: true, Async: true, Expire: true}
	memcached.Pauses, memcached.Fills = true, true
	memcached.Expiry = &store.Expiry{UnitNS: 1e9, EarlyNS: 1e9}
	memcached.HandlesMax = 100
	memcached.KeyText, memcached.Processes, memcached.UnixSockets = true, true, true
	memcached.Options = append(memcached.Options, store.Option{Name: "client", Type: store.Choice, Default: "lean", Choices: []string{"lean", "gomemcache"}},
		store.Option{Name: "weights", Type: store.String})
	whalin := memcached
	whalin.Name, whalin.Options = "whalin", nil
	for _, option := range []string{"weights", "init_conn", "min_conn", "max_conn"} {
		whalin.Options = append(whalin.Options, store.Option{Name: option, Type: store.String})
	}
	pebble := embedded("pebble", store.D0, store.D3)
	pebble.Options = []store.Option{
		{Name: "cache_bytes", Type: store.Bytes, Default: "8MiB", Help: "size of the block cache"},
		{Name: "compression", Type: store.Choice, Default: "snappy", Choices: []string{"none", "snappy", "zstd"}, Help: "how blocks are compressed"},
		{Name: "wal", Type: store.Bool, Default: "true", Help: "write-ahead log"},
	}
	pogreb := embedded("pogreb", store.D1, store.D3)
	pogreb.Abilities, pogreb.KeyLengths = store.Abilities{}, false
	sqlite := embedded("sqlite", store.D1, store.D3)
	sqlite.Abilities.Records, sqlite.Abilities.Query, sqlite.Abilities.Count = true, true, true
	sqlite.Abilities.Modify, sqlite.Abilities.Increment = true, true
	null := embedded("null", store.D0, store.D1, store.D2, store.D3, store.D4)
	null.Kind = store.None
	bbolt := embedded("bbolt", store.D1, store.D3)
	bbolt.BatchMax = 5000
	return []store.Description{
		badger, bbolt, embedded("boltdb", store.D1, store.D3), embedded("goleveldb", store.D1, store.D3),
		memcached, memory, null, pebble, pogreb, sqlite, whalin, renamed(whalin, "spymemcached"), renamed(whalin, "xmemcached"), renamed(whalin, "folsom")}
}

func mustLoad(t *testing.T, text string, sets ...string) *experiment.Experiment {
	t.Helper()
	e, err := read.Load([]byte(text), "test.yaml", sets, fakeDrivers())
	if err != nil {
		t.Fatalf("loading:\n%s\n%v", text, err)
	}
	return e
}

// small is a file that has a bit of everything that --set can change.
const small = `name: small
stores:
  - bbolt
  - {driver: pebble, name: pebble-2.1, options: {cache_bytes: 64MiB}}
records: [10, 1000]
threads: [1, 8]
durability: [D1, D3]
phases:
  - {name: load, load: true, batch: 100}
  - {name: read, mix: {read: 100}, order: zipfian, for: 10s}
scales:
  tiny: {records: 10, phases.read.for: 1s, blocks: 2}
`
