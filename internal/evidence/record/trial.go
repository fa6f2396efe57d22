// Package record is the run directory: append-only while trials run, and complete enough that
// reports, comparisons and findings need nothing else. docs/run-directory.md describes every file.
//
// Written:
//
//	create.go, resume.go, lock.go  a run directory made, or gone on with, by one process at a time
//	writer.go, trialwriter.go      what is written while the run goes on
//	data.go, quota.go              the stores' files, which are no part of it
//	boundedlog.go, heldlines.go, room.go  logs and series where the disk is full
//	files.go, digest.go            how files are written and sealed
//
// What is in it:
//
//	run.go, trial.go, resource.go, values.go  the run, a trial, a sample
//	server.go, serverfault.go, process.go, said.go  servers, their faults, processes, a store's words
//	groups.go, overtime.go, capacity.go, collection.go  groups, rates over time, searches, collectors
//
// Read, by any later version:
//
//	open.go, read.go, series.go  all of it, also damaged; follow.go: while it is written
//	find.go                      run directories below a folder
//	fault.go, check.go           what is not as Assay wrote it
//	marks.go, plausible.go, durable.go, disturbed.go, verified.go  what its counts say against a trial
package record

import (
	"cmp"
	"slices"

	"time"

	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/finds"
	"assay/internal/evidence/history"
	"assay/internal/evidence/host"
	"assay/internal/evidence/proof"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
	"assay/store"
)

// State is how a trial ended.
type State string

const (
	OK          State = "ok"
	Marked      State = "marked"      // it ended, but something in it forbids ranking: see Marks
	Failed      State = "failed"      // it did not end: the worker died, hung, or the store failed
	Refused     State = "refused"     // the store can't do what the cell asks
	Interrupted State = "interrupted" // stopped by the user, or others filled the disk; --resume does it again
)

// Trial is the result of a trial: trials/ID/trial.json, written once, when the trial has ended.
type Trial struct {
	Plan    plan.Trial     `json:"plan"`
	State   State          `json:"state"`
	Cause   finding.Code   `json:"cause,omitempty"` // why it failed, was refused or interrupted: one of finding's Cause… codes
	Error   string         `json:"error,omitempty"` // what the worker, the store or the system said of it
	Marks   []finding.Mark `json:"marks,omitempty"`
	Started time.Time      `json:"started"`
	Seconds float64        `json:"seconds"` // the whole trial, start and close of the store included

	Settled   *Settled          `json:"settled,omitempty"` // the wait before it; nil: its phases are too short to wait
	Version   string            `json:"version,omitempty"` // of the store's library or server
	Settings  map[string]string `json:"settings,omitempty"`
	Server    *Server           `json:"server,omitempty"`        // that Assay has started for the trial; nil: none
	Tag       uint32            `json:"trial_tag,omitempty"`     // in the check of every value that the trial wrote
	Namespace string            `json:"key_namespace,omitempty"` // what its keys began with, on a server; "": nothing
	Proof     *Proof            `json:"proof,omitempty"`         // of the class, by power cuts; nil: none was tried
	Kills     *Proof            `json:"kill_proof,omitempty"`    // of the class, by kills; nil: none was tried
	Abilities store.Abilities   `json:"abilities"`
	Memory    *Memory           `json:"memory,omitempty"` // nil: not measured
	// OpenSeconds is how long each opening of the store took, the load's before that of the measured phases.
	OpenSeconds []float64 `json:"open_seconds,omitempty"`
	// Left is what the trial left changed on a server that outlives it: what the server told of itself
	// before the first phase is not among it.
	Left []store.Left `json:"left,omitempty"`
	// ConnectionsLeft is how many connections the worker's processes held ClosePatience after they had
	// closed the store, between phases or at the end: the most.
	ConnectionsLeft int         `json:"connections_left,omitempty"`
	Plans           []QueryPlan `json:"plans,omitempty"` // of each question once, after the first phase that asked it
	Phases          []Phase     `json:"phases"`
	Final           *FinalCheck `json:"final_check,omitempty"`

	QuotaMount *QuotaMount `json:"quota_mount,omitempty"` // nil: the store's files stood on the file system of environment.json, or it has none

	// What a full disk kept from being recorded. Operations and phases are counted elsewhere: they
	// are whole.
	SamplesMissing  uint64 `json:"samples_missing,omitempty"`   // lines that series.jsonl lacks
	LogBytesMissing uint64 `json:"log_bytes_missing,omitempty"` // bytes that worker.log lacks, below its limit

	NotMeasured map[string]string `json:"not_measured,omitempty"` // series of host.Catalogue that this trial's samples lack, or lack from some moment on → why
}

// ClosePatience is how long connections may take to end after the store was closed.
const ClosePatience = 3 * time.Second

