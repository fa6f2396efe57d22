package finding

// What the faults of servers that an experiment asks for did.
const (
	ServerFault     Code = "server-fault"
	SeenServerFault Code = "seen-server-fault"
	Recovered       Code = "recovered"
)

// wasDone says what was done to a server.
const wasDone = `{{if eq .does "kill"}}was killed{{else if eq .does "freeze"}}was frozen{{else if eq .does "cut"}}was cut off` +
	`{{else if eq .does "delay"}}answered {{.amount}} later{{else if eq .does "bandwidth"}}was limited to {{.amount}}` +
	`{{else if eq .does "memory"}}had its memory limited to {{.amount}}` +
	`{{else if eq .does "cpu"}}had its CPU time limited to {{.amount}} of one CPU` +
	`{{else if eq .does "slow_disk"}}had its disk limited to {{.amount}}` +
	`{{else if eq .does "reset"}}had its connections reset{{else}}had {{.amount}} of its connections reset{{end}}`

var _ = register(
	Entry{Example: ServerFaultParams{At: example, SeenServerFaultParams: SeenServerFaultParams{Does: "kill", Node: 2, AtS: 10.0,
		UndoneS: Known(25.3), RecoveryS: Known(15.9), Bad: 4210, Rate: 21300}, Lost: 12}, Severity: Warning,
		Says: `{{.arm}} in {{.place}}: node {{.node}} ` + wasDone + ` at {{moment .at_s}}` +
			`{{if has .undone_s}} and was back at {{moment .undone_s}}{{end}}. {{plural .bad "operation" ""}} failed; ` +
			`{{if has .recovery_s}}the rate was above half of {{rate .rate}} again {{seconds .recovery_s}} after the fault` +
			`{{else}}the rate was not above half of {{rate .rate}} again before the next fault or the end{{end}}` +
			`{{if .lost}}; {{plural .lost "record" ""}} read back were lost or old, which the class allows{{end}}.`,
		Answer: true,
		Many: `Faults of the servers of {{list .Arms}} in {{places .Places}}: up to {{plural .max_bad "operation" ""}} failed` +
			`{{if has .max_recovery_s}}; half of the rate was recovered within {{seconds .max_recovery_s}}, where it was{{end}}.`},
	Entry{Example: RecoveredParams{Place: "put at D1", Does: "kill", Node: 2, DownS: 10.0, Back: []string{"redis 10.9 s", "mariadb 12.4 s"}, Not: []string{"postgres"}},
		Also: []Parameters{RecoveredParams{Place: "put at D1", Does: "delay", Amount: "20ms ± 5ms", Node: 1, DownS: 10, Back: []string{"redis 10.9 s"}, Meanwhile: []string{"redis 4.8 % (4.5 to 5.1 %)"}},
			RecoveredParams{Place: "put at D1", Does: "memory", Amount: "512 MiB", Node: 1, DownS: 10, Back: []string{"redis 10.9 s"}},
			RecoveredParams{Place: "put at D1", Does: "cpu", Amount: "50 %", Node: 1, DownS: 10, Back: []string{"redis 10.9 s"}, Meanwhile: []string{"redis 51 %"}},
			RecoveredParams{Place: "put at D1", Does: "slow_disk", Amount: "200 writes/s", Node: 1, DownS: 10, Back: []string{"redis 10.9 s"}, Meanwhile: []string{"redis 4 %"}},
			RecoveredParams{Place: "put at D1", Does: "drop_connections", Amount: "10 %", Node: 1, Back: []string{"redis 1.1 s"}},
			RecoveredParams{Place: "put at D1", Does: "freeze", Node: 1, Not: []string{"redis", "etcd"}}},
		Says: `Node {{.node}} ` + wasDone + `{{if .down_s}} for {{seconds .down_s}}{{end}} in {{.place}}. ` +
			`{{if .back}}Time to recover half of the rate: {{list .back}}.{{if .not}} {{end}}{{end}}` +
			`{{if .not}}Not recovered before the next fault or the end: {{list .not}}.{{end}}` +
			`{{if .meanwhile}} Rate meanwhile, of that before: {{list .meanwhile}}.{{end}}`},
	Entry{Example: SeenServerFaultParams{Does: "cut", Node: 1, AtS: 3.0, UndoneS: Known(6.0), RecoveryS: Known(3.5), Bad: 12, Rate: 21300},
		Says: `node {{.node}}: {{.does}}{{if .amount}} {{.amount}}{{end}} at {{moment .at_s}}{{if has .undone_s}}, back at {{moment .undone_s}}{{end}}; ` +
			`{{count .bad}} failed; {{if has .recovery_s}}recovered after {{seconds .recovery_s}}{{else}}not recovered{{end}} (half of {{rate .rate}})`},
)

// ServerFaultParams are of the trial that recovered last.
type ServerFaultParams struct {
	At
	SeenServerFaultParams
	Lost uint64 // records read back at the trial's end that were lost or old, in a class that allows it
}

func (ServerFaultParams) code() Code { return ServerFault }

// RecoveredParams report how soon each store's rate was back after one fault.
type RecoveredParams struct {
	Place  string
	Does   string
	Node   int
	Amount string   `param:"omitempty"` // how much was done: "20ms ± 5ms"
	DownS  float64  // until it was started again, resumed, or connected; 0: not in the phase
	Back   []string // stores, with the time from the fault, the soonest first
	Not    []string // stores whose rate was not back in most blocks
	// Meanwhile has each store's rate while the fault lasted, as a share of that before, with its interval.
	Meanwhile []string `param:"omitempty"`
}

func (RecoveredParams) code() Code { return Recovered }

// SeenServerFaultParams report what a fault did in one trial. RecoveryS counts from the fault.
type SeenServerFaultParams struct {
	Does               string
	Amount             string `param:"omitempty"`
	Node               int
	AtS                float64
	UndoneS, RecoveryS *float64
	Bad                uint64
	Rate               float64
}

func (SeenServerFaultParams) code() Code { return SeenServerFault }
