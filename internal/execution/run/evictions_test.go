package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/evidence/record"
	"assay/internal/execution/event"
	"assay/internal/execution/server"
	"assay/internal/presentation/live"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

const cacheText = `name: cache
stores: [{driver: memcached, worker: WORKER, endpoints: ['ENDPOINT'], options: {operation_timeout: 1m}}]
durability: D0
threads: 2
records: RECORDS
blocks: 1
busy_machine: tell
keys: {format: decimal, digits: 12}
values: {bytes: BYTES}
phases:
  - {name: load, load: true}
  - {name: get, mix: {read: 1}, ENDS}
verify_records: VERIFY
`

// cacheRun runs a load and reads on a cache.
func cacheRun(t *testing.T, endpoint string, records, bytes, verify int, ends string,
	change ...func(*Options)) *record.Trial {
	t.Helper()
	text := strings.NewReplacer("WORKER", own(), "ENDPOINT", endpoint, "RECORDS", fmt.Sprint(records),
		"BYTES", fmt.Sprint(bytes), "VERIFY", fmt.Sprint(verify), "ENDS", ends).Replace(cacheText)
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runIn(text, directory, "", change...); err != nil {
		t.Fatal(err)
	}
	trial, _ := readable(t, directory, "memcached")
	if trial.Final == nil {
		t.Fatalf("%s: %s", trial.State, trial.Error)
	}
	return trial
}

// One write in three is acknowledged and gone. What the server's counter explains is evicted, and what
// it does not is lost, whether all records are read back or a part.
//
// Fault (physics): a cache that drops records and does not count them
// Assay: `lost-values` (`readback`) is what its counter does not explain. In a phase, misses of a
// cache that evicted something are no mark
func TestEvictionsAreHeldAgainstTheCount(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		name   string
		tells  func(gone int64) int64
		verify int
		lost   bool
	}{
		{"a cache that tells", func(gone int64) int64 { return gone }, 10000, false},
		{"a cache that tells, a part is read back", func(gone int64) int64 { return gone }, 300, false},
		{"drops silently", func(int64) int64 { return 0 }, 10000, true},
		{"tells a few and drops more", func(gone int64) int64 { return gone * 9 / 10 }, 10000, true},
		{"tells a few and drops more, a part is read back", func(gone int64) int64 { return gone / 2 }, 300, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := drivertest.StartStandIn(t)
			var sets, gone atomic.Int64
			const before = 7 // evictions of others, before the trial
			s.SetLie(func(request string, w io.Writer) bool {
				switch {
				case strings.HasPrefix(request, "set ") && sets.Add(1)%3 == 0:
					gone.Add(1)
					fmt.Fprint(w, "STORED\r\n")
				case request == "stats":
					fmt.Fprintf(w, "STAT evictions %d\r\nEND\r\n", before+c.tells(gone.Load()))
				default:
					return false
				}
				return true
			})
			trial := cacheRun(t, s.Endpoint, 900, 100, c.verify, "operations: 3000")
			f := trial.Final
			switch {
			case c.lost && (f.Lost == 0 || f.Evicted > 0 || trial.State != record.Marked):
				t.Errorf("lost records are not told: %+v, %+v", f, trial.Marks)
			case !c.lost && (f.Lost > 0 || f.Evicted == 0 || f.StoreEvicted == nil || len(codes(trial)) > 0):
				t.Errorf("evictions are reported as losses: %+v, %+v", f, trial.Marks)
			}
		})
	}
}

// The real server, with less memory than the records take, is truthful.
//
// Fault (physics): a cache with less memory than the records take
// Assay: no mark, as far as its own counter explains what is missing. The summary has both counts
// With: run.TestEvictionsAreHeldAgainstTheCount
func TestRealMemcachedEvicts(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	p, _ := programOf("memcached")
	i, err := server.Start(context.Background(), p, server.Request{Directory: t.TempDir(), Log: os.Stderr,
		Class:   store.D0,
		Options: map[string]string{"threads": "2", "memory_bytes": "4MiB"}, Patience: time.Minute})
	if err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	defer i.Stop(time.Minute)
	v := &forgetting{View: live.NewPlain(discard{}), of: "memcached"}
	trial := cacheRun(t, i.Endpoint(), 1500, 8000, 1500, "rate: 500, for: 3s", func(o *Options) { o.View = v })
	if v.missing == 0 || v.bad > 0 {
		t.Errorf("while it runs, what the cache forgot is shown as %d missing, %d bad", v.missing, v.bad)
	}
	if f := trial.Final; f.Evicted == 0 || f.Lost > 0 || *f.StoreEvicted < f.Evicted || len(codes(trial)) > 0 {
		t.Errorf("%+v, %+v", f, trial.Marks)
	}
}

// forgetting keeps the most that a tick of an arm's trial showed: its last may be of the load.
type forgetting struct {
	event.View
	of, arm      string
	missing, bad uint64
}

func (v *forgetting) TrialStarted(t event.Trial) { v.arm = t.Arm }

func (v *forgetting) Tick(t event.Tick) {
	if v.arm == v.of {
		v.missing, v.bad = max(v.missing, t.Missing), max(v.bad, t.Bad)
	}
}
