package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
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
		p := finding.HarnessBoundParams{At: atOf(t, r.Arm), Share: min(*r.HarnessShare, 1),
			Rate: r.Rate.Value, Ceiling: r.Ceiling}
		arm := run.Experiment.Stores[r.Store]
		if native := nativeDriver[arm.Driver]; native != "" && len(arm.Worker) == 0 {
			p.Native = native
		}
		found = append(found, placed(t, r.Arm, p))
	})
	return found
}

// detectHarnessUnknown names the arms of which no null driver measured the harness.
func detectHarnessUnknown(run *record.Run, tables []*facts.Table) []finding.Finding {
	var arms, places []string
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if t.Open || r.Rate == nil || r.HarnessShare != nil {
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
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, finding.New(finding.NotMeasuredParams{Code: finding.NoHarness, Arms: facts.DistinctWords(arms), Places: places}))}
}
