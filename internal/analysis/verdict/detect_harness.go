package verdict

import (
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// nativeDriver names, for drivers of Assay's own worker, the driver that hosts the same library in
// a native worker: its harness takes less.
var nativeDriver = map[string]string{"sqlite": "sqlite-c"}

// detectHarness names the arms of whose operations at least half is the harness: they have no rank.
func detectHarness(run *record.Run, tables []*table) (found []finding.Finding) {
	eachMeasured(tables, func(t *table, r *row) {
		if r.HarnessShare == nil || *r.HarnessShare < HarnessBoundShare {
			return
		}
		p := finding.HarnessBoundParams{At: t.at(r.Arm), Share: min(*r.HarnessShare, 1), Rate: r.Rate.Value, Ceiling: r.Ceiling}
		arm := run.Experiment.Stores[r.store]
		if native := nativeDriver[arm.Driver]; native != "" && len(arm.Worker) == 0 {
			p.Native = native
		}
		found = append(found, t.placed(r.Arm, p))
	})
	return found
}

// detectHarnessUnknown names the arms of which no null driver measured the harness.
func detectHarnessUnknown(run *record.Run, tables []*table) []finding.Finding {
	var arms, places []string
	eachMeasured(tables, func(t *table, r *row) {
		if t.Open || r.Rate == nil || r.HarnessShare != nil {
			return
		}
		if !slices.Contains(arms, r.Arm) {
			arms = append(arms, r.Arm)
		}
		if place := t.place(); !slices.Contains(places, place) {
			places = append(places, place)
		}
	})
	if len(arms) == 0 {
		return nil
	}
	return []finding.Finding{finding.Make(finding.Where{Run: run.Header.ID}, finding.New(finding.HarnessUnknownParams{Arms: distinctWords(arms), Places: places}))}
}
