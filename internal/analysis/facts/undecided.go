package facts

import (
	"assay/internal/analysis/series"
	"assay/internal/experiment/plan"
)

// OpenTable is a table in which it is open which store is best: among those, with those that may yet
// get a rank.
type OpenTable struct {
	Table          *Table
	Arms, Unranked []string
}

// UndecidedIn lists the tables in which it is open which store is best.
func UndecidedIn(tables []*Table) (open []OpenTable) {
	for _, t := range tables {
		o := OpenTable{Table: t}
		if len(t.undecided) > 0 {
			o.Arms = append(append(o.Arms, t.Best[0]), t.undecided...)
		}
		for _, r := range t.Rows {
			if r.Role == plan.Measured && r.Standing == NotRanked && r.mayBeRanked() {
				o.Unranked = append(o.Unranked, r.Arm)
			}
		}
		if len(o.Arms)+len(o.Unranked) > 0 {
			open = append(open, o)
		}
	}
	return open
}

// mayBeRanked reports whether further blocks may give the row a rank: all that it lacks is a quiet
// machine, or series that show whether the rate holds.
func (r *Row) mayBeRanked() bool {
	for _, why := range r.Reasons {
		inconclusive := why.Kind == ReasonUnsteady && why.Course == series.Inconclusive
		if why.Kind != ReasonMachine && !inconclusive {
			return false
		}
	}
	return true
}
