package finding

// The findings of a run, besides the faults that trials are marked for. Package detect finds
// them.
const (
	TrialFailed      Code = "trial-failed"
	TrialsMissing    Code = "trials-missing"
	RunIncomplete    Code = "run-incomplete"
	RanOut           Code = "ran-out-of-records" // deletes removed the records, and operations had nothing to do
	WorkedBefore     Code = "worked-before-start"
	SeenWorkedBefore Code = "worked-before-start seen"
	LessWork         Code = "did-less-work"              // fewer records an operation, or more misses, than the trace or the others
	WorkIncomparable Code = "did-less-work incomparable" // likewise, but the data depends on the arm's speed
	NotOnDisk        Code = "not-on-disk"                // files are too small for what a class that survives the process acknowledged
	StoppedEarly     Code = "stopped-early"              // before the operations of the phase were done
	Conflicts        Code = "conflicts"                  // of operations that asked no condition
	ServerShare      Code = "server-share"               // one of several servers got clearly more or less than its weight
	GroupEffect      Code = "group-effect"               // what one group of clients did to another's rate
	HarnessBound     Code = "harness-bound"
	ClientBound      Code = "client-bound"
	SeenClientBound  Code = "client-bound seen"
	WakeUps          Code = "wake-ups"          // a large part of a request's time is waking both ends
	Noisy            Code = "noise significant" // the baseline differs from its twin
	BusyMachine      Code = "machine-disturbed little"
	NotSettled       Code = "machine-disturbed not-settled" // by what a trial before left
	SeenNotSettled   Code = "machine-disturbed not-settled-seen"
	DispatchLate     Code = "dispatch-late"
	FellBehind       Code = "fell-behind" // open load that was due and not done
	DurabilityCost   Code = "durability-cost"
	BindingCost      Code = "binding-cost" // of an engine that is called from another language than C
	NothingSynced    Code = "nothing-synced"
	Unverified       Code = "unverified" // data loss, or a part of it, would go undetected
	ServerKept       Code = "server-not-emptied"
	InMemory         Code = "data-fits-memory"
	NotCold          Code = "not-cold"
	LimitNotEnforced Code = "memory-limit not-enforced"
	LimitUnreached   Code = "memory-limit unreached"
	SettingsTooSmall Code = "settings-too-small"

	ConnectionsExceed Code = "connections-exceed" // what handles allows
	ConnectionsLeft   Code = "connections-exceed left"
	ServerLeft        Code = "server-left"
	Pauses            Code = "pauses"
	LinkFull          Code = "link-full"
	Retransmits       Code = "retransmits"
	DelayedACKs       Code = "delayed-acks"
	SeenLink          Code = "link-full seen"
	SeenRetransmits   Code = "retransmits seen"
	SeenDelayedACKs   Code = "delayed-acks seen"
	SlowOpen          Code = "slow-open"
	SeenSlowOpen      Code = "slow-open seen"
	SeenPauses        Code = "pauses seen"
	SeenServerLeft    Code = "server-left seen"
	ThreadStarved     Code = "thread-starved" // no operation of a thread ended, while others did many
)

// What is seen behind them.
const (
	SeenHeat      Code = "machine-disturbed throttled-times"
	SeenItems     Code = "did-less-work seen-items"
	SeenItemsOwed Code = "did-less-work seen-items-owed"
	SeenMisses    Code = "did-less-work seen-misses"
	SeenSizes     Code = "not-on-disk seen"
	SeenPart      Code = "stopped-early seen"
	Noise         Code = "noise"
	SeenNoise     Code = "noise seen"
	SeenCost      Code = "durability-cost seen"
	SeenUnjudged  Code = "unverified seen-unjudged"
	SeenWrites    Code = "unverified seen-writes"
	SeenData      Code = "data-fits-memory seen"
	SeenWarm      Code = "not-cold seen"
	SeenPeak      Code = "memory-limit seen-peak"
	SeenFiles     Code = "memory-limit seen-files"
	SeenLate      Code = "dispatch-late seen"
	SeenBacklog   Code = "fell-behind seen"
	SeenShare     Code = "server-share seen"

	QueryPlan       Code = "query-plan" // an arm looks at every record, or walks an index in the query's order
	SeenPlan        Code = "query-plan seen"
	SeenConnections Code = "connections-exceed seen"
	SeenLeft        Code = "connections-exceed seen-left"
	SeenStarved     Code = "thread-starved seen"
	SeenGroup       Code = "group-effect seen"
)

// What several sentences say alike.
const (
	runLonger = "run the phase longer"
)

// Trials and their files.
var _ = register(
	Entry{Example: TrialFailedParams{At: example, Trials: 2, Why: "the worker died"}, Severity: Grave,
		Says:   `{{.arm}} failed in {{plural .trials "trial" ""}} at {{.place}}: {{.why}}.`,
		Many:   `{{list .Arms}} failed at {{places .Places}}: {{list .all_why}}.`,
		Remedy: "read worker.log in the trial's folder"},
	Entry{Example: TrialsMissingParams{Missing: 12, Planned: 96, Directory: "runs/demo"}, Severity: Warning,
		Says:   `{{count .missing}} of {{plural .planned "trial" ""}} {{if eq .missing 1}}was{{else}}were{{end}} not run to the end; tables have fewer blocks than planned.`,
		Remedy: `assay run --resume {{.directory}}`},
	Entry{Example: RunIncompleteParams{Files: 1}, Severity: Warning,
		Says:   `{{plural .files "file" ""}} of the run directory {{if eq .files 1}}is{{else}}are{{end}} missing, cut or damaged.`,
		Remedy: "restore the run directory, or run again"},
)

type TrialFailedParams struct {
	At
	Trials int
	Why    string
}

func (TrialFailedParams) code() Code { return TrialFailed }

type TrialsMissingParams struct {
	Missing, Planned int
	Directory        string
}

func (TrialsMissingParams) code() Code { return TrialsMissing }

type RunIncompleteParams struct{ Files int }

func (RunIncompleteParams) code() Code { return RunIncomplete }

