package read

import (
	"math"
	"slices"
	"time"

	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// shift resolves how what is popular moves.
func (r workResolver) shift(p PhaseFile, resolved *experiment.Phase) *Error {
	s := p.Order.Shift
	if s == nil {
		return nil
	}
	parts := math.Round(1 / float64(s.By))
	order := resolved.Order.Distribution
	stays := []string{trace.Sequential, trace.Shuffled, trace.Uniform, trace.Latest, trace.Counting}
	switch {
	case p.Load || slices.Contains(stays, order):
		return r.fail(r.in("order", "shift"), "the order %s has no popular records that could move", order).
			hint("expected zipfian, scrambled_zipfian, hotspot, exponential or popularity")
	case s.Every <= 0:
		return r.fail(r.in("order", "shift"), "a shift says after what time records change their popularity").hint("expected shift: {every: 30s, by: 10%%}")
	case s.By == 0:
		return r.fail(r.in("order", "shift"), "a shift says how many records change their popularity each time").hint("expected shift: {every: 30s, by: 10%%}")
	case parts > trace.ShiftPartsMax || math.Abs(parts*float64(s.By)-1) > 1e-9:
		return r.fail(r.in("order", "shift", "by"), "of a shift, one record in a whole number up to %d moves, not one in %.4g", trace.ShiftPartsMax, 1/float64(s.By)).
			hint("expected a share such as 50%%, 25%%, 20%%, 10%%, 5%% or 1%%")
	case p.Capacity != nil:
		return r.fail(r.in("order", "shift"), "a search for a capacity compares steps: what is popular stays in it").hint("leave out shift, or capacity")
	case p.Rate == nil:
		return r.fail(r.in("order", "shift"), "without a rate no operation has a time: what is popular can't move by it").
			hint("expected rate: OPERATIONS A SECOND beside the order")
	case p.For == 0 && !p.Rate.changes():
		return r.fail(r.in("order", "shift"), "popularity that moves needs to know how long the phase lasts").hint("expected for: DURATION")
	}
	resolved.Order.Shift = trace.Shift{Every: time.Duration(s.Every), Parts: uint64(parts)}
	if resolved.Segments != nil {
		return nil
	}
	return r.fitsTrace(p, resolved, uint64(math.Ceil(resolved.Rate*resolved.Duration.Seconds())))
}
