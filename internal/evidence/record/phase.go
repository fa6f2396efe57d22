package record

import (
	"cmp"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/finds"
	"assay/internal/evidence/history"
	"assay/internal/evidence/host"
	"assay/internal/experiment/recording"
)

// Phase is the result of one phase. Attempted is the sum of all outcomes of its operations, and of what is
// unfinished; otherwise the trial is marked counts-disagree.
type Phase struct {
	Name string `json:"name"` // from the experiment; of a group "PHASE · GROUP"
	// From the experiment. It stands in the versions of the values that the phase wrote.
	Number   int  `json:"number"`
	Measured bool `json:"measured"`            // it is in the tables
	Load     bool `json:"load,omitempty"`      // it is a bulk load
	Open     bool `json:"open_load,omitempty"` // operations had due times
	Threads  int  `json:"threads"`             // that called the store
	// Processes that the threads were parted over (`tasks`). What is the worker's elsewhere is then the sum
	// of all. 0: they were the one worker's.
	Processes int `json:"processes,omitempty"`
	// The most operations that each thread had on the way at once. 0: one.
	Pipeline int   `json:"pipeline,omitempty"`
	Batch    int   `json:"batch,omitempty"`    // writes a batch
	ThinkNS  int64 `json:"think_ns,omitempty"` // mean pause of a thread before each operation
	// Of so many operations one was timed: service_ns and max_ns are of that sample. 0: all were.
	TimedEvery uint64 `json:"timed_every,omitempty"`
	// Why it ended: duration; operations (all were done); quota (the store's files reached `disk_quota`);
	// "disk full"; "memory limit" (killed by the kernel); interrupted; unanswered (the store stopped
	// answering, in a phase of a number of operations); failed (died, hung, or could not go on). "": not
	// known. Its counters are still right.
	EndedBy Ending `json:"ended_by,omitempty"`
	// From the first operation's start to the last one's end, on the worker's clock.
	ElapsedNS int64 `json:"elapsed_ns"`
	// From the phase's start to the end of each thread's last operation, summed up. 0: not known.
	ThreadsNS int64 `json:"threads_ns,omitempty"`
	// Planned distance of samples.
	SampleNS int64 `json:"sample_ns"`
	// One for each kind of operation.
	Operations []Operation `json:"operations"`
	// Of requests, what their steps did: operations are then the requests.
	Steps []Operation `json:"steps,omitempty"`
	// Operations begun, counted by the conductor from the trace.
	Attempted  uint64    `json:"attempted"`
	Unfinished uint64    `json:"unfinished"`         // begun, without an outcome
	Messages   []Message `json:"messages,omitempty"` // distinct error texts
	// The store only promises that a read tells some state that was. Stale reads, and misses of what was
	// stored, do not mark the trial.
	Eventual bool   `json:"eventual,omitempty"`
	Clock    string `json:"clock,omitempty"` // tsc or monotonic
	// What a sample of keys showed. Nil: nothing was recorded.
	History *History `json:"history,omitempty"`
	// What reads gave of records whose time was known. Nil: no value had a TTL.
	Expiry *Expiry `json:"expiry,omitempty"`
	// What recorded scans, queries and counts showed. Nil: none was recorded.
	Finds *finds.Result `json:"finds,omitempty"`
	// Of several processes: how far from the phase's start one of them began, at most.
	StartSpreadNS int64 `json:"start_spread_ns,omitempty"`
	// Of several processes, those that died or hung while the others went on.
	Gone []Gone `json:"gone,omitempty"`
	// The largest difference between the clock and the kernel's that was seen, in ns.
	ClockDrift time.Duration `json:"clock_drift_ns,omitempty"`

	// What happened to servers, as the experiment asks.
	Faults []ServerFault `json:"faults,omitempty"`
	// A server was killed, then or before, in a class that keeps nothing then: what is lost or old is no
	// fault.
	Forgot bool `json:"forgot,omitempty"`

	HandleWaitNS  uint64 `json:"handle_wait_ns,omitempty"` // time that threads waited for a pooled handle
	HandlesOpened uint64 `json:"handles_opened,omitempty"` // handles opened
	// Times until a thread had a handle: of a pool the wait, with `per_operation` the opening (of a server's
	// client, connecting). Nil: the worker does not count them, or threads keep their handles.
	HandleTimes *histogram.Histogram `json:"handle_ns,omitempty"`
	// Threads that waited while others worked. Nil: every thread had its turn.
	Starved *Starved `json:"starved,omitempty"`
	// Open load: the largest dispatch lateness (docs/worker-contract.md, section 3.2).
	LatenessMaxNS uint64 `json:"lateness_max_ns,omitempty"`
	// Open load: operations that began late, by how late. The k-th of 25 counts (from 0) has those from
	// 2^(7+k) ns on and below twice that, the last one all from 2^31 ns on. Nil: not measured, or closed load.
	Late []uint64 `json:"late,omitempty"`
	// Open load: operations due before the end and never begun. No latency has them.
	NotBegun uint64 `json:"not_begun,omitempty"`
	// Open load: how far behind its schedule it ended. It is the end, less the due time of the first
	// operation that some thread had not begun. Where all were begun: the last one's end, less its due time.
	BehindNS uint64 `json:"behind_ns,omitempty"`

	// When each thread had done each so many operations. Nil: the experiment asks for none.
	Milestones *Milestones `json:"milestones,omitempty"`
	// What became of a rate, or of threads, that change over time: pieces of about a 120th of the phase, in
	// their order. None: they do not change.
	Intervals []Interval `json:"intervals,omitempty"`
	// The search for a capacity that the phase was. Nil: it was none.
	Capacity *Capacity `json:"capacity,omitempty"`

	// Of a replay: what was sent against what was recorded.
	Fidelity *recording.Fidelity `json:"fidelity,omitempty"`

	// What the worker's language runtime tells: allocations, collector pauses (alloc_bytes, allocs,
	// gc_pause_ns …).
	Runtime map[string]float64 `json:"runtime,omitempty"`
	// The store's own counters after the phase.
	Stats map[string]float64 `json:"stats,omitempty"`
	// Records that the store says it removed early by itself since the trial began. From 1 on, reads that
	// miss what was stored do not mark the trial. Nil: it does not count them.
	Evicted *uint64 `json:"evicted,omitempty"`
	// What stands where, after the phase and its drain.
	Sizes Sizes `json:"sizes,omitzero"`
	// What the worker process and the server used.
	Process Process `json:"process,omitzero"`
	// Times in which something outside stopped the store's process or the machine.
	Stops []Stop `json:"stops,omitempty"`
	// What of the processes' CPUs, scheduling, cgroup or limits changed while the phase ran.
	Confined []host.Confined `json:"confined,omitempty"`
	// In class D3: what the disk did for writes acknowledged as synced. Nil: the class promises none.
	Syncs *Syncs `json:"syncs,omitempty"`
	// How much of the machine the phase had to do without. Nil: not measured, as of a worker that died.
	Machine *Machine `json:"machine,omitempty"`

	// What each agent did, where agents did the phase: all else is of all of them together.
	Agents []AgentShare `json:"agents,omitempty"`

	// What looking at the phase cost. Nil: not measured.
	Telemetry *Telemetry `json:"telemetry,omitempty"`

	// Of several groups of clients, in the experiment's order: each one's own fields of this table. What is
	// the process's or the machine's stands in the phase alone. The phase's operations, attempted and
	// unfinished are their sums.
	Groups []Phase `json:"groups,omitempty"`
	// Of a group: when its threads were to begin or, in open load, its first operation was due, since the
	// phase's start. Its elapsed_ns counts from then.
	BeganNS int64  `json:"began_ns,omitempty"`
	whole   *Phase // of a group in a run by group: the phase that it is of; nil: it is none

	// What of the store's files was in the page cache when the phase began, after they had been dropped from
	// it. Nil: they were not dropped.
	Cold *host.PageCache `json:"cold,omitempty"`
}