// Work and data.
var _ = register(
	Entry{Example: WorkedBeforeParams{At: example, SeenWorkedBeforeParams: SeenWorkedBeforeParams{BeforeS: 1.6,
		OthersS: 0.02, DuringS: 3.1}}, Severity: Grave,
		Says: `{{.arm}} worked before its time began in {{.place}}: its worker used {{seconds .before_s}} of CPU time between prepare and run, ` +
			`{{seconds .others_s}} is usual, {{seconds .during_s}} in the phase.`,
		Many:   `{{list .Arms}} worked before their time began in {{places .Places}}.`,
		Remedy: "what a store does between prepare and run is in no rate: let it do its work with the operations"},
	Entry{Example: SeenWorkedBeforeParams{BeforeS: 1.6, OthersS: 0.02, DuringS: 3.1},
		Says: `{{seconds .before_s}} of CPU time before its start ({{seconds .others_s}} is usual), {{seconds .during_s}} after it`},
	Entry{Example: PlaceParams{Code: LessWork, At: example}, Severity: Grave,
		Says:   `{{.arm}} did less work than the trace asks for in {{.place}}; it has no rank there.`,
		Many:   `{{list .Arms}} did less work than the trace asks for in {{places .Places}}; no rank there.`,
		Remedy: suspectStore},
	Entry{Example: PlaceParams{Code: WorkIncomparable, At: example}, Severity: Notice,
		Says:   `{{.arm}} found less than others in {{.place}}; the data depends on each store's speed, so the work is not comparable.`,
		Many:   `{{list .Arms}} found less than others in {{places .Places}}; the data depends on each store's speed.`,
		Remedy: "compare in a phase that only reads, or give the phases before it operations instead of time"},
	Entry{Example: RanOutParams{At: example, Share: 0.97, Records: 5000, Seconds: Known(0.05)}, Severity: Warning,
		Says: `{{.arm}}: {{percent .share}} of the operations in {{.place}} had nothing to do, because deletes had removed the records{{if .seconds}} within {{seconds .seconds}}{{end}}.` +
			`{{if not .fixed}} A rate there is no work, and has no rank.{{end}}`,
		Many: `{{list .Arms}}: up to {{percent .max_share}} of the operations in {{places .Places}} had nothing to do, because deletes had removed the records{{if has .max_seconds}} within {{seconds .max_seconds}}{{end}}.` +
			`{{if not .fixed}} A rate there is no work, and has no rank.{{end}}`,
		Also:   []Parameters{RanOutParams{At: example, Share: 0.37, Records: 5000, Fixed: true}},
		Remedy: `give the phase a number of operations that its {{count .records}} records last for (operations: {{count .records}}), or more records`},
	Entry{Example: SeenVainParams{Operation: "delete", Vain: 16206517, Of: 16221517, Seconds: Known(0.05)},
		Also: []Parameters{SeenVainParams{Operation: "read", Vain: 970, Of: 1000}},
		Says: `{{count .vain}} of {{plural .of .operation ""}} had nothing to do{{if .seconds}}; the records lasted for {{seconds .seconds}} at most{{end}}`},
	Entry{Example: SeenItemsParams{Operation: "scan", Items: 9.5, Other: "pebble", OtherItems: 10.0, Because: "growth"},
		Says: `{{number .items}} records a {{.operation}}, {{.other}} has {{number .other_items}}` + honestBecause},
	Entry{Example: SeenItemsOwedParams{Operation: "scan", Items: 9.5, Owed: 10.0},
		Says: `{{number .items}} records a {{.operation}}, at least {{number .owed}} were stored`},
	Entry{Example: SeenMissesParams{Operation: "read", Share: 0.1, Other: "pebble", OtherShare: 0.01,
		Because: "deletes"},
		Says: `{{percent .share}} of {{.operation}} operations missed, {{percent .other_share}} of {{.other}}'s` + honestBecause},
	Entry{Example: NotOnDiskParams{At: example, Values: 4.2e8, Disk: 1.2e6, Class: "D1"}, Severity: Grave,
		Says:   `{{.arm}} acknowledged {{bytes .values}} of values in {{.place}}, but only {{bytes .disk}} are on disk. {{.class}} promises that they survive the process.`,
		Many:   `{{list .Arms}} acknowledged values in {{places .Places}} that are not on disk, against the promise of the class.`,
		Remedy: "check the class with a kill test (assay conformance); the rate is one of memory"},
	Entry{Example: SeenSizesParams{Phase: "put", Values: 4.2e8, Compressed: 2.1e8, Disk: 1.2e6, Written: Known(1.3e6)},
		Says: `after {{.phase}}: {{bytes .values}} of live values, {{bytes .compressed}} compressed; {{bytes .disk}} on disk, {{if has .written}}{{bytes .written}} written{{else}}writes not measured{{end}}`},
	Entry{Example: StoppedEarlyParams{At: example, Share: 0.62}, Severity: Warning,
		Says:   `{{.arm}} stopped early in {{.place}}{{if .share}}, after {{percent .share}} of its operations{{end}}; not comparable with complete runs.`,
		Many:   `{{list .Arms}} stopped early in {{places .Places}}; not comparable with complete runs.`,
		Remedy: "give the phase more time or a larger disk_quota, or fewer operations"},
	Entry{Example: SeenPartParams{Done: 620, Of: 1000}, Says: `{{count .done}} of {{plural .of "operation" ""}}`},
	Entry{Example: ConflictsParams{At: example, Share: 0.0133}, Severity: Warning,
		Says:   `{{.arm}} refused {{percent .share}} of its operations in {{.place}} as conflicts; its rate leaves them out.`,
		Many:   `{{list .Arms}} refused up to {{percent .max_share}} of operations as conflicts in {{places .Places}}; rates leave them out.`,
		Remedy: "count retries in, or use fewer threads or an order of keys with fewer collisions"},
	Entry{Example: ServerShareParams{At: example, SeenShareParams: SeenShareParams{Server: 2, Servers: 3,
		Share: 0.52, Expected: 0.333, Operations: 90000}}, Severity: Warning,
		Says:   `Server {{.server}} of the {{.servers}} of {{.arm}} got {{percent .share}} of a trial's {{plural .operations "operation" ""}} in {{.place}}; its weight is {{percent .expected}}.`,
		Many:   `One server of {{list .Arms}} got clearly more or less of the operations than its weight in {{places .Places}}.`,
		Remedy: "compare driver.shares_of_keys; otherwise a few keys get most operations (order: uniform)"},
	Entry{Example: SeenShareParams{Server: 2, Servers: 3, Share: 0.52, Expected: 0.333, Operations: 90000},
		Says: `server {{.server}} of {{.servers}} got {{percent .share}} of {{plural .operations "operation" ""}}, its weight is {{percent .expected}}`},
	Entry{Example: UnverifiedParams{Why: "arms", Arms: []string{"bbolt"}}, Severity: Warning,
		Also: []Parameters{UnverifiedParams{Why: "end"}, UnverifiedParams{Why: "end", Covered: 31200, Writes: 460000}},
		Says: `{{if eq .why "reads"}}Values that were read were not verified; wrong values would go undetected.` +
			`{{else if or (eq .why "end") (eq .why "arms")}}No record {{if .arms}}of {{list .arms}} {{end}}was read back at the end` +
			`{{if .covered}}. Reads of sampled keys would have shown the loss of {{count .covered}} of {{plural .writes "write" ""}}; that of others would go undetected.` +
			`{{else}}; data loss would go undetected.{{end}}` +
			`{{else if eq .why "versions"}}{{if .columns}}Records without a proof column{{else}}Values below {{.bytes}} bytes{{end}} prove their key but not their version; stale values would go undetected.` +
			`{{else}}Some records could not be judged when read back: writes to them ended in errors or conflicts, or it is unknown whether a read filled them.{{end}}`,
		Remedy: `{{if eq .why "reads"}}--set verify=true{{else if eq .why "end"}}--set verify_records=10000{{else if eq .why "arms"}}add a phase that reads what was written` +
			`{{else if eq .why "versions"}}{{if .columns}}add a column such as {name: v, proof: {{.bytes}}}{{else}}use values of {{.bytes}} bytes or more{{end}}{{else}}read the error messages of the trials{{end}}`},
	Entry{Example: SeenUnjudgedParams{Count: 12, Of: 10000},
		Says: `{{count .count}} of {{plural .of "record" ""}} read back could not be judged`},
	Entry{Example: SeenWritesParams{Count: 90000}, Says: `{{plural .count "write" ""}} acknowledged, no final check`},
	Entry{Example: ServerKeptParams{Arms: []string{"memcached"}}, Severity: Warning,
		Says:   `The server of {{list .arms}} was not emptied between trials; records of earlier trials may be found.`,
		Remedy: "if everything on the server may be deleted: option flush_at_open"},
)

