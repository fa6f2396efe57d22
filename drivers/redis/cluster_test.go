package redis_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	library "github.com/redis/go-redis/v9"

	"assay/drivers/redis"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// node is one of a cluster's servers.
type node struct {
	endpoint string
	id       string
	client   *library.Client
	server   *server.Instance
}

// do sends a command and returns its answer as text.
func (n *node) do(t *testing.T, arguments ...any) string {
	t.Helper()
	answer, err := n.client.Do(t.Context(), arguments...).Result()
	if err != nil {
		t.Fatalf("%v: %v", arguments, err)
	}
	return fmt.Sprint(answer)
}

// startCluster runs real servers as one cluster until the test ends. The others go on where a node
// does not answer.
func startCluster(t *testing.T, nodes int) (cluster []*node) {
	t.Helper()
	g := drivertest.StartServers(t, redis.Program, store.D0, map[string]string{"cluster": "true", "save": "none"}, nodes)
	for _, i := range g.Members {
		n := &node{endpoint: i.Endpoint(), server: i, client: library.NewClient(&library.Options{Addr: i.Endpoint(),
			MaxRetries: -1, DialerRetries: 1})}
		t.Cleanup(func() { _ = n.client.Close() })
		n.id = n.do(t, "CLUSTER", "MYID")
		n.do(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
		n.do(t, "CONFIG", "SET", "cluster-node-timeout", "60000")
		cluster = append(cluster, n)
	}
	return cluster
}

func endpoints(cluster []*node) (all []string) {
	for _, n := range cluster {
		all = append(all, n.endpoint)
	}
	return all
}

func clusterConfig(t *testing.T, endpoints []string, given map[string]string) store.Config {
	t.Helper()
	c := drivertest.Config(t, redis.Driver{}.Describe(), store.D0, given)
	c.Endpoints, c.First = endpoints, true
	return c
}

func openCluster(t *testing.T, endpoints []string, given map[string]string) (store.Store, store.Handle) {
	t.Helper()
	return drivertest.Open(t, redis.Driver{}, clusterConfig(t, endpoints, given))
}

func redirects(s store.Store) float64 { return s.(store.Inspector).Inspect().Stats["redirects"] }

func TestSlotsMatchTheServers(t *testing.T) {
	t.Parallel()
	n := startCluster(t, 1)[0]
	r := rand.New(rand.NewPCG(1, 2))
	for _, key := range []string{"", "123456789", "{a}b", "{}b", "b{", "x{a}{b}", "{{a}}", "}{a}", "a{b}c", "{a"} {
		wantSlot(t, n, []byte(key))
	}
	for range 300 {
		key := make([]byte, r.IntN(12))
		for i := range key {
			key[i] = "{}ab\x00\xff0123"[r.IntN(10)]
		}
		wantSlot(t, n, key)
	}
}

func wantSlot(t *testing.T, n *node, key []byte) {
	t.Helper()
	if got, want := redis.SlotOf(key), n.do(t, "CLUSTER", "KEYSLOT", key); strconv.Itoa(got) != want {
		t.Errorf("slot of %q is %d, expected %s", key, got, want)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	for _, resp := range []string{"2", "3"} {
		s, h := openCluster(t, endpoints(cluster), map[string]string{"operation_timeout": "1m", "resp": resp, "flush_at_open": "true"})
		operate(t, h, []byte("value"), []byte("value 2"))
		const keys = 600
		var writes []store.Write
		for i := range keys {
			writes = append(writes, store.Write{Key: fmt.Appendf(nil, "key-%d", i), Value: fmt.Appendf(nil, "value-%d", i)})
		}
		must(t, h.(store.Batcher).Apply(writes[:keys/2]))
		for _, w := range writes[keys/2:] {
			must(t, h.Put(w.Key, w.Value))
		}
		for _, w := range writes {
			wantGet(t, h, string(w.Key), w.Value)
		}
		stats := s.(store.Inspector).Inspect().Stats
		items, slots := 0.0, 0.0
		for i := range cluster {
			held := stats[store.ServerStat(i, "items")]
			items += held
			slots += stats[store.ServerStat(i, store.ServerWeight)]
			if held < keys/6 || stats[store.ServerStat(i, store.ServerOperations)] < held {
				t.Errorf("node %d holds %v records, and counts %v operations", i+1, held, stats[store.ServerStat(i, store.ServerOperations)])
			}
		}
		if items != stats["records"] || items < keys || slots != 16384 || stats["redirects"] != 0 || stats["reconnects"] != 0 {
			t.Errorf("%v records, %v together; %v slots; %v redirects, %v reconnects", items, stats["records"], slots, stats["redirects"], stats["reconnects"])
		}
		if told := s.Settings(); told["driver.servers"] != "3" || told["driver.slots"] != "5461, 5461, 5462" || told["appendonly"] != "no" {
			t.Errorf("settings: %v", told)
		}
		again, _ := openCluster(t, endpoints(cluster), nil)
		if held, known := again.(store.Holder).Held(); float64(held) != items || !known {
			t.Errorf("the nodes are said to have held %d records (known: %v)", held, known)
		}
		must(t, s.(store.Definer).Define([]store.Column{{Name: "a", Type: store.TextColumn}}, nil, nil))
		hashes, err := s.Handle()
		must(t, err)
		for i := range 50 {
			must(t, hashes.(store.Adder).Add(fmt.Appendf(nil, "hash-%d", i), store.AppendColumn(nil, []byte("x"))))
			wantGet(t, hashes, fmt.Sprintf("hash-%d", i), store.AppendColumn(nil, []byte("x")))
		}
		must(t, hashes.Close())
	}
}

func TestClusterDoesNotAllocate(t *testing.T) {
	_, h := openCluster(t, endpoints(startCluster(t, 2)), map[string]string{"operation_timeout": "1m"})
	keys, value, buf := [][]byte{[]byte("one"), []byte("two"), []byte("three")}, []byte("value"), make([]byte, 0, 100)
	writes := []store.Write{{Key: keys[0], Value: value}, {Key: keys[1], Value: value}, {Key: keys[2], Delete: true}}
	allocations := testing.AllocsPerRun(100, func() {
		for _, key := range keys {
			must(t, h.Put(key, value))
			must(t, second(h.Get(key, buf)))
			must(t, h.Delete(key))
			if _, err := h.Get(key, buf); !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
		}
		must(t, h.(store.Batcher).Apply(writes))
	})
	if allocations != 0 {
		t.Errorf("%v allocations in 13 operations", allocations)
	}
}

// owner returns the node that has a slot, and another one.
func owner(cluster []*node, slot int) (has, other *node) {
	i := slot * len(cluster) / 16384
	return cluster[i], cluster[(i+1)%len(cluster)]
}

// A slot that has moved is found by one redirect, and from then on without.
func TestSlotThatMoves(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	s, h := openCluster(t, endpoints(cluster), map[string]string{"operation_timeout": "1m"})
	swap, add := h.(store.CompareAndSwapper).CompareAndSwap, h.(store.Adder).Add
	for i, operation := range []func(key []byte) error{
		func(key []byte) error { return errors.Join(h.Put(key, []byte("v")), h.Put(key, []byte("v"))) },
		func(key []byte) error { return add(key, []byte("v")) },
		func(key []byte) error {
			if _, err := h.Get(key, nil); !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("get: %w", err)
			}
			return h.Put(key, []byte("v"))
		},
		func(key []byte) error {
			if err := h.Delete(key); !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("delete: %w", err)
			}
			return h.Put(key, []byte("v"))
		},
		func(key []byte) error {
			if err := swap(key, []byte("v"), []byte("w")); !errors.Is(err, store.ErrNotFound) {
				return fmt.Errorf("swap: %w", err)
			}
			return h.Put(key, []byte("v"))
		},
		func(key []byte) error {
			batch := []store.Write{{Key: key, Value: []byte("w")}, {Key: []byte("other"), Value: []byte("w")}}
			if err := h.(store.Batcher).Apply(batch); err == nil || !strings.Contains(err.Error(), "MOVED") {
				return fmt.Errorf("a batch that was sent to the wrong node: %w", err)
			}
			batch[0].Value = []byte("v")
			return h.(store.Batcher).Apply(batch)
		},
	} {
		key := fmt.Appendf(nil, "moves-%d", i)
		slot := redis.SlotOf(key)
		_, to := owner(cluster, slot)
		for _, n := range slices.Concat([]*node{to}, cluster) {
			n.do(t, "CLUSTER", "SETSLOT", slot, "NODE", to.id)
		}
		before := redirects(s)
		if err := operation(key); err != nil {
			t.Errorf("operation %d: %v", i, err)
		}
		wantGet(t, h, string(key), []byte("v"))
		if got := to.do(t, "GET", key); got != "v" {
			t.Errorf("operation %d: its new node has %q", i, got)
		}
		if followed := redirects(s) - before; followed != 1 {
			t.Errorf("operation %d: %v redirects", i, followed)
		}
	}
}

