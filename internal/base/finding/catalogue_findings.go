package finding

// The findings of a run, besides the faults that trials are marked for. Package verdict detects
// them.
const (
	TrialFailed      Code = "trial-failed"
	TrialsMissing    Code = "trials-missing"
	RunIncomplete    Code = "run-incomplete"
	LessWork         Code = "did-less-work"     // fewer records an operation, or more misses, than the trace or the others
	WorkIncomparable Code = "work-incomparable" // likewise, but the data depends on the arm's speed
	NotOnDisk        Code = "not-on-disk"       // files are too small for what a class that survives the process acknowledged
	StoppedEarly     Code = "stopped-early"     // before the operations of the phase were done
	Conflicts        Code = "conflicts"         // of operations that asked no condition
	ServerShare      Code = "server-share"      // one of several servers got clearly more or less than its weight
	RateFell         Code = "rate-fell"
	RateDeclined     Code = "rate-declined"
	RateRose         Code = "rate-rose"
	RateOscillates   Code = "rate-oscillates"
	RateDrops        Code = "rate-drops"           // stalls and dips
	ProcessStarts    Code = "process-starts"       // how far apart the clients' processes began
	Milestones       Code = "milestones"           // each so many operations of a thread, in seconds
	GroupEffect      Code = "group-effect"         // what one group of clients did to another's rate
	GroupUnknown     Code = "group-effect-unknown" // it did not run long enough to tell
	TooShort         Code = "too-short"            // to say whether a rate holds
	HarnessBound     Code = "harness-bound"
	HarnessUnknown   Code = "harness-unknown"
	ClientBound      Code = "client-bound"
	SeenClientBound  Code = "seen-client-bound"
	Noisy            Code = "noisy" // the baseline differs from its twin
	BusyMachine      Code = "busy-machine"
	MachineUnknown   Code = "machine-unknown" // load of others, quotas or heat were not measured
	DispatchLate     Code = "dispatch-late"
	FellBehind       Code = "fell-behind" // open load that was due and not done
	DurabilityCost   Code = "durability-cost"
	NothingSynced    Code = "nothing-synced"
	Unverified       Code = "unverified" // data loss, or a part of it, would go undetected
	ServerKept       Code = "server-not-emptied"
	InMemory         Code = "data-fits-memory"
	NotCold          Code = "not-cold"
	LimitNotEnforced Code = "memory-limit-not-enforced"
	LimitUnreached   Code = "memory-limit-unreached"
	SettingsTooSmall Code = "settings-too-small"
	Unindexed        Code = "query-without-index" // the store says that it looks at every record
	WalksOrder       Code = "query-by-order"      // it says that it walks an index in the query's order, where others find by one

	ConnectionsExceed Code = "connections-exceed" // what handles allows
)

// What is seen behind them.
const (
	SeenHeat      Code = "seen-heat"
	SeenItems     Code = "seen-items"
	SeenItemsOwed Code = "seen-items-owed"
	SeenMisses    Code = "seen-misses"
	SeenSizes     Code = "seen-sizes"
	SeenPart      Code = "seen-part"
	SeenShort     Code = "seen-short"
	SeenNoise     Code = "seen-noise"
	SeenCost      Code = "seen-cost"
	SeenUnjudged  Code = "seen-unjudged"
	SeenWrites    Code = "seen-writes"
	SeenData      Code = "seen-data"
	SeenWarm      Code = "seen-warm"
	SeenPeak      Code = "seen-peak"
	SeenFiles     Code = "seen-files"
	SeenLate      Code = "seen-late"
	SeenBacklog   Code = "seen-backlog"
	SeenShare     Code = "seen-share"

	SeenPlan        Code = "seen-plan"
	SeenConnections Code = "seen-connections"
	SeenGroup       Code = "seen-group"
)

// What several sentences say alike.
const (
	changedWith = `{{if .with}} {{capital (list .with)}} changed at that time.{{end}}`
	brokeAt     = `{{if .records}} at {{number .records}} records{{else if .at_s}} after {{seconds .at_s}}{{end}}`
	runLonger   = "run the phase longer"
)

