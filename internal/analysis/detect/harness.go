package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// nativeDriver names, for drivers of Assay's own worker, the driver that hosts the same library in
// a native worker: its harness takes less.
var nativeDriver = map[string]string{"sqlite": "sqlite-c"}

// detectHarness names the arms of whose operations at least half is the harness: they have no rank.
func detectHarness(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if r.HarnessShare == nil || *r.HarnessShare < facts.HarnessBoundShare {
			return
		}
		p := finding.HarnessBoundParams{At: atOf(t, r.Arm), Share: min(*r.HarnessShare, 1)}
		arm := run.Experiment.Stores[r.Store]
		if native := nativeDriver[arm.Driver]; native != "" && len(arm.Worker) == 0 {
			p.Native = native
		}
		found = append(found, placed(t, r.Arm, p))
	})
	return found
}

// detectHarnessUnknown names the arms of which no null driver measured the harness.
func detectHarnessUnknown(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	for _, disturbed := range []bool{true, false} {
		if f := harnessUnknown(run, tables, disturbed); f != nil {
			found = append(found, *f)
		}
	}
	return found
}

// harnessUnknown is of the arms that had null-driver trials, all of them disturbed, or of those that
// had none.
func harnessUnknown(run *record.Run, tables []*facts.Table, disturbed bool) *finding.Finding {
	var arms, places []string
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if t.Open || t.Work.Think.Mean > 0 || r.Rate == nil || r.HarnessShare != nil || hasCeiling(run, t,
			r) != disturbed {
			return
		}
		if !slices.Contains(arms, r.Arm) {
			arms = append(arms, r.Arm)
		}
		if place := t.Place(); !slices.Contains(places, place) {
			places = append(places, place)
		}
	})
	if len(arms) == 0 {
		return nil
	}
	p := finding.NotMeasuredParams{Code: finding.NoHarness, Arms: facts.DistinctWords(arms), Places: places}
	if disturbed {
		p.Why = "disturbed"
	}
	f := finding.Make(finding.Where{Run: run.Header.ID}, finding.New(p))
	return &f
}

// hasCeiling reports whether the run has trials of a null driver for a row, whatever became of them.
func hasCeiling(run *record.Run, t *facts.Table, r *facts.Row) bool {
	arm := run.Experiment.Stores[r.Store]
	name := arm.Ceiling
	if name == "" && len(arm.Worker) == 0 {
		name = experiment.NullDriver
	}
	return slices.ContainsFunc(t.Rows, func(c *facts.Row) bool { return c.Role == plan.Ceiling && c.Arm == name })
}
