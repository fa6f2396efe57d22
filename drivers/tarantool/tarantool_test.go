package tarantool_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"assay/drivers/tarantool"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

var servers drivertest.Shared

func TestMain(m *testing.M) { os.Exit(servers.End(m.Run())) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config has spaces for each test.
func config(t *testing.T, class store.Durability, given map[string]string) store.Config {
	t.Helper()
	endpoint := servers.Get(t, tarantool.Program, class).Endpoint()
	own := map[string]string{"space": strings.NewReplacer("/", "_", "=", "_").Replace(t.Name())}
	return drivertest.At(t, tarantool.Driver{}.Describe(), endpoint, class, own, given)
}

func wantGet(t *testing.T, h store.Handle, key, want string) {
	t.Helper()
	if got, err := h.Get([]byte(key), nil); err != nil || string(got) != want {
		t.Errorf("get %s: %.40q, %v; want %.40q", key, got, err, want)
	}
}

func wantMiss(t *testing.T, h store.Handle, key string) {
	t.Helper()
	if got, err := h.Get([]byte(key), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get %s: %.40q, %v; want a miss", key, got, err)
	}
}

// A server's wal_mode gives one class, and the others are refused with the setting that gives them.
func TestClassesAreTheServersWalMode(t *testing.T) {
	modes := map[store.Durability]string{store.D0: "none", store.D1: "write", store.D3: "fsync"}
	for is, mode := range modes {
		for asked, would := range modes {
			t.Run(fmt.Sprint(is, "/", asked), func(t *testing.T) {
				c := config(t, is, nil)
				c.Durability = asked
				s, err := tarantool.Driver{}.Open(t.Context(), c)
				if is != asked {
					if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "wal_mode is "+mode) ||
						!strings.Contains(err.Error(), "wal_mode = '"+would+"'") {
						t.Errorf("expected a refusal that names %s and %s, got %v", mode, would, err)
					}
					return
				}
				must(t, err)
				if got := s.Settings(); got["wal_mode"] != mode || got["feedback_enabled"] == "true" {
					t.Errorf("wal_mode is %s, and feedback_enabled %s", got["wal_mode"], got["feedback_enabled"])
				}
				evidence, err := s.(store.DurabilityTeller).TellDurability()
				if err != nil || evidence.Broken != "" {
					t.Errorf("%+v, %v", evidence, err)
				}
				must(t, s.Close())
			})
		}
	}
}

func TestStartedServerDemandsALogin(t *testing.T) {
	drivertest.LogsIn(t, tarantool.Driver{}, tarantool.Program)
}

// What was acknowledged survives a kill of the server, in the classes that say so.
func TestWritesSurviveAKill(t *testing.T) {
	for _, class := range []store.Durability{store.D1, store.D3} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			drivertest.KeepsWrites(t, tarantool.Driver{}, tarantool.Program, class, nil)
		})
	}
}

func TestAnswerThatComesLate(t *testing.T) {
	i := servertest.Start(t, tarantool.Program, store.D0, nil)
	c := drivertest.At(t, tarantool.Driver{}.Describe(), i.Endpoint(), store.D0,
		map[string]string{"operation_timeout": "2s"}, nil)
	_, h := drivertest.Open(t, tarantool.Driver{}, c)
	drivertest.GivesUpLate(t, i, h)
}

// eachEngine runs a test with both engines.
func eachEngine(t *testing.T, test func(t *testing.T, c store.Config)) {
	for _, engine := range []string{"memtx", "vinyl"} {
		t.Run(engine, func(t *testing.T) { test(t, config(t, store.D1, map[string]string{"engine": engine})) })
	}
}

func TestOperations(t *testing.T) {
	eachEngine(t, func(t *testing.T, c store.Config) {
		_, h := drivertest.Open(t, tarantool.Driver{}, c)
		must(t, h.(store.Adder).Add([]byte("k"), []byte("v")))
		if err := h.(store.Adder).Add([]byte("k"), []byte("w")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("add of a key that is there: %v", err)
		}
		swap := h.(store.CompareAndSwapper).CompareAndSwap
		if err := swap([]byte("none"), nil, []byte("w")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("swap of nothing: %v", err)
		}
		if err := swap([]byte("k"), []byte("V"), []byte("w")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of another value: %v", err)
		}
		must(t, swap([]byte("k"), []byte("v"), []byte("\x00\xfe")))
		if err := swap([]byte("k"), []byte("\x00"), []byte("w")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of the value's begin: %v", err)
		}
		must(t, swap([]byte("k"), []byte("\x00\xfe"), []byte("v")))
		must(t, h.(store.Appender).Append([]byte("k"), []byte("\x00\xff")))
		wantGet(t, h, "k", "v\x00\xff")
		if err := h.(store.Appender).Append([]byte("none"), []byte("w")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("append to nothing: %v", err)
		}
		wantMiss(t, h, "none")
		must(t, h.Delete([]byte("k")))
		if err := h.Delete([]byte("k")); errors.Is(err, store.ErrNotFound) != (c.Options.Choice("engine") == "memtx") {
			t.Errorf("delete of nothing: %v", err)
		}
		if err := h.Put([]byte("k"), make([]byte, 1<<20)); err == nil {
			t.Error("a value that no tuple holds was taken")
		}
	})
}

