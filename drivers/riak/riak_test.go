package riak_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/drivers/riak"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/riakstandin"
	"assay/store"
)

var clients = []string{"lean", "riak-go-client"}

func eachClient(t *testing.T, test func(t *testing.T, client string)) {
	for _, client := range clients {
		t.Run(client, func(t *testing.T) { test(t, client) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config waits long on a busy machine.
func config(t *testing.T, c *riakstandin.Cluster, class store.Durability, options ...string) store.Config {
	t.Helper()
	given := map[string]string{"operation_timeout": "1m"}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		given[name] = value
	}
	config := drivertest.Config(t, riak.Driver{}.Describe(), class, given)
	config.Endpoints = c.Endpoints
	return config
}

func open(t *testing.T, c *riakstandin.Cluster, options ...string) (store.Store, store.Handle) {
	t.Helper()
	return drivertest.Open(t, riak.Driver{}, config(t, c, store.D0, options...))
}

func another(t *testing.T, s store.Store) store.Handle {
	t.Helper()
	h, err := s.Handle()
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

func put(t *testing.T, h store.Handle, key, value string) {
	t.Helper()
	must(t, h.Put([]byte(key), []byte(value)))
}

func wantGet(t *testing.T, h store.Handle, key, want string) {
	t.Helper()
	if got, err := h.Get([]byte(key), nil); err != nil || string(got) != want {
		t.Errorf("get %s: %.40q, %v; want %q", key, got, err, want)
	}
}

func wantMiss(t *testing.T, h store.Handle, key string) {
	t.Helper()
	if got, err := h.Get([]byte(key), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get %s: %q, %v; expected a miss", key, got, err)
	}
}

func stat(s store.Store, name string) float64 { return s.(store.Inspector).Inspect().Stats[name] }

func TestVectorClock(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		c := riakstandin.Start(t, 1)
		_, h := open(t, c, "client="+client)
		get := func(key string) { _, _ = h.Get([]byte(key), nil) }
		for _, step := range []struct {
			says string
			do   func()
			sent bool
		}{
			{"a blind put", func() {}, false},
			{"a put after a get of its key", func() { get("key") }, true},
			{"a second put after one get", func() {}, false},
			{"a put after a get of another key", func() { put(t, h, "other", "v"); get("other") }, false},
			{"a put after a get of its key and of another", func() { get("key"); get("other") }, false},
			{"a put after a get of its key and a put of another",
				func() { get("key"); put(t, h, "other", "v") }, false},
			{"a put after a get and a delete of its key",
				func() { get("key"); must(t, h.Delete([]byte("key"))) }, false},
			{"a put after a get of its key, which is not there",
				func() { must(t, h.Delete([]byte("key"))); get("key") }, false},
		} {
			step.do()
			before := c.Counts().PutsWithVClock
			put(t, h, "key", "value")
			if sent := c.Counts().PutsWithVClock > before; sent != step.sent {
				t.Errorf("%s sent a vector clock: %v", step.says, sent)
			}
		}
	})
}

func TestSiblings(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		c := riakstandin.Start(t, 3)
		s, h := open(t, c, "client="+client, "allow_mult=true")
		other := another(t, s)
		put(t, h, "cart", "one")
		put(t, other, "cart", "two")
		put(t, h, "cart", "three")
		wantGet(t, other, "cart", "three")
		if reads, extra := stat(s, "sibling_reads"), stat(s, "siblings"); reads != 1 || extra != 2 {
			t.Errorf("%v gets found %v siblings, expected 1 and 2", reads, extra)
		}
		put(t, other, "cart", "all three") // replaces what its get has seen
		wantGet(t, h, "cart", "all three")
		if reads := stat(s, "sibling_reads"); reads != 1 {
			t.Errorf("after the siblings were replaced %v gets have found some", reads)
		}
		// Two that read the same: neither is lost.
		wantGet(t, other, "cart", "all three")
		put(t, h, "cart", "left")
		put(t, other, "cart", "right")
		wantGet(t, h, "cart", "right")
		if counted := c.Counts().SiblingReads; stat(s, "sibling_reads") != float64(counted) || counted != 2 {
			t.Errorf("%v gets found siblings, the server gave them %d times", stat(s, "sibling_reads"), counted)
		}

		failing, strict := open(t, c, "client="+client, "allow_mult=true", "siblings=error")
		if _, err := strict.Get([]byte("cart"), nil); err == nil || !strings.Contains(err.Error(), "siblings") {
			t.Errorf("siblings: error: %v", err)
		}
		if stat(failing, "sibling_reads") != 1 {
			t.Error("a get that failed over siblings is not counted")
		}
		must(t, strict.Delete([]byte("cart"))) // all of them
		wantMiss(t, strict, "cart")
	})
}