// Settled is how long a trial waited for the machine to be back where it was before the first trial
// of the run, or of its part since `--resume`.
type Settled struct {
	Seconds      float64   `json:"seconds"`            // waited; 0: the first trial
	LimitSeconds float64   `json:"limit_seconds"`      // at most
	Left         host.Left `json:"left"`               // when the trial began
	NotBack      []string  `json:"not_back,omitempty"` // dirty, queue, cpu: still above what it was
}

// Proof is what cuts had shown of the store in the class of the trial when the trial ran.
type Proof struct {
	Kept       bool      `json:"kept"` // false: refuted
	Cuts       int       `json:"cuts"`
	Records    uint64    `json:"records_read_back,omitempty"` // after the cuts, over all of them
	FileSystem string    `json:"file_system"`
	Why        string    `json:"why,omitempty"` // it is refuted
	Made       time.Time `json:"made"`
	// Differs lists what in the trial is not as in the cuts (proof.OtherProgram …): they prove and refute
	// nothing of it. Nil: they are of what ran.
	Differs []string `json:"differs,omitempty"`
	// NoPromise: D1 says nothing of power, so that nothing is kept or refuted.
	NoPromise bool `json:"no_promise,omitempty"`
	proof.Measure
}

// Proves reports whether cuts of what ran have kept the promise of its class.
func (p *Proof) Proves() bool { return p != nil && p.Kept && !p.NoPromise && len(p.Differs) == 0 }

// Refutes reports whether a cut of what ran has broken it.
func (p *Proof) Refutes() bool { return p != nil && !p.Kept && len(p.Differs) == 0 }

// ProofOf is what the cuts have shown that can prove the trial's class: kills of the process for D1, and
// power cuts for D2 and D3; nil: none was tried.
func (t *Trial) ProofOf(class store.Durability) *Proof {
	if class == store.D1 {
		return t.Kills
	}
	return t.Proof
}

// QueryPlan is how the store said that it answers a question.
type QueryPlan struct {
	Phase     string         `json:"phase"`     // after which the store was asked
	Operation string         `json:"operation"` // query or count
	Position  int            `json:"position"`  // among the experiment's queries
	Use       store.IndexUse `json:"use,omitempty"`
	Index     string         `json:"index,omitempty"`    // that is used, by the store's name for it; "": none
	Plan      string         `json:"plan,omitempty"`     // in the store's words
	Why       string         `json:"not_told,omitempty"` // why the store did not say; "": it did
}

// Memory is what memory the trial might use, page cache included, and what it did with its limit. A
// nil pointer: not measured, or no limit.
type Memory struct {
	Bytes      *uint64 `json:"bytes"`                 // the limit or, without one, the machine's memory (or that of the container that all of Assay is in)
	LimitBytes *uint64 `json:"limit_bytes,omitempty"` // the limit that was set
	PeakBytes  *uint64 `json:"peak_bytes,omitempty"`  // the most that counted against it
	LimitHits  *uint64 `json:"limit_hits,omitempty"`  // times that it was reached and room had to be made within it
	Kills      *uint64 `json:"kills,omitempty"`       // processes of the trial that the kernel killed because no room could be made
}

// QuotaMount is the file system of its own that a trial's store had, of the size of the cell's disk
// quota.
type QuotaMount struct {
	FileSystem  string `json:"filesystem"`        // ext4 or tmpfs
	By          string `json:"by"`                // host.QuotaLoop or host.QuotaTmpfs
	Bytes       uint64 `json:"bytes"`             // the quota: of the image file or of the tmpfs
	UsableBytes uint64 `json:"usable_bytes"`      // free for the store's files at the beginning; the file system keeps the rest for itself
	Caution     string `json:"caution,omitempty"` // what a reader must know of it
}

