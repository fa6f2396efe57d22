package cassandra_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"assay/drivers/cassandra"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// nodes are what the tests share: a node takes half a minute to start on a busy machine.
var nodes drivertest.Shared

func TestMain(m *testing.M) { os.Exit(nodes.End(m.Run())) }

func periodic(t *testing.T) *server.Instance {
	t.Helper()
	return nodes.Get(t, cassandra.Program, store.D2)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config has options with which a test is alone in its keyspace.
func config(t *testing.T, class store.Durability, endpoints []string, given ...string) store.Config {
	t.Helper()
	driver := cassandra.Driver{}
	options := map[string]string{"keyspace": "t_" + strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, t.Name()[max(0, len(t.Name())-40):]))}
	for n := 0; n < len(given); n += 2 {
		options[given[n]] = given[n+1]
	}
	c := drivertest.Config(t, driver.Describe(), class, options)
	c.Endpoints, c.First = endpoints, true
	return c
}

func get(t *testing.T, h store.Handle, key, want string) {
	t.Helper()
	value, err := h.Get([]byte(key), make([]byte, 0, 100))
	if err != nil || string(value) != want || value == nil {
		t.Errorf("get %s: %.40q, %v; expected %q", key, value, err, want)
	}
}

// session talks to a node as somebody else would.
func session(t *testing.T, i *server.Instance) *gocql.Session {
	t.Helper()
	c := gocql.NewCluster(i.Endpoint())
	c.DisableInitialHostLookup, c.Metadata.CacheMode, c.Timeout = true, gocql.Disabled, time.Minute
	s, err := c.CreateSession()
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestConditionalWrites(t *testing.T) {
	_, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D2, []string{periodic(t).Endpoint()}))
	swap, add := h.(store.CompareAndSwapper).CompareAndSwap, h.(store.Adder).Add
	if err := swap([]byte("k"), nil, []byte("v")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("swap of a key that is not there: %v", err)
	}
	must(t, add([]byte("k"), nil))
	get(t, h, "k", "")
	if err := add([]byte("k"), []byte("w")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("add of a key that is there: %v", err)
	}
	must(t, swap([]byte("k"), nil, []byte("v")))
	if err := swap([]byte("k"), nil, []byte("w")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap of an old value: %v", err)
	}
	get(t, h, "k", "v")
	must(t, h.Delete([]byte("k")))
	must(t, add([]byte("k"), []byte("again")))
	get(t, h, "k", "again")
}

func TestBatchWritesTheLastOfEachKey(t *testing.T) {
	_, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D2, []string{periodic(t).Endpoint()}))
	must(t, h.Put([]byte("gone"), []byte("before")))
	must(t, h.(store.Batcher).Apply([]store.Write{
		{Key: []byte("a"), Value: []byte("z")}, {Key: []byte("a"), Value: []byte("a")}, {Key: []byte("gone"), Value: []byte("x")},
		{Key: []byte("gone"), Delete: true}, {Key: []byte("empty"), Value: nil},
	}))
	get(t, h, "a", "a") // by the order of bytes it would be z
	get(t, h, "empty", "")
	if _, err := h.Get([]byte("gone"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after its deletion: %v", err)
	}
	half := make([]byte, 30<<10)
	err := h.(store.Batcher).Apply([]store.Write{{Key: []byte("big"), Value: half}, {Key: []byte("large"), Value: half}})
	if err == nil || !strings.Contains(err.Error(), "Batch") {
		t.Errorf("a batch above batch_size_fail_threshold: %v", err)
	}
}

func TestLongestKeyAndValue(t *testing.T) {
	_, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D2, []string{periodic(t).Endpoint()}))
	d := cassandra.Driver{}.Describe()
	key, value := bytes.Repeat([]byte{0, 255}, d.KeyBytesMax/2), bytes.Repeat([]byte{1, 0, 254}, d.ValueBytesMax/3)
	must(t, h.Put(key, value))
	if got, err := h.Get(key, nil); err != nil || !bytes.Equal(got, value) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	must(t, h.Delete(key))
}

func TestKeyspaceOfSomebodyElseIsRefused(t *testing.T) {
	i := periodic(t)
	s := session(t, i)
	must(t, s.Query("CREATE KEYSPACE theirs WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").Exec())
	must(t, s.Query("CREATE TABLE theirs.records (k blob PRIMARY KEY, v blob)").Exec())
	must(t, s.Query("INSERT INTO theirs.records (k, v) VALUES (0x00, 0x01)").Exec())
	for _, flush := range []string{"false", "true"} {
		c := config(t, store.D2, []string{i.Endpoint()}, "keyspace", "theirs", "flush_at_open", flush)
		if _, err := (cassandra.Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "Assay did not make it") {
			t.Errorf("with flush_at_open %s: %v", flush, err)
		}
	}
	var count int
	if err := s.Query("SELECT count(*) FROM theirs.records").Scan(&count); err != nil || count != 1 {
		t.Errorf("their table holds %d records, %v", count, err)
	}
}

