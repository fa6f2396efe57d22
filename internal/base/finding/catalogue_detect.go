package finding

// How many blocks the difference that a run is to detect needs, and what becomes of time that is
// left. Package run says them while it runs, detect in the result.
var _ = register(
	Entry{Example: BlocksPilotParams{Ran: 5, Blocks: 11, Most: 30, Share: 0.05, Seconds: 540.0},
		Says: `{{if not .blocks}}The noise of {{plural .ran "block" ""}} is unknown: no more blocks are run.{{else}}The noise of {{plural .ran "block" ""}} asks for {{plural .blocks "block" ""}} to detect a difference of {{percent .share}}{{if gt .blocks .most}}; at most {{.most}} are run{{end}}: about {{seconds .seconds}} in all.{{end}}`},
	Entry{Example: BlocksDetectParams{Blocks: 7, Needed: 11, Share: 0.05, Seconds: 300.0}, Severity: Notice,
		Says:   `{{if not .needed}}Stopped after {{plural .blocks "block" ""}}: the noise is unknown.{{else if ge .blocks .needed}}Ran {{plural .blocks "block" ""}}: at this noise, {{.needed}} detect a difference of {{percent .share}}.{{else if .most}}Ran {{plural .blocks "block" ""}}, the most allowed; detecting a difference of {{percent .share}} needs {{.needed}}.{{else}}Ran {{plural .blocks "block" ""}}; detecting a difference of {{percent .share}} needs {{.needed}}, which do not fit into {{seconds .seconds}}.{{end}}`,
		Remedy: `{{if gt .needed .blocks}}give the run more time or raise blocks_max, or use a larger difference{{end}}`},
	Entry{Example: BlocksPartParams{Block: 4, Cells: []string{"D1"}},
		Says: `block {{.block}} of {{list .cells}} alone: a whole block does not fit into the time`},
)

// BlocksPilotParams say what the noise of the blocks that ran asks for; Blocks is 0 where it is
// unknown.
type BlocksPilotParams struct {
	Ran, Blocks, Most int
	Share, Seconds    float64
}

func (BlocksPilotParams) code() Code { return "blocks pilot" }

// BlocksDetectParams say whether a run had the blocks that its difference needs; Needed is 0 where
// the noise is unknown, and Most where blocks_max ended the run.
type BlocksDetectParams struct {
	Blocks, Needed int
	Share, Seconds float64
	Most           bool
}

func (BlocksDetectParams) code() Code { return "blocks detect" }

// BlocksPartParams name the cells that a last block is of.
type BlocksPartParams struct {
	Block int
	Cells []string
}

func (BlocksPartParams) code() Code { return "blocks part" }