// Phase is the result of one phase.
type Phase struct {
	Name       string      `json:"name"`
	Number     int         `json:"number"`
	Measured   bool        `json:"measured"`
	Load       bool        `json:"load,omitempty"`
	Open       bool        `json:"open_load,omitempty"`
	Threads    int         `json:"threads"`
	Processes  int         `json:"processes,omitempty"` // that the threads were parted over; 0: they were the one worker's
	Pipeline   int         `json:"pipeline,omitempty"`  // operations that each thread had on the way at once at most; 0: 1
	Batch      int         `json:"batch,omitempty"`
	ThinkNS    int64       `json:"think_ns,omitempty"`    // for how long threads of closed load paused before each operation, on average
	TimedEvery uint64      `json:"timed_every,omitempty"` // of so many operations one was timed; 0: all were
	EndedBy    Ending      `json:"ended_by,omitempty"`    // "": not known
	ElapsedNS  int64       `json:"elapsed_ns"`            // first operation's start to last one's end, on the worker's clock
	ThreadsNS  int64       `json:"threads_ns,omitempty"`  // from the phase's start to the end of each thread's last operation, summed up; 0: not known
	SampleNS   int64       `json:"sample_ns"`             // planned distance of samples
	Operations []Operation `json:"operations"`
	Steps      []Operation `json:"steps,omitempty"` // what requests are made of: Operations are then requests
	Attempted  uint64      `json:"attempted"`       // operations begun, counted by the conductor from the trace
	Unfinished uint64      `json:"unfinished"`      // begun, without an outcome
	Messages   []Message   `json:"messages,omitempty"`
	// Eventual: the store promises no more than that a read tells some state that was, so that
	// stale reads, and reads that miss what was stored, are no fault.
	Eventual bool          `json:"eventual,omitempty"`
	Clock    string        `json:"clock,omitempty"`   // tsc or monotonic
	History  *History      `json:"history,omitempty"` // nil: no key's history was recorded
	Expiry   *Expiry       `json:"expiry,omitempty"`  // nil: no value has a TTL
	Finds    *finds.Result `json:"finds,omitempty"`   // nil: no scan, query or count was recorded
	// StartSpreadNS is how far from the phase's start one of several processes began.
	StartSpreadNS int64         `json:"start_spread_ns,omitempty"`
	Gone          []Gone        `json:"gone,omitempty"` // processes that ended before their time
	ClockDrift    time.Duration `json:"clock_drift_ns,omitempty"`

	Faults []ServerFault `json:"faults,omitempty"` // what happened to servers, as the experiment asks
	Forgot bool          `json:"forgot,omitempty"` // a server was killed, then or before, in a class that keeps nothing then

	HandleWaitNS  uint64 `json:"handle_wait_ns,omitempty"`
	HandlesOpened uint64 `json:"handles_opened,omitempty"`
	// HandleTimes are from a thread's asking for a handle until it had one: of a pool the wait, of a
	// handle per operation the connecting. Nil: not measured, or threads keep their handles.
	HandleTimes   *histogram.Histogram `json:"handle_ns,omitempty"`
	Starved       *Starved             `json:"starved,omitempty"`         // nil: every thread had its turn
	LatenessMaxNS uint64               `json:"lateness_max_ns,omitempty"` // of dispatch: open load
	// Late are the operations of open load that began late, by how late: word k counts those from
	// 2^(7+k) ns on and below twice that, the last one all from there on. Nil: not measured, or
	// closed load.
	Late     []uint64 `json:"late,omitempty"`
	NotBegun uint64   `json:"not_begun,omitempty"` // operations of open load that were due before the end and never begun: no latency has them
	// BehindNS is by how much open load was behind its schedule: the end, less the due time of the
	// first operation that some thread had not begun; where all were begun, the last one's end,
	// less its due time. 0: it was not, or closed load.
	BehindNS uint64 `json:"behind_ns,omitempty"`

	Milestones *Milestones `json:"milestones,omitempty"` // nil: the experiment asks for none
	// Intervals are what became of a rate that changes over time; none: it does not.
	Intervals []Interval `json:"intervals,omitempty"`
	// Capacity is the search that the phase was; nil: it was none.
	Capacity *Capacity `json:"capacity,omitempty"`

	Fidelity *recording.Fidelity `json:"fidelity,omitempty"` // of a replay: how far what was sent differs from what was recorded

	Runtime map[string]float64 `json:"runtime,omitempty"` // what the worker's language tells: alloc_bytes, allocs, gc_pause_ns …
	Stats   map[string]float64 `json:"stats,omitempty"`   // the store's own counters after the phase
	Evicted *uint64            `json:"evicted,omitempty"` // records that the store says it removed by itself since the trial began; nil: it does not count them
	Sizes   Sizes              `json:"sizes,omitzero"`    // after the phase and its drain
	Process Process            `json:"process,omitzero"`
	Stops   []Stop             `json:"stops,omitempty"` // from outside
	// Confined is what of the processes' CPUs, scheduling, cgroups and limits changed while the phase ran.
	Confined []host.Confined `json:"confined,omitempty"`
	Syncs    *Syncs          `json:"syncs,omitempty"`   // nil: the durability class promises none
	Machine  *Machine        `json:"machine,omitempty"` // nil: not measured, as of a worker that died

	// Agents are what each agent did, where agents did the phase: all else is of all of them together.
	Agents []AgentShare `json:"agents,omitempty"`

	Telemetry *Telemetry `json:"telemetry,omitempty"` // nil: not measured

	// Groups are what each group of clients did, where the phase has several: named as in reports, with
	// what is a group's own. What is the process's or the machine's stands in the phase alone, whose
	// operations are the sum.
	Groups []Phase `json:"groups,omitempty"`
	// BeganNS is when a group began, since the phase's start: when its threads were to begin or, in
	// open load, when its first operation was due. ElapsedNS goes from there to its last operation's
	// end. 0 in a phase.
	BeganNS int64  `json:"began_ns,omitempty"`
	whole   *Phase // of a group in a run by group: the phase that it is of; nil: it is none

	Cold *host.PageCache `json:"cold,omitempty"` // what was left of the store's files in the page cache when the phase began; nil: they were not dropped
}

