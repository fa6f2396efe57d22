package experiment

import (
	"fmt"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment/trace"
)

// ChangesRate reports whether the phase, or one of its groups, has a rate that changes over time.
func (p Phase) ChangesRate() bool {
	for _, part := range p.Parts() {
		if len(part.Segments) > 0 {
			return true
		}
	}
	return false
}

// RateText says what rate a phase without groups, or a group, has: "5.00 k/s", or its segments one
// after the other.
func (p Phase) RateText() string {
	if len(p.Segments) == 0 {
		return format.Rate(p.Rate)
	}
	var all []string
	for _, s := range p.Segments {
		all = append(all, fmt.Sprintf("%s for %s", SegmentText(s), format.Seconds(s.Duration.Seconds())))
	}
	const shown = 4
	if len(all) > shown {
		all = append(all[:shown-1], fmt.Sprintf("and %d more segments", len(all)-shown+1))
	}
	return strings.Join(all, ", then ")
}

// SegmentText says what the rate of a segment does: "1.00 k/s to 20.0 k/s".
func SegmentText(s trace.Segment) string {
	switch s.Form {
	case trace.FormRamp:
		return format.Rate(s.From) + " to " + format.Rate(s.To)
	case trace.FormBurst:
		return fmt.Sprintf("%s, bursts of %s", format.Rate(s.From), format.Rate(s.To))
	case trace.FormSine:
		return fmt.Sprintf("%s to %s and back each %s", format.Rate(s.From), format.Rate(s.To), format.Seconds(s.Every.Seconds()))
	case trace.FormFile:
		low, high := s.Points[0].Rate, s.Points[0].Rate
		for _, p := range s.Points {
			low, high = min(low, p.Rate), max(high, p.Rate)
		}
		return fmt.Sprintf("a file's %s to %s", format.Rate(low), format.Rate(high))
	}
	return format.Rate(s.To)
}

// Stretch is a part of a rate over time with figures of its own: a segment, or of one with bursts each
// burst and each time between two.
type Stretch struct {
	Segment  int // position among the segments
	Burst    bool
	Threads  int           // that work in a step of a staircase; 0: it is of a rate
	From, To time.Duration // since the first segment's begin
}

// Stretches returns the stretches of a phase whose rate or threads change over time; none: they do not
// change.
func (p Phase) Stretches() []Stretch {
	if len(p.Staircase) == 0 {
		return Stretches(p.Segments)
	}
	var all []Stretch
	var at time.Duration
	for i, s := range p.Staircase {
		all = append(all, Stretch{Segment: i, Threads: s.Threads, From: at, To: at + s.Duration})
		at += s.Duration
	}
	return all
}

// Stretches returns the stretches of a rate over time, in its order.
func Stretches(segments []trace.Segment) (all []Stretch) {
	var at time.Duration
	for i := range segments {
		s := &segments[i]
		if s.Form != trace.FormBurst {
			all = append(all, Stretch{Segment: i, From: at, To: at + s.Duration})
		} else {
			trace.EachBurst(s, func(from, to time.Duration, burst bool) {
				all = append(all, Stretch{Segment: i, Burst: burst, From: at + from, To: at + to})
			})
		}
		at += s.Duration
	}
	return all
}

// How finely a rate over time is looked at: about so many intervals of a phase, none shorter than
// that. Each stretch has one at least.
const (
	intervalsAbout = 120
	intervalMin    = 50 * time.Millisecond
)

// Interval is a part of a stretch in which the rate hardly changes.
type Interval struct {
	Stretch  int // position in [Stretches]
	From, To time.Duration
}

// Intervals parts each stretch of a rate over time evenly.
func Intervals(segments []trace.Segment) []Interval { return Phase{Segments: segments}.Intervals() }

// InWholeStretches reports whether each stretch is looked at as one interval.
func (p Phase) InWholeStretches() bool { return p.wholeStretches }

// Intervals parts each of the part's stretches evenly.
func (p Phase) Intervals() (all []Interval) {
	stretches := p.Stretches()
	if len(stretches) == 0 {
		return nil
	}
	width := max(stretches[len(stretches)-1].To/intervalsAbout, intervalMin)
	for i, s := range stretches {
		n := max((s.To-s.From+width/2)/width, 1)
		if p.wholeStretches {
			n = 1
		}
		for k := range n {
			all = append(all, Interval{Stretch: i, From: s.From + (s.To-s.From)*k/n,
				To: s.From + (s.To-s.From)*(k+1)/n})
		}
	}
	return all
}

// lastingSegments returns segments that do the same in another time.
func lastingSegments(segments []trace.Segment, share float64) (all []trace.Segment) {
	scaled := func(d time.Duration) time.Duration { return time.Duration(share * float64(d)) }
	for _, s := range segments {
		s.Duration, s.Every, s.Length = max(scaled(s.Duration), 1), scaled(s.Every), scaled(s.Length)
		points := s.Points
		s.Points = nil
		for _, p := range points {
			s.Points = append(s.Points, trace.Point{At: min(scaled(p.At), s.Duration), Rate: p.Rate})
		}
		if len(s.Points) > 0 {
			s.Points[len(s.Points)-1].At = s.Duration
		}
		all = append(all, s)
	}
	return all
}

// TakesRate reports whether a phase is done at the rate of its cell: it is measured, and nothing else says
// when its operations are due.
func (p *Phase) TakesRate() bool {
	return !p.Load && !p.Unmeasured && p.Rate == 0 && p.Capacity == nil && p.Replay == nil && len(p.Groups) == 0 &&
		len(p.Staircase) == 0 && p.Think.Mean == 0
}

// In returns the phase as a cell does it: at the cell's rate, if it takes one.
func (p Phase) In(c Cell) Phase {
	switch {
	case !p.TakesRate():
	case c.Rate == 0:
		p.Arrivals = "" // of the cells that have one
	default:
		if p.Rate = c.Rate; p.Arrivals == "" {
			p.Arrivals = trace.Poisson
		}
	}
	return p
}
