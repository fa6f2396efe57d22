package facts

import (
	"math"
	"slices"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// Recovery is what a fault of a server did to a phase: from the fault until the next one, or the end.
type Recovery struct {
	record.ServerFault
	// UndoneAt is when the server answered again, by Assay's doing, seconds since the phase began;
	// nil: not in the phase.
	UndoneAt *float64
	Down     float64 // seconds from the fault until Assay began to undo it; 0: not in the phase
	Bad      uint64  // operations that failed, and were lost or wrong
	Before   float64 // good operations a second before the phase's first fault, median of samples
	// During is good operations a second while the fault lasted, over the samples that lie in that time;
	// nil: none does, or the fault was over at once.
	During *float64
	// RecoveredAt is the end of the first sample from which on the rate was above half of Before, and
	// nothing failed, for recoveredSamples or to the end; nil: it was never.
	RecoveredAt *float64
}

// recoveredSamples in a row are a recovery: one may lie between a client's tries to connect again.
const recoveredSamples = 2

// Recoveries returns the faults of a phase in their order, but those that undo others; none where too
// few samples were before the first.
func Recoveries(p *record.Phase, samples []record.Sample) (all []Recovery) {
	does := func(f record.ServerFault) bool { return f.Does != experiment.FaultStart && f.Error == "" }
	first := slices.IndexFunc(p.Faults, does)
	if first < 0 {
		return nil
	}
	var before []float64
	for _, s := range samples {
		if s.At <= p.Faults[first].At && s.Seconds > 0 {
			before = append(before, goodRate(s))
		}
	}
	if len(before) < 2 {
		return nil
	}
	slices.Sort(before)
	normal := before[len(before)/2]
	for i, f := range p.Faults {
		if !does(f) {
			continue
		}
		r := Recovery{ServerFault: f, Before: normal}
		end, next := float64(p.ElapsedNS)/1e9, math.Inf(1)
		for _, later := range p.Faults[i+1:] {
			at := later.At + later.Seconds
			if later.Does == experiment.FaultStart && later.Node == f.Node && !later.After && at <= end &&
				r.UndoneAt == nil {
				r.UndoneAt, r.Down = &at, later.At-f.At
			}
			if does(later) {
				next = later.At
				break
			}
		}
		r.course(samples, next)
		if !experiment.Momentary(f.Does) {
			until := min(next, end)
			if r.Down > 0 {
				until = min(until, f.At+r.Down)
			}
			r.During = rateWithin(samples, f.At+f.Seconds, until)
		}
		all = append(all, r)
	}
	return all
}

// course follows the rate from the fault to the next one. A sample in which that happened is of that.
func (r *Recovery) course(samples []record.Sample, next float64) {
	good := 0
	var since float64
	for _, s := range samples {
		if s.At <= r.At || s.At > next {
			continue
		}
		r.Bad += s.Bad
		if s.Bad > 0 || s.Seconds <= 0 || goodRate(s) < r.Before/2 || s.At-s.Seconds < r.At {
			good, r.RecoveredAt = 0, nil // what looked like a recovery was none
			continue
		}
		if good == 0 {
			since = s.At
		}
		if good++; good == recoveredSamples {
			at := since
			r.RecoveredAt = &at
		}
	}
	if good > 0 && r.RecoveredAt == nil {
		r.RecoveredAt = &since
	}
}

func goodRate(s record.Sample) float64 {
	return float64(s.Operations-min(s.Bad, s.Operations)) / s.Seconds
}

// rateWithin is the rate of good operations over the samples that lie in a time; nil: none does.
func rateWithin(samples []record.Sample, from, until float64) *float64 {
	good, seconds := 0.0, 0.0
	for _, s := range samples {
		if s.At-s.Seconds >= from && s.At <= until && s.Seconds > 0 {
			good += goodRate(s) * s.Seconds
			seconds += s.Seconds
		}
	}
	if seconds == 0 {
		return nil
	}
	rate := good / seconds
	return &rate
}
