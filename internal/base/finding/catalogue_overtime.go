package finding

// What stores did while the rate that was asked for changed.
const (
	LatencyRises  Code = "latency-rises"
	BacklogLeft   Code = "backlog-left"
	LoadRecovery  Code = "load-recovery"
	ByRate        Code = "by-rate"
	LoadRecovered Code = "load-recovered"
)

var _ = register(
	Entry{Example: LatencyRisesParams{At: example, Rate: 14e3, BelowNS: 9e5, AboveNS: 2.3e7}, Severity: Notice,
		Says: `{{.arm}} in {{.place}}: p99 is at most {{latency .below_ns}} up to {{rate .rate}}, and at least {{latency .above_ns}} above.`},
	Entry{Example: LoadRecoveryParams{At: example, Rate: 50e3, Burst: true, Times: 6, RecoveryS: Known(1.2)},
		Severity: Notice,
		Also: []Parameters{LoadRecoveryParams{At: example, Rate: 20e3, Times: 1}, LoadRecoveryParams{At: example,
			Rate: 20e3, Times: 1, RecoveryS: Known(0.0)}},
		Says: `{{.arm}} in {{.place}}: after {{if .burst}}{{plural .times "burst" ""}} of {{else}}up to {{end}}{{rate .rate}}, response times were as before ` +
			`{{if has .recovery_s}}{{if .recovery_s}}within {{seconds .recovery_s}}{{else}}at once{{end}}{{else}}in less than half of the cases{{end}}.`},
	Entry{Example: BacklogLeftParams{At: example, BehindS: 3.2, NotBegun: 12400}, Severity: Warning,
		Says: `{{.arm}} never drained its backlog in {{.place}}: it ended {{seconds .behind_s}} behind, with {{plural .not_begun "operation" ""}} not begun.`,
		Many: `{{list .Arms}} never drained their backlog in {{places .Places}}: they ended up to {{seconds .max_behind_s}} behind.`},
	Entry{Example: ByRateParams{Place: "ramp at D1", Rise: []string{"pebble 14.0 k/s (0.9 ms to 23 ms)"}, Flat: []string{"memory (at most 0.1 ms)"}, Most: 20e3},
		Also: []Parameters{ByRateParams{Place: "ramp at D1", Flat: []string{"memory (at most 0.1 ms)", "pebble (at most 0.9 ms)"}, Most: 20e3}},
		Says: `{{if .rise}}p99 in {{.place}} rises above: {{list .rise}}. {{end}}` +
			`{{if .flat}}No rise of p99{{if not .rise}} in {{.place}}{{end}} up to {{rate .most}}: {{list .flat}}.{{end}}`},
	Entry{Example: LoadRecoveredParams{Place: "bursts at D1", Rate: 50e3, Burst: true, Back: []string{"memory at once", "pebble after 1.2 s"}, Not: []string{"bbolt"}},
		Also: []Parameters{LoadRecoveredParams{Place: "ramp at D1", Rate: 20e3, Not: []string{"bbolt"}}},
		Says: `After {{if .burst}}bursts of {{else}}up to {{end}}{{rate .rate}} in {{.place}}, ` +
			`{{if .back}}response times were as before: {{list .back}}.{{if .not}} {{end}}{{end}}` +
			`{{if .not}}{{if .back}}Not in most cases{{else}}response times did not come back in most cases{{end}}: {{list .not}}.{{end}}`},
)

// LatencyRisesParams report a rate, in operations a second that were asked for, above which the 99th
// percentile is much larger than below.
type LatencyRisesParams struct {
	At
	Rate, BelowNS, AboveNS float64
}

func (LatencyRisesParams) code() Code { return LatencyRises }

// LoadRecoveryParams report how long after a higher rate a store answered as before; nil: it did not in
// most cases.
type LoadRecoveryParams struct {
	At
	Rate      float64
	Burst     bool
	Times     int
	RecoveryS *float64
}

func (LoadRecoveryParams) code() Code { return LoadRecovery }

// BacklogLeftParams are of the block that was furthest behind at the end.
type BacklogLeftParams struct {
	At
	BehindS  float64
	NotBegun uint64
}

func (BacklogLeftParams) code() Code { return BacklogLeft }

// ByRateParams report of each store of a table above which rate its 99th percentile rises, or that it does
// not up to the most that was asked for.
type ByRateParams struct {
	Place string
	Rise  []string // stores, with the rate and both percentiles, the lowest rate first
	Flat  []string // stores, with the largest percentile
	Most  float64
}

func (ByRateParams) code() Code { return ByRate }

// LoadRecoveredParams report how soon after a higher rate each store of a table answered as before.
type LoadRecoveredParams struct {
	Place string
	Rate  float64
	Burst bool
	Back  []string // stores, with the time, the soonest first
	Not   []string
}

func (LoadRecoveredParams) code() Code { return LoadRecovered }
