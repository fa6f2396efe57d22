package detect

import (
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// detectOverTime reports how a store answered a rate that changes over time: above which rate
// later, how soon after a higher rate as before, and what it never did.
func detectOverTime(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		o := r.OverTime
		if o == nil {
			return
		}
		if c := r.Capacity; c != nil {
			if c.Outcome != capacity.Found {
				found = append(found, placed(t, r.Arm, facts.NoCapacity(t, r)))
			}
			return
		}
		if rise := o.Rises; rise != nil {
			found = append(found, placed(t, r.Arm, finding.LatencyRisesParams{At: atOf(t, r.Arm), Rate: rise.Rate,
				BelowNS: rise.BelowNS, AboveNS: rise.AboveNS}))
		}
		for _, s := range o.Stretches {
			if s.Recovers {
				found = append(found, placed(t, r.Arm, finding.LoadRecoveryParams{At: atOf(t, r.Arm),
					Rate: s.ToRate, Burst: s.Burst, Times: s.Times, RecoveryS: s.RecoveryS}))
			}
		}
		if o.NotBegun > 0 || o.BehindS > 0 {
			found = append(found, placed(t, r.Arm, finding.BacklogLeftParams{At: atOf(t, r.Arm), BehindS: o.BehindS,
				NotBegun: o.NotBegun}))
		}
	})
	return found
}

// detectUnsureCapacities tells of tables in which capacities are of blocks that differ in kind.
func detectUnsureCapacities(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for _, t := range tables {
		p := finding.CapacityUnsureParams{Place: t.Place()}
		for _, r := range t.Rows {
			if r.Role != plan.Measured || r.Capacity == nil || r.Capacity.Unsure == nil {
				continue
			}
			var shown []string
			for _, outcome := range r.Capacity.Unsure {
				shown = append(shown, string(outcome))
				p.Machine = p.Machine || outcome == capacity.Unstable && t.Unsteady()
			}
			p.Stores = append(p.Stores, r.Arm+": "+strings.Join(shown, ", "))
		}
		if len(p.Stores) > 0 {
			found = append(found, placed(t, "", p))
		}
	}
	return found
}
