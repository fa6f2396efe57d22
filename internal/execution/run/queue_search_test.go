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

	"assay/drivers/memory"
	"assay/internal/evidence/record"
	"assay/store"
)

const (
	queueService = 2 * time.Millisecond  // on average, exponential
	queueLimit   = 50 * time.Millisecond // of p90
)

// queueTruth is the rate at which p90 of the queue is its limit: µ − ln(10)/T, exactly.
var queueTruth = 1/queueService.Seconds() - math.Log(10)/queueLimit.Seconds()

// queue is a server that serves one request after the other (M/M/1, where they come as independent users do).
type queue struct{ memory.Driver }

func (queue) Describe() store.Description {
	return store.Description{Name: "queue", Summary: "serves one request at a time", Licence: "NONE", Kind: store.Memory,
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

func (s *queueStore) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return queueHandle{h, s}, err
}

type queueHandle struct {
	store.Handle
	of *queueStore
}

func (h queueHandle) Get(key, buf []byte) ([]byte, error) {
	h.of.mu.Lock()
	if now := time.Now(); h.of.free.Before(now) {
		h.of.free = now
	}
	h.of.free = h.of.free.Add(time.Duration(float64(queueService) * h.of.random.ExpFloat64()))
	until := h.of.free
	h.of.mu.Unlock()
	time.Sleep(time.Until(until))
	return h.Handle.Get(key, buf)
}

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
blocks: 3
seed: ` + strconv.Itoa(i+1) + `
phases:
  - {name: load, load: true}
  - {name: capacity, mix: {read: 1}, capacity: {objective: p90 < 50ms, from: 50, to: 2000, step: 500ms, hold: 1s}}
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
