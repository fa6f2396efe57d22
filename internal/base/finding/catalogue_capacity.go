package finding

// What searches for a capacity found.
const (
	NoCapacity     Code = "no-capacity"
	CapacityFound  Code = "capacity"
	CapacityHeld   Code = "capacity-held"
	CapacityLimits Code = "capacity-limits"
	CapacityClosed Code = "capacity-closed"
	CapacityKnee   Code = "capacity-knee"
	CapacitySteps  Code = "capacity-steps"
	CapacityCaveat Code = "capacity-unsaid"
	OptionsTuned   Code = "options-tuned"
	ChoiceMade     Code = "choice"
	ChoiceCost     Code = "choice-cost"
	CapacityUnsure Code = "capacity-unsure"
)

var _ = register(
	Entry{Example: NoCapacityParams{At: example, Outcome: "cliff", Objectives: "p99 < 5 ms", Rate: 41200, Blocks: 3, Of: 3}, Severity: Warning,
		Also: []Parameters{
			NoCapacityParams{At: example, Outcome: "at least", Objectives: "p99 < 5 ms", Rate: 41200, Blocks: 3, Of: 3},
			NoCapacityParams{At: example, Outcome: "client", Objectives: "p99 < 5 ms", Rate: 41200, Blocks: 2, Of: 3},
			NoCapacityParams{At: example, Outcome: "below", Objectives: "p99 < 5 ms", Rate: 10, Blocks: 3, Of: 3},
			NoCapacityParams{At: example, Outcome: "recovery", Objectives: "p99 < 5 ms", Rate: 41200, Blocks: 3, Of: 3},
			NoCapacityParams{At: example, Outcome: "declines", Objectives: "p99 < 5 ms", Rate: 41200, Blocks: 3, Of: 3},
			NoCapacityParams{At: example, Outcome: "unstable", Objectives: "p99 < 5 ms", Rate: 41200, Blocks: 3, Of: 3},
			NoCapacityParams{At: example, Outcome: "disagree", Objectives: "p99 < 5 ms", Blocks: 1, Of: 3},
			NoCapacityParams{At: example, Outcome: "unfinished", Objectives: "p99 < 5 ms", Blocks: 3, Of: 3}},
		Says: `{{if eq .outcome "at least"}}{{.arm}} sustains at least {{rate .rate}} at {{.objectives}} in {{.place}}: no higher rate was tried.` +
			`{{else if eq .outcome "client"}}{{.arm}} sustains at least {{rate .rate}} at {{.objectives}} in {{.place}}. Above that, the client began operations too late.` +
			`{{else if eq .outcome "below"}}{{.arm}} in {{.place}} misses {{.objectives}} at all rates that were tried, from {{rate .rate}} on.` +
			`{{else if eq .outcome "cliff"}}{{.arm}} in {{.place}} has a cliff near {{rate .rate}}: above it, throughput collapses.` +
			`{{else if eq .outcome "recovery"}}{{.arm}} in {{.place}} does not recover from overload: rates that had held at {{.objectives}} no longer hold.` +
			`{{else if eq .outcome "declines"}}{{.arm}} in {{.place}} gets slower during the search: rates that had held at {{.objectives}} no longer hold.` +
			`{{else if eq .outcome "unstable"}}{{.arm}} in {{.place}} kept and missed {{.objectives}} at the same rates: it or this machine pauses now and then.` +
			`{{else if eq .outcome "disagree"}}No capacity of {{.arm}} is known in {{.place}}: the {{plural .of "block" ""}} do not agree on {{.objectives}}.` +
			`{{else}}The search for the capacity of {{.arm}} in {{.place}} did not end.{{end}}` +
			`{{if and (ne .blocks .of) (ne .outcome "disagree")}} Seen in {{.blocks}} of {{plural .of "block" ""}}.{{end}}`,
		Many:   `No capacity is known of {{list .Arms}} in {{places .Places}}: {{list .all_outcome}}.`,
		Answer: true, InAnswer: true, Remedy: `the table by rate shows where latency rises (report --full)`},
	Entry{Example: CapacityFoundParams{Place: "capacity (D0)", Objectives: "p99 < 5 ms", Stores: []string{"memcached 63.9 k/s (95 % interval 63.1 to 64.8)", "redis 41.2 k/s (40.1 to 42.0)"},
		Factor: Known(1.55), Low: Known(1.5), High: Known(1.61)},
		Also: []Parameters{CapacityFoundParams{Place: "capacity (D0)", Objectives: "p99 < 5 ms and errors < 0.1%", Stores: []string{"redis 41.2 k/s"}, Breaks: []string{"errors < 0.1% at 52.0 k/s (redis)"}}},
		Says: `Sustained at {{.objectives}} in {{.place}}: {{list .stores}}` +
			`{{if has .factor}}; {{factor .factor}}{{if has .low}} ({{interval .low .high}}){{end}}{{end}}.{{if .breaks}} By themselves: {{list .breaks}}.{{end}}`},
	Entry{Example: CapacityUnsureParams{Place: "capacity (D0)", Stores: []string{"redis: capacity, unstable, declines"}}, Severity: Warning,
		Also: []Parameters{CapacityUnsureParams{Place: "capacity (D0)", Machine: true, Stores: []string{"memcached: unstable, unstable, capacity", "redis: unstable, capacity, unstable"}}},
		Says: `{{if .machine}}Several stores kept and missed their objectives at the same rates in {{.place}}: the machine pauses.` +
			`{{else}}Blocks differ in kind in {{.place}}.{{end}} Capacities are of all blocks, so intervals are wide: {{list .stores}}.`,
		Remedy: `use a machine without other load, or ask for a lower percentile`},
	Entry{Example: CapacityHeldParams{Place: "capacity (D0)", Stores: []string{"memcached 60.7 k/s for 10 s", "redis 39.1 k/s for 10 s in 2 of 3 blocks"}},
		Also: []Parameters{CapacityHeldParams{Place: "capacity (D0)", Not: []string{"redis"}}},
		Says: `{{if .stores}}Confirmed by a longer step in {{.place}}: {{list .stores}}.{{if .not}} {{end}}{{end}}{{if .not}}No longer step held in {{.place}}: {{list .not}}.{{end}}`},
	Entry{Example: CapacityLimitsParams{Place: "capacity (D0)", Stores: []string{"redis: the server's CPU (1.0 CPUs, client 0.7, of 2)"}},
		Says: `What limits them in {{.place}}: {{list .stores}}.`},
	Entry{Example: CapacityKneeParams{Place: "capacity (D0)", Metric: "p99", Stores: []string{"redis 30.1 k/s (73 % of its capacity)"}},
		Says: `The knee, where {{.metric}} is twice that of low rates, is in {{.place}} at: {{list .stores}}.`},
	Entry{Example: CapacityStepsParams{Place: "capacity (D0)", Again: 3, Outliers: 2},
		Also: []Parameters{CapacityStepsParams{Place: "capacity (D0)", Again: 1}, CapacityStepsParams{Place: "capacity (D0)", Outliers: 1}},
		Says: `{{if .again}}Others took a part of the machine in {{plural .again "step" ""}} in {{.place}}: done again.{{if .outliers}} {{end}}{{end}}` +
			`{{if .outliers}}{{plural .outliers "step" ""}}{{if not .again}} in {{.place}}{{end}} broke at rates at which later steps held: left out as outliers.{{end}}`},
	Entry{Example: CapacityCaveatParams{What: CaveatShared, Place: "capacity (D0)", Stores: []string{"memcached", "redis"}},
		Also: []Parameters{CapacityCaveatParams{What: CaveatOneOperation, Place: "capacity (D0)", Operation: "read"},
			CapacityCaveatParams{What: CaveatTuned, Place: "capacity (D0)", Stores: []string{"pebble"}, Beside: []string{"bbolt"}}},
		Says: `{{if eq .what "shared"}}The client shares the machine with {{list .stores}} in {{.place}}: with clients elsewhere, capacities may be higher.` +
			`{{else if eq .what "one"}}{{.place}} measured {{.operation}} alone: it says nothing of a mix.` +
			`{{else}}In {{.place}}, {{list .stores}} had changed options beside {{list .beside}} with defaults: a difference may be of the options.{{end}}`},
	Entry{Example: OptionsTunedParams{Stores: []string{"pebble-tuned on my-workload"}, Beside: []string{"bbolt", "pebble"}},
		Says: `Options were tuned of {{list .stores}}, not of {{list .beside}}: a difference may be of the options, and hold on that workload alone.`},
	Entry{Example: ChoiceParams{Place: "capacity (D3)", Rate: 20000, Objectives: "p99 < 5 ms", Within: []string{"4 GiB of memory", "100 GB of disk"},
		Does: []string{"pebble (2.50× the rate)"}, Unclear: []string{"goleveldb (0.90×: one run may find it lower)"},
		Not: []string{"bbolt (0.40×: its capacity is lower)"}},
		Also: []Parameters{ChoiceParams{Place: "capacity (D3)", Rate: 20000, Objectives: "p99 < 5 ms", Not: []string{"bbolt (0.40×: its capacity is lower)"}}},
		Says: `{{if .does}}Does {{rate .rate}} at {{.objectives}}{{if .within}} with {{list .within}}{{end}} in {{.place}}: {{list .does}}.` +
			`{{else}}No store is shown to do {{rate .rate}} at {{.objectives}}{{if .within}} with {{list .within}}{{end}} in {{.place}}.{{end}}` +
			`{{if .unclear}} Unclear: {{list .unclear}}.{{end}}{{if .not}} Does not: {{list .not}}.{{end}}`},
	Entry{Example: ChoiceCostParams{Arm: "pebble", Place: "capacity (D3)", Uses: []string{"memory 120 MB", "disk 310 MB"},
		Million: []string{"12.0 CPU s", "310 MB written", "540 J"}, Loss: LossNone, Cuts: 60, Proved: true},
		Also: []Parameters{
			ChoiceCostParams{Arm: "pebble", Place: "capacity (D2)", Uses: []string{"memory 120 MB"}, Loss: LossWindow, WindowNS: 1e8},
			ChoiceCostParams{Arm: "redis", Place: "capacity (D1)", Million: []string{"12.0 CPU s"}, Loss: LossAny, Cuts: 20, WorstNS: Known(4e9)},
			ChoiceCostParams{Arm: "redis", Place: "capacity (D0)", Million: []string{"12.0 CPU s"}, Loss: LossAny}},
		Says: `{{.arm}} in {{.place}}{{if .uses}} uses {{list .uses}}{{end}}{{if .million}}{{if .uses}};{{end}} a million operations: {{list .million}}{{end}}. ` +
			`A power cut may take {{if eq .loss "none"}}no acknowledged write{{else if eq .loss "window"}}{{latency .window_ns}} of acknowledged writes{{else}}any write{{end}}` +
			`{{if .proved}}: proved by {{plural .cuts "cut" ""}}{{else if .cuts}}; {{plural .cuts "cut" ""}} took {{if has .worst_ns}}at most {{latency .worst_ns}} of them{{else}}some{{end}}` +
			`{{else if ne .loss "any"}}: its claim{{end}}.`},
	Entry{Example: CapacityClosedParams{Place: "capacity (D0)", Stores: []string{"redis 78.0 k/s, p99 0.9 ms (1.89× its capacity)"}},
		Says: `Closed load, whose latency leaves out the wait, shows in {{.place}}: {{list .stores}}.`},
)