type SeenItemsParams struct {
	Operation  string
	Items      float64
	Other      string
	OtherItems float64
	Because    string `param:"omitempty"`
}

func (SeenItemsParams) code() Code { return SeenItems }

type SeenItemsOwedParams struct {
	Operation   string
	Items, Owed float64
}

func (SeenItemsOwedParams) code() Code { return SeenItemsOwed }

type SeenMissesParams struct {
	Operation  string
	Share      float64
	Other      string
	OtherShare float64
	Because    string `param:"omitempty"`
}

func (SeenMissesParams) code() Code { return SeenMisses }

type NotOnDiskParams struct {
	At
	Values, Disk float64
	Class        string
}

func (NotOnDiskParams) code() Code { return NotOnDisk }

type SeenSizesParams struct {
	Phase              string
	Values, Compressed float64
	Disk               uint64
	Written            *float64
}

func (SeenSizesParams) code() Code { return SeenSizes }

// RanOutParams is of operations that had nothing to do in a trial that deletes.
type RanOutParams struct {
	At
	Share   float64  // of the arm's operations
	Records uint64   // that were loaded
	Seconds *float64 // within which the last one was deleted, in the trial in which that took longest; nil: not known
	Fixed   bool     // all arms did the same operations, so that their times compare
}

func (RanOutParams) code() Code { return RanOut }

type SeenVainParams struct {
	Operation string
	Vain, Of  uint64
	Seconds   *float64 // until the last record was deleted; nil: not known
}

func (SeenVainParams) code() Code { return "seen vain" }

type StoppedEarlyParams struct {
	At
	Share float64
}

func (StoppedEarlyParams) code() Code { return StoppedEarly }

type SeenPartParams struct{ Done, Of uint64 }

func (SeenPartParams) code() Code { return SeenPart }

type ConflictsParams struct {
	At
	Share float64
}

func (ConflictsParams) code() Code { return Conflicts }

type ServerShareParams struct {
	At
	SeenShareParams
}

func (ServerShareParams) code() Code { return ServerShare }

type SeenShareParams struct {
	Server, Servers             int
	Share, Expected, Operations float64
}

func (SeenShareParams) code() Code { return SeenShare }

type UnverifiedParams struct {
	Why     string
	Arms    []string `param:"omitempty"`
	Columns *bool
	Bytes   *int
	// Covered are the acknowledged writes, of Writes, whose loss histories would have shown.
	Covered, Writes uint64 `param:"omitempty"`
}

func (UnverifiedParams) code() Code { return Unverified }

type SeenUnjudgedParams struct{ Count, Of uint64 }

func (SeenUnjudgedParams) code() Code { return SeenUnjudged }

type SeenWritesParams struct{ Count uint64 }

func (SeenWritesParams) code() Code { return SeenWrites }

type ServerKeptParams struct{ Arms []string }

func (ServerKeptParams) code() Code { return ServerKept }

const honestBecause = `{{if has .because}}; {{if eq .because "deletes"}}faster stores delete more{{else if eq .because "growth"}}data of faster stores grows faster` +
	`{{else if eq .because "no-load"}}each store holds what it had time to write{{else}}it refused writes{{end}}{{end}}`

// What rates did.
var _ = register(
	Entry{Example: GroupEffectParams{GroupBeside: GroupBeside{At: example, Group: "insert",
		Other: "count", Seconds: 4.1},
		Fell: true, Change: 0.93, Low: 0.91, High: 0.95}, Severity: Warning, Answer: true, InAnswer: true,
		Says: `{{.group}} on {{.arm}} {{if .fell}}fell{{else}}rose{{end}} by {{percent .change}} ({{percent .low}} to {{percent .high}}) for the ` +
			`{{seconds .seconds}} that {{.other}} ran, in {{.place}}.`,
		Remedy: `{{if .fell}}compare with an index, a smaller operation, or {{.other}} at another time or on a copy of the data{{end}}`},
	Entry{Example: SeenGroupParams{Rate: 122.0, Before: 1800.0, After: 1750.0, FromS: 20.0, ToS: 24.1},
		Says: `{{rate .rate}} from {{seconds .from_s}} to {{seconds .to_s}}, {{rate .before}} before and {{rate .after}} after`},
	Entry{Example: RateUnknownInParams{Short: 54, Noisy: 0, Of: 58, Longer: []string{"put", "get"}, Seconds: 10.0}, Severity: Warning,
		Also: []Parameters{RateUnknownInParams{Short: 1, Noisy: 1, Of: 12}},
		Says: `{{if .short}}{{count .short}} of {{plural .of "measurement" ""}} {{if eq .short 1}}was{{else}}were{{end}} too short to reach a steady state.{{end}}` +
			`{{if .noisy}}{{if .short}} {{count .noisy}} {{if eq .noisy 1}}was{{else}}were{{end}} too noisy.{{else}}{{count .noisy}} of {{plural .of "measurement" ""}} {{if eq .noisy 1}}was{{else}}were{{end}} too noisy to show a steady state.{{end}}{{end}}`,
		Remedy: `{{if .longer}}run longer phases: --set phases.{{index .longer 0}}.for={{.seconds}}s{{else}}give phases more operations{{end}}`},
	Entry{Example: SeenUnknownParams{Phase: "put", Count: 27, Seconds: 0.5, Samples: 9},
		Says: `{{.phase}}: {{plural .count "measurement" ""}}, the shortest {{seconds .seconds}} with {{plural .samples "sample" ""}}`},
)

type GroupEffectParams struct {
	GroupBeside
	Fell              bool
	Change, Low, High float64
}

func (GroupEffectParams) code() Code { return GroupEffect }

type SeenGroupParams struct{ Rate, Before, After, FromS, ToS float64 }

func (SeenGroupParams) code() Code { return SeenGroup }

type RateUnknownInParams struct {
	Short, Noisy, Of int
	Longer           []string
	Seconds          float64
}

func (RateUnknownInParams) code() Code { return RateUnknownIn }

type SeenUnknownParams struct {
	Phase   string
	Count   int
	Seconds float64
	Samples int
}

func (SeenUnknownParams) code() Code { return SeenUnknown }