// A bucket without siblings keeps one of two writes that know nothing of each other.
func TestLastWriteWins(t *testing.T) {
	for _, option := range []string{"allow_mult=default", "last_write_wins=true"} {
		c := riakstandin.Start(t, 2)
		s, h := open(t, c, option)
		wantMiss(t, h, "key")
		put(t, another(t, s), "key", "one")
		put(t, h, "key", "two")
		wantGet(t, h, "key", "two")
		if stat(s, "siblings") != 0 {
			t.Errorf("%s: siblings", option)
		}
	}
}

func TestTombstones(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		c := riakstandin.Start(t, 3)
		s, h := open(t, c, "client="+client, "allow_mult=true")
		put(t, h, "key", "value")
		must(t, h.Delete([]byte("key")))
		must(t, h.Delete([]byte("key")))
		wantMiss(t, h, "key") // which tells the tombstone's vector clock
		put(t, h, "key", "again")
		wantGet(t, h, "key", "again")
		if stat(s, "siblings") != 0 {
			t.Error("a put that has seen the tombstone is its sibling")
		}
		must(t, h.Delete([]byte("key")))
		put(t, h, "key", "blind")
		wantGet(t, h, "key", "blind")
		if stat(s, "siblings") != 1 {
			t.Error("a put that has not seen the tombstone replaces it")
		}
		// A tombstone that is the newest sibling.
		c.SetLie(func(r riakstandin.Request, w io.Writer) bool {
			_, _ = w.Write(riakstandin.Found([][]byte{
				riakstandin.Content([]byte("old"), 5_000_000, false), riakstandin.Content(nil, 5_000_001, true),
			}, []byte("clock")))
			return r.Code == riakstandin.Get
		})
		wantMiss(t, h, "key")
		c.SetLie(nil)
	})
}

func TestBucketProperties(t *testing.T) {
	c := riakstandin.Start(t, 3)
	const bucket = "assay-n_val=2-allow_mult=true-last_write_wins=false"
	s, err := riak.Driver{}.Open(t.Context(), config(t, c, store.D0, "n_val=2", "allow_mult=true",
		"last_write_wins=false", "w=all", "r=1", "node_confirms=1"))
	must(t, err)
	if set := c.Properties(bucket); !maps.Equal(set, map[int]uint64{1: 2, 2: 1, 3: 0}) {
		t.Errorf("the bucket's properties: %v", set)
	}
	for name, want := range map[string]string{
		"n_val": "2", "allow_mult": "true", "last_write_wins": "false", "w": "quorum", "driver.w": "all",
		"driver.r": "1", "driver.dw": "default", "driver.node_confirms": "1", "driver.bucket": bucket,
		"version": riakstandin.Version, "nodes": "riak@127.0.0.1, riak@127.0.0.2, riak@127.0.0.3",
	} {
		if got := s.Settings()[name]; got != want {
			t.Errorf("%s is %q, expected %q", name, got, want)
		}
	}
	must(t, s.Close())
	if set := c.Properties(bucket); len(set) > 0 {
		t.Errorf("the bucket keeps its properties: %v", set)
	}

	// Without an option nothing is set, and what a user has set stays.
	s, _ = open(t, c)
	if set := c.Properties("assay"); len(set) > 0 {
		t.Errorf("without options the bucket has properties: %v", set)
	}
	if n := s.Settings()["n_val"]; n != "3" {
		t.Errorf("the settings say of n_val %q", n)
	}
}

// A server that takes the properties, and does not have them.
func TestPropertiesAreReadBack(t *testing.T) {
	c := riakstandin.Start(t, 1)
	c.SetLie(func(r riakstandin.Request, w io.Writer) bool {
		if r.Code != 21 {
			return false
		}
		_, _ = w.Write(riakstandin.Message(22, nil))
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := riak.Driver{}.Open(ctx, config(t, c, store.D0, "allow_mult=true"))
	if err == nil || !strings.Contains(err.Error(), "allow_mult:false") {
		t.Errorf("allow_mult was taken and not set: %v", err)
	}
}

func TestEntry(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		for entry, want := range map[string][]int{"one": {6, 0, 0}, "all": {2, 2, 2}} {
			c := riakstandin.Start(t, 3)
			s, h := open(t, c, "client="+client, "entry="+entry)
			put(t, h, "key", "v")
			for range 5 {
				put(t, another(t, s), "key", "v")
			}
			if got := c.Counts().ByNode; !slices.Equal(got, want) {
				t.Errorf("entry %s: operations by node %v, expected %v", entry, got, want)
			}
		}
	})
}

