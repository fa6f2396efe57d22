package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectStarved reports arms some of whose threads had no turn.
func detectStarved(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var evidence []finding.Evidence
		var worst finding.SeenStarvedParams
		for _, o := range r.Trials {
			if o.Phase == nil || o.Phase.Starved == nil {
				continue
			}
			s := o.Phase.Starved
			seen := finding.SeenStarvedParams{Threads: s.Threads, Of: o.Phase.Threads, BeganS: s.BeganS,
				Seconds: s.Seconds, Others: s.Others}
			evidence = append(evidence, seenIn(o, finding.New(seen)))
			if s.Seconds > worst.Seconds {
				worst = seen
			}
		}
		if len(evidence) > 0 {
			found = append(found, placed(t, r.Arm, finding.ThreadStarvedParams{At: atOf(t, r.Arm),
				SeenStarvedParams: worst}, evidence...))
		}
	})
	return found
}
