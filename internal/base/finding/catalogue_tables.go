package finding

// The messages of tables: what was done, who is ahead, why an arm has no rank, and what its figures
// are of. Package tell makes them.
var _ = register(
	Entry{Example: ClassParams{Code: "class-D0", Class: "D0"}, Says: `may be lost with the process ({{.class}})`},
	Entry{Example: ClassParams{Code: "class-D1", Class: "D1"}, Says: `survives a crash of the process ({{.class}})`},
	Entry{Example: ClassParams{Code: "class-D2", Class: "D2(1s)", Window: "1s"},
		Says: `a crash loses at most the last {{.window}} of writes ({{.class}})`},
	Entry{Example: ClassParams{Code: "class-D3", Class: "D3"}, Says: `survives a power cut ({{.class}})`},
	Entry{Example: ClassClaimedParams{Title: "survives a power cut (D3)"},
		Says: `{{.title}}: claimed by the store, not checked`},
	Entry{Example: ClassParams{Code: "class-D4", Class: "D4"},
		Says: `survives the loss of a node, not a power cut of all nodes ({{.class}})`},

	Entry{Example: DoingParams{Mix: []string{"95 % read", "5 % update"}, Order: "zipfian", Theta: 0.99,
		Rate: 0.0, Seconds: Known(60.0)},
		Says: `{{if .mix}}{{join .mix}}{{else}}load{{end}}{{if .order}}, {{.order}}{{if has .theta}} {{.theta}}{{end}} order{{end}}` +
			`{{if has .queries}}, for {{.queries}}{{end}}{{if has .batch}}, batches of {{.batch}}{{end}}` +
			`{{if .rate}}, open load at {{rate .rate}}{{if has .arrivals}} ({{.arrivals}} arrivals){{end}}{{else}}, closed load{{end}}, {{if has .operations}}{{plural .operations "operation" ""}}{{else}}{{seconds .seconds}}{{end}}`},
	Entry{Example: ConditionRecordsParams{Records: 10000, Bytes: "1,449 B"},
		Says: `{{plural .records "record" ""}} of {{.bytes}}`},
	Entry{Example: ConditionEmptyParams{Bytes: "1,449 B"}, Says: `records of {{.bytes}}, none at first`},
	Entry{Example: ConditionThreadsParams{Threads: 8, Processes: 0},
		Says: `{{if not .processes}}{{plural .threads "thread" ""}}{{else if eq .threads .processes}}{{plural .processes "process" ""}}` +
			`{{else}}{{plural .threads "thread" ""}} in {{plural .processes "process" ""}}{{end}}`},
	Entry{Example: ConditionHandlesParams{Handles: "shared", Pool: 0, Pipeline: 0},
		Says: `{{if eq .handles "shared"}}one shared handle{{else if eq .handles "per_thread"}}a handle per thread` +
			`{{else if eq .handles "pool"}}a pool of {{plural .pool "handle" ""}}{{else if eq .handles "per_operation"}}a new handle per operation` +
			`{{else if eq .handles "async"}}asynchronous handles{{if .pipeline}}, {{.pipeline}} operations on the way on each{{end}}{{else}}handles: {{.handles}}{{end}}`},
	Entry{Example: ConditionMemoryParams{Bytes: 200 << 20}, Says: `memory limit {{limit .bytes}}`},
	Entry{Example: ConditionQuotaParams{Bytes: 20 << 30, Mount: false},
		Says: `disk quota {{limit .bytes}}{{if .mount}}, a file system of its own{{end}}`},
	Entry{Example: ConditionCpusParams{Client: "0", Server: "1"},
		Says: `{{if .client}}client on CPU {{.client}}{{end}}{{if .server}}{{if .client}}, {{end}}server on CPU {{.server}}{{end}}`},
	Entry{Example: ConditionCold, Says: `cold page cache`},
	Entry{Example: ConditionColumnsParams{Columns: []string{"name", "age"}, Indexes: []string{}},
		Says: `columns {{join .columns}}{{if .indexes}}, indexes on {{join .indexes}}{{end}}`},
	Entry{Example: EffectSummaryParams{From: "handles pool(4)", To: "handles per_operation",
		Low: Known(0.31), High: Known(0.98), Significant: 7, Of: 12},
		Says: `{{.to}} instead of {{.from}}: {{if .significant}}{{factor .low}}{{if ne (factor .low) (factor .high)}} to {{factor .high}}{{end}} the rate where significant, in {{.significant}} of {{plural .of "case" ""}} (store and phase)` +
			`{{else}}no significant difference in {{plural .of "case" ""}} (store and phase){{end}}`},
	Entry{Example: OptionsDefault, Says: `all defaults`},
	Entry{Example: OptionsChangedParams{Options: "cache_bytes=64MiB (default 8MiB)"},
		Says: `options changed from default: {{clean .options}}`},

	Entry{Example: TrialMissingParams{Trial: "b1-003-bbolt-D1"}, Says: `{{.trial}} was planned and has no result`},
	Entry{Example: PhaseLeftOutParams{Why: "no batches"}, Says: `not supported: {{.why}}`},
	Entry{Example: ReasonNoTrialEnded, Says: `no trial ended`},
	Entry{Example: ReasonInterrupted, Says: `the run was interrupted before its trials ended`},
	Entry{Example: ReasonMachine, Says: `other programs, throttling or the clock disturbed every trial; figures include disturbed ones`},
	Entry{Example: ReasonNothingDone, Says: `no operation succeeded`},
	Entry{Example: ReasonIdleParams{Blocks: 1, Of: 3},
		Says: `no operation succeeded in {{.blocks}} of {{plural .of "block" ""}}`},
	Entry{Example: ReasonQuotaParams{Blocks: 1, Of: 3, Samples: 10},
		Says: `the disk quota ended the phase before {{.samples}} samples in {{.blocks}} of {{plural .of "block" ""}}`},
	Entry{Example: ReasonUnsteadyParams{Blocks: 2, Of: 3, Kind: "step"},
		Says: `no steady state in {{.blocks}} of {{plural .of "block" ""}}{{if .kind}} ({{.kind}}){{end}}`},
	Entry{Example: ReasonHarnessParams{Share: 0.62},
		Says: `harness-bound: {{percent .share}} of each operation is the harness`},
	Entry{Example: ReasonOpenLoad, Says: `open load: the experiment set the rate; compare latencies`},

	Entry{Example: LatencyDispatchLate, Says: `operations began late: more than a tenth of these percentiles is the harness's delay`},
	Entry{Example: LatencyNotBegun, Says: `operations that were due were never begun; these percentiles leave them out`},
	Entry{Example: LatencyLateOrNotBegun, Says: `operations began late or were never begun; these percentiles can't be trusted`},

	Entry{Example: VerdictOpenLoad, Says: `The experiment set the rate: compare the latencies.`},
	Entry{Example: VerdictNone, Says: `No store has a rank.`},
	Entry{Example: VerdictOnlyParams{Arm: "bbolt", Rate: 41e3}, Says: `Only {{.arm}} has a rank, at {{rate .rate}}.`},
	Entry{Example: VerdictFastestParams{Arm: "pebble", Rate: 412e3, Next: "bbolt", Factor: 3.87, Low: 3.51, High: 4.2},
		Says: `{{.arm}} is fastest at {{rate .rate}}: {{factor .factor}} {{.next}} (95 % interval {{interval .low .high}}).`},
	Entry{Example: VerdictEqualParams{Arms: []string{"bbolt", "boltdb"}, Rate: 41e3, Margin: 0.1},
		Says: `{{list .arms}} are tied at {{rate .rate}}: they differ by less than {{percent .margin}}.`},
	Entry{Example: VerdictTiedParams{Arms: []string{"bbolt", "boltdb"}, Rate: 41e3, Detectable: 1.4, Blocks: 3},
		Says: `{{list .arms}}: no significant difference, near {{rate .rate}}. {{plural .blocks "block" ""}} can detect differences above {{factor .detectable}}.`},
	Entry{Example: VerdictNoisyParams{Arms: []string{"bbolt", "boltdb"}, Blocks: 3},
		Says: `{{list .arms}}: too noisy to compare in {{plural .blocks "block" ""}}.`},
	Entry{Example: VerdictTooFewBlocksParams{Arms: []string{"bbolt", "boltdb"}, Blocks: 1},
		Says: `{{list .arms}}: {{plural .blocks "block is" "blocks are"}} too few to compare.`},

	Entry{Example: NoteFasterUnrankedParams{Arms: []string{"pogreb"}},
		Says: `{{list .arms}} had a higher rate and no rank.`},
	Entry{Example: NoteBatchesParams{Items: 100}, Says: `A batch of {{.items}} records counts as one operation.`},
	Entry{Example: NoteIndexLeftOutParams{Arms: []string{"sqlite", "mariadb"}, Column: "Tags", Words: true},
		Says: `Not supported by {{list .arms}}: an index of {{if .words}}the words of {{end}}{{.column}}. Queries by it read every record.`},
	Entry{Example: NoteNoNoise, Says: `Noise unknown: no valid A/A pair. Differences below 3 % are ignored.`},
	Entry{Example: NoteWritesOfDisk, Says: `Host writes are those of the trial's own disk, file system journal included.`},
	Entry{Example: NoteWritesUnknownParams{Arms: []string{"bbolt"}, Why: "the kernel does not report them"},
		Says: `Host writes not measured for {{list .arms}}: {{clean .why}}.`},
	Entry{Example: NoteServerParams{Arms: []string{"memcached"}, Server: 64e6, Client: 12e6},
		Says: `Memory and CPU of {{list .arms}} are server and client together; of the memory, {{bytes .server}} and {{bytes .client}}.`},
	Entry{Example: NoteServerUnknownParams{Arms: []string{"memcached"}, Why: "it is on another machine"},
		Says: `Memory and CPU of {{list .arms}} are incomplete: {{clean .why}}.`},
	Entry{Example: NoteOverLimitParams{Arms: []string{"bbolt"}, Limit: 200 << 20},
		Says: `Memory of {{list .arms}} exceeds the limit of {{limit .limit}}: resident pages that are charged to others do not count against it.`},
	Entry{Example: NoteQuotaMountParams{FileSystem: "ext4 over a loop device, 2 GiB, 1.88 GB usable"},
		Says: `Each trial had a file system of its own: {{clean .file_system}}.`},

	Entry{Example: PlotsThinnedParams{Series: 12, Kept: 800, Samples: 3600},
		Says: `{{plural .series "plot is" "plots are"}} thinned (the longest from {{count .samples}} to {{count .kept}} points); stalls are kept.`},
)

