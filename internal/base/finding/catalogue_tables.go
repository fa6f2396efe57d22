package finding

// The messages of tables: what was done, who is ahead, why an arm has no rank, and what its figures
// are of. Package tell makes them.
var _ = register(
	Entry{Example: ClassParams{Level: "D3", Class: "D3"},
		Also: []Parameters{ClassParams{Level: "D0", Class: "D0"}, ClassParams{Level: "D1", Class: "D1"},
			ClassParams{Level: "D2", Class: "D2(1s)", Window: "1s"}, ClassParams{Level: "D4", Class: "D4"},
			ClassParams{Level: "D3", Class: "D3", Claimed: true}},
		Says: `{{if eq .level "D0"}}may be lost with the process{{else if eq .level "D1"}}survives a crash of the process` +
			`{{else if eq .level "D2"}}a crash loses at most the last {{.window}} of writes{{else if eq .level "D3"}}survives a power cut` +
			`{{else}}survives the loss of a node, not a power cut of all nodes{{end}} ({{.class}}){{if .claimed}}: claimed by the store, not checked{{end}}`},
	Entry{Example: ClassEventualParams{Title: "survives a crash of the process (D1), claimed by the drivers"},
		Also: []Parameters{ClassEventualParams{Title: "may be lost with the process (D0)", WithinS: 3}},
		Says: `{{.title}}; reads may be old{{if .within_s}} for {{seconds .within_s}}{{end}}`},

	Entry{Example: DoingParams{Mix: []string{"95 % read", "5 % update"}, Order: "zipfian", Theta: 0.99,
		Rate: 0.0, Seconds: Known(60.0)},
		Also: []Parameters{DoingParams{Mix: []string{"90 % read", "10 % upsert"}, Order: "recorded", Rate: 20e3, Arrivals: "recorded",
			Replay: "replay of cache.csv", Operations: 200_000}},
		Says: `{{if has .replay}}{{.replay}}: {{end}}{{if .mix}}{{join .mix}}{{else}}load{{end}}{{if .order}}, {{.order}}{{if has .theta}} {{.theta}}{{end}} order{{if has .shift}} ({{.shift}}){{end}}{{end}}` +
			`{{if has .queries}}, for {{.queries}}{{end}}{{if has .batch}}, batches of {{.batch}}{{end}}{{if .fills}}, misses are filled{{if has .backend}} after {{.backend}}{{end}}{{end}}{{if has .multi_read}}, {{plural .multi_read "key" ""}} a read{{end}}{{if has .append}}, {{.append}} a thread{{end}}` +
			`{{if has .objectives}}, searched for the highest rate at {{.objectives}}{{if has .arrivals}} ({{.arrivals}} arrivals){{end}}{{else}}{{if .rate}}, open load at {{if has .over_time}}{{.over_time}}{{else}}{{rate .rate}}{{end}}{{if has .arrivals}} ({{.arrivals}} arrivals){{end}}{{else}}, closed load{{if has .think}} ({{.think}} of think time){{end}}{{end}}, {{if has .operations}}{{plural .operations "operation" ""}}{{else}}{{seconds .seconds}}{{end}}{{end}}`},
	Entry{Example: ConditionRecordsParams{Records: 10000, Bytes: "1,449 B"},
		Says: `{{plural .records "record" ""}} of {{.bytes}}`},
	Entry{Example: ConditionEmptyParams{Bytes: "1,449 B"}, Says: `records of {{.bytes}}, none at first`},
	Entry{Example: ConditionThreadsParams{Threads: 8, Processes: 0},
		Also: []Parameters{ConditionThreadsParams{Threads: 8, Processes: 2, Agents: []string{"local:2"}}},
		Says: `{{if has .agents}}{{plural .threads "thread" ""}} on {{plural .processes "agent" ""}} ({{join .agents}})` +
			`{{else if not .processes}}{{plural .threads "thread" ""}}{{else if eq .threads .processes}}{{plural .processes "process" ""}}` +
			`{{else}}{{plural .threads "thread" ""}} in {{plural .processes "process" ""}}{{end}}`},
	Entry{Example: ConditionHandlesParams{Handles: "shared", Pool: 0, Pipeline: 0},
		Says: `{{if eq .handles "shared"}}one shared handle{{else if eq .handles "per_thread"}}a handle per thread` +
			`{{else if eq .handles "pool"}}a pool of {{plural .pool "handle" ""}}{{else if eq .handles "per_operation"}}a new handle per operation` +
			`{{else if eq .handles "async"}}asynchronous handles{{if .pipeline}}, {{.pipeline}} operations on the way on each{{end}}{{else}}handles: {{.handles}}{{end}}`},
	Entry{Example: ConditionEntryParams{Entry: "prefer"},
		Says: `{{if eq .entry "one"}}requests enter by one server{{else if eq .entry "all"}}requests enter by all servers in turn` +
			`{{else if eq .entry "prefer"}}requests enter by servers that have the key{{else}}entry: {{.entry}}{{end}}`},
	Entry{Example: ConditionSampledParams{Every: 100}, Says: `latencies are of a sample, one operation in {{.every}}`},
	Entry{Example: ConditionMemoryParams{Bytes: 200 << 20}, Says: `memory limit {{limit .bytes}}`},
	Entry{Example: ConditionQuotaParams{Bytes: 20 << 30, Mount: false},
		Says: `disk quota {{limit .bytes}}{{if .mount}}, a file system of its own{{end}}`},
	Entry{Example: ConditionCpusParams{Client: "0", Server: "1"},
		Also: []Parameters{ConditionCpusParams{Client: "0-1", Server: "0-1"}},
		Says: `{{if eq .client .server}}client and server on CPU {{.client}}{{else}}{{if .client}}client on CPU {{.client}}{{end}}{{if .server}}{{if .client}}, {{end}}server on CPU {{.server}}{{end}}{{end}}`},
	Entry{Example: ConditionCold, Says: `cold page cache`},
	Entry{Example: ConditionColumnsParams{Columns: []string{"name", "age"}, Indexes: []string{}},
		Says: `columns {{join .columns}}{{if .indexes}}, indexes on {{join .indexes}}{{end}}`},
	Entry{Example: EffectParams{From: []string{"handles pool(4)"}, To: []string{"handles per_operation"}},
		Also: []Parameters{EffectParams{From: []string{"1 thread", "D1"}, To: []string{"8 threads", "D3"}}},
		Says: `{{if eq (len .to) 1}}{{join .to}} instead of {{join .from}}{{else}}interaction of {{list .to}}{{end}}`},
	Entry{Example: EffectSummaryParams{From: "handles pool(4)", To: []string{"handles per_operation"},
		Low: Known(0.31), High: Known(0.98), Significant: 7, Of: 12},
		Also: []Parameters{EffectSummaryParams{From: "1 thread", To: []string{"2", "4 threads"}, Of: 2},
			EffectSummaryParams{From: "1 thread", To: []string{"8 threads"}, Low: Known(1.2), High: Known(1.6), Significant: 2, Of: 2},
			EffectSummaryParams{From: "1 thread", To: []string{"8 threads"}, Low: Known(1.3), High: Known(1.3), Significant: 1, Of: 1},
			EffectSummaryParams{From: "1 thread", To: []string{"2 threads"}, Of: 1}},
		Says: `{{list .to}} instead of {{.from}}: {{if .significant}}{{factor .low}}{{if ne (factor .low) (factor .high)}} to {{factor .high}}{{end}} the rate` +
			`{{if lt .significant .of}} where significant, in {{.significant}} of {{.of}} cases{{else if gt .of 1}} in each of {{.of}} cases{{end}}` +
			`{{else}}no significant difference{{if gt .of 1}} in {{.of}} cases{{end}}{{end}}{{if gt .of 1}} (store and phase){{end}}`},
	Entry{Example: ScalingParams{Arm: "redis", Place: "read (D0)", Axis: "threads", Law: "universal", Largest: 64, Sigma: 0.031, SigmaLow: 0.022, SigmaHigh: 0.04,
		Peak: 28.4, PeakLow: 25.1, PeakHigh: 32.2, PeakRate: 210_000, Off: 0.021},
		Also: []Parameters{
			ScalingParams{Arm: "redis", Place: "read (D0)", Axis: "nodes", Law: "universal", Largest: 8, Sigma: 0.031, SigmaLow: 0.022, SigmaHigh: 0.04,
				Peak: 28.4, PeakLow: 25.1, PeakHigh: 32.2, PeakRate: 210_000, Off: 0.021},
			ScalingParams{Arm: "redis", Place: "read (D0)", Axis: "threads", Law: "amdahl", Largest: 16, Sigma: 0.05, SigmaLow: 0.04, SigmaHigh: 0.06, Off: 0.02},
			ScalingParams{Arm: "bbolt", Place: "update (D1)", Axis: "threads", Law: "amdahl", Largest: 8, Sigma: 1.03, SigmaLow: 0.88, SigmaHigh: 1.18, Off: 0.045},
			ScalingParams{Arm: "bbolt", Place: "update (D1)", Axis: "threads", Law: "amdahl", Largest: 8, Sigma: 1.2, SigmaLow: 1.1, SigmaHigh: 1.3, Off: 0.02},
			ScalingParams{Arm: "redis", Place: "read (D0)", Axis: "threads", Law: "linear", Largest: 16, Off: 0.02}},
		Says: `{{if eq .law "linear"}}{{.arm}} in {{.place}} grows in proportion to its {{.axis}}, up to {{tenths .largest}}: points are at most {{percent .off}} off.` +
			`{{else if eq .law "amdahl"}}{{.arm}} in {{.place}} follows Amdahl's law over {{.axis}}. {{if ge .sigma_low 1.0}}All of it is serial, more {{.axis}} slow it down;` +
			`{{else}}Serial share {{if ge .sigma_high 1.0}}at least {{percent .sigma_low}}{{else}}{{percent .sigma}} ({{percent .sigma_low}} to {{percent .sigma_high}}){{end}},{{end}} points at most {{percent .off}} off.` +
			`{{else}}{{.arm}} in {{.place}} peaks at {{tenths .peak}} {{.axis}} ({{tenths .peak_low}} to {{tenths .peak_high}}), {{rate .peak_rate}}, by the universal scalability law{{if gt .peak .largest}}, beyond what was tried{{end}}. ` +
			`Serial share {{percent .sigma}} ({{percent .sigma_low}} to {{percent .sigma_high}}), points at most {{percent .off}} off.{{end}}`},
	Entry{Example: OptionsParams{Changed: "cache_bytes=64MiB (default 8MiB)"},
		Also: []Parameters{OptionsParams{}, OptionsParams{Deciding: []string{"D1: fsync=off", "D3: fsync=on"}}},
		Says: `{{if .changed}}options changed from default: {{clean .changed}}{{else}}all defaults{{end}}{{range .deciding}}; {{.}}{{end}}`},

	Entry{Example: TrialMissingParams{Trial: "b1-003-bbolt-D1"}, Says: `{{.trial}} was planned and has no result`},
	Entry{Example: NoRankParams{Code: NoTrialEnded}, Says: `no trial ended`},
	Entry{Example: NoRankParams{Code: "no-rank interrupted"}, Says: `the run was interrupted before its trials ended`},
	Entry{Example: NoRankParams{Code: "no-rank machine"}, Says: `other programs, throttling or the clock disturbed every trial`},
	Entry{Example: NoRankParams{Code: "no-rank phase-left-out", Why: "no batches"}, Says: `not supported: {{clean .why}}`},
	Entry{Example: NoRankParams{Code: "no-rank nothing-done"}, Also: []Parameters{NoRankParams{Code: "no-rank nothing-done", Blocks: 1, Of: 3}},
		Says: `no operation succeeded{{if .blocks}} in {{.blocks}} of {{plural .of "block" ""}}{{end}}`},
	Entry{Example: NoRankParams{Code: "no-rank quota", Blocks: 1, Of: 3, Samples: 10},
		Says: `the disk quota ended the phase before {{.samples}} samples in {{.blocks}} of {{plural .of "block" ""}}`},
	Entry{Example: NoRankParams{Code: "no-rank unsteady", Blocks: 2, Of: 3, Course: "step"},
		Says: `no steady state in {{.blocks}} of {{plural .of "block" ""}}{{if .course}} ({{.course}}){{end}}`},
	Entry{Example: NoRankParams{Code: "no-rank server-faults", Blocks: 3, Of: 3},
		Says: `servers were taken down in it, as the experiment asks`},
	Entry{Example: NoRankParams{Code: "no-rank vain", Share: 0.97}, Also: []Parameters{NoRankParams{Code: "no-rank vain"}},
		Says: `{{if .share}}{{percent .share}} of its operations had nothing to do: the records were deleted{{else}}other stores ran out of records{{end}}`},
	Entry{Example: NoRankParams{Code: "no-rank harness", Share: 0.62},
		Says: `harness-bound: {{percent .share}} of each operation is the harness`},
	Entry{Example: NoRankParams{Code: "no-rank open-load"}, Says: `open load: the experiment set the rate; compare latencies`},

	Entry{Example: NoRankParams{Code: "no-rank no-capacity", Found: "at least", Blocks: 3, Of: 3},
		Also: []Parameters{
			NoRankParams{Code: "no-rank no-capacity", Found: "client", Blocks: 2, Of: 3}, NoRankParams{Code: "no-rank no-capacity", Found: "below", Blocks: 3, Of: 3},
			NoRankParams{Code: "no-rank no-capacity", Found: "cliff", Blocks: 3, Of: 3}, NoRankParams{Code: "no-rank no-capacity", Found: "recovery", Blocks: 3, Of: 3},
			NoRankParams{Code: "no-rank no-capacity", Found: "declines", Blocks: 3, Of: 3}, NoRankParams{Code: "no-rank no-capacity", Found: "unstable", Blocks: 3, Of: 3},
			NoRankParams{Code: "no-rank no-capacity", Found: "disagree", Blocks: 1, Of: 3},
			NoRankParams{Code: "no-rank no-capacity", Found: "unfinished", Blocks: 3, Of: 3}},
		Says: `{{if eq .found "disagree"}}no capacity: {{plural .of "block" ""}} do not agree{{else}}no capacity in {{.blocks}} of {{plural .of "block" ""}}: ` +
			`{{if eq .found "at least"}}the objectives hold at the highest rate that was tried` +
			`{{else if eq .found "client"}}the client is too slow to break the objectives` +
			`{{else if eq .found "below"}}the objectives hold at no rate that was tried` +
			`{{else if eq .found "cliff"}}throughput collapses above it` +
			`{{else if eq .found "recovery"}}the store does not recover from overload` +
			`{{else if eq .found "declines"}}the store gets slower during the search` +
			`{{else if eq .found "unstable"}}the objectives hold and break at the same rates` +
			`{{else}}the search did not end{{end}}{{end}}`},

	Entry{Example: LatencyDispatchLate, Says: `operations began late: more than a tenth of these percentiles is the harness's delay`},
	Entry{Example: LatencyNotBegun, Says: `operations that were due were never begun; these percentiles leave them out`},
	Entry{Example: LatencyTooFewParams{Quantiles: []string{"p99.9", "p99.99"}}, Says: `too few operations for {{list .quantiles}}`},
	Entry{Example: LatencyLateOrNotBegun, Says: `operations began late or were never begun; these percentiles can't be trusted`},

	Entry{Example: NoteParams{Code: NoteFasterUnranked, Arms: []string{"pogreb"}},
		Says: `{{list .arms}} had a higher rate and no rank.`},
	Entry{Example: NoteParams{Code: NoteBatches, Items: 100}, Says: `A batch of {{.items}} records counts as one operation.`},
	Entry{Example: NoteParams{Code: NoteIndexLeftOut, Arms: []string{"sqlite", "mariadb"}, Column: "Tags", Words: true},
		Says: `Not supported by {{list .arms}}: an index of {{if .words}}the words of {{end}}{{.column}}. Queries by it read every record.`},
	Entry{Example: FillsParams{Arm: "memcached", Place: "cache at D0", Fills: 1204, Beside: 310, Most: 7},
		Also: []Parameters{FillsParams{Arm: "redis", Place: "cache at D0", Fills: 12, Most: 1}},
		Says: `{{.arm}} in {{.place}}: of {{plural .fills "fill" ""}} of sampled keys, {{if .beside}}{{count .beside}} began while another client filled the same key; at most {{count .most}} at once` +
			`{{else}}none began beside another one of the same key{{end}}.`},
	Entry{Example: NoteParams{Code: NoteWritesOfDisk}, Says: `Host writes are those of the trial's own disk, file system journal included.`},
	Entry{Example: NoteParams{Code: NoteServer, Arms: []string{"memcached"}, Server: 64e6, Client: 12e6},
		Says: `Memory and CPU of {{list .arms}} are server and client together; of the memory, {{bytes .server}} and {{bytes .client}}.`},
	Entry{Example: NoteParams{Code: NoteOverLimit, Arms: []string{"bbolt"}, Limit: 200 << 20},
		Says: `Memory of {{list .arms}} exceeds the limit of {{limit .limit}}: resident pages that are charged to others do not count against it.`},
	Entry{Example: NoteParams{Code: NoteQuotaMount, FileSystem: "ext4 over a loop device, 2 GiB, 1.88 GB usable"},
		Says: `Each trial had a file system of its own: {{clean .file_system}}.`},

	Entry{Example: PlotsThinnedParams{Series: 12, Kept: 800, Samples: 3600},
		Says: `{{plural .series "plot is" "plots are"}} thinned (the longest from {{count .samples}} to {{count .kept}} points); stalls are kept.`},
)

