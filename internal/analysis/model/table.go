package model

import (
	"assay/internal/base/finding"
	"assay/store"
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

// Ceiling is the rate that the harness of one worker allows: that of its null driver.
type Ceiling struct {
	Arm  string   `json:"arm"`
	Rate Estimate `json:"rate"`
}

// Estimate is a figure over blocks with its 95 % interval.
type Estimate struct {
	Value  float64  `json:"value"`
	Low    *float64 `json:"low"` // nil: too few blocks
	High   *float64 `json:"high"`
	Blocks int      `json:"blocks"`
}

// Ratio is one arm's figure ÷ another's.
type Ratio struct {
	Estimate
	P           *float64 `json:"p,omitempty"` // adjusted over the table
	Significant bool     `json:"significant"`
	Equal       bool     `json:"equal"`                // shown to differ by less than a tenth
	Detectable  *float64 `json:"detectable,omitempty"` // smallest factor that would be found with 80 % power
}

// Standing is where a row stands in its table.
type Standing string

// The standings, in the order in which a table shows them.
const (
	Ranked    Standing = "ranked"
	NotRanked Standing = "not ranked" // has figures, but something forbids a rank: see Reasons
	Failed    Standing = "failed"
	LeftOut   Standing = "left out"      // the phase is optional, and the store can't do it
	Refused   Standing = "not supported" // the store can't do what the cell asks
	Reference Standing = "reference"     // the A/A arm and the null driver
)

// Row is one arm in one table, over its blocks.
type Row struct {
	Arm      string            `json:"arm"`
	Role     string            `json:"role"`
	Standing Standing          `json:"standing"`
	Rank     int               `json:"rank,omitempty"`    // one more than the number of arms that are significantly faster, and never better than a faster arm's
	Letters  string            `json:"letters,omitempty"` // arms that share a letter are not significantly different
	Reasons  []finding.Message `json:"reasons,omitempty"` // why it has no rank
	Notes    []finding.Message `json:"notes,omitempty"`   // why its figures are less sure than they look
	How      string            `json:"how,omitempty"`     // how the store reaches the class, in the driver's words
	Marked   bool              `json:"marked,omitempty"`  // its figures are of marked trials, for want of others

	Rate        *Estimate `json:"rate"`          // operations a second
	Records     *Estimate `json:"records_per_s"` // items (members of batches, records scanned) a second
	ToBest      *Ratio    `json:"ratio_to_best"`
	ToBaseline  *Ratio    `json:"ratio_to_baseline"`
	WorstSample *float64  `json:"worst_sample"` // lowest rate of any sample after the warm-up
	Course      Course    `json:"course"`

	Latencies        // of all kinds of operation together
	Kinds     []Kind `json:"operations"`
	Steps     []Kind `json:"steps,omitempty"` // of requests, which are then the operations; service times
	Outcomes  `json:"outcomes"`

	LogicalBytes       *float64 `json:"logical_bytes"`
	DiskBytes          *float64 `json:"disk_bytes"`
	HostWriteBytes     *float64 `json:"host_write_bytes"`
	HostWriteSource    string   `json:"host_write_source"`
	WriteAmplification *float64 `json:"write_amplification"`
	MemoryBytes        *float64 `json:"memory_bytes"`
	DataToMemory       *float64 `json:"data_to_memory"`
	CPUNS              *float64 `json:"cpu_ns_per_op"`
	AllocBytes         *float64 `json:"alloc_bytes_per_op"`
	Allocs             *float64 `json:"allocs_per_op"`
	WaitNS             *float64 `json:"handle_wait_ns_per_op"`
	HarnessShare       *float64 `json:"harness_share"` // of an operation, that the harness itself takes
	Ceiling            string   `json:"ceiling,omitempty"`
	Plans              []Plan   `json:"plans,omitempty"` // of the queries that the phase asks
	Drained            *bool    `json:"drained"`
	DrainSeconds       *float64 `json:"drain_s"`

	Trials []string `json:"trials"` // keys into Result.Trials
}

// Plan is how a store said that it answers a query: each way once, over the blocks.
type Plan struct {
	Operation string         `json:"operation"` // query or count
	Query     string         `json:"query"`     // its name
	Asks      string         `json:"asks"`      // "UserID equal, by CreateTime descending, at most 10"
	Use       store.IndexUse `json:"use"`       // finds, orders or none; "": not told
	Index     string         `json:"index,omitempty"`
	Text      string         `json:"text,omitempty"`     // in the store's words
	Why       string         `json:"not_told,omitempty"` // why it is not told
	Blocks    int            `json:"blocks"`
}

// UseText says what indexes do for a query.
func (p Plan) UseText() string {
	switch p.Use {
	case store.IndexFinds:
		return "an index finds the records"
	case store.IndexOrders:
		return "an index gives the order; every record on the way is looked at"
	case store.IndexNone:
		return "no index: every record is looked at"
	}
	return p.Why
}

// Shown says in words what a ratio shows.
func (r *Ratio) Shown() string {
	switch {
	case r.Significant:
		return "significant"
	case r.Equal:
		return "equal"
	}
	return "not significant"
}

// Apart returns the kinds of calls that the row's operations are made of, where they are several:
// the operations of a mix, or the steps of requests.
func (r *Row) Apart() []Kind {
	switch {
	case len(r.Steps) > 0:
		return r.Steps
	case len(r.Kinds) > 1:
		return r.Kinds
	}
	return nil
}

// Unit names what a table's rates count.
func (t *Table) Unit() string {
	switch {
	case t.Requests:
		return "requests/s"
	case t.BatchItems > 0:
		return "batches/s"
	}
	return "ops/s"
}

// Course is what a row's rate did over time, over its blocks.
type Course struct {
	Kind     string   `json:"kind"`            // of analyze: steady, step, decline, drops, oscillation, inconclusive
	Blocks   int      `json:"blocks"`          // in how many of its blocks
	Early    *float64 `json:"early,omitempty"` // operations a second at the beginning, median of blocks
	Late     *float64 `json:"late,omitempty"`
	BrokeAtS *float64 `json:"broke_at_s,omitempty"`       // where it fell, or half of the early rate was lost
	BrokeAt  *float64 `json:"broke_at_records,omitempty"` // records stored then
	Reached  *float64 `json:"reached_records,omitempty"`  // stored at the end
	With     []string `json:"with,omitempty"`             // resources that changed with it
}

// Kind is one kind of operation of a row.
type Kind struct {
	Operation string `json:"operation"`
	Done      uint64 `json:"done"`
	Latencies
	Outcomes `json:"outcomes"`
	Items    *float64 `json:"items_per_op"`
}

// Latencies are quantiles in ns: means over the used trials, and the longest of all.
type Latencies struct {
	FromDue bool            `json:"from_due"` // open load: from the due time
	Points  []Point         `json:"latency"`
	Refused []float64       `json:"latency_refused,omitempty"` // quantiles that must not be shown
	Why     finding.Message `json:"latency_refused_why,omitzero"`
	TooFew  []float64       `json:"latency_too_few,omitempty"` // quantiles with too few operations beyond them
}

// Point is one quantile, with an interval over blocks where there are enough.
type Point struct {
	Quantile float64  `json:"q"` // 1: the maximum
	NS       float64  `json:"ns"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
}

// At returns the latency at a quantile in ns; nil: not measured, refused or too few operations.
func (l Latencies) At(q float64) *float64 {
	for i := range l.Points {
		if l.Points[i].Quantile == q {
			return &l.Points[i].NS
		}
	}
	return nil
}

// Outcomes count operations by how they ended.
type Outcomes struct {
	Attempted  uint64 `json:"attempted"`
	OK         uint64 `json:"ok"`
	Miss       uint64 `json:"miss"`
	Conflict   uint64 `json:"conflict"`
	Lost       uint64 `json:"lost"`
	Wrong      uint64 `json:"wrong"`
	Errors     uint64 `json:"errors"`
	Timeout    uint64 `json:"timeout"`
	Unfinished uint64 `json:"unfinished"`
}

// Bad returns the operations that did not end well.
func (o Outcomes) Bad() uint64 { return o.Lost + o.Wrong + o.Errors + o.Timeout + o.Unfinished }

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
