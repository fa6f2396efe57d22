package tokyotyrant_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/drivers/tokyotyrant"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/tyrantstandin"
	"assay/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, driver store.Driver, class store.Durability, endpoint string,
	given map[string]string) (store.Store, store.Handle) {
	t.Helper()
	c := drivertest.Config(t, driver.Describe(), class, given)
	if given["operation_timeout"] == "" {
		c.Options["operation_timeout"] = "1m" // of no test: the machine may be busy
	}
	c.Endpoints, c.First = []string{endpoint}, true
	return drivertest.Open(t, driver, c)
}

var programs = map[string]server.Program{
	"tokyotyrant": tokyotyrant.Program, "tokyotyrant-btree": tokyotyrant.TreeProgram,
	"tokyotyrant-table": tokyotyrant.TableProgram,
}

// servers runs a test against the stand-in and against the real server.
func servers(t *testing.T, driver store.Driver, class store.Durability, test func(t *testing.T, endpoint string)) {
	name := driver.Describe().Name
	t.Run("stand-in", func(t *testing.T) { test(t, tyrantstandin.For(t, name, class)) })
	t.Run("ttserver", func(t *testing.T) {
		test(t, drivertest.StartServer(t, programs[name], class, nil).Endpoint())
	})
}

func wantGet(t *testing.T, h store.Handle, key string, want []byte) {
	t.Helper()
	got, err := h.Get([]byte(key), nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("get %q: %d bytes, %v; want %d bytes", key, len(got), err, len(want))
	}
}

// ways are the options that every operation must work with.
var ways = []struct {
	driver  store.Driver
	class   store.Durability
	options map[string]string
}{
	{tokyotyrant.Driver{}, store.D1, nil},
	{tokyotyrant.Driver{}, store.D0, map[string]string{"write": "putnr"}},
	{tokyotyrant.Driver{}, store.D1, map[string]string{"protocol": "memcached"}},
	{tokyotyrant.Driver{}, store.D1, map[string]string{"protocol": "http"}},
	{tokyotyrant.Tree{}, store.D0, nil},
	{tokyotyrant.Table{}, store.D1, nil},
}

func TestEveryOperation(t *testing.T) {
	for _, way := range ways {
		t.Run(fmt.Sprint(way.driver.Describe().Name, way.options), func(t *testing.T) {
			servers(t, way.driver, way.class, func(t *testing.T, endpoint string) {
				s, h := open(t, way.driver, way.class, endpoint, way.options)
				testEveryOperation(t, h)
				if loop, err := s.(store.Asynchronous).Loop(1, 1); err == nil {
					must(t, loop.Close())
					_, _ = open(t, way.driver, way.class, endpoint, map[string]string{"flush_at_open": "true"})
					testEveryOperation(t, drivertest.Async(t, s))
				} else if way.options["write"] != "putnr" || !errors.Is(err, store.ErrRefused) {
					t.Errorf("asynchronous handles: %v", err)
				}
				must(t, s.(store.Syncer).Sync())
				if rnum := s.(store.Inspector).Inspect().Stats["rnum"]; rnum == 0 {
					t.Error("the server tells no records")
				}
			})
		})
	}
}