type DoingParams struct {
	Mix        []string
	Order      string
	Theta      float64 `param:"omitempty"`
	Rate       float64
	OverTime   string `param:"omitempty"` // what the rate does, where it changes
	Objectives string `param:"omitempty"` // of a search for a capacity
	Arrivals   string `param:"omitempty"` // how the operations of the rate are spread in time
	Think      string `param:"omitempty"` // for how long threads of closed load pause
	Queries    string `param:"omitempty"`
	Replay     string `param:"omitempty"` // what recording is played, and how
	Batch      int    `param:"omitempty"`
	Fills      bool   `param:"omitempty"` // reads that find nothing put a value
	Backend    string `param:"omitempty"` // after how long
	Shift      string `param:"omitempty"` // how what is popular moves
	MultiRead  int    `param:"omitempty"` // keys that one call reads
	Append     string `param:"omitempty"` // what each thread appends to a value
	Operations uint64 `param:"omitempty"`
	Seconds    *float64
}

func (DoingParams) code() Code { return "doing" }

// FillsParams are of the reads of a sample of keys that found nothing and put a value.
type FillsParams struct {
	Arm, Place          string
	Fills, Beside, Most uint64
}

func (FillsParams) code() Code { return "fills" }

type ConditionRecordsParams struct {
	Records uint64
	Bytes   string
}