// While a slot is on its way, what is not at the old node is at the new one, for one request.
func TestSlotOnItsWay(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	s, h := openCluster(t, endpoints(cluster), map[string]string{"operation_timeout": "1m"})
	slot := redis.SlotOf([]byte("key"))
	from, to := owner(cluster, slot)
	must(t, h.Put([]byte("{key}stays"), []byte("v")))
	to.do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id)
	from.do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.id)
	must(t, h.(store.Adder).Add([]byte("key"), []byte("v")))
	wantGet(t, h, "key", []byte("v"))
	wantGet(t, h, "{key}stays", []byte("v"))
	must(t, h.Put([]byte("key"), []byte("w")))
	if got := redirects(s); got != 3 {
		t.Errorf("%v redirects", got)
	}
	if err := h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), []byte("w"), []byte("x")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("a transaction: %v", err)
	}
	wantGet(t, h, "key", []byte("w"))
	must(t, h.Delete([]byte("key")))
}

// Nodes that send an operation to each other are asked once each, and a node that the experiment
// does not name is not asked.
func TestRedirectsAreFollowedOnce(t *testing.T) {
	t.Parallel()
	var nodes [2]*drivertest.RedisStandIn
	for i := range nodes {
		nodes[i] = drivertest.StartRedisStandIn(t, store.D0)
		nodes[i].Info["cluster_enabled"] = "1"
	}
	stranger := drivertest.StartRedisStandIn(t, store.D0)
	stranger.SetLie(func(request []string, _ io.Writer) bool { t.Errorf("sent to a stranger: %q", request); return false })
	gets, target := 0, ""
	for i, n := range nodes {
		n.SetLie(func(request []string, w io.Writer) bool {
			switch request[0] {
			case "CLUSTER":
				_, _ = io.WriteString(w, "*2\r\n"+slotRange(0, 8191, nodes[0].Endpoint)+slotRange(8192, 16383, nodes[1].Endpoint))
			case "GET":
				gets++
				to := nodes[1-i].Endpoint
				if target != "" {
					to = target
				}
				_, _ = fmt.Fprintf(w, "-MOVED %d %s\r\n", redis.SlotOf([]byte(request[1])), to)
			default:
				return false
			}
			return true
		})
	}
	s, h := openCluster(t, []string{nodes[0].Endpoint, nodes[1].Endpoint}, nil)
	if value, err := h.Get([]byte("key"), nil); err == nil || errors.Is(err, store.ErrNotFound) || gets != 2 {
		t.Errorf("%q, %v after %d requests", value, err, gets)
	}
	for _, to := range []string{stranger.Endpoint, "nonsense", "", ":1"} {
		gets, target = 0, to
		if to == "" {
			target = " "
		}
		if value, err := h.Get([]byte("key"), nil); err == nil || errors.Is(err, store.ErrNotFound) || gets != 1 {
			t.Errorf("to %q: %q, %v after %d requests", to, value, err, gets)
		}
	}
	must(t, h.Put([]byte("key"), []byte("value")))
	if stats := s.(store.Inspector).Inspect().Stats; stats["reconnects"] != 0 {
		t.Errorf("%v reconnects", stats["reconnects"])
	}
}