// AgentShare is what one agent did of a phase.
type AgentShare struct {
	Name       string  `json:"name"`
	Host       string  `json:"host"`
	CPUs       int     `json:"cpus"`                // of its machine
	CPUQuota   float64 `json:"cpu_quota,omitempty"` // of its cgroups, in CPUs; 0: none
	Threads    int     `json:"threads"`
	Processes  int     `json:"processes"`
	Operations uint64  `json:"operations"` // that a rate counts, with an outcome

	CPUSeconds      float64 `json:"cpu_seconds"`       // of its workers
	AgentCPUSeconds float64 `json:"agent_cpu_seconds"` // of the agent itself, which makes traces and reads counters
	RSSBytes        uint64  `json:"rss_bytes"`         // of its workers, at the end
	LatenessMaxNS   uint64  `json:"lateness_max_ns,omitempty"`

	// StartNS is when its last worker began, after the moment that was agreed, and ClockErrorNS by how
	// much that may be wrong: the clocks of two machines are compared by messages.
	StartNS      int64 `json:"start_ns"`
	ClockErrorNS int64 `json:"clock_error_ns"`

	SilentSeconds float64 `json:"silent_s,omitempty"` // in stretches of a second at least in which nothing was heard of it
	SilentAt      float64 `json:"silent_at_s,omitempty"`

	// Its last counters, LinkBytes long, took LinkSeconds to come: more than a second. 0: they did not.
	LinkBytes   uint64  `json:"link_bytes,omitempty"`
	LinkSeconds float64 `json:"link_s,omitempty"`

	// Unheard is what is not known of it, because it or a worker of it was lost: its counts are the least
	// that it did. Nil: all was heard.
	Unheard *Unheard `json:"unheard,omitempty"`
}

// Unheard is what threads of an agent may have done beyond what was heard of them: an interval.
type Unheard struct {
	Threads int     `json:"threads"`
	AtS     float64 `json:"at_s"`               // to when their counts go, since the phase's start
	Least   uint64  `json:"acknowledged_least"` // operations
	// Most are the operations that they began at most: all of the trace. Nil: they had a time, and no number.
	Most *uint64 `json:"attempted_most,omitempty"`
}

// Gone is a process of several that ended, or was killed, in a phase that the others went on with.
type Gone struct {
	Process   int     `json:"process"` // from 0 on
	AtSeconds float64 `json:"at_s"`    // after the phase's start
	Why       string  `json:"why"`
}

// Starved are threads of which no operation ended for a good part of their time, while others did many.
type Starved struct {
	Threads int     `json:"threads"`
	BeganS  float64 `json:"began_s"` // of the first of them, since the phase began
	Seconds float64 `json:"seconds"` // of the longest stretch
	Others  float64 `json:"others"`  // operations that each other thread did in it, on average
}

// Milestones are when each thread had done each so many operations.
type Milestones struct {
	Every uint64 `json:"every"` // operations
	// Seconds since the phase began, of each thread after Every operations, twice as many, and so
	// on: between two samples at the thread's mean rate there.
	Seconds [][]float64 `json:"seconds"`
}

// Ending is why a phase ended.
type Ending string

// The endings. Quota and disk full are outcomes, not mistakes: everything that was counted until
// then holds.
const (
	EndedDuration    Ending = "duration"     // its time was over
	EndedOperations  Ending = "operations"   // all its operations were done
	EndedQuota       Ending = "quota"        // the data directory had reached the cell's disk quota
	EndedDiskFull    Ending = "disk full"    // the store could not write any more
	EndedMemory      Ending = "memory limit" // the kernel killed the worker, because it needed more than its limit
	EndedInterrupted Ending = "interrupted"  // by the user
	EndedUnanswered  Ending = "unanswered"   // the store answered no operation any more, in a phase that goes by their number
	EndedFailed      Ending = "failed"       // the worker died, hung, or said that it could not go on
)

// Telemetry is what looking at the phase cost: Assay's own share of the machine.
type Telemetry struct {
	Readings   uint64  `json:"readings"`    // samples taken
	CPUSeconds float64 `json:"cpu_seconds"` // of the conductor's, for all of them: counters, machine and the lines of the series
}

