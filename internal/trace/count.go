package trace

// Count counts the operations by code among the first attempted entries that a thread did, laps included. A batch
// under way counts as one operation. It is the conductor's own count, against which a worker's outcomes are held.
func (t *Thread) Count(attempted uint64) (counts [operationsMax]uint64) {
	n := uint64(len(t.Entries))
	if n == 0 {
		return counts
	}
	var lap [operationsMax]uint64
	rest := attempted % n
	for p, e := range t.Entries {
		if e.IsMember() {
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
