package verdict

import (
	"assay/internal/analysis/model"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// table is a table of the result beside what it was made of. Detectors read it.
type table struct {
	model.Table // without Rows, Series and Absence until the result is assembled: see rows

	run        *record.Run
	parameters experiment.Cell
	work       experiment.Phase
	rows       []*row     // every planned arm, in the order of Table.Rows once ranks are given
	margin     float64    // relative difference within which arms are tied
	twins      stat.Twins // the A/A pairs of all tables of the run
	undecided  []string   // arms that are neither significantly slower than the best nor shown to be tied with it
	lead       lead       // who is ahead
	common     int        // blocks that the best have in common
	detectable float64    // smallest factor that would have been found among the best; 0: not known
	answers    bool       // the summary shows where its stores broke rather than who is fastest
}

// row is one arm of a table beside its observations.
type row struct {
	model.Row

	store  int          // position in Experiment.Stores; -1: a null driver of no store
	role   plan.Role    //
	state  record.State // the gravest of its trials'
	trials []*observation

	// wholeWork says that the phase was a number of operations and this arm did them all, so that
	// its rate needs no steady state.
	wholeWork bool
	// grave are the messages of grave findings before ranks: each takes the rank.
	grave []finding.Message
	// ceilingArm is the null driver of its worker; "": the worker has none.
	ceilingArm string
}

// observation is one phase of one trial.
type observation struct {
	planned plan.Trial
	trial   *record.Trial   // nil: there is no result
	phase   *record.Phase   // nil: the trial did not come to the phase
	state   record.State    // "": no result; an ok trial with marks is marked
	why     finding.Message // why it failed, was refused, stopped or marked
	marks   []finding.Mark  // of the trial, counted again
	used    bool            // its figures are in the row

	course *course // what its rate did over time; nil: no samples

	rate    *float64 // operations a second that ended well; nil: the phase did not end
	steady  bool     // rate is that after the warm-up; otherwise that of the whole phase
	perItem float64  // items of an operation; 0: it has none

	latencies *model.Latencies // once asked for
}

// used returns the observations whose figures are in the row.
func (r *row) used() (used []*observation) {
	for _, o := range r.trials {
		if o.used {
			used = append(used, o)
		}
	}
	return used
}

// eachMeasured calls visit for each store of each table.
func eachMeasured(tables []*table, visit func(t *table, r *row)) {
	for _, t := range tables {
		for _, r := range t.rows {
			if r.role == plan.Measured {
				visit(t, r)
			}
		}
	}
}

// where is the place of an arm in a table; of the table where arm is "".
func (t *table) where(arm string) finding.Where {
	cell := t.Cell
	return finding.Where{Run: t.Run, Cell: &cell, Class: t.Class, Phase: t.Phase, Arm: arm, Table: t.ID}
}

// row returns the row of a role, and of an arm where the name is not ""; nil: there is none.
func (t *table) row(role plan.Role, arm string) *row {
	for _, r := range t.rows {
		if r.role == role && (arm == "" || r.Arm == arm) {
			return r
		}
	}
	return nil
}
