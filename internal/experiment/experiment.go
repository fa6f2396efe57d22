package experiment

import (
	"fmt"
	"reflect"
	"time"

	"assay/internal/base/finding"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// Experiment is an experiment with every default written out. It is stored in the run directory
// before anything runs, and everything that happens later can be derived from it and the seed.
type Experiment struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"` // what question it answers, for the report's head
	Scale string `json:"scale,omitempty"` // the scale that was chosen, if the file has scales

	Stores   []Store `json:"stores"`
	Baseline string  `json:"baseline"` // the store that ratios refer to and the A/A arm copies
	// BaselineNamed says that the file names the baseline, and that it is not just the first store that can do a cell.
	BaselineNamed bool `json:"baseline_named,omitempty"`

	// Ceilings are the null drivers of other workers than Assay's own, each once: arms of the role
	// ceiling, whose rates bound those of the stores that the same worker hosts. Assay's own null
	// driver is in every experiment and not among them.
	Ceilings []Store `json:"ceilings,omitempty"`

	// Cells are the combinations of parameters, in the order of the file: the expanded matrix.
	Cells []Cell `json:"cells"`

	// Keys have, where KeyNamespace is true, a prefix that begins with KeyPlaceholder: each trial
	// puts its own name there.
	Keys         keyval.KeyShape `json:"keys"`
	KeyNamespace bool            `json:"key_namespace,omitempty"`
	Values       Values          `json:"values"`
	Phases       []Phase         `json:"phases"`

	Schedule
	Seed          uint64        `json:"seed"`
	Verify        bool          `json:"verify"`                  // check each value that is read
	TimedEvery    uint64        `json:"timed_every,omitempty"`   // of so many operations one is timed; 0: all are
	VerifyRecords uint64        `json:"verify_records"`          // how many records the last phase reads back and checks against what was acknowledged; 0: none
	Clock         string        `json:"clock"`                   // auto, tsc or monotonic
	Cache         string        `json:"cache,omitempty"`         // CacheWarm or CacheCold; "", in runs that are older than the field: warm
	DiskQuotaBy   string        `json:"disk_quota_by,omitempty"` // QuotaByStop or QuotaByMount; "", in runs that are older than the field: stop
	BusyMachine   string        `json:"busy_machine,omitempty"`  // BusyMachineMark or BusyMachineTell; "", in runs that are older than the field: mark
	Crash         *Crash        `json:"crash,omitempty"`         // nil: no store is cut off
	CPUs          *CPUs         `json:"cpus,omitempty"`          // of all cells, in runs that are older than Cell.CPUs: see [Experiment.Renew]
	Agents        []string      `json:"agents,omitempty"`        // where those are that do the measured phases; none: this machine does. See ParseAgents
	AgentNames    []AgentRange  `json:"agent_names,omitempty"`   // some of them, by the names that groups of clients use
	Sample        time.Duration `json:"sample_ns"`               // between samples; 0: a second, or a twentieth of the phase where that is less, at least 50 ms
	StepTimeout   time.Duration `json:"step_timeout_ns"`         // for open, sync, close and what a phase may take beyond its duration
}

// Which operations are timed, as files say it: all, or sampled(N).
const (
	LatencyAll     = "all"
	LatencySampled = "sampled"
)

// LatencyText says which operations are timed, as it stands in files: "sampled(100)".
func (e *Experiment) LatencyText() string {
	if e.TimedEvery == 0 {
		return LatencyAll
	}
	return fmt.Sprintf("%s(%d)", LatencySampled, e.TimedEvery)
}

// KeyPlaceholder stands in Experiment.Keys for the name of a trial, which is as long.
const KeyPlaceholder = "trialtag"

// Schedule is how much is run, and for how long.
type Schedule struct {
	Blocks int `json:"blocks"` // that are planned before the run begins
	// BlocksMax is up to how many blocks are added one by one while time suffices and, if Smallest
	// is set, comparisons are open. 0: none are added.
	BlocksMax int `json:"blocks_max,omitempty"`
	// Smallest is the relative difference that is to be decided (blocks: auto). 0: blocks do not
	// depend on what was measured.
	Smallest float64 `json:"smallest,omitempty"`
	// Detect is the relative difference that the number of blocks is chosen for, by their noise
	// alone. 0: it is not.
	Detect  float64       `json:"detect,omitempty"`
	Time    time.Duration `json:"time_ns,omitempty"` // that the run may take; 0: no limit
	Repeats int           `json:"repeats"`           // tries beyond the first that a trial gets which the machine spoilt
	// HelpersOnce leaves the A/A arms and the null drivers to the first block: a time too short for more.
	HelpersOnce bool `json:"helpers_once,omitempty"`
	// Layout says what was changed so that Time suffices.
	Layout []finding.Message `json:"layout,omitempty"`
}