// slotRange is an element of the answer to CLUSTER SLOTS.
func slotRange(first, last int, endpoint string) string {
	host, port, _ := net.SplitHostPort(endpoint)
	return fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n$2\r\nid\r\n", first, last, len(host), host, port)
}

func TestClusterRefusesEndpointsThatAreNotItsMasters(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	all, plain := endpoints(cluster), startServer(t, store.D0)
	for name, test := range map[string]struct {
		endpoints []string
		given     map[string]string
		says      string
	}{
		"a master is not named": {all[:2], nil, all[2]},
		"one is named twice":    {[]string{all[0], all[1], all[2], all[0]}, nil, "twice"},
		"a server beside it":    {append(slices.Clone(all), plain), nil, "3 are nodes"},
		"two servers":           {[]string{plain, startServer(t, store.D0)}, nil, "0 are nodes"},
		"go-redis":              {all, map[string]string{"client": "go-redis"}, "go-redis"},
	} {
		s, err := redis.Driver{}.Open(t.Context(), clusterConfig(t, test.endpoints, test.given))
		if !errors.Is(err, store.ErrRefused) || err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			must(t, s.Close())
		}
	}
	if _, err := (redis.Driver{}).Open(t.Context(), clusterConfig(t, all, map[string]string{"database": "1"})); err == nil || !strings.Contains(err.Error(), "SELECT") {
		t.Errorf("a database: %v", err)
	}
	s, _ := openCluster(t, all, nil)
	if _, err := s.(store.Asynchronous).Loop(1, 1); !errors.Is(err, store.ErrRefused) {
		t.Errorf("asynchronous: %v", err)
	}
	cluster[0].do(t, "CLUSTER", "DELSLOTS", 7)
	if _, err := (redis.Driver{}).Open(t.Context(), clusterConfig(t, all, nil)); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "slot 7") {
		t.Errorf("a slot that nobody has: %v", err)
	}
}