// Trials and their files.
var _ = register(
	Entry{Code: TrialFailed, Severity: Grave, Example: fault("trials", 2, "why", "the worker died"),
		Says:   `{{.arm}} failed in {{plural .trials "trial" ""}} at {{.place}}: {{.why}}.`,
		Many:   `{{list .Arms}} failed at {{list .Places}}: {{list .all_why}}.`,
		Remedy: "read worker.log in the trial's folder"},
	Entry{Code: TrialsMissing, Severity: Warning, Example: Params{"missing": 12, "planned": 96, "directory": "runs/demo"},
		Says:   `{{count .missing}} of {{plural .planned "trial" ""}} have no result; tables have fewer blocks than planned.`,
		Remedy: `assay run --resume {{.directory}}`},
	Entry{Code: RunIncomplete, Severity: Warning, Example: Params{"files": 1},
		Says:   `{{plural .files "file" ""}} of the run directory {{if eq .files 1}}is{{else}}are{{end}} missing, cut or damaged.`,
		Remedy: "restore the run directory, or run again"},
)

// Work and data.
var _ = register(
	Entry{Code: LessWork, Severity: Grave, Example: fault(),
		Says:   `{{.arm}} did less work than the trace asks for in {{.place}}; it has no rank there.`,
		Many:   `{{list .Arms}} did less work than the trace asks for in {{list .Places}}; no rank there.`,
		Remedy: suspectStore},
	Entry{Code: WorkIncomparable, Severity: Notice, Example: fault(),
		Says:   `{{.arm}} found less than others in {{.place}}; the data depends on each store's speed, so the work is not comparable.`,
		Many:   `{{list .Arms}} found less than others in {{list .Places}}; the data depends on each store's speed.`,
		Remedy: "compare in a phase that only reads, or give the phases before it operations instead of time"},
	Entry{Code: SeenItems, Example: Params{"operation": "scan", "items": 9.5, "other": "pebble", "other_items": 10.0, "because": "growth"},
		Says: `{{number .items}} records a {{.operation}}, {{.other}} has {{number .other_items}}` + honestBecause},
	Entry{Code: SeenItemsOwed, Example: Params{"operation": "scan", "items": 9.5, "owed": 10.0},
		Says: `{{number .items}} records a {{.operation}}, at least {{number .owed}} were stored`},
	Entry{Code: SeenMisses, Example: Params{"operation": "read", "share": 0.1, "other": "pebble", "other_share": 0.01, "because": "deletes"},
		Says: `{{percent .share}} of {{.operation}} operations missed, {{percent .other_share}} of {{.other}}'s` + honestBecause},
	Entry{Code: NotOnDisk, Severity: Grave, Example: fault("values", 4.2e8, "disk", 1.2e6, "class", "D1"),
		Says:   `{{.arm}} acknowledged {{bytes .values}} of values in {{.place}}, but only {{bytes .disk}} are on disk. {{.class}} promises that they survive the process.`,
		Many:   `{{list .Arms}} acknowledged values in {{list .Places}} that are not on disk, against the promise of the class.`,
		Remedy: "check the class with a kill test (assay conformance); the rate is one of memory"},
	Entry{Code: SeenSizes, Example: Params{"phase": "put", "values": 4.2e8, "compressed": 2.1e8, "disk": 1.2e6, "written": 1.3e6},
		Says: `after {{.phase}}: {{bytes .values}} of live values, {{bytes .compressed}} compressed; {{bytes .disk}} on disk, {{if has .written}}{{bytes .written}} written{{else}}writes not measured{{end}}`},
	Entry{Code: StoppedEarly, Severity: Warning, Example: fault("blocks", 2, "of", 3, "share", 0.62),
		Says:   `{{.arm}} stopped early in {{.place}}, after {{percent .share}} of its operations; not comparable with complete runs.`,
		Many:   `{{list .Arms}} stopped early in {{list .Places}}; not comparable with complete runs.`,
		Remedy: "give the phase more time or a larger disk_quota, or fewer operations"},
	Entry{Code: SeenPart, Example: Params{"done": 620, "of": 1000}, Says: `{{count .done}} of {{plural .of "operation" ""}}`},
	Entry{Code: Conflicts, Severity: Warning, Example: fault("count", 1200, "of", 90000, "share", 0.0133),
		Says:   `{{.arm}} refused {{percent .share}} of its operations in {{.place}} as conflicts; its rate leaves them out.`,
		Many:   `{{list .Arms}} refused up to {{percent .max_share}} of operations as conflicts in {{list .Places}}; rates leave them out.`,
		Remedy: "count retries in, or use fewer threads or an order of keys with fewer collisions"},
	Entry{Code: ServerShare, Severity: Warning, Example: fault("server", 2, "servers", 3, "share", 0.52, "expected", 0.333, "operations", 90000),
		Says:   `Server {{.server}} of {{.arm}} got {{percent .share}} of a trial's operations in {{.place}}; its weight is {{percent .expected}}.`,
		Many:   `One server of {{list .Arms}} got clearly more or less of the operations than its weight in {{list .Places}}.`,
		Remedy: "compare driver.shares_of_keys; otherwise a few keys get most operations (order: uniform)"},
	Entry{Code: SeenShare, Example: Params{"server": 2, "servers": 3, "share": 0.52, "expected": 0.333, "operations": 90000},
		Says: `server {{.server}} got {{percent .share}} of {{plural .operations "operation" ""}}, its weight is {{percent .expected}}`},
	Entry{Code: Unverified, Severity: Warning, Example: Params{"why": "arms", "arms": []string{"bbolt"}},
		Says: `{{if eq .why "reads"}}Values that were read were not verified; wrong values would go undetected.` +
			`{{else if eq .why "end"}}No write was verified at the end; data loss would go undetected.` +
			`{{else if eq .why "arms"}}No write of {{list .arms}} was verified; data loss would go undetected.` +
			`{{else if eq .why "versions"}}{{if .columns}}Records without a proof column{{else}}Values below {{.bytes}} bytes{{end}} prove their key but not their version; stale values would go undetected.` +
			`{{else}}Some records could not be judged when read back: writes to them ended in errors or conflicts.{{end}}`,
		Remedy: `{{if eq .why "reads"}}--set verify=true{{else if eq .why "end"}}--set verify_records=10000{{else if eq .why "arms"}}add a phase that reads what was written` +
			`{{else if eq .why "versions"}}{{if .columns}}add a column such as {name: v, proof: {{.bytes}}}{{else}}use values of {{.bytes}} bytes or more{{end}}{{else}}read the error messages of the trials{{end}}`},
	Entry{Code: SeenUnjudged, Example: Params{"count": 12, "of": 10000}, Says: `{{count .count}} of {{plural .of "record" ""}} read back could not be judged`},
	Entry{Code: SeenWrites, Example: Params{"count": 90000}, Says: `{{plural .count "write" ""}} acknowledged, no final check`},
	Entry{Code: ServerKept, Severity: Warning, Example: Params{"arms": []string{"memcached"}},
		Says:   `The server of {{list .arms}} was not emptied between trials; records of earlier trials may be found.`,
		Remedy: "if everything on the server may be deleted: option flush_at_open"},
)

