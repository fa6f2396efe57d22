package audit

import (
	"math"

	"assay/internal/experiment/trace"
)

// presentSpanMax bounds how far beyond what was there before PresentBelow looks, in records: 16 MiB
// of bits.
const presentSpanMax = 1 << 27

// PresentBelow returns an index below which each record is certainly there after the phases: it was
// loaded, inserted or upserted, that was acknowledged without doubt, and no delete was tried on it
// since. A record above the first gap counts for nothing: a worker gets one bound.
// Threads that insert take turns with indexes, so that of several at different speeds the bound is
// that of the slowest.
func PresentBelow(phases []Phase) (below uint64) {
	for i := range phases {
		p := &phases[i]
		if p.Trace.Expires() { // what is there is a matter of the time
			below = 0
			continue
		}
		if gone := p.lowestDeleted(); gone < math.MaxUint64 {
			// What the same phase put back may have been put before the delete.
			below = min(below, gone)
			continue
		}
		if p.isCompleteLoad() {
			below = max(below, p.inserts())
			continue
		}
		below = p.presentFrom(below)
	}
	return below
}

// LowestDeleted returns the lowest index that a trace deletes, in whatever lap; math.MaxUint64 if
// it deletes nothing. A delete by query may delete any.
func LowestDeleted(f *trace.File) uint64 {
	lowest := uint64(math.MaxUint64)
	if !f.MayHave(trace.Delete, trace.DeleteQuery, trace.Batch) {
		return lowest
	}
	for i := range f.Threads {
		for _, e := range f.Threads[i].Entries {
			switch e.Operation() {
			case trace.Delete:
				lowest = min(lowest, e.Index())
			case trace.DeleteQuery:
				return 0
			}
		}
	}
	return lowest
}

// lowestDeleted returns the lowest index on which a delete was tried; math.MaxUint64 if there was
// none.
func (p *Phase) lowestDeleted() uint64 {
	lowest := uint64(math.MaxUint64)
	if !p.Trace.MayHave(trace.Delete, trace.DeleteQuery, trace.Batch) {
		return lowest
	}
	for i := range p.Trace.Threads {
		for position, e := range p.Trace.Threads[i].Entries {
			if uint64(position) >= p.mostBegun(i) {
				break
			}
			switch e.Operation() {
			case trace.Delete:
				lowest = min(lowest, e.Index())
			case trace.DeleteQuery:
				return 0
			}
		}
	}
	return lowest
}

// presentFrom returns the first index from below on that the phase did not write for certain.
func (p *Phase) presentFrom(below uint64) uint64 {
	var span uint64 // no more records without a gap than entries that were done
	for _, done := range p.Acknowledged {
		span = min(span+done, presentSpanMax)
	}
	there := make([]uint64, span/64+1)
	for i := range p.Trace.Threads {
		t := &p.Trace.Threads[i]
		n, acknowledged := uint64(len(t.Entries)), p.Acknowledged[i]
		p.changes(i, func(c change) {
			for sequence := uint64(c.position); !c.doubtful && sequence < acknowledged; sequence += n {
				index := c.entry.EffectiveIndex(sequence/n, t.Stride)
				if index >= below && index-below < span {
					there[(index-below)/64] |= 1 << ((index - below) % 64)
				}
				if !c.entry.Grows() || index >= below+span {
					break
				}
			}
		})
	}
	for k := range span {
		if there[k/64]>>(k%64)&1 == 0 {
			return below + k
		}
	}
	return below + span
}
