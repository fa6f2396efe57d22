package trace

import (
	"slices"
	"time"
)

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

// pauses returns for how long a thread pauses before each of its operations in a lap, in ns: so that their mean
// over the lap is what was asked for.
func (g *generator) pauses(thread, operations int) []uint64 {
	pauses := make([]uint64, operations)
	if !g.ThinkExponential {
		for i := range pauses {
			pauses[i] = g.ThinkNS
		}
		return pauses
	}
	r := newRandom(g.Seed, thread, purposeArrivals)
	gaps, sum := make([]float64, operations), 0.0
	for i := range gaps {
		gaps[i] = -ln(r.unit())
		sum += gaps[i]
	}
	scale := float64(float64(g.ThinkNS) * float64(operations) / sum)
	for i, gap := range gaps {
		pauses[i] = uint64(float64(gap * scale))
	}
	return pauses
}

// dueOverTime returns when each of a thread's operations is due where the rate changes, in ns from the
// start. The operations of all threads go to them in turn, so that as many are due in each second, and
// in each stretch of its own (a burst), as the integral of the rate says. Poisson: within a second a
// thread's own are a process of independent users, given how many they are.
func (g *generator) dueOverTime(thread, operations int) (due []uint64, lapNS uint64) {
	due = make([]uint64, 0, operations)
	w := walk{load: g.load}
	if g.Arrivals == Constant {
		for i := range operations {
			due = append(due, w.when(float64(i*g.Threads+thread)))
		}
		return due, uint64(g.load.Ends())
	}
	r := newRandom(g.Seed, thread, purposeArrivals)
	var times []float64
	g.load.eachStratum(func(from, to float64) {
		first := g.turnOf(from, thread)
		times = times[:0]
		sum := 0.0
		for i := first; i < g.turnOf(to, thread) && len(due)+len(times) < operations; i++ {
			sum -= ln(r.unit())
			times = append(times, sum)
		}
		if len(times) == 0 {
			return
		}
		sum -= ln(r.unit()) // the gap to the end
		for _, time := range times {
			due = append(due, w.when(from+float64(time/sum*float64(to-from))))
		}
	})
	return due, uint64(g.load.Ends())
}

// turnOf returns how many of the operations before a number, which are dealt to the threads in turn,
// are a thread's.
func (g *generator) turnOf(before float64, thread int) int {
	return (wholeBefore(before) - thread + g.Threads - 1) / g.Threads
}

// stratum is within what time the number of operations is exact.
const stratum = time.Second

// eachStratum calls for the operations that are due in each second, or up to where a stretch ends.
func (l *Load) eachStratum(do func(from, to float64)) {
	before := 0.0
	end := l.Ends()
	edges := l.edges
	for at := time.Duration(0); at < end; {
		next := min(at-at%stratum+stratum, end)
		for len(edges) > 0 && edges[0] <= at {
			edges = edges[1:]
		}
		if len(edges) > 0 {
			next = min(next, edges[0])
		}
		to := l.Until(next)
		if next == end {
			to = l.Total()
		}
		do(before, to)
		before, at = to, next
	}
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
