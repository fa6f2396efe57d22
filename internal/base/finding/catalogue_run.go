package finding

// How much was run: what a time limit changed before the run, why it stopped, and which trials ran
// again. Package plan makes the layout's, package run says them while it runs, verdict in the
// result.
var _ = register(
	Entry{Code: "layout-blocks", Severity: Notice, Example: Params{"blocks": 3, "of": 5},
		Says: `The time suffices for about {{.blocks}} of {{plural .of "block" ""}}.`},
	Entry{Code: "layout-shorter", Severity: Notice, Example: Params{"phases": []string{"overwrite 4.2 s", "read 4.2 s"}},
		Says: `Phases are shorter than the file asks for, to fit the time: {{list .phases}}.`},
	Entry{Code: "layout-longer", Severity: Notice, Example: Params{"phases": []string{"overwrite 1.5 s"}},
		Says: `Phases are longer than the file asks for, so that their rates can be judged: {{list .phases}}.`},
	Entry{Code: "layout-phases", Severity: Notice, Example: Params{"phases": []string{"overwrite-batch"}},
		Says:   `Left out to fit the time: the optional {{if eq (len .phases) 1}}phase{{else}}phases{{end}} {{list .phases}}.`,
		Remedy: "give the run more time"},
	Entry{Code: "layout-cells", Severity: Notice, Example: Params{"cells": []string{"small D0", "small D1"}, "count": 2, "of": 9},
		Says:   `Left out to fit the time: {{.count}} of {{plural .of "cell" ""}} ({{list .cells}}).`,
		Remedy: "give the run more time"},

	Entry{Code: "blocks-decided", Severity: Notice, Example: Params{"blocks": 4, "share": 0.1},
		Says: `Stopped after {{plural .blocks "block" ""}}: every store that has a rank is slower than the best, or within {{percent .share}} of it.`},
	Entry{Code: "blocks-most", Severity: Notice, Example: Params{"blocks": 10, "open": []string{"get (D3): bbolt, boltdb"}},
		Says:   `Stopped after {{plural .blocks "block" ""}}, the most allowed, with comparisons undecided: {{list .open}}.`,
		Remedy: "raise blocks_max, or accept a larger difference: --set smallest=20%"},
	Entry{Code: "blocks-all", Example: Params{"blocks": 5}, Says: `all {{plural .blocks "block" ""}} have been run`},
	Entry{Code: "blocks-time", Severity: Notice, Example: Params{"blocks": 4, "seconds": 300.0, "open": []string{"get (D3): bbolt, boltdb"}},
		Says:   `Stopped after {{plural .blocks "block" ""}}: another block does not fit into {{seconds .seconds}}.{{if .open}} Undecided: {{list .open}}.{{end}}`,
		Remedy: "give the run more time"},
	Entry{Code: "blocks-next", Example: Params{"block": 4, "most": 10, "open": []string{"get (D3): bbolt, boltdb"}},
		Says: `block {{.block}} of at most {{.most}}{{if .open}}; undecided: {{list .open}}{{end}}`},
	Entry{Code: "blocks-over", Example: Params{"seconds": 180.0, "expected": 260.0},
		Says: `a block takes longer than estimated: the run takes about {{seconds .expected}}, more than {{seconds .seconds}}`},

	Entry{Code: "trials-repeated", Severity: Notice, Example: Params{"count": 3, "good": 2},
		Says: `The machine disturbed {{plural .count "trial" ""}}; {{if not .good}}none was{{else if eq .count .good}}all were{{else}}{{.good}} of them were{{end}} measured undisturbed when run again.`},
	Entry{Code: "repeat-block", Example: Params{"count": 3, "block": 2},
		Says: `the machine disturbed {{plural .count "trial" ""}} of block {{.block}}: run again`},
	Entry{Code: "repeat-over", Example: Params{"count": 1, "block": 2},
		Says: `{{plural .count "trial" ""}} of block {{.block}} stayed disturbed; no tries are left`},
)
