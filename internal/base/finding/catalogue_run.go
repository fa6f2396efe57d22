package finding

// How much was run: what a time limit changed before the run, why it stopped, and which trials ran
// again. Package plan makes the layout's, package run says them while it runs, verdict in the
// result.
var _ = register(
	Entry{Example: LayoutBlocksParams{Blocks: 3, Of: 5}, Severity: Notice,
		Says: `The time suffices for about {{.blocks}} of {{plural .of "block" ""}}.`},
	Entry{Example: LayoutShorterParams{Phases: []string{"overwrite 4.2 s", "read 4.2 s"}}, Severity: Notice,
		Says: `Phases are shorter than the file asks for, to fit the time: {{list .phases}}.`},
	Entry{Example: LayoutLongerParams{Phases: []string{"overwrite 1.5 s"}}, Severity: Notice,
		Says: `Phases are longer than the file asks for, so that their rates can be judged: {{list .phases}}.`},
	Entry{Example: LayoutPhasesParams{Phases: []string{"overwrite-batch"}}, Severity: Notice,
		Says:   `Left out to fit the time: the optional {{if eq (len .phases) 1}}phase{{else}}phases{{end}} {{list .phases}}.`,
		Remedy: "give the run more time"},
	Entry{Example: LayoutCellsParams{Cells: []string{"small D0", "small D1"}, Count: 2, Of: 9}, Severity: Notice,
		Says:   `Left out to fit the time: {{.count}} of {{plural .of "cell" ""}} ({{list .cells}}).`,
		Remedy: "give the run more time"},

	Entry{Example: BlocksDecidedParams{Blocks: 4, Share: 0.1}, Severity: Notice,
		Says: `Stopped after {{plural .blocks "block" ""}}: more blocks would decide no further comparison (differences below {{percent .share}} are accepted).`},
	Entry{Example: BlocksMostParams{Blocks: 10, Open: []string{"get (D3): bbolt, boltdb"}}, Severity: Notice,
		Says:   `Stopped after {{plural .blocks "block" ""}}, the most allowed, with comparisons undecided: {{list .open}}.`,
		Remedy: "raise blocks_max, or accept a larger difference: --set smallest=20%"},
	Entry{Example: BlocksAllParams{Blocks: 5}, Says: `all {{plural .blocks "block" ""}} have been run`},
	Entry{Example: BlocksTimeParams{Blocks: 4, Seconds: 300.0,
		Open: []string{"get (D3): bbolt, boltdb"}}, Severity: Notice,
		Says:   `Stopped after {{plural .blocks "block" ""}}: another block does not fit into {{seconds .seconds}}.{{if .open}} Undecided: {{list .open}}.{{end}}`,
		Remedy: "give the run more time"},
	Entry{Example: BlocksNextParams{Block: 4, Most: 10, Open: []string{"get (D3): bbolt, boltdb"}},
		Says: `block {{.block}} of at most {{.most}}{{if .open}}; undecided: {{list .open}}{{end}}`},
	Entry{Example: BlocksOverParams{Seconds: 180.0, Expected: 260.0},
		Says: `a block takes longer than estimated: the run takes about {{seconds .expected}}, more than {{seconds .seconds}}`},

	Entry{Example: TrialsRepeatedParams{Count: 3, Good: 2}, Severity: Notice,
		Says: `Ran {{plural .count "disturbed trial" ""}} again: {{if not .good}}disturbed again{{else if eq .count .good}}undisturbed{{else}}{{.good}} undisturbed{{end}}.`},
	Entry{Example: RepeatBlockParams{Count: 3, Block: 2},
		Says: `the machine disturbed {{plural .count "trial" ""}} of block {{.block}}: run again`},
	Entry{Example: RepeatOverParams{Count: 1, Block: 2}, Also: []Parameters{RepeatOverParams{Count: 3, Block: 2, NoTime: true}},
		Says: `{{plural .count "trial" ""}} of block {{.block}} stayed disturbed; {{if .no_time}}time limit reached{{else}}retry limit reached{{end}}`},
)

type LayoutBlocksParams struct{ Blocks, Of int }

func (LayoutBlocksParams) code() Code { return "layout-changed blocks" }

type LayoutShorterParams struct{ Phases []string }

func (LayoutShorterParams) code() Code { return "layout-changed shorter" }

type LayoutLongerParams struct{ Phases []string }

func (LayoutLongerParams) code() Code { return "layout-changed longer" }

type LayoutPhasesParams struct{ Phases []string }

func (LayoutPhasesParams) code() Code { return "layout-left-out phases" }

type LayoutCellsParams struct {
	Cells     []string
	Count, Of int
}

func (LayoutCellsParams) code() Code { return "layout-left-out cells" }

type BlocksDecidedParams struct {
	Blocks int
	Share  float64
}

func (BlocksDecidedParams) code() Code { return "blocks decided" }

type BlocksMostParams struct {
	Blocks int
	Open   []string
}

func (BlocksMostParams) code() Code { return "blocks most" }

type BlocksAllParams struct{ Blocks int }

func (BlocksAllParams) code() Code { return "blocks all" }

type BlocksTimeParams struct {
	Blocks  int
	Seconds float64
	Open    []string
}

func (BlocksTimeParams) code() Code { return "blocks time" }

type BlocksNextParams struct {
	Block, Most int
	Open        []string
}

func (BlocksNextParams) code() Code { return "blocks next" }

type BlocksOverParams struct{ Seconds, Expected float64 }

func (BlocksOverParams) code() Code { return "blocks over" }

type TrialsRepeatedParams struct{ Count, Good int }

func (TrialsRepeatedParams) code() Code { return "trials-repeated" }

type RepeatBlockParams struct{ Count, Block int }

func (RepeatBlockParams) code() Code { return "trials-repeated block" }

type RepeatOverParams struct {
	Count, Block int
	NoTime       bool // for some of them
}

func (RepeatOverParams) code() Code { return "trials-repeated over" }
