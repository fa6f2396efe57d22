package trace

import "slices"

// due returns when each of a thread's operations in a lap is due, in ns from the start, ascending,
// and how long a lap is.
func (g *generator) due(thread, operations int) (due []uint64, lapNS uint64) {
	due = make([]uint64, operations)
	turnNS := 1e9 / g.Rate // between two operations of different threads
	meanNS := float64(turnNS * float64(g.Threads))
	lap := float64(meanNS * float64(operations))
	if g.Arrivals == Constant {
		for i := range due {
			due[i] = uint64(float64(turnNS * float64(i*g.Threads+thread)))
		}
		return due, uint64(lap)
	}
	// Exponential gaps, scaled to the lap's length: the arrivals of a Poisson process, given how
	// many there were.
	r := newRandom(g.Seed, thread, purposeArrivals)
	times := make([]float64, operations)
	sum := 0.0
	for i := range times {
		sum -= ln(r.unit())
		times[i] = sum
	}
	sum -= ln(r.unit()) // the gap to the lap's end
	for i, time := range times {
		due[i] = uint64(float64(time / sum * lap))
	}
	return due, uint64(lap)
}

// dueBefore returns how many operations, laps included, are due before end.
func dueBefore(due []uint64, lapNS, end uint64) uint64 {
	last := due[len(due)-1]
	var laps uint64
	if end > last {
		laps = 1
		if lapNS > 0 {
			laps += (end - 1 - last) / lapNS
		}
	}
	rest, _ := slices.BinarySearch(due, end-min(laps*lapNS, end))
	return laps*uint64(len(due)) + uint64(rest)
}

// DueOf returns when an entry of open load is due, laps included, in ns from the phase's start.
func (t *Thread) DueOf(entry uint64) uint64 {
	n := uint64(len(t.Due))
	return entry/n*t.LapNS + t.Due[entry%n]
}

// DueBefore returns how many entries of open load are due before endNS after the phase's start,
// laps included.
func (t *Thread) DueBefore(endNS uint64) uint64 { return dueBefore(t.Due, t.LapNS, endNS) }
