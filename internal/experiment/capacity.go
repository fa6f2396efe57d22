package experiment

import (
	"math"
	"slices"
	"time"

	"assay/internal/experiment/capacity"
	"assay/internal/experiment/trace"
)

// settleShare is the share of a step's time whose operations are not judged: the queue comes to its
// length.
const settleShare = 0.2

// What was due in the last moment of a step may end in time and after the step: it is not judged either.
const (
	endsMore  = 50 * time.Millisecond // beyond the longest limit
	endsShare = 0.2                   // of a step at most
)

// CapacityJudged is the stretch of a step's phase that is judged.
const CapacityJudged = 1

// CapacityStep returns the phase that a step of a search is: open load at its rate, of which the stretch
// [CapacityJudged] is judged; or closed load.
func (p Phase) CapacityStep(s capacity.Step) Phase {
	limit := time.Duration(0)
	for _, o := range p.Capacity.Objectives {
		if o.Metric == capacity.Percentile || o.Metric == capacity.Mean {
			limit = max(limit, time.Duration(o.Limit))
		}
	}
	p.Capacity, p.Duration = nil, s.Length
	if s.Kind == capacity.Closed {
		p.Arrivals = ""
		return p
	}
	settles := time.Duration(settleShare * float64(s.Length))
	ends := min(limit+endsMore, time.Duration(endsShare*float64(s.Length)))
	p.Rate, p.wholeStretches, p.Segments = s.Rate, true, nil
	for _, d := range []time.Duration{settles, s.Length - settles - ends, ends} {
		p.Segments = append(p.Segments, trace.Segment{Form: trace.FormStep, To: s.Rate, Duration: d})
	}
	return p
}

// lastingCapacity returns a search whose steps are shorter or longer.
func lastingCapacity(a *capacity.Asked, share float64) *capacity.Asked {
	if a == nil {
		return nil
	}
	scaled := *a
	scaled.Step = time.Duration(share * float64(a.Step))
	scaled.Hold = max(time.Duration(share*float64(a.Hold)), scaled.Step)
	return &scaled
}

// stepLeast is the shortest step of a search that a layout may leave.
const stepLeast = 500 * time.Millisecond

// ShortestMeasured is the shortest that a layout may make a measured phase: least, but of a search for a
// capacity what its steps need.
func (p Phase) ShortestMeasured(least time.Duration) time.Duration {
	if p.Capacity == nil {
		return least
	}
	share := math.Min(float64(stepLeast)/float64(p.Capacity.Step), 1)
	return max(least, time.Duration(share*float64(p.Duration)))
}

// SearchesCapacity reports whether a phase of the experiment searches for a capacity.
func (e *Experiment) SearchesCapacity() bool {
	return slices.ContainsFunc(e.Phases, func(p Phase) bool { return p.Capacity != nil })
}