// NoCapacityParams are of a store that has no capacity: Rate is what the outcome is about, in operations
// a second.
type NoCapacityParams struct {
	At
	Outcome, Objectives string
	Rate                float64
	Blocks, Of          int
}

func (NoCapacityParams) code() Code { return NoCapacity }

// CapacityFoundParams are of a table's stores, each with its capacity and interval. Factor is that of the
// first to the second.
type CapacityFoundParams struct {
	Place, Objectives string
	Stores            []string
	Factor, Low, High *float64
	Breaks            []string `param:"omitempty"` // where each of several objectives breaks
}

func (CapacityFoundParams) code() Code { return CapacityFound }

// CapacityUnsureParams are of a table's stores whose blocks differ in kind, and what each block shows. Machine:
// several stores are unstable at once.
type CapacityUnsureParams struct {
	Place   string
	Machine bool `param:"omitempty"`
	Stores  []string
}

func (CapacityUnsureParams) code() Code { return CapacityUnsure }

// CapacityHeldParams are of the last steps of searches.
type CapacityHeldParams struct {
	Place  string
	Stores []string `param:"omitempty"`
	Not    []string `param:"omitempty"`
}

func (CapacityHeldParams) code() Code { return CapacityHeld }

// CapacityLimitsParams say what stores had used up at their capacities.
type CapacityLimitsParams struct {
	Place  string
	Stores []string
}

