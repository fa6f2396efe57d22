package finding

// What `assay history` says of many runs.
var _ = register(
	Entry{Example: ChangedParams{Arm: "bbolt", Phase: "put", Class: "D1", Cell: "10 records", Last: "v1.3.0", At: "v1.4.0",
		Metrics: []string{"rate", "p99"}, Before: []float64{100e3, 2e6}, After: []float64{80e3, 3e6}},
		Says: `{{.arm}} in {{.phase}} ({{.class}}){{if .cell}}, {{.cell}}{{end}}, between {{clean .last}} and {{clean .at}}: ` +
			`{{range $i, $m := .metrics}}{{if $i}}; {{end}}{{$m}} {{change (index $.before $i) (index $.after $i)}}, ` +
			`from {{figure $m (index $.before $i)}} to {{figure $m (index $.after $i)}}{{end}}.` +
			`{{if .assay}} Assay itself changed there ({{clean (index .assay 0)}} to {{clean (index .assay 1)}}): measure both with one version before you call it the store's.{{end}}`,
		Also: []Parameters{ChangedParams{Arm: "bbolt", Phase: "put", Class: "D1", Last: "v1.3.0", At: "v1.4.0", Metrics: []string{"rate"},
			Before: []float64{100e3}, After: []float64{80e3}, Assay: []string{"v2.0.0", "v2.1.0"}}}},
	Entry{Example: SpanParams{Runs: 60, Points: 30, Days: []string{"1 Jan 2026", "1 Mar 2026"}, Machine: "a machine"},
		Says: `{{plural .runs "run" ""}}, {{plural .points "point" ""}}, ` +
			`{{range $i, $d := .days}}{{if $i}} to {{end}}{{$d}}{{end}}, on {{.machine}}.`},
)

// ChangedParams are of the metrics of an arm's phase that changed between two commits.
type ChangedParams struct {
	Arm, Phase, Class, Cell, Last, At string
	Metrics                           []string
	Before, After                     []float64
	Assay                             []string `param:"omitempty"` // its own versions, where they differ
}

func (ChangedParams) code() Code { return "history changed" }

// SpanParams are of the runs of one experiment on one machine: their first and last day, or the one.
type SpanParams struct {
	Runs, Points int
	Days         []string
	Machine      string
}

func (SpanParams) code() Code { return "history span" }