// Comparability and the machine.
var _ = register(
	Entry{Example: HarnessBoundParams{At: example, Share: 0.62}, Severity: Warning,
		Says:   `{{.arm}} in {{.place}} is harness-bound: {{percent .share}} of each operation is the harness. It has no rank.`,
		Many:   `{{list .Arms}} {{agree .Arms "is" "are"}} harness-bound in {{places .Places}}: up to {{percent .max_share}} of each operation is the harness.`,
		Remedy: `use larger values or a slower order of keys{{if has .native}}, or the native driver {{.native}} (make native){{end}}`},
	Entry{Example: ClientBoundParams{At: example, ClientCpus: 0.98, LimitCpus: 1.0,
		ServerCpus: 0.41}, Severity: Warning,
		Says: `{{.arm}} in {{.place}} is client-bound: the client used {{number .client_cpus}} of its ` +
			`{{number .limit_cpus}} CPUs, the server {{number .server_cpus}}. The rate is the client's.`,
		Many: `{{list .Arms}} {{agree .Arms "is" "are"}} client-bound in {{places .Places}}: ` +
			`the client used up its CPUs, the server did not. The rates are the client's.`,
		Remedy: "give the client more CPUs (cpus), use the lean client, or run the server on another machine"},
	Entry{Example: SeenClientBoundParams{ClientCpus: 0.98, LimitCpus: 1.0, ServerCpus: 0.41},
		Says: `the client used {{number .client_cpus}} of {{number .limit_cpus}} CPUs, the server {{number .server_cpus}}`},
	Entry{Example: WakeUpsParams{At: example, Share: 0.41, WakeUpNS: 12e3, MedianNS: 58e3, ClientNS: Known(9e3)},
		Severity: Notice,
		Says: `{{.arm}} in {{.place}}: at least {{percent .share}} of the median latency ({{latency .median_ns}}) is waking client and server, ` +
			`{{latency .wake_up_ns}} each{{if has .client_ns}}; the client's CPU time is {{latency .client_ns}} an operation{{end}}.`,
		Many:   `{{list .Arms}} in {{places .Places}}: up to {{percent .max_share}} of the median latency is waking client and server.`,
		Remedy: "compare stores on this machine alone: another one wakes its CPUs in another time (assay doctor)"},
	Entry{Example: PausesParams{At: example, SeenPausesParams: SeenPausesParams{Operations: 80, PauseNS: 300e6,
		MedianNS: 20e3, Share: 0.1}}, Severity: Notice,
		Says: `{{.arm}} in {{.place}} spent {{percent .share}} of its time in {{plural .operations "operation" ""}} of {{latency .pause_ns}} in the mean; ` +
			`the median is {{latency .median_ns}}.`,
		Many:   `{{list .Arms}} in {{places .Places}} spent a part of their time in few, long operations.`,
		Remedy: "look at what the store did at these times: a compaction, a sync, a snapshot, a collection of garbage"},
	Entry{Example: SlowOpenParams{At: example, Seconds: 4.1}, Severity: Notice,
		Says:   `{{.arm}} took up to {{seconds .seconds}} to open ({{.place}}); no rate includes it.`,
		Many:   `{{list .Arms}} took up to {{seconds .max_seconds}} to open; no rate includes it.`,
		Remedy: "it counts where processes start often: look at what the store reads or rebuilds then"},
	Entry{Example: SeenSlowOpenParams{Seconds: 4.1}, Says: `{{seconds .seconds}} to open`},
	Entry{Example: SeenPausesParams{Operations: 80, PauseNS: 300e6, MedianNS: 20e3, Share: 0.1},
		Says: `{{plural .operations "operation" ""}} of {{latency .pause_ns}} in the mean, {{percent .share}} of the time, at a median of {{latency .median_ns}}`},
	Entry{Example: NoisyParams{Arms: []string{"bbolt"}, Tables: 2, Of: 12, Widen: 1.8, HiddenLeast: Known(1.2), Hidden: Known(1.9),
		ByTable: []string{"18 % in put (D1)", "12 % in get (D3)"}}, Severity: Warning,
		Also: []Parameters{NoisyParams{Arms: []string{"pebble"}, Of: 4, Widen: 1.3}},
		Says: `{{list .arms}} {{agree .arms "differs" "differ"}} significantly from {{agree .arms "itself" "themselves"}} over {{plural .of "table" ""}}` +
			`{{if .tables}}: by {{list .by_table}}{{end}}. All intervals are {{factor .widen}} wider than the residuals say` +
			`{{if has .hidden}}: differences below {{if has .hidden_least}}{{factor .hidden_least}} to {{factor .hidden}}, by table,{{else}}{{factor .hidden}}{{end}} may not be shown{{end}}.`,
		Remedy: "use a quieter machine, or more and longer blocks"},
	Entry{Example: NoiseParams{Arms: []string{"bbolt"}, Least: 0.11, Most: 0.13, Judged: true}, Severity: Notice,
		Says: `Noise: {{if ne (percent .least) (percent .most)}}{{percent .least}} to {{end}}{{percent .most}} ` +
			`({{list .arms}} against {{agree .arms "itself" "themselves"}}, {{if .judged}}not significant{{else}}one block{{end}}).`},
	Entry{Example: SeenNoiseParams{Place: "put (D1)", Ratio: 1.18, Low: Known(1.02), High: Known(1.36)},
		Says: `{{.place}}: {{factor .ratio}} itself{{if has .low}} (95 % interval {{interval .low .high}}){{end}}`},
	Entry{Example: BusyMachineParams{Phases: 3, Of: 40, Foreign: 0.12, Ranked: false}, Severity: Warning, Machine: true,
		Says: `{{.phases}} of {{plural .of "measured phase" ""}} {{if eq .phases 1}}was{{else}}were{{end}} disturbed:` +
			`{{if has .foreign}} other processes used up to {{percent .foreign}} of the CPU{{end}}` +
			`{{if has .steal}}{{if has .foreign}},{{end}} the hypervisor took up to {{percent .steal}}{{end}}` +
			`{{if has .quota_s}}{{if or (has .foreign) (has .steal)}},{{end}} a CPU quota stopped threads for up to {{seconds .quota_s}}{{end}}` +
			`{{if has .heat_times}}{{if or (has .foreign) (has .steal) (has .quota_s)}},{{end}} heat slowed a CPU up to {{plural .heat_times "time" ""}}{{end}}.` +
			` They are still ranked{{if .ranked}} (busy_machine: tell){{end}}.`,
		Remedy: quietMachine},
	Entry{Example: SeenHeatParams{Times: 2}, Says: `{{if has .phase}}{{.phase}}: {{end}}heat slowed a CPU {{plural .times "time" ""}}; this kernel does not report for how long`},
	Entry{Example: NotSettledParams{Trials: 3, Of: 40, Dirty: 2, Queue: 1}, Severity: Warning, Machine: true,
		Says: `{{.trials}} of {{plural .of "trial" ""}} began before the machine was at rest:` +
			`{{if has .dirty}} unwritten pages in {{plural .dirty "trial" ""}};{{end}}` +
			`{{if has .queue}} a busy disk in {{plural .queue "trial" ""}};{{end}}` +
			`{{if has .cpu}} other processes on the CPU in {{plural .cpu "trial" ""}};{{end}}` +
			` this may have slowed them.`,
		Remedy: "give phases more time (a trial waits up to a tenth of it), stop other programs, or use a disk of its own"},
	Entry{Example: SeenNotSettledParams{WaitedS: 3.0, DirtyBytes: Known(412e6), Queue: Known(3.2), CPU: Known(0.4)},
		Also: []Parameters{SeenNotSettledParams{WaitedS: 0.3, Queue: Known(7.47)}},
		Says: `began after a wait of {{seconds .waited_s}}, with{{if has .dirty_bytes}} {{bytes .dirty_bytes}} of unwritten pages{{end}}` +
			`{{if has .queue}}{{if has .dirty_bytes}},{{end}} {{number .queue}} requests at the disk{{end}}` +
			`{{if has .cpu}}{{if or (has .dirty_bytes) (has .queue)}},{{end}} {{percent .cpu}} of the CPU used by others{{end}}`},
	Entry{Example: DispatchLateParams{At: example, Quantiles: []string{"p99", "p99.9"}, Counted: true},
		Severity: Warning,
		Says: `{{if .counted}}{{list .quantiles}} of {{.arm}} in {{.place}} shown as "at most": more than a tenth is the harness's own delay.` +
			`{{else}}Operations of {{.arm}} in {{.place}} began late by up to more than a tenth of p99; its worker does not count how many.{{end}}`,
		Many:   `Percentiles of {{list .Arms}} in {{places .Places}} shown as "at most": more than a tenth is the harness's own delay.`,
		Remedy: "use fewer threads than processors, and stop other programs"},
	Entry{Example: SeenLateParams{Quantile: "p99", LateNS: 2e5, ResponseNS: 1e6},
		Says: `{{.quantile}}: operations began up to {{latency .late_ns}} late, the response time is {{latency .response_ns}}`},
	Entry{Example: FellBehindParams{At: example, Offered: 50e3, Rate: 41e3}, Severity: Warning,
		Says:   `{{.arm}} did not keep up with {{rate .offered}} in {{.place}}: it did {{rate .rate}}. Its percentiles are excluded.`,
		Many:   `{{list .Arms}} did not keep up with the offered rate in {{places .Places}}. The percentiles are excluded.`,
		Remedy: "set a rate below what the store does under closed load"},
	Entry{Example: SeenBacklogParams{Rate: 41e3, Offered: 50e3, BehindNS: 2e9, NotBegun: 90000},
		Says: `{{rate .rate}} of {{rate .offered}}; {{latency .behind_ns}} behind at the end; {{plural .not_begun "operation" ""}} never begun`},
	Entry{Example: DurabilityCostParams{Arm: "bbolt", Phase: "put", Weak: "D1", Strong: "D3",
		Factor: 12.4, Low: 10.9, High: 14.1}, Severity: Notice, Answer: true,
		Says: `{{.arm}} is {{factor .factor}} faster at {{.weak}} than at {{.strong}} in {{.phase}} (95 % interval {{interval .low .high}}). Compare within one class only.`},
	Entry{Example: BindingCostParams{At: At{Arm: "rocksdb-java", Place: "get (D1)"}, Engine: "rocksdb", Language: "Java",
		Build: BuildOfJar, NS: 812, Share: 0.38, LowNS: 700, HighNS: 920, WorkerNS: 31}, Severity: Notice, Answer: true,
		Also: []Parameters{
			BindingCostParams{At: At{Arm: "sqlite", Place: "get (D1)"}, Engine: "sqlite-c", Language: "Go", Build: BuildTranslated, Less: true,
				NS: 812, Share: 0.38, LowNS: 700, HighNS: 920},
			BindingCostParams{At: At{Arm: "lmdb-java", Place: "get (D1)"}, Engine: "lmdb", Language: "Java", NS: 812, Share: 0.38, LowNS: 700, HighNS: 920}},
		Says: `Called from {{.language}}, {{.arm}} takes {{latency .ns}} {{if .less}}less{{else}}more{{end}} ({{percent .share}}) for an operation of {{.place}} than {{.engine}}, the same engine called from C ` +
			`(95 % interval {{latency .low_ns}} to {{latency .high_ns}}{{if .worker_ns}}; the worker's own loop is {{latency .worker_ns}} of it{{end}}).` +
			`{{if eq .build "jar"}} Its jar has another build of the engine.` +
			`{{else if eq .build "translated"}} Its engine is translated to Go.{{end}}`},
	Entry{Example: SeenCostParams{Arm: "pebble", Weak: "D1", Strong: "D3", Factor: 3.1, Low: 2.8, High: 3.4},
		Says: `{{.arm}}: {{factor .factor}} at {{.weak}} of {{.strong}} (95 % interval {{interval .low .high}})`},
	Entry{Example: NothingSyncedParams{Arms: []string{"bbolt"}, Filesystem: "tmpfs"}, Severity: Warning,
		Says: `{{if has .filesystem}}The files of {{list .arms}} were in memory ({{.filesystem}}){{else}}A sync of 4 KiB takes {{latency .sync_ns}} here, too little to reach a device{{end}}: ` +
			`nothing survives a power cut, and rates leave out the cost of syncs.`,
		Remedy: `{{if has .mounted}}allow loop devices, or --set disk_quota_by=stop{{else}}name a directory on a real disk: --data DIR{{end}}`},
)