// AgentShare is what one agent did of a phase.
type AgentShare struct {
	Name       string  `json:"name"`                // of the agent
	Host       string  `json:"host"`                // its machine
	CPUs       int     `json:"cpus"`                // of its machine
	CPUQuota   float64 `json:"cpu_quota,omitempty"` // of its cgroups, in CPUs; 0: none
	Threads    int     `json:"threads"`             // that it had of the phase's
	Processes  int     `json:"processes"`           // that they were in
	Operations uint64  `json:"operations"`          // that a rate counts, with an outcome

	CPUSeconds float64 `json:"cpu_seconds"` // CPU time of its workers
	// CPU time of the agent itself, which makes traces and reads counters.
	AgentCPUSeconds float64 `json:"agent_cpu_seconds"`
	RSSBytes        uint64  `json:"rss_bytes"`                 // memory of its workers, at the end
	LatenessMaxNS   uint64  `json:"lateness_max_ns,omitempty"` // largest dispatch lateness

	// When its last worker began, after the moment that was agreed.
	StartNS int64 `json:"start_ns"`
	// By how much that may be wrong: the clocks of two machines are compared by messages.
	ClockErrorNS int64 `json:"clock_error_ns"`

	// How long nothing was heard of it, in stretches of a second at least.
	SilentSeconds float64 `json:"silent_s,omitempty"`
	SilentAt      float64 `json:"silent_at_s,omitempty"` // from when on, since the phase's start

	// Size of its last counters, where they took more than a second to come.
	LinkBytes uint64 `json:"link_bytes,omitempty"`
	// How long they took to come. 0: not more than a second.
	LinkSeconds float64 `json:"link_s,omitempty"`

	// What is not known of it, because it or a worker of it was lost: its counts are the least that it did.
	// Nil: all was heard.
	Unheard *Unheard `json:"unheard,omitempty"`
}

