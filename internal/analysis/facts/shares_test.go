package facts

import (
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
)

// A miss of a store that can't evict says nothing of a cache; writes are no reads.
func TestHitRatio_is_of_the_reads_of_stores_that_may_evict(t *testing.T) {
	evicted := uint64(0)
	cache := func() *record.Phase {
		return &record.Phase{Evicted: &evicted, Operations: []record.Operation{
			{Name: "read", OK: 60, Miss: 30, Lost: 10}, {Name: "update", OK: 900}}}
	}
	other := cache()
	other.Evicted = nil
	writes := &record.Phase{Evicted: &evicted, Operations: []record.Operation{{Name: "update", OK: 900}}}
	for name, c := range map[string]struct {
		of   *record.Phase
		want *float64
	}{"cache": {cache(), finding.Known(0.6)}, "no cache": {other, nil}, "writes": {writes, nil}} {
		got := hitRatioOf([]*record.Phase{c.of, c.of})
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestLostUpdates_is_zero_only_where_updates_were_judged(t *testing.T) {
	phase := func(lost, done uint64) *record.Phase {
		return &record.Phase{History: &record.History{Updates: &history.Updates{Fate: history.Fate{Lost: lost,
			Done: done}}}}
	}
	if got := lostUpdatesOf([]*record.Phase{phase(0, 40), phase(10, 60)}); got == nil || *got != 0.1 {
		t.Errorf("10 of 100: %v", got)
	}
	if got := lostUpdatesOf([]*record.Phase{phase(0, 40)}); got == nil || *got != 0 {
		t.Errorf("none of 40: %v", got)
	}
	if got := lostUpdatesOf([]*record.Phase{{History: &record.History{}}, {}}); got != nil {
		t.Errorf("nothing judged: %v", *got)
	}
}