func (ConditionRecordsParams) code() Code { return "condition records" }

type ConditionEmptyParams struct{ Bytes string }

func (ConditionEmptyParams) code() Code { return "condition empty" }

// ConditionThreadsParams are how many do a phase; Processes are those of Agents, where there are agents.
type ConditionThreadsParams struct {
	Threads, Processes int
	Agents             []string `param:"omitempty"`
}

func (ConditionThreadsParams) code() Code { return "condition threads" }

type ConditionHandlesParams struct {
	Handles        string
	Pool, Pipeline int
}

func (ConditionHandlesParams) code() Code { return "condition handles" }

// ConditionEntryParams: Entry is one of an experiment's file.
type ConditionEntryParams struct{ Entry string }

func (ConditionEntryParams) code() Code { return "condition entry" }

type ConditionSampledParams struct{ Every uint64 }

func (ConditionSampledParams) code() Code { return "condition sampled" }

type ConditionMemoryParams struct {
	Bytes int64
}

func (ConditionMemoryParams) code() Code { return "condition memory" }

type ConditionQuotaParams struct {
	Bytes int64
	Mount bool
}

func (ConditionQuotaParams) code() Code { return "condition quota" }

type ConditionCpusParams struct{ Client, Server string }

func (ConditionCpusParams) code() Code { return "condition cpus" }

