package worker

import (
	"maps"
	"math"
	"slices"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// statsReporter writes the store's own counters into the counters file while a phase runs: section
// 3.1 of docs/worker-contract.md. The conductor can't ask for them then, for it never speaks to a
// worker during a phase.
type statsReporter struct {
	inspector store.Inspector
	names     []string
	into      *counters.File
	values    []float64

	description *store.Description

	rounds int
	cost   time.Duration // of all rounds
}

const (
	statsPeriod = time.Second
	statsRarity = 500 // asking the store takes at most one part in so many of one CPU
)

// newStatsReporter returns nil if the store reports nothing, in a verify phase, where nothing is measured,
// and in all but the first of several processes: each would ask the same server.
func (s *session) newStatsReporter(p *phase) *statsReporter {
	inspector, ok := s.store.(store.Inspector)
	if !ok || p.request.Process > 0 || p.trace.Flags&trace.FlagRecordVersions != 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(inspector.Inspect().Stats))
	if len(names) == 0 {
		return nil
	}
	names = names[:min(len(names), counters.StatsMax)]
	return &statsReporter{inspector: inspector, names: names, into: p.counters, values: make([]float64, len(names)),
		description: &s.hosted.description}
}

// report writes a round about each second until done is closed.
func (t *statsReporter) report(done <-chan struct{}) {
	timer := time.NewTimer(statsPeriod)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		began := time.Now()
		t.round()
		cost := time.Since(began)
		t.rounds++
		t.cost += cost
		timer.Reset(max(statsPeriod, cost*statsRarity) - cost)
	}
}

func (t *statsReporter) round() {
	var stats map[string]float64
	err := surviving(t.description, func() error {
		stats = t.inspector.Inspect().Stats
		return nil
	})
	for i, name := range t.names {
		value, known := stats[name] // a client that panicked has none: its stack is reported
		if !known || err != nil {
			value = math.NaN()
		}
		t.values[i] = value
	}
	t.into.SetStats(t.values)
}