// What Experiment.Cache may be: what becomes of the page cache before a measured phase.
const (
	CacheWarm = "warm" // it stays as the phases before left it
	CacheCold = "cold" // the files of the store are written back and their pages dropped
)

// What Experiment.DiskQuotaBy may be: how the disk quota of a cell is kept.
const (
	QuotaByStop  = "stop"  // a phase that writes ends when the store's files have reached it
	QuotaByMount = "mount" // the store's files stand on a file system of their own of that size, which gets full
)

// What Experiment.BusyMachine may be: what becomes of a trial from which other processes, the
// hypervisor, a CPU quota or heat took too much.
const (
	BusyMachineMark = "mark" // it is marked, and not ranked
	BusyMachineTell = "tell" // it is ranked; a finding says what was taken, and that it did not count
)

// Store is one store in one configuration: an arm.
type Store struct {
	Name      string            `json:"name"`
	Driver    string            `json:"driver"`
	Worker    []string          `json:"worker,omitempty"` // command of the worker that hosts the driver; none: Assay's own
	Endpoints []string          `json:"endpoints,omitempty"`
	Server    *Server           `json:"server,omitempty"`  // nil: Assay starts none
	Options   map[string]string `json:"options,omitempty"` // only those that the file sets
	Tuned     string            `json:"tuned,omitempty"`   // the workload on which its options were tuned; "": on none
	JVM       *JVM              `json:"jvm,omitempty"`     // what the file asks of a client for the JVM; its command has it too

	// Missing is why the driver can't be used on this machine, where it can't: the store is planned
	// and refused everywhere.
	Missing string `json:"missing,omitempty"`

	// Ceiling is the arm whose rate bounds this one's: the null driver of the same worker. Of a
	// store that Assay's own worker hosts it is empty and means [NullDriver]; of one with a worker:
	// not known.
	Ceiling string `json:"ceiling,omitempty"`

	// Description is what the driver said of itself when the experiment was resolved.
	Description store.Description `json:"description"`
}

// Cell is one combination of parameters. Stores are compared within a cell, never across.
type Cell struct {
	Case        string           `json:"case,omitempty"` // name of the case, where the file has cases
	Durability  store.Durability `json:"durability"`
	LossWindow  time.Duration    `json:"loss_window_ns,omitempty"` // for D2
	Records     uint64           `json:"records"`
	ValueBytes  int              `json:"value_bytes"`            // the mean length, where sizes are mixed
	Threads     int              `json:"threads"`                // of all clients
	Processes   int              `json:"processes,omitempty"`    // that the threads are parted over, as many in each; 0: the worker's one
	Agents      int              `json:"agents,omitempty"`       // so many of the experiment's do the phases; 0: all
	Rate        float64          `json:"rate,omitempty"`         // operations a second, of phases that take one: see [Phase.TakesRate]; 0: closed load
	Handles     string           `json:"handles"`                // shared, per_thread, pool, per_operation, async
	PoolHandles int              `json:"pool_handles,omitempty"` // for pool
	Pipeline    int              `json:"pipeline,omitempty"`     // for async: operations on the way on each connection
	Entry       string           `json:"entry,omitempty"`        // of [EntryForm]; "": as the arms' own options say
	CPUs        *CPUs            `json:"cpus,omitempty"`         // nil: the kernel places client and server
	MemoryLimit int64            `json:"memory_limit_bytes,omitempty"`
	DiskQuota   int64            `json:"disk_quota_bytes,omitempty"` // phases that write end when the data directory has reached it
}

// Same reports whether two cells have the same parameters, those behind a pointer by what they are.
func (c Cell) Same(other Cell) bool {
	ours, others := c.CPUs, other.CPUs
	c.CPUs, other.CPUs = nil, nil
	return c == other && reflect.DeepEqual(ours, others)
}

// Renew puts what runs that are older than a field have elsewhere where it stands now.
func (e *Experiment) Renew() {
	if e.CPUs == nil {
		return
	}
	for i := range e.Cells {
		e.Cells[i].CPUs = e.CPUs
	}
	e.CPUs = nil
}

