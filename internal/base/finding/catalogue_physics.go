package finding

// What physics forbids: see plausible.go, outside.go and durable.go of internal/execution/run.
const (
	MarkBytesRead Code = "counts-disagree bytes-read" // others than the values that were read have

	MarkBelowFloor Code = "counts-disagree latency-below-floor" // less than the clock itself takes
	MarkMaxOver    Code = "counts-disagree latency-over-phase"  // the longest, than the phase
	MarkMeanOver   Code = "counts-disagree latency-over-max"    // the mean, than the longest
	MarkResponse   Code = "counts-disagree response-too-short"  // from the due time, than the service itself

	MarkBeganEarly Code = "machine-disturbed clock-began-early" // the phase, before it was asked for
	MarkEndedLate  Code = "machine-disturbed clock-ended-late"  // the phase, after it was answered

	MarkStoppedSignal   Code = "machine-disturbed stopped-signal"
	MarkStoppedDebugger Code = "machine-disturbed stopped-debugger"
	MarkStoppedFrozen   Code = "machine-disturbed stopped-frozen"
	MarkStoppedGap      Code = "machine-disturbed stopped-gap"
	MarkStoppedSuspend  Code = "machine-disturbed stopped-suspend"

	FaultStopped Code = "machine-disturbed stopped"

	MarkTooFewSyncs  Code = "durability-not-shown syncs-too-few"        // of the disk, for the writes that were acknowledged as synced
	MarkServerSyncs  Code = "durability-not-shown server-syncs-too-few" // by the server's own counter
	MarkSyncsTooFast Code = "durability-not-shown syncs-too-fast"       // for the disk's fastest sync
	MarkClassChanged Code = "durability-not-shown class-changed"        // by the server's settings, while the phase ran

	MarkClassRefuted Code = "durability-not-shown class-refuted" // by cuts, before the run

	FaultNotDurable Code = "durability-not-shown"
)

