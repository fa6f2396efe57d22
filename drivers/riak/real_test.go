package riak_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"assay/drivers/riak"
	"assay/internal/testkit/riakstandin"
	"assay/store"
)

// realCluster is the one that the environment names.
func realCluster(t *testing.T) *riakstandin.Cluster {
	t.Helper()
	named := os.Getenv("ASSAY_RIAK")
	if named == "" {
		t.Skip("SKIPPED: no package has a server for riak; ASSAY_RIAK=HOST:PORT,… names a real one")
	}
	return &riakstandin.Cluster{Endpoints: strings.Split(named, ",")}
}

// What the stand-in does with vector clocks, siblings and tombstones, a real cluster does.
func TestSiblingsAndTombstonesOnARealCluster(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		s, h := open(t, realCluster(t), "client="+client, "allow_mult=true")
		other := another(t, s)
		named := func(key string) string { return fmt.Sprintf("%s-%d", key, time.Now().UnixNano()) }
		expect := func(after string, reads, siblings float64) {
			t.Helper()
			if r, n := stat(s, "sibling_reads"), stat(s, "siblings"); r != reads || n != siblings {
				t.Errorf("after %s %v gets have found %v siblings, expected %v and %v", after, r, n, reads, siblings)
			}
		}

		cart := named("cart")
		put(t, h, cart, "one")
		put(t, other, cart, "two")
		put(t, h, cart, "three")
		wantGet(t, other, cart, "three")
		expect("three blind puts", 1, 2)
		put(t, other, cart, "all three") // replaces what its get has seen
		wantGet(t, h, cart, "all three")
		wantGet(t, other, cart, "all three")
		expect("a put that knows them", 1, 2)
		put(t, h, cart, "left")
		put(t, other, cart, "right")
		wantGet(t, h, cart, "right")
		expect("two puts that know the same value", 2, 3)
		must(t, h.Delete([]byte(cart))) // all of them
		wantMiss(t, other, cart)

		grave := named("grave")
		put(t, h, grave, "value")
		must(t, h.Delete([]byte(grave)))
		must(t, h.Delete([]byte(grave)))
		wantMiss(t, h, grave) // which tells the tombstone's vector clock
		put(t, h, grave, "again")
		wantGet(t, h, grave, "again")
		expect("a put that has seen the tombstone", 2, 3)
		must(t, h.Delete([]byte(grave)))
	})
}

// D4 either holds for each key, or is refused at open.
func TestD4OnARealCluster(t *testing.T) {
	for _, confirms := range []string{"2", "3"} {
		s, err := riak.Driver{}.Open(t.Context(), config(t, realCluster(t), store.D4, "node_confirms="+confirms))
		if errors.Is(err, store.ErrRefused) {
			t.Logf("node_confirms %s: %v", confirms, err)
			continue
		}
		must(t, err)
		h, err := s.Handle()
		must(t, err)
		for i := range 100 {
			key := fmt.Sprintf("d4-%d", i)
			put(t, h, key, "v")
			must(t, h.Delete([]byte(key)))
		}
		must(t, h.Close())
		must(t, s.Close())
	}
}
