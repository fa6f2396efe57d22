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

// reporting is a driver whose store's counters change with each reading.
type reporting struct {
	fake
	asked atomic.Int64
}

func (d *reporting) Open(context.Context, store.Config) (store.Store, error) {
	return &countingStore{fakeStore{fake: &d.fake, values: map[string][]byte{}}, d}, nil
}

type countingStore struct {
	fakeStore
	driver *reporting
}

func (s *countingStore) Inspect() store.Inspection {
	n := s.driver.asked.Add(1)
	stats := map[string]float64{"flushes": float64(n), "cache_bytes": 7}
	if n > 1 {
		delete(stats, "cache_bytes") // from the second time on, it does not know
		stats["new"] = 1
	}
	return store.Inspection{Stats: stats}
}

func TestStatsAreReportedWhileAPhaseRuns(t *testing.T) {
	driver := &reporting{fake: fake{shareable: true}}
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
		t.Error("rounds were reported before the phase ran")
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

// A store that reports nothing, and a verify phase, have no such counters: the words stay 0.
func TestStoreWithoutStatsReportsNone(t *testing.T) {
	for name, driver := range map[string]store.Driver{"no inspector": &fake{shareable: true}, "verify": &reporting{fake: fake{shareable: true}}} {
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

// A store whose Inspect is slow is asked less often.
func TestSlowInspectIsRare(t *testing.T) {
	reporter := &statsReporter{inspector: slowInspector{}, into: newCounters(t), description: &store.Description{}}
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() { reporter.report(done); close(ended) }()
	time.Sleep(2*statsPeriod + statsPeriod/2)
	close(done)
	<-ended
	if reporter.rounds > 1 { // 20 ms × 500: once in ten seconds
		t.Errorf("asked %d times", reporter.rounds)
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
