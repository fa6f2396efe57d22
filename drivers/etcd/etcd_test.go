package etcd_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/drivers/etcd"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, endpoint string, given map[string]string) (store.Store, store.Handle) {
	t.Helper()
	driver := etcd.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D3, given)
	c.Endpoints, c.First = []string{endpoint}, true
	return drivertest.Open(t, driver, c)
}

func wantGet(t *testing.T, h store.Handle, key string, want []byte) {
	t.Helper()
	got, err := h.Get([]byte(key), nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("get %s: %d bytes, %v; want %d bytes", key, len(got), err, len(want))
	}
}

func TestTransactions(t *testing.T) {
	_, h := open(t, drivertest.StartServer(t, etcd.Program, store.D3, nil).Endpoint(), map[string]string{"operation_timeout": "1m"})
	swap := h.(store.CompareAndSwapper).CompareAndSwap
	if err := swap([]byte("k"), nil, []byte("v")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a key that is not there is taken for one with the empty value: %v", err)
	}
	must(t, h.(store.Adder).Add([]byte("k"), nil))
	if err := h.(store.Adder).Add([]byte("k"), nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("add of a key that is there: %v", err)
	}
	must(t, swap([]byte("k"), nil, []byte("v")))
	if err := swap([]byte("k"), nil, []byte("w")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap of an old value: %v", err)
	}
	var writes []store.Write
	for i := range 300 { // more than a transaction may have, of fewer keys
		writes = append(writes, store.Write{Key: fmt.Append(nil, i%100), Value: fmt.Append(nil, "v", i)})
	}
	must(t, h.(store.Batcher).Apply(append(writes, store.Write{Key: []byte("k"), Delete: true})))
	wantGet(t, h, "7", []byte("v207"))
	if _, err := h.Get([]byte("k"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of a deleted key: %v", err)
	}
	longest := make([]byte, etcd.Driver{}.Describe().ValueBytesMax)
	must(t, h.Put([]byte("long"), longest))
	wantGet(t, h, "long", longest)
	if err := h.Put([]byte("long"), append(longest, 0)); err == nil {
		t.Error("a value above the limit was taken")
	}
}

func TestFlushesOnlyWhenAsked(t *testing.T) {
	endpoint := drivertest.StartServer(t, etcd.Program, store.D3, nil).Endpoint()
	_, h := open(t, endpoint, nil)
	must(t, h.Put([]byte("key"), []byte("value")))
	_, again := open(t, endpoint, nil)
	wantGet(t, again, "key", []byte("value"))
	s, emptied := open(t, endpoint, map[string]string{"flush_at_open": "true"})
	if held, known := s.(store.Holder).Held(); held != 1 || !known {
		t.Errorf("the server is said to have held %d records (known: %v), expected 1", held, known)
	}
	if _, err := emptied.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a flush: %v", err)
	}
}

// Each acknowledged write of one client is a sync of the log.
func TestEveryWriteIsSynced(t *testing.T) {
	s, h := open(t, drivertest.StartServer(t, etcd.Program, store.D3, nil).Endpoint(), map[string]string{"operation_timeout": "1m"})
	syncs := func() float64 { return s.(store.Inspector).Inspect().Stats["wal_syncs"] }
	before := syncs()
	const writes = 50
	for i := range writes {
		must(t, h.Put(fmt.Append(nil, i), []byte("v")))
	}
	if synced := syncs() - before; synced < writes {
		t.Errorf("%v syncs of the log for %d writes, one after the other", synced, writes)
	}
}

// A server that does not sync, and tells nothing else, is refused.
func TestServerThatShowsNoSyncIsRefused(t *testing.T) {
	for name, metrics := range map[string]string{
		"none": "etcd_disk_wal_fsync_duration_seconds_count 0\n", "not told": "etcd_server_has_leader 1\n", "no number": "etcd_disk_wal_fsync_duration_seconds_count many\n",
	} {
		fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, metrics)
		}))
		t.Cleanup(fake.Close)
		driver := etcd.Driver{}
		c := drivertest.Config(t, driver.Describe(), store.D3, nil)
		c.Endpoints = []string{strings.TrimPrefix(fake.URL, "http://")}
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// By entry one, every handle is of the first member; by entry all, they go to each in turn. The second
// "member" here answers for its metrics alone, so that a handle of it can do nothing.
func TestHandlesConnectToTheChosenMembers(t *testing.T) {
	mute := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "etcd_disk_wal_fsync_duration_seconds_count 1\n")
	}))
	t.Cleanup(mute.Close)
	endpoints := []string{drivertest.StartServer(t, etcd.Program, store.D3, nil).Endpoint(), strings.TrimPrefix(mute.URL, "http://")}
	for entry, timeout := range map[string]string{"one": "1m", "all": "1s"} {
		driver := etcd.Driver{}
		c := drivertest.Config(t, driver.Describe(), store.D3, map[string]string{"entry": entry, "operation_timeout": timeout})
		c.Endpoints, c.First = endpoints, true
		s, _ := drivertest.Open(t, driver, c)
		second, err := s.Handle()
		must(t, err)
		if err := second.Put([]byte("k"), nil); (err != nil) != (entry == "all") {
			t.Errorf("entry %s: a put by the second handle: %v", entry, err)
		}
		must(t, second.Close())
	}
}

func TestRefusals(t *testing.T) {
	driver := etcd.Driver{}
	for name, change := range map[string]func(*store.Config){
		"no endpoint":  func(c *store.Config) { c.Endpoints = nil },
		"no time":      func(c *store.Config) { c.Options["operation_timeout"] = "0s" },
		"a weak class": func(c *store.Config) { c.Durability = store.D1 },
	} {
		c := drivertest.Config(t, driver.Describe(), store.D3, nil)
		c.Endpoints = []string{"127.0.0.1:1"}
		change(&c)
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := drivertest.Config(t, driver.Describe(), store.D3, nil)
	c.Endpoints = []string{"127.0.0.1:1"}
	if _, err := driver.Open(t.Context(), c); err == nil || errors.Is(err, store.ErrRefused) {
		t.Errorf("nobody listens there: %v", err)
	}
}

// A server at its quota refuses all writes until its alarm is disarmed: the driver reports that, with
// the commands. Below the quota it reports nothing, and the room that is left shrinks.
func TestServerAtItsQuotaIsReported(t *testing.T) {
	endpoint := drivertest.StartServer(t, etcd.Program, store.D3, map[string]string{"quota_bytes": "4MiB"}).Endpoint()
	s, h := open(t, endpoint, map[string]string{"operation_timeout": "1m"})
	before := s.(store.Inspector).Inspect()
	if len(before.Left) != 0 || before.Stats[store.RoomStat] <= 0 {
		t.Errorf("before: %v, room %v", before.Left, before.Stats[store.RoomStat])
	}
	value := make([]byte, 256<<10)
	refused := false
	for i := 0; i < 100 && !refused; i++ {
		refused = h.Put([]byte("k"), value) != nil
	}
	after := s.(store.Inspector).Inspect()
	if !refused || len(after.Left) != 1 || len(after.Left[0].Undo) != 3 || strings.Contains(after.Left[0].Undo[0], "REVISION") {
		t.Errorf("refused %v: %+v", refused, after.Left)
	}
}