const honestBecause = `{{if has .because}}; {{if eq .because "deletes"}}faster stores delete more{{else if eq .because "growth"}}data of faster stores grows faster` +
	`{{else if eq .because "no-load"}}each store holds what it had time to write{{else}}it refused writes{{end}}{{end}}`

// What rates did.
var _ = register(
	Entry{Code: RateFell, Severity: Warning, Answer: true,
		Example: fault("early", 412e3, "late", 86e3, "at_s", 41.0, "records", 3.74e6, "with", []string{"page faults"}, "blocks", 3, "of", 3.0),
		Says:    `{{.arm}} fell from {{rate .early}} to {{rate .late}} in {{.place}}` + brokeAt + `.` + changedWith,
		Many:    `{{list .Arms}} did not hold {{agree .Arms "its" "their"}} rate in {{list .Places}}.`,
		Remedy:  "assay analyze DIR --trial ID: what changed at that time"},
	Entry{Code: RateDeclined, Severity: Warning, Answer: true,
		Example: fault("early", 412e3, "late", 286e3, "with", []string{}, "blocks", 3, "of", 3.0),
		Says:    `{{.arm}} declined from {{rate .early}} to {{rate .late}} in {{.place}}.` + changedWith,
		Many:    `{{list .Arms}} declined in {{list .Places}}.`,
		Remedy:  "compare at the amount of data that you will have"},
	Entry{Code: RateRose, Severity: Warning, Answer: true,
		Example: fault("early", 86e3, "late", 412e3, "with", []string{}, "blocks", 3, "of", 3.0),
		Says:    `{{.arm}} was still getting faster at the end of {{.place}}: {{rate .early}} at first, {{rate .late}} at last.`,
		Many:    `{{list .Arms}} {{agree .Arms "was" "were"}} still getting faster at the end of {{list .Places}}.`,
		Remedy:  runLonger},
	Entry{Code: RateOscillates, Severity: Warning, Answer: true,
		Example: fault("high", 90e3, "low", 40e3, "early", 90e3, "late", 40e3, "with", []string{}, "blocks", 2, "of", 3.0),
		Says:    `{{.arm}} oscillates between {{rate .low}} and {{rate .high}} in {{.place}}; the mean describes neither.`,
		Many:    `{{list .Arms}} {{agree .Arms "oscillates" "oscillate"}} between two rates in {{list .Places}}; the means describe neither.`,
		Remedy:  "state both levels and their shares of the time"},
	Entry{Code: RateDrops, Severity: Notice, Answer: true,
		Example: fault("count", 20, "stalls", 3, "longest_s", 2.0, "left", 0.02, "period_s", 30.0, "blocks", 3, "of", 3.0),
		Says: `{{.arm}} dropped to {{percent .left}} of its usual rate in {{.place}}: {{plural .count "time" ""}}, at most for {{seconds .longest_s}}` +
			`{{if has .period_s}}, every {{seconds .period_s}}{{end}}.`,
		Many:   `{{list .Arms}} dropped for moments in {{list .Places}}, at most for {{seconds .max_longest_s}}.`,
		Remedy: "read p99.9 and the maximum; compare with compaction, flushes and host writes at these times"},
	Entry{Code: ProcessStarts, Severity: Notice, Example: New("", "arm", "redis", "place", "mixed (D0, 100 processes)", "processes", 100, "apart_ns", 2.1e8).Params,
		Says: `The {{plural .processes "process" ""}} of {{.arm}} began within {{latency .apart_ns}} in {{.place}}.`,
		Many: `The processes of {{list .Arms}} began within {{latency .max_apart_ns}} in {{list .Places}}.`},
	Entry{Code: Milestones, Severity: Notice, Answer: true,
		Example: fault("every", 10000, "threads", 60, "most", 11, "first_s", 1.2, "last_s", 8.4, "last_min_s", 7.9, "last_max_s", 9.3),
		Says: `{{.arm}} took {{seconds .first_s}} for the first {{count .every}} operations of a thread in {{.place}}, and {{seconds .last_s}} for the last ` +
			`({{seconds .last_min_s}} to {{seconds .last_max_s}} over the threads).`,
		Many: `{{list .Arms}} took {{seconds .min_first_s}} to {{seconds .max_first_s}} for the first {{count .max_every}} operations of a thread, ` +
			`and {{seconds .min_last_s}} to {{seconds .max_last_s}} for the last, in {{list .Places}}.`},
	Entry{Code: GroupEffect, Severity: Warning, Answer: true,
		Example: fault("group", "insert", "other", "count", "fell", true, "change", 0.93, "low", 0.91, "high", 0.95, "seconds", 4.1, "blocks", 3),
		Says: `{{.group}} on {{.arm}} {{if .fell}}fell{{else}}rose{{end}} by {{percent .change}} ({{percent .low}} to {{percent .high}}) for the ` +
			`{{seconds .seconds}} that {{.other}} ran, in {{.place}}.`,
		Remedy: `{{if .fell}}compare with an index, a smaller operation, or {{.other}} at another time or on a copy of the data{{end}}`},
	Entry{Code: SeenGroup, Example: Params{"rate": 122.0, "before": 1800.0, "after": 1750.0, "from_s": 20.0, "to_s": 24.1},
		Says: `{{rate .rate}} from {{seconds .from_s}} to {{seconds .to_s}}, {{rate .before}} before and {{rate .after}} after`},
	Entry{Code: GroupUnknown, Severity: Notice, Example: fault("group", "insert", "other", "count", "seconds", 0.04, "sample_s", 0.05),
		Says:   `What {{.other}} did to {{.group}} on {{.arm}} in {{.place}} is unknown: it ran for {{seconds .seconds}}, with a sample each {{seconds .sample_s}}.`,
		Many:   `What one group did to another on {{list .Arms}} is unknown: it ran for at most {{seconds .max_seconds}}, less than three samples.`,
		Remedy: "let the group do more operations, or set a shorter sample, such as sample: 10ms"},
	Entry{Code: TooShort, Severity: Warning, Example: Params{"short": 54, "noisy": 0, "of": 58, "phases": []string{"put", "get"}, "longer": []string{"put", "get"}, "seconds": 10.0},
		Says: `{{if .short}}{{count .short}} of {{plural .of "measurement was" "measurements were"}} too short to reach a steady state.{{end}}` +
			`{{if .noisy}}{{if .short}} {{count .noisy}} were too noisy.{{else}}{{count .noisy}} of {{plural .of "measurement was" "measurements were"}} too noisy to show a steady state.{{end}}{{end}}`,
		Remedy: `{{if .longer}}run longer phases: --set phases.{{index .longer 0}}.for={{.seconds}}s{{else}}give phases more operations{{end}}`},
	Entry{Code: SeenShort, Example: Params{"phase": "put", "count": 27, "seconds": 0.5, "samples": 9},
		Says: `{{.phase}}: {{plural .count "measurement" ""}}, the shortest {{seconds .seconds}} with {{plural .samples "sample" ""}}`},
)

