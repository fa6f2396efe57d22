package facts

import (
	"assay/internal/experiment/recording"
	"assay/store"
)

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

// Figures are what a row says by itself, over its blocks.
type Figures struct {
	WorstSample *float64 `json:"worst_sample"` // lowest rate of any sample after the warm-up
	Course      Course   `json:"course"`
	Outcomes    `json:"outcomes"`
	HitRatio    *float64 `json:"hit_ratio"`    // of a store that may evict, and where records have a TTL: reads that found their record ÷ reads
	LostUpdates *float64 `json:"lost_updates"` // share of acknowledged updates that another one overwrote, of a sample of keys

	Expired  *float64 `json:"expired_on_time,omitempty"`  // of reads after their record's TTL: share that found it gone, or within the store's tick
	LatestNS *float64 `json:"expiry_latest_ns,omitempty"` // by how much the latest read that found a record came after its TTL

	OldReads *float64 `json:"old_reads,omitempty"` // of a store that is eventual: share of sampled reads that returned an overwritten value, or nothing yet

	Staleness *Staleness `json:"staleness,omitempty"` // of such a store

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
	HandleP50NS        *float64 `json:"handle_p50_ns"` // from a thread's asking for a handle until it had one: a pool's wait, or connecting
	HandleP99NS        *float64 `json:"handle_p99_ns"`
	Connections        *float64 `json:"connections,omitempty"`     // the most that a worker was seen to have to its store
	ConnectionsMax     int      `json:"connections_max,omitempty"` // what the cell's handles and the store's pool allow
	Plans              []Plan   `json:"plans,omitempty"`           // of the queries that the phase asks
	Drained            *bool    `json:"drained"`
	DrainSeconds       *float64 `json:"drain_s"`

	StartsApartNS *float64    `json:"starts_apart_ns,omitempty"` // of the processes that the clients are
	Milestones    *Milestones `json:"milestones,omitempty"`
	Nodes         []Node      `json:"servers,omitempty"` // of a store that is several
	Checked       *Checked    `json:"checked,omitempty"`
	OverTime      *OverTime   `json:"over_time,omitempty"` // of a rate that changes over time

	Replay   *recording.Fidelity `json:"replay,omitempty"`   // of recorded traffic: the worst of all blocks
	Capacity *Capacity           `json:"capacity,omitempty"` // of a search for one
}

// Ranking is what a row's rate comes to beside the others of its table.
type Ranking struct {
	Standing Standing `json:"standing"`
	Rank     int      `json:"rank,omitempty"`    // one more than the number of arms that are significantly faster, and never better than a faster arm's
	Letters  string   `json:"letters,omitempty"` // arms that share a letter are not significantly different

	Rate         *Estimate `json:"rate"`          // operations a second
	Records      *Estimate `json:"records_per_s"` // items (members of batches, records scanned) a second
	ToBest       *Ratio    `json:"ratio_to_best"`
	ToBaseline   *Ratio    `json:"ratio_to_baseline"`
	HarnessShare *float64  `json:"harness_share"` // of an operation, that the harness itself takes
	Ceiling      string    `json:"ceiling,omitempty"`
}

// Kind is one kind of operation of a row, or one question that the phase asks: "query:category".
type Kind struct {
	Operation string
	Done      uint64
	Latencies
	Outcomes
	Items *float64
	// Absent are the keys of multi-reads that were not there, and Calls how many calls one took; nil: it is none.
	Absent *uint64
	Calls  *float64
	Right  *uint64 // answers that were checked and are right; nil: it is no question, or nothing was checked
}