func testEveryOperation(t *testing.T, h store.Handle) {
	for i, value := range [][]byte{[]byte("value"), {}, []byte("\r\nEND\r\n"),
		bytes.Repeat([]byte{0, 1, '\n', 255}, 100_000)} {
		key := fmt.Sprintf("key-%d", i)
		must(t, h.Put([]byte(key), value))
		wantGet(t, h, key, value)
	}
	key := []byte("key-0")
	if err := h.(store.Adder).Add(key, []byte("v")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("add of a key that is there: %v", err)
	}
	must(t, h.(store.Adder).Add([]byte("new"), []byte("v")))
	must(t, h.Delete(key))
	if err := h.Delete(key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("delete of a key that is not there: %v", err)
	}
	if _, err := h.Get(key, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a key that is not there: %v", err)
	}
	var writes []store.Write
	for i := range 1000 { // more than one pipeline
		writes = append(writes, store.Write{Key: fmt.Appendf(nil, "batch-%d", i),
			Value: fmt.Appendf(nil, "value-%d", i)})
	}
	writes = append(writes, store.Write{Key: []byte("batch-7"), Delete: true},
		store.Write{Key: []byte("absent"), Delete: true},
		store.Write{Key: []byte("batch-8"), Value: []byte("later")})
	must(t, h.(store.Batcher).Apply(writes))
	wantGet(t, h, "batch-999", []byte("value-999"))
	wantGet(t, h, "batch-8", []byte("later"))
	if _, err := h.Get([]byte("batch-7"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a key that a batch deleted: %v", err)
	}
}

// A key of any bytes comes back under itself, and only the memcached face refuses some.
func TestKeysOfAnyBytes(t *testing.T) {
	for _, protocol := range []string{"binary", "http"} {
		t.Run(protocol, func(t *testing.T) {
			servers(t, tokyotyrant.Driver{}, store.D1, func(t *testing.T, endpoint string) {
				_, h := open(t, tokyotyrant.Driver{}, store.D1, endpoint, map[string]string{"protocol": protocol})
				for b := range 256 {
					must(t, h.Put([]byte{byte(b), '/', byte(b)}, []byte{byte(b)}))
				}
				for b := range 256 {
					wantGet(t, h, string([]byte{byte(b), '/', byte(b)}), []byte{byte(b)})
				}
			})
		})
	}
	s := tyrantstandin.Start(t, tyrantstandin.Hash)
	_, h := open(t, tokyotyrant.Driver{}, store.D1, s.Endpoint, map[string]string{"protocol": "memcached"})
	s.SetLie(func(what string, _ []byte) []byte { t.Error("sent: ", what); return nil })
	for _, key := range []string{"", "a b", "a\r\nset b 0 0 0\r\n\r\n", "a\x00", "\x7f",
		strings.Repeat("k", 251)} {
		if err := h.Put([]byte(key), nil); err == nil {
			t.Errorf("put of %.20q was taken", key)
		}
	}
	s.SetLie(nil)
}

// A put without a reply is done before its handle's next operation, and before the handle is closed.
func TestUnansweredPutsAreDoneInOrder(t *testing.T) {
	driver := tokyotyrant.Driver{}
	servers(t, driver, store.D0, func(t *testing.T, endpoint string) {
		s, h := open(t, driver, store.D0, endpoint, map[string]string{"write": "putnr"})
		for i := range 5000 {
			must(t, h.Put(fmt.Appendf(nil, "key-%d", i), fmt.Appendf(nil, "value-%d", i)))
		}
		wantGet(t, h, "key-4999", []byte("value-4999"))
		other, err := s.Handle()
		must(t, err)
		for i := range 5000 {
			must(t, other.Put(fmt.Appendf(nil, "key-%d", i), []byte("other")))
		}
		must(t, other.Close())
		wantGet(t, h, "key-4999", []byte("other"))
	})
}

// A put without an answer that the server could not do is not seen: this is what D0 says of it.
func TestUnansweredFailureIsNotSeen(t *testing.T) {
	s := tyrantstandin.Start(t, tyrantstandin.MemoryHash)
	_, h := open(t, tokyotyrant.Driver{}, store.D0, s.Endpoint, map[string]string{"write": "putnr"})
	s.SetLie(func(what string, _ []byte) []byte {
		if what == "putnr" {
			return []byte{} // as ttserver: it logs the failure
		}
		return []byte{1}
	})
	must(t, h.Put([]byte("key"), []byte("value")))
	if err := h.(store.Adder).Add([]byte("key"), nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("add: %v", err)
	}
	s.SetLie(nil)
}

func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		driver  store.Driver
		kind    string
		class   store.Durability
		options map[string]string
		why     string
	}{
		{tokyotyrant.Driver{}, tyrantstandin.Table, store.D1, nil, "driver tokyotyrant-table takes it"},
		{tokyotyrant.Driver{}, tyrantstandin.Tree, store.D0, nil, "driver tokyotyrant-btree takes it"},
		{tokyotyrant.Table{}, tyrantstandin.Hash, store.D1, nil, "driver tokyotyrant takes it"},
		{tokyotyrant.Driver{}, "skeleton", store.D1, nil, "no driver takes"},
		{tokyotyrant.Driver{}, tyrantstandin.MemoryHash, store.D1, nil, "can't reach D1"},
		{tokyotyrant.Driver{}, tyrantstandin.Hash, store.D0, nil, "can't reach D0"},
		{tokyotyrant.Driver{}, tyrantstandin.Hash, store.D3, nil, "can't reach D3"},
		{tokyotyrant.Driver{}, tyrantstandin.Hash, store.D1, map[string]string{"write": "putnr"}, "gives D0"},
		{tokyotyrant.Driver{}, tyrantstandin.Hash, store.D0,
			map[string]string{"write": "putnr", "protocol": "http"}, "is of protocol: binary"},
		{tokyotyrant.Driver{}, tyrantstandin.Hash, store.D1, map[string]string{"operation_timeout": "0s"}, "more than 0"},
	} {
		s := tyrantstandin.Start(t, test.kind)
		c := drivertest.Config(t, test.driver.Describe(), test.class, test.options)
		c.Endpoints = []string{s.Endpoint}
		_, err := test.driver.Open(t.Context(), c)
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(fmt.Sprint(err), test.why) {
			t.Errorf("%s at %q, %s, %v: %v; expected a refusal with %q", test.driver.Describe().Name, test.kind,
				test.class, test.options, err, test.why)
		}
	}
}