type DoingParams struct {
	Mix        []string
	Order      string
	Theta      float64 `param:"omitempty"`
	Rate       float64
	Arrivals   string `param:"omitempty"` // how the operations of the rate are spread in time
	Queries    string `param:"omitempty"`
	Batch      int    `param:"omitempty"`
	Operations uint64 `param:"omitempty"`
	Seconds    *float64
}

func (DoingParams) code() Code { return "doing" }

type ConditionRecordsParams struct {
	Records uint64
	Bytes   string
}

func (ConditionRecordsParams) code() Code { return "condition-records" }

type ConditionEmptyParams struct{ Bytes string }

func (ConditionEmptyParams) code() Code { return "condition-empty" }

type ConditionThreadsParams struct{ Threads, Processes int }

func (ConditionThreadsParams) code() Code { return "condition-threads" }

type ConditionHandlesParams struct {
	Handles        string
	Pool, Pipeline int
}

func (ConditionHandlesParams) code() Code { return "condition-handles" }

type ConditionMemoryParams struct {
	Bytes int64
}

func (ConditionMemoryParams) code() Code { return "condition-memory" }

type ConditionQuotaParams struct {
	Bytes int64
	Mount bool
}

func (ConditionQuotaParams) code() Code { return "condition-quota" }

type ConditionCpusParams struct{ Client, Server string }