func (CapacityLimitsParams) code() Code { return CapacityLimits }

// CapacityKneeParams say at which rates latency begins to rise.
type CapacityKneeParams struct {
	Place, Metric string
	Stores        []string
}

func (CapacityKneeParams) code() Code { return CapacityKnee }

// CapacityStepsParams say how many steps of a table's searches were done again or left out.
type CapacityStepsParams struct {
	Place           string
	Again, Outliers int
}

func (CapacityStepsParams) code() Code { return CapacitySteps }

// What a capacity does not say.
const (
	CaveatShared       = "shared" // client and server share a machine
	CaveatOneOperation = "one"    // one operation is all that was measured
	CaveatTuned        = "tuned"  // an arm with changed options stands beside one with defaults
)

// CapacityCaveatParams say what a table's capacities do not say: What is one of the words above.
type CapacityCaveatParams struct {
	What, Place    string
	Operation      string   `param:"omitempty"`
	Stores, Beside []string `param:"omitempty"`
}

func (CapacityCaveatParams) code() Code { return CapacityCaveat }

// OptionsTunedParams are of arms whose options were tuned, each with the workload, and of those beside them.
type OptionsTunedParams struct{ Stores, Beside []string }

func (OptionsTunedParams) code() Code { return OptionsTuned }

// ChoiceParams say which stores of a table do what is asked for, each with how much to spare and what it uses.
type ChoiceParams struct {
	Place                      string
	Rate                       float64
	Objectives                 string
	Within, Does, Unclear, Not []string `param:"omitempty"`
}

func (ChoiceParams) code() Code { return ChoiceMade }

// What a class lets a power cut take of acknowledged writes.
const (
	LossNone   = "none"
	LossWindow = "window" // those of so long
	LossAny    = "any"
)

// ChoiceCostParams say what a store uses, what a million operations cost, and what a power cut may take. Cuts
// are those that were made of it, and WorstNS how long before one the first lost write was acknowledged.
type ChoiceCostParams struct {
	Arm, Place    string
	Uses, Million []string `param:"omitempty"`
	Loss          string
	WindowNS      float64  `param:"omitempty"`
	Cuts          int      `param:"omitempty"`
	Proved        bool     `param:"omitempty"`
	WorstNS       *float64 `param:"omitempty"`
}

func (ChoiceCostParams) code() Code { return ChoiceCost }

// CapacityClosedParams say what closed load showed before the searches.
type CapacityClosedParams struct {
	Place  string
	Stores []string
}

func (CapacityClosedParams) code() Code { return CapacityClosed }
