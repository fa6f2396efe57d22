package finding

// The lines of the one screen. Package tell makes them.
var _ = register(
	Entry{Example: RanParams{Stores: 9, Classes: 3, Blocks: 3, Done: 96, Planned: 96, Seconds: 161.0,
		Conditions: []string{"10,000 records of 1,449 B", "1 thread"}},
		Says: `{{plural .stores "store" ""}}, {{plural .classes "durability class" ""}}{{if has .cells}}, {{plural .cells "cell" ""}}{{end}}, {{plural .blocks "block" ""}}: ` +
			`{{if has .missing}}{{count .done}} of {{plural .planned "trial" ""}}{{else}}{{plural .planned "trial" ""}}{{end}} in {{seconds .seconds}}.{{if .conditions}} {{capital (join .conditions)}}.{{end}}`},
	Entry{Example: MoreParams{Count: 3}, Says: `{{.count}} more: --full`},

	Entry{Example: NoFigureParams{Failed: true}, Says: `{{if .failed}}failed{{else}}no figure{{end}}`},
	Entry{Example: SectionRefusedParams{Arms: []string{"badger", "bbolt"}}, Says: `Not supported: {{join .arms}}.`},
	Entry{Example: SectionNoFigureParams{Arms: []string{"sqlite"}, Why: "no trial ended"},
		Says: `No figure: {{join .arms}} ({{clean .why}}).`},
	Entry{Example: SectionSameLeadersParams{Cells: 4},
		Says: `In the {{if eq .cells 1}}other cell{{else}}{{plural .cells "other cell" ""}}{{end}} the same stores are fastest.`},
	Entry{Example: SectionLeadersParams{Phase: "insert", Leaders: []string{"pebble at 10 records (2.1×)",
		"bbolt at 10,000 records (1.4×)"}},
		Says: `{{.phase}}: fastest is {{join .leaders}}.`},

	Entry{Example: ClearFastestParams{Arm: "pebble", Phases: []string{"overwrite"},
		Classes: []string{"D3"}, Factor: 3.87, Low: Known(3.51), High: Known(4.2), Next: []string{"bbolt"}},
		Also: []Parameters{ClearFastestParams{Arm: "pebble", Phases: []string{"overwrite", "insert"}, Classes: []string{"D3"}, Factor: 1.27,
			Most: 1.33, Low: Known(1.08), High: Known(1.6), Next: []string{"bbolt"}, Several: true}},
		Says: `{{.arm}} is fastest at {{list .phases}} ({{join .classes}}): {{if has .several}}{{if eq (factor .factor) (factor .most)}}{{factor .factor}}{{else}}{{factor .factor}} to {{factor .most}}{{end}} the next{{if has .low}} (95 % intervals from {{factor .low}}){{end}}{{else}}{{factor .factor}} {{join .next}}{{if has .low}}, 95 % interval {{interval .low .high}}{{end}}{{end}}.`},
	Entry{Example: ClearEqualParams{Arms: []string{"bbolt", "boltdb"}, Phases: []string{"get"},
		Classes: []string{"D3"}, Margin: 0.1},
		Says: `{{list .arms}} are tied at {{list .phases}} ({{join .classes}}): they differ by less than {{percent .margin}}.`},
	Entry{Example: UnclearTiedParams{Arms: []string{"bbolt", "boltdb"}, Phase: "get", Class: "D3",
		Detectable: 1.4, Blocks: 3},
		Says: `{{.phase}} ({{.class}}): {{list .arms}} are not significantly different. {{plural .blocks "block" ""}} can detect differences above {{factor .detectable}} between them.`},
	Entry{Example: UnclearTiesParams{Tables: 3, Of: 12, Places: []string{"get (D3)", "put (D1)"}},
		Says: `No single winner in {{.tables}} of {{plural .of "table" ""}}: {{list .places}}.`},
	Entry{Example: UnclearNoisyParams{Tables: 3, Of: 12, Places: []string{"get (D3)", "put (D1)"}, Blocks: 3},
		Says: `Too noisy to compare in {{plural .blocks "block" ""}}: {{.tables}} of {{plural .of "table" ""}} ({{list .places}}).`},
	Entry{Example: UnclearFewBlocksParams{Tables: 12, Blocks: 1},
		Says: `{{plural .blocks "block is" "blocks are"}} too few to compare ({{plural .tables "table" ""}}).`},
	Entry{Example: UnclearNoRankParams{Places: []string{"insert (D1)"}, Why: "no trial ended"},
		Says: `Nothing is ranked{{if not (has .all)}} in {{list .places}}{{end}}{{if .why}}: {{.why}}{{end}}.`},
	Entry{Example: UnclearOneRankParams{Places: []string{"insert (D1)"},
		Why: "no steady state in 2 of 3 blocks (step)"}, Says: `Only one store has a rank in {{list .places}}.{{if .why}} Others: {{.why}}.{{end}}`},

	Entry{Example: NextResumeParams{Trials: 12}, Says: `{{plural .trials "trial is" "trials are"}} left to do.`},
	Entry{Example: NextEnoughBlocksParams{Blocks: 5},
		Says: `{{plural .blocks "block allows" "blocks allow"}} stores to be compared.`},
	Entry{Example: NextBlocksParams{Blocks: 7, Detectable: 1.2},
		Says: `{{plural .blocks "block" ""}} can detect differences of about {{factor .detectable}}.`},
	Entry{Example: NextFullParams{Remedy: "read the error messages in the trial"},
		Says: `This shows what each trial reported.{{if .remedy}} {{capital .remedy}}.{{end}}`},
	Entry{Example: PhasesParams{Code: "next-less-noise", Phases: []string{"insert"}, Seconds: 10.0},
		Says: `Phases this short differ too much from block to block; longer ones have less noise: {{join .phases}}.`},
	Entry{Example: NextNoise, Says: `Blocks differ too much for more of them to help; this says what disturbs the machine.`},
	Entry{Example: PhasesParams{Code: "next-longer", Phases: []string{"insert"}, Seconds: 20.0},
		Says: `Longer phases show whether rates hold: {{join .phases}}.`},
	Entry{Example: NextDoctor, Says: `The machine disturbed the figures; this says what to change.`},
)

