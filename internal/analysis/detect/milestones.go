package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectMilestones says of each arm whose experiment asks for it how long a thread took for its
// first so many operations and for its last, over all threads of the trials that are used.
func detectMilestones(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var first, last []float64
		var every uint64
		most := 0
		for _, o := range r.Used() {
			if o.Phase.Milestones == nil {
				continue
			}
			every = o.Phase.Milestones.Every
			for _, seconds := range o.Phase.Milestones.Seconds {
				if n := len(seconds); n >= 2 { // of one, the first is the last
					most = max(most, n)
					first, last = append(first, seconds[0]-float64(o.Phase.BeganNS)/1e9), append(last,
						seconds[n-1]-seconds[n-2])
				}
			}
		}
		if len(first) == 0 {
			return
		}
		p := finding.MilestonesParams{At: atOf(t, r.Arm), Every: every, Threads: len(first), Most: most,
			FirstS: stat.Median(first), LastS: stat.Median(last), LastMinS: slices.Min(last), LastMaxS: slices.Max(last)}
		found = append(found, placed(t, r.Arm, p))
	})
	return found
}
