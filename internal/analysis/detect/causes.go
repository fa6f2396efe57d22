package detect

import (
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// effects are, of each cause, the findings that it explains where both are of the same trials of
// one arm in the same cell and phase. A loss or a wrong value is in no list but that of a directory
// that vanished: no other cause excuses it.
var effects = map[finding.Code][]finding.Code{
	finding.FaultVanished: {finding.FaultDiskFull, finding.TrialFailed, finding.FaultErrors,
		finding.FaultUnfinished, finding.FaultLost,
		finding.StoppedEarly, finding.NotOnDisk, finding.Unverified},
	finding.FaultDiskFull: {finding.TrialFailed, finding.FaultErrors, finding.FaultUnfinished,
		finding.StoppedEarly, finding.Unverified},
	finding.TrialFailed: {finding.FaultErrors, finding.FaultUnfinished, finding.StoppedEarly,
		finding.Unverified},
	finding.FaultErrors: {finding.Unverified},
	finding.FaultStopped: {finding.RateDrops, finding.RateStep, finding.StoppedEarly, finding.FellBehind,
		finding.DispatchLate, finding.FaultForeign},
	finding.FaultDamaged: {finding.FaultCounts, finding.StoppedEarly},
	finding.FaultForeign: {finding.DispatchLate, finding.FellBehind},
}

// weaker are, of each cause, the findings that tell of less of the same, wherever it is.
var weaker = map[finding.Code]finding.Code{finding.BusyMachine: finding.FaultForeign}

// attribute sets the cause of each finding that another one explains: that which nothing explains
// in turn. What the A/A arm shares with its store is explained by the store's finding.
func attribute(run *record.Run, tables []*facts.Table, found []finding.Finding) {
	twins := map[string]string{}
	for _, planned := range run.Plan {
		if planned.Role == plan.AA {
			twins[planned.Arm] = run.Experiment.Stores[planned.Store].Name
		}
	}
	cause := make([]int, len(found))
	for i := range found {
		cause[i] = slices.IndexFunc(found, func(c finding.Finding) bool {
			return explains(found, &c, &found[i], twins) || slowedBy(tables, &c, &found[i])
		})
	}
	for i := range found {
		root := cause[i]
		for root >= 0 && cause[root] >= 0 {
			root = cause[root]
		}
		if root >= 0 {
			found[i].Cause = found[root].Code
		}
	}
}

// explains reports whether c is the cause of f, or a part of it: of a finding on several arms, each
// of whose trials has that cause.
func explains(found []finding.Finding, c, f *finding.Finding, twins map[string]string) bool {
	switch {
	case weaker[f.Code] == c.Code:
		return true
	case f.Code == c.Code:
		return twins[f.Where.Arm] != "" && twins[f.Where.Arm] == c.Where.Arm && samePlace(c,
			f) && f.Where.Phase == c.Where.Phase
	case !slices.Contains(effects[c.Code], f.Code) || f.Where.Arm != "" && f.Where.Arm != c.Where.Arm || !samePlace(c, f):
		return false
	}
	of := map[string]bool{}
	for i := range found {
		if found[i].Code == c.Code && (f.Where.Arm == "" || f.Where.Arm == found[i].Where.Arm) && samePlace(f, &found[i]) {
			for _, e := range found[i].Evidence {
				of[e.Trial] = true
			}
		}
	}
	seen := 0
	for _, e := range f.Evidence {
		if e.Trial != "" && !of[e.Trial] {
			return false
		}
		if e.Trial != "" {
			seen++
		}
	}
	return seen > 0
}

// samePlace reports whether two findings may be of one phase of one cell.
func samePlace(a, b *finding.Finding) bool {
	if a.Where.Cell != nil && b.Where.Cell != nil && *a.Where.Cell != *b.Where.Cell {
		return false
	}
	return a.Where.Phase == "" || b.Where.Phase == "" || a.Where.Phase == b.Where.Phase
}

// rateCodes are the findings of rates that a group of clients may explain.
var rateCodes = []finding.Code{finding.RateStep, finding.RateDeclined, finding.RateRose,
	finding.RateOscillates, finding.RateDrops}

// slowedBy reports whether c is of a group of clients that did to an arm's rate all that f tells of
// it. What did not come back when the group ended has another cause.
func slowedBy(tables []*facts.Table, c, f *finding.Finding) bool {
	if c.Code != finding.GroupEffect || !slices.Contains(rateCodes, f.Code) || c.Where.Table != f.Where.Table ||
		c.Where.Arm != f.Where.Arm {
		return false
	}
	for _, t := range tables {
		if r := t.Row(plan.Measured, f.Where.Arm); t.ID == f.Where.Table && r != nil {
			return !slices.ContainsFunc(r.Used(), func(o *facts.Observation) bool { return !changedWithGroups(t, o) })
		}
	}
	return false
}

// groupSlackSamples is how many samples a change may be found before or after the group that it is of.
const groupSlackSamples = 2

// changedWithGroups reports whether a rate changed only while other groups worked, or as they began
// and ended.
func changedWithGroups(t *facts.Table, o *facts.Observation) bool {
	if o.Course == nil || o.Trial == nil {
		return true
	}
	slack := groupSlackSamples * float64(o.Phase.SampleNS) / 1e9
	var ran []facts.Span
	for i := range o.Trial.Phases {
		if p := &o.Trial.Phases[i]; facts.Besides(p.Name, t.Phase) && p.Attempted > 0 {
			ran = append(ran, facts.WorkedIn(p))
		}
	}
	for i := range o.Course.Shape.Events {
		e := &o.Course.Shape.Events[i]
		if e.Kind == series.Gap || e.Kind == series.Interruption {
			continue
		}
		if !slices.ContainsFunc(ran, func(s facts.Span) bool {
			return e.From >= s.From-slack && max(e.From, e.To) <= s.To+slack
		}) {
			return false
		}
	}
	return o.Course.Shape.Half == nil
}
