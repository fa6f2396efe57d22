package trace

// Count counts the operations by code among the first attempted entries that a thread did, laps
// included. A batch under way counts as one operation. It is the conductor's own count, against
// which a worker's outcomes are held.
func (t *Thread) Count(attempted uint64) (counts [operationsMax]uint64) {
	return t.count(attempted, func(e Entry) bool { return !e.IsMember() })
}

// CountItems counts what is done to records: operations by code, of a batch its members and not
// itself.
func (t *Thread) CountItems(attempted uint64) (counts [operationsMax]uint64) {
	return t.count(attempted, func(e Entry) bool { return e.Operation() != Batch })
}

func (t *Thread) count(attempted uint64, counted func(Entry) bool) (counts [operationsMax]uint64) {
	n := uint64(len(t.Entries))
	if n == 0 {
		return counts
	}
	var lap [operationsMax]uint64
	rest := attempted % n
	for p, e := range t.Entries {
		if !counted(e) {
			continue
		}
		lap[e.Operation()]++
		if uint64(p) < rest {
			counts[e.Operation()]++
		}
	}
	for code := range counts {
		counts[code] += lap[code] * (attempted / n)
	}
	return counts
}

// IndexEnd returns an index that lies above all that the threads have reached, each after so many
// entries. What comes later may begin inserting there.
func (f *File) IndexEnd(attempted []uint64) uint64 {
	end := uint64(0)
	for i := range f.Threads {
		t := &f.Threads[i]
		if attempted[i] == 0 {
			continue
		}
		highest, grows := uint64(0), uint64(0)
		for _, e := range t.Entries {
			if e.Operation() == Batch {
				continue
			}
			if e.Grows() {
				grows = max(grows, e.Index())
			} else {
				highest = max(highest, e.Index())
			}
		}
		if grows > 0 {
			highest = max(highest, grows+(attempted[i]-1)/uint64(len(t.Entries))*t.Stride)
		}
		end = max(end, highest+1)
	}
	return end
}
