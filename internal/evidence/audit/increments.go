package audit

import (
	"math"

	"assay/internal/experiment/trace"
)

// Increments returns what the counters of the records of some indexes add up to after the phases:
// at least the increments that were acknowledged, at most those that were tried. Of those that did
// not end ok, each may have been of any record.
func Increments(phases []Phase, indexes []uint64) (least, most uint64) {
	sampled := make(map[uint64]bool, len(indexes))
	for _, index := range indexes {
		sampled[index] = true
	}
	for i := range phases {
		p := &phases[i]
		if !p.Trace.Has(trace.Increment) {
			continue
		}
		for thread := range p.Trace.Threads {
			acknowledged := p.incremented(thread, p.Acknowledged[thread], sampled)
			least += acknowledged - min(acknowledged, p.NotIncremented[thread])
			if begun := p.mostBegun(thread); begun != p.Attempted[thread] && p.Trace.Threads[thread].Limit == 0 {
				most = math.MaxUint64 // it may have gone on for long
			} else if most < math.MaxUint64 {
				most += p.incremented(thread, begun, sampled)
			}
		}
	}
	return least, most
}

// incremented counts the increments of sampled records among a thread's first entries.
func (p *Phase) incremented(thread int, entries uint64, sampled map[uint64]bool) (increments uint64) {
	t := &p.Trace.Threads[thread]
	n := uint64(len(t.Entries))
	if !p.Trace.MayHave(trace.Increment) {
		return 0
	}
	for position, e := range t.Entries {
		if e.Operation() != trace.Increment || uint64(position) >= entries {
			continue
		}
		laps := (entries-1-uint64(position))/n + 1
		if !e.Grows() {
			if sampled[e.Index()] {
				increments += laps
			}
			continue
		}
		for lap := range laps {
			if sampled[e.EffectiveIndex(lap, t.Stride)] {
				increments++
			}
		}
	}
	return increments
}
