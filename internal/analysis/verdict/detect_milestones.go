package verdict

import (
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectMilestones says of each arm whose experiment asks for it how long a thread took for its
// first so many operations and for its last, over all threads of the trials that are used.
func detectMilestones(_ *record.Run, tables []*table) (found []finding.Finding) {
	eachMeasured(tables, func(t *table, r *row) {
		var first, last []float64
		var every uint64
		most := 0
		for _, o := range r.used() {
			if o.phase.Milestones == nil {
				continue
			}
			every = o.phase.Milestones.Every
			for _, seconds := range o.phase.Milestones.Seconds {
				if n := len(seconds); n >= 2 { // of one, the first is the last
					most = max(most, n)
					first, last = append(first, seconds[0]-float64(o.phase.BeganNS)/1e9), append(last, seconds[n-1]-seconds[n-2])
				}
			}
		}
		if len(first) == 0 {
			return
		}
		p := finding.MilestonesParams{At: t.at(r.Arm), Every: every, Threads: len(first), Most: most, FirstS: stat.Median(first), LastS: stat.Median(last), LastMinS: slices.Min(last), LastMaxS: slices.Max(last)}
		found = append(found, t.placed(r.Arm, p))
	})
	return found
}
