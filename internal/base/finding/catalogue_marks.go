package finding

// What a trial is marked for. Package run makes marks while it conducts a trial;
// docs/run-directory/marks.csv lists the codes. Each belongs to a fault, which is the finding that it
// makes.
const (
	MarkFailed     Code = "errors operations"                  // in an error or a timeout
	MarkWrong      Code = "wrong-values operations"            // returned a value that was never written there
	MarkOtherTrial Code = "values-of-another-trial operations" // returned a value that another trial wrote
	MarkLost       Code = "lost-values operations"             // did not find a record that was stored
	MarkUnfinished Code = "unfinished operations"              // began and have no outcome

	MarkReadbackLost   Code = "lost-values readback"
	MarkReadbackStale  Code = "stale-values readback"
	MarkReadbackWrong  Code = "wrong-values readback"
	MarkReadbackOther  Code = "values-of-another-trial readback"
	MarkReadbackFailed Code = "errors readback"
	MarkIncrementsLost Code = "wrong-counters lost" // counters have less than was acknowledged
	MarkIncrementsMore Code = "wrong-counters more" // counters have more than was tried

	MarkLate         Code = "late-expiry operations" // found a record after its TTL and the store's tick
	MarkReadbackLate Code = "late-expiry readback"

	MarkAddsOver    Code = "wrong-adds over"    // stored a record where one was
	MarkAddsRefused Code = "wrong-adds refused" // a key that no record had

	MarkFindsMissing Code = "records-left-out finds"  // of scans, queries and counts
	MarkFindsBeyond  Code = "records-left-out beyond" // given or counted, and not there

	MarkSum          Code = "counts-disagree sum"          // of outcomes, is not the operations that were attempted
	MarkAcknowledged Code = "counts-disagree acknowledged" // more entries than were begun
	MarkBegun        Code = "counts-disagree begun"        // more entries than the trace has
	MarkOutcomes     Code = "counts-disagree outcomes"     // others than the trace has operations
	MarkTimed        Code = "counts-disagree timed"        // not as many as there are outcomes
	MarkBytes        Code = "counts-disagree bytes"        // others than the trace writes
	MarkItems        Code = "counts-disagree items"        // others than the trace and the data have
	MarkCalls        Code = "counts-disagree calls"        // fewer than multi-reads were done
	MarkOrder        Code = "counts-disagree order"        // queries found other records than those that their order puts first
	MarkMoreCounts   Code = "counts-disagree more"         // that disagree as well
	MarkTimeOver     Code = "counts-disagree time-over"    // operations took longer than the threads had
	MarkTimeUnder    Code = "counts-disagree time-under"   // operations took almost nothing of the time

	MarkDrift     Code = "machine-disturbed clock-drift"
	MarkBeganLate Code = "machine-disturbed clock-began-late"  // the phase, after operations of it were done
	MarkEndedSoon Code = "machine-disturbed clock-ended-early" // the phase, before operations of it were done

	MarkSteal   Code = "machine-disturbed cpu-hypervisor"
	MarkForeign Code = "machine-disturbed cpu-processes"
	MarkQuota   Code = "machine-disturbed throttled-quota"
	MarkHeat    Code = "machine-disturbed throttled-heat"

	MarkShortWork Code = "stopped-early work" // a thread, before its operations were done
	MarkShortTime Code = "stopped-early time"

	MarkBeganApart Code = "machine-disturbed starts-apart" // one of them, far from the phase's start

	MarkConfined Code = "machine-disturbed confinement-changed" // of a process: CPUs, scheduling, cgroup, limits

	MarkDamaged  Code = "damaged file"            // since it was recorded
	MarkDataGone Code = "data-vanished directory" // the store's directory, while it ran

	MarkDiskFull    Code = "disk-full data"
	MarkMountFull   Code = "disk-full quota"
	MarkRunDiskFull Code = "disk-full run"
	MarkNotBegun    Code = "disk-full not-begun" // because the disk was full
)