// Comparability and the machine.
var _ = register(
	Entry{Code: HarnessBound, Severity: Warning, Example: fault("share", 0.62, "rate", 4.1e6, "ceiling", "null"),
		Says:   `{{.arm}} in {{.place}} is harness-bound: {{percent .share}} of each operation is the harness. It has no rank.`,
		Many:   `{{list .Arms}} {{agree .Arms "is" "are"}} harness-bound in {{list .Places}}: up to {{percent .max_share}} of each operation is the harness.`,
		Remedy: `use larger values or a slower order of keys{{if has .native}}, or the native driver {{.native}} (make native){{end}}`},
	Entry{Code: HarnessUnknown, Severity: Notice, Example: Params{"arms": []string{"redis-java"}, "places": []string{"put (D1)"}},
		Says:   `Harness overhead unknown for {{list .arms}} in {{list .places}}: no valid null-driver trial.`,
		Remedy: "build null-c (make native), or give the worker a driver of kind none"},
	Entry{Code: ClientBound, Severity: Warning,
		Example: fault("trials", 3, "client_cpus", 0.98, "limit_cpus", 1.0, "server_cpus", 0.41),
		Says: `{{.arm}} in {{.place}} is client-bound: the client used {{number .client_cpus}} of its ` +
			`{{number .limit_cpus}} CPUs, the server {{number .server_cpus}}. The rate is the client's.`,
		Many: `{{list .Arms}} {{agree .Arms "is" "are"}} client-bound in {{list .Places}}: ` +
			`the client used up its CPUs, the server did not. The rates are the client's.`,
		Remedy: "give the client more CPUs (cpus), use the lean client, or run the server on another machine"},
	Entry{Code: SeenClientBound, Example: Params{"client_cpus": 0.98, "limit_cpus": 1.0, "server_cpus": 0.41},
		Says: `the client used {{number .client_cpus}} of {{number .limit_cpus}} CPUs, the server {{number .server_cpus}}`},
	Entry{Code: Noisy, Severity: Warning, Example: Params{"arms": []string{"bbolt"}, "tables": 2, "of": 12, "share": 0.18, "by_table": []string{"18 % in put (D1)", "12 % in get (D3)"}},
		Says:   `Noise: {{list .arms}} {{agree .arms "differs from its" "differ from their"}} own twin in {{.tables}} of {{plural .of "table" ""}}, by {{list .by_table}}. Each of these tables ignores differences up to its own noise.`,
		Remedy: "use a quieter machine, or more and longer blocks"},
	Entry{Code: SeenNoise, Example: Params{"place": "put (D1)", "ratio": 1.18, "low": 1.02, "high": 1.36},
		Says: `{{.place}}: {{factor .ratio}} itself{{if has .low}} (95 % interval {{interval .low .high}}){{end}}`},
	Entry{Code: BusyMachine, Severity: Warning, Machine: true, Example: Params{"phases": 3, "of": 40, "foreign": 0.12, "ranked": false},
		Says: `Disturbed {{.phases}} of {{plural .of "measured phase" ""}}:` +
			`{{if has .foreign}} other processes used up to {{percent .foreign}} of the CPU;{{end}}` +
			`{{if has .steal}} the hypervisor took up to {{percent .steal}};{{end}}` +
			`{{if has .quota_s}} a CPU quota stopped threads for up to {{seconds .quota_s}};{{end}}` +
			`{{if has .heat_times}} heat slowed a CPU up to {{plural .heat_times "time" ""}};{{end}}` +
			` {{if .ranked}}ranked all the same (busy_machine: tell).{{else}}too little to exclude them.{{end}}`,
		Remedy: quietMachine},
	Entry{Code: SeenHeat, Example: Params{"times": 2}, Says: `heat slowed a CPU {{plural .times "time" ""}}; this kernel does not report for how long`},
	Entry{Code: MachineUnknown, Severity: Notice, Example: Params{"of": 40, "what": []string{"foreign", "heat"}, "phases": []int{3, 40}},
		Says: `Not measured, of {{plural .of "phase" ""}}: {{range $i, $w := .what}}{{if $i}}, {{end}}` +
			`{{if eq $w "foreign"}}load of other processes{{else if eq $w "steal"}}time taken by the hypervisor{{else if eq $w "quota"}}CPU quotas{{else}}throttling by heat{{end}} in {{index $.phases $i}}{{end}}.`,
		Remedy: "assay doctor; longer phases help where clock ticks are too coarse"},
	Entry{Code: DispatchLate, Severity: Warning, Example: fault("quantiles", []string{"p99", "p99.9"}, "counted", true),
		Says: `{{if .counted}}{{list .quantiles}} of {{.arm}} in {{.place}} excluded: more than a tenth is the harness's own delay.` +
			`{{else}}Operations of {{.arm}} in {{.place}} began late by up to more than a tenth of p99; its worker does not count how many.{{end}}`,
		Many:   `Percentiles of {{list .Arms}} in {{list .Places}} excluded: more than a tenth is the harness's own delay.`,
		Remedy: "use fewer threads than processors, and stop other programs"},
	Entry{Code: SeenLate, Example: Params{"quantile": "p99", "late_ns": 2e5, "response_ns": 1e6},
		Says: `{{.quantile}}: operations began up to {{latency .late_ns}} late, the response time is {{latency .response_ns}}`},
	Entry{Code: FellBehind, Severity: Warning, Example: fault("offered", 50e3, "rate", 41e3, "blocks", 3, "of", 3.0),
		Says:   `{{.arm}} did not keep up with {{rate .offered}} in {{.place}}: it did {{rate .rate}}. Its percentiles are excluded.`,
		Many:   `{{list .Arms}} did not keep up with the offered rate in {{list .Places}}. The percentiles are excluded.`,
		Remedy: "set a rate below what the store does under closed load"},
	Entry{Code: SeenBacklog, Example: Params{"rate": 41e3, "offered": 50e3, "behind_ns": 2e9, "not_begun": 90000},
		Says: `{{rate .rate}} of {{rate .offered}}; {{latency .behind_ns}} behind at the end; {{plural .not_begun "operation" ""}} never begun`},
	Entry{Code: DurabilityCost, Severity: Notice, Answer: true,
		Example: Params{"arm": "bbolt", "phase": "put", "weak": "D1", "strong": "D3", "factor": 12.4, "low": 10.9, "high": 14.1},
		Says:    `{{.arm}} is {{factor .factor}} faster at {{.weak}} than at {{.strong}} in {{.phase}} (95 % interval {{interval .low .high}}). Compare within one class only.`},
	Entry{Code: SeenCost, Example: Params{"arm": "pebble", "weak": "D1", "strong": "D3", "factor": 3.1, "low": 2.8, "high": 3.4},
		Says: `{{.arm}}: {{factor .factor}} at {{.weak}} of {{.strong}} (95 % interval {{interval .low .high}})`},
	Entry{Code: NothingSynced, Severity: Warning, Example: Params{"arms": []string{"bbolt"}, "filesystem": "tmpfs"},
		Says: `{{if has .filesystem}}The files of {{list .arms}} were in memory ({{.filesystem}}){{else}}A sync of 4 KiB takes {{latency .sync_ns}} here, too little to reach a device{{end}}: ` +
			`nothing survives a power cut, and rates leave out the cost of syncs.`,
		Remedy: `{{if has .mounted}}allow loop devices, or --set disk_quota_by=stop{{else}}name a directory on a real disk: --data DIR{{end}}`},
)