// Latencies are quantiles in ns: means over the used trials, and the longest of all.
type Latencies struct {
	FromDue bool      `json:"from_due"`                 // open load: from the due time
	OneIn   uint64    `json:"latency_one_in,omitempty"` // of so many operations one was timed; 0: all were
	Points  []Point   `json:"latency"`
	Refused []float64 `json:"latency_refused,omitempty"` // quantiles that must not be shown
	// AtMost is, for refused quantiles that hold too much of the harness's delay, the latency with this delay: the
	// store's own is not above it.
	AtMost []Point    `json:"latency_at_most,omitempty"`
	TooFew []float64  `json:"latency_too_few,omitempty"` // quantiles with too few operations beyond them
	Why    RefusedFor `json:"-"`                         // why some are refused; "": none is

	// Spread is how the latencies are distributed, for charts; nil: a percentile is refused, or too few were
	// timed.
	Spread []Bin `json:"-"`
}

// Bin is an interval of latencies: what took longer than the bin before it, and at most NS.
type Bin struct {
	NS    float64 // upper end
	Share float64 // of all operations
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

// Course is what a row's rate did over time, over its blocks.
type Course struct {
	Kind     string   `json:"kind"`            // of analyze: steady, step, decline, drops, oscillation, inconclusive
	Blocks   int      `json:"blocks"`          // in how many of its blocks
	Early    *float64 `json:"early,omitempty"` // operations a second at the beginning, median of blocks
	Late     *float64 `json:"late,omitempty"`
	BrokeAtS *float64 `json:"broke_at_s,omitempty"`       // where it fell, or half of the early rate was lost
	BrokeAt  *float64 `json:"broke_at_records,omitempty"` // records stored then
	Reached  *float64 `json:"reached_records,omitempty"`  // stored at the end
	With     []string `json:"with,omitempty"`             // resources that changed with it: first those that did so first, and of these the ones that changed most

	Moved []Moved `json:"moved,omitempty"` // by how much, in the same order, of those that changed their level
}

// Moved is a resource that changed its level when a rate fell.
type Moved struct {
	Resource  string  `json:"resource"`
	AfterS    float64 `json:"after_s"` // the rate did; negative: before it
	Before    float64 `json:"before"`
	After     float64 `json:"after"`
	PerSecond bool    `json:"per_second,omitempty"` // of a counter
}

// Point is one quantile, with an interval over blocks where there are enough.
type Point struct {
	Quantile float64  `json:"q"` // 1: the maximum
	NS       float64  `json:"ns"`
	Low      *float64 `json:"low,omitempty"`
	High     *float64 `json:"high,omitempty"`
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

// At returns the latency at a quantile in ns; nil: not measured, refused or too few operations.
func (l Latencies) At(q float64) *float64 { return pointAt(l.Points, q) }

// AtMostAt returns what a refused latency at a quantile is at most, in ns; nil: not known, or not refused.
func (l Latencies) AtMostAt(q float64) *float64 { return pointAt(l.AtMost, q) }

func pointAt(points []Point, q float64) *float64 {
	for i := range points {
		if points[i].Quantile == q {
			return &points[i].NS
		}
	}
	return nil
}

// RefusedFor is why quantiles are refused.
type RefusedFor string

// The reasons.
const (
	RefusedLate    RefusedFor = "dispatch late"                   // more than a tenth of them is dispatch lateness
	RefusedBacklog RefusedFor = "not all begun"                   // operations that were due are in none of them: see BacklogShareMax and BacklogChangeMax
	RefusedBoth    RefusedFor = "dispatch late, or not all begun" // some for the one reason, some for the other
)

// Effect is what another level of an axis does to the rate of an arm in a phase, other axes averaged;
// or, with two axes, how much more the change of one does at another level of the other.
type Effect struct {
	Class string   `json:"class"`
	Phase string   `json:"phase"`
	Arm   string   `json:"arm"`
	Axes  []string `json:"axes"` // paths in the experiment: "handles"
	From  []string `json:"from"` // the first level of each axis: "handles pool(4)"
	To    []string `json:"to"`
	Ratio Ratio    `json:"ratio"` // rate at To ÷ rate at From; of an interaction the ratio of two such ratios
}
