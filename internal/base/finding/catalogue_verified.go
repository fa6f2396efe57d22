package finding

var _ = register(
	Entry{Example: VerifiedParams{Values: 460000, Right: 460000, ReadBack: 12000},
		Says: `{{if .values}}Verified {{if ge .values 1000000000}}{{number .values}} values{{else}}{{plural .values "value" ""}}{{end}}: {{if eq .values .right}}all correct{{else}}{{count .right}} correct{{end}}` +
			`{{if .read_back}}; {{count .read_back}} read back: {{count .lost}} lost` +
			`{{if .stale}}, {{count .stale}} stale{{end}}{{if .evicted}}, {{count .evicted}} evicted{{end}}` +
			`{{if .not_read}}, {{count .not_read}} not read{{end}}{{end}}.{{else}}No value was verified.{{end}}` +
			`{{if .not_checked}} In {{count .not_checked}} of {{plural .trials "trial" ""}} no write was verified: ` +
			`data loss would go undetected.{{end}}`,
		Also: []Parameters{
			VerifiedParams{Values: 460000, Right: 459990, ReadBack: 12000, Lost: 3, Stale: 2, Evicted: 300, NotRead: 4962,
				NotChecked: 2, Trials: 12},
			VerifiedParams{Values: 3246866206, Right: 3246866206, ReadBack: 770000},
			VerifiedParams{},
		}})

// VerifiedParams is what of the data was checked, over all trials of stores.
type VerifiedParams struct {
	Values, Right                           uint64 // that reads returned, and those that were correct
	ReadBack, Lost, Stale, Evicted, NotRead uint64 // records of the final check
	Trials, NotChecked                      int    // trials that acknowledged writes of which no value was looked at
}

func (VerifiedParams) code() Code { return "verified" }
