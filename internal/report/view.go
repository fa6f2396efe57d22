package report

import (
	"time"

	"assay/internal/record"
)

// View is everything that a report shows. Times are in seconds where a name says nothing else, rates in operations a
// second.
type View struct {
	Title       string     `json:"title"`
	About       string     `json:"about,omitempty"`
	Headlines   []Headline `json:"headlines"`
	Answers     []Answer   `json:"answers"`
	Runs        []Run      `json:"runs"`
	Environment []Fact     `json:"environment"`
	Stores      []Store    `json:"stores"`
	Findings    []Finding  `json:"findings"`
	Groups      []Group    `json:"finding_groups"` // every finding is in one
	Tables      []Table    `json:"tables"`
	Resources   []Resource `json:"resources"` // what Series.Beside has, in the order in which it is offered
	Matrix      Matrix     `json:"matrix"`
	Trials      []Trial    `json:"trials"`
	Gaps        []string   `json:"gaps,omitempty"` // sentences: what could not be read, decimation, and the like
}

// Headline is the answer of all tables of one durability class in a sentence or two.
type Headline struct {
	Run      string `json:"run"` // ID
	Class    string `json:"class"`
	Label    string `json:"label"` // the class, with the run's ID where there are several
	Table    string `json:"table"` // the ID of its first table
	Sentence string `json:"sentence"`
}

// Answer says in a sentence who is ahead in one table, and by how much, or why that can't be said.
type Answer struct {
	Table    string `json:"table"` // its ID
	Label    string `json:"label"` // class and Label of the table: "D1 put"
	Sentence string `json:"sentence"`
}

// Run is one run directory.
type Run struct {
	ID        string    `json:"id"`
	Name      string    `json:"experiment"`
	Created   time.Time `json:"created"`
	Hash      string    `json:"experiment_sha256"`
	Seed      uint64    `json:"seed"`
	Blocks    int       `json:"blocks"`
	Command   string    `json:"command"` // does the run again, from the experiment file in its directory: quoted for a POSIX shell; "": that file is missing
	Directory string    `json:"-"`       // as opened
	Base      string    `json:"base"`    // from the report to the run directory: "" or a relative URL that ends in "/"
}

// Fact is a name and what is known of it.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Store is an arm as it was configured.
type Store struct {
	Arm       string   `json:"arm"`
	Driver    string   `json:"driver"`
	Summary   string   `json:"summary,omitempty"`
	Library   string   `json:"library,omitempty"`
	Version   string   `json:"version,omitempty"`
	Licence   string   `json:"licence,omitempty"`
	Note      string   `json:"note,omitempty"`
	Options   []Fact   `json:"options,omitempty"`  // that the experiment sets
	Changed   string   `json:"changed,omitempty"`  // "options changed from default: …", or "all defaults"
	Claims    []Fact   `json:"claims,omitempty"`   // durability class → how it is reached, in the library's words
	Settings  []Fact   `json:"settings,omitempty"` // in force, as the store told them
	Abilities []string `json:"abilities,omitempty"`
}

// Severity is how much a finding matters.
type Severity string

// The severities, gravest first.
const (
	Grave   Severity = "grave"   // a figure must not be trusted or a store loses data
	Warning Severity = "warning" // a figure must be read with care
	Notice  Severity = "notice"  // worth knowing
)

// Finding is a statement that the data supports.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code,omitempty"`
	Sentence string   `json:"sentence"`
	Evidence []string `json:"evidence,omitempty"`      // sentences: the first few
	More     int      `json:"evidence_more,omitempty"` // how many more there are
	Remedy   string   `json:"remedy,omitempty"`
	Group    string   `json:"group"`                      // the Key of its Group
	Table    string   `json:"table,omitempty"`            // ID of the (first) table it speaks of
	Arm      string   `json:"arm,omitempty"`              // "": of no arm in particular
	Place    string   `json:"place,omitempty"`            // "overwrite at D1"; "": of no table in particular
	Faulty   bool     `json:"of_marked_trials,omitempty"` // the arm's figures there are of marked trials, for it has no others
}