// The ways to share handles, as they stand in Cell.Handles.
const (
	Shared       = "shared"
	PerThread    = "per_thread"
	Pool         = "pool"
	PerOperation = "per_operation"
	Async        = "async"
)

// HandlesText is how threads share handles, as it stands in files: "pool(8)".
func (c Cell) HandlesText() string {
	if n := c.PoolHandles + c.Pipeline; c.Handles == Pool || n > 1 { // only one of them is above 0
		return fmt.Sprintf("%s(%d)", c.Handles, n)
	}
	return c.Handles
}

// ClassText returns a cell's durability class as it stands in files and reports: "D1", "D2(100ms)".
func (c Cell) ClassText() string {
	if c.Durability == store.D2 {
		return fmt.Sprintf("D2(%s)", c.LossWindow)
	}
	return string(c.Durability)
}

// RecordsMax is half of the indexes that a trace has, so that inserts have room to grow.
const RecordsMax = 1 << 47

// Values says how values are made.
type Values struct {
	Sizes            []Size `json:"sizes,omitempty"` // a mixture of lengths; none: Cell.ValueBytes for all
	RepeatedPermille int    `json:"repeated_permille"`
	PoolBytes        int    `json:"pool_bytes"`

	// Columns make each value a record: section 1.5 of docs/worker-contract.md. Cell.ValueBytes is
	// then the mean of its encoded form.
	Columns []keyval.Column `json:"columns,omitempty"`
	Indexes []Index         `json:"indexes,omitempty"`
	// Queries are those with a name, and then those that phases have of their own, named after them.
	Queries []keyval.Query `json:"queries,omitempty"`
}

// Size is one length of values and how often it comes, relative to the others.
type Size struct {
	Bytes  int     `json:"bytes"`
	Weight float64 `json:"weight"`
}

// Phase is one step of a trial.
type Phase struct {
	Name string `json:"name"`

	// Load stores every record once, in Order, in batches of Batch where the store has batches (one
	// by one where it has not), with the weakest durability class of the driver; then the store is
	// synced, closed and opened again in the cell's class. A load is counted and checked, but never
	// ranked.
	Load bool `json:"load,omitempty"`

	Mix     map[string]float64 `json:"mix,omitempty"`     // of requests, how often each operation is a step; operation name → weight; of a load: none
	Request []Step             `json:"request,omitempty"` // operations come as requests of these steps, on one key each; Operations and Rate count requests
	Order   Order              `json:"order"`
	Batch   int                `json:"batch,omitempty"` // writes go in batches of so many; 0 or 1: one by one
	// MultiRead: reads go in calls of so many keys; 0 or 1: one by one.
	MultiRead int `json:"multi_read,omitempty"`
	// Append is what appends add to a value; zero: nothing is appended.
	Append Append `json:"append,omitzero"`
	// Fill: a read that finds nothing puts a value, Backend later, as who reads through a cache does.
	Fill    bool          `json:"fill,omitempty"`
	Backend time.Duration `json:"backend_ns,omitempty"`
	Scan    Scan          `json:"scan,omitzero"`
	Asked   []AskedQuery  `json:"asked,omitempty"` // what query and count ask

	// Think is for how long each thread of closed load pauses before its operations; zero: it does not.
	Think Think `json:"think,omitzero"`

	// TTL is for how long values of inserts, updates and upserts live, a mixture; none: without an end.
	TTL []TTL `json:"ttl,omitempty"`

	Duration   time.Duration `json:"duration_ns,omitempty"`
	Operations uint64        `json:"operations,omitempty"` // in all, over the threads; 0: until Duration
	Rate       float64       `json:"rate,omitempty"`       // operations a second in all, open load, of Segments the mean; 0: closed load
	// Segments are a rate that changes over time, one after the other from the begin on. None: it does
	// not change.
	Segments []trace.Segment `json:"segments,omitempty"`
	// Arrivals is how operations of open load are spread in time, trace.Poisson or trace.Constant.
	// "": closed load, or open load of a run that is older than the field: trace.Poisson.
	Arrivals   trace.Arrivals `json:"arrivals,omitempty"`
	whole      []Phase        // of a part: the groups that work at the same time, itself among them
	phaseEnds  time.Duration  // of a part: the whole phase's Duration
	Milestones uint64         `json:"milestones,omitempty"` // each thread's time for so many operations is reported; 0: not
	Threads    int            `json:"threads,omitempty"`    // 0: the cell's, with its processes; of Staircase, how many work at some time
	// Staircase is how many threads of closed load work at a time, one step after the other. None: all do.
	Staircase []ThreadStep `json:"staircase,omitempty"`
	Processes int          `json:"processes,omitempty"` // as Cell.Processes, of Threads
	// On are the agents that do a group, one process each; nil: in the order of processes.
	On         *AgentRange `json:"on_agents,omitempty"`
	Unmeasured bool        `json:"unmeasured,omitempty"` // runs, is counted and checked, but is not in the tables
	Optional   bool        `json:"optional,omitempty"`   // a store that can't do it leaves it out (plan.Trial.Skip) instead of being refused in the whole cell

	// Groups work at the same time, each by its own Mix, Order, Batch, MultiRead, Scan, Query, Operations, Rate,
	// Arrivals and Threads, which the phase then has not. A group begins From after the phase's start and
	// ends Duration later; 0: with the phase, or with its Operations. None: the phase is one group
	// without a name.
	Groups []Phase `json:"groups,omitempty"`
	// Capacity is the search that the phase is, in steps of open load at rates of its own; Duration is then
	// about how long it takes. Nil: it is none.
	Capacity       *capacity.Asked `json:"capacity,omitempty"`
	wholeStretches bool            // each stretch is one interval
	Faults         []Fault         `json:"faults,omitempty"`  // in the order of their times
	Replay         *Replay         `json:"replay,omitempty"`  // in place of drawing operations: Mix, Operations and Rate follow from it
	From           time.Duration   `json:"from_ns,omitempty"` // of a group
}

