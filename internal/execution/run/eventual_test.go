package run

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/store"
)

// eventually is a map that hides what overwrites a value for a while, and says for how long at most.
type eventually struct {
	name          string
	hides, within time.Duration
	unpromised    bool // it may show old values, and does not say for how long
}

// A store that keeps its promise, and one that shows old values for longer than it says.
var eventualStores = []store.Driver{
	eventually{"eventual", 400 * time.Millisecond, 500 * time.Millisecond, false},
	eventually{"more-than-eventual", time.Hour, 500 * time.Millisecond, false},
	eventually{"silently-eventual", 400 * time.Millisecond, 0, false},
	eventually{"late-replica", 1500 * time.Millisecond, 0, true},
	eventually{"stopped-replica", time.Hour, 0, true},
}

func (d eventually) Describe() store.Description {
	return store.Description{Name: d.name, Summary: "shows overwrites late", Licence: "NONE", Kind: store.Memory, HandlesShareable: true,
		Durability: []store.DurabilityClaim{{Class: store.D0, How: "keeps nothing"}},
		Eventual:   d.within > 0 || d.unpromised, EventualWithinNS: int64(d.within)}
}

func (d eventually) Open(context.Context, store.Config) (store.Store, error) {
	return &eventualStore{of: d, records: map[string][]written{}}, nil
}

type written struct {
	at    time.Time
	value []byte // nil: deleted
}

type eventualStore struct {
	of      eventually
	mu      sync.Mutex
	records map[string][]written // the newest last
}

func (s *eventualStore) Handle() (store.Handle, error) { return eventualHandle{s}, nil }
func (s *eventualStore) Settings() map[string]string   { return map[string]string{} }
func (s *eventualStore) Close() error                  { return nil }

type eventualHandle struct{ *eventualStore }

func (h eventualHandle) Get(key, _ []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.records[string(key)]
	for i := len(all) - 1; i >= 0; i-- {
		if i == 0 || time.Since(all[i].at) >= h.of.hides {
			if all[i].value == nil {
				break
			}
			return all[i].value, nil
		}
	}
	return nil, store.ErrNotFound
}

func (h eventualHandle) Put(key, value []byte) error {
	h.write(key, append([]byte{}, value...))
	return nil
}

func (h eventualHandle) Delete(key []byte) error {
	h.write(key, nil)
	return nil
}

func (h eventualHandle) write(key, value []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records[string(key)] = append(h.records[string(key)], written{time.Now(), value})
}

func (h eventualHandle) Close() error { return nil }

// The final check waits for as long as a store says that its reads may be old: one that keeps its
// promise is not accused, and one that shows old values for longer is.
//
// Fault (values): a store shows old values for longer than it promises; a replica is 1.5 s late, or
// follows no more
// Assay: the final check waits for as long as is promised, and otherwise reads old values again for
// 15 s: `stale-values` (`readback`); those that come in time are not accused
func TestFinalCheckWaitsForWhatIsPromised(t *testing.T) {
	t.Parallel()
	for driver, expected := range map[string][]finding.Code{
		"eventual": nil, "more-than-eventual": {finding.MarkReadbackStale},
		"silently-eventual": {finding.MarkStaleReads},
		"late-replica":      nil, "stopped-replica": {finding.MarkReadbackStale},
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("DRIVER", driver, "WORKER", own()).Replace(`name: test
stores: [{driver: DRIVER, worker: WORKER}]
records: 100
threads: 2
durability: D0
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 1, update: 1}, operations: 4000}
blocks: 1
busy_machine: tell
step_timeout: 300s
`)
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(t.Context(), text, directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, driver)
			if trial.Error != "" || trial.Final == nil || trial.Final.Records == 0 {
				t.Fatalf("error %q, final check %+v", trial.Error, trial.Final)
			}
			s := trial.Phases[len(trial.Phases)-1].History.Staleness
			switch {
			case s == nil != (driver == "silently-eventual"):
				t.Errorf("its staleness is %+v", s)
			case driver == "eventual" && (s.LateNS == nil || s.LateNS.Quantile(1) > 405e6 || len(s.Ages) == 0):
				t.Errorf("it is 400 ms late at most, and is reported so: %+v", s)
			}
			var marked []finding.Code
			for _, m := range trial.CountedMarks() {
				if !m.Machine() { // which may be busy
					marked = append(marked, m.Code)
				}
			}
			for _, code := range expected {
				if !hasMark(trial, code, nil) {
					t.Errorf("marks %v, expected %v", marked, expected)
				}
			}
			if expected == nil && len(marked) > 0 {
				t.Errorf("it keeps its promise, and is marked %v", trial.CountedMarks())
			}
		})
	}
}