// Group is the findings of one code and severity: what a reader sees first, with the single ones beneath.
type Group struct {
	Key      string   `json:"key"` // unique in the view
	Severity Severity `json:"severity"`
	Code     string   `json:"code,omitempty"`
	Sentence string   `json:"sentence"` // counts them, where there are several
	Remedy   string   `json:"remedy,omitempty"`
	Of       []int    `json:"of"` // positions in View.Findings
}

// Table compares the arms of one phase in one cell: nothing is ranked across tables.
type Table struct {
	ID         string    `json:"id"`    // unique in the view, fit for an anchor
	Class      string    `json:"class"` // durability: "D2(1s)"
	Meaning    string    `json:"class_meaning"`
	Run        string    `json:"run"`                          // ID
	Label      string    `json:"label"`                        // the phase, with what tells the cell from others of its class: "put, 10 records"
	Cell       string    `json:"cell"`                         // what else the cell fixes: "1,000,000 records of 1,000 B, 8 threads, one shared handle"; the threads are the phase's own, where it has any
	Quota      *Quota    `json:"quota,omitempty"`              // the file systems of the trials' own; nil: they have none
	Writes     string    `json:"host_writes"`                  // sentences: where host writes come from, or why there are none; "": the kernel's count of the worker's
	Servers    string    `json:"servers,omitempty"`            // sentences: whose memory and CPU time are a server's too, or not known; "": no store is a server
	OverLimit  string    `json:"memory_above_limit,omitempty"` // a sentence: whose memory is above the limit, why, and what counted against it
	Phase      string    `json:"phase"`                        // its name
	Doing      string    `json:"doing"`                        // what it does: "updates, uniform order, closed load, 60 s"
	Cache      string    `json:"cache"`                        // "warm" or "cold": if the pages of the stores' files were dropped before the phase
	Open       bool      `json:"open"`                         // latencies are response times from the due time
	Rows       []Row     `json:"rows"`                         // ranked ones in order, then the others
	Series     []Series  `json:"series"`                       // rate over time, a trial each
	Ceiling    *float64  `json:"ceiling"`                      // the rate of Assay's own null driver
	Ceilings   []Ceiling `json:"ceilings"`                     // of all null drivers that have a rate, Assay's own first
	NoiseRatio *float64  `json:"noise_ratio"`                  // the baseline's twin ÷ the baseline
	Threshold  float64   `json:"threshold"`                    // smaller relative differences are not said
	Sentence   string    `json:"sentence"`                     // who is ahead, or why that can't be said
	WholePhase bool      `json:"whole_phase"`                  // rates are of a fixed amount of work, warm-up included
	Batch      int       `json:"batch,omitempty"`              // members of a batch, which is one operation; 0: operations are single ones
	SampleS    float64   `json:"sample_s,omitempty"`           // planned width of the samples, of which WorstSecond is one; 0: not known
}

// Ceiling is the rate that the harness of one worker allows: that of its null driver.
type Ceiling struct {
	Arm     string   `json:"arm"`
	Rate    float64  `json:"rate"`          // operations a second
	Records *float64 `json:"records_per_s"` // nil: its operations have no items
}

// Estimate is a figure with its interval.
type Estimate struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"` // nil: too few repeats for an interval
	High  *float64 `json:"high"`
}

// Standing is where a row stands in its table.
type Standing string

// The standings, in the order in which a table shows them.
const (
	Ranked    Standing = "ranked"
	Reference Standing = "reference"  // the A/A arm and the ceiling: shown, never ranked
	NotRanked Standing = "not ranked" // ended, but something forbids a rank
	LeftOut   Standing = "left out"   // the phase is optional, and the store can't do it
	Failed    Standing = "failed"
	Refused   Standing = "refused"
)