type ConditionColumnsParams struct{ Columns, Indexes []string }

func (ConditionColumnsParams) code() Code { return "condition columns" }

// EffectParams are of a change of one axis, or of two that interact.
type EffectParams struct{ From, To []string }

func (EffectParams) code() Code { return "effect" }

type EffectSummaryParams struct {
	From            string
	To              []string
	Low, High       *float64
	Significant, Of int
}

func (EffectSummaryParams) code() Code { return "effect-summary" }

// ScalingParams are of a law of scaling over an axis: shares of 1, sizes, and rates in operations a second.
// Off is the largest distance of a point from the law.
type ScalingParams struct {
	Arm, Place, Axis, Law             string
	Largest                           float64
	Sigma, SigmaLow, SigmaHigh        float64
	Peak, PeakLow, PeakHigh, PeakRate float64
	Off                               float64
}

func (ScalingParams) code() Code { return "scaling" }

// OptionsParams are the options of an arm that are not the default ones; "": none.
// OptionsParams: Deciding are the settings in force that decide each class.
type OptionsParams struct {
	Changed  string
	Deciding []string
}

func (OptionsParams) code() Code { return "options" }

type TrialMissingParams struct{ Trial string }

func (TrialMissingParams) code() Code { return "no-result missing" }

// NoRankParams are of why an arm has no rank in a table.
type NoRankParams struct {
	Code                Code    `param:"-"`
	Why, Course, Found  string  `param:"omitempty"` // Found is an outcome of a search for a capacity
	Blocks, Of, Samples int     `param:"omitempty"`
	Share               float64 `param:"omitempty"`
}

