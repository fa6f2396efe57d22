package finding

import "assay/internal/base/format"

// What stands over columns and parts: of the tables of a run, of comparisons, of archives and of the
// one screen.
var _ = register(
	Entry{Example: UnitOps, Says: `ops/s`},
	Entry{Example: UnitOperations, Says: `operations/s`},
	Entry{Example: UnitRecords, Says: `records/s`},
	Entry{Example: UnitBatches, Says: `batches/s`},
	Entry{Example: UnitRequests, Says: `requests/s`},
	Entry{Example: UnitLatency, Says: `p99 latency`},

	Entry{Example: HeadingAnswer, Says: `Answer`},
	Entry{Example: HeadingClear, Says: `Clear`},
	Entry{Example: HeadingNotClear, Says: `Not clear`},
	Entry{Example: HeadingChecked, Says: `Checked`},
	Entry{Example: HeadingTrust, Says: `Trust`},
	Entry{Example: HeadingNext, Says: `Next`},
	Entry{Example: HeadingReport, Says: `Report`},
	Entry{Example: HeadingSummary, Says: `Summary`},
	Entry{Example: HeadingFindings, Says: `Findings`},
	Entry{Example: HeadingFailed, Says: `Trials without a figure`},
	Entry{Example: HeadingSettings, Says: `Settings`},
	Entry{Example: HeadingMissing, Says: `Missing`},
	Entry{Example: HeadingEffects, Says: `Effects of the axes`},
	Entry{Example: HeadingScaling, Says: `Scaling`},
	Entry{Example: HeadingLoss, Says: `Rate against loss`},
	Entry{Example: HeadingStores, Says: `Stores`},
	Entry{Example: HeadingTrials, Says: `Trials`},
	Entry{Example: HeadingMachine, Says: `Environment`},
	Entry{Example: HeadingReading, Says: `How to read this`},

	// Of rows.
	Entry{Example: ColumnStore, Says: `Store`},
	Entry{Example: ColumnOperation, Says: `Operation`},
	Entry{Example: ColumnStep, Says: `Step`},
	Entry{Example: ColumnSegment, Says: `Segment`},
	Entry{Example: ColumnAskedRate, Says: `Asked rate`, Unit: `operations/s`, Short: `asked rate`},
	Entry{Example: ColumnAsked, Says: `Asked`, Unit: `operations/s`, Short: `asked`},
	Entry{Example: ColumnBegun, Says: `Sent`, Unit: `operations/s`, Short: `sent`},
	Entry{Example: ColumnEnded, Says: `Done`, Unit: `operations/s`, Short: `done`},
	Entry{Example: ColumnBacklog, Says: `Backlog`, Unit: `at its end`, Short: `backlog`},
	Entry{Example: ColumnBehind, Says: `Behind`, Unit: `at its end`, Short: `behind`},
	Entry{Example: ColumnRecovery, Says: `Recovered`, Unit: `after its end`, Short: `recovered`},
	Entry{Example: ColumnLateness, Says: `Harness late`, Unit: `p99`, Short: `harness late`},
	Entry{Example: ColumnServer, Says: `Server`},
	Entry{Example: ColumnWhere, Says: `Where`},
	Entry{Example: ColumnPhase, Says: `Phase`},
	Entry{Example: ColumnChange, Says: `Change`},
	Entry{Example: ColumnRatio, Says: `Ratio`},
	Entry{Example: ColumnFigure, Says: `Figure`},
	Entry{Example: ColumnInterval, Says: `95 %`},
	Entry{Example: ColumnFirst, Says: `First`},
	Entry{Example: ColumnLast, Says: `Last`},
	Entry{Example: ColumnTrend, Says: `Trend`},
	Entry{Example: ColumnChangedAt, Says: `Changed at`},

	// Of who is how fast.
	Entry{Example: ColumnRank, Says: `Rank`},
	Entry{Example: RateColumnParams{ColumnRate, "ops/s"}, Says: `Rate`, Unit: `{{.unit}}`, Short: `{{.unit}}`},
	Entry{Example: ColumnRecords, Says: `Records`, Unit: `per s`, Short: `records/s`},
	Entry{Example: ColumnOfBest, Says: `Of the best`, Unit: `95 % interval`},
	Entry{Example: ColumnOfBaseline, Says: `Of the baseline`, Unit: `95 % interval`},
	Entry{Example: RateColumnParams{ColumnWorst, "ops/s"}, Says: `Worst sample`, Unit: `{{.unit}}`, Short: `worst`},
	Entry{Example: ColumnItems, Says: `Items`, Unit: `per op`, Short: `items/op`},
	Entry{Example: ColumnAbsent, Says: `Absent`, Unit: `keys`, Short: `absent`},
	Entry{Example: ColumnCalls, Says: `Calls`, Unit: `per op`, Short: `calls/op`},
	Entry{Example: ColumnDone, Says: `Done`, Unit: `operations`, Short: `count`},
	Entry{Example: ColumnRight, Says: `Right`, Unit: `answers, checked`},
	Entry{Example: ColumnPlan, Says: `Plan`, Unit: `of the store`},
	Entry{Example: LatencyColumnParams{"p99", 100}, Says: `{{.quantile}}`, Unit: `latency{{if .one_in}}, 1 in {{.one_in}}{{end}}`,
		Also: []Parameters{LatencyColumnParams{Quantile: "max"}}},
	Entry{Example: ColumnWait, Says: `Wait`, Unit: `for a handle`},
	Entry{Example: HandleColumnParams{"p99", true}, Says: `{{if .waits}}Wait{{else}}Connect{{end}} {{.quantile}}`, Unit: `to a handle`,
		Also: []Parameters{HandleColumnParams{Quantile: "p99"}}},
	Entry{Example: ColumnMisses, Says: `Misses`, Unit: `operations`},
	Entry{Example: ColumnConflicts, Says: `Conflicts`, Unit: `operations`},
	Entry{Example: ColumnHitRatio, Says: `Hit ratio`, Unit: `of reads`},
	Entry{Example: ColumnExpired, Says: `On time`, Unit: `of reads after a TTL`, Short: `expired on time`},
	Entry{Example: ColumnLatest, Says: `Latest`, Unit: `after a TTL`, Short: `latest after a TTL`},
	Entry{Example: ColumnOldReads, Says: `Old reads`, Unit: `of sampled reads`},
	Entry{Example: ColumnStaleMedian, Says: `How late`, Unit: `old reads, median`, Short: `old by (median)`},
	Entry{Example: ColumnStaleP99, Says: `How late`, Unit: `old reads, p99`, Short: `old by (p99)`},
	Entry{Example: ColumnStaleMax, Says: `How late`, Unit: `old reads, at most`, Short: `old by (max)`},
	Entry{Example: ColumnCurrentAfter, Says: `Current after`, Unit: `99 % of reads`, Short: `current after`},
	Entry{Example: ColumnLostUpdates, Says: `Lost updates`, Unit: `of updates`},
	Entry{Example: ColumnLossFound, Says: `Finds a loss`, Unit: `of 1 in … writes`, Short: `finds a loss of 1 in`},
	Entry{Example: ColumnStarts, Says: `Starts`, Unit: `of processes, apart`, Short: `starts apart`},
	Entry{Example: ColumnFirstMilestone, Says: `First`, Unit: `milestone`, Short: `first milestone`},
	Entry{Example: ColumnLastMilestone, Says: `Last`, Unit: `milestone`, Short: `last milestone`},
	Entry{Example: ColumnBad, Says: `Bad`, Unit: `operations`},

	// Of rates that were not held.
	Entry{Example: ColumnCourse, Says: `Course`, Unit: `of the rate`},
	Entry{Example: RateColumnParams{ColumnEarly, "ops/s"}, Says: `Early`, Unit: `{{.unit}}`},
	Entry{Example: RateColumnParams{ColumnLate, "ops/s"}, Says: `Late`, Unit: `{{.unit}}`},
	Entry{Example: ColumnBrokeRecords, Says: `Broke at`, Unit: `records`, Short: `broke at records`},
	Entry{Example: ColumnBrokeTime, Says: `Broke at`, Unit: `time`, Short: `at`},
	Entry{Example: ColumnReached, Says: `Reached`, Unit: `records`},
	Entry{Example: ColumnWith, Says: `With`, Unit: `resources`},
	Entry{Example: ColumnBlocks, Says: `Blocks`},
	Entry{Example: ColumnScreenEarly, Says: `early/s`},
	Entry{Example: ColumnScreenLate, Says: `late/s`},
	Entry{Example: ColumnScreenWith, Says: `fell with`},

	// Of what the work took.
	Entry{Example: ColumnMemory, Says: `Memory`, Unit: `peak RSS`},
	Entry{Example: ColumnDataMemory, Says: `Data/memory`, Unit: `data ÷ memory`},
	Entry{Example: ColumnDisk, Says: `Disk`, Unit: `after the drain`},
	Entry{Example: ColumnSpace, Says: `Space`, Unit: `disk ÷ logical`},
	Entry{Example: ColumnLogical, Says: `Logical`, Unit: `bytes`},
	Entry{Example: ColumnHostWrites, Says: `Host writes`, Unit: `bytes`},
	Entry{Example: ColumnWriteAmplification, Says: `Write ampl.`, Unit: `host writes ÷ logical`},
	Entry{Example: ColumnDrained, Says: `Drained`, Unit: `in`},
	Entry{Example: ColumnCPU, Says: `CPU`, Unit: `per op`, Short: `CPU/op`},
	Entry{Example: ColumnHarness, Says: `Harness`, Unit: `share`},
	Entry{Example: ColumnAllocBytes, Says: `Alloc`, Unit: `per op`, Short: `alloc/op`},
	Entry{Example: ColumnAllocs, Says: `Allocs`, Unit: `per op`, Short: `allocs/op`},
	Entry{Example: ColumnConnections, Says: `Connections`, Unit: `most seen, of`},

	// Of each server of a store.
	Entry{Example: ColumnNodeOperations, Says: `Operations`, Unit: `share`, Short: `operations`},
	Entry{Example: ColumnNodeCPU, Says: `CPU`, Unit: `of one`, Short: `CPU`},
	Entry{Example: ColumnNodeMemory, Says: `Memory`, Unit: `peak RSS`, Short: `memory`},
	Entry{Example: ColumnNodeConnections, Says: `Connections`, Unit: `at most`, Short: `connections`},
	Entry{Example: ColumnNodeRead, Says: `Read`, Unit: `per s`, Short: `read/s`},
	Entry{Example: ColumnNodeWritten, Says: `Written`, Unit: `per s`, Short: `written/s`},

	// Of reads that may be old.
	Entry{Example: ColumnSinceWrite, Says: `Since the write`, Short: `since the write`},
	Entry{Example: ColumnAgeReads, Says: `Reads`, Unit: `sampled`, Short: `reads`},
	Entry{Example: ColumnAgeOld, Says: `Old`, Unit: `of these`, Short: `old`},
)

