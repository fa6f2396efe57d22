package finding

// Findings about agents: machines that do a run's phases together.
const (
	AgentStarts Code = "agent-starts"       // how far apart they began, and how well that is known
	AgentRates  Code = "agent-rates"        // what each did
	AgentBound  Code = "client-bound agent" // one of them, and which share of the load it did
	AgentLink   Code = "agent-link"         // over which its counters come late

	MarkAgentSilent  Code = "machine-disturbed agent-silent"  // for longer than a second
	MarkAgentUnheard Code = "machine-disturbed agent-unheard" // to the end: it, or a worker of it, was lost
	FaultAgents      Code = "machine-disturbed agents"

	CauseAgentLost Code = "agent-lost"
)

var _ = register(
	Entry{Example: AgentStartsParams{At: At{"redis", "mixed (D0, 4 processes)"}, Agents: 4, ApartNS: 21e4, ErrorNS: 3e4, HistoryNS: 4e4}, Severity: Notice,
		Says: `The {{plural .agents "agent" ""}} of {{.arm}} began within {{latency .apart_ns}} in {{.place}}, known to {{latency .error_ns}}.` +
			`{{if .history_ns}} Stale reads that only two agents together saw are not found below {{latency .history_ns}}.{{end}}`,
		Many: `The agents of {{list .Arms}} began within {{latency .max_apart_ns}} in {{places .Places}}, known to {{latency .max_error_ns}}.` +
			`{{if .max_history_ns}} Stale reads that only two agents together saw are not found below {{latency .max_history_ns}}.{{end}}`},
	Entry{Example: AgentRatesParams{At: At{"redis", "mixed (D0, 4 processes)"}, Agents: []string{"local-1", "local-2"}, Rates: []float64{17200, 16900},
		Cpus: []float64{0.4, 0.4}, More: 2}, Severity: Notice,
		Says: `{{.arm}} in {{.place}} was loaded by {{range $i, $agent := .agents}}{{if $i}}, {{end}}{{$agent}} {{count (index $.rates $i)}} op/s with {{number (index $.cpus $i)}} CPUs{{end}}` +
			`{{if .more}}, {{.more}} more{{end}}.`},
	Entry{Example: AgentBoundParams{At: At{"redis", "mixed (D0, 4 processes)"}, Agent: "load2", Cpus: 1.97, Limit: 2, Share: 0.24}, Severity: Warning,
		Says: `{{.arm}} in {{.place}}: the agent {{.agent}}, which did {{percent .share}} of the operations, is client-bound: ` +
			`it used {{number .cpus}} of its {{number .limit}} CPUs.`,
		Many:   `Agents are client-bound with {{list .Arms}} in {{places .Places}}: they used up their CPUs.`,
		Remedy: "give that machine more CPUs or fewer threads, or add agents"},
	Entry{Example: AgentLinkParams{At: At{"redis", "mixed (D0, 4 processes)"}, Agent: "load2", Bytes: 812_000, Seconds: 13.5, ErrorNS: 4e7}, Severity: Notice,
		Says: `The link to the agent {{.agent}} is slow: its last counts in {{.place}} of {{.arm}} took {{seconds .seconds}} ({{bytes .bytes}}). ` +
			`They are whole; its clock is known to {{latency .error_ns}}.`,
		Many:   `Links to agents are slow: their last counts took up to {{seconds .max_seconds}}. They are whole.`,
		Remedy: "give the agent a link of its own to this machine, if its clock must be known better"},
	Entry{Example: AgentSilentParams{Agent: "load2", Seconds: 2.1, AtS: 3.0}, Fault: FaultAgents,
		Says: `the agent {{.agent}} sent nothing for {{seconds .seconds}}, first at {{moment .at_s}}: it was paused, or cut off`},
	Entry{Example: AgentUnheardParams{Agent: "load2", AtS: 3.2, Least: 640, Most: new(uint64(1000))}, Fault: FaultAgents,
		Says: `what the agent {{.agent}} did after {{moment .at_s}} was not heard: it acknowledged at least {{plural .least "operation" ""}}` +
			`{{if has .most}}, and began at most {{count .most}}{{end}}`},
	Entry{Example: FaultParams{Code: FaultAgents, At: At{"redis", "mixed (D0, 4 processes)"}, Trials: 1}, Severity: Warning, Machine: true,
		Says:   `Excluded {{plural .trials "block" ""}} of {{.arm}} in {{.place}}: an agent sent nothing for a time.`,
		Many:   `Excluded blocks of {{list .Arms}} in {{places .Places}}: agents sent nothing for a time.`,
		Remedy: "look at the network between the agents and this machine, and at what else runs there"},
	Entry{Example: CauseParams{Code: CauseAgentLost}, Says: "an agent was lost"},
)

// AgentStartsParams: HistoryNS is by how much the times of keys' histories may be wrong between agents;
// 0: none was recorded.
type AgentStartsParams struct {
	At
	Agents                      int
	ApartNS, ErrorNS, HistoryNS int64
}

func (AgentStartsParams) code() Code { return AgentStarts }

// AgentRatesParams: Rates are operations a second, those first that did the least.
type AgentRatesParams struct {
	At
	Agents      []string
	Rates, Cpus []float64
	More        int `param:"omitempty"` // agents, which did more
}

func (AgentRatesParams) code() Code { return AgentRates }

// AgentBoundParams: Share is of the phase's operations.
type AgentBoundParams struct {
	At
	Agent              string
	Cpus, Limit, Share float64
}

func (AgentBoundParams) code() Code { return AgentBound }

// AgentLinkParams: Bytes of counters took Seconds to come.
type AgentLinkParams struct {
	At
	Agent   string
	Bytes   uint64
	Seconds float64
	ErrorNS int64
}

func (AgentLinkParams) code() Code { return AgentLink }

type AgentSilentParams struct {
	Agent        string
	Seconds, AtS float64
}

func (AgentSilentParams) code() Code { return MarkAgentSilent }

// AgentUnheardParams: Least and Most are operations; no Most: the phase had a time, and no number.
type AgentUnheardParams struct {
	Agent string
	AtS   float64
	Least uint64
	Most  *uint64 `param:"omitempty"`
}

func (AgentUnheardParams) code() Code { return MarkAgentUnheard }
