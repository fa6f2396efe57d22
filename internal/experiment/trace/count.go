package trace

import "math"

// Count counts the operations by slot among the first attempted entries that a thread did, laps
// included. A batch or multi-read under way counts as one operation. It is the conductor's own count, against
// which a worker's outcomes are held.
func (f *File) Count(thread int, attempted uint64) []uint64 {
	counts, slots := make([]uint64, len(f.Operations)), f.Slots()
	f.Threads[thread].count(attempted, counts, func(e Entry) int {
		if e.IsMember() {
			return -1
		}
		return slots.Of(e)
	})
	return counts
}

// CountItems counts what is done to records: operations by code, of a batch or a multi-read its members
// and not itself.
func (t *Thread) CountItems(attempted uint64) (counts [operationsMax]uint64) {
	t.count(attempted, counts[:], func(e Entry) int {
		if e.Operation().HasMembers() {
			return -1
		}
		return int(e.Operation())
	})
	return counts
}

// count adds up the entries by where they are counted; -1: nowhere.
func (t *Thread) count(attempted uint64, counts []uint64, where func(Entry) int) {
	n := uint64(len(t.Entries))
	if n == 0 {
		return
	}
	laps, rest := attempted/n, attempted%n
	for p, e := range t.Entries {
		at := where(e)
		if at < 0 {
			continue
		}
		counts[at] += laps
		if uint64(p) < rest {
			counts[at]++
		}
	}
}

// IndexEnd returns an index that lies above all that the threads have reached, each after so many
// entries. What comes later may begin inserting there: it is the same for stores of different speed
// that are in the same lap.
func (f *File) IndexEnd(attempted []uint64) (end uint64) {
	for _, s := range f.reached(attempted, false) {
		end = max(end, s.Below)
	}
	return end
}

// IndexesReached returns all indexes that the threads have reached, each after so many entries, and
// few others.
func (f *File) IndexesReached(attempted []uint64) Spans {
	return Spans(nil).With(f.reached(attempted, true)...)
}

// reached returns a span of the indexes that stay the same in each lap, and one of those that grow.
// Only where asked are a thread's first entries looked at alone.
func (f *File) reached(attempted []uint64, least bool) []Span {
	fixed, growing := Span{From: math.MaxUint64}, Span{From: math.MaxUint64}
	for i := range f.Threads {
		t := &f.Threads[i]
		if attempted[i] == 0 {
			continue
		}
		entries := t.Entries
		if least && attempted[i] < uint64(len(entries)) {
			entries = entries[:attempted[i]]
		}
		laps := (attempted[i] - 1) / uint64(len(t.Entries))
		for _, e := range entries {
			switch index := e.Index(); {
			case e.Operation().HasMembers():
			case e.Grows():
				growing.From, growing.Below = min(growing.From, index), max(growing.Below, index+laps*t.Stride+1)
			default:
				fixed.From, fixed.Below = min(fixed.From, index), max(fixed.Below, index+1)
			}
		}
	}
	return []Span{fixed, growing}
}
