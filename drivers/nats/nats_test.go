package nats_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/drivers/nats"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

var servers drivertest.Shared

func TestMain(m *testing.M) {
	nats.ServeIfAsked()
	os.Exit(servers.End(m.Run()))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config has a bucket for each test, and waits long on a busy machine.
func config(t *testing.T, endpoint string, class store.Durability, given map[string]string) store.Config {
	t.Helper()
	own := map[string]string{"bucket": strings.NewReplacer("/", "_", "=", "_").Replace(t.Name())}
	return drivertest.At(t, nats.Driver{}.Describe(), endpoint, class, own, given)
}

func shared(t *testing.T, class store.Durability) string {
	t.Helper()
	return servers.Get(t, nats.Program, class).Endpoint()
}

func wantGet(t *testing.T, h store.Handle, key string, want []byte) {
	t.Helper()
	got, err := h.Get([]byte(key), nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("get %s: %d bytes, %v; want %d bytes", key, len(got), err, len(want))
	}
}

func TestClassesAreProved(t *testing.T) {
	for _, try := range []struct {
		server, class store.Durability
		refused       string // what the message must name; "": opens
	}{
		{store.D1, store.D0, ""}, {store.D1, store.D1, ""}, {store.D1, store.D3, "sync_interval: always"},
		{store.D3, store.D0, ""}, {store.D3, store.D1, "sync_interval: 2m"}, {store.D3, store.D3, ""},
	} {
		t.Run(string(try.server)+"/"+string(try.class), func(t *testing.T) {
			s, err := nats.Driver{}.Open(t.Context(), config(t, shared(t, try.server), try.class, nil))
			if try.refused != "" {
				if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), try.refused) {
					t.Errorf("expected a refusal that names %s, got %v", try.refused, err)
				}
				return
			}
			must(t, err)
			want := "File"
			if try.class == store.D0 {
				want = "Memory"
			}
			if got := s.Settings()["bucket.storage"]; got != want {
				t.Errorf("storage is %s, want %s", got, want)
			}
			must(t, s.Close())
		})
	}
}

// A server that does not report whether it syncs gives no class but D0, unless its monitoring does.
func TestServerThatHidesItsSettingsIsRefused(t *testing.T) {
	endpoint := silent(t)
	if _, err := (nats.Driver{}).Open(t.Context(), config(t, endpoint, store.D3, nil)); !errors.Is(err,
		store.ErrRefused) {
		t.Errorf("opened: %v", err)
	}
	s, _ := drivertest.Open(t, nats.Driver{}, config(t, endpoint, store.D0, nil))
	if stats := s.(store.Inspector).Inspect().Stats; len(stats) == 0 || stats["connections"] != 0 {
		t.Errorf("statistics without monitoring: %v", stats)
	}
	for told, want := range map[string]error{
		`{"jetstream": {"config": {"sync_always": true}}}`:           nil,
		`{"jetstream": {"config": {"sync_interval": 120000000000}}}`: store.ErrRefused,
		`{"jetstream": {}}`: store.ErrRefused,
		`no JSON`:           store.ErrRefused,
	} {
		fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/varz" {
				fmt.Fprint(w, told)
			}
		}))
		t.Cleanup(fake.Close)
		s, err := nats.Driver{}.Open(t.Context(), config(t, endpoint, store.D3,
			map[string]string{"monitoring": strings.TrimPrefix(fake.URL, "http://")}))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", told, err, want)
		}
		if err == nil {
			must(t, s.Close())
		}
	}
}

