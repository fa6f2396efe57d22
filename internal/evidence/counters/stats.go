package counters

import "math"

// SetStats writes the store's own counters: the worker's side. values are in the order of the names
// that the reply to prepare gave; what is not known at this moment is NaN. At most [StatsMax] are
// kept.
func (f *File) SetStats(values []float64) {
	for i, v := range values[:min(len(values), StatsMax)] {
		f.store(wordStats+i, math.Float64bits(v))
	}
	f.store(wordRounds, f.load(wordRounds)+1)
}

// Stats returns how often the worker has written the store's own counters, and their values as they
// stand. Each value is whole; they may be of two rounds if one is under way.
func (f *File) Stats(names int) (rounds uint64, values []float64) {
	rounds = f.load(wordRounds)
	values = make([]float64, min(names, StatsMax))
	for i := range values {
		values[i] = math.Float64frombits(f.load(wordStats + i))
	}
	return rounds, values
}