// Think is a pause: always as long or, Exponential, as long as independent users think.
type Think struct {
	Mean        time.Duration `json:"mean_ns"`
	Exponential bool          `json:"exponential,omitempty"`
}

func (t Think) String() string {
	if t.Exponential {
		return "exponential " + t.Mean.String()
	}
	return t.Mean.String()
}

// Append is what appends add to a value: parts of so many bytes, at most so many of each thread before it
// puts the value anew.
type Append struct {
	Bytes int `json:"bytes"`
	Parts int `json:"parts"`
}

// TTL is for how long values live, and how often that comes, relative to the others. Life 0: without an end.
type TTL struct {
	Life   time.Duration `json:"life_ns"`
	Weight float64       `json:"weight"`
}

// Step is an operation of a request.
type Step struct {
	Operation string `json:"operation"`
	Bytes     int    `json:"bytes,omitempty"` // length of the value that it writes; 0: that of the cell
	Adds      int    `json:"adds,omitempty"`  // items that it adds to the record; 0: not said
}

// Order is which key comes next.
type Order struct {
	Distribution string  `json:"distribution"`             // one of Distributions
	Theta        float64 `json:"theta,omitempty"`          // zipfian, latest: the exponent, above 0 and at most 10; scrambled_zipfian: 0.99
	HotRecords   float64 `json:"hot_records,omitempty"`    // hotspot, exponential: share of the records that are hot
	HotOps       float64 `json:"hot_operations,omitempty"` // hotspot: share of the operations that go there

	Buckets []trace.Bucket `json:"buckets,omitempty"` // popularity: keys and how often they come, hottest first

	Shift trace.Shift `json:"shift,omitzero"` // how what is popular moves to other records
}

// Distributions are the names that Order.Distribution may have.
//
//	sequential         0, 1, 2 … each thread its own stretch
//	shuffled           a random permutation of all records, again each lap
//	uniform            each record as likely as any other
//
// zipfian            a true zipfian: record of rank r with probability ∝ 1/r^theta, ranks spread
// over the keys by a permutation
//
//	scrambled_zipfian  YCSB's own: a zipfian over 10^10 items, hashed onto the records; its head is flatter
//	latest             YCSB's: a zipfian counted back from the newest record
//	hotspot            YCSB's: hot_operations of the operations go to hot_records of the records, uniformly
//
// exponential        of YCSB's shape, counted from record 0 (YCSB counts back from the newest):
// about 95 % of the operations go to the first 85.71 % of the records
//
//	popularity         that of a file: so many keys, and how often one of them comes
//
// counting           0, 1, 2 … without end and from 0 in every thread, so that all threads write
// the same keys; for upserts alone
var Distributions = []string{"sequential", "shuffled", "uniform", "zipfian", "scrambled_zipfian", "latest", "hotspot", "exponential", "popularity", "counting"}

// Scan says how long scans are.
type Scan struct {
	Min          int    `json:"min,omitempty"`
	Max          int    `json:"max,omitempty"`
	Distribution string `json:"distribution,omitempty"` // uniform or zipfian
}
