package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// When a worker did work before its time began. Getting ready costs each of a kind about the same: mapping
// the trace, making values. An honest store may compact for one CPU's worth of that time, which is short.
const (
	earlySecondsMin = 0.2
	earlyShareMin   = 0.2 // of the CPU time in the phase
)

// detectWorkedBefore names the arms whose workers used much more CPU time between prepare and run than is
// usual in their table, in most trials: by their own null driver or, without one, by the median of the others.
func detectWorkedBefore(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		usual, known := usualBefore(t, r)
		if !known {
			return
		}
		var evidence []finding.Evidence
		var most finding.SeenWorkedBeforeParams
		used := r.Used()
		for _, o := range used {
			before, during := o.Phase.Process.CPUSecondsBefore, o.Phase.Process.CPUSeconds
			if before == nil || during == nil || *before-usual < max(earlySecondsMin, earlyShareMin**during) {
				continue
			}
			seen := finding.SeenWorkedBeforeParams{BeforeS: *before, OthersS: usual, DuringS: *during}
			evidence = append(evidence, seenIn(o, finding.New(seen)))
			if seen.BeforeS > most.BeforeS {
				most = seen
			}
		}
		if 2*len(evidence) > len(used) {
			found = append(found, placed(t, r.Arm, finding.WorkedBeforeParams{At: atOf(t, r.Arm),
				SeenWorkedBeforeParams: most}, evidence...))
		}
	})
	return found
}

// usualBefore is the median CPU time in seconds that workers use from prepare to run in a table.
func usualBefore(t *facts.Table, of *facts.Row) (seconds float64, known bool) {
	var others []float64
	for _, r := range t.Rows {
		if r.Arm == of.CeilingArm() && r.Role == plan.Ceiling {
			if own := medianBefore(r); own != nil {
				return *own, true
			}
		}
		if r.Store == of.Store && r.Role != plan.Ceiling {
			continue // itself, and its twin
		}
		if other := medianBefore(r); other != nil {
			others = append(others, *other)
		}
	}
	if len(others) == 0 {
		return 0, false
	}
	return stat.Median(others), true
}

func medianBefore(r *facts.Row) *float64 {
	var all []float64
	for _, o := range r.Trials {
		if o.Phase != nil && o.Phase.Process.CPUSecondsBefore != nil {
			all = append(all, *o.Phase.Process.CPUSecondsBefore)
		}
	}
	if len(all) == 0 {
		return nil
	}
	median := stat.Median(slices.Clone(all))
	return &median
}
