package finding

// Carryover: the trials of a store slow the trial after them.
const Carryover Code = "carry-over"

var _ = register(
	Entry{Example: CarryoverParams{Store: "bbolt", Phase: "put", Slower: 0.1, Low: 0.06, High: 0.14, Trials: 12, Moved: 0.012},
		Severity: Warning, Machine: true,
		Says: `{{.phase}} was {{percent .slower}} slower (95 % interval {{percent .low}} to {{percent .high}}) in the ` +
			`{{plural .trials "trial" ""}} that ran directly after {{.store}}, whatever ran. ` +
			`{{if has .moved}}Not all arms came after it equally often, which moves ratios by up to {{percent .moved}}.` +
			`{{else}}All arms came after it equally often: ratios are right, and their intervals hold it.{{end}}`,
		Also: []Parameters{CarryoverParams{Store: "bbolt", Phase: "put", Slower: 0.1, Low: 0.06, High: 0.14, Trials: 12}},
		Remedy: "dirty pages, or a disk that is still at work, do that: give phases more time " +
			"(a trial waits up to a tenth of it for the machine to be at rest), add blocks, or use a disk of its own"},
)

// CarryoverParams is of a phase in the trials after a store's, in all cells.
type CarryoverParams struct {
	Store, Phase string
	Slower       float64 // share of the rate
	Low, High    float64
	Trials       int     // rates that were compared, of all cells
	Moved        float64 `param:"omitempty"` // the most by which a ratio is wrong for it
}

func (CarryoverParams) code() Code { return Carryover }
