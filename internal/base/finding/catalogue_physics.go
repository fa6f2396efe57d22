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

	MarkTooFewSyncs  Code = "syncs-too-few"        // of the disk, for the writes that were acknowledged as synced
	MarkServerSyncs  Code = "server-syncs-too-few" // by the server's own counter
	MarkSyncsTooFast Code = "syncs-too-fast"       // for the disk's fastest sync
	MarkClassChanged Code = "class-changed"        // by the server's settings, while the phase ran

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
		Example: Params{"acknowledged": 540000, "clients": 2, "least": 270000, "most": 56, "done": 12, "counted": "flushes", "disk": "nvme0n1"},
		Says: `{{count .acknowledged}} writes were acknowledged as synced; {{.disk}} did {{count .done}} {{.counted}}, ` +
			`which cover at most {{if has .most}}{{count .most}} of them{{else}}one write of each thread{{end}}` +
			`{{if has .clients}} ({{plural .clients "client" ""}}, one write of each for a sync){{end}}`},
	Entry{Code: MarkServerSyncs, Fault: FaultNotDurable,
		Example: Params{"acknowledged": 540000, "clients": 2, "least": 270000, "most": 32, "done": 0, "counter": "pg_stat_wal.wal_sync"},
		Says: `{{count .acknowledged}} writes were acknowledged as synced; the server counted {{plural .done "sync" ""}} ({{clean .counter}}), ` +
			`which cover at most {{count .most}} of them ({{plural .clients "client" ""}}, one write of each for a sync)`},
	Entry{Code: MarkSyncsTooFast, Fault: FaultNotDurable,
		Example: Params{"acknowledged": 118000, "clients": 1, "least": 118000, "most": 20218, "seconds": 10.0, "sync_ns": 990000, "disk": "nvme0n1"},
		Says: `{{count .acknowledged}} writes were acknowledged as synced in {{seconds .seconds}}; the fastest sync of {{.disk}} took {{latency .sync_ns}}, ` +
			`and {{plural .clients "client" ""}} can wait for at most {{count .most}} at twice that speed`},
	Entry{Code: MarkClassChanged, Fault: FaultNotDurable, Example: Params{"message": "redis at 127.0.0.1:6379 can't reach D3: its settings give D1"},
		Says: `after the phase, the server's settings did not give the durability class: {{clean .message}}`},

	Entry{Code: FaultNotDurable, Severity: Grave, Example: fault(),
		Says:   `{{.arm}}: durability not shown in {{.place}}: its syncs or its settings do not support the class. It has no rank there.`,
		Many:   `{{list .Arms}}: durability not shown in {{list .Places}}: their syncs or settings do not support the class.`,
		Remedy: "check that the driver and its server sync before they acknowledge; if they do not, give them a weaker class"},
)