var _ = register(
	Entry{Example: WorkParams{Code: MarkBytesRead, Operation: "read", Operations: 400, Counted: 0,
		Least: 40000, Most: Known(uint64(40100))},
		Says: `{{plural .operations "operation" ""}} of {{.operation}} counted {{count .counted}} bytes read, but the values have {{counts .least .most}}`},
	Entry{Example: MarkBelowFloorParams{Operation: "read", MeanNS: 1.0, FloorNS: 4},
		Says: `{{.operation}} took {{latency .mean_ns}} on average by the worker's histogram; looking at the clock takes more than {{latency .floor_ns}}`},
	Entry{Example: MarkMaxOverParams{Operation: "read", MaxNS: 4e9, ElapsedS: 2.0},
		Says: `the longest {{.operation}} took {{latency .max_ns}}, longer than the phase ({{seconds .elapsed_s}})`},
	Entry{Example: MarkMeanOverParams{Operation: "read", MeanNS: 5000.0, MaxNS: 500},
		Says: `{{.operation}} took {{latency .mean_ns}} on average, longer than its longest ({{latency .max_ns}})`},
	Entry{Example: MarkResponseParams{Operation: "read", MeanNS: 5000.0, ResponseNS: 500.0},
		Says: `{{.operation}} took {{latency .mean_ns}} on average, but {{latency .response_ns}} from its due time`},

	Entry{Example: ClockParams{Code: MarkBeganEarly, ByNS: 1e9}, Fault: FaultClock,
		Says: `the worker reports a start {{latency .by_ns}} before the run request`},
	Entry{Example: ClockParams{Code: MarkEndedLate, ByNS: 1e9}, Fault: FaultClock,
		Says: `the worker reports an end {{latency .by_ns}} after its own reply`},

	Entry{Example: StopParams{Code: MarkStoppedSignal, Seconds: 3.0, AtS: 1.5}, Fault: FaultStopped,
		Says: `a signal (SIGSTOP) stopped {{if has .agent}}a worker on the agent {{.agent}}{{else}}the store's process{{end}} for {{seconds .seconds}}, first at {{moment .at_s}}`},
	Entry{Example: StopParams{Code: MarkStoppedDebugger, Seconds: 3.0, AtS: 1.5}, Fault: FaultStopped,
		Says: `a debugger stopped {{if has .agent}}a worker on the agent {{.agent}}{{else}}the store's process{{end}} for {{seconds .seconds}}, first at {{moment .at_s}}`},
	Entry{Example: StopParams{Code: MarkStoppedFrozen, Seconds: 3.0, AtS: 1.5}, Fault: FaultStopped,
		Says: `the cgroup of {{if has .agent}}a worker on the agent {{.agent}}{{else}}the store's process{{end}} was frozen for {{seconds .seconds}}, first at {{moment .at_s}}`},
	Entry{Example: StopParams{Code: MarkStoppedGap, Seconds: 3.0, AtS: 1.5}, Fault: FaultStopped,
		Says: `Assay itself did not run for {{seconds .seconds}}, first at {{moment .at_s}}: it was stopped, the virtual machine was paused, or no CPU was free`},
	Entry{Example: StopParams{Code: MarkStoppedSuspend, Seconds: 300.0, AtS: 1.5}, Fault: FaultStopped,
		Says: `the machine{{if has .agent}} of the agent {{.agent}}{{end}} was suspended for {{seconds .seconds}}, first at {{moment .at_s}}`},

	Entry{Example: FaultParams{Code: FaultStopped, At: example, Trials: 1}, Severity: Warning, Machine: true,
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: something outside stopped it.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{places .Places}}: something outside stopped them.`,
		Remedy: "don't stop, trace or freeze processes under test; keep the machine awake"},

	Entry{Example: MarkTooFewSyncsParams{SyncsNeeded: SyncsNeeded{540000, 270000, 56, 2}, Done: 12,
		Counted: "flushes", Disk: "nvme0n1"},
		Says: `{{count .acknowledged}} writes were acknowledged as synced, which takes {{plural .least "sync" ""}} or more; {{.disk}} did {{count .done}} {{.counted}}, ` +
			`which cover at most {{if has .most}}{{count .most}} of them{{else}}one write of each thread{{end}}` +
			`{{if has .clients}} ({{plural .clients "client" ""}}, one write of each for a sync){{end}}`},
	Entry{Example: MarkServerSyncsParams{SyncsNeeded: SyncsNeeded{540000, 270000, 32, 2},
		Counter: "pg_stat_wal.wal_sync"},
		Says: `{{count .acknowledged}} writes were acknowledged as synced, which takes {{plural .least "sync" ""}} or more; the server counted {{plural .done "sync" ""}} ({{clean .counter}}), ` +
			`which cover at most {{count .most}} of them ({{plural .clients "client" ""}}, one write of each for a sync)`},
	Entry{Example: MarkSyncsTooFastParams{SyncsNeeded: SyncsNeeded{118000, 118000, 20218, 1},
		Seconds: 10.0, SyncNS: 990000, Disk: "nvme0n1"},
		Says: `{{count .acknowledged}} writes were acknowledged as synced in {{seconds .seconds}}, which takes {{plural .least "sync" ""}} or more; the fastest sync of {{.disk}} took {{latency .sync_ns}}, ` +
			`and {{plural .clients "client" ""}} can wait for at most {{count .most}} at twice that speed`},
	Entry{Example: MarkClassChangedParams{Message: "redis at 127.0.0.1:6379 can't reach D3: its settings give D1"},
		Says: `after the phase, the server's settings did not give the durability class: {{clean .message}}`},
	Entry{Example: MarkClassRefutedParams{FileSystem: "ext4", Why: "cut 3 (single writes): lost 12 of 5,000 records"},
		Says: `{{if .kills}}kills of the process{{else}}power cuts on {{.file_system}}{{end}} have refuted the durability class: {{clean .why}}`,
		Also: []Parameters{MarkClassRefutedParams{FileSystem: "ext4", Kills: true, Why: "cut 3 (single writes): lost 12 of 5,000 records"}}},

	Entry{Example: FaultParams{Code: FaultNotDurable, At: example}, Severity: Grave,
		Says:   `{{.arm}}: durability not shown in {{.place}}: its syncs, its settings or a cut do not support the class. It has no rank there.`,
		Many:   `{{list .Arms}}: durability not shown in {{places .Places}}: their syncs, settings or a cut do not support the class.`,
		Remedy: "check that the driver and its server sync before they acknowledge; if they do not, give them a weaker class"},
)

type MarkBelowFloorParams struct {
	Operation string
	MeanNS    float64
	FloorNS   int
}

func (MarkBelowFloorParams) code() Code { return MarkBelowFloor }

type MarkMaxOverParams struct {
	Operation       string
	MaxNS, ElapsedS float64
}

func (MarkMaxOverParams) code() Code { return MarkMaxOver }

type MarkMeanOverParams struct {
	Operation     string
	MeanNS, MaxNS float64
}

func (MarkMeanOverParams) code() Code { return MarkMeanOver }

type MarkResponseParams struct {
	Operation          string
	MeanNS, ResponseNS float64
}

func (MarkResponseParams) code() Code { return MarkResponse }

// SyncsNeeded is what was acknowledged as synced: Least syncs or more, as the syncs that were done
// cover at most Most writes of so many clients.
type SyncsNeeded struct {
	Acknowledged, Least, Most uint64
	Clients                   int
}

type MarkTooFewSyncsParams struct {
	SyncsNeeded
	Done          uint64
	Counted, Disk string
}

func (MarkTooFewSyncsParams) code() Code { return MarkTooFewSyncs }

type MarkServerSyncsParams struct {
	SyncsNeeded
	Done    uint64
	Counter string
}

func (MarkServerSyncsParams) code() Code { return MarkServerSyncs }

type MarkSyncsTooFastParams struct {
	SyncsNeeded
	Seconds float64
	SyncNS  int64
	Disk    string
}

func (MarkSyncsTooFastParams) code() Code { return MarkSyncsTooFast }

type MarkClassRefutedParams struct {
	FileSystem string
	Kills      bool // and no power cut
	Why        string
}

func (MarkClassRefutedParams) code() Code { return MarkClassRefuted }

type MarkClassChangedParams struct{ Message string }

func (MarkClassChangedParams) code() Code { return MarkClassChanged }