// The units of rates, and what stands in their place where the experiment set the rates.
const (
	UnitOps        Bare = "unit ops"
	UnitOperations Bare = "unit operations"
	UnitRecords    Bare = "unit records"
	UnitBatches    Bare = "unit batches"
	UnitRequests   Bare = "unit requests"
	UnitLatency    Bare = "unit latency"
)

// The headings of the parts of a result.
const (
	HeadingAnswer   Bare = "heading answer"
	HeadingClear    Bare = "heading clear"
	HeadingNotClear Bare = "heading not-clear"
	HeadingChecked  Bare = "heading checked"
	HeadingTrust    Bare = "heading trust"
	HeadingNext     Bare = "heading next"
	HeadingReport   Bare = "heading report"
	HeadingSummary  Bare = "heading summary"
	HeadingFindings Bare = "heading findings"
	HeadingFailed   Bare = "heading failed"
	HeadingSettings Bare = "heading settings"
	HeadingMissing  Bare = "heading missing"
	HeadingEffects  Bare = "heading effects"
	HeadingScaling  Bare = "heading scaling"
	HeadingLoss     Bare = "heading power-cuts"
	HeadingStores   Bare = "heading stores"
	HeadingTrials   Bare = "heading trials"
	HeadingMachine  Bare = "heading machine"
	HeadingReading  Bare = "heading reading"
)

