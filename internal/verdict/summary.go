// Package verdict turns a recorded run into what can be said of it: tables with intervals, who is ahead, and findings. It
// works on [record.Run] alone, so that everything here can be done again years later, without a store.
//
//  1. observe.go    one phase of one trial: its rate, whether it settled, what went wrong
//     collapse.go   what that rate did over time, in sentences; also of anybody's CSV file (collapse_csv.go, collapse_text.go)
//  2. summarise.go  trials → rows → tables, one for each cell and measured phase
//  3. rank.go       who may be ranked, who is ahead, who is tied
//  4. findings.go   and find_….go, lateness.go, backlog.go, sunken.go: statements that the data supports, with evidence and remedy
//  5. compare.go    two runs, or two arms of one: regression, none, inconclusive (likeness.go: did they do the same?)
//
// A rate is operations a second that ended well: done, less lost, wrong, errors, timeouts and refused writes (see docs/statistics.md).
// What was not measured is nil, never zero.
package verdict

import (
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// Summary is what a run says.
type Summary struct {
	Tables   []Table   `json:"tables"`   // cells in the experiment's order, and in each the measured phases
	Findings []Finding `json:"findings"` // gravest first

	Planned     int `json:"planned"` // trials
	OK          int `json:"ok"`
	Marked      int `json:"marked"`
	Failed      int `json:"failed"`
	Refused     int `json:"refused"`
	Interrupted int `json:"interrupted"`
	Missing     int `json:"missing"` // planned, and no result
}

// Table compares the arms of one cell in one phase. A cell has one durability class, and so has a table.
type Table struct {
	Cell       int       `json:"cell"` // position in Experiment.Cells
	Parameters spec.Cell `json:"parameters"`
	Class      string    `json:"class"` // "D1", "D2(100ms)"
	Phase      string    `json:"phase"`
	Open       bool      `json:"open_load"`              // latencies count from the due time, and the rate was set by the experiment
	Offered    float64   `json:"offered_rate,omitempty"` // open load: operations a second that the experiment asks for
	FixedWork  bool      `json:"fixed_work"`             // the phase was a number of operations and every arm did them all: rates are of the whole phase, warm-up included
	Baseline   string    `json:"baseline"`

	// Rows has the ranked arms, best first; then the other measured ones; then the A/A arm and the null driver. Every arm
	// that was planned is there.
	Rows []Row `json:"rows"`

	Ceiling   *stat.Estimate `json:"ceiling,omitempty"`  // rate of Assay's own null driver: also the first of Ceilings
	Ceilings  []Ceiling      `json:"ceilings,omitempty"` // those that have a rate
	AA        *stat.Ratio    `json:"aa,omitempty"`       // the baseline's twin to the baseline
	Threshold float64        `json:"threshold"`          // smaller relative differences are not said: see stat.Threshold

	Best     string   `json:"best,omitempty"` // the first arm of those ranked, none of which is shown to be faster
	Tied     []string `json:"tied,omitempty"` // the other arms than which none is shown to be faster
	Sentence string   `json:"sentence"`       // which is faster, or why that can't be said
}

// Ceiling is the rate that the harness of one worker allows.
type Ceiling struct {
	Arm  string        `json:"arm"`
	Rate stat.Estimate `json:"rate"` // operations a second
}

// Row is one arm in a table.
type Row struct {
	Arm   string       `json:"arm"`
	Role  plan.Role    `json:"role"`
	Store int          `json:"store"` // position in Experiment.Stores; -1: the null driver
	State record.State `json:"state"` // the gravest of its trials': failed, marked, interrupted, refused, ok
	Why   string       `json:"why,omitempty"`

	FixedWork bool `json:"fixed_work"` // the phase was a number of operations and this arm did them all: its rate needs no steady state

	Ranked  bool     `json:"ranked"`
	Rank    int      `json:"rank,omitempty"`    // one more than the number of arms that are shown to be faster: each with each, adjusted for all pairs (stat.HolmPairs)
	Reasons []string `json:"reasons,omitempty"` // why not ranked

	// Trials are all that were planned, by block. The figures below are over those that are Used.
	Trials []Observation `json:"trials"`

	Rate    *stat.Estimate `json:"rate,omitempty"`    // operations a second, over blocks
	Records *stat.Estimate `json:"records,omitempty"` // records a second, where operations have items (batches, scans)

	ToBest          *stat.Ratio `json:"to_best,omitempty"`     // this arm's rate ÷ the best's; nil for the best and where there is no rank
	ToBaseline      *stat.Ratio `json:"to_baseline,omitempty"` // ÷ the baseline's; nil for the baseline and where either has no rank
	ShownToBest     bool        `json:"shown_to_best"`         // it is shown to be slower than the best: see stat.Shown, adjusted over all pairs of the table
	ShownToBaseline bool        `json:"shown_to_baseline"`

	Latency     *Latency `json:"latency,omitempty"`
	WorstSample *float64 `json:"worst_sample,omitempty"` // the lowest rate of any sample after the warm-up, in any block

	Outcomes Outcomes `json:"outcomes"` // of all its trials, used or not

	// Means over blocks.
	LogicalBytes       *float64 `json:"logical_bytes,omitempty"` // keys and values that are live
	DiskBytes          *float64 `json:"disk_bytes,omitempty"`    // blocks allocated, after the drain
	HostWriteBytes     *float64 `json:"host_write_bytes,omitempty"`
	WriteAmplification *float64 `json:"write_amplification,omitempty"` // host write bytes ÷ bytes of acknowledged keys and values
	RSSMaxBytes        *float64 `json:"rss_max_bytes,omitempty"`
	AllocBytes         *float64 `json:"alloc_bytes_per_operation,omitempty"`
	Allocs             *float64 `json:"allocs_per_operation,omitempty"`
	CPUNS              *float64 `json:"cpu_ns_per_operation,omitempty"`

	// HarnessShare is the share of each operation that the harness itself takes: this rate ÷ that of the null driver in the same
	// worker. Nil for open load, where there is no ceiling, and where the ceiling is not known.
	HarnessShare *float64 `json:"harness_share,omitempty"`
	Ceiling      string   `json:"ceiling,omitempty"` // the arm that HarnessShare refers to; "": a worker without a null driver

	Warnings []stat.Warning `json:"warnings,omitempty"`

	lessWork, unweighed []string // what it did less than it was asked for, and what of that can't be told: find_work.go
}

// Latency is of all operations of the used trials together, in ns.
type Latency struct {
	FromDue bool    `json:"from_due"` // response times from the due time (open load); otherwise service times of closed load
	P50     float64 `json:"p50_ns"`
	P90     float64 `json:"p90_ns"`
	P99     float64 `json:"p99_ns"`
	P999    float64 `json:"p999_ns"`
	Max     float64 `json:"max_ns"`
	p9999   float64

	Refusal // open load: the figures of these quantiles must not be shown
}

// Outcomes counts operations by how they ended.
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
	NotDone    uint64 `json:"not_done,omitempty"` // of Conflict: operations that asked no condition, and were refused
}

