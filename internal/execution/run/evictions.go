package run

import (
	"assay/internal/evidence/record"
	"assay/store"
)

// evictions holds a trial's missing records against those that the store says it removed by itself
// since the trial began: a cache may forget, and says so.
type evictions struct {
	told   bool
	counts bool // the store counts what it removes
	before float64
}

// begin notes the store's count before the trial's first write. inspect is nil where the store can't be
// asked.
func (e *evictions) begin(inspect inspect) error {
	if e.told || inspect == nil {
		return nil
	}
	inspected, err := inspect()
	if err != nil {
		return err
	}
	e.before, e.counts = evictedBy(inspected.Stats)
	e.told = true
	return nil
}

// since returns how many records the store says to have removed; nil: it does not count them.
func (e *evictions) since(stats map[string]float64) *uint64 {
	now, counts := evictedBy(stats)
	if !e.told || !counts {
		return nil
	}
	n := uint64(max(0, now-e.before))
	return &n
}

// evictedBy returns how many records the store removed before their time was over: those that it removed
// because it was, it counts as well.
func evictedBy(stats map[string]float64) (records float64, counts bool) {
	records, counts = stats[store.RecordsEvicted]
	return max(0, records-stats[store.RecordsExpired]), counts
}

// hold takes missing records of the final check for evictions, as far as the store's count explains
// them.
func (e *evictions) hold(inspect inspect, check *record.FinalCheck) error {
	if check.Lost == 0 || !e.told {
		return nil
	}
	inspected, err := inspect()
	if err != nil {
		return err
	}
	check.StoreEvicted = e.since(inspected.Stats)
	if check.StoreEvicted != nil && check.MissingAtLeast() <= float64(*check.StoreEvicted) {
		check.Evicted, check.Lost = check.Lost, 0
	}
	return nil
}
