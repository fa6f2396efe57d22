package cassandra_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/drivers/cassandra"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

func threeNodes(t *testing.T, class store.Durability) *server.Group {
	t.Helper()
	if os.Getenv("ASSAY_LONG") == "" {
		t.Skip("SKIPPED: three nodes take minutes and 3 GB; ASSAY_LONG=1 runs this test")
	}
	return drivertest.StartServers(t, cassandra.Program, class, nil, 3)
}

func TestThreeNodes(t *testing.T) {
	g := threeNodes(t, store.D4)
	t.Run("eventual", func(t *testing.T) { eventual(t, g) })
	t.Run("entry", func(t *testing.T) { entries(t, g) })
	t.Run("killed", func(t *testing.T) { killed(t, g) }) // the last: the node that it restarts ends with it
}

// The class and the promise follow from how many replicas a write waits for and a read asks.
func eventual(t *testing.T, g *server.Group) {
	for _, c := range []struct {
		replication, write, read string
		class                    store.Durability
		eventual                 bool
	}{
		{"1", "quorum", "same", store.D2, false}, {"3", "one", "same", store.D2, true}, {"3", "one", "quorum", store.D2, true},
		{"3", "one", "all", store.D2, false}, {"3", "quorum", "same", store.D4, false}, {"3", "quorum", "one", store.D4, true},
		{"3", "local_quorum", "local_quorum", store.D4, false}, {"2", "quorum", "one", store.D4, false}, {"3", "all", "one", store.D4, false},
	} {
		name := fmt.Sprintf("%s replicas, %s, %s", c.replication, c.write, c.read)
		for _, class := range []store.Durability{store.D2, store.D3, store.D4} {
			conf := config(t, class, g.Endpoints(), "keyspace", "eventual", "replication", c.replication, "consistency", c.write, "read_consistency", c.read)
			s, err := cassandra.Driver{}.Open(t.Context(), conf)
			if class != c.class {
				if !errors.Is(err, store.ErrRefused) {
					t.Errorf("%s at %s: %v", name, class, err)
				}
				continue
			}
			must(t, err)
			if is := s.(store.EventualTeller).Eventual(); is != c.eventual {
				t.Errorf("%s: eventual %v", name, is)
			}
			must(t, s.Close())
		}
	}
}

// Each way in loads the nodes as it says, by their own count.
func entries(t *testing.T, g *server.Group) {
	const keys = 600
	for _, entry := range []string{"one", "all", "prefer"} {
		s, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D2, g.Endpoints(), "keyspace", "entry_"+entry, "entry", entry))
		coordinated := func() (all [3]float64) {
			stats := s.(store.Inspector).Inspect().Stats
			for n := range all {
				all[n] = stats[store.ServerStat(n, store.ServerOperations)]
			}
			return all
		}
		before := coordinated()
		for n := range keys {
			must(t, h.Put(fmt.Append(nil, n), []byte("v")))
		}
		after := coordinated()
		var each [3]float64
		for n := range each {
			each[n] = after[n] - before[n]
		}
		t.Logf("entry %s: %v", entry, each)
		switch least := min(each[0], each[1], each[2]); entry {
		case "one":
			if each[0] < keys || each[1] > keys/10 || each[2] > keys/10 {
				t.Errorf("entry one: the nodes coordinated %v of %d", each, keys)
			}
		default:
			if least < keys/6 {
				t.Errorf("entry %s: the nodes coordinated %v of %d", entry, each, keys)
			}
		}
		for n := range keys {
			must(t, h.Delete(fmt.Append(nil, n)))
		}
	}
}

// One node of three is lost during the load: what two have acknowledged is read back from those that
// are left. Started again, it serves with the others.
func killed(t *testing.T, g *server.Group) {
	s, h := drivertest.Open(t, cassandra.Driver{}, config(t, store.D4, g.Endpoints(), "keyspace", "killed", "replication", "3",
		"consistency", "quorum", "operation_timeout", "5s"))
	const threads = 4
	var acknowledged [threads][]int
	var seen, failed, unexpected atomic.Int64
	var stop atomic.Bool
	var writers sync.WaitGroup
	for thread := range threads {
		writers.Go(func() {
			for n := 0; !stop.Load(); n++ {
				err := h.Put(fmt.Appendf(nil, "%d-%d", thread, n), fmt.Appendf(nil, "v%d", n))
				switch {
				case err == nil:
					acknowledged[thread] = append(acknowledged[thread], n)
					seen.Add(1)
					time.Sleep(10 * time.Millisecond) // a restart takes long, and all is read back
				case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
					unexpected.Add(1)
				default:
					failed.Add(1)
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	reach := func(writes int64) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); seen.Load() < writes; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%d writes were acknowledged, %d failed", seen.Load(), failed.Load())
				return
			}
		}
	}
	reach(100)
	servertest.Crash(t, g.Members[2])
	reach(seen.Load() + 100) // two of three are a quorum
	stop.Store(true)
	writers.Wait()
	t.Logf("%d writes were acknowledged, %d failed around the kill", seen.Load(), failed.Load())
	if unexpected.Load() > 0 {
		t.Errorf("%d puts were answered as conflicts or misses", unexpected.Load())
	}
	var readers sync.WaitGroup
	for thread, written := range acknowledged {
		readers.Go(func() {
			for i := 0; i < len(written) && !t.Failed(); i++ {
				get(t, h, fmt.Sprintf("%d-%d", thread, written[i]), fmt.Sprintf("v%d", written[i]))
			}
		})
	}
	readers.Wait()
	servertest.Restart(t, g.Members[2])
	for n := range 100 { // a node that the client takes for down is asked nothing
		must(t, h.Put(fmt.Append(nil, "again-", n), []byte("v")))
		get(t, h, fmt.Sprint("again-", n), "v")
	}
	if told := s.Settings()["version"]; !strings.HasPrefix(told, "5.") {
		t.Errorf("versions %q", told)
	}
}