func (p NoRankParams) code() Code { return p.Code }

// NoTrialEnded is the kind of NoRankParams that is also said of arms without any figure.
const NoTrialEnded Code = "no-rank no-trial-ended"

// What notes say of a table's figures.
const (
	NoteFasterUnranked Code = "note faster-unranked"
	NoteBatches        Code = "note batches"
	NoteIndexLeftOut   Code = "note index-left-out"
	NoteServer         Code = "note server"
	NoteOverLimit      Code = "note over-limit"
	NoteQuotaMount     Code = "note quota-mount"
	NoteWritesOfDisk   Code = "note writes-of-disk"
)

// NoteParams are of a note on a table: Server and Client are bytes of memory, Words says that an
// index of a column is of its words.
type NoteParams struct {
	Code               Code     `param:"-"`
	Arms               []string `param:"omitempty"`
	Items              int      `param:"omitempty"`
	Column, FileSystem string   `param:"omitempty"`
	Words              bool     `param:"omitempty"`
	Server, Client     float64  `param:"omitempty"`
	Limit              int64    `param:"omitempty"`
}

func (p NoteParams) code() Code { return p.Code }

type PlotsThinnedParams struct{ Series, Kept, Samples int }

func (PlotsThinnedParams) code() Code { return "note plots-thinned" }

// Codes without parameters.
const (
	ConditionCold         Bare = "condition cold"
	LatencyDispatchLate   Bare = "latency-refused late"
	LatencyNotBegun       Bare = "latency-refused not-begun"
	LatencyLateOrNotBegun Bare = "latency-refused late-or-not-begun"
)

// LatencyTooFewParams are percentiles beyond which too few operations lie.
type LatencyTooFewParams struct{ Quantiles []string }

func (LatencyTooFewParams) code() Code { return "latency-refused too-few" }