// The faults: findings, one for each arm and phase, whose evidence is marks.
const (
	FaultErrors     Code = "errors"
	FaultWrong      Code = "wrong-values"
	FaultOtherTrial Code = "values-of-another-trial"
	FaultLost       Code = "lost-values"
	FaultStale      Code = "stale-values"
	FaultIncrements Code = "wrong-counters"
	FaultFinds      Code = "records-left-out"
	FaultAdds       Code = "wrong-adds"
	FaultLate       Code = "late-expiry"
	FaultCounts     Code = "counts-disagree"
	FaultUnfinished Code = "unfinished"
	FaultDamaged    Code = "damaged"
	FaultVanished   Code = "data-vanished"
	FaultDiskFull   Code = "disk-full"
	FaultClock      Code = "machine-disturbed clock"
	FaultForeign    Code = "machine-disturbed cpu"
	FaultThrottled  Code = "machine-disturbed throttled"
	FaultApart      Code = "machine-disturbed starts"
	FaultConfined   Code = "machine-disturbed confinement"
)

// Why a trial did not end; record.Trial.Cause. Each is a kind of NoResult.
const (
	NoResult         Code = "no-result"
	CauseRefused     Code = "not-supported"   // by the store, of what the cell asks
	CauseInterrupted Code = "interrupted"     // by the user
	CauseDiskTaken   Code = "disk-taken"      // by other programs
	CauseDied        Code = "worker-died"     //
	CauseHung        Code = "worker-hung"     //
	CauseNoWorker    Code = "worker-no-start" //
	CauseNoServer    Code = "server-no-start" // the server that Assay is to start
	CauseServerDied  Code = "server-died"     // that Assay had started
	CauseMemory      Code = "memory-killed"   // at its memory limit, by the kernel
	CauseDiskFull    Code = "disk-full-ended" //
	CauseStore       Code = "store-failed"    // the store or its driver returned an error where none is an outcome
	CauseQuota       Code = "load-over-quota" // records did not fit into the disk quota
	CauseSilent      Code = "load-unanswered" // the store stopped answering
	CauseLoad        Code = "load-failed"     // in part: records that later phases count on are not there
	CauseOther       Code = "trial-error"     // see the text
)

// Causes are why a trial did not end.
var Causes = []Code{CauseRefused, CauseInterrupted, CauseDiskTaken, CauseDied, CauseHung, CauseNoWorker,
	CauseNoServer, CauseServerDied,
	CauseMemory, CauseDiskFull, CauseStore, CauseQuota, CauseSilent, CauseLoad, CauseAgentLost, CauseOther}

// Fault returns the code of the finding that a mark makes.
func (m Mark) Fault() Code {
	if e := entries[m.Code]; e.Fault != "" {
		return e.Fault
	}
	if code, _, _ := m.Code.cut(); known(code) {
		return code
	}
	return FaultCounts
}

// Machine reports whether the mark is the machine's fault rather than the store's: it costs the
// block, not the arm's rank.
func (m Mark) Machine() bool { return entries[m.Fault()].Machine }

// What several entries say alike.
const (
	inodesThen   = `{{if .inodes}}: no inode was left for another file{{end}}`
	freeThen     = `{{if has .free}} ({{bytes .free}} free){{end}}`
	othersTook   = `{{if .others_took}}; other programs took {{bytes .others_took}} of it meanwhile{{end}}`
	storedThen   = `{{if .records}}, with {{count .records}} records stored{{end}}`
	suspectStore = "treat it as a defect of the store, its driver or its settings until shown otherwise"
	liftQuota    = "lift the CPU quota of the container or cgroup (docker --cpus, CPUQuota=, cpu.max), or use fewer threads; against heat, cap the CPU frequency"
	quietMachine = "stop other programs, or use a machine without other load"
)

