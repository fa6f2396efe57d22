package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// serverLies are the faults that a server must answer for, whichever client meets them. What a server
// does not sync it leaves out for a class, and in a class.
var serverLies = []finding.Code{finding.FaultOtherTrial, finding.FaultLost, finding.FaultStale,
	finding.FaultUpdates, finding.FaultOrder,
	finding.FaultIncrements, finding.FaultFinds, finding.FaultAdds, finding.FaultLate, finding.FaultWrong,
	finding.FaultNotDurable}

// lie is what the trials of an arm show of a server.
type lie struct {
	arm    string
	class  string // in which; "": in all
	faults []string
}

// detectSharedLiars finds the arms whose server was caught in a lie by another arm's trials: a server
// that lies to one client is no better for the next. Servers that Assay starts, and stores in the
// worker, are each trial's own: there the baseline alone answers for its A/A arm, in the same cell,
// which is the same store under the same load.
func detectSharedLiars(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	lies := liesOf(run)
	for _, t := range tables {
		for _, row := range t.Rows {
			if row.Role != plan.Measured || liesIn(row, t.Phase) {
				continue
			}
			l, endpoint := lieAbout(lies, endpointsOf(run, row.Store), row.Arm, t.Class)
			if l == nil {
				l = lieOfTwin(run, t, row)
			}
			if l != nil {
				found = append(found, placed(t, row.Arm, finding.SharedLiarParams{At: atOf(t, row.Arm),
					Server: endpoint, Liar: l.arm, Faults: l.faults}))
			}
		}
	}
	return found
}

// liesIn reports whether a row's own trials were caught in a phase: that says all, and takes its rank.
func liesIn(row *facts.Row, phase string) bool {
	return slices.ContainsFunc(row.Trials, func(o *facts.Observation) bool {
		return o.Trial != nil && slices.ContainsFunc(o.Trial.CountedMarks(), func(m finding.Mark) bool {
			return m.Phase == phase && slices.Contains(serverLies, m.Fault())
		})
	})
}

// lieAbout is the first lie of one of some servers that another arm's trials show; nil: none does.
func lieAbout(lies map[string][]lie, endpoints []string, arm, class string) (*lie, string) {
	for _, endpoint := range endpoints {
		for i, l := range lies[endpoint] {
			if l.arm != arm && (l.class == "" || l.class == class) {
				return &lies[endpoint][i], endpoint
			}
		}
	}
	return nil, ""
}

// lieOfTwin is what the trials of a row's A/A arm in a table's cell show; nil: no lie.
func lieOfTwin(run *record.Run, t *facts.Table, row *facts.Row) *lie {
	var l lie
	for _, planned := range run.Plan {
		if planned.Role == plan.AA && planned.Store == row.Store && planned.Cell == t.Cell &&
			run.Trials[planned.ID] != nil {
			l.arm = planned.Arm
			l.add(run.Trials[planned.ID].CountedMarks())
		}
	}
	if len(l.faults) == 0 {
		return nil
	}
	return &l
}

// add notes the faults of marks that a server must answer for, each once.
func (l *lie) add(marks []finding.Mark) {
	for _, m := range marks {
		if fault := m.Fault(); slices.Contains(serverLies, fault) && !slices.Contains(l.faults, string(fault)) {
			l.faults = append(l.faults, string(fault))
		}
	}
}

// liesOf lists, of each endpoint that the user has named, the arms whose trials show a lie.
func liesOf(run *record.Run) map[string][]lie {
	lies := map[string][]lie{}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		endpoints := endpointsOf(run, planned.Store)
		if t == nil || len(endpoints) == 0 {
			continue
		}
		for _, m := range t.CountedMarks() {
			fault := m.Fault()
			if !slices.Contains(serverLies, fault) {
				continue
			}
			class := ""
			if fault == finding.FaultNotDurable {
				class = run.Experiment.Cells[planned.Cell].ClassText()
			}
			for _, endpoint := range endpoints {
				at := slices.IndexFunc(lies[endpoint], func(l lie) bool {
					return l.arm == planned.Arm && l.class == class
				})
				if at < 0 {
					lies[endpoint] = append(lies[endpoint], lie{arm: planned.Arm, class: class})
					at = len(lies[endpoint]) - 1
				}
				lies[endpoint][at].add([]finding.Mark{m})
			}
		}
	}
	return lies
}

// endpointsOf are those of a store's servers that the user has named; the A/A arm has its baseline's.
func endpointsOf(run *record.Run, store int) []string {
	if store < 0 || store >= len(run.Experiment.Stores) {
		return nil
	}
	return run.Experiment.Stores[store].Endpoints
}