// The columns whose heading is the same in every table.
const (
	ColumnStore     Bare = "column store"
	ColumnOperation Bare = "column operation"
	ColumnStep      Bare = "column step"
	ColumnSegment   Bare = "column segment"
	ColumnAskedRate Bare = "column asked-rate"
	ColumnAsked     Bare = "column asked"
	ColumnBegun     Bare = "column begun"
	ColumnEnded     Bare = "column ended"
	ColumnBacklog   Bare = "column backlog"
	ColumnBehind    Bare = "column behind"
	ColumnRecovery  Bare = "column recovery"
	ColumnLateness  Bare = "column lateness"
	ColumnServer    Bare = "column server"
	ColumnWhere     Bare = "column where"
	ColumnPhase     Bare = "column phase"
	ColumnChange    Bare = "column change"
	ColumnRatio     Bare = "column ratio"
	ColumnFigure    Bare = "column figure" // of one run that is held against limits
	ColumnInterval  Bare = "column interval"
	ColumnFirst     Bare = "column first"
	ColumnLast      Bare = "column last"
	ColumnTrend     Bare = "column trend"
	ColumnChangedAt Bare = "column changed-at"

	ColumnRank           Bare = "column rank"
	ColumnRecords        Bare = "column records"
	ColumnOfBest         Bare = "column of-best"
	ColumnOfBaseline     Bare = "column of-baseline"
	ColumnItems          Bare = "column items"
	ColumnAbsent         Bare = "column absent"
	ColumnCalls          Bare = "column calls"
	ColumnDone           Bare = "column done"
	ColumnRight          Bare = "column right"
	ColumnPlan           Bare = "column plan"
	ColumnWait           Bare = "column wait"
	ColumnMisses         Bare = "column misses"
	ColumnConflicts      Bare = "column conflicts"
	ColumnHitRatio       Bare = "column hit-ratio"
	ColumnExpired        Bare = "column expired"
	ColumnLatest         Bare = "column latest"
	ColumnOldReads       Bare = "column old-reads"
	ColumnStaleMedian    Bare = "column stale-median"
	ColumnStaleP99       Bare = "column stale-p99"
	ColumnStaleMax       Bare = "column stale-max"
	ColumnCurrentAfter   Bare = "column current-after"
	ColumnLostUpdates    Bare = "column lost-updates"
	ColumnLossFound      Bare = "column loss-found"
	ColumnStarts         Bare = "column starts"
	ColumnFirstMilestone Bare = "column first-milestone"
	ColumnLastMilestone  Bare = "column last-milestone"
	ColumnBad            Bare = "column bad"

	ColumnCourse       Bare = "column course"
	ColumnBrokeRecords Bare = "column broke-records"
	ColumnBrokeTime    Bare = "column broke-time"
	ColumnReached      Bare = "column reached"
	ColumnWith         Bare = "column with"
	ColumnBlocks       Bare = "column blocks"
	ColumnScreenEarly  Bare = "column screen-early"
	ColumnScreenLate   Bare = "column screen-late"
	ColumnScreenWith   Bare = "column screen-with"

	ColumnConnections        Bare = "column connections"
	ColumnMemory             Bare = "column memory"
	ColumnDataMemory         Bare = "column data-memory"
	ColumnDisk               Bare = "column disk"
	ColumnSpace              Bare = "column space"
	ColumnLogical            Bare = "column logical"
	ColumnHostWrites         Bare = "column host-writes"
	ColumnWriteAmplification Bare = "column write-amplification"
	ColumnDrained            Bare = "column drained"
	ColumnCPU                Bare = "column cpu"
	ColumnHarness            Bare = "column harness"
	ColumnAllocBytes         Bare = "column alloc-bytes"
	ColumnAllocs             Bare = "column allocs"

	ColumnNodeOperations  Bare = "column node-operations"
	ColumnNodeCPU         Bare = "column node-cpu"
	ColumnNodeMemory      Bare = "column node-memory"
	ColumnNodeConnections Bare = "column node-connections"
	ColumnNodeRead        Bare = "column node-read"
	ColumnNodeWritten     Bare = "column node-written"

	ColumnSinceWrite Bare = "column since-write"
	ColumnAgeReads   Bare = "column age-reads"
	ColumnAgeOld     Bare = "column age-old"
)

