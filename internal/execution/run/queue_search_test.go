//go:build linux

package run

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/drivers/memory"
	"assay/internal/evidence/record"
	"assay/store"
)

const (
	queueService = 200 * time.Microsecond // on average, exponential
	queueLimit   = 10 * time.Millisecond  // of p99
)

// queueTruth is the rate at which p99 of the queue is its limit: µ − ln(100)/T, exactly.
var queueTruth = 1/queueService.Seconds() - math.Log(100)/queueLimit.Seconds()

// queue is a server that serves one request after the other (M/M/1, where they come as independent users do).
type queue struct{ memory.Driver }

func (queue) Describe() store.Description {
	return store.Description{Name: "queue", Summary: "serves one request at a time", Licence: "NONE", Kind: store.Memory,
		Abilities:  store.Abilities{Async: true},
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "says so"}}}
}

func (d queue) Open(ctx context.Context, c store.Config) (store.Store, error) {
	s, err := d.Driver.Open(ctx, c)
	return &queueStore{Store: s, random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(os.Getpid())))}, err
}

type queueStore struct {
	store.Store
	mu     sync.Mutex
	free   time.Time // when it has served all that have come
	random *rand.Rand
}

// serve returns when a request that comes now has been served.
func (s *queueStore) serve() (until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(time.Duration(float64(queueService) * s.random.ExpFloat64()))
	return s.free
}

// Loop is what the searches use: 250 goroutines that sleep would take the time of others of theirs.
func (s *queueStore) Loop(int, int) (store.Loop, error) {
	h, err := s.Store.Handle()
	return &queueLoop{of: s, handle: h}, err
}

type queueLoop struct {
	of      *queueStore
	handle  store.Handle
	waiting []queued // in the order in which they end
	value   []byte
}

// queued is a read, or a put that has ended.
type queued struct {
	lane   int
	key    []byte
	until  time.Time
	failed error
}

func (l *queueLoop) Submit(lane int, r *store.Request) {
	if r.Operation != store.OpGet {
		l.waiting = append(l.waiting, queued{lane: lane, failed: l.handle.Put(r.Key, r.Value)})
		return
	}
	l.waiting = append(l.waiting, queued{lane: lane, key: append([]byte(nil), r.Key...), until: l.of.serve()})
}

func (l *queueLoop) Reap(wait time.Duration, ended store.Ended) error {
	if len(l.waiting) > 0 {
		wait = min(wait, time.Until(l.waiting[0].until))
	}
	if wait > 0 {
		pause := unix.NsecToTimespec(int64(wait))
		_ = unix.Nanosleep(&pause, nil) // a signal ends it early, which is no harm
	}
	for len(l.waiting) > 0 && !l.waiting[0].until.After(time.Now()) {
		first := l.waiting[0]
		l.waiting = l.waiting[1:]
		if first.key == nil {
			ended(first.lane, nil, first.failed)
			continue
		}
		value, err := l.handle.Get(first.key, l.value)
		ended(first.lane, value, err)
	}
	return nil
}

func (l *queueLoop) Close() error { return l.handle.Close() }

// Real searches of a store whose capacity is known by arithmetic: minutes, and the machine's load is in them.
// ASSAY_SEARCHES names how many and a folder to keep them in, as 20,/tmp/searches; assay report tells intervals.
func TestSearchesOfAQueue(t *testing.T) {
	n, folder, asked := countAndFolder(os.Getenv("ASSAY_SEARCHES"))
	if !asked {
		t.Skip("minutes of real searches: ASSAY_SEARCHES=20,FOLDER")
	}
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(folder, fmt.Sprintf("search-%02d", i+1))
			text := `name: queue
stores: [{driver: queue, worker: ` + own() + `}]
records: 1000
durability: D0
busy_machine: tell
threads: 256
handles: async
blocks: 3
repeats: 0
seed: ` + strconv.Itoa(i+1) + `
phases:
  - {name: load, load: true}
  - {name: capacity, mix: {read: 1}, capacity: {objective: p99 < 10ms, from: 500, to: 20000, step: 500ms}}
`
			if _, err := runTextWith(t.Context(), text, directory, func(*Options) {}); err != nil {
				t.Fatal(err)
			}
			run, err := record.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range run.Plan {
				if trial := run.Trials[p.ID]; trial != nil && len(trial.Phases) == 2 {
					f := trial.Phases[1].Capacity.Fitted(run.Experiment.Phases[1].Capacity.Objectives)
					t.Logf("%s %.1f, %+.1f %% from the truth", f.Outcome, f.Rate, 100*(f.Rate/queueTruth-1))
				}
			}
		})
	}
}

func countAndFolder(text string) (n int, folder string, asked bool) {
	_, err := fmt.Sscanf(text, "%d,%s", &n, &folder)
	return n, folder, err == nil
}