var _ = register(
	Entry{Example: CountParams{Code: MarkFailed, Count: 412, Of: 90000,
		Message: "write: no space left on device"},
		Says: `{{count .count}} of {{plural .of "operation" ""}} failed{{if .message}}, most often with: {{clean .message}}{{end}}`},
	Entry{Example: CountParams{Code: MarkWrong, Count: 3, Of: 90000,
		Message: "read 17: value of key 18"},
		Says: `{{count .count}} of {{plural .of "operation" ""}} returned a value that was never written under its key{{if .message}}, most often: {{clean .message}}{{end}}`},
	Entry{Example: CountParams{Code: MarkOtherTrial, Count: 8028, Of: 90000},
		Says: `{{count .count}} of {{plural .of "operation" ""}} returned a value that another trial wrote`},
	Entry{Example: CountParams{Code: MarkLost, Count: 5, Of: 90000},
		Says: `{{count .count}} of {{plural .of "operation" ""}} did not find a stored record{{if .message}}, most often: {{clean .message}}{{end}}`},
	Entry{Example: CountParams{Code: MarkUnfinished, Count: 1},
		Says: `{{plural .count "operation" ""}} began and never ended`},

	Entry{Example: CountParams{Code: MarkReadbackLost, Count: 2, Of: 10000, Example: "key 17"},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end were gone, though their writes were acknowledged{{if has .evicted}}; the store says that it evicted {{count .evicted}} of all{{end}}{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Example: CountParams{Code: MarkReadbackStale, Count: 2, Of: 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end held an older value than the last acknowledged one{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Example: CountParams{Code: MarkReadbackWrong, Count: 2, Of: 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end held a value of another record, or a damaged one{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Example: CountParams{Code: MarkReadbackOther, Count: 2, Of: 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end held a value that another trial wrote{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Example: CountParams{Code: MarkReadbackFailed, Count: 2, Of: 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} could not be read back at the end{{if .not_read}}; the store did not answer, and {{count .not_read}} more were not read{{end}}{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Example: CountParams{Code: MarkIncrementsLost, Count: 12, Of: 4000},
		Says: `{{count .count}} of {{plural .of "acknowledged increment" ""}} of the records read back at the end were gone`},
	Entry{Example: CountParams{Code: MarkIncrementsMore, Count: 12, Of: 4000},
		Says: `the records read back at the end had {{plural .count "increment" ""}} more than the {{count .of}} that were tried`},

	Entry{Example: LateParams{Code: MarkLate, Count: 12, Of: 4000, LatestNS: 2e9, TickNS: 5e8},
		Says: `{{count .count}} of {{plural .of "read" ""}} after a record's TTL still found it, the latest {{latency .latest_ns}} after it; the store's tick is {{latency .tick_ns}}`},
	Entry{Example: CountParams{Code: MarkReadbackLate, Count: 12, Of: 4000, Example: "key 17"},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end were still there, though their TTL was over{{if .example}} ({{clean .example}}){{end}}`},

	Entry{Example: CountParams{Code: MarkAddsOver, Count: 37, Of: 500},
		Says: `add stored a record where one was {{plural .count "time" ""}}: at the end, all threads added the same {{plural .of "key" ""}}`},
	Entry{Example: CountParams{Code: MarkAddsRefused, Count: 3, Of: 400},
		Says: `add refused {{count .count}} of {{plural .of "key" ""}} that no record had, whichever thread asked`},

	Entry{Example: FindsParams{Code: MarkFindsMissing, Count: 37, Of: 51200, Finds: 36, OfFinds: 512},
		Says: `{{count .finds}} of {{plural .of_finds "recorded scan, query or count" "recorded scans, queries and counts"}} left out {{plural .count "record" ""}} that were there before they began, of {{count .of}}`},
	Entry{Example: FindsParams{Code: MarkFindsBeyond, Count: 3, Finds: 3, OfFinds: 512},
		Says: `{{count .finds}} of {{plural .of_finds "recorded scan, query or count" "recorded scans, queries and counts"}} gave or counted {{plural .count "record" ""}} that were not there`},

	Entry{Example: MarkSumParams{Attempted: 100, Outcomes: 99},
		Says: `{{plural .attempted "operation" ""}} began, but {{count .outcomes}} have an outcome`},
	Entry{Example: MarkAcknowledgedParams{Thread: 0, Acknowledged: 12, Begun: 10},
		Says: `thread {{.thread}} acknowledged {{count .acknowledged}} entries, but began only {{count .begun}}`},
	Entry{Example: MarkBegunParams{Thread: 0, Begun: 12, Limit: 10},
		Says: `thread {{.thread}} began {{count .begun}} entries, but its trace has {{count .limit}}`},
	Entry{Example: MarkOutcomesParams{Thread: 0, Operation: "read", Counted: 12, Expected: 10},
		Says: `thread {{.thread}} counted {{plural .counted "outcome" ""}} of {{.operation}}, but its trace has {{count .expected}}`},
	Entry{Example: MarkTimedParams{Operation: "read", Counted: 12, Timed: 10},
		Says: `{{plural .counted "outcome" ""}} of {{.operation}} should have been timed, and {{count .timed}} were`},
	Entry{Example: WorkParams{Code: MarkBytes, Operation: "insert", Counted: 1200, Least: 1080,
		Most: Known(uint64(1080))},
		Says: `{{.operation}} counted {{count .counted}} bytes written, but its trace has {{counts .least .most}}`},
	Entry{Example: WorkParams{Code: MarkItems, Operation: "scan", Operations: 400, Counted: 400,
		Least: 4210},
		Says: `{{plural .operations "operation" ""}} of {{.operation}} counted {{plural .counted "item" ""}}, but the trace and the data have {{counts .least .most}}`},
	Entry{Example: WorkParams{Code: MarkCalls, Operation: "multi_read", Operations: 400, Counted: 12, Least: 400},
		Says: `{{plural .operations "operation" ""}} of {{.operation}} took {{plural .counted "call" ""}}, but there were {{counts .least .most}}`},
	Entry{Example: WorkParams{Code: MarkOrder, Operation: "query", Operations: 400, Counted: 400,
		Least: 4210, Most: Known(uint64(4210))},
		Says: `{{plural .operations "operation" ""}} of {{.operation}} did not find the first records of their order: the sort columns add up to {{count .counted}}, expected {{counts .least .most}}`},
	Entry{Example: MarkMoreCountsParams{Count: 4},
		Says: `{{plural .count "more count" ""}} disagree`},
	Entry{Example: TimesParams{Code: MarkTimeOver, ServedS: 12.5, Threads: 2, HadS: 10.0},
		Says: `operations took {{seconds .served_s}} by the worker's histogram, but {{plural .threads "thread" ""}} had {{seconds .had_s}}`},
	Entry{Example: TimesParams{Code: MarkTimeUnder, ServedS: 0.5, Threads: 2, HadS: 10.0},
		Says: `operations took {{seconds .served_s}} by the worker's histogram; the rest of the {{seconds .had_s}} that {{plural .threads "thread" ""}} had is unexplained`},

	Entry{Example: MarkDriftParams{Clock: "tsc", DriftNS: 9e7, Seconds: 10.0}, Fault: FaultClock,
		Says: `the {{.clock}} clock and the monotonic clock differ by {{latency .drift_ns}} after {{seconds .seconds}}`},
	Entry{Example: ClockParams{Code: MarkBeganLate, ByNS: 1e9}, Fault: FaultClock,
		Says: `the worker reports a start {{latency .by_ns}} after its first operations had ended`},
	Entry{Example: ClockParams{Code: MarkEndedSoon, ByNS: 1e9}, Fault: FaultClock,
		Says: `the worker reports an end {{latency .by_ns}} before its last operations ended`},

	Entry{Example: MarkStealParams{Least: 0.1, Most: 0.1}, Fault: FaultForeign,
		Says: `{{if has .phase}}{{.phase}}: {{end}}the hypervisor took {{shares .least .most}} of the CPU time`},
	Entry{Example: MarkForeignParams{Least: 0.35, Most: 0.65}, Fault: FaultForeign,
		Says: `{{if has .phase}}{{.phase}}: {{end}}other processes took {{shares .least .most}} of the CPU time that it could use`},
	Entry{Example: MarkQuotaParams{Group: "/box", Periods: 2, HeldS: 0.1, Seconds: 0.2}, Fault: FaultThrottled,
		Says: `{{if has .phase}}{{.phase}}: {{end}}the CPU quota of {{.group}} was used up in {{plural .periods "period" ""}} and stopped threads for {{seconds .held_s}} of CPU time in {{seconds .seconds}}`},
	Entry{Example: MarkHeatParams{HeldS: 0.05, Seconds: 0.2}, Fault: FaultThrottled,
		Says: `{{if has .phase}}{{.phase}}: {{end}}heat slowed a CPU for {{seconds .held_s}} of {{seconds .seconds}}`},

	Entry{Example: MarkShortWorkParams{Thread: 1, Done: 900, Of: 1000},
		Says: `thread {{.thread}} ended after {{count .done}} of {{plural .of "operation" ""}}`},
	Entry{Example: MarkShortTimeParams{Seconds: 4.0, OfS: 60.0},
		Says: `the phase ended after {{seconds .seconds}} of {{seconds .of_s}}`},

	Entry{Example: MarkBeganApartParams{Processes: 20, ApartS: 1.2, Seconds: 10.0}, Fault: FaultApart,
		Says: `the starts of {{plural .processes "process" ""}} were {{seconds .apart_s}} apart, in a phase of {{seconds .seconds}}`},

	Entry{Example: MarkConfinedParams{What: "CPUs", From: "0,1", To: "1"}, Fault: FaultConfined,
		Says: `something outside changed the {{.what}} of a process while the phase ran, from {{clean .from}} to {{clean .to}}`},

	Entry{Example: MarkDamagedParams{File: "trials/b1-001-a/series.jsonl",
		Text: "its digest is not the one that was sealed"},
		Says: `{{.file}}: {{clean .text}}`},

	Entry{Example: Bare(MarkDataGone),
		Says: "the directory of the store's files vanished"},

	Entry{Example: FullDiskParams{Code: MarkDiskFull, Free: Known(uint64(4096)),
		Records: Known(uint64(120000))},
		Says: `the disk was full` + inodesThen + freeThen + storedThen + othersTook},
	Entry{Example: FullDiskParams{Code: MarkMountFull, Size: 25165824, Filesystem: "ext4",
		Usable: 22000000, Free: Known(uint64(4096)), Records: Known(uint64(120000))},
		Says: `the disk quota was full: {{limit .size}} of {{.filesystem}}, {{bytes .usable}} for files` + freeThen + storedThen},
	Entry{Example: FullDiskParams{Code: MarkRunDiskFull, Free: Known(uint64(4096))},
		Says: `the disk of the run directory was full` + freeThen + storedThen + othersTook},
	Entry{Example: Bare(MarkNotBegun), Says: "not begun: the disk was full"},
)

// FindsParams are records that scans, queries and counts left out, or that were not there.
type FindsParams struct {
	Code           Code   `param:"-"`
	Count          uint64 // records
	Of             uint64 `param:"omitempty"` // that were owed
	Finds, OfFinds uint64 // in so many of those that were recorded
}

func (p FindsParams) code() Code { return p.Code }

// LateParams are of reads that found a record after its TTL: Of came after it.
type LateParams struct {
	Code             Code `param:"-"`
	Count, Of        uint64
	LatestNS, TickNS float64
}

func (p LateParams) code() Code { return p.Code }

type MarkSumParams struct{ Attempted, Outcomes uint64 }

func (MarkSumParams) code() Code { return MarkSum }

type MarkAcknowledgedParams struct {
	Thread              int
	Acknowledged, Begun uint64
}

func (MarkAcknowledgedParams) code() Code { return MarkAcknowledged }

type MarkBegunParams struct {
	Thread       int
	Begun, Limit uint64
}

func (MarkBegunParams) code() Code { return MarkBegun }

type MarkOutcomesParams struct {
	Thread            int
	Operation         string
	Counted, Expected uint64
}

func (MarkOutcomesParams) code() Code { return MarkOutcomes }

type MarkTimedParams struct {
	Operation      string
	Counted, Timed uint64
}

func (MarkTimedParams) code() Code { return MarkTimed }

type MarkMoreCountsParams struct{ Count int }

func (MarkMoreCountsParams) code() Code { return MarkMoreCounts }

type MarkDriftParams struct {
	Clock            string
	DriftNS, Seconds float64
}

func (MarkDriftParams) code() Code { return MarkDrift }

type MarkStealParams struct {
	Least, Most float64
	Phase       string `param:"omitempty"`
}

func (MarkStealParams) code() Code { return MarkSteal }

type MarkForeignParams struct {
	Least, Most float64
	Phase       string `param:"omitempty"`
}

func (MarkForeignParams) code() Code { return MarkForeign }

type MarkQuotaParams struct {
	Group          string
	Periods        uint64
	HeldS, Seconds float64
	Phase          string `param:"omitempty"`
}

func (MarkQuotaParams) code() Code { return MarkQuota }

type MarkHeatParams struct {
	HeldS, Seconds float64
	Phase          string `param:"omitempty"`
}

func (MarkHeatParams) code() Code { return MarkHeat }

type MarkShortWorkParams struct {
	Thread   int
	Done, Of uint64
}

func (MarkShortWorkParams) code() Code { return MarkShortWork }

type MarkShortTimeParams struct{ Seconds, OfS float64 }

func (MarkShortTimeParams) code() Code { return MarkShortTime }

type MarkBeganApartParams struct {
	Processes       int
	ApartS, Seconds float64
}

func (MarkBeganApartParams) code() Code { return MarkBeganApart }

// MarkConfinedParams are of what the system lets a process have.
type MarkConfinedParams struct{ What, From, To string }

func (MarkConfinedParams) code() Code { return MarkConfined }

type MarkDamagedParams struct{ File, Text string }

func (MarkDamagedParams) code() Code { return MarkDamaged }

// The faults. Parameters: arm, place, count (operations, records or values) and trials, where a
// sentence needs them.
var _ = register(
	Entry{Example: FaultParams{Code: FaultErrors, At: example, Count: 412, Said: "write: no space left on device"}, Severity: Grave,
		Says:   `{{.arm}} had {{plural .count "failed operation" ""}} in {{.place}}; it has no rank there.{{if .said}} Most often: {{clean .said}}.{{end}}`,
		Many:   `{{list .Arms}} had failed operations in {{places .Places}}; no rank there.`,
		Remedy: "read the error messages in the trial"},
	Entry{Example: FaultParams{Code: FaultWrong, At: example, Count: 3}, Severity: Grave,
		Says:   `{{.arm}} returned {{plural .count "wrong value" ""}} in {{.place}}.`,
		Many:   `{{list .Arms}} returned wrong values in {{places .Places}}.`,
		Remedy: suspectStore},
	Entry{Example: FaultParams{Code: FaultOtherTrial, At: example, Count: 8028}, Severity: Grave,
		Says:   `{{.arm}} returned {{plural .count "value" ""}} that another trial wrote in {{.place}}.`,
		Many:   `{{list .Arms}} returned values that another trial wrote in {{places .Places}}.`,
		Remedy: "check for data that outlives a trial, and for writes that are dropped"},
	Entry{Example: FaultParams{Code: FaultLost, At: example, Count: 5}, Severity: Grave,
		Says:   `{{.arm}} lost {{plural .count "record" ""}} in {{.place}}.`,
		Many:   `{{list .Arms}} lost records in {{places .Places}}.`,
		Remedy: "check the durability settings and the examples in the trial"},
	Entry{Example: FaultParams{Code: FaultStale, At: example, Count: 2}, Severity: Grave,
		Says:   `{{.arm}} returned {{plural .count "value" ""}} older than acknowledged in {{.place}}.`,
		Many:   `{{list .Arms}} returned values older than acknowledged in {{places .Places}}.`,
		Remedy: "check for caches and replicas that are read before they are written"},
	Entry{Example: FaultParams{Code: FaultIncrements, At: example, Count: 12}, Severity: Grave,
		Says:   `{{.arm}}: counters are wrong by {{plural .count "increment" ""}} in {{.place}}.`,
		Many:   `{{list .Arms}} have wrong counters in {{places .Places}}.`,
		Remedy: "an increment must be one step of the store; check that the driver does not read and then write"},
	Entry{Example: FaultParams{Code: FaultFinds, At: example}, Severity: Grave,
		Says:   `{{.arm}}: scans, queries or counts did not match the stored records in {{.place}}; it has no rank there.`,
		Many:   `{{list .Arms}}: scans, queries or counts did not match the stored records in {{places .Places}}; no rank there.`,
		Remedy: "check for indexes that are updated late, and for scans that skip records"},
	Entry{Example: FaultParams{Code: FaultAdds, At: example, Count: 12}, Severity: Grave,
		Says:   `{{.arm}}: add stored over records that were there, or refused keys that were free; it has no rank there.`,
		Many:   `{{list .Arms}}: add stored over records that were there, or refused keys that were free; no rank there.`,
		Remedy: "an add must be one step of the store; check that the driver does not read and then write"},
	Entry{Example: FaultParams{Code: FaultLate, At: example, Count: 12}, Severity: Grave,
		Says:   `{{.arm}} kept {{plural .count "record" ""}} beyond their TTL in {{.place}}; it has no rank there.`,
		Many:   `{{list .Arms}} kept records beyond their TTL in {{places .Places}}; no rank there.`,
		Remedy: "check that expiry is on, and how often the store looks for what is over"},
	Entry{Example: FaultParams{Code: FaultCounts, At: example}, Severity: Grave,
		Says:   `{{.arm}}: the counts of the worker contradict its trace in {{.place}}. No figure of these trials can be trusted.`,
		Many:   `{{list .Arms}}: the counts of the worker contradict its trace in {{places .Places}}. No figure of these trials can be trusted.`,
		Remedy: "treat it as a defect of the worker or the driver"},
	Entry{Example: FaultParams{Code: FaultUnfinished, At: example, Count: 1}, Severity: Grave,
		Says:   `{{.arm}} left {{plural .count "operation" ""}} unfinished in {{.place}}.`,
		Many:   `{{list .Arms}} left operations unfinished in {{places .Places}}.`,
		Remedy: "read the worker's log; raise step_timeout if the store is only slow"},
	Entry{Example: FaultParams{Code: FaultDamaged, At: example}, Severity: Grave,
		Says:   `Files of {{.arm}} in {{.place}} are damaged or were edited after the run; it has no rank there.`,
		Many:   `Files of {{list .Arms}} are damaged or were edited after the run, in {{places .Places}}; no rank there.`,
		Remedy: "restore the run directory, or run again"},
	Entry{Example: FaultParams{Code: FaultVanished, At: example}, Severity: Grave,
		Says:   `The directory of {{.arm}} vanished in {{.place}}; it has no rank there.`,
		Many:   `The {{agree .Arms "directory" "directories"}} of {{list .Arms}} vanished in {{places .Places}}; no rank there.`,
		Remedy: "find out what removed them; --data puts the stores elsewhere"},
	Entry{Example: FaultParams{Code: FaultDiskFull, At: example}, Severity: Warning,
		Says:   `{{.arm}} filled the disk in {{.place}}; it has no rank there.`,
		Many:   `{{list .Arms}} filled the disk in {{places .Places}}; no rank there.`,
		Remedy: "free some space, or set disk_quota below what is free"},
	Entry{Example: FaultParams{Code: FaultClock, At: example, Trials: 1}, Severity: Warning, Machine: true,
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: the clock was wrong.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{places .Places}}: the clock was wrong.`,
		Remedy: "--set clock=monotonic"},
	Entry{Example: FaultParams{Code: FaultForeign, At: example, Trials: 1, Share: 0.31},
		Severity: Warning, Machine: true,
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: other processes or the hypervisor took {{percent .share}} of the CPU.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{places .Places}}: other processes or the hypervisor took up to {{percent .max_share}} of the CPU.`,
		Remedy: quietMachine},
	Entry{Example: FaultParams{Code: FaultThrottled, At: example, Trials: 1, Share: 0.5},
		Severity: Warning, Machine: true,
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: a CPU quota or heat held it back for {{percent .share}} of the time.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{places .Places}}: a CPU quota or heat held them back.`,
		Remedy: liftQuota},
	Entry{Example: FaultParams{Code: FaultApart, At: example, Trials: 1}, Severity: Warning, Machine: true,
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: its processes did not begin together.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{places .Places}}: their processes did not begin together.`,
		Remedy: "use a longer phase or fewer processes, or stop other programs"},
	Entry{Example: FaultParams{Code: FaultConfined, At: example, Trials: 1}, Severity: Warning, Machine: true,
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: something outside changed the CPUs, scheduling, cgroup or limits of its processes.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{places .Places}}: something outside changed the CPUs, scheduling, cgroup or limits of their processes.`,
		Remedy: "stop what moves or pins processes (taskset, cgclassify, prlimit, a tuning daemon)"},
)

// The causes. What the worker, the store or the system said stands in the parameter text.
var _ = register(
	Entry{Example: CauseParams{Code: CauseRefused, Text: "D0: every put is synced"},
		Says: `not supported{{if .text}}: {{clean .text}}{{end}}`},
	Entry{Example: CauseParams{Code: CauseInterrupted}, Says: "stopped by the user"},
	Entry{Example: CauseParams{Code: CauseDiskTaken}, Says: "other programs filled the disk"},
	Entry{Example: CauseParams{Code: CauseDied}, Says: "the worker died"},
	Entry{Example: CauseParams{Code: CauseHung}, Says: "the worker did not answer in time and was killed"},
	Entry{Example: CauseParams{Code: CauseNoWorker}, Says: "the worker could not be started"},
	Entry{Example: CauseParams{Code: CauseNoServer}, Says: "the server could not be started"},
	Entry{Example: CauseParams{Code: CauseServerDied}, Says: "the server died"},
	Entry{Example: CauseParams{Code: CauseMemory}, Says: "the kernel killed the worker at its memory limit"},
	Entry{Example: CauseParams{Code: CauseDiskFull}, Says: "the disk was full"},
	Entry{Example: CauseParams{Code: CauseStore}, Says: "the store returned an error"},
	Entry{Example: CauseParams{Code: CauseQuota},
		Says: "the load reached the disk quota before all records were stored"},
	Entry{Example: CauseParams{Code: CauseSilent}, Says: "the store stopped answering before all records were loaded"},
	Entry{Example: CauseParams{Code: CauseLoad}, Says: "a part of the load failed"},
	Entry{Example: CauseParams{Code: CauseOther, Text: "the worker answered request 5, but 4 was asked"},
		Says: "{{clean .text}}"},
)