// Operation is what one kind of operation did in a phase.
type Operation struct {
	Name     string `json:"name"`
	OK       uint64 `json:"ok"`
	Miss     uint64 `json:"miss"`
	Lost     uint64 `json:"lost"`
	Conflict uint64 `json:"conflict"`
	Wrong    uint64 `json:"wrong"`
	Foreign  uint64 `json:"foreign,omitempty"` // of wrong: values of another trial
	Errors   uint64 `json:"errors"`
	Timeout  uint64 `json:"timeout"`

	BytesWritten uint64 `json:"bytes_written"` // keys and values that the store acknowledged
	BytesRead    uint64 `json:"bytes_read"`
	Items        uint64 `json:"items,omitempty"` // records scanned, members of batches, keys that multi-reads found
	// Absent are the keys of multi-reads that were not there, and Calls the calls that multi-reads made: one
	// each or, of keys that several servers or slots have, one for each of these.
	Absent uint64 `json:"absent,omitempty"`
	Calls  uint64 `json:"calls,omitempty"`
	// ItemsOwed are the fewest records that the operations that were ok can have scanned, found or
	// counted, by the trace and what was certainly there all through the phase. Nil: not known.
	ItemsOwed *uint64 `json:"items_owed,omitempty"`
	// Vain is how many of those that were ok or missed had nothing to do at least: deletes of what was not
	// there, by the trace or by the store's word; reads, scans and queries that found nothing. Nil: nothing
	// was deleted in the trial.
	Vain *uint64 `json:"vain,omitempty"`

	MaxNS uint64 `json:"max_ns"` // exact

	Service  *histogram.Histogram `json:"service_ns"`            // of all outcomes
	Response *histogram.Histogram `json:"response_ns,omitempty"` // from the due time; open load only

	// Questions are the operation's parts, of one that asks: each query that the phase asks by it.
	Questions []Question `json:"questions,omitempty"`
}

// Question is what an operation that asks did with one query.
type Question struct {
	Query int `json:"query"` // position among the experiment's queries
	Operation
}

// Add adds what others did of the same kind. How many items both owe is known where each is.
func (o *Operation) Add(other *Operation) {
	o.OK, o.Miss, o.Lost, o.Conflict = o.OK+other.OK, o.Miss+other.Miss, o.Lost+other.Lost, o.Conflict+other.Conflict
	o.Wrong, o.Foreign, o.Errors, o.Timeout =
		o.Wrong+other.Wrong, o.Foreign+other.Foreign, o.Errors+other.Errors, o.Timeout+other.Timeout
	o.BytesWritten, o.BytesRead, o.Items =
		o.BytesWritten+other.BytesWritten, o.BytesRead+other.BytesRead, o.Items+other.Items
	o.Absent, o.Calls = o.Absent+other.Absent, o.Calls+other.Calls
	o.MaxNS = max(o.MaxNS, other.MaxNS)
	o.Service, o.Response = histogram.Sum(o.Service, other.Service), histogram.Sum(o.Response, other.Response)
	o.ItemsOwed, o.Vain = sumKnown(o.ItemsOwed, other.ItemsOwed), sumKnown(o.Vain, other.Vain)
	for _, q := range other.Questions {
		at := slices.IndexFunc(o.Questions, func(known Question) bool { return known.Query == q.Query })
		if at < 0 {
			o.Questions = append(o.Questions, q)
			continue
		}
		o.Questions[at].Add(&q.Operation)
	}
}

// Reads returns how many records a read, or a multi-read, asked for and found: of its calls that tell.
func (o *Operation) Reads() (found, asked uint64) {
	switch o.Name {
	case trace.Read.String(), trace.ReadOrFill.String(), trace.GetAndSet.String():
		return o.OK, o.OK + o.Miss + o.Lost
	case trace.MultiRead.String():
		return o.Items, o.Items + o.Absent
	}
	return 0, 0
}

// sumKnown adds two counts; nil where one is not known.
func sumKnown(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	sum := *a + *b
	return &sum
}

// Operations returns the results of slots by operation: those of one that asks are its questions.
func Operations(slots []Operation) (all []Operation) {
	for i := range slots {
		if n := len(all); n > 0 && all[n-1].Name == slots[i].Name {
			all[n-1].Add(&slots[i])
			continue
		}
		all = append(all, slots[i])
	}
	return all
}

// History is what was recorded of a sample of keys, for the check of consistency.
type History struct {
	Sample  int    `json:"sample"`  // keys
	Records uint64 `json:"records"` // operations on them that were recorded
	Dropped uint64 `json:"dropped"` // that found no room: the history ends before the phase
	// CompleteNS is the moment up to which every change of these keys is recorded, since the
	// phase's start; nil: to its end.
	CompleteNS *int64 `json:"complete_ns,omitempty"`
	// ClockErrorNS is by how much times of different agents may be wrong: a shorter anomaly that takes
	// two agents to see is not seen. 0: all are of one clock.
	ClockErrorNS int64 `json:"clock_error_ns,omitempty"`
	// Updates is what became of updates whose clients knew a version of the record before; nil: no
	// key was changed by such alone, or none was read back.
	Updates *history.Updates `json:"updates,omitempty"`
	// Fills are the reads of the sample that put a value; nil: none did.
	Fills *audit.Fills `json:"fills,omitempty"`

	history.Consistency
}

