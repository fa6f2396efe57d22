package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// detectServerFaults reports for each fault that the experiment asks for what it did to an arm: the
// trial that took longest to recover, with the others as evidence.
func detectServerFaults(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var worst []finding.ServerFaultParams
		var evidence [][]finding.Evidence
		for _, o := range r.Trials {
			if o.Course == nil || o.Phase == nil || len(o.Phase.Faults) == 0 {
				continue
			}
			for i, recovery := range facts.Recoveries(o.Phase, o.Course.Samples()) {
				p := faultOf(recovery, o.Trial.Final)
				p.At = atOf(t, r.Arm)
				if i == len(worst) {
					worst, evidence = append(worst, p), append(evidence, nil)
				} else if slower(p, worst[i]) {
					worst[i] = p
				}
				evidence[i] = append(evidence[i], seenIn(o, finding.New(p.SeenServerFaultParams)))
			}
		}
		for i, p := range worst {
			found = append(found, placed(t, r.Arm, p, evidence[i]...))
		}
	})
	return found
}

func faultOf(r facts.Recovery, final *record.FinalCheck) (p finding.ServerFaultParams) {
	p.Does, p.Amount, p.Node, p.AtS, p.Bad, p.Rate = r.Does, r.Amount, r.Node, r.At, r.Bad, r.Before
	if r.UndoneAt != nil {
		p.UndoneS = finding.Known(*r.UndoneAt)
	}
	if r.RecoveredAt != nil {
		p.RecoveryS = finding.Known(*r.RecoveredAt - r.At)
	}
	if final != nil && final.Forgot {
		p.Lost = final.Lost + final.Stale
	}
	return p
}

// slower reports whether one recovered later than another, or not at all.
func slower(a, b finding.ServerFaultParams) bool {
	if a.RecoveryS == nil || b.RecoveryS == nil {
		return a.RecoveryS == nil && b.RecoveryS != nil
	}
	return *a.RecoveryS > *b.RecoveryS
}