type HarnessBoundParams struct {
	At
	Share  float64
	Native string `param:"omitempty"`
}

func (HarnessBoundParams) code() Code { return HarnessBound }

type ClientBoundParams struct {
	At
	ClientCpus, LimitCpus, ServerCpus float64
}

func (ClientBoundParams) code() Code { return ClientBound }

type SeenClientBoundParams struct{ ClientCpus, LimitCpus, ServerCpus float64 }

func (SeenClientBoundParams) code() Code { return SeenClientBound }

// WakeUpsParams are of an arm whose server and client sleep while they wait for each other. ClientNS
// is the client's CPU time an operation.
type WakeUpsParams struct {
	At
	Share, WakeUpNS, MedianNS float64
	ClientNS                  *float64 `param:"omitempty"`
}

func (WakeUpsParams) code() Code { return WakeUps }

// WorkedBeforeParams are of an arm whose worker did work before the phase's time began; those of the trial in
// which it was most.
type WorkedBeforeParams struct {
	At
	SeenWorkedBeforeParams
}

func (WorkedBeforeParams) code() Code { return WorkedBefore }

// SeenWorkedBeforeParams are of one trial: seconds of CPU time that the worker used from the request to prepare
// up to that to run, what is usual there, and what it used in the phase.
type SeenWorkedBeforeParams struct{ BeforeS, OthersS, DuringS float64 }

func (SeenWorkedBeforeParams) code() Code { return SeenWorkedBefore }

// SlowOpenParams are of an arm whose store took long to open; Seconds is the longest.
type SlowOpenParams struct {
	At
	Seconds float64
}