// Expiry is what reads gave of records whose time was known: section 3.6 of docs/worker-contract.md.
type Expiry struct {
	Gone     uint64 `json:"gone"`               // reads after the record's time that found nothing
	Within   uint64 `json:"within_tick"`        // reads after its time that found it, within the store's tick
	Late     uint64 `json:"late"`               // reads that found it later than that
	Early    uint64 `json:"early"`              // reads that found nothing although its time was not over
	Alive    uint64 `json:"alive"`              // reads that found it within its time
	Unjudged uint64 `json:"unjudged,omitempty"` // reads beside a write of the same record

	LatestNS   int64 `json:"latest_ns,omitempty"`   // after its time, the most that a record was found
	EarliestNS int64 `json:"earliest_ns,omitempty"` // before its time, the most that one was gone
	TickNS     int64 `json:"tick_ns,omitempty"`     // by so much the store may be late, as its driver says
	EarlyNS    int64 `json:"early_ns,omitempty"`    // and by so much early
}

// with returns the sum of two, of which either may be nil.
func (e *Expiry) with(o *Expiry) *Expiry {
	if e == nil || o == nil {
		return cmp.Or(e, o)
	}
	sum := *e
	sum.Gone, sum.Within, sum.Late, sum.Early = e.Gone+o.Gone, e.Within+o.Within, e.Late+o.Late, e.Early+o.Early
	sum.Alive, sum.Unjudged = e.Alive+o.Alive, e.Unjudged+o.Unjudged
	sum.LatestNS, sum.EarliestNS = max(e.LatestNS, o.LatestNS), max(e.EarliestNS, o.EarliestNS)
	sum.TickNS, sum.EarlyNS = max(e.TickNS, o.TickNS), max(e.EarlyNS, o.EarlyNS)
	return &sum
}

// Over is how many reads came after the time of their record.
func (e *Expiry) Over() uint64 { return e.Gone + e.Within + e.Late }

// OnTime is how many of them found the record gone, or within the store's tick.
func (e *Expiry) OnTime() uint64 { return e.Gone + e.Within }

// Calls returns the operations that called the store: in place of requests, their steps. A phase
// that is the sum of groups may have one by a name in each of both.
func (p *Phase) Calls() []Operation {
	isRequest := func(o Operation) bool { return o.Name == trace.Request.String() }
	return slices.Concat(slices.DeleteFunc(slices.Clone(p.Operations), isRequest), p.Steps)
}

// Done returns the operations that have an outcome.
func (o Operation) Done() uint64 {
	return o.OK + o.Miss + o.Lost + o.Conflict + o.Wrong + o.Errors + o.Timeout
}

// Good returns the operations that ended well: a rate counts them. A conflict is an answer to an
// operation that asks for one; any other that ends so was refused, and is work that was not done.
func (o Operation) Good() uint64 {
	if operation, _ := trace.ParseOperation(o.Name); operation.Conditional() {
		return o.OK + o.Miss + o.Conflict
	}
	return o.OK + o.Miss
}

// Message is a distinct error text, with how often it came.
type Message struct {
	Operation string `json:"operation"`
	Outcome   string `json:"outcome"`
	Text      string `json:"text"`
	Count     uint64 `json:"count"`
}

// Sizes are what stands where. A nil pointer: not measured.
type Sizes struct {
	LogicalBytes *uint64 `json:"logical_bytes"` // keys and values that are live, by the trace's arithmetic
	DiskBytes    *uint64 `json:"disk_bytes"`    // blocks allocated under the data directory
	Files        *uint64 `json:"files"`         //
	Records      *uint64 `json:"records"`       // live records, by the trace's arithmetic
	Drained      bool    `json:"drained"`       // the store said that it has no background work left
	DrainSeconds float64 `json:"drain_seconds"` //

	DataToMemory *float64 `json:"data_to_memory"` // logical bytes ÷ Trial.Memory.Bytes
}

// Process is what the worker process used during the phase and, of servers under test, what their
// processes did. A nil pointer: not measured.
type Process struct {
	CPUSeconds    *float64 `json:"cpu_seconds"`
	RSSMaxBytes   *uint64  `json:"rss_max_bytes"`
	HostReadBytes *uint64  `json:"host_read_bytes"`
	MajorFaults   *uint64  `json:"major_faults"`

	HostWriteBytes        *uint64 `json:"host_write_bytes"`                   // what went to the storage layer
	HostWriteBytesDrained *uint64 `json:"host_write_bytes_drained,omitempty"` // the same of the phase and its drain together; see WrittenBytes
	HostWriteSource       string  `json:"host_write_source,omitempty"`        // WritesOfProcess, WritesOfDisk or WritesOfServer; "": not measured
	HostWriteWhy          string  `json:"host_write_not_measured,omitempty"`  // why it was not measured; "" if it was

	// What the workers used between the request to prepare the phase and that to run it, and after it up
	// to the end of its drain: work that its time does not have.
	CPUSecondsBefore     *float64 `json:"cpu_seconds_before,omitempty"`
	HostWriteBytesBefore *uint64  `json:"host_write_bytes_before,omitempty"`
	HostReadBytesBefore  *uint64  `json:"host_read_bytes_before,omitempty"`
	CPUSecondsAfter      *float64 `json:"cpu_seconds_after,omitempty"`

	// Of the server under test, the processes below it included; several servers together. See
	// MemoryBytes and CPU.
	ServerCPUSeconds    *float64 `json:"server_cpu_seconds,omitempty"`
	ServerRSSMaxBytes   *uint64  `json:"server_rss_max_bytes,omitempty"`
	ServerSharedWhy     string   `json:"server_shared_not_measured,omitempty"` // why what its processes share is in ServerRSSMaxBytes once for each, but for RssShmem; "": once
	ServerHostReadBytes *uint64  `json:"server_host_read_bytes,omitempty"`
	ServerWhy           string   `json:"server_not_measured,omitempty"` // why something of the server is not known; "": all is, or there is none
}