func TestLastClientDropsAnEmptyKeyspace(t *testing.T) {
	i := periodic(t)
	s := session(t, i)
	c := config(t, store.D2, []string{i.Endpoint()}, "keyspace", "leaving")
	there := func() bool {
		var name string
		err := s.Query("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = 'leaving'").Scan(&name)
		return err == nil
	}
	open := func() (store.Store, store.Handle) {
		t.Helper()
		db, err := cassandra.Driver{}.Open(t.Context(), c)
		must(t, err)
		h, err := db.Handle()
		must(t, err)
		return db, h
	}
	first, h := open()
	if held, known := first.(store.Holder).Held(); held != 0 || !known {
		t.Errorf("Held of a new keyspace: %d, known %v", held, known)
	}
	second, other := open()
	must(t, h.Put([]byte("k"), []byte("v")))
	must(t, errors.Join(h.Close(), first.Close()))
	if !there() {
		t.Fatal("it was dropped while another store had it open")
	}
	get(t, other, "k", "v")
	must(t, errors.Join(other.Close(), second.Close()))
	if !there() {
		t.Fatal("it was dropped with a record in it")
	}
	again, h := open()
	if _, known := again.(store.Holder).Held(); known {
		t.Error("Held of a keyspace with records is known")
	}
	must(t, h.Delete([]byte("k")))
	must(t, errors.Join(h.Close(), again.Close()))
	if there() {
		t.Error("it is left, with nothing in it")
	}
}

func TestKeyspaceHasTheReplicationAskedFor(t *testing.T) {
	i := periodic(t)
	refused := func(what, says, keyspace string, given ...string) {
		t.Helper()
		c := config(t, store.D2, []string{i.Endpoint()}, append([]string{"keyspace", keyspace}, given...)...)
		if _, err := (cassandra.Driver{}).Open(t.Context(), c); !errors.Is(err, store.ErrRefused) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, expected %q", what, err, says)
		}
	}
	refused("two replicas on one node", "the cluster has 1 nodes", "replicas", "replication", "2", "consistency", "one")
	s := session(t, i)
	make := func(keyspace string, replicas int) {
		t.Helper()
		for _, statement := range []string{
			fmt.Sprintf("CREATE KEYSPACE %s WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': %d}", keyspace, replicas),
			"CREATE TABLE " + keyspace + ".records (k blob PRIMARY KEY, v blob) WITH comment = 'made by Assay'",
			"CREATE TABLE " + keyspace + ".assay_sessions (id text PRIMARY KEY)",
			"INSERT INTO " + keyspace + ".assay_sessions (id) VALUES ('another') USING TTL 3600",
		} {
			must(t, s.Query(statement).Consistency(gocql.One).Exec())
		}
	}
	make("three", 3)
	for _, flush := range []string{"false", "true"} {
		refused("three replicas are there, and one node", "3 replicas of each record, and the cluster 1 nodes", "three", "flush_at_open", flush)
	}
	make("one", 1)
	refused("it is to be dropped while another store uses it", "another Assay uses", "one", "flush_at_open", "true")
	must(t, s.Query("DELETE FROM one.assay_sessions WHERE id = 'another'").Consistency(gocql.One).Exec())
	_, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D2, []string{i.Endpoint()}, "keyspace", "one", "flush_at_open", "true"))
	must(t, h.Put([]byte("k"), []byte("v")))
	must(t, h.Delete([]byte("k")))
}