func (SlowOpenParams) code() Code { return SlowOpen }

// SeenSlowOpenParams are of one trial.
type SeenSlowOpenParams struct{ Seconds float64 }

func (SeenSlowOpenParams) code() Code { return SeenSlowOpen }

// PausesParams are of an arm that spent a part of its threads' time (Share) in few operations.
type PausesParams struct {
	At
	SeenPausesParams
}

func (PausesParams) code() Code { return Pauses }

// SeenPausesParams are of one trial.
type SeenPausesParams struct {
	Operations               uint64
	PauseNS, MedianNS, Share float64 // PauseNS is their mean
}

func (SeenPausesParams) code() Code { return SeenPauses }

type NoisyParams struct {
	Arms        []string
	Tables, Of  int
	ByTable     []string
	Widen       float64
	HiddenLeast *float64 `param:"omitempty"` // the same in the most certain table; nil: it is the same
	Hidden      *float64 // the factor that a difference in the least certain table must have to be found; nil: unknown
}

func (NoisyParams) code() Code { return Noisy }

type NoiseParams struct {
	Arms        []string
	Least, Most float64
	Judged      bool
}

func (NoiseParams) code() Code { return Noise }

type SeenNoiseParams struct {
	Place     string
	Ratio     float64
	Low, High *float64
}

func (SeenNoiseParams) code() Code { return SeenNoise }

type BusyMachineParams struct {
	Phases, Of                        int
	Foreign, Steal, QuotaS, HeatTimes float64 `param:"omitempty"`
	Ranked                            bool
}

func (BusyMachineParams) code() Code { return BusyMachine }

// NotSettledParams counts the trials that began in what others had left, and what that was.
type NotSettledParams struct {
	Trials, Of        int
	Dirty, Queue, CPU int `param:"omitempty"`
}

func (NotSettledParams) code() Code { return NotSettled }

type SeenNotSettledParams struct {
	WaitedS           float64
	DirtyBytes, Queue *float64
	CPU               *float64
}

func (SeenNotSettledParams) code() Code { return SeenNotSettled }

type SeenHeatParams struct {
	Times uint64
	Phase string `param:"omitempty"`
}

func (SeenHeatParams) code() Code { return SeenHeat }

type DispatchLateParams struct {
	At
	Quantiles []string
	Counted   bool
}

func (DispatchLateParams) code() Code { return DispatchLate }

type SeenLateParams struct {
	Quantile           string
	LateNS, ResponseNS float64
}

func (SeenLateParams) code() Code { return SeenLate }

type FellBehindParams struct {
	At
	Offered, Rate float64
}

func (FellBehindParams) code() Code { return FellBehind }

type SeenBacklogParams struct {
	Rate, Offered      float64
	BehindNS, NotBegun uint64
}

func (SeenBacklogParams) code() Code { return SeenBacklog }

type DurabilityCostParams struct {
	Arm, Phase, Weak, Strong string
	Factor, Low, High        float64
}

func (DurabilityCostParams) code() Code { return DurabilityCost }

// How far an engine that is not called from C is the one that is; "": it is the same library.
const (
	BuildOfJar      = "jar"        // of the same source, built by the jar's makers
	BuildTranslated = "translated" // to Go
)

// BindingCostParams has times of a thread.
type BindingCostParams struct {
	At
	Engine, Language string
	Build            string
	Less             bool
	NS, Share        float64
	LowNS, HighNS    float64
	WorkerNS         float64 // how much more the worker's own loop takes; 0: not known, or none
}

func (BindingCostParams) code() Code { return BindingCost }

type SeenCostParams struct {
	Arm, Weak, Strong string
	Factor, Low, High float64
}

func (SeenCostParams) code() Code { return SeenCost }

type NothingSyncedParams struct {
	Arms       []string
	Filesystem string  `param:"omitempty"`
	SyncNS     float64 `param:"omitempty"`
	Mounted    bool    `param:"omitempty"`
}

func (NothingSyncedParams) code() Code { return NothingSynced }

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
	Entry{Example: ConnectionsExceedParams{At: example,
		SeenConnectionsParams: SeenConnectionsParams{Most: 17, Allowed: 9, BeganS: 3.0,
			Course: ConnectionsGrow, End: EndWorker}}, Severity: Warning,
		Says: `{{.arm}} held up to {{plural .most "connection" ""}} in {{.place}}; handles allows {{count .allowed}}` +
			`{{if eq .end "server"}} (counted by the server){{end}}. ` +
			`The excess began at {{seconds .began_s}}` +
			`{{if eq .course "grow"}} and grew until the end{{else if eq .course "stay"}} and did not shrink until the end` +
			`{{else}} and ended before the phase did{{end}}.`,
		Many:   `{{list .Arms}} held more connections in {{places .Places}} than handles allows.`,
		Remedy: "limit the pool of the store's client, or set handles to what it opens"},
	Entry{Example: SeenConnectionsParams{Most: 17, Allowed: 9, BeganS: 3.0, Course: ConnectionsStay, End: EndServer},
		Says: `up to {{plural .most "connection" ""}} by the count of the {{.end}}, {{count .allowed}} allowed; ` +
			`too many from {{seconds .began_s}} on{{if eq .course "grow"}}, growing{{else if eq .course "stay"}}, until the end{{end}}`},
)

// Servers that outlive the run.
var _ = register(
	Entry{Example: ServerLeftParams{At: example, State: "it refuses everybody's writes", Undo: []string{"etcdctl alarm disarm"}, Known: true}, Severity: Grave,
		Says:   `The server of {{.arm}} is not as it was before the run ({{.place}}): {{clean .state}}.`,
		Many:   `The servers of {{list .Arms}} are not as they were before the run.`,
		Remedy: `it stays so for all who use the server{{if has .undo}}, until you run{{if not .known}}, as its driver says{{end}}: {{range $i, $u := .undo}}{{if $i}}; {{end}}{{clean $u}}{{end}}{{end}}`},
	Entry{Example: SeenServerLeftParams{State: "it refuses everybody's writes"}, Says: `{{clean .state}}`},
)

// ServerLeftParams say what a run left changed on a server, and the commands that undo it.
type ServerLeftParams struct {
	At
	State string
	Undo  []string
	Known bool // Assay knows these commands: they are not its driver's word alone
}

func (ServerLeftParams) code() Code { return ServerLeft }

// SeenServerLeftParams are of one trial.
type SeenServerLeftParams struct{ State string }

func (SeenServerLeftParams) code() Code { return SeenServerLeft }