// Nothing on a server is deleted unless the option says so.
func TestServerIsEmptiedOnlyWhenAsked(t *testing.T) {
	servers(t, tokyotyrant.Driver{}, store.D1, func(t *testing.T, endpoint string) {
		_, h := open(t, tokyotyrant.Driver{}, store.D1, endpoint, nil)
		must(t, h.Put([]byte("key"), []byte("value")))
		s, again := open(t, tokyotyrant.Driver{}, store.D1, endpoint, nil)
		wantGet(t, again, "key", []byte("value"))
		if held, known := s.(store.Holder).Held(); held != 1 || !known {
			t.Errorf("held %d, %v", held, known)
		}
		_, emptied := open(t, tokyotyrant.Driver{}, store.D1, endpoint, map[string]string{"flush_at_open": "true"})
		if _, err := emptied.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get after flush_at_open: %v", err)
		}
	})
}

func TestScansATree(t *testing.T) {
	servers(t, tokyotyrant.Tree{}, store.D0, func(t *testing.T, endpoint string) {
		_, h := open(t, tokyotyrant.Tree{}, store.D0, endpoint, nil)
		for i := range 500 {
			must(t, h.Put(fmt.Appendf(nil, "%03d", i), fmt.Appendf(nil, "value %d", i)))
		}
		for _, limit := range []int{1, 10, 1000} { // 1, 10: the caller takes more than it said
			var keys []string
			must(t, h.(store.Scanner).Scan([]byte("0995"), limit, func(key, value []byte) bool {
				if want := fmt.Sprintf("value %d", 100+len(keys)); string(value) != want {
					t.Errorf("%s: %s, want %s", key, value, want)
				}
				keys = append(keys, string(key))
				return len(keys) < 25
			}))
			if len(keys) != 25 || keys[0] != "100" || keys[24] != "124" || !slices.IsSorted(keys) {
				t.Errorf("limit %d: %v", limit, keys)
			}
		}
		wantGet(t, h, "100", []byte("value 100")) // the stream is where it should be
	})
}

// What a server must not answer is an error, and the next operation connects anew.
func TestLies(t *testing.T) {
	lies := map[string][]byte{
		"hangs up":                nil,
		"a long value, cut":       {0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3},
		"more than was asked for": bytes.Repeat([]byte{0, 0, 0, 0, 0}, 10),
		"silence":                 {},
	}
	for _, way := range ways {
		for name, lie := range lies {
			t.Run(fmt.Sprint(way.driver.Describe().Name, way.options, " ", name), func(t *testing.T) {
				t.Parallel()
				kind := map[string]string{"tokyotyrant": tyrantstandin.Hash, "tokyotyrant-btree": tyrantstandin.Tree,
					"tokyotyrant-table": tyrantstandin.Table}
				s := tyrantstandin.Start(t, kind[way.driver.Describe().Name])
				options := map[string]string{"operation_timeout": "2s"}
				for option, value := range way.options {
					options[option] = value
				}
				_, h := open(t, way.driver, way.class, s.Endpoint, options)
				must(t, h.Put([]byte("key"), []byte("value")))
				s.SetLie(func(string, []byte) []byte { return lie })
				for range 2 { // the second meets what the first left in the stream
					if value, err := h.Get([]byte("key"), nil); err == nil && string(value) == "value" ||
						errors.Is(err, store.ErrNotFound) {
						t.Errorf("get: %q, %v", value, err)
					}
				}
				s.SetLie(nil)
				if value, err := h.Get([]byte("key"), nil); err != nil || string(value) != "value" {
					if value, err = h.Get([]byte("key"), nil); err != nil || string(value) != "value" {
						t.Errorf("get after the lies: %q, %v", value, err)
					}
				}
			})
		}
	}
}