// The course of a number of connections, and who counted them.
const (
	ConnectionsGrow   = "grow"   // until the end
	ConnectionsStay   = "stay"   // above the maximum until the end
	ConnectionsReturn = "return" // to it

	EndWorker = "worker"
	EndServer = "server"
)

// Connections.
var _ = register(
	Entry{Code: ConnectionsExceed, Severity: Warning,
		Example: fault("most", 17, "allowed", 9, "began_s", 3.0, "course", ConnectionsGrow, "end", EndWorker),
		Says: `{{.arm}} held up to {{plural .most "connection" ""}} in {{.place}}; handles allows {{count .allowed}}` +
			`{{if eq .end "server"}} (counted by the server){{end}}. ` +
			`The excess began at {{seconds .began_s}}` +
			`{{if eq .course "grow"}} and grew until the end{{else if eq .course "stay"}} and did not shrink until the end` +
			`{{else}} and ended before the phase did{{end}}.`,
		Many:   `{{list .Arms}} held more connections in {{list .Places}} than handles allows.`,
		Remedy: "limit the pool of the store's client, or set handles to what it opens"},
	Entry{Code: SeenConnections,
		Example: Params{"most": 17, "allowed": 9, "began_s": 3.0, "course": ConnectionsStay, "end": EndServer},
		Says: `up to {{plural .most "connection" ""}} by the count of the {{.end}}, {{count .allowed}} allowed; ` +
			`too many from {{seconds .began_s}} on{{if eq .course "grow"}}, growing{{else if eq .course "stay"}}, until the end{{end}}`},
)

