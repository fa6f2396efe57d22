package finding

// What physics forbids: see plausible.go, seen.go and durable.go of internal/execution/run.
const (
	MarkBytesRead Code = "count-bytes-read" // others than the values that were read have

	MarkBelowFloor Code = "latency-below-floor" // less than the clock itself takes
	MarkMaxOver    Code = "latency-over-phase"  // the longest, than the phase
	MarkMeanOver   Code = "latency-over-max"    // the mean, than the longest
	MarkResponse   Code = "response-too-short"  // from the due time, than the service itself

	MarkBeganEarly Code = "clock-began-early" // the phase, before it was asked for
	MarkEndedLate  Code = "clock-ended-late"  // the phase, after it was answered

	MarkStoppedSignal   Code = "stopped-signal"
	MarkStoppedDebugger Code = "stopped-debugger"
	MarkStoppedFrozen   Code = "stopped-frozen"
	MarkStoppedGap      Code = "stopped-gap"
	MarkStoppedSuspend  Code = "stopped-suspend"

	FaultStopped Code = "stopped-from-outside"

	MarkTooFewSyncs Code = "syncs-too-few" // of the disk, for the writes that were acknowledged as synced

	FaultNotDurable Code = "durability-not-shown"
)

var _ = register(
	Entry{Code: MarkBytesRead, Fault: FaultCounts, Example: Params{"operation": "read", "operations": 400, "counted": 0, "least": 40000, "most": 40100},
		Says: `{{plural .operations "operation" ""}} of {{.operation}} counted {{count .counted}} bytes read, but the values have {{counts .least .most}}`},
	Entry{Code: MarkBelowFloor, Fault: FaultCounts, Example: Params{"operation": "read", "mean_ns": 1.0, "floor_ns": 4},
		Says: `{{.operation}} took {{latency .mean_ns}} on average by the worker's histogram; looking at the clock takes more than {{latency .floor_ns}}`},
	Entry{Code: MarkMaxOver, Fault: FaultCounts, Example: Params{"operation": "read", "max_ns": 4e9, "elapsed_s": 2.0},
		Says: `the longest {{.operation}} took {{latency .max_ns}}, longer than the phase ({{seconds .elapsed_s}})`},
	Entry{Code: MarkMeanOver, Fault: FaultCounts, Example: Params{"operation": "read", "mean_ns": 5000.0, "max_ns": 500},
		Says: `{{.operation}} took {{latency .mean_ns}} on average, longer than its longest ({{latency .max_ns}})`},
	Entry{Code: MarkResponse, Fault: FaultCounts, Example: Params{"operation": "read", "mean_ns": 5000.0, "response_ns": 500.0},
		Says: `{{.operation}} took {{latency .mean_ns}} on average, but {{latency .response_ns}} from its due time`},

	Entry{Code: MarkBeganEarly, Fault: FaultClock, Example: Params{"by_ns": 1e9},
		Says: `the worker reports a start {{latency .by_ns}} before it was told to run`},
	Entry{Code: MarkEndedLate, Fault: FaultClock, Example: Params{"by_ns": 1e9},
		Says: `the worker reports an end {{latency .by_ns}} after its own reply`},

	Entry{Code: MarkStoppedSignal, Fault: FaultStopped, Example: Params{"seconds": 3.0, "at_s": 1.5},
		Says: `a signal (SIGSTOP) stopped the store's process for {{seconds .seconds}}, first at {{moment .at_s}}`},
	Entry{Code: MarkStoppedDebugger, Fault: FaultStopped, Example: Params{"seconds": 3.0, "at_s": 1.5},
		Says: `a debugger stopped the store's process for {{seconds .seconds}}, first at {{moment .at_s}}`},
	Entry{Code: MarkStoppedFrozen, Fault: FaultStopped, Example: Params{"seconds": 3.0, "at_s": 1.5},
		Says: `the cgroup of the store's process was frozen for {{seconds .seconds}}, first at {{moment .at_s}}`},
	Entry{Code: MarkStoppedGap, Fault: FaultStopped, Example: Params{"seconds": 3.0, "at_s": 1.5},
		Says: `Assay itself did not run for {{seconds .seconds}}, first at {{moment .at_s}}: it was stopped, the virtual machine was paused, or no CPU was free`},
	Entry{Code: MarkStoppedSuspend, Fault: FaultStopped, Example: Params{"seconds": 300.0, "at_s": 1.5},
		Says: `the machine was suspended for {{seconds .seconds}}, first at {{moment .at_s}}`},

	Entry{Code: FaultStopped, Severity: Warning, Machine: true, Example: fault("trials", 1),
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: something outside stopped it.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{list .Places}}: something outside stopped them.`,
		Remedy: "don't stop, trace or freeze processes under test; keep the machine awake"},

	Entry{Code: MarkTooFewSyncs, Fault: FaultNotDurable,
		Example: Params{"acknowledged": 540000, "threads": 2, "least": 270000, "done": 12, "counted": "flushes", "disk": "nvme0n1"},
		Says: `{{count .acknowledged}} writes of {{plural .threads "thread" ""}} were acknowledged as synced, which needs {{count .least}} flushes or more; ` +
			`{{.disk}} did {{count .done}} {{.counted}}`},

	Entry{Code: FaultNotDurable, Severity: Grave, Example: fault(),
		Says:   `{{.arm}}: durability not shown in {{.place}}: the disk did far too few flushes for the writes acknowledged as synced. It has no rank there.`,
		Many:   `{{list .Arms}}: durability not shown in {{list .Places}}: the disk did far too few flushes for the writes acknowledged as synced.`,
		Remedy: "check that the driver syncs before it acknowledges; if it does not, give it a weaker class"},
)