// A batch has each key's last write, and a scan goes on where the caller does.
func TestBatchesAndScans(t *testing.T) {
	eachEngine(t, func(t *testing.T, c store.Config) {
		_, h := drivertest.Open(t, tarantool.Driver{}, c)
		var writes []store.Write
		for i := range 2500 {
			writes = append(writes, store.Write{Key: fmt.Appendf(nil, "%04d", i%1250), Value: fmt.Appendf(nil, "v%d", i)})
		}
		must(t, h.(store.Batcher).Apply(append(writes, store.Write{Key: []byte("0007"), Delete: true})))
		wantGet(t, h, "0008", "v1258")
		wantMiss(t, h, "0007")
		var keys []string
		must(t, h.(store.Scanner).Scan([]byte("0005"), 2, func(key, value []byte) bool {
			keys = append(keys, string(key))
			return len(keys) < 1100
		}))
		if len(keys) != 1100 || keys[0] != "0005" || keys[2] != "0008" || !slices.IsSorted(keys) {
			t.Errorf("%d keys from %q on", len(keys), keys[:min(5, len(keys))])
		}
		for deleted := 1; deleted > 0; {
			var err error
			deleted, err = h.(store.PrefixDeleter).DeletePrefix([]byte("0"), 700)
			must(t, err)
		}
		wantMiss(t, h, "0008")
		wantGet(t, h, "1000", "v2250")
	})
}

// Columns are fields of their own: a number can be added to, and what is no number is not sent.
func TestColumns(t *testing.T) {
	eachEngine(t, func(t *testing.T, c store.Config) {
		s, err := tarantool.Driver{}.Open(t.Context(), c)
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		columns := []store.Column{{Name: "name", Type: store.TextColumn}, {Name: "n", Type: store.IntegerColumn}}
		err = s.(store.Definer).Define(columns, []store.Index{{Column: 1}}, nil)
		if !errors.Is(err, store.ErrRefused) {
			t.Errorf("an index: %v", err)
		}
		must(t, s.(store.Definer).Define(columns, nil, nil))
		h, err := s.Handle()
		must(t, err)
		t.Cleanup(func() { must(t, h.Close()) })
		record := func(name, n string) []byte {
			return store.AppendColumn(store.AppendColumn(nil, []byte(name)), []byte(n))
		}
		must(t, h.Put([]byte("k"), record("a", "7")))
		must(t, h.(store.Incrementer).Increment([]byte("k"), 1, 5))
		must(t, h.(store.Modifier).Modify([]byte("k"), []int{0}, [][]byte{[]byte("b")}))
		wantGet(t, h, "k", string(record("b", "12")))
		must(t, h.(store.CompareAndSwapper).CompareAndSwap([]byte("k"), record("b", "12"), record("c", "13")))
		err = h.(store.CompareAndSwapper).CompareAndSwap([]byte("k"), record("c", "12"), record("d", "14"))
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of another number: %v", err)
		}
		wantGet(t, h, "k", string(record("c", "13")))
		for what, value := range map[string][]byte{"no number": record("a", "x"), "no columns": []byte("v"),
			"a column more": append(record("a", "1"), 0, 0)} {
			if err := h.Put([]byte("k"), value); err == nil {
				t.Errorf("%s was taken", what)
			}
		}
		if err := h.(store.Incrementer).Increment([]byte("none"), 1, 5); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("increment of nothing: %v", err)
		}
		must(t, h.Delete([]byte("k")))
	})
}

// The last store that leaves its spaces empty drops them; one that is not the last does not.
func TestUnusedSpacesAreDropped(t *testing.T) {
	c := config(t, store.D1, nil)
	opened := func() (store.Store, store.Handle) {
		s, err := tarantool.Driver{}.Open(t.Context(), c)
		must(t, err)
		h, err := s.Handle()
		must(t, err)
		return s, h
	}
	first, writer := opened()
	second, reader := opened()
	must(t, first.Close())
	must(t, writer.Put([]byte("k"), []byte("v"))) // the second one has the space still open
	wantGet(t, reader, "k", "v")
	must(t, second.Close())
	wantGet(t, reader, "k", "v") // it was not empty

	c.First, c.Options["flush_at_open"] = true, "true"
	third, flushed := opened()
	if held, known := third.(store.Holder).Held(); held != 1 || !known {
		t.Errorf("held %d, %v", held, known)
	}
	wantMiss(t, flushed, "k")
	if _, err := (tarantool.Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
		t.Errorf("what another store uses was emptied: %v", err)
	}
	must(t, third.Close())
	if _, err := flushed.Get([]byte("k"), nil); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("the space is still there: %v", err)
	}
	for _, h := range []store.Handle{writer, reader, flushed} {
		must(t, h.Close())
	}
}

// Inspect has every counter from the start, and they count.
func TestInspect(t *testing.T) {
	eachEngine(t, func(t *testing.T, c store.Config) {
		s, h := drivertest.Open(t, tarantool.Driver{}, c)
		before := s.(store.Inspector).Inspect().Stats
		must(t, h.Put([]byte("k"), []byte("v")))
		after := s.(store.Inspector).Inspect().Stats
		if len(before) != len(after) || after["replaces"] != before["replaces"]+1 || after["records"] != 1 || after["connections"] < 2 {
			t.Errorf("before: %v, after: %v", before, after)
		}
		must(t, h.Delete([]byte("k")))
	})
}