// Memory and settings.
var _ = register(
	Entry{Code: InMemory, Severity: Notice, Example: Params{"tables": 6, "of": 12, "arms": []string{"bbolt"}},
		Says:   `The data{{if has .arms}} of {{list .arms}}{{end}} fits in memory in {{.tables}} of {{plural .of "table" ""}} that read; the disk is not measured there.`,
		Remedy: "set a memory_limit below the size of the data, or use more records"},
	Entry{Code: SeenData, Example: Params{"place": "get (D1)", "data": 1.4e7, "memory": 8e9, "limited": false},
		Says: `{{.place}}: {{bytes .data}} of data, {{bytes .memory}} of memory{{if .limited}} (limit){{end}}`},
	Entry{Code: NotCold, Severity: Warning, Example: fault("share", 0.4),
		Says:   `{{.arm}} in {{.place}} did not begin cold: {{percent .share}} of its files stayed in the page cache.`,
		Many:   `{{list .Arms}} did not begin cold in {{list .Places}}: files stayed in the page cache.`,
		Remedy: "use a file system on a disk; what a store maps into memory stays until it is closed"},
	Entry{Code: SeenWarm, Example: Params{"resident": 4e6, "files": 1e7}, Says: `{{bytes .resident}} of {{bytes .files}} in the page cache`},
	Entry{Code: LimitNotEnforced, Severity: Warning, Example: Params{"arms": []string{"bbolt", "pebble"}},
		Says:   `The memory limit was not enforced for {{list .arms}}; stores did not have the same memory.`,
		Remedy: "assay doctor: memory control groups must be writable"},
	Entry{Code: SeenPeak, Example: Params{"arm": "bbolt", "peak": 3e8, "limit": 2e8}, Says: `{{if has .arm}}{{.arm}}: {{end}}{{bytes .peak}} at most, the limit is {{bytes .limit}}`},
	Entry{Code: LimitUnreached, Severity: Notice, Example: Params{"arms": []string{"rocksdb", "lmdb"}, "place": "insert (D1)", "limit": 200 << 20},
		Says:   `{{list .arms}} did not outgrow the memory limit of {{limit .limit}} in {{.place}}; behaviour beyond it is unknown.`,
		Many:   `Some stores did not outgrow the memory limit in {{list .Places}}; behaviour beyond it is unknown.`,
		Remedy: runLonger + ", or set a smaller memory_limit"},
	Entry{Code: SeenFiles, Example: Params{"arm": "bbolt", "share": 0.8}, Says: `{{.arm}}: files are {{percent .share}} of the memory`},
	Entry{Code: Unindexed, Severity: Notice,
		Example: Params{"arms": []string{"sqlite", "mariadb"}, "others": []string{"postgres"}, "operation": "count", "query": "by_tag", "asks": "Tags has"},
		Says: `{{list .arms}} {{agree .arms "uses" "use"}} no index for {{.operation}} {{.query}} ({{.asks}}) and {{agree .arms "looks" "look"}} at every record` +
			`{{if has .others}}; {{list .others}} {{agree .others "uses" "use"}} an index{{end}}.`,
		Remedy: `{{if has .others}}compare this query apart: its time grows with the records on one side only{{else}}if no scan is meant, add the column to values.indexes{{end}}`},
	Entry{Code: WalksOrder, Severity: Warning,
		Example: Params{"arms": []string{"postgres", "mariadb"}, "others": []string{"sqlite"}, "operation": "query", "query": "newest", "asks": "UserID equal"},
		Says: `{{list .arms}} {{agree .arms "walks" "walk"}} an index in the order of {{.operation}} {{.query}} ({{.asks}}) and {{agree .arms "looks" "look"}} at each record until enough match; ` +
			`{{list .others}} {{agree .others "finds" "find"}} them by an index.`,
		Remedy: `compare this query apart: how far {{list .arms}} {{agree .arms "walks" "walk"}} depends on how many records match`},
	Entry{Code: SeenPlan, Example: Params{"arm": "sqlite", "place": "count (D1)", "plan": "SCAN records"}, Says: `{{.arm}} in {{.place}}: {{clean .plan}}`},
	Entry{Code: SettingsTooSmall, Severity: Warning,
		Example: Params{"arm": "tc", "option": "bnum", "value": 131071.0, "in_bytes": false, "set": false, "effect": "chains", "records": 1e6, "bytes": 1.4e9, "least": 1e6, "proposed": "1000000"},
		Says: `{{.option}} of {{.arm}} is too small for {{if .in_bytes}}{{bytes .bytes}}: {{bytes .value}}{{else}}{{number .records}} records: {{count .value}}{{end}}{{if not .set}} (default){{end}}. ` +
			`{{if eq .effect "chains"}}Records share buckets, and operations walk chains.{{else if eq .effect "calls"}}What is beyond the map costs system calls.` +
			`{{else if eq .effect "fails"}}Writes beyond the map fail.{{else if eq .effect "blocks"}}Nearly every read decompresses a block.{{else}}Nearly every operation fetches its page again.{{end}}`,
		Many:   `Settings of {{list .Arms}} are too small for this amount of data.`,
		Remedy: `--set stores.{{.arm}}.options.{{.option}}={{.proposed}}`},
)