// Row is one arm in one table, over its blocks.
type Row struct {
	Arm      string   `json:"arm"`
	Role     string   `json:"role"`
	Standing Standing `json:"standing"`
	Reasons  []string `json:"reasons,omitempty"` // sentences: why it has no rank
	Rank     int      `json:"rank,omitempty"`    // from 1
	Tied     bool     `json:"tied,omitempty"`    // another row has the same rank
	How      string   `json:"how,omitempty"`     // how the store reaches the class

	Rate        *Estimate `json:"rate"`
	Ratio       *Estimate `json:"ratio_to_best"` // its rate ÷ the best one's; nil for the best
	NoneShown   bool      `json:"no_difference_shown,omitempty"`
	WorstSecond *float64  `json:"worst_sample"`               // lowest rate of any sample after the warm-up
	Doubts      []string  `json:"doubts,omitempty"`           // sentences: why its figures are less sure than they look
	Faulty      bool      `json:"of_marked_trials,omitempty"` // its figures are of trials that forbid a rank, for it has no others
	Records     *Estimate `json:"records_per_s"`              // items of all operations (members of batches, records scanned) a second; nil: they have none
	WaitNS      *float64  `json:"handle_wait_ns_per_op"`      // how long an operation waited for a pooled handle; nil: there is no pool. Not part of a service time
	Kinds       []Kind    `json:"operations"`                 // each kind of operation by itself
	Latencies             // of all kinds together

	Attempted uint64 `json:"attempted"`
	Bad       uint64 `json:"bad"` // lost, wrong, errors, timeouts, unfinished
	Misses    uint64 `json:"misses"`

	LogicalBytes   *float64 `json:"logical_bytes"`
	DiskBytes      *float64 `json:"disk_bytes"`
	HostWriteBytes *float64 `json:"host_write_bytes"`
	MemoryBytes    *float64 `json:"memory_bytes"`
	CPUNS          *float64 `json:"cpu_ns_per_op"`           // raw: under open load (Table.Open) mostly the worker's waiting for due times, and not to be compared
	CPUTooShort    bool     `json:"cpu_too_short,omitempty"` // cpu_ns_per_op is nil, because too little CPU time was used to be told from the ticks that it is counted in
	AllocBytes     *float64 `json:"alloc_bytes_per_op"`
	Allocs         *float64 `json:"allocs_per_op"`

	HostWriteSource    string   `json:"host_write_source"`   // record.WritesOf…; "": not measured
	WriteAmplification *float64 `json:"write_amplification"` // host write bytes ÷ bytes of acknowledged keys and values
	DataToMemory       *float64 `json:"data_to_memory"`      // logical bytes ÷ the memory that the trial might use; the mean of its blocks
	HarnessShare       *float64 `json:"harness_share"`       // of each operation, that the harness itself takes
	Ceiling            string   `json:"ceiling,omitempty"`   // the null driver that harness_share refers to; absent: its worker has none that is known
	Drained            *bool    `json:"drained"`             // the store said before sizes were taken that no work was left; nil: no trial ended
	DrainSeconds       *float64 `json:"drain_s"`             // the longest
	Undecided          bool     `json:"steadiness_unknown"`  // in half of its trials or more, it can't be told whether the rate had settled

	Trials []string `json:"trials"` // keys into View.Trials
}

// Series is the rate of one trial over one phase.
type Series struct {
	Trial   string     `json:"trial"` // key into View.Trials
	Arm     string     `json:"arm"`
	Block   int        `json:"block"`
	Median  bool       `json:"median"` // the arm's trial whose rate is the median of its blocks
	At      []float64  `json:"t"`      // seconds since the phase began
	Rate    []*float64 `json:"rate"`
	Records []*float64 `json:"records,omitempty"`     // live records, at the same times; only where their number changes
	Samples int        `json:"samples"`               // how many there were before they were thinned out
	Warmup  float64    `json:"warmup_s"`              // what stands before is left out of the figures
	Marks   []Happened `json:"marks,omitempty"`       // change points and stalls
	Ended   string     `json:"ended_early,omitempty"` // why the line stops
	Beside  *Beside    `json:"beside,omitempty"`      // only of the median trial
}

