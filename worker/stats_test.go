package worker

import (
	"context"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// telling is a store that tells about itself, each time something else.
type telling struct {
	fake
	asked atomic.Int64
}

func (d *telling) Open(context.Context, store.Config) (store.Store, error) {
	return &tellingStore{fakeStore{fake: &d.fake, values: map[string][]byte{}}, d}, nil
}

type tellingStore struct {
	fakeStore
	driver *telling
}

func (s *tellingStore) Inspect() store.Inspection {
	n := s.driver.asked.Add(1)
	stats := map[string]float64{"flushes": float64(n), "cache_bytes": 7}
	if n > 1 {
		delete(stats, "cache_bytes") // from the second time on, it does not know
		stats["new"] = 1
	}
	return store.Inspection{Stats: stats}
}

func TestStatsAreToldWhileAPhaseRuns(t *testing.T) {
	driver := &telling{fake: fake{shareable: true}}
	s := serve(t, driver)
	s.open(control.HandlesShared, 1, 0)
	p := newPhase(1, entry(trace.Upsert, 1))
	p.file.Threads[0].Limit = 0
	p.prepare.DeadlineNS = int64(2*statsPeriod + statsPeriod/2)
	var prepared control.Prepared
	c, err := s.readyTo(p, &prepared)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(prepared.Stats, []string{"cache_bytes", "flushes"}) {
		t.Fatalf("prepare names %v", prepared.Stats)
	}
	if rounds, _ := c.Stats(2); rounds != 0 {
		t.Error("something was told before the phase ran")
	}
	var ran control.Ran
	if err := s.call(control.Request{Command: control.CommandRun}, &ran); err != nil {
		t.Fatal(err)
	}
	rounds, values := c.Stats(2)
	asked := driver.asked.Load()
	if rounds < 1 || int64(rounds) != asked-1 || ran.Runtime["inspects"] != float64(rounds) || ran.Runtime["inspect_ns"] <= 0 {
		t.Errorf("%d rounds, asked %d times, runtime %v", rounds, asked, ran.Runtime)
	}
	if !math.IsNaN(values[0]) || values[1] != float64(asked) {
		t.Errorf("values %v: expected not known, and %d", values, asked)
	}
	time.Sleep(2 * statsPeriod / 3)
	if driver.asked.Load() != asked {
		t.Error("the store was asked after the phase")
	}
}

// A store that tells nothing, and a verify phase, have no such counters: the words stay 0.
func TestStoreWithoutStatsTellsNone(t *testing.T) {
	for name, driver := range map[string]store.Driver{"no inspector": &fake{shareable: true}, "verify": &telling{fake: fake{shareable: true}}} {
		s := serve(t, driver)
		s.open(control.HandlesShared, 1, 0)
		p := newPhase(1, entry(trace.Read, 1))
		if name == "verify" {
			p.file.Flags |= trace.FlagRecordVersions
		}
		var prepared control.Prepared
		c, err := s.readyTo(p, &prepared)
		if err != nil || len(prepared.Stats) > 0 {
			t.Errorf("%s: %v, %v", name, prepared, err)
		}
		var ran control.Ran
		if err := s.call(control.Request{Command: control.CommandRun}, &ran); err != nil {
			t.Fatal(err)
		}
		if rounds, _ := c.Stats(0); rounds != 0 || slices.Contains(slices.Collect(maps.Keys(ran.Runtime)), "inspects") {
			t.Errorf("%s: %d rounds, %v", name, rounds, ran.Runtime)
		}
	}
}

// A store that is slow to tell is asked more seldom.
func TestASlowInspectIsRare(t *testing.T) {
	teller := &statsTeller{inspector: slowInspector{}, into: newCounters(t), description: &store.Description{}}
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { teller.tell(done); close(ended) }()
	time.Sleep(2*statsPeriod + statsPeriod/2)
	close(done)
	<-ended
	if teller.rounds > 1 { // 20 ms × 500: once in ten seconds
		t.Errorf("asked %d times", teller.rounds)
	}
}

type slowInspector struct{}

func (slowInspector) Inspect() store.Inspection {
	time.Sleep(20 * time.Millisecond)
	return store.Inspection{}
}

func newCounters(t *testing.T) *counters.File {
	t.Helper()
	p := newPhase(1, entry(trace.Read, 1))
	c, err := counters.Create(filepath.Join(t.TempDir(), "counters"), &p.file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Unmap(); err != nil {
			t.Error(err)
		}
	})
	return c
}
