package facts

import (
	"cmp"
	"slices"

	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// Earlier orders what is so before what is not.
func Earlier(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Table compares the arms of one phase in one cell. Nothing is ranked across tables.
type Table struct {
	ID         string // unique in the result, fit for an anchor
	Run        *record.Run
	Cell       int // position in the experiment's cells
	Parameters experiment.Cell
	Label      string // what tells the cell from others of its class; "" where there is one
	Class      string
	Promise
	Phase string
	Work  experiment.Phase

	Requests   bool    // operations are requests of several steps
	Open       bool    // latencies are from the due time, the rate was asked for
	Offered    float64 // operations a second
	FixedWork  bool    // a number of operations that each arm did: rates are of whole phases
	BatchItems int     // members of a batch, which is one operation
	SampleS    float64 // planned width of samples
	Baseline   string

	Rows []*Row // every planned arm: ranked ones first, best first; then the others; then references
	comparison
}

// comparison is what the ranks of a table come to.
type comparison struct {
	Best       []string // arms that no other is significantly faster than, fastest first
	Group      *Group   // several arms that all others are significantly slower than; nil: there is no such group
	Threshold  float64  // smaller relative differences are ignored: noise
	Margin     float64  // relative difference within which arms are tied
	AA         *Ratio
	Twins      stat.Twins // the A/A pairs of all tables of the run
	Ceilings   []Ceiling
	undecided  []string // arms that are neither significantly slower than the best nor shown to be tied with it
	Lead       Lead     // who is ahead
	Common     int      // blocks that the best have in common
	Detectable float64  // smallest factor that would have been found among the best; 0: not known
}

// Group is several arms of a table, each of which is significantly faster than each ranked arm that is not
// of them.
type Group struct {
	Arms        []string // fastest first
	Least, Most float64  // ratio of one of them to one of the others
	Low         float64  // the lowest end of the intervals of these ratios
}

// Row is one arm of a table, over its blocks.
type Row struct {
	Arm    string
	Store  int          // position in Experiment.Stores; -1: a null driver of no store
	Role   plan.Role    //
	State  record.State // the gravest of its trials'
	Trials []*Observation

	How    string // how the store reaches the class, in the driver's words
	Marked bool   // its figures are of marked trials, for lack of others
	Figures
	Latencies        // of all kinds of operation together
	Kinds     []Kind //
	Steps     []Kind // of requests, which are then the operations; service times

	// WholeWork says that the phase was a number of operations and this arm did them all, so that
	// its rate needs no steady state.
	WholeWork bool
	// ceilingArm is the null driver of its worker; "": the worker has none.
	ceilingArm string

	Ranking
	Reasons []Reason // why it has no rank; none: it has one
}

// Observation is one phase of one trial.
type Observation struct {
	Planned plan.Trial
	Trial   *record.Trial  // nil: there is no result
	Phase   *record.Phase  // nil: the trial did not come to the phase
	State   record.State   // "": no result; an ok trial with marks is marked
	Marks   []finding.Mark // of the trial, counted again
	Used    bool           // its figures are in the row

	Course *TrialCourse // what its rate did over time; nil: no samples

	Rate   *float64 // operations a second that ended well; nil: the phase did not end
	Steady bool     // rate is that after the warm-up; otherwise that of the whole phase
	// Fitted is what a search for a capacity came to, whose Rate is then the capacity; nil: it was none.
	Fitted  *capacity.Fitted
	perItem float64 // items of an operation; 0: it has none

	latencies *Latencies // once asked for
}

// CeilingArm is the null driver of the row's worker; "": it has none.
func (r *Row) CeilingArm() string { return r.ceilingArm }

// Reason is why a row can't be ranked.
type Reason struct {
	Kind       ReasonKind
	Blocks, Of int              // in how many blocks, of ReasonIdle, ReasonQuota, ReasonUnsteady and ReasonFaults
	Course     series.Kind      // of ReasonUnsteady
	Found      capacity.Outcome // of ReasonCapacity
	// of an operation that is the harness, of ReasonHarness; of operations that had nothing to do,
	// of ReasonVain
	Share   float64
	Why     string          // of ReasonLeftOut, in the driver's words
	Cause   finding.Code    // of ReasonEnded, where the trial has one
	Message finding.Message // of those that have words already: what the trial says, or the grave finding
}

// Same reports whether two reasons are one, whatever their figures.
func (r Reason) Same(other Reason) bool {
	return r.Kind == other.Kind && r.Message.Code == other.Message.Code
}

// ReasonKind is what forbids a rank.
type ReasonKind int

const (
	ReasonEnded   ReasonKind = iota // the trial failed or was refused
	ReasonMarked                    // the trial is marked
	ReasonGrave                     // a grave finding takes the rank
	ReasonLeftOut                   // the phase is optional, and the store can't do it
	ReasonNoTrialEnded
	ReasonInterrupted
	ReasonMachine // it disturbed every trial
	ReasonNothingDone
	ReasonIdle  // in some blocks no operation succeeded
	ReasonQuota // the disk quota ended the phase so soon that it is only a beginning
	ReasonUnsteady
	ReasonFaults // servers were taken down in it, as the experiment asks
	ReasonVain   // deletes had removed the records that operations were to find
	ReasonHarness
	ReasonOpenLoad
	ReasonCapacity // the search found something else than a capacity
)

// Lacks reports whether a reason of a kind speaks against the row's rank.
func (r *Row) Lacks(kind ReasonKind) bool {
	for _, why := range r.Reasons {
		if why.Kind == kind {
			return true
		}
	}
	return false
}

// Used returns the observations whose figures are in the row.
func (r *Row) Used() (used []*Observation) {
	for _, o := range r.Trials {
		if o.Used {
			used = append(used, o)
		}
	}
	return used
}

// Phases returns those of the trials that a row shows.
func (r *Row) Phases() (phases []*record.Phase) {
	for _, o := range r.Used() {
		phases = append(phases, o.Phase)
	}
	return phases
}

// EachMeasured calls visit for each store of each table.
func EachMeasured(tables []*Table, visit func(t *Table, r *Row)) {
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role == plan.Measured {
				visit(t, r)
			}
		}
	}
}