// An answer that is much longer than what was stored is an error, and takes no memory.
func TestFloods(t *testing.T) {
	for _, way := range ways {
		kind := map[string]string{"tokyotyrant": tyrantstandin.Hash, "tokyotyrant-btree": tyrantstandin.Tree,
			"tokyotyrant-table": tyrantstandin.Table}[way.driver.Describe().Name]
		t.Run(fmt.Sprint(way.driver.Describe().Name, way.options), func(t *testing.T) {
			s := tyrantstandin.Start(t, kind)
			db, h := open(t, way.driver, way.class, s.Endpoint, way.options)
			must(t, h.Put([]byte("key"), []byte("value")))
			must(t, h.Put([]byte("long"), make([]byte, 16<<20)))
			db.(store.Expecter).Expect(len("value"))
			handles := []store.Handle{h}
			if way.options["write"] == "" {
				handles = append(handles, drivertest.Async(t, db))
			}
			for _, h := range handles {
				if value, err := h.Get([]byte("long"), nil); err == nil ||
					!strings.Contains(err.Error(), "16777216 bytes at once") {
					t.Errorf("got %d bytes, %v", len(value), err)
				}
				wantGet(t, h, "key", []byte("value"))
			}
			if h, can := h.(store.Scanner); can {
				err := h.Scan([]byte("key"), 10, func(_, _ []byte) bool { return true })
				if err == nil || !strings.Contains(err.Error(), "16777216 bytes at once") {
					t.Errorf("scan: %v", err)
				}
			}
		})
	}
}

// Each setting that is asked for is read back from the file or the process, or reported as not read.
func TestSettingsAreReadBack(t *testing.T) {
	tuned := map[string]string{"threads": "3", "bnum": "500000", "xmsiz_bytes": "128MiB", "apow": "6",
		"fpow":  "12",
		"large": "true", "compression": "tcbs", "dfunit": "8", "update_log": "true"}
	want := map[string]string{"threads": "3", "bnum": "524287", "mapped_bytes": "134217728", "apow": "6",
		"fpow":  "12",
		"large": "true", "compression": "tcbs", "dfunit (asked)": "8", "update_log (asked)": "true"}
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			class := store.D1
			if name == "tokyotyrant-btree" {
				class = store.D0
				tuned["lmemb"], tuned["nmemb"], want["lmemb"], want["nmemb"] = "64", "32", "64", "32"
			} else {
				delete(tuned, "lmemb")
				delete(tuned, "nmemb")
				delete(want, "lmemb")
				delete(want, "nmemb")
			}
			i := drivertest.StartServer(t, p, class, tuned)
			for setting, value := range want {
				if i.Settings[setting] != value {
					t.Errorf("%s is %q, want %q", setting, i.Settings[setting], value)
				}
			}
		})
	}
	t.Run("without meaning", func(t *testing.T) {
		drivertest.StartServer(t, tokyotyrant.Program, store.D1, nil) // it is installed, or the test is skipped
		for class, options := range map[store.Durability]map[string]string{
			store.D0: {"rcnum": "1000"}, store.D1: {"capnum": "1000"},
		} {
			i, err := server.Start(t.Context(), tokyotyrant.Program, server.Request{
				Directory: t.TempDir(), Log: t.Output(), Class: class, Options: options, Patience: time.Minute})
			if err == nil || !strings.Contains(err.Error(), "does not tell it") {
				t.Errorf("%s: %v: started, %v", class, options, errors.Join(err, i.Stop(time.Minute)))
			}
		}
	})
	t.Run("memory", func(t *testing.T) {
		i := drivertest.StartServer(t, tokyotyrant.Program, store.D0, map[string]string{"capnum": "1000"})
		if i.Settings["type"] != "on-memory hash" || i.Settings["capnum (asked)"] != "1000" {
			t.Errorf("%v", i.Settings)
		}
	})
}

// A ttserver that Assay starts runs no programs and writes no files for its clients: copy to a path that
// begins with @ is a command.
//
// Fault (servers): another user orders a copy by a program of theirs from a started Tokyo Tyrant,
// which knows no login
// Assay: commands that the driver does not need are forbidden
func TestStartedServerRunsNoCommands(t *testing.T) {
	i := drivertest.StartServer(t, tokyotyrant.Program, store.D1, nil)
	made := filepath.Join(i.Directory, "made")
	text := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	script := filepath.Join(i.Directory, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+made+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, request := range map[string][]byte{
		"copy to a command": append([]byte{0xC8, 0x73}, text(nil, "@"+script)...),
		"copy to a file":    append([]byte{0xC8, 0x73}, text(nil, made)...),
		"restore": append(append([]byte{0xC8, 0x74}, binary.BigEndian.AppendUint32(nil, uint32(len(i.Directory)))...),
			append(make([]byte, 8+4), i.Directory...)...),
		"optimize": append([]byte{0xC8, 0x71}, text(nil, "bnum=1")...),
	} {
		c, err := net.Dial("tcp", i.Endpoint())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(request); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 1)
		if n, err := c.Read(answer); err != nil || n != 1 || answer[0] == 0 {
			t.Errorf("%s: %v %v, expected a refusal", name, answer, err)
		}
		_ = c.Close()
	}
	if _, err := os.Stat(made); err == nil {
		t.Errorf("%s was made", made)
	}
}