func (ConditionCpusParams) code() Code { return "condition-cpus" }

type ConditionColumnsParams struct{ Columns, Indexes []string }

func (ConditionColumnsParams) code() Code { return "condition-columns" }

type EffectSummaryParams struct {
	From, To        string
	Low, High       *float64
	Significant, Of int
}

func (EffectSummaryParams) code() Code { return "effect-summary" }

type OptionsChangedParams struct{ Options string }

func (OptionsChangedParams) code() Code { return "options-changed" }

type TrialMissingParams struct{ Trial string }

func (TrialMissingParams) code() Code { return "trial-missing" }

type PhaseLeftOutParams struct{ Why string }

func (PhaseLeftOutParams) code() Code { return "phase-left-out" }

type ReasonIdleParams struct{ Blocks, Of int }

func (ReasonIdleParams) code() Code { return "reason-idle" }

type ReasonQuotaParams struct{ Blocks, Of, Samples int }

func (ReasonQuotaParams) code() Code { return "reason-quota" }

type ReasonUnsteadyParams struct {
	Blocks, Of int
	Kind       string
}

func (ReasonUnsteadyParams) code() Code { return "reason-unsteady" }

type ReasonHarnessParams struct{ Share float64 }

func (ReasonHarnessParams) code() Code { return "reason-harness" }