// EachObservation calls visit for each phase of each trial in the tables, of references too.
func EachObservation(tables []*Table, visit func(t *Table, o *Observation)) {
	for _, t := range tables {
		for _, r := range t.Rows {
			for _, o := range r.Trials {
				visit(t, o)
			}
		}
	}
}

// Row returns the row of a role, and of an arm where the name is not ""; nil: there is none.
func (t *Table) Row(role plan.Role, arm string) *Row {
	for _, r := range t.Rows {
		if r.Role == role && (arm == "" || r.Arm == arm) {
			return r
		}
	}
	return nil
}

// Stores returns the rows of stores that have figures.
func (t *Table) Stores() (rows []*Row) {
	for _, r := range t.Rows {
		if r.Role != plan.Ceiling && r.Rate != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// Measured counts the stores of a table that have figures.
func (t *Table) Measured() (n int) {
	for _, r := range t.Rows {
		if r.Role == plan.Measured && r.Rate != nil {
			n++
		}
	}
	return n
}

// Ranked returns the rows that have a rank, best first.
func (t *Table) Ranked() (ranked []*Row) {
	for _, r := range t.Rows {
		if r.Standing == Ranked {
			ranked = append(ranked, r)
		}
	}
	return ranked
}

// Leads reports whether the best are known to be faster than another.
func (t *Table) Leads() bool {
	ranked := t.Ranked()
	return !t.Open && len(ranked) > 1 && len(t.Best) < len(ranked)
}

// ByRate returns the rows with the highest rate of the whole phase first, ranked or not.
func (t *Table) ByRate() []*Row {
	rows := slices.Clone(t.Rows)
	slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(RateOrZero(b), RateOrZero(a)) })
	return rows
}