// Good returns the operations that ended well: the ones that a rate counts.
func (o Outcomes) Good() uint64 { return o.OK + o.Miss + o.Conflict - o.NotDone }

// Done returns the operations that have an outcome.
func (o Outcomes) Done() uint64 {
	return o.Good() + o.NotDone + o.Lost + o.Wrong + o.Errors + o.Timeout
}

func (o *Outcomes) add(p *record.Phase) {
	o.Attempted += p.Attempted
	o.Unfinished += p.Unfinished
	for _, op := range p.Operations {
		o.OK += op.OK
		o.Miss += op.Miss
		o.Conflict += op.Conflict
		o.NotDone += op.OK + op.Miss + op.Conflict - op.Good()
		o.Lost += op.Lost
		o.Wrong += op.Wrong
		o.Errors += op.Errors
		o.Timeout += op.Timeout
	}
}

// Sampled returns the samples of a trial's phase as they are judged: the rates of operations that ended well, without last samples of less
// than half the usual length, or of what ended after the phase's time. Plots are drawn from it, so that they show what was judged. It has no rates where there are no samples.
func Sampled(run *record.Run, trial, phase string) stat.Series {
	var o Observation
	rates, _, _ := o.series(run.Series[trial], phaseNamed(run, phase))
	if len(rates) == 0 {
		return stat.Series{}
	}
	o.Median = stat.Median(rates)
	return o.besides(rates)
}