// With ASSAY_LONG=1 a second node, which syncs its log before it answers, is asked as well: the
// conformance kit starts one in the fast tests.
func TestClassesAreThoseOfTheNodesSettings(t *testing.T) {
	type asked struct {
		endpoint string
		class    store.Durability
		window   time.Duration
		failure  string // "": it opens
	}
	lazy := periodic(t).Endpoint()
	cases := []asked{
		{lazy, store.D2, 15 * time.Second, ""},
		{lazy, store.D2, 14 * time.Second, "the last sync of its log may be 15s old: expected D2(15s) or more"},
		{lazy, store.D3, 0, "commitlog_sync: batch or group would"},
		{lazy, store.D4, 0, "a write waits for one replica"},
		{lazy, store.D1, 0, "can't reach D1"},
	}
	if os.Getenv("ASSAY_LONG") == "1" {
		synced := nodes.Get(t, cassandra.Program, store.D3).Endpoint()
		cases = append(cases, []asked{
			{synced, store.D3, 0, ""},
			{synced, store.D2, time.Minute, "commitlog_sync=batch, which is D3"},
			{synced, store.D4, 0, "commitlog_sync=batch, which is D3: commitlog_sync: periodic would"},
			{synced, store.D1, 0, "can't reach D1"},
		}...)
	}
	for _, c := range cases {
		config := config(t, c.class, []string{c.endpoint})
		config.LossWindow = c.window
		s, err := cassandra.Driver{}.Open(t.Context(), config)
		if c.failure == "" {
			if err != nil {
				t.Errorf("%s: %v", c.class, err)
				continue
			}
			must(t, s.Close())
			continue
		}
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), c.failure) {
			t.Errorf("%s: %v, expected %q", c.class, err, c.failure)
		}
	}
}

func TestNodeReportsItsSettings(t *testing.T) {
	i := periodic(t)
	s, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D2, []string{i.Endpoint()}))
	settings := s.Settings()
	for name, want := range map[string]string{"commitlog_sync": "periodic", "commitlog_sync_period": "10000ms", "driver.consistency": "quorum",
		"driver.read_consistency": "quorum", "driver.entry": "all", "driver.retries": "none"} {
		if settings[name] != want {
			t.Errorf("setting %s is %q, expected %q", name, settings[name], want)
		}
	}
	if !strings.HasPrefix(settings["version"], "5.") {
		t.Errorf("version %q", settings["version"])
	}
	before := s.(store.Inspector).Inspect().Stats
	const writes = 50
	for n := range writes {
		must(t, h.Put(fmt.Append(nil, n), []byte("v")))
	}
	after := s.(store.Inspector).Inspect().Stats
	if after["statements"]-before["statements"] < writes || after["connections"] < 2 || after["nodes_that_answered"] != 1 {
		t.Errorf("after %d writes: %v\nbefore: %v", writes, after, before)
	}
}

func TestFrozenNodeTimesOut(t *testing.T) {
	i := periodic(t)
	_, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D2, []string{i.Endpoint()}, "operation_timeout", "2s"))
	must(t, h.Put([]byte("one"), []byte("1")))
	must(t, h.Put([]byte("two"), []byte("2")))
	thaw := drivertest.Freeze(i)
	_, err := h.Get([]byte("one"), nil)
	thaw()
	if !errors.Is(err, store.ErrTimeout) {
		t.Errorf("a get at a frozen node: %v", err)
	}
	for right, end := 0, time.Now().Add(time.Minute); right < 3; {
		value, err := h.Get([]byte("two"), nil)
		if err == nil && string(value) == "2" {
			right++
		} else if err == nil || time.Now().After(end) {
			t.Fatalf("after it: %q, %v", value, err)
		}
	}
}

// A handle of a node that was killed connects anew to the one that takes its place.
func TestNodeIsKilledAndStartedAgain(t *testing.T) {
	if os.Getenv("ASSAY_LONG") == "" {
		t.Skip("SKIPPED: two starts of a node; ASSAY_LONG=1 runs this test")
	}
	for _, entry := range []string{"all", "prefer"} {
		t.Run(entry, func(t *testing.T) {
			drivertest.KeepsWrites(t, cassandra.Driver{}, cassandra.Program, store.D3, map[string]string{"entry": entry})
		})
	}
}

// The refusals that need no node.
func TestRefusals(t *testing.T) {
	for name, change := range map[string]func(*store.Config){
		"no endpoint":       func(c *store.Config) { c.Endpoints = nil },
		"no time":           func(c *store.Config) { c.Options["operation_timeout"] = "0s" },
		"no replicas":       func(c *store.Config) { c.Options["replication"] = "0" },
		"a keyspace's name": func(c *store.Config) { c.Options["keyspace"] = "a; DROP KEYSPACE b" },
		"a class":           func(c *store.Config) { c.Durability = store.D0 },
	} {
		c := config(t, store.D3, []string{"127.0.0.1:1"})
		change(&c)
		if _, err := (cassandra.Driver{}).Open(context.Background(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := config(t, store.D3, []string{"127.0.0.1:1"})
	if _, err := (cassandra.Driver{}).Open(context.Background(), c); err == nil || errors.Is(err, store.ErrRefused) {
		t.Errorf("nobody listens there: %v", err)
	}
}
