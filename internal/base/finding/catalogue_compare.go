package finding

// What `assay compare` says. Package verdict makes it.
var _ = register(
	Entry{Code: "compare-regression", Example: Params{"worse": 2, "of": 24, "places": []string{"rate of bbolt in put (D1)"}},
		Says: `Regression: {{list .places}} ({{.worse}} of {{plural .of "figure" ""}}).`},
	Entry{Code: "compare-improvement", Example: Params{"better": 2, "of": 24, "places": []string{"rate of bbolt in put (D1)"}},
		Says: `Improvement: {{list .places}} ({{.better}} of {{plural .of "figure" ""}}). No regression.`},
	Entry{Code: "compare-none", Example: Params{"of": 24, "margin": 0.1}, Says: `No regression: no rate is slower by {{percent .margin}} or more.`},
	Entry{Code: "compare-nothing", Says: `Inconclusive: nothing could be compared.`},
	Entry{Code: "compare-inconclusive", Example: Params{"open": 2, "of": 4, "skipped": 0},
		Says:   `Inconclusive: {{.open}} of {{plural .of "rate" ""}} undecided{{if .skipped}}, {{.skipped}} not compared{{end}}.`,
		Remedy: `run both with more blocks: --set blocks=N`},
	Entry{Code: "compare-criteria-failed", Example: Params{"failed": 2, "criteria": []string{"rate < 0.95x"}}, Says: `Regression: {{list .criteria}} in {{plural .failed "figure" ""}}.`},
	Entry{Code: "compare-criteria-open", Example: Params{"open": 2, "skipped": 0},
		Says:   `Inconclusive: {{plural .open "figure" ""}} may be beyond a threshold{{if .skipped}}, {{.skipped}} not compared{{end}}.`,
		Remedy: `run both with more blocks: --set blocks=N`},
	Entry{Code: "compare-criteria-met", Example: Params{"criteria": 2}, Says: `No regression: no figure is beyond the {{plural .criteria "threshold" ""}}.`},

	Entry{Code: "compare-worse", Example: Params{"ratio": 0.9}, Says: `worse`},
	Entry{Code: "compare-better", Example: Params{"ratio": 1.2}, Says: `better`},
	Entry{Code: "compare-not-worse", Example: Params{"margin": 0.1}, Says: `not worse`},
	Entry{Code: "compare-one-block", Says: `one block`},
	Entry{Code: "compare-noisy", Example: Params{"share": 0.3}, Says: `noise {{percent .share}}`},
	Entry{Code: "compare-wide", Example: Params{"low": 0.7, "high": 1.4}, Says: `undecided`},

	Entry{Code: "compare-only-old", Says: `only in the old run`},
	Entry{Code: "compare-only-new", Says: `only in the new run`},
	Entry{Code: "compare-not-in", Example: Params{"side": "runs/3"}, Says: `not in {{clean .side}}`},
	Entry{Code: "compare-no-arm", Says: `no such store`},
	Entry{Code: "compare-no-common-block", Says: `no block in which both ran`},
	Entry{Code: "compare-no-figure", Example: Params{"side": "after", "why": "no trial ended"}, Says: `{{clean .side}}: {{if .why}}{{clean .why}}{{else}}no figure{{end}}`},
	Entry{Code: "compare-other-work", Example: Params{"differences": []string{"order.theta (old: 0.99, new: 0.5)"}}, Says: `other work: {{list .differences}}`},

	Entry{Code: "compare-experiments-differ", Says: `The runs are of different experiments; only equal cells, phases and stores are compared.`},
	Entry{Code: "compare-machines-differ", Example: Params{"what": []string{"kernel", "device"}}, Says: `The machines differ: {{list .what}}.`},
	Entry{Code: "compare-assay-differs", Example: Params{"old": "v0.1.0", "new": "v0.2.0"}, Says: `Assay differs: {{clean .old}} and {{clean .new}}.`},
	Entry{Code: "compare-arm-differs", Example: Params{"arm": "bbolt", "driver": false}, Says: `{{.arm}} has {{if .driver}}another driver{{else}}other options{{end}} in the new run.`},
	Entry{Code: "compare-unpaired", Says: `The runs did not share blocks: changes of the machine between them count as differences.`,
		Remedy: `run both versions as stores of one experiment`},
)
