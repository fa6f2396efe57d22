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
var serverLies = []finding.Code{finding.FaultOtherTrial, finding.FaultLost, finding.FaultStale, finding.FaultUpdates, finding.FaultOrder,
	finding.FaultIncrements, finding.FaultWrong, finding.FaultNotDurable}

// lie is what the trials of an arm show of a server.
type lie struct {
	arm    string
	class  string // in which; "": in all
	faults []string
}

// detectSharedLiars finds the arms whose server was caught in a lie by another arm's trials: a server
// that lies to one client is no better for the next. Servers that Assay starts are each trial's own.
func detectSharedLiars(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	lies := liesOf(run)
	for _, t := range tables {
		for _, row := range t.Rows {
			if l, endpoint := lieAbout(lies, endpointsOf(run, row.Arm), row.Arm, t.Class); row.Role == plan.Measured && l != nil {
				found = append(found, placed(t, row.Arm, finding.SharedLiarParams{At: atOf(t, row.Arm), Server: endpoint, Liar: l.arm, Faults: l.faults}))
			}
		}
	}
	return found
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

// liesOf lists, of each endpoint that the user has named, the arms whose trials show a lie.
func liesOf(run *record.Run) map[string][]lie {
	lies := map[string][]lie{}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		endpoints := endpointsOf(run, planned.Arm)
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
				at := slices.IndexFunc(lies[endpoint], func(l lie) bool { return l.arm == planned.Arm && l.class == class })
				if at < 0 {
					lies[endpoint] = append(lies[endpoint], lie{arm: planned.Arm, class: class})
					at = len(lies[endpoint]) - 1
				}
				if l := &lies[endpoint][at]; !slices.Contains(l.faults, string(fault)) {
					l.faults = append(l.faults, string(fault))
				}
			}
		}
	}
	return lies
}

// endpointsOf are those of an arm on servers that the user has named; of the A/A arm, its baseline's.
func endpointsOf(run *record.Run, arm string) []string {
	for _, s := range run.Experiment.Stores {
		if s.Name == arm {
			return s.Endpoints
		}
	}
	return nil
}