func TestRefusals(t *testing.T) {
	three, lonely := riakstandin.Start(t, 3), riakstandin.Start(t, 1)
	old, unknown := riakstandin.Start(t, 3), riakstandin.Start(t, 3)
	old.SetVersion("2.2.3")
	unknown.SetVersion("trunk")
	for _, refused := range []struct {
		cluster *riakstandin.Cluster
		class   store.Durability
		options string
		says    string
	}{
		{lonely, store.D4, "", "{node_confirms_val_unsatisfied,2,1}"},
		{three, store.D4, "node_confirms=1", "expected node_confirms of 2"},
		{three, store.D4, "dw=1", "dw no less"},
		{three, store.D4, "dw=quorum node_confirms=3", "dw no less"},
		{three, store.D4, "n_val=1", "n_val is 1"},
		{three, store.D4, "client=riak-go-client", "can't ask for node_confirms"},
		{old, store.D4, "", "came with 2.9.0"},
		{unknown, store.D4, "", "came with 2.9.0"},
		{three, store.D3, "", "does not tell if a node syncs"},
		{three, store.D1, "", "does not tell if a node syncs"},
		{three, store.D0, "client=riak-go-client node_confirms=1", "can't ask for node_confirms"},
		{three, store.D0, "w=4", "n_val is 3"},
		{three, store.D0, "node_confirms=4", "n_val is 3"},
		{three, store.D0, "node_confirms=-1", "expected 0 or more"},
		{three, store.D0, "r=some", "expected a number of replicas"},
		{three, store.D0, "pw=-1", "expected a number of replicas"},
		{three, store.D0, "n_val=-1", "expected 1 to"},
		{three, store.D0, "allow_mult=true last_write_wins=true", "expected one of them"},
		{three, store.D0, "stats=127.0.0.1:8098", "1 HTTP interfaces for 3 endpoints"},
		{three, store.D0, "operation_timeout=0s", "more than 0"},
	} {
		c := config(t, refused.cluster, refused.class, strings.Fields(refused.options)...)
		s, err := riak.Driver{}.Open(t.Context(), c)
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), refused.says) {
			t.Errorf("%s, %s: %v, %v", refused.class, refused.options, s, err)
		}
	}
	if n := three.Keys("assay"); n != 0 {
		t.Errorf("refusals left %d records", n)
	}
}

// D4 holds while as many nodes are up as a put asks for, and no longer.
func TestD4AsksForNodes(t *testing.T) {
	c := riakstandin.Start(t, 3)
	s, h := drivertest.Open(t, riak.Driver{}, config(t, c, store.D4))
	if n := c.Keys("assay"); n != 0 {
		t.Errorf("opening left %d records", n)
	}
	if got := s.Settings(); got["driver.node_confirms"] != "2" || got["driver.dw"] != "2" {
		t.Errorf("node_confirms %s, dw %s", got["driver.node_confirms"], got["driver.dw"])
	}
	put(t, h, "key", "v")
	must(t, h.Delete([]byte("key")))
	put(t, h, "key", "v")
	c.SetDown(2)
	put(t, h, "key", "w")
	if err := h.Delete([]byte("key")); err == nil || !strings.Contains(err.Error(), "{pw_val_unsatisfied,3,2}") {
		t.Errorf("a delete that not all replicas take: %v", err)
	}
	c.SetDown(1, 2)
	err := h.Put([]byte("key"), []byte("x"))
	if err == nil || !strings.Contains(err.Error(), "{node_confirms_val_unsatisfied,2,1}") {
		t.Errorf("a put that one node confirms: %v", err)
	}
	wantGet(t, h, "key", "w")
	c.SetDown()
	put(t, h, "key", "x")

	// A session that asks for nothing writes to one node as well.
	_, plain := open(t, c)
	c.SetDown(1, 2)
	put(t, plain, "key", "y")
}