// What host writes come from.
const (
	WritesOfProcess = "process" // /proc/PID/io write_bytes, found true by host.CheckWriteCount: pages of files, counted when they become dirty
	WritesOfDisk    = "disk"    // the counter of the trial's own disk: host.OwnDisk
	WritesOfServer  = "server"  // as WritesOfProcess, but of the server under test, and without what the worker wrote
)

// WritesNowhere is Process.HostWriteWhy of a store that has no files.
const WritesNowhere = "it keeps everything in memory"

// Stop is a time in which something outside stopped the worker, a server under test or the machine.
type Stop struct {
	Why     string  `json:"why"`             // host.StoppedBySignal, …
	At      float64 `json:"t"`               // seconds since the phase began
	Seconds float64 `json:"seconds"`         // to the look before and after it
	Agent   string  `json:"agent,omitempty"` // on whose machine; "": this one
}

// Syncs holds the writes that a phase acknowledged in a durability class against what the disk and
// the server did meanwhile.
type Syncs struct {
	Acknowledged uint64  `json:"acknowledged"`           // writes
	Clients      int     `json:"clients,omitempty"`      // writes that may wait for one sync: one of each thread, or as many as it has on the way
	Least        uint64  `json:"least"`                  // syncs that they need, if each covers a write of every client
	Done         *uint64 `json:"done"`                   // by the disk, for this store or any other program; nil: not measured, or the class promises no sync before the reply
	Counted      string  `json:"counted,omitempty"`      // host.SyncFlushes or host.SyncWrites
	Disk         string  `json:"disk,omitempty"`         // "nvme0n1"; "": not known, and Why says why
	Why          string  `json:"not_measured,omitempty"` // why the class is the store's claim alone; "": it was held against the disk

	SyncNS  int64   `json:"sync_ns,omitempty"` // the fastest sync of 4 KiB on that disk that was seen; 0: not measured
	Server  *uint64 `json:"server,omitempty"`  // syncs by the server's own count; nil: it has none
	Counter string  `json:"counter,omitempty"` // that counts these
	LagNS   int64   `json:"lag_ns,omitempty"`  // by which it may be late
	// Calls are the syncs that the store's own processes asked the kernel for; nil: not counted, and
	// CallsWhy says why. host.SyncCalls.
	Calls    *uint64 `json:"calls,omitempty"`
	CallsWhy string  `json:"calls_not_counted,omitempty"`
	Broken   string  `json:"broken,omitempty"` // the server's setting that did not give the class after the phase; "": all did
}

// Machine is how much of the machine a phase had to do without. A nil pointer: not measured, and
// NotMeasured says why.
type Machine struct {
	Seconds float64 `json:"seconds"` // between the readings that all of this comes from: the phase, and what it took to begin and end it

	CPUs      int  `json:"cpus,omitempty"`  // that the trial's processes may use; 0: not recorded
	Spare     int  `json:"spare,omitempty"` // of these, as many cores as the phase had no use for: see SpareCPUs
	tolerated bool // see Tolerate

	Foreign *host.Bounds `json:"foreign,omitempty"` // share of the time of CPUs used by processes that are not this trial's
	Steal   *host.Bounds `json:"steal,omitempty"`   // share of the time of CPUs taken by the hypervisor

	QuotaSeconds *float64 `json:"quota_seconds,omitempty"` // for how long a CPU quota kept threads from a CPU, summed over CPUs
	QuotaPeriods *uint64  `json:"quota_periods,omitempty"` // in which the quota was used up
	QuotaGroup   string   `json:"quota_group,omitempty"`   // the cgroup that has it: the worker's or one above; "": none held anything back

	HeatSeconds *float64 `json:"heat_seconds,omitempty"` // for how long the hottest core or package slowed down; nil as well where only events are counted
	HeatEvents  *uint64  `json:"heat_events,omitempty"`  // how often it did

	// NotMeasured are "foreign", "steal", "quota" and "heat" → why it is not known, or not closely
	// enough to tell whether it was too much.
	NotMeasured map[string]string `json:"not_measured,omitempty"`
}

