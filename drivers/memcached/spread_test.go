package memcached_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"assay/drivers/memcached"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

func openAll(t *testing.T, endpoints []string, given map[string]string) (store.Store, store.Handle) {
	t.Helper()
	driver := memcached.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D0, given)
	c.Endpoints, c.First = endpoints, true
	return drivertest.Open(t, driver, c)
}

// Both clients find each other's records, and each server counts and holds its share.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	endpoints := []string{startServer(t), startServer(t), startServer(t)}
	for _, hashing := range []string{"modulo", "ketama"} {
		given := map[string]string{"hashing": hashing, "weights": "3,1,1", "flush_at_open": "true"}
		s, h := openAll(t, endpoints, given)
		given["client"], given["flush_at_open"] = "gomemcache", "false"
		_, other := openAll(t, endpoints, given)
		const keys = 1000
		for i := range keys {
			key := fmt.Appendf(nil, "key-%d", i)
			value := fmt.Appendf(nil, "value-%d", i)
			writer, reader := h, other
			if i%2 == 1 {
				writer, reader = other, h
			}
			if err := writer.Put(key, value); err != nil {
				t.Fatal(err)
			}
			wantGet(t, reader, string(key), value)
			if t.Failed() {
				t.Fatalf("%s: key %d", hashing, i)
			}
		}
		stats := s.(store.Inspector).Inspect().Stats
		items := 0.0
		for i, weight := range []float64{3, 1, 1} {
			held := stats[store.ServerStat(i, "items")]
			items += held
			if math.Abs(held-keys*weight/5) > keys/10 { // ketama's own error is 8 % of a server's share
				t.Errorf("%s: server %d of weight %v holds %v of %d records", hashing, i+1, weight, held, keys)
			}
			if got := stats[store.ServerStat(i, store.ServerWeight)]; got != weight {
				t.Errorf("its weight is %v", got)
			}
			if got := stats[store.ServerStat(i, store.ServerOperations)]; got < 2*held {
				t.Errorf("%s: server %d counts %v operations, and holds %v records that were read", hashing, i+1, got, held)
			}
		}
		if items != keys || stats["curr_items"] != keys {
			t.Errorf("the servers hold %v and together %v records, expected %d", items, stats["curr_items"], keys)
		}
		settings := s.Settings()
		for name, want := range map[string]string{"driver.servers": "3", "driver.hashing": hashing, "driver.weights": "3,1,1", "maxbytes": "67108864"} {
			if settings[name] != want {
				t.Errorf("setting %s is %q, expected %q", name, settings[name], want)
			}
		}
		for _, own := range []string{"server2_tcpport", "server3_tcpport"} {
			if settings[own] == "" || settings[own] == settings["tcpport"] {
				t.Errorf("setting %s is %q", own, settings[own])
			}
		}
		if !strings.Contains(settings["driver.shares_of_keys"], " %, ") {
			t.Errorf("shares: %q", settings["driver.shares_of_keys"])
		}
		again, _ := openAll(t, endpoints, given)
		if held, known := again.(store.Holder).Held(); held != keys || !known {
			t.Errorf("the servers are said to have held %d records (known: %v)", held, known)
		}
	}
}

// A server that is gone takes its own keys with it, and no other's; nothing goes elsewhere.
func TestLostServerFailsItsKeysAlone(t *testing.T) {
	for _, client := range clients {
		var endpoints []string
		var servers []*drivertest.StandIn
		for range 3 {
			s := drivertest.StartStandIn(t)
			servers, endpoints = append(servers, s), append(endpoints, s.Endpoint)
		}
		_, h := openAll(t, endpoints, map[string]string{"client": client})
		gets := 0
		servers[1].SetLie(func(request string, w io.Writer) bool {
			if strings.HasPrefix(request, "get") {
				gets++
				_ = w.(io.Closer).Close()
			}
			return strings.HasPrefix(request, "get")
		})
		failed := 0
		const keys = 300
		for i := range keys {
			switch _, err := h.Get(fmt.Appendf(nil, "key-%d", i), nil); {
			case err == nil:
				t.Errorf("%s: got key %d", client, i)
			case !errors.Is(err, store.ErrNotFound):
				failed++
			}
		}
		if failed < keys/5 || failed > keys/2 || failed != gets {
			t.Errorf("%s: %d of %d gets failed, and the server was asked %d times", client, failed, keys, gets)
		}
	}
}

func TestSpreadDoesNotAllocate(t *testing.T) {
	_, h := openAll(t, []string{startServer(t), startServer(t)}, map[string]string{"hashing": "ketama"})
	keys, value, buf := [][]byte{[]byte("one"), []byte("two"), []byte("three")}, []byte("value"), make([]byte, 0, 100)
	allocations := testing.AllocsPerRun(100, func() {
		for _, key := range keys {
			if err := h.Put(key, value); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Get(key, buf); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations in six operations", allocations)
	}
}

func TestSpreadRefusesAsynchronousHandlesOfLibraries(t *testing.T) {
	one, two := drivertest.StartStandIn(t).Endpoint, drivertest.StartStandIn(t).Endpoint
	several, _ := openAll(t, []string{one, two}, nil)
	library, _ := openAll(t, []string{one}, map[string]string{"client": "gomemcache"})
	secured := drivertest.StartServer(t, memcached.Program, store.D0, map[string]string{"tls": "true"})
	encrypted, _ := openAll(t, []string{secured.Endpoint()}, secured.Guard.DriverOptions())
	for name, s := range map[string]store.Store{"several servers": several, "gomemcache": library, "TLS": encrypted} {
		if _, err := s.(store.Asynchronous).Loop(1, 1); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
