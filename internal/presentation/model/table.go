package model

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/history"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
)

// The figures of a result are facts as they are.
type (
	Ceiling    = facts.Ceiling
	Milestones = facts.Milestones
	TaskTimes  = facts.TaskTimes
	Estimate   = facts.Estimate
	Ratio      = facts.Ratio
	Standing   = facts.Standing
	Ranking    = facts.Ranking
	Figures    = facts.Figures
	Plan       = facts.Plan
	Node       = facts.Node
	Staleness  = facts.Staleness
	Age        = history.Age
	Course     = facts.Course
	Point      = facts.Point
	OverTime   = facts.OverTime
	Stretch    = facts.Stretch
	Band       = facts.Band
	Moment     = facts.Moment
	Outcomes   = facts.Outcomes
)

// The standings, in the order in which a table shows them.
const (
	Ranked    = facts.Ranked
	NotRanked = facts.NotRanked
	Failed    = facts.Failed
	LeftOut   = facts.LeftOut
	Refused   = facts.Refused
	Reference = facts.Reference
)

// Table compares the arms of one phase in one cell. Nothing is ranked across tables.
type Table struct {
	ID    string `json:"id"` // unique in the result, fit for an anchor
	Run   string `json:"run"`
	Cell  int    `json:"cell"`       // position in the experiment's cells
	Label string `json:"cell_label"` // what tells the cell from others of its class; "" where there is one
	Class string `json:"class"`
	Title string `json:"class_title"` // "survives a power cut (D3)"
	Phase string `json:"phase"`

	Doing      finding.Message   `json:"doing"`      // "updates, uniform order, closed load, 60 s"
	Conditions []finding.Message `json:"conditions"` // of the cell: records, threads, handles, memory, quota, cache
	Notes      []finding.Message `json:"notes"`      // true of the table's figures, one a cause

	Requests   bool    `json:"requests,omitempty"`     // operations are requests of several steps
	Open       bool    `json:"open_load"`              // latencies are from the due time, the rate was asked for
	Offered    float64 `json:"offered_rate,omitempty"` // operations a second
	FixedWork  bool    `json:"fixed_work"`             // a number of operations that each arm did: rates are of whole phases
	BatchItems int     `json:"batch_items,omitempty"`  // members of a batch, which is one operation
	SampleS    float64 `json:"sample_s,omitempty"`     // planned width of samples

	Wanted *capacity.Wanted `json:"wanted,omitempty"` // what a store is to do; absent: nothing is to be chosen

	Baseline  string          `json:"baseline"`
	Best      []string        `json:"best,omitempty"` // arms that no other is significantly faster than, fastest first
	Verdict   finding.Message `json:"verdict"`        // who is fastest, or why that is unknown
	Threshold float64         `json:"threshold"`      // smaller relative differences are ignored: noise
	AA        *Ratio          `json:"aa,omitempty"`   // the baseline's twin ÷ the baseline
	Ceilings  []Ceiling       `json:"ceilings,omitempty"`

	Rows    []Row    `json:"rows"` // ranked ones first, best first; then the others; then references
	Series  []Series `json:"series"`
	Absence []Absent `json:"absent,omitempty"` // arms without a row: not supported, failed, left out
}

// Absent are arms of a table that have no figures, for one reason.
type Absent struct {
	Arms     []string        `json:"arms"`
	Standing Standing        `json:"standing"`
	Why      finding.Message `json:"why"`
}

// Row is one arm in one table, over its blocks.
type Row struct {
	Arm  string `json:"arm"`
	Role string `json:"role"`
	Ranking
	Reasons []finding.Message `json:"reasons,omitempty"` // why it has no rank
	How     string            `json:"how,omitempty"`     // how the store reaches the class, in the driver's words
	Marked  bool              `json:"marked,omitempty"`  // its figures are of marked trials, for lack of others

	Figures
	Latencies        // of all kinds of operation together
	Kinds     []Kind `json:"operations"`
	Steps     []Kind `json:"steps,omitempty"` // of requests, which are then the operations; service times

	Trials []string `json:"trials"` // keys into Result.Trials
}

// UseText says what indexes do for a query.
func UseText(p Plan) string {
	return finding.Text(finding.New(finding.PlanUseParams{Use: string(p.Use), Why: p.Why}))
}

