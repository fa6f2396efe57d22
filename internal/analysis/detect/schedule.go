package detect

import (
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// Undecided lists the tables in which it is open which store is best, and the stores that may be:
// those that are neither significantly slower than the best nor shown to be within the smallest
// difference of it, and those that have no rank only because of the machine. A store whose rate
// falls has nothing to decide. A run that adds blocks until all is decided asks after each block;
// the result's comparisons are the same.
func Undecided(run *record.Run) ([]string, error) {
	if err := facts.Check(run); err != nil {
		return nil, err
	}
	tables, _ := Judge(run.ByGroup())
	return openPlaces(facts.UndecidedIn(tables)), nil
}

// openPlaces names the tables that are open, with their stores.
func openPlaces(open []facts.OpenTable) (places []string) {
	for _, o := range open {
		arms := slices.Clone(o.Arms)
		for _, arm := range o.Unranked {
			arms = append(arms, arm+" (no rank yet)")
		}
		places = append(places, o.Table.Place()+": "+strings.Join(arms, ", "))
	}
	return places
}

// detectSchedule says what a time limit changed, why the run stopped, and what ran again.
func detectSchedule(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	add := func(m finding.Message, evidence ...finding.Evidence) {
		found = append(found, finding.Make(finding.Where{Run: run.Header.ID}, m, evidence...))
	}
	for _, m := range run.Experiment.Layout {
		add(m)
	}
	if m := stopped(run, tables); m.Code != "" {
		add(m)
	}
	if m, evidence := repeated(run); m.Code != "" {
		add(m, evidence...)
	}
	return found
}

// stopped says why a run that may add blocks has no more; the zero message of a run that is not
// complete or had a fixed number.
func stopped(run *record.Run, tables []*facts.Table) finding.Message {
	e, blocks := &run.Experiment, run.Blocks()
	if e.BlocksMax == 0 {
		return finding.Message{}
	}
	for _, planned := range run.Plan {
		if t := run.Trials[planned.ID]; t == nil || t.State == record.Interrupted {
			return finding.Message{}
		}
	}
	if e.Detect > 0 {
		return detected(run, tables)
	}
	open := []string{}
	if e.Smallest > 0 {
		open = append(open, openPlaces(facts.UndecidedIn(tables))...)
	}
	switch {
	case e.Smallest > 0 && len(open) == 0:
		return finding.New(finding.BlocksDecidedParams{Blocks: blocks, Share: e.Smallest})
	case blocks >= e.BlocksMax && e.Smallest > 0:
		return finding.New(finding.BlocksMostParams{Blocks: blocks, Open: open})
	case blocks >= e.BlocksMax:
		return finding.Message{}
	}
	return finding.New(finding.BlocksTimeParams{Blocks: blocks, Seconds: e.Time.Seconds(), Open: open})
}

// repeated counts the trials that the machine spoilt at first, and those of them that a later try
// measured.
func repeated(run *record.Run) (m finding.Message, evidence []finding.Evidence) {
	count, good := map[plan.Slot]bool{}, map[plan.Slot]bool{}
	for _, planned := range run.Plan {
		t := run.Trials[planned.ID]
		if planned.Again == 0 || t == nil {
			continue
		}
		count[planned.Slot()] = true
		if t.State == record.OK {
			good[planned.Slot()] = true
		}
		if reasons := t.Reasons(); len(reasons) > 0 {
			evidence = append(evidence, finding.Evidence{Trial: planned.ID, Message: reasons[0]})
		}
	}
	if len(count) == 0 {
		return m, nil
	}
	return finding.New(finding.TrialsRepeatedParams{Count: len(count), Good: len(good)}), evidence
}

// replaced are the trials that a later try with a result has replaced. What the machine did to them
// costs no block.
func replaced(run *record.Run) map[string]bool {
	last := map[plan.Slot]plan.Trial{}
	for _, planned := range run.Plan {
		if before, known := last[planned.Slot()]; run.Trials[planned.ID] != nil &&
			(!known || planned.Again > before.Again) {
			last[planned.Slot()] = planned
		}
	}
	is := map[string]bool{}
	for _, planned := range run.Plan {
		is[planned.ID] = planned.Again < last[planned.Slot()].Again
	}
	return is
}
