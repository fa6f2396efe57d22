package finding

// How much was run: what a time limit changed before the run, why it stopped, and which trials ran
// again. Package plan makes the layout's, package run says them while it runs, facts in the
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

	Entry{Example: LayoutQuickParams{Records: 1000, Of: 100_000, Helpers: true},
		Also: []Parameters{LayoutQuickParams{Helpers: true, Phases: true}, LayoutQuickParams{Records: 10_000,
			Of: 100_000}}, Severity: Warning,
		Says: `The time suffices for orders of magnitude:{{if .records}} {{count .records}} of {{count .of}} records{{end}}` +
			`{{if .helpers}}{{if .records}},{{end}} A/A arm and null driver in the first block alone{{end}}` +
			`{{if .phases}}{{if or .records .helpers}},{{end}} phases below 1 s{{end}}. ` +
			`It can't show small differences, a steady state or data beyond memory.`,
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
	Entry{Example: BusyBlockParams{Disturbed: 5, Of: 6, Users: []string{"firefox (140 % of a CPU)", "clamd (30 % of a CPU)"}},
		Also: []Parameters{BusyBlockParams{Disturbed: 3, Of: 6}},
		Says: `the machine disturbed {{.disturbed}} of {{plural .of "trial" ""}} of the first block: stores may get no rank` +
			`{{if .users}}; most CPU: {{list .users}}{{end}}; end these programs, or rank nonetheless with --set busy_machine=tell`},
	Entry{Example: RepeatOverParams{Count: 1, Block: 2}, Also: []Parameters{RepeatOverParams{Count: 3, Block: 2,
		NoTime: true}},
		Says: `{{plural .count "trial" ""}} of block {{.block}} stayed disturbed; {{if .no_time}}time limit reached{{else}}retry limit reached{{end}}`},
)

// What a time limit took from a run, so that more time brings it back.
const (
	LayoutPhases Code = "layout-left-out phases"
	LayoutCells  Code = "layout-left-out cells"
	LayoutQuick  Code = "layout-changed quick"
)

type LayoutBlocksParams struct{ Blocks, Of int }

func (LayoutBlocksParams) code() Code { return "layout-changed blocks" }

type LayoutShorterParams struct{ Phases []string }

func (LayoutShorterParams) code() Code { return "layout-changed shorter" }

type LayoutLongerParams struct{ Phases []string }

func (LayoutLongerParams) code() Code { return "layout-changed longer" }

type LayoutPhasesParams struct{ Phases []string }

func (LayoutPhasesParams) code() Code { return LayoutPhases }

type LayoutCellsParams struct {
	Cells     []string
	Count, Of int
}

func (LayoutCellsParams) code() Code { return LayoutCells }

// LayoutQuickParams are what a layout left out that a comparison needs.
type LayoutQuickParams struct {
	Records, Of uint64 // 0: the records that were asked for
	Helpers     bool   // the A/A arm and the null driver are in the first block alone
	Phases      bool   // phases are too short to judge their course
}

func (LayoutQuickParams) code() Code { return LayoutQuick }

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

// BusyBlockParams are of a first block that the machine spoilt; Users are the programs that use the CPU.
type BusyBlockParams struct {
	Disturbed, Of int
	Users         []string `param:"omitempty"`
}

func (BusyBlockParams) code() Code { return "trials-repeated busy" }

type RepeatOverParams struct {
	Count, Block int
	NoTime       bool // for some of them
}

func (RepeatOverParams) code() Code { return "trials-repeated over" }