// Apart returns the kinds of calls that the row's operations are made of, where they are several,
// have a plan or read several keys: the operations of a mix, or the steps of requests.
func (r *Row) Apart() []Kind {
	switch {
	case len(r.Steps) > 0:
		return r.Steps
	case len(r.Kinds) > 1, len(r.Kinds) == 1 && (r.Kinds[0].Calls != nil || len(r.PlansOf(&r.Kinds[0])) > 0):
		return r.Kinds
	}
	return nil
}

// PlansOf returns how the row's store said that it answers a question.
func (r *Row) PlansOf(k *Kind) (plans []Plan) {
	for _, p := range r.Plans {
		if experiment.QuestionName(p.Operation, p.Query) == k.Operation {
			plans = append(plans, p)
		}
	}
	return plans
}

// PlanText says in a few words what a store does for a question: "index on_user".
func PlanText(p Plan) string {
	return finding.Text(finding.New(finding.PlanShortParams{Use: string(p.Use), Index: p.Index}))
}

// Unit names what a table's rates count.
func (t *Table) Unit() string {
	switch {
	case t.Requests:
		return finding.Text(finding.New(finding.UnitRequests))
	case t.BatchItems > 0:
		return finding.Text(finding.New(finding.UnitBatches))
	}
	return finding.Text(finding.New(finding.UnitOps))
}

// Kind is one kind of operation of a row, or one question that the phase asks: "query:category".
type Kind struct {
	Operation string `json:"operation"`
	Done      uint64 `json:"done"`
	Latencies
	Outcomes `json:"outcomes"`
	Items    *float64 `json:"items_per_op"`
	Absent   *uint64  `json:"absent_keys,omitempty"`   // of multi-reads: keys that were not there
	Calls    *float64 `json:"calls_per_op,omitempty"`  // of multi-reads: one, or one for each server or slot that has some of the keys
	Right    *uint64  `json:"answers_right,omitempty"` // of a question: answers that were checked and are right; nil: none was checked
}

// Latencies are quantiles in ns: means over the used trials, and the longest of all.
type Latencies struct {
	facts.Latencies
	Why finding.Message `json:"latency_refused_why,omitzero"`
}

// Series is the rate of one trial over one phase.
type Series struct {
	Trial   string     `json:"trial"` // key into Result.Trials
	Arm     string     `json:"arm"`
	Block   int        `json:"block"`
	Median  bool       `json:"median"` // the arm's trial whose rate is the median of its blocks
	At      []float64  `json:"t"`      // seconds since the phase began
	Rate    []*float64 `json:"rate"`   // nil: not measured
	Records []*float64 `json:"records,omitempty"`
	Samples int        `json:"samples"` // before they were thinned
	Warmup  float64    `json:"warmup_s"`
	Events  []Event    `json:"events,omitempty"`
	Ended   string     `json:"ended_early,omitempty"` // why the line stops
	Beside  *Beside    `json:"beside,omitempty"`      // only of the median trial
	Tasks   *TaskTimes `json:"task_times,omitempty"`  // likewise, where the experiment asks for milestones
	Groups  []Clients  `json:"groups,omitempty"`      // likewise: the other groups of clients of the phase
}

// Clients is another group of clients that a phase had in the same trial, and when it ran, in seconds
// since the phase began.
type Clients struct {
	Name  string  `json:"name"`
	Phase string  `json:"phase"` // of the table that has its rates
	From  float64 `json:"from_s"`
	Until float64 `json:"until_s"`
}

// Event is something at a time of a series.
type Event struct {
	At      float64         `json:"t"`
	Until   float64         `json:"until,omitempty"` // 0: an instant
	Kind    string          `json:"kind"`            // of analyze: step, decline, stall, dip, oscillation, gap, interrupted
	What    finding.Message `json:"what"`
	Records *float64        `json:"records,omitempty"`
}

// Beside is what was measured beside a rate, on a time axis of its own.
type Beside struct {
	At     []float64             `json:"t"`
	Values map[string][]*float64 `json:"values"` // by Resource.Name
}

// Resource is something that is measured beside the rate.
type Resource struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Short   string `json:"short"`
	Group   string `json:"group"` // "Worker", "Machine", "Store"
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`
	Shown   bool   `json:"shown"` // without being asked for
	Missing bool   `json:"missing,omitempty"`
}