// FinalCheck is what the last phase found when it read records back.
type FinalCheck struct {
	Records  uint64   `json:"records"`            // read back
	NotRead  uint64   `json:"not_read,omitempty"` // that were to be read as well: the check was given up, because the store did not answer
	Of       uint64   `json:"of"`                 // that were put, deleted since or not: those read back were drawn from them
	Fits     uint64   `json:"fits,omitempty"`     // that memory had room to check, where more were to be; 0: all of them
	Right    uint64   `json:"right"`
	Lost     uint64   `json:"lost"`              // absent, though a write was acknowledged and no delete could have come after it
	Evicted  uint64   `json:"evicted,omitempty"` // absent, and the store says that it removed as many or more
	Expired  uint64   `json:"expired,omitempty"` // of right: absent, and their time was over
	Late     uint64   `json:"late,omitempty"`    // there, although their time and the store's tick were over
	Stale    uint64   `json:"stale"`             // an older value than any that the last acknowledged writes allow
	Wrong    uint64   `json:"wrong"`
	Foreign  uint64   `json:"foreign,omitempty"` // of wrong: values of another trial
	Errors   uint64   `json:"errors"`
	Unknown  uint64   `json:"unknown"` // values too short to prove their version
	Examples []string `json:"examples,omitempty"`
	Forgot   bool     `json:"forgot,omitempty"` // a server was killed in a class that keeps nothing then: lost and stale are no fault

	StoreEvicted *uint64 `json:"store_evicted,omitempty"` // records that the store says it removed by itself since the trial began; nil: it does not count them, or none was absent

	Increments *Increments `json:"increments,omitempty"` // nil: records have no counter, or some could not be read
	Adds       *Adds       `json:"adds,omitempty"`       // nil: no phase adds, or it could not be told
}

// Adds is what came of adds that all threads did with the same keys, after the phases.
type Adds struct {
	Existing    uint64 `json:"existing"`    // keys whose records were there
	Overwritten uint64 `json:"overwritten"` // adds of these that were acknowledged
	Contested   uint64 `json:"contested"`   // keys that were not there
	Stored      uint64 `json:"stored"`      // adds of these that were acknowledged: one each
}

// Increments is what the counters of the records that were read back add up to.
type Increments struct {
	Counted uint64 `json:"counted"`
	Least   uint64 `json:"least"` // acknowledged
	Most    uint64 `json:"most"`  // tried
}

// Sample is one line of trials/ID/series.jsonl: what happened since the sample before. Rates are
// per second of Seconds. A field that could not be measured is absent.
type Sample struct {
	Phase      string            `json:"phase"`
	At         float64           `json:"t"`  // seconds since the phase began, at the sample's end
	Seconds    float64           `json:"dt"` // since the sample before
	Operations uint64            `json:"ops"`
	ByName     map[string]uint64 `json:"by,omitempty"`  // operations by name, where there are several
	Bad        uint64            `json:"bad,omitempty"` // lost, wrong, error, timeout, and conflicts of what asks no condition
	P50NS      *float64          `json:"p50,omitempty"` // service time of all operations together
	P99NS      *float64          `json:"p99,omitempty"`
	MaxNS      *float64          `json:"max,omitempty"`
	Groups     []GroupSample     `json:"groups,omitempty"`  // where the phase has several groups: of each
	Records    *uint64           `json:"records,omitempty"` // live records, by the trace's arithmetic
	DiskBytes  *uint64           `json:"disk,omitempty"`
	RSSBytes   *uint64           `json:"rss,omitempty"`
	CPUSeconds *float64          `json:"cpu,omitempty"`   // used since the sample before
	WriteBytes *uint64           `json:"write,omitempty"` // host writes since the sample before
	ReadBytes  *uint64           `json:"read,omitempty"`
	Stopped    string            `json:"stopped,omitempty"` // why something stood still from outside: host.StoppedBySignal, …; "": nothing did
	Steal      *float64          `json:"steal,omitempty"`   // share of the machine's CPU time taken by the hypervisor
	Foreign    *float64          `json:"foreign,omitempty"` // share of the machine's CPU time used by processes that are not this trial's
	Stats      Values            `json:"stats,omitzero"`    // the store's own counters as they stand, where its worker tells them during a phase
	Resources  Values            `json:"res,omitzero"`      // series of host.Catalogue by name, but those that have a field here; see Sample.Resource
}

// GroupSample is what one group of clients did in a sample. Its fields are those of Sample.
type GroupSample struct {
	Operations uint64            `json:"ops"`
	ByName     map[string]uint64 `json:"by,omitempty"`
	Bad        uint64            `json:"bad,omitempty"`
	P50NS      *float64          `json:"p50,omitempty"`
	P99NS      *float64          `json:"p99,omitempty"`
	MaxNS      *float64          `json:"max,omitempty"`
}

// Environment is the machine and the programs, sealed when the run begins: environment.json. "" or
// 0: not known.
type Environment = host.Environment
