package finding

// The lines of the one screen. Package verdict makes them.
var _ = register(
	Entry{Code: "ran", Example: Params{"stores": 9, "classes": 3, "blocks": 3, "done": 96, "planned": 96, "seconds": 161.0, "conditions": []string{"10,000 records of 1,449 B", "1 thread"}},
		Says: `{{plural .stores "store" ""}}, {{plural .classes "durability class" ""}}{{if has .cells}}, {{plural .cells "cell" ""}}{{end}}, {{plural .blocks "block" ""}}: ` +
			`{{if has .missing}}{{count .done}} of {{plural .planned "trial" ""}}{{else}}{{plural .planned "trial" ""}}{{end}} in {{seconds .seconds}}.{{if .conditions}} {{capital (join .conditions)}}.{{end}}`},
	Entry{Code: "more", Example: Params{"count": 3}, Says: `{{.count}} more: --full`},
	Entry{Code: "cell-failed", Says: `failed`},
	Entry{Code: "cell-no-figure", Says: `no figure`},
	Entry{Code: "cell-held", Example: Params{"records": 9.1e6}, Says: `{{if .records}}held to {{number .records}}{{else}}held{{end}}`},
	Entry{Code: "cell-broke-at-s", Example: Params{"seconds": 41.0}, Says: `at {{seconds .seconds}}`},
	Entry{Code: "cell-inconclusive", Says: `too short`},
	Entry{Code: "cell-unsteady", Example: Params{"kind": "oscillation"}, Says: `{{if eq .kind "oscillation"}}oscillates{{else if eq .kind "rise"}}rises{{else}}unsteady{{end}}`},

	Entry{Code: "section-refused", Example: Params{"arms": []string{"badger", "bbolt"}}, Says: `Not supported: {{join .arms}}.`},
	Entry{Code: "section-no-figure", Example: Params{"arms": []string{"sqlite"}, "why": "no trial ended"}, Says: `No figure: {{join .arms}} ({{clean .why}}).`},
	Entry{Code: "section-same-leaders", Example: Params{"cells": 4}, Says: `In the {{if eq .cells 1}}other cell{{else}}{{plural .cells "other cell" ""}}{{end}} the same stores are fastest.`},
	Entry{Code: "section-leaders", Example: Params{"phase": "insert", "leaders": []string{"pebble at 10 records (2.1×)", "bbolt at 10,000 records (1.4×)"}},
		Says: `{{.phase}}: fastest is {{join .leaders}}.`},

	Entry{Code: "answer-broke", Answer: true, Example: Params{"arms": []string{"tc-table"}, "low": 3.7e6, "high": 3.7e6, "with": []string{"page faults"}, "postponed": []string{"tc-table-tuned"}, "to": 9.1e6},
		Says: `{{list .arms}} broke at {{span .low .high}} records{{if .with}}, with {{list .with}}{{end}}.` +
			`{{if has .cured}} Tuning cured it ({{join .cured}}).{{end}}{{if has .postponed}} Tuning postponed it to {{number .to}} ({{join .postponed}}).{{end}}` +
			`{{if has .same}} Tuning had no effect ({{join .same}}).{{end}}{{if has .sooner}} Tuning made it break sooner ({{join .sooner}}).{{end}}` +
			`{{if has .unknown}} Effect unknown: {{join .unknown}}.{{end}}`},
	Entry{Code: "answer-fell", Answer: true, Example: Params{"arms": []string{"lmdb"}, "low_s": 12.0, "high_s": 12.0, "with": []string{}},
		Says: `{{list .arms}} fell after {{if eq .low_s .high_s}}{{seconds .low_s}}{{else}}{{seconds .low_s}} to {{seconds .high_s}}{{end}}{{if .with}}, with {{list .with}}{{end}}.`},
	Entry{Code: "answer-held", Answer: true, Example: Params{"arms": []string{"rocksdb", "lmdb"}, "records": 9.1e6},
		Says: `{{list .arms}} did not break{{if .records}}, up to {{number .records}} records{{end}}.`},
	Entry{Code: "answer-unsteady", Answer: true, Example: Params{"arms": []string{"bbolt"}}, Says: `{{list .arms}} did not hold one rate, and did not break either.`},
	Entry{Code: "answer-unknown", Answer: true, Example: Params{"arms": []string{"bbolt"}}, Says: `{{list .arms}}: the phase was too short to say whether the rate holds.`},

	Entry{Code: "clear-fastest", Example: Params{"arm": "pebble", "phases": []string{"overwrite"}, "classes": []string{"D3"}, "factor": 3.87, "low": 3.51, "high": 4.2, "next": []string{"bbolt"}},
		Says: `{{.arm}} is fastest at {{list .phases}} ({{join .classes}}): {{if has .several}}at least {{factor .factor}} the next{{else}}{{factor .factor}} {{join .next}}{{if has .low}}, 95 % interval {{interval .low .high}}{{end}}{{end}}.`},
	Entry{Code: "clear-equal", Example: Params{"arms": []string{"bbolt", "boltdb"}, "phases": []string{"get"}, "classes": []string{"D3"}, "margin": 0.1},
		Says: `{{list .arms}} are tied at {{list .phases}} ({{join .classes}}): they differ by less than {{percent .margin}}.`},
	Entry{Code: "unclear-tied", Example: Params{"arms": []string{"bbolt", "boltdb"}, "phase": "get", "class": "D3", "detectable": 1.4, "blocks": 3},
		Says: `{{.phase}} ({{.class}}): {{list .arms}} are not significantly different. {{plural .blocks "block" ""}} can detect differences above {{factor .detectable}}.`},
	Entry{Code: "unclear-ties", Example: Params{"tables": 3, "of": 12, "places": []string{"get (D3)", "put (D1)"}, "detectable": 1.4, "blocks": 3},
		Says: `No single winner in {{.tables}} of {{plural .of "table" ""}}: {{list .places}}. {{plural .blocks "block" ""}} can detect differences above {{factor .detectable}}.`},
	Entry{Code: "unclear-noisy", Example: Params{"tables": 3, "of": 12, "places": []string{"get (D3)", "put (D1)"}, "blocks": 3},
		Says: `Too noisy to compare in {{plural .blocks "block" ""}}: {{.tables}} of {{plural .of "table" ""}} ({{list .places}}).`},
	Entry{Code: "unclear-few-blocks", Example: Params{"tables": 12, "blocks": 1}, Says: `{{plural .blocks "block is" "blocks are"}} too few to compare ({{plural .tables "table" ""}}).`},
	Entry{Code: "unclear-no-rank", Example: Params{"places": []string{"insert (D1)"}, "why": "no trial ended"}, Says: `Nothing is ranked{{if not (has .all)}} in {{list .places}}{{end}}{{if .why}}: {{.why}}{{end}}.`},
	Entry{Code: "unclear-one-rank", Example: Params{"places": []string{"insert (D1)"}, "why": "no steady state in 2 of 3 blocks (step)"}, Says: `Only one store has a rank in {{list .places}}.{{if .why}} Others: {{.why}}.{{end}}`},

	Entry{Code: "next-resume", Example: Params{"trials": 12}, Says: `{{plural .trials "trial is" "trials are"}} left to do.`},
	Entry{Code: "next-enough-blocks", Example: Params{"blocks": 5}, Says: `{{plural .blocks "block allows" "blocks allow"}} stores to be compared.`},
	Entry{Code: "next-blocks", Example: Params{"blocks": 7, "detectable": 1.2}, Says: `{{plural .blocks "block" ""}} can detect differences of about {{factor .detectable}}.`},
	Entry{Code: "next-full", Example: Params{"remedy": "read the error messages in the trial"},
		Says: `This shows what each trial reported.{{if .remedy}} {{capital .remedy}}.{{end}}`},
	Entry{Code: "next-less-noise", Example: Params{"phases": []string{"insert"}, "seconds": 10.0},
		Says: `Phases this short differ too much from block to block; longer ones have less noise: {{join .phases}}.`},
	Entry{Code: "next-noise", Says: `Blocks differ too much for more of them to help; this says what disturbs the machine.`},
	Entry{Code: "next-longer", Example: Params{"phases": []string{"insert"}, "seconds": 20.0}, Says: `Longer phases show whether rates hold: {{join .phases}}.`},
	Entry{Code: "next-doctor", Says: `The machine disturbed the figures; this says what to change.`},
)
