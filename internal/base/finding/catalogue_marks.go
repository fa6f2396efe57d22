package finding

// What a trial is marked for. Package run makes marks while it conducts a trial;
// docs/run-directory.md lists the codes. Each belongs to a fault, which is the finding that it
// makes.
const (
	MarkFailed     Code = "operations-failed"      // in an error or a timeout
	MarkWrong      Code = "operations-wrong"       // returned a value that was never written there
	MarkOtherTrial Code = "operations-other-trial" // returned a value that another trial wrote
	MarkLost       Code = "operations-lost"        // did not find a record that was stored
	MarkUnfinished Code = "operations-unfinished"  // began and have no outcome

	MarkReadbackLost   Code = "readback-lost"
	MarkReadbackStale  Code = "readback-stale"
	MarkReadbackWrong  Code = "readback-wrong"
	MarkReadbackOther  Code = "readback-other-trial"
	MarkReadbackFailed Code = "readback-failed"
	MarkIncrementsLost Code = "increments-lost" // counters have less than was acknowledged
	MarkIncrementsMore Code = "increments-more" // counters have more than was tried

	MarkSum          Code = "count-sum"          // of outcomes, is not the operations that were attempted
	MarkAcknowledged Code = "count-acknowledged" // more entries than were begun
	MarkBegun        Code = "count-begun"        // more entries than the trace has
	MarkOutcomes     Code = "count-outcomes"     // others than the trace has operations
	MarkTimed        Code = "count-timed"        // not as many as there are outcomes
	MarkBytes        Code = "count-bytes"        // others than the trace writes
	MarkItems        Code = "count-items"        // others than the trace and the data have
	MarkOrder        Code = "count-order"        // queries found other records than those that their order puts first
	MarkMoreCounts   Code = "count-more"         // that disagree as well
	MarkTimeOver     Code = "time-over"          // operations took longer than the threads had
	MarkTimeUnder    Code = "time-under"         // operations took next to nothing of the time

	MarkDrift     Code = "clock-drift"
	MarkBeganLate Code = "clock-began-late"  // the phase, after operations of it were done
	MarkEndedSoon Code = "clock-ended-early" // the phase, before operations of it were done

	MarkSteal   Code = "cpu-steal"
	MarkForeign Code = "cpu-foreign"
	MarkQuota   Code = "cpu-quota"
	MarkHeat    Code = "cpu-heat"

	MarkShortWork Code = "ended-before-work" // a thread, before its operations were done
	MarkShortTime Code = "ended-before-time"

	MarkBeganApart Code = "processes-began-apart" // one of them, far from the phase's start

	MarkDamaged  Code = "file-damaged" // since it was recorded
	MarkDataGone Code = "data-gone"    // the store's directory, while it ran

	MarkDiskFull    Code = "store-disk-full"
	MarkMountFull   Code = "quota-mount-full"
	MarkRunDiskFull Code = "run-disk-full"
	MarkNotBegun    Code = "phase-not-begun" // because the disk was full
)

// The faults: findings, one for each arm and phase, whose evidence is marks.
const (
	FaultErrors     Code = "errors"
	FaultWrong      Code = "wrong-values"
	FaultOtherTrial Code = "values-of-another-trial"
	FaultLost       Code = "lost-values"
	FaultStale      Code = "stale-values"
	FaultIncrements Code = "wrong-counters"
	FaultCounts     Code = "counts-disagree"
	FaultUnfinished Code = "unfinished"
	FaultShort      Code = "not-all-done"
	FaultDamaged    Code = "damaged"
	FaultVanished   Code = "data-vanished"
	FaultDiskFull   Code = "disk-full"
	FaultClock      Code = "clock"
	FaultForeign    Code = "foreign-load"
	FaultThrottled  Code = "throttled"
	FaultApart      Code = "began-apart"
)

// Why a trial did not end; record.Trial.Cause.
const (
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
	CauseOther       Code = "trial-error"     // see the text
)

// Causes are why a trial did not end.
var Causes = []Code{CauseRefused, CauseInterrupted, CauseDiskTaken, CauseDied, CauseHung, CauseNoWorker, CauseNoServer, CauseServerDied,
	CauseMemory, CauseDiskFull, CauseStore, CauseQuota, CauseOther}