// RateColumnParams are of a column of rates, in the unit of its table.
type RateColumnParams struct {
	Code Code `param:"-"`
	Unit string
}

func (p RateColumnParams) code() Code { return p.Code }

// The columns of rates.
const (
	ColumnRate  Code = "column rate"
	ColumnWorst Code = "column worst-sample"
	ColumnEarly Code = "column early"
	ColumnLate  Code = "column late"
)

// LatencyColumnParams are of the latencies at a quantile, of one operation in so many.
type LatencyColumnParams struct {
	Quantile string
	OneIn    uint64 `param:"omitempty"`
}

func (LatencyColumnParams) code() Code { return "column latency" }

// HandleColumnParams are of the time until a client had a handle: it waited for one of a pool, or
// connected.
type HandleColumnParams struct {
	Quantile string
	Waits    bool
}

func (HandleColumnParams) code() Code { return "column handle" }

// Head is what stands over a column or a part.
type Head struct {
	Heading string // "p99", "Disk"
	Unit    string // what the figure counts or is of, beneath the heading: "latency", "÷ logical"
	Short   string // the heading where there is one line for it, in small letters, or little room
}

// HeadOf returns the words of a heading.
func HeadOf(p Parameters) Head {
	m := New(p)
	head := Head{Heading: Text(m), Unit: render(m, "unit", func(e Entry) string { return e.Unit }),
		Short: render(m, "short", func(e Entry) string { return e.Short })}
	if head.Short == "" {
		head.Short = format.Uncapital(head.Heading)
	}
	return head
}