type RanParams struct {
	Stores, Classes, Blocks, Done, Planned int
	Seconds                                float64
	Conditions                             []string
	Cells, Missing                         int `param:"omitempty"`
}

func (RanParams) code() Code { return "ran" }

type MoreParams struct{ Count int }

func (MoreParams) code() Code { return "more" }

type NoFigureParams struct{ Failed bool }

func (NoFigureParams) code() Code { return "no-figure" }

type SectionRefusedParams struct{ Arms []string }

func (SectionRefusedParams) code() Code { return "section-refused" }

type SectionNoFigureParams struct {
	Arms []string
	Why  string
}

func (SectionNoFigureParams) code() Code { return "section-no-figure" }

type SectionSameLeadersParams struct{ Cells int }

func (SectionSameLeadersParams) code() Code { return "section-same-leaders" }

type SectionLeadersParams struct {
	Phase   string
	Leaders []string
}

func (SectionLeadersParams) code() Code { return "section-leaders" }

type ClearFastestParams struct {
	Arm             string
	Phases, Classes []string
	Factor          float64
	Low, High       *float64
	Next            []string
	Several         bool    `param:"omitempty"` // tables: Factor to Most, and Low is the lowest of their intervals
	Most            float64 `param:"omitempty"`
}

func (ClearFastestParams) code() Code { return "clear-fastest" }

type ClearEqualParams struct {
	Arms, Phases, Classes []string
	Margin                float64
}

func (ClearEqualParams) code() Code { return "clear-equal" }

type UnclearTiedParams struct {
	Arms         []string
	Phase, Class string
	Detectable   float64
	Blocks       int
}

func (UnclearTiedParams) code() Code { return "unclear-tied" }

type UnclearTiesParams struct {
	Tables, Of int
	Places     []string
}

func (UnclearTiesParams) code() Code { return "unclear-ties" }

type UnclearNoisyParams struct {
	Tables, Of int
	Places     []string
	Blocks     int
}

func (UnclearNoisyParams) code() Code { return "unclear-noisy" }

type UnclearFewBlocksParams struct{ Tables, Blocks int }

func (UnclearFewBlocksParams) code() Code { return "unclear-few-blocks" }

type UnclearNoRankParams struct {
	Places []string
	Why    string
	All    bool `param:"omitempty"`
}

func (UnclearNoRankParams) code() Code { return "unclear-no-rank" }

type UnclearOneRankParams struct {
	Places []string
	Why    string
}

func (UnclearOneRankParams) code() Code { return "unclear-one-rank" }

type NextResumeParams struct{ Trials int }

func (NextResumeParams) code() Code { return "next-resume" }

type NextEnoughBlocksParams struct{ Blocks int }

func (NextEnoughBlocksParams) code() Code { return "next-enough-blocks" }

type NextBlocksParams struct {
	Blocks     int
	Detectable float64
}

func (NextBlocksParams) code() Code { return "next-blocks" }

type NextFullParams struct{ Remedy string }

func (NextFullParams) code() Code { return "next-full" }

// Codes without parameters.
const (
	NextNoise  Bare = "next-noise"
	NextDoctor Bare = "next-doctor"
)