// Fault returns the code of the finding that a mark makes.
func (m Mark) Fault() Code {
	if e := entries[m.Code]; e.Fault != "" {
		return e.Fault
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
	Entry{Code: MarkFailed, Fault: FaultErrors, Example: Params{"count": 412, "of": 90000, "message": "write: no space left on device"},
		Says: `{{count .count}} of {{plural .of "operation" ""}} failed{{if .message}}, most often with: {{clean .message}}{{end}}`},
	Entry{Code: MarkWrong, Fault: FaultWrong, Example: Params{"count": 3, "of": 90000, "message": "read 17: value of key 18"},
		Says: `{{count .count}} of {{plural .of "operation" ""}} returned a value that was never written under its key{{if .message}}, most often: {{clean .message}}{{end}}`},
	Entry{Code: MarkOtherTrial, Fault: FaultOtherTrial, Example: Params{"count": 8028, "of": 90000},
		Says: `{{count .count}} of {{plural .of "operation" ""}} returned a value that another trial wrote`},
	Entry{Code: MarkLost, Fault: FaultLost, Example: Params{"count": 5, "of": 90000},
		Says: `{{count .count}} of {{plural .of "operation" ""}} did not find a stored record{{if .message}}, most often: {{clean .message}}{{end}}`},
	Entry{Code: MarkUnfinished, Fault: FaultUnfinished, Example: Params{"count": 1},
		Says: `{{plural .count "operation" ""}} began and never ended`},

	Entry{Code: MarkReadbackLost, Fault: FaultLost, Example: Params{"count": 2, "of": 10000, "example": "key 17"},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end were gone, though their writes were acknowledged{{if has .evicted}}; the store says that it evicted {{count .evicted}} of all{{end}}{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Code: MarkReadbackStale, Fault: FaultStale, Example: Params{"count": 2, "of": 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end held an older value than the last acknowledged one{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Code: MarkReadbackWrong, Fault: FaultWrong, Example: Params{"count": 2, "of": 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end held a value of another record, or a damaged one{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Code: MarkReadbackOther, Fault: FaultOtherTrial, Example: Params{"count": 2, "of": 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back at the end held a value that another trial wrote{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Code: MarkReadbackFailed, Fault: FaultErrors, Example: Params{"count": 2, "of": 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} could not be read back at the end{{if .example}} ({{clean .example}}){{end}}`},
	Entry{Code: MarkIncrementsLost, Fault: FaultIncrements, Example: Params{"count": 12, "of": 4000},
		Says: `{{count .count}} of {{plural .of "acknowledged increment" ""}} of the records read back at the end were gone`},
	Entry{Code: MarkIncrementsMore, Fault: FaultIncrements, Example: Params{"count": 12, "of": 4000},
		Says: `the records read back at the end had {{plural .count "increment" ""}} more than the {{count .of}} that were tried`},

	Entry{Code: MarkSum, Fault: FaultCounts, Example: Params{"attempted": 100, "outcomes": 99},
		Says: `{{plural .attempted "operation" ""}} began, but {{count .outcomes}} have an outcome`},
	Entry{Code: MarkAcknowledged, Fault: FaultCounts, Example: Params{"thread": 0, "acknowledged": 12, "begun": 10},
		Says: `thread {{.thread}} acknowledged {{count .acknowledged}} entries, but began only {{count .begun}}`},
	Entry{Code: MarkBegun, Fault: FaultCounts, Example: Params{"thread": 0, "begun": 12, "limit": 10},
		Says: `thread {{.thread}} began {{count .begun}} entries, but its trace has {{count .limit}}`},
	Entry{Code: MarkOutcomes, Fault: FaultCounts, Example: Params{"thread": 0, "operation": "read", "counted": 12, "expected": 10},
		Says: `thread {{.thread}} counted {{plural .counted "outcome" ""}} of {{.operation}}, but its trace has {{count .expected}}`},
	Entry{Code: MarkTimed, Fault: FaultCounts, Example: Params{"operation": "read", "counted": 12, "timed": 10},
		Says: `{{.operation}} has {{plural .counted "outcome" ""}}, but {{count .timed}} of them were timed`},
	Entry{Code: MarkBytes, Fault: FaultCounts, Example: Params{"operation": "insert", "counted": 1200, "least": 1080, "most": 1080},
		Says: `{{.operation}} counted {{count .counted}} bytes written, but its trace has {{counts .least .most}}`},
	Entry{Code: MarkItems, Fault: FaultCounts, Example: Params{"operation": "scan", "operations": 400, "counted": 400, "least": 4210},
		Says: `{{plural .operations "operation" ""}} of {{.operation}} counted {{plural .counted "item" ""}}, but the trace and the data have {{counts .least .most}}`},
	Entry{Code: MarkOrder, Fault: FaultCounts, Example: Params{"operation": "query", "operations": 400, "counted": 400, "least": 4210, "most": 4210},
		Says: `{{plural .operations "operation" ""}} of {{.operation}} did not find the first records of their order: the sort columns add up to {{count .counted}}, expected {{counts .least .most}}`},
	Entry{Code: MarkMoreCounts, Fault: FaultCounts, Example: Params{"count": 4},
		Says: `{{plural .count "more count" ""}} disagree`},
	Entry{Code: MarkTimeOver, Fault: FaultCounts, Example: Params{"served_s": 12.5, "threads": 2, "had_s": 10.0},
		Says: `operations took {{seconds .served_s}} by the worker's histogram, but {{plural .threads "thread" ""}} had {{seconds .had_s}}`},
	Entry{Code: MarkTimeUnder, Fault: FaultCounts, Example: Params{"served_s": 0.5, "threads": 2, "had_s": 10.0},
		Says: `operations took {{seconds .served_s}} by the worker's histogram; the rest of the {{seconds .had_s}} that {{plural .threads "thread" ""}} had is unexplained`},

	Entry{Code: MarkDrift, Fault: FaultClock, Example: Params{"clock": "tsc", "drift_ns": 9e7, "seconds": 10.0},
		Says: `the {{.clock}} clock and the monotonic clock differ by {{latency .drift_ns}} after {{seconds .seconds}}`},
	Entry{Code: MarkBeganLate, Fault: FaultClock, Example: Params{"by_ns": 1e9},
		Says: `the worker reports a start {{latency .by_ns}} after its first operations had ended`},
	Entry{Code: MarkEndedSoon, Fault: FaultClock, Example: Params{"by_ns": 1e9},
		Says: `the worker reports an end {{latency .by_ns}} before its last operations ended`},

	Entry{Code: MarkSteal, Fault: FaultForeign, Example: Params{"least": 0.1, "most": 0.1},
		Says: `the hypervisor took {{shares .least .most}} of the CPU time`},
	Entry{Code: MarkForeign, Fault: FaultForeign, Example: Params{"least": 0.35, "most": 0.65},
		Says: `other processes took {{shares .least .most}} of the CPU time`},
	Entry{Code: MarkQuota, Fault: FaultThrottled, Example: Params{"group": "/box", "periods": 2, "held_s": 0.1, "seconds": 0.2},
		Says: `the CPU quota of {{.group}} was used up in {{plural .periods "period" ""}} and stopped threads for {{seconds .held_s}} of CPU time in {{seconds .seconds}}`},
	Entry{Code: MarkHeat, Fault: FaultThrottled, Example: Params{"held_s": 0.05, "seconds": 0.2},
		Says: `heat slowed a CPU for {{seconds .held_s}} of {{seconds .seconds}}`},

	Entry{Code: MarkShortWork, Fault: FaultShort, Example: Params{"thread": 1, "done": 900, "of": 1000},
		Says: `thread {{.thread}} ended after {{count .done}} of {{plural .of "operation" ""}}`},
	Entry{Code: MarkShortTime, Fault: FaultShort, Example: Params{"seconds": 4.0, "of_s": 60.0},
		Says: `the phase ended after {{seconds .seconds}} of {{seconds .of_s}}`},

	Entry{Code: MarkBeganApart, Fault: FaultApart, Example: Params{"processes": 20, "apart_s": 1.2, "seconds": 10.0},
		Says: `the starts of {{plural .processes "process" ""}} were {{seconds .apart_s}} apart, in a phase of {{seconds .seconds}}`},

	Entry{Code: MarkDamaged, Fault: FaultDamaged, Example: Params{"file": "trials/b1-001-a/series.jsonl", "text": "its digest is not the one that was sealed"},
		Says: `{{.file}}: {{clean .text}}`},

	Entry{Code: MarkDataGone, Fault: FaultVanished,
		Says: "the directory of the store's files vanished"},

	Entry{Code: MarkDiskFull, Fault: FaultDiskFull, Example: Params{"free": 4096, "records": 120000},
		Says: `the disk was full` + inodesThen + freeThen + storedThen + othersTook},
	Entry{Code: MarkMountFull, Fault: FaultDiskFull, Example: Params{"size": 25165824, "filesystem": "ext4", "usable": 22000000, "free": 4096, "records": 120000},
		Says: `the disk quota was full: {{limit .size}} of {{.filesystem}}, {{bytes .usable}} for files` + freeThen + storedThen},
	Entry{Code: MarkRunDiskFull, Fault: FaultDiskFull, Example: Params{"free": 4096},
		Says: `the disk of the run directory was full` + freeThen + storedThen + othersTook},
	Entry{Code: MarkNotBegun, Fault: FaultDiskFull, Says: "not begun: the disk was full"},
)

// The faults. Parameters: arm, place, count (operations, records or values) and trials, where a
// sentence needs them.
var _ = register(
	Entry{Code: FaultErrors, Severity: Grave, Example: fault("count", 412),
		Says:   `{{.arm}} had {{plural .count "failed operation" ""}} in {{.place}}; it has no rank there.`,
		Many:   `{{list .Arms}} had failed operations in {{list .Places}}; no rank there.`,
		Remedy: "read the error messages in the trial"},
	Entry{Code: FaultWrong, Severity: Grave, Example: fault("count", 3),
		Says:   `{{.arm}} returned {{plural .count "wrong value" ""}} in {{.place}}.`,
		Many:   `{{list .Arms}} returned wrong values in {{list .Places}}.`,
		Remedy: suspectStore},
	Entry{Code: FaultOtherTrial, Severity: Grave, Example: fault("count", 8028),
		Says:   `{{.arm}} returned {{plural .count "value" ""}} that another trial wrote in {{.place}}.`,
		Many:   `{{list .Arms}} returned values that another trial wrote in {{list .Places}}.`,
		Remedy: "check for data that outlives a trial, and for writes that are dropped"},
	Entry{Code: FaultLost, Severity: Grave, Example: fault("count", 5),
		Says:   `{{.arm}} lost {{plural .count "record" ""}} in {{.place}}.`,
		Many:   `{{list .Arms}} lost records in {{list .Places}}.`,
		Remedy: "check the durability settings and the examples in the trial"},
	Entry{Code: FaultStale, Severity: Grave, Example: fault("count", 2),
		Says:   `{{.arm}} returned {{plural .count "value" ""}} older than acknowledged in {{.place}}.`,
		Many:   `{{list .Arms}} returned values older than acknowledged in {{list .Places}}.`,
		Remedy: "check for caches and replicas that are read before they are written"},
	Entry{Code: FaultIncrements, Severity: Grave, Example: fault("count", 12),
		Says:   `{{.arm}}: counters are wrong by {{plural .count "increment" ""}} in {{.place}}.`,
		Many:   `{{list .Arms}} have wrong counters in {{list .Places}}.`,
		Remedy: "an increment must be one step of the store; check that the driver does not read and then write"},
	Entry{Code: FaultCounts, Severity: Grave, Example: fault(),
		Says:   `{{.arm}}: the counts of the worker contradict its trace in {{.place}}. No figure of these trials can be trusted.`,
		Many:   `{{list .Arms}}: the counts of the worker contradict its trace in {{list .Places}}. No figure of these trials can be trusted.`,
		Remedy: "treat it as a defect of the worker or the driver"},
	Entry{Code: FaultUnfinished, Severity: Grave, Example: fault("count", 1),
		Says:   `{{.arm}} left {{plural .count "operation" ""}} unfinished in {{.place}}.`,
		Many:   `{{list .Arms}} left operations unfinished in {{list .Places}}.`,
		Remedy: "read the worker's log; raise step_timeout if the store is only slow"},
	Entry{Code: FaultDamaged, Severity: Grave, Example: fault(),
		Says:   `Files of {{.arm}} in {{.place}} are damaged or were edited after the run; it has no rank there.`,
		Many:   `Files of {{list .Arms}} are damaged or were edited after the run, in {{list .Places}}; no rank there.`,
		Remedy: "restore the run directory, or run again"},
	Entry{Code: FaultVanished, Severity: Grave, Example: fault(),
		Says:   `The directory of {{.arm}} vanished in {{.place}}; it has no rank there.`,
		Many:   `The {{agree .Arms "directory" "directories"}} of {{list .Arms}} vanished in {{list .Places}}; no rank there.`,
		Remedy: "find out what removed them; --data puts the stores elsewhere"},
	Entry{Code: FaultShort, Severity: Warning, Example: fault(),
		Says:   `{{.arm}} ended {{.place}} before its work was done.`,
		Many:   `{{list .Arms}} ended {{list .Places}} before the work was done.`,
		Remedy: "give the phase more time or fewer operations"},
	Entry{Code: FaultDiskFull, Severity: Warning, Example: fault(),
		Says:   `{{.arm}} filled the disk in {{.place}}; it has no rank there.`,
		Many:   `{{list .Arms}} filled the disk in {{list .Places}}; no rank there.`,
		Remedy: "free some space, or set disk_quota below what is free"},
	Entry{Code: FaultClock, Severity: Warning, Machine: true, Example: fault("trials", 1),
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: the clock was wrong.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{list .Places}}: the clock was wrong.`,
		Remedy: "--set clock=monotonic"},
	Entry{Code: FaultForeign, Severity: Warning, Machine: true, Example: fault("trials", 1, "share", 0.31),
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: other processes or the hypervisor took {{percent .share}} of the CPU.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{list .Places}}: other processes or the hypervisor took up to {{percent .max_share}} of the CPU.`,
		Remedy: quietMachine},
	Entry{Code: FaultThrottled, Severity: Warning, Machine: true, Example: fault("trials", 1, "share", 0.5),
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: a CPU quota or heat held it back for {{percent .share}} of the time.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{list .Places}}: a CPU quota or heat held them back.`,
		Remedy: liftQuota},
	Entry{Code: FaultApart, Severity: Warning, Machine: true, Example: fault("trials", 1),
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: its processes did not begin together.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{list .Places}}: their processes did not begin together.`,
		Remedy: "use a longer phase or fewer processes, or stop other programs"},
)

// fault is the example of a finding on one arm in one place.
func fault(pairs ...any) Params {
	return New("", append([]any{"arm", "bbolt", "place", "put at D1"}, pairs...)...).Params
}

// The causes. What the worker, the store or the system said stands in the parameter text.
var _ = register(
	Entry{Code: CauseRefused, Says: `not supported{{if .text}}: {{clean .text}}{{end}}`, Example: Params{"text": "D0: every put is synced"}},
	Entry{Code: CauseInterrupted, Says: "stopped by the user"},
	Entry{Code: CauseDiskTaken, Says: "other programs filled the disk"},
	Entry{Code: CauseDied, Says: "the worker died"},
	Entry{Code: CauseHung, Says: "the worker did not answer in time and was killed"},
	Entry{Code: CauseNoWorker, Says: "the worker could not be started"},
	Entry{Code: CauseNoServer, Says: "the server could not be started"},
	Entry{Code: CauseServerDied, Says: "the server died"},
	Entry{Code: CauseMemory, Says: "the kernel killed the worker at its memory limit"},
	Entry{Code: CauseDiskFull, Says: "the disk was full"},
	Entry{Code: CauseStore, Says: "the store returned an error"},
	Entry{Code: CauseQuota, Says: "the load reached the disk quota before all records were stored"},
	Entry{Code: CauseOther, Says: "{{clean .text}}", Example: Params{"text": "the worker answered request 5, but 4 was asked"}},
)
