package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
)

// detectBacklog names the arms that did not keep up with the rate that the experiment set, where it is
// one rate: see [detectOverTime].
func detectBacklog(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var evidence []finding.Evidence
		first := 0.0 // rate
		if r.OverTime != nil {
			return
		}
		for _, o := range r.Used() {
			p := o.Phase
			if !facts.FellBehind(p) {
				continue
			}
			rate := float64(p.Attempted) / (float64(p.ElapsedNS) / 1e9)
			if len(evidence) == 0 {
				first = rate
			}
			evidence = append(evidence, seenIn(o, finding.New(finding.SeenBacklogParams{Rate: rate, Offered: t.Offered,
				BehindNS: p.BehindNS, NotBegun: p.NotBegun})))
		}
		if len(evidence) > 0 {
			found = append(found, placed(t, r.Arm, finding.FellBehindParams{At: atOf(t, r.Arm),
				Offered: t.Offered, Rate: first}, evidence...))
		}
	})
	return found
}

// detectDispatchLate says which percentiles of open load are refused because operations began late.
// Where lateness was not counted by how late it was, its maximum alone can only warn.
func detectDispatchLate(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		phases := r.Phases()
		if !t.Open || len(phases) == 0 || slices.ContainsFunc(phases, facts.FellBehind) {
			return
		}
		var names []string
		var evidence []finding.Evidence
		note := func(q float64, lateNS float64) {
			names = append(names, format.Quantile(q))
			seen := finding.SeenLateParams{Quantile: format.Quantile(q), LateNS: lateNS}
			seen.ResponseNS = facts.ResponseAt(phases, q)
			evidence = append(evidence, finding.Evidence{Message: finding.New(seen)})
		}
		l, measured := facts.LatenessOf(phases...)
		if measured {
			for _, q := range r.Refused {
				if l.Late(q, facts.ResponseAt(phases, q)) {
					note(q, l.At(q))
				}
			}
		} else {
			latest := 0.0
			for _, p := range phases {
				latest = max(latest, float64(p.LatenessMaxNS))
			}
			if latest > facts.LatenessShareMax*facts.ResponseAt(phases, 0.99) {
				note(0.99, latest)
			}
		}
		if len(names) > 0 {
			found = append(found, placed(t, r.Arm, finding.DispatchLateParams{At: atOf(t, r.Arm),
				Quantiles: names, Counted: measured}, evidence...))
		}
	})
	return found
}