// Beside is what was measured beside a rate, on a time axis of its own: means over its steps of what is a rate, the last
// value of a step for what is a level, and the highest for a latency.
type Beside struct {
	At     []float64             `json:"t"`      // seconds since the phase began, at each step's end
	Values map[string][]*float64 `json:"values"` // by Resource.Name
}

// Resource is something that is measured beside the rate.
type Resource struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Short   string `json:"short"` // the title within its group
	Group   string `json:"group"` // "Worker", "Machine"
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`
	Shown   bool   `json:"shown"`             // without being asked for
	Missing bool   `json:"missing,omitempty"` // nothing of it was measured
}

// Happened is something at a time of a series.
type Happened struct {
	At      float64  `json:"t"`
	Until   float64  `json:"until,omitempty"` // 0: an instant
	Kind    string   `json:"kind"`            // of verdict.Mark: "stall", "dips", "cliff", "decline", "oscillation", or "change" of level; or "sank"
	Text    string   `json:"text"`
	Levels  []Level  `json:"levels,omitempty"`  // of what sank: the first one and the last one, which it has instead of a place
	Records *float64 `json:"records,omitempty"` // stored then; nil: not measured
}

// Level is a stretch of a series at one rate.
type Level struct {
	From  float64 `json:"t"` // seconds since the phase began
	Until float64 `json:"until"`
	Rate  float64 `json:"rate"`
}

// Matrix is every planned trial: rows are arms, columns are cells, and each square holds one trial a block.
type Matrix struct {
	Cells []string    `json:"cells"`
	Rows  []MatrixRow `json:"rows"`
}

// MatrixRow is one arm.
type MatrixRow struct {
	Arm     string     `json:"arm"`
	Squares [][]string `json:"squares"` // a cell each: keys into View.Trials, by block
}

// Trial is one planned trial, whatever became of it.
type Trial struct {
	Key     string   `json:"key"` // unique in the view: the ID, with the run's ID before it where there are several runs
	ID      string   `json:"id"`
	Run     string   `json:"run"`
	Arm     string   `json:"arm"`
	Role    string   `json:"role"`
	Cell    string   `json:"cell"`
	Class   string   `json:"class"`
	Block   int      `json:"block"`
	State   string   `json:"state"` // of record.State, or "planned" if it never began
	Reasons []string `json:"reasons,omitempty"`
	Link    string   `json:"link,omitempty"` // from the report to the trial's folder, with "/" at the end; "": it left no result
	Phases  []Phase  `json:"phases,omitempty"`
	Final   *Final   `json:"final_check,omitempty"`

	QuotaMount *record.QuotaMount `json:"quota_mount,omitempty"` // nil: it had no file system of its own
}

// Final is what a trial's last phase found when it read records back.
type Final struct {
	Records uint64 `json:"records"` // read back
	Of      uint64 `json:"of"`      // that there should be
	Right   uint64 `json:"right"`
	Lost    uint64 `json:"lost"`
	Stale   uint64 `json:"stale"`
	Wrong   uint64 `json:"wrong"`
	Errors  uint64 `json:"errors"`
	Unknown uint64 `json:"unknown"` // values too short to prove their version, or writes whose effect nobody knows
}

// Phase is one phase of a trial.
type Phase struct {
	Name           string   `json:"name"`
	Measured       bool     `json:"measured"`
	Seconds        float64  `json:"seconds"`
	Rate           float64  `json:"rate"` // operations that were done in order, a second, over the whole phase
	Attempted      uint64   `json:"attempted"`
	Bad            uint64   `json:"bad"`
	Latency        []Point  `json:"latency"`
	LogicalBytes   *float64 `json:"logical_bytes"`
	DiskBytes      *float64 `json:"disk_bytes"`
	HostWriteBytes *float64 `json:"host_write_bytes"`
	MemoryBytes    *float64 `json:"memory_bytes"`
	AllocBytes     *float64 `json:"alloc_bytes_per_op"`
	Allocs         *float64 `json:"allocs_per_op"`

	HostWriteSource string `json:"host_write_source,omitempty"`       // record.WritesOf…; "": not measured
	HostWriteWhy    string `json:"host_write_not_measured,omitempty"` // why it was not measured
}
