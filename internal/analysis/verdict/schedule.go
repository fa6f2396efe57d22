package verdict

import (
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// lookOptions are those of a comparison whose outcome may have decided how many blocks there are:
// it was looked at after every block, so that each look has a level of its own.
func lookOptions(run *record.Run) stat.Options {
	s := run.Experiment.Schedule
	if s.Smallest == 0 {
		return stat.Options{}
	}
	return stat.Options{Tie: s.Smallest, Level: stat.LookLevel(s.Blocks, s.BlocksMax)}
}

// Undecided lists the tables in which it is open which store is best, and the stores that may be:
// those that are neither significantly slower than the best nor shown to be within the smallest
// difference of it, and those that have no rank only because of the machine. A store whose rate
// falls has nothing to decide. A run that adds blocks until all is decided asks after each block;
// the result's comparisons are the same.
func Undecided(run *record.Run) ([]string, error) {
	if err := check(run); err != nil {
		return nil, err
	}
	tables, _ := judged(run.ByGroup())
	return openPlaces(undecidedIn(tables)), nil
}

// openTable is a table in which it is open which store is best: among those, with those that may yet
// get a rank.
type openTable struct {
	table          *table
	arms, unranked []string
}

// undecidedIn lists the tables in which it is open which store is best.
func undecidedIn(tables []*table) (open []openTable) {
	for _, t := range tables {
		o := openTable{table: t}
		if len(t.undecided) > 0 {
			o.arms = append(append(o.arms, t.Best[0]), t.undecided...)
		}
		for _, r := range t.rows {
			if r.role == plan.Measured && r.Standing == facts.NotRanked && r.mayBeRanked() {
				o.unranked = append(o.unranked, r.Arm)
			}
		}
		if len(o.arms)+len(o.unranked) > 0 {
			open = append(open, o)
		}
	}
	return open
}

// openPlaces names the tables that are open, with their stores.
func openPlaces(open []openTable) (places []string) {
	for _, o := range open {
		arms := slices.Clone(o.arms)
		for _, arm := range o.unranked {
			arms = append(arms, arm+" (no rank yet)")
		}
		places = append(places, o.table.place()+": "+strings.Join(arms, ", "))
	}
	return places
}

// mayBeRanked reports whether further blocks may give the row a rank: all that it lacks is a quiet
// machine, or series that show whether the rate holds.
func (r *row) mayBeRanked() bool {
	for _, why := range r.Reasons {
		inconclusive := why.kind == reasonUnsteady && why.course == series.Inconclusive
		if why.kind != reasonMachine && !inconclusive {
			return false
		}
	}
	return true
}

// detectSchedule says what a time limit changed, why the run stopped, and what ran again.
func detectSchedule(run *record.Run, tables []*table) (found []finding.Finding) {
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
func stopped(run *record.Run, tables []*table) finding.Message {
	e, blocks := &run.Experiment, run.Blocks()
	if e.BlocksMax == 0 {
		return finding.Message{}
	}
	for _, planned := range run.Plan {
		if t := run.Trials[planned.ID]; t == nil || t.State == record.Interrupted {
			return finding.Message{}
		}
	}
	open := []string{}
	if e.Smallest > 0 {
		open = append(open, openPlaces(undecidedIn(tables))...)
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
		if before, known := last[planned.Slot()]; run.Trials[planned.ID] != nil && (!known || planned.Again > before.Again) {
			last[planned.Slot()] = planned
		}
	}
	is := map[string]bool{}
	for _, planned := range run.Plan {
		is[planned.ID] = planned.Again < last[planned.Slot()].Again
	}
	return is
}