// A ring may give a node two replicas of a few records: k nodes then never have them.
func TestD4OnARingThatGivesANodeTwoReplicas(t *testing.T) {
	c := riakstandin.Start(t, 3)
	c.SetLie(func(r riakstandin.Request, w io.Writer) bool {
		if r.Code != riakstandin.Put || crc32.ChecksumIEEE([]byte(r.Key))%64 != 0 {
			return false
		}
		_, _ = w.Write(riakstandin.Error("{node_confirms_val_unsatisfied,3,2}"))
		return true
	})
	s, err := riak.Driver{}.Open(t.Context(), config(t, c, store.D4, "node_confirms=3"))
	const says = "{node_confirms_val_unsatisfied,3,2}"
	if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), says) {
		t.Errorf("one of 64 records has two replicas on a node: %v, %v", s, err)
	}
	if n := c.Keys("assay"); n != 0 {
		t.Errorf("the refusal left %d records", n)
	}
}

func TestQuorumsAreAskedFor(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		c := riakstandin.Start(t, 3)
		for option, want := range map[string]string{"pw=all": "{pw_val_unsatisfied,3,1}",
			"pw=2": "{pw_val_unsatisfied,2,1}", "pw=one": "", "w=all": "", "dw=quorum": ""} {
			_, h := open(t, c, "client="+client, option)
			c.SetDown(1, 2)
			err := h.Put([]byte("key"), []byte("v"))
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, expected %q", option, err, want)
			}
			c.SetDown()
			put(t, h, "key", "v") // a refusal is no reason to give the connection up
			wantGet(t, h, "key", "v")
		}
	})
}

func TestPrimaryReplicasOfAGetAreAskedFor(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		c := riakstandin.Start(t, 3)
		_, h := open(t, c, "client="+client, "pr=2")
		put(t, h, "key", "v")
		c.SetDown(2)
		wantGet(t, h, "key", "v")
		c.SetDown(1, 2)
		_, err := h.Get([]byte("key"), nil)
		if err == nil || !strings.Contains(err.Error(), "{pr_val_unsatisfied,2,1}") {
			t.Errorf("a get of which one primary replica is up: %v", err)
		}
	})
}

func TestStats(t *testing.T) {
	c := riakstandin.Start(t, 2)
	var addresses []string
	for node := range 2 {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			gets := c.Counts().ByNode[node]
			fmt.Fprintf(w, `{"node_gets_total": %d, "node_puts_total": 10, "memory_total": 1000,
				"node_get_fsm_time_mean": "undefined", "ring_members": ["a"], "memory_ets": null`, gets)
			if node == 0 {
				fmt.Fprint(w, `, "pbc_active": 5`)
			}
			fmt.Fprint(w, `}`)
		}))
		t.Cleanup(s.Close)
		addresses = append(addresses, strings.TrimPrefix(s.URL, "http://"))
	}
	s, h := open(t, c, "stats="+strings.Join(addresses, ", "))
	put(t, h, "key", "v")
	got := s.(store.Inspector).Inspect().Stats
	for name, want := range map[string]float64{
		"node_gets_total": 1, "node_puts_total": 20, "memory_total_bytes": 2000, "server1_operations": 11,
		"server2_operations": 10, "server1_weight": 1, "server2_weight": 0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, expected %v", name, got[name], want)
		}
	}
	for _, name := range []string{"connections", "memory_ets_bytes"} { // one node tells it, none does
		if _, told := got[name]; told {
			t.Errorf("%s is reported", name)
		}
	}
}

// The program is found where it is installed, by its name.
func TestProgram(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("PATH", directory)
	p := riak.Program
	if _, err := p.Find(); err == nil || !strings.Contains(err.Error(), "no package") {
		t.Errorf("riak is not installed: %v", err)
	}
	script := "#!/bin/sh\n[ \"$1\" = version ] && echo 3.2.1\n"
	must(t, os.WriteFile(filepath.Join(directory, "riak"), []byte(script), 0o700))
	binary, err := p.Find()
	must(t, err)
	told, err := p.Identify(t.Context(), binary)
	if err != nil || told.Version != "3.2.1" {
		t.Errorf("told %+v, %v", told, err)
	}
}

func TestServerThatIsNotThereIsNamed(t *testing.T) {
	c := riakstandin.Start(t, 1)
	config := config(t, c, store.D0)
	config.Endpoints = []string{c.Endpoints[0], "127.0.0.1:1"}
	_, err := riak.Driver{}.Open(t.Context(), config)
	if err == nil || errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("nobody listens there: %v", err)
	}
}