// Unheard is what threads of an agent may have done beyond what was heard of them: an interval.
type Unheard struct {
	Threads int     `json:"threads"`            // of which not all was heard
	AtS     float64 `json:"at_s"`               // to when their counts go, since the phase's start
	Least   uint64  `json:"acknowledged_least"` // operations that ended well, at least
	// Operations that they began at most: all of the trace. Nil: the phase had a time, and no number.
	Most *uint64 `json:"attempted_most,omitempty"`
}

// Gone is a process of several that ended, or was killed, in a phase that the others went on with.
type Gone struct {
	Process   int     `json:"process"` // from 0 on
	AtSeconds float64 `json:"at_s"`    // after the phase's start
	Why       string  `json:"why"`     // how it ended
}

// Starved are threads of which no operation ended for a second and a quarter of their time at least, while
// the others did 100 each.
type Starved struct {
	Threads int     `json:"threads"` // how many
	BeganS  float64 `json:"began_s"` // of the first of them, since the phase began
	Seconds float64 `json:"seconds"` // of the longest stretch
	Others  float64 `json:"others"`  // operations of each other thread meanwhile, on average
}

// Milestones are when each thread had done each so many operations.
type Milestones struct {
	Every uint64 `json:"every"` // operations
	// Seconds since the phase began, a list for each thread: after so many operations, twice as many, and so
	// on. Between two samples they are interpolated at the thread's mean rate there.
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

// History is what a sample of keys showed: docs/consistency.md.
type History struct {
	Sample  int    `json:"sample"`  // keys
	Records uint64 `json:"records"` // operations on them that were recorded
	Dropped uint64 `json:"dropped"` // that found no room: the history ends before the phase
	// Up to when every change of these keys is recorded, since the phase's start. Nil: to its end.
	CompleteNS *int64 `json:"complete_ns,omitempty"`
	// By how much times of different agents may be wrong: a shorter anomaly that takes two agents to see is
	// not seen. Those of one agent have its one clock. 0: all are of one clock.
	ClockErrorNS int64 `json:"clock_error_ns,omitempty"`
	// What became of updates whose clients knew a version of the record before. Nil: no key was changed by
	// such alone, or none was read back.
	Updates *history.Updates `json:"updates,omitempty"`
	// The reads of the sample that put a value. Nil: none did.
	Fills *audit.Fills `json:"fills,omitempty"`

	history.Consistency
}

// Expiry is what reads gave of records whose time was known: docs/worker-contract.md, section 3.6.
type Expiry struct {
	Gone   uint64 `json:"gone"`        // reads after the record's time that found nothing
	Within uint64 `json:"within_tick"` // reads after its time that found it, within the store's tick
	Late   uint64 `json:"late"`        // reads that found it later than that
	// Reads that found nothing although its time was not over: each is lost, too.
	Early    uint64 `json:"early"`
	Alive    uint64 `json:"alive"`              // reads that found it within its time
	Unjudged uint64 `json:"unjudged,omitempty"` // reads beside a write of the same record

	LatestNS   int64 `json:"latest_ns,omitempty"`   // after its time, the most that a record was found
	EarliestNS int64 `json:"earliest_ns,omitempty"` // before its time, the most that one was gone
	TickNS     int64 `json:"tick_ns,omitempty"`     // by so much the store may be late, as its driver says
	EarlyNS    int64 `json:"early_ns,omitempty"`    // by so much it may be early, as its driver says
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