// A server that reports another sync_interval after the phase does not keep the class.
func TestServerWhoseSyncIntervalChanges(t *testing.T) {
	var always atomic.Bool
	always.Store(true)
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"jetstream": {"config": {"sync_always": %v, "sync_interval": 120000000000}}}`, always.Load())
	}))
	t.Cleanup(fake.Close)
	s, _ := drivertest.Open(t, nats.Driver{}, config(t, silent(t), store.D3, map[string]string{"monitoring": strings.TrimPrefix(fake.URL, "http://")}))
	for _, c := range []struct {
		always bool
		says   string
	}{{true, ""}, {false, "it syncs once in 2m0s"}} {
		always.Store(c.always)
		evidence, err := s.(store.DurabilityTeller).TellDurability()
		if err != nil || (evidence.Broken == "") != c.always || !strings.Contains(evidence.Broken, c.says) {
			t.Errorf("always %v: %+v, %v", c.always, evidence, err)
		}
	}
}

func TestConditionalWrites(t *testing.T) {
	s, h := drivertest.Open(t, nats.Driver{}, config(t, shared(t, store.D3), store.D3, nil))
	other, err := s.Handle()
	must(t, err)
	defer func() { must(t, other.Close()) }()
	add, swap := h.(store.Adder).Add, h.(store.CompareAndSwapper).CompareAndSwap
	for range 2 { // the second time behind a delete marker
		if err := swap([]byte("k"), nil, []byte("v")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a key that is not there is taken for one with the empty value: %v", err)
		}
		must(t, add([]byte("k"), nil))
		if err := add([]byte("k"), nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("add of a key that is there: %v", err)
		}
		must(t, swap([]byte("k"), nil, []byte("v")))
		if err := swap([]byte("k"), nil, []byte("w")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of an old value: %v", err)
		}
		must(t, h.Delete([]byte("k")))
	}
	// Of writers that add at once behind a marker, one does.
	done := make(chan error)
	for _, h := range []store.Handle{h, other} {
		go func() { done <- h.(store.Adder).Add([]byte("k"), []byte("v")) }()
	}
	first, second := <-done, <-done
	if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), store.ErrConflict) {
		t.Errorf("two adds at once: %v, %v", first, second)
	}
}

func TestLimits(t *testing.T) {
	_, h := drivertest.Open(t, nats.Driver{}, config(t, shared(t, store.D3), store.D3, nil))
	longest := make([]byte, nats.Driver{}.Describe().ValueBytesMax)
	must(t, h.Put([]byte("long"), longest))
	must(t, h.(store.CompareAndSwapper).CompareAndSwap([]byte("long"), longest, longest))
	wantGet(t, h, "long", longest)
	if err := h.Put([]byte("long"), append(longest, 0)); err == nil {
		t.Error("a value above the limit was taken")
	}
	for _, key := range []string{"a b", "a*", ">", ".a", "a.", "a..b", "é", "a\x00"} {
		if err := h.Put([]byte(key), nil); err == nil {
			t.Errorf("key %q was taken", key)
		}
		if _, err := h.Get([]byte(key), nil); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	wantGet(t, h, "long", longest) // the connection is as it was
}

// A bucket is deleted by the last store that closes it, if it holds no key, and never if Assay did
// not make it.
func TestBuckets(t *testing.T) {
	endpoint := shared(t, store.D3)
	c := config(t, endpoint, store.D3, nil)
	connection, err := client.Connect("nats://" + endpoint)
	must(t, err)
	defer connection.Close()
	js, err := jetstream.New(connection)
	must(t, err)
	name := c.Options["bucket"] + "_file"
	there := func(want bool) {
		t.Helper()
		_, err := js.KeyValue(t.Context(), name)
		if err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) || (err == nil) != want {
			t.Fatalf("bucket: %v, want there: %v", err, want)
		}
	}
	open := func(c store.Config) (store.Store, store.Handle) {
		t.Helper()
		s, err := nats.Driver{}.Open(t.Context(), c)
		must(t, err)
		h, err := s.Handle()
		must(t, err)
		return s, h
	}
	first, h := open(c)
	second, other := open(c)
	must(t, errors.Join(other.Close(), second.Close()))
	there(true) // the first has it open
	for i := range 1000 {
		must(t, h.Put(fmt.Append(nil, i), nil))
	}
	must(t, errors.Join(h.Close(), first.Close()))
	there(true) // it holds keys

	emptying := c
	emptying.First, emptying.Options = true, store.Options{}
	for option, value := range c.Options {
		emptying.Options[option] = value
	}
	emptying.Options["flush_at_open"] = "true"
	held, h := open(c)
	if n, known := held.(store.Holder).Held(); n != 1000 || !known {
		t.Errorf("held %d, %v", n, known)
	}
	if _, err := (nats.Driver{}).Open(t.Context(), emptying); !errors.Is(err, store.ErrRefused) {
		t.Errorf("emptied a bucket that another has open: %v", err)
	}
	must(t, errors.Join(h.Close(), held.Close()))
	emptied, h := open(emptying)
	if _, err := h.Get([]byte("1"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a flush: %v", err)
	}
	must(t, h.Put([]byte("k"), nil))
	must(t, h.Delete([]byte("k")))
	must(t, errors.Join(h.Close(), emptied.Close()))
	there(false) // of it there is a delete marker alone

	_, err = js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name, Description: "mine"})
	must(t, err)
	for _, c := range []store.Config{c, emptying} {
		if _, err := (nats.Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("another's bucket: %v", err)
		}
	}
	there(true)
	_, err = js.UpdateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name,
		Description: "made by Assay"})
	must(t, err)
	must(t, js.DeleteKeyValue(t.Context(), name))
	_, err = js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name,
		Description: "made by Assay", Storage: jetstream.MemoryStorage})
	must(t, err)
	if _, err := (nats.Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
		t.Errorf("a bucket in memory was opened at D3: %v", err)
	}
}

// silent is a server whose users may not ask it for its settings.
func silent(t *testing.T) (endpoint string) {
	t.Helper()
	binary, err := nats.Program.Find()
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	endpoint = l.Addr().String()
	must(t, l.Close())
	c := exec.Command(binary, nats.ServerCommand, "-js", "-sd", t.TempDir(), "-a", "127.0.0.1", "-p", endpoint[len("127.0.0.1:"):])
	must(t, c.Start())
	t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() }) // "signal: killed"
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if c, err := client.Connect("nats://"+endpoint, client.NoReconnect()); err == nil {
			c.Close()
			return endpoint
		}
	}
	t.Fatal("the server does not answer")
	return ""
}

// killed are the options where the server is: the client waits for what was under way when the
// connection broke until its time is over.
var killed = map[string]string{"operation_timeout": "10s"}

// A server that is killed and started again has what was acknowledged, and the same handle reads
// it, over a connection that is counted.
func TestHandleReconnects(t *testing.T) {
	t.Parallel()
	i := servertest.Start(t, nats.Program, store.D3, nil)
	s, err := nats.Driver{}.Open(t.Context(), config(t, i.Endpoint(), store.D3, killed))
	must(t, err)
	h, err := s.Handle()
	must(t, err)
	must(t, h.Put([]byte("key"), []byte("value")))
	servertest.Crash(t, i)
	// The client may not have seen it yet.
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		err := h.Put([]byte("key"), []byte("late"))
		if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
			t.Fatalf("put at a killed server: %v", err)
		}
		if errors.Is(err, client.ErrReconnectBufExceeded) || time.Now().After(end) {
			break
		}
	}
	servertest.Restart(t, i)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := h.Get([]byte("key"), nil); err == nil || time.Now().After(end) {
			break
		}
	}
	wantGet(t, h, "key", []byte("value"))
	if got := s.(store.Inspector).Inspect().Stats["reconnects"]; got < 1 {
		t.Errorf("%v reconnects were counted", got)
	}
	must(t, errors.Join(h.Close(), s.Close()))
}

// An operation whose answer does not come in time is a timeout, and its late answer is no other
// operation's.
func TestLateAnswersAreGivenUp(t *testing.T) {
	i := servertest.Start(t, nats.Program, store.D3, nil)
	_, h := drivertest.Open(t, nats.Driver{}, config(t, i.Endpoint(), store.D3,
		map[string]string{"operation_timeout": "2s"}))
	drivertest.GivesUpLate(t, i, h)
}

// One connection for each handle, and one of the store.
func TestEachHandleHasOneConnection(t *testing.T) {
	i := servertest.Start(t, nats.Program, store.D1, nil)
	s, _ := drivertest.Open(t, nats.Driver{}, config(t, i.Endpoint(), store.D1, nil))
	connections := func() float64 { return s.(store.Inspector).Inspect().Stats["connections"] }
	want := func(n float64) {
		t.Helper()
		end := time.Now().Add(time.Minute)
		for connections() != n && time.Now().Before(end) {
			time.Sleep(10 * time.Millisecond)
		}
		if got := connections(); got != n {
			t.Errorf("%v connections, want %v", got, n)
		}
	}
	want(2) // Ready's, too, has gone
	var handles []store.Handle
	for range 5 {
		h, err := s.Handle()
		must(t, err)
		handles = append(handles, h)
	}
	want(7)
	for _, h := range handles {
		must(t, h.Close())
	}
	want(2)
}

// What the experiment asks for is what the server reports.
func TestServersOptions(t *testing.T) {
	i := servertest.Start(t, nats.Program, store.D1, map[string]string{
		"sync_interval": "90s", "max_payload_bytes": "2MiB", "max_memory_store_bytes": "64MiB",
		"max_file_store_bytes": "1GiB", "connections_max": "100",
	})
	for name, want := range map[string]string{
		"sync_interval": "1m30s", "max_payload": "2097152", "max_memory_store": "67108864",
		"max_file_store": "1073741824", "max_connections": "100",
	} {
		if got := i.Settings[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	_, err := server.Start(t.Context(), nats.Program, server.Request{Directory: t.TempDir(),
		Log: t.Output(), Class: store.D1,
		Options: map[string]string{"sync_interval": "often"}, Patience: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "often") {
		t.Errorf("a sync_interval that is none: %v", err)
	}
}

// A server that has reached its limit of disk says that resources are insufficient.
func TestFullDiskIsCalledThat(t *testing.T) {
	const roomBytes = "1MiB"
	i := servertest.Start(t, nats.Program, store.D1,
		map[string]string{"max_file_store_bytes": roomBytes, "max_memory_store_bytes": roomBytes})
	for class, onDisk := range map[store.Durability]bool{store.D1: true, store.D0: false} {
		given := map[string]string{"bucket": "full_" + string(class)}
		_, h := drivertest.Open(t, nats.Driver{}, config(t, i.Endpoint(), class, given))
		value, err := make([]byte, 64<<10), error(nil)
		for n := 0; n < 100 && err == nil; n++ {
			err = h.Put(fmt.Append(nil, "key-", n), value)
		}
		if err == nil || strings.Contains(err.Error(), "no space left on device") != onDisk {
			t.Errorf("%s: %v", class, err)
		}
	}
}