// Turns.
var _ = register(
	Entry{Example: ConnectionsLeftParams{At: example, Most: 7, AfterS: 3.0}, Severity: Warning,
		Says:   `{{.arm}} still held {{plural .most "connection" ""}} {{seconds .after_s}} after its store was closed ({{.place}}).`,
		Many:   `{{list .Arms}} still held connections after their stores were closed.`,
		Remedy: "a client that does not close its connections leaves them with the server until its process ends"},
	Entry{Example: SeenLeftParams{Most: 7, AfterS: 3.0},
		Says: `{{plural .most "connection" ""}} {{seconds .after_s}} after closing`},
	Entry{Example: ThreadStarvedParams{At: example, SeenStarvedParams: SeenStarvedParams{Threads: 1, Of: 20,
		BeganS: 0.8, Seconds: 4.2, Others: 5300}}, Severity: Warning,
		Says:   `{{count .threads}} of {{plural .of "thread" ""}} of {{.arm}} had no operation done for {{seconds .seconds}} from {{seconds .began_s}} on in {{.place}}; each other thread did {{number .others}}.`,
		Many:   `Threads of {{list .Arms}} had no operation done for long in {{places .Places}}, while others did many.`,
		Remedy: "latencies hide such a wait: it is one long operation; look at the pool or the lock that threads wait for"},
	Entry{Example: SeenStarvedParams{Threads: 1, Of: 20, BeganS: 0.8, Seconds: 4.2, Others: 5300},
		Says: `{{count .threads}} of {{plural .of "thread" ""}} without an operation for {{seconds .seconds}} from {{seconds .began_s}} on, {{number .others}} by each other`},
)

type ConnectionsLeftParams struct {
	At
	Most   int
	AfterS float64
}

func (ConnectionsLeftParams) code() Code { return ConnectionsLeft }

type SeenLeftParams struct {
	Most   int
	AfterS float64
}

func (SeenLeftParams) code() Code { return SeenLeft }

type ThreadStarvedParams struct {
	At
	SeenStarvedParams
}

func (ThreadStarvedParams) code() Code { return ThreadStarved }

type SeenStarvedParams struct {
	Threads, Of             int
	BeganS, Seconds, Others float64
}

func (SeenStarvedParams) code() Code { return SeenStarved }

type ConnectionsExceedParams struct {
	At
	SeenConnectionsParams
}

func (ConnectionsExceedParams) code() Code { return ConnectionsExceed }

type SeenConnectionsParams struct {
	Most, Allowed, BeganS float64
	Course, End           string
}

func (SeenConnectionsParams) code() Code { return SeenConnections }

// Memory and settings.
var _ = register(
	Entry{Example: InMemoryParams{Tables: 6, Of: 12, Arms: []string{"bbolt"}}, Severity: Notice,
		Says:   `The data{{if has .arms}} of {{list .arms}}{{end}} fits in memory in {{.tables}} of {{plural .of "table" ""}} that read; the disk is not measured there.`,
		Remedy: "set a memory_limit below the size of the data, or use more records"},
	Entry{Example: SeenDataParams{Place: "get (D1)", Data: 1.4e7, Memory: 8e9, Limited: false},
		Says: `{{.place}}: {{bytes .data}} of data, {{bytes .memory}} of memory{{if .limited}} (limit){{end}}`},
	Entry{Example: NotColdParams{At: example, Share: 0.4}, Severity: Warning,
		Says:   `{{.arm}} in {{.place}} did not begin cold: {{percent .share}} of its files stayed in the page cache.`,
		Many:   `{{list .Arms}} did not begin cold in {{places .Places}}: files stayed in the page cache.`,
		Remedy: "use a file system on a disk; what a store maps into memory stays until it is closed"},
	Entry{Example: SeenWarmParams{Resident: 4e6, Files: 1e7},
		Says: `{{bytes .resident}} of {{bytes .files}} in the page cache`},
	Entry{Example: LimitNotEnforcedParams{Arms: []string{"bbolt", "pebble"}}, Severity: Warning,
		Says:   `The memory limit was not enforced for {{list .arms}}; stores did not have the same memory.`,
		Remedy: "assay doctor: memory control groups must be writable"},
	Entry{Example: SeenPeakParams{Arm: "bbolt", Peak: 3e8, Limit: 2e8},
		Says: `{{if has .arm}}{{.arm}}: {{end}}{{bytes .peak}} at most, the limit is {{bytes .limit}}`},
	Entry{Example: LimitUnreachedParams{Arms: []string{"rocksdb", "lmdb"}, Place: "insert (D1)",
		Limit: 200 << 20}, Severity: Notice,
		Says:   `{{list .arms}} did not outgrow the memory limit of {{limit .limit}} in {{.place}}; behaviour beyond it is unknown.`,
		Many:   `Some stores did not outgrow the memory limit in {{places .Places}}; behaviour beyond it is unknown.`,
		Remedy: runLonger + ", or set a smaller memory_limit"},
	Entry{Example: SeenFilesParams{Arm: "bbolt", Share: 0.8},
		Says: `{{.arm}}: files are {{percent .share}} of the memory`},
	Entry{Example: PlanParams{Arms: []string{"sqlite", "mariadb"},
		Others: []string{"postgres"}, Operation: "count", Query: "by_tag", Asks: "Tags has"}, Severity: Notice,
		Also: []Parameters{PlanParams{Walks: true, Arms: []string{"postgres", "mariadb"},
			Others: []string{"sqlite"}, Operation: "query", Query: "newest", Asks: "UserID equal"}},
		Says: `{{list .arms}} {{if .walks}}{{agree .arms "walks" "walk"}} an index in the order of{{else}}{{agree .arms "uses" "use"}} no index for{{end}} ` +
			`{{.operation}} {{.query}} ({{.asks}}) and {{agree .arms "looks" "look"}} at {{if .walks}}each record until enough match{{else}}every record{{end}}` +
			`{{if has .others}}; {{list .others}} {{agree .others "finds" "find"}} them by an index{{end}}.`,
		Remedy: `{{if not (has .others)}}if no scan is meant, add the column to values.indexes` +
			`{{else if .walks}}compare this query apart: how far {{list .arms}} {{agree .arms "walks" "walk"}} depends on how many records match` +
			`{{else}}compare this query apart: its time grows with the records on one side only{{end}}`},
	Entry{Example: PlanUseParams{Use: "finds"}, Also: []Parameters{PlanUseParams{Use: "orders"}, PlanUseParams{Use: "none"},
		PlanUseParams{Why: "the store does not explain"}},
		Says: `{{if eq .use "finds"}}an index finds the records{{else if eq .use "orders"}}an index gives the order; every record on the way is looked at` +
			`{{else if eq .use "none"}}no index: every record is looked at{{else}}{{.why}}{{end}}`},
	Entry{Example: PlanShortParams{Use: "finds", Index: "on_user"}, Also: []Parameters{PlanShortParams{Use: "finds"},
		PlanShortParams{Use: "orders", Index: "on_time"}, PlanShortParams{Use: "none"}, PlanShortParams{}},
		Says: `{{if eq .use "finds"}}index{{else if eq .use "orders"}}order of the index{{else if eq .use "none"}}all records{{else}}not reported{{end}}` +
			`{{with .index}} {{clean .}}{{end}}`},
	Entry{Example: SeenPlanParams{Arm: "sqlite", Place: "count (D1)", Plan: "SCAN records"},
		Says: `{{.arm}} in {{.place}}: {{clean .plan}}`},
	Entry{Example: SettingsTooSmallParams{Arm: "tc", Option: "bnum", Value: 131071.0, InBytes: false,
		Set: false, Effect: "chains", Records: 1e6, Bytes: 1.4e9, Proposed: "1000000"}, Severity: Warning,
		Says: `{{.option}} of {{.arm}} is too small for {{if .in_bytes}}{{bytes .bytes}}: {{bytes .value}}{{else}}{{number .records}} records: {{count .value}}{{end}}{{if not .set}} (default){{end}}. ` +
			`{{if eq .effect "chains"}}Records share buckets, and operations walk chains.{{else if eq .effect "calls"}}What is beyond the map costs system calls.` +
			`{{else if eq .effect "fails"}}Writes beyond the map fail.{{else if eq .effect "blocks"}}Nearly every read decompresses a block.{{else}}Nearly every operation fetches its page again.{{end}}`,
		Many:   `Settings of {{list .Arms}} are too small for this amount of data.`,
		Remedy: `--set stores.{{.arm}}.options.{{.option}}={{.proposed}}`},
)