type VerdictOnlyParams struct {
	Arm  string
	Rate float64
}

func (VerdictOnlyParams) code() Code { return "verdict-only" }

type VerdictFastestParams struct {
	Arm               string
	Rate              float64
	Next              string
	Factor, Low, High float64
}

func (VerdictFastestParams) code() Code { return "verdict-fastest" }

type VerdictEqualParams struct {
	Arms         []string
	Rate, Margin float64
}

func (VerdictEqualParams) code() Code { return "verdict-equal" }

type VerdictTiedParams struct {
	Arms             []string
	Rate, Detectable float64
	Blocks           int
}

func (VerdictTiedParams) code() Code { return "verdict-tied" }

type VerdictNoisyParams struct {
	Arms   []string
	Blocks int
}

func (VerdictNoisyParams) code() Code { return "verdict-noisy" }

type VerdictTooFewBlocksParams struct {
	Arms   []string
	Blocks int
}

func (VerdictTooFewBlocksParams) code() Code { return "verdict-too-few-blocks" }

type NoteFasterUnrankedParams struct{ Arms []string }

func (NoteFasterUnrankedParams) code() Code { return "note-faster-unranked" }

type NoteBatchesParams struct{ Items int }

func (NoteBatchesParams) code() Code { return "note-batches" }

type NoteIndexLeftOutParams struct {
	Arms   []string
	Column string
	Words  bool
}

func (NoteIndexLeftOutParams) code() Code { return "note-index-left-out" }

type NoteWritesUnknownParams struct {
	Arms []string
	Why  string
}

func (NoteWritesUnknownParams) code() Code { return "note-writes-unknown" }

type NoteServerParams struct {
	Arms           []string
	Server, Client float64
}

func (NoteServerParams) code() Code { return "note-server" }

type NoteServerUnknownParams struct {
	Arms []string
	Why  string
}

func (NoteServerUnknownParams) code() Code { return "note-server-unknown" }

type NoteOverLimitParams struct {
	Arms  []string
	Limit int64
}

func (NoteOverLimitParams) code() Code { return "note-over-limit" }

type NoteQuotaMountParams struct{ FileSystem string }

func (NoteQuotaMountParams) code() Code { return "note-quota-mount" }

type PlotsThinnedParams struct{ Series, Kept, Samples int }

func (PlotsThinnedParams) code() Code { return "plots-thinned" }

// Codes without parameters.
const (
	ConditionCold         Bare = "condition-cold"
	OptionsDefault        Bare = "options-default"
	ReasonNoTrialEnded    Bare = "reason-no-trial-ended"
	ReasonInterrupted     Bare = "reason-interrupted"
	ReasonMachine         Bare = "reason-machine"
	ReasonNothingDone     Bare = "reason-nothing-done"
	ReasonOpenLoad        Bare = "reason-open-load"
	LatencyDispatchLate   Bare = "latency-dispatch-late"
	LatencyNotBegun       Bare = "latency-not-begun"
	LatencyLateOrNotBegun Bare = "latency-late-or-not-begun"
	VerdictOpenLoad       Bare = "verdict-open-load"
	VerdictNone           Bare = "verdict-none"
	NoteNoNoise           Bare = "note-no-noise"
	NoteWritesOfDisk      Bare = "note-writes-of-disk"
)

type ClassClaimedParams struct{ Title string }

func (ClassClaimedParams) code() Code { return "class-claimed" }
