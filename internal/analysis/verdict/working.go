package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// table compares the arms of one phase in one cell. Nothing is ranked across tables.
type table struct {
	ID         string // unique in the result, fit for an anchor
	run        *record.Run
	Cell       int // position in the experiment's cells
	parameters experiment.Cell
	Label      string // what tells the cell from others of its class; "" where there is one
	Class      string
	Claimed    bool // the class is the stores' claim alone
	Phase      string
	work       experiment.Phase

	Requests   bool    // operations are requests of several steps
	Open       bool    // latencies are from the due time, the rate was asked for
	Offered    float64 // operations a second
	FixedWork  bool    // a number of operations that each arm did: rates are of whole phases
	BatchItems int     // members of a batch, which is one operation
	SampleS    float64 // planned width of samples
	Baseline   string

	rows []*row // every planned arm: ranked ones first, best first; then the others; then references
	comparison
}

// comparison is what the ranks of a table come to.
type comparison struct {
	Best       []string // arms that no other is significantly faster than, fastest first
	Threshold  float64  // smaller relative differences are ignored: noise
	margin     float64  // relative difference within which arms are tied
	AA         *facts.Ratio
	twins      stat.Twins // the A/A pairs of all tables of the run
	Ceilings   []facts.Ceiling
	undecided  []string // arms that are neither significantly slower than the best nor shown to be tied with it
	lead       lead     // who is ahead
	common     int      // blocks that the best have in common
	detectable float64  // smallest factor that would have been found among the best; 0: not known
}

// row is one arm of a table, over its blocks.
type row struct {
	Arm    string
	store  int          // position in Experiment.Stores; -1: a null driver of no store
	role   plan.Role    //
	state  record.State // the gravest of its trials'
	trials []*observation

	How    string // how the store reaches the class, in the driver's words
	Marked bool   // its figures are of marked trials, for want of others
	facts.Figures
	facts.Latencies              // of all kinds of operation together
	Kinds           []facts.Kind //
	Steps           []facts.Kind // of requests, which are then the operations; service times

	// wholeWork says that the phase was a number of operations and this arm did them all, so that
	// its rate needs no steady state.
	wholeWork bool
	// ceilingArm is the null driver of its worker; "": the worker has none.
	ceilingArm string

	facts.Ranking
	Reasons []reason // why it has no rank; none: it has one
}

// observation is one phase of one trial.
type observation struct {
	planned plan.Trial
	trial   *record.Trial  // nil: there is no result
	phase   *record.Phase  // nil: the trial did not come to the phase
	state   record.State   // "": no result; an ok trial with marks is marked
	marks   []finding.Mark // of the trial, counted again
	used    bool           // its figures are in the row

	course *course // what its rate did over time; nil: no samples

	rate    *float64 // operations a second that ended well; nil: the phase did not end
	steady  bool     // rate is that after the warm-up; otherwise that of the whole phase
	perItem float64  // items of an operation; 0: it has none

	latencies *facts.Latencies // once asked for
}

// reason is why a row can't be ranked.
type reason struct {
	kind       reasonKind
	blocks, of int             // in how many blocks, of reasonIdle, reasonQuota and reasonUnsteady
	course     series.Kind     // of reasonUnsteady
	share      float64         // of an operation that is the harness, of reasonHarness
	why        string          // of reasonLeftOut, in the driver's words
	told       finding.Message // of reasonTold: what the trial says, or the grave finding
}

// reasonKind is what forbids a rank.
type reasonKind int

const (
	reasonTold    reasonKind = iota // the trial failed, was refused or marked, or a grave finding takes the rank
	reasonLeftOut                   // the phase is optional, and the store can't do it
	reasonNoTrialEnded
	reasonInterrupted
	reasonMachine // it disturbed every trial
	reasonNothingDone
	reasonIdle  // in some blocks no operation succeeded
	reasonQuota // the disk quota ended the phase so soon that it is only a beginning
	reasonUnsteady
	reasonHarness
	reasonOpenLoad
)

// lacks reports whether a reason of a kind speaks against the row's rank.
func (r *row) lacks(kind reasonKind) bool {
	for _, why := range r.Reasons {
		if why.kind == kind {
			return true
		}
	}
	return false
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

// phases returns those of the trials that a row shows.
func (r *row) phases() (phases []*record.Phase) {
	for _, o := range r.used() {
		phases = append(phases, o.phase)
	}
	return phases
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

// eachObservation calls visit for each phase of each trial in the tables, of references too.
func eachObservation(tables []*table, visit func(t *table, o *observation)) {
	for _, t := range tables {
		for _, r := range t.rows {
			for _, o := range r.trials {
				visit(t, o)
			}
		}
	}
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

// stores returns the rows of stores that have figures.
func (t *table) stores() (rows []*row) {
	for _, r := range t.rows {
		if r.role != plan.Ceiling && r.Rate != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// measured counts the stores of a table that have figures.
func (t *table) measured() (n int) {
	for _, r := range t.rows {
		if r.role == plan.Measured && r.Rate != nil {
			n++
		}
	}
	return n
}

// ranked returns the rows that have a rank, best first.
func (t *table) ranked() (ranked []*row) {
	for _, r := range t.rows {
		if r.Standing == facts.Ranked {
			ranked = append(ranked, r)
		}
	}
	return ranked
}

// byRate returns the rows with the highest rate of the whole phase first, ranked or not.
func (t *table) byRate() []*row {
	rows := slices.Clone(t.rows)
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(rateOrZero(b), rateOrZero(a)) })
	return rows
}

// place names a table in a line: "insert (D1)", with its cell where the class has several.
func (t *table) place() string {
	if t.Label == "" {
		return fmt.Sprintf("%s (%s)", t.Phase, t.Class)
	}
	return fmt.Sprintf("%s (%s, %s)", t.Phase, t.Class, t.Label)
}