type InMemoryParams struct {
	Tables, Of int
	Arms       []string `param:"omitempty"`
}

func (InMemoryParams) code() Code { return InMemory }

type SeenDataParams struct {
	Place        string
	Data, Memory float64
	Limited      bool
}

func (SeenDataParams) code() Code { return SeenData }

type NotColdParams struct {
	At
	Share float64
}

func (NotColdParams) code() Code { return NotCold }

type SeenWarmParams struct{ Resident, Files uint64 }

func (SeenWarmParams) code() Code { return SeenWarm }

type LimitNotEnforcedParams struct{ Arms []string }

func (LimitNotEnforcedParams) code() Code { return LimitNotEnforced }

type SeenPeakParams struct {
	Arm         string `param:"omitempty"`
	Peak, Limit float64
}

func (SeenPeakParams) code() Code { return SeenPeak }

type LimitUnreachedParams struct {
	Arms  []string
	Place string
	Limit float64
}

func (LimitUnreachedParams) code() Code { return LimitUnreached }

type SeenFilesParams struct {
	Arm   string
	Share float64
}

func (SeenFilesParams) code() Code { return SeenFiles }

// PlanUseParams are of what indexes do for a query, or why the store does not report.
type PlanUseParams struct{ Use, Why string }

func (PlanUseParams) code() Code { return "query-plan use" }

// PlanShortParams are of a plan in a few words.
type PlanShortParams struct{ Use, Index string }

func (PlanShortParams) code() Code { return "query-plan short" }

type SeenPlanParams struct{ Arm, Place, Plan string }

func (SeenPlanParams) code() Code { return SeenPlan }

// EffectFails is what a setting that is too small does where writes fail by it.
const EffectFails = "fails"

type SettingsTooSmallParams struct {
	Arm, Option    string
	Value          float64
	InBytes, Set   bool
	Effect         string
	Records, Bytes float64
	Proposed       string
}

func (SettingsTooSmallParams) code() Code { return SettingsTooSmall }

// What the network did between a worker and its server.
var _ = register(
	Entry{Example: LinkFullParams{At: example, SeenLinkParams: SeenLinkParams{BytesPerS: 11.9e6, Capacity: 12.5e6}},
		Severity: Warning,
		Says:     `{{.arm}}: the network was full in {{.place}}: {{bytes .bytes_per_s}}/s of the {{bytes .capacity}}/s that its link carries. The rate is the link's.`,
		Many:     `{{list .Arms}}: the network was full in {{places .Places}}. The rates are the link's.`,
		Remedy:   "use a faster link or smaller values, or run client and server on one machine"},
	Entry{Example: SeenLinkParams{BytesPerS: 11.9e6, Capacity: 12.5e6}, Says: `{{bytes .bytes_per_s}}/s of {{bytes .capacity}}/s`},
	Entry{Example: RetransmitsParams{At: example, SeenRetransmitsParams: SeenRetransmitsParams{Resent: 420,
		Share: 0.031, RoundMS: 12}}, Severity: Warning,
		Says: `{{.arm}}: {{count .resent}} segments ({{percent .share}}) were sent again in {{.place}}, at a round trip of {{number .round_ms}} ms: ` +
			`the network lost them, which is in the rate and in the latencies.`,
		Many:   `{{list .Arms}}: segments were sent again in {{places .Places}}: the network lost them.`,
		Remedy: "look at the drops of interfaces and switches between client and server"},
	Entry{Example: SeenRetransmitsParams{Resent: 420, Share: 0.031, RoundMS: 12},
		Says: `{{count .resent}} segments sent again, {{percent .share}} of all; round trip {{number .round_ms}} ms`},
	Entry{Example: DelayedACKsParams{At: example, SeenDelayedACKsParams: SeenDelayedACKsParams{Quantile: 0.99,
		LatencyNS: 41e6, PerS: 180}}, Severity: Warning,
		Says: `{{.arm}}: operations in {{.place}} waited 40 ms for acknowledgements that the kernel held back, {{count .per_s}} a second: ` +
			`{{quantile .quantile}} is {{latency .latency_ns}}. One end sends a message in two parts (Nagle's algorithm).`,
		Many:   `{{list .Arms}}: operations in {{places .Places}} waited 40 ms for acknowledgements that the kernel held back.`,
		Remedy: "set TCP_NODELAY at the end that writes in parts, or let it write each message at once"},
	Entry{Example: SeenDelayedACKsParams{Quantile: 0.99, LatencyNS: 41e6, PerS: 180},
		Says: `{{count .per_s}} acknowledgements a second held back; {{quantile .quantile}} {{latency .latency_ns}}`},
)

// LinkFullParams are of an arm whose link was full.
type LinkFullParams struct {
	At
	SeenLinkParams
}

func (LinkFullParams) code() Code { return LinkFull }

// SeenLinkParams are what a link carried in its busier direction, and can, in bytes a second.
type SeenLinkParams struct{ BytesPerS, Capacity float64 }

func (SeenLinkParams) code() Code { return SeenLink }

// RetransmitsParams are of an arm whose segments were lost.
type RetransmitsParams struct {
	At
	SeenRetransmitsParams
}

func (RetransmitsParams) code() Code { return Retransmits }

// SeenRetransmitsParams are how many segments were sent again, their share of all, and the round trip in ms.
type SeenRetransmitsParams struct{ Resent, Share, RoundMS float64 }

func (SeenRetransmitsParams) code() Code { return SeenRetransmits }

// DelayedACKsParams are of an arm whose operations waited for acknowledgements.
type DelayedACKsParams struct {
	At
	SeenDelayedACKsParams
}

func (DelayedACKsParams) code() Code { return DelayedACKs }

// SeenDelayedACKsParams are the quantile that shows it, its latency, and how many acknowledgements a second the
// kernel held back.
type SeenDelayedACKsParams struct{ Quantile, LatencyNS, PerS float64 }

func (SeenDelayedACKsParams) code() Code { return SeenDelayedACKs }
