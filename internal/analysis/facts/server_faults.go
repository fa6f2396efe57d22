package facts

import (
	"slices"

	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// Recovery is what a fault of a server did to a phase: from the fault until the next one, or the end.
type Recovery struct {
	record.ServerFault
	// UndoneAt is when the server answered again, by Assay's doing, seconds since the phase began; nil: not in the phase.
	UndoneAt *float64
	Bad      uint64  // operations that failed, and were lost or wrong
	Before   float64 // good operations a second before the phase's first fault, median of samples
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
		end := float64(p.ElapsedNS) / 1e9
		for _, later := range p.Faults[i+1:] {
			at := later.At + later.Seconds
			if later.Does == experiment.FaultStart && later.Node == f.Node && !later.After && at <= end && r.UndoneAt == nil {
				r.UndoneAt = &at
			}
			if does(later) {
				end = min(end, later.At)
				break
			}
		}
		r.course(samples, end)
		all = append(all, r)
	}
	return all
}

// course follows the rate from the fault to a moment.
func (r *Recovery) course(samples []record.Sample, end float64) {
	good := 0
	var since float64
	for _, s := range samples {
		if s.At <= r.At || s.At-s.Seconds >= end {
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
		if good++; good >= recoveredSamples || s.At >= end {
			at := since
			r.RecoveredAt = &at
		}
	}
}

func goodRate(s record.Sample) float64 {
	return float64(s.Operations-min(s.Bad, s.Operations)) / s.Seconds
}