// What started nodes demand is demanded by each of them.
func TestStartedClusterDemandsALogin(t *testing.T) {
	t.Parallel()
	g := drivertest.StartServers(t, redis.Program, store.D0, map[string]string{"login": "true"}, 2)
	_, h := openCluster(t, g.Endpoints(), g.Guard().DriverOptions())
	for i := range 20 {
		key := fmt.Appendf(nil, "key-%d", i)
		must(t, h.Put(key, key))
		wantGet(t, h, string(key), key)
	}
	s, err := redis.Driver{}.Open(t.Context(), clusterConfig(t, g.Endpoints(), nil))
	if err == nil {
		_ = s.Close()
		t.Error("opened without a login")
	}
	_, err = server.StartGroup(t.Context(), redis.Program, server.Request{
		Directory: t.TempDir(), Log: io.Discard, Class: store.D0, Options: map[string]string{"tls": "true"}, Patience: time.Minute, Count: 2,
	})
	if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "tls") {
		t.Errorf("a cluster with tls: %v", err)
	}
}

// A node that is killed takes its keys with it, and no other's.
func TestNodeIsKilled(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	_, h := openCluster(t, endpoints(cluster), map[string]string{"operation_timeout": "1m"})
	const keys = 300
	servertest.Crash(t, cluster[1].server)
	for i := range keys {
		key := fmt.Appendf(nil, "key-%d", i)
		has, _ := owner(cluster, redis.SlotOf(key))
		if err := h.Put(key, []byte("v")); (err == nil) == (has == cluster[1]) {
			t.Errorf("key %d: %v", i, err)
		}
	}
	var writes []store.Write
	for i := range keys {
		writes = append(writes, store.Write{Key: fmt.Appendf(nil, "key-%d", i), Value: []byte("batch")})
	}
	if err := h.(store.Batcher).Apply(writes); err == nil {
		t.Error("a batch without one of its nodes")
	}
	wantGet(t, h, "key-0", []byte("batch"))
}
