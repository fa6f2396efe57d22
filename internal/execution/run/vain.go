package run

import (
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// Work that had nothing to do is no work: a delete of what is not there costs almost nothing, and most
// stores do not tell it from one that deleted something. So the trace tells, which knows the keys.

// indexSet is a set of indexes, in pages.
type indexSet map[uint64]*[indexPage / 64]uint64

const indexPage = 1 << 15

func (s indexSet) add(index uint64) {
	page := s[index/indexPage]
	if page == nil {
		page = new([indexPage / 64]uint64)
		s[index/indexPage] = page
	}
	page[index%indexPage/64] |= 1 << (index % 64)
}

func (s indexSet) remove(index uint64) {
	if page := s[index/indexPage]; page != nil {
		page[index%indexPage/64] &^= 1 << (index % 64)
	}
}

func (s indexSet) has(index uint64) bool {
	page := s[index/indexPage]
	return page != nil && page[index%indexPage/64]>>(index%64)&1 == 1
}

// vanishing is what deletes have left of a trial's records.
type vanishing struct {
	deletes bool     // an operation deleted, in this phase or before
	gone    indexSet // indexes that surely have no record since a phase that has ended
}

// lapsMax bounds the operations of entries whose index grows with each lap: they are looked at one by one.
const lapsMax = 1 << 22

// eachTouched visits the indexes of what threads have begun, but for their reads: once where an index stays
// the same in each lap, with the times that it was begun. It returns false, and may have visited some,
// where there are too many to look at.
func eachTouched(file *trace.File, from, to int, begun []uint64, visit func(o trace.Operation, index,
	times uint64)) bool {
	budget := uint64(lapsMax)
	for i := from; i < to; i++ {
		t := &file.Threads[i]
		n := uint64(len(t.Entries))
		for position, e := range t.Entries[:min(n, begun[i])] {
			o := e.Operation()
			if !o.Changes() || o == trace.Touch || o == trace.Batch || o == trace.DeleteQuery {
				continue // a batch's members are entries of their own
			}
			times := begun[i] / n
			if uint64(position) < begun[i]%n {
				times++
			}
			if !e.Grows() {
				visit(o, e.Index(), times)
				continue
			}
			if times > budget {
				return false
			}
			budget -= times
			for lap := range times {
				visit(o, e.EffectiveIndex(lap, t.Stride), 1)
			}
		}
	}
	return true
}

func deletesIn(file *trace.File) (deletes bool) {
	if !file.MayHave(trace.Delete, trace.DeleteQuery, trace.Batch) {
		return false
	}
	for i := range file.Threads {
		for _, e := range file.Threads[i].Entries {
			if o := e.Operation(); o == trace.Delete || o == trace.DeleteQuery {
				return true
			}
		}
	}
	return false
}

// after returns what is known once a phase has ended, of which threads have begun and acknowledged so many
// entries.
func (v vanishing) after(file *trace.File, begun, acknowledged []uint64) vanishing {
	deletes := deletesIn(file)
	if !deletes && len(v.gone) == 0 {
		return v
	}
	after := vanishing{deletes: v.deletes || deletes, gone: v.gone}
	if after.gone == nil {
		after.gone = indexSet{}
	}
	known := true
	if deletes {
		known = eachTouched(file, 0, len(file.Threads), acknowledged, func(o trace.Operation, index, _ uint64) {
			if o == trace.Delete {
				after.gone.add(index)
			}
		})
	}
	// What was put in the same phase may have come after the delete.
	known = known && eachTouched(file, 0, len(file.Threads), begun, func(o trace.Operation, index, _ uint64) {
		if o != trace.Delete {
			after.gone.remove(index)
		}
	})
	if !known {
		after.gone = nil
	}
	return after
}

// mayDelete is the most deletes by some threads of a phase that can have found a record: one for each key
// that had one when the phase began, and one for each time that such a key was put. False: it is not known.
func (v vanishing) mayDelete(file *trace.File, from, to int, begun []uint64, may trace.Spans) (most uint64,
	known bool) {
	if may == nil {
		return 0, false
	}
	targets := indexSet{}
	known = eachTouched(file, from, to, begun, func(o trace.Operation, index, _ uint64) {
		if o != trace.Delete || targets.has(index) {
			return
		}
		targets.add(index)
		if may.Has(index) && !v.gone.has(index) {
			most++
		}
	})
	return most, known && eachTouched(file, 0, len(file.Threads), begun, func(o trace.Operation, index, times uint64) {
		if o != trace.Delete && targets.has(index) {
			most += times
		}
	})
}

// noteVain sets how many operations of each kind had nothing to do at least, by the trace or by what the
// store told. It is only asked in trials that delete: elsewhere a miss is what the experiment asks for.
// deletable bounds the deletes that can have found something; nil: it is not known.
func noteVain(slots []record.Operation, operations []trace.Operation, deletable *uint64) {
	for slot, o := range operations {
		done := slots[slot].OK + slots[slot].Miss
		vain := slots[slot].Miss
		switch {
		case o == trace.Delete && deletable != nil:
			vain = max(vain, done-min(done, *deletable))
		case o.Finds(), o == trace.DeleteQuery: // one that found something has an item
			vain = max(vain, done-min(done, slots[slot].Items))
		}
		slots[slot].Vain = &vain
	}
}
