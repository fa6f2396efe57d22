package live

import (
	"assay/internal/execution/event"
	"time"
)

// gathered puts the ticks of a phase together, for one line a second.
type gathered struct {
	latest     event.Tick
	operations float64       // since the line before
	from       time.Duration // the line before
	p99        *float64      // the largest of the ticks since the line before; nil: none measured
	due        time.Duration // the next line
	count      int           // of ticks since the line before
	shown      int           // lines
}

// add says if a line is due. Seconds are the phase's, not since the line before: a tick that comes
// late doesn't put all others off.
func (g *gathered) add(t event.Tick) bool {
	g.operations += t.Rate * (t.Elapsed - g.latest.Elapsed).Seconds()
	g.latest = t
	g.count++
	if t.P99NS != nil && (g.p99 == nil || *t.P99NS > *g.p99) {
		g.p99 = t.P99NS
	}
	return t.Elapsed >= g.due-rateEarly
}

// take returns one tick for those since the line before: the mean of their rates by time, and the
// largest of their p99, above which no more than a hundredth of their operations can lie.
func (g *gathered) take() event.Tick {
	t := g.latest
	if seconds := (t.Elapsed - g.from).Seconds(); seconds > 0 {
		t.Rate = g.operations / seconds
	}
	t.P99NS = g.p99
	*g = gathered{latest: g.latest, from: t.Elapsed,
		due: (t.Elapsed + rateEarly).Truncate(rateEvery) + rateEvery, shown: g.shown + 1}
	return t
}
