package finding

// Which stores lead: in a table, and in several tables of which the one screen says it together, by
// phases and classes, or by places.
const (
	VerdictFastest  Code = "verdict fastest"
	VerdictGroup    Code = "verdict group" // several lead, and are not told from each other
	VerdictEqual    Code = "verdict equal" // shown to differ by less than a margin
	VerdictWide     Code = "verdict wide"  // a lead that is significant, and whose size the blocks leave open
	VerdictTied     Code = "verdict tied"
	VerdictNoisy    Code = "verdict noisy"
	VerdictFew      Code = "verdict too-few-blocks"
	VerdictOne      Code = "verdict one-rank"
	VerdictNone     Code = "verdict no-rank"
	VerdictOpenLoad Code = "verdict open-load"
)

const canDetect = ` {{plural .blocks "block" ""}} can detect differences above {{factor .detectable}}`

var _ = register(
	Entry{Example: VerdictParams{Code: VerdictFastest, Arms: []string{"pebble"}, Rate: 412e3, Next: "bbolt",
		Factor: 3.87, Low: Known(3.51), High: Known(4.2)},
		Also: []Parameters{
			VerdictParams{Code: VerdictFastest, Arms: []string{"pebble"}, Phases: []string{"overwrite"},
				Classes: []string{"D3"}, Factor: 3.87, Low: Known(3.51), High: Known(4.2), Next: "bbolt"},
			VerdictParams{Code: VerdictFastest, Arms: []string{"pebble"}, Phases: []string{"overwrite", "put"},
				Classes: []string{"D3"}, Factor: 1.27, Most: 1.33, Low: Known(1.08)}},
		Says: `{{list .arms}} is fastest at {{if has .phases}}{{list .phases}} ({{join .classes}}){{else}}{{rate .rate}}{{end}}: ` +
			`{{if .most}}{{factor .factor}}{{if ne (factor .factor) (factor .most)}} to {{factor .most}}{{end}} the next{{if has .low}} (95 % intervals from {{factor .low}}){{end}}` +
			`{{else}}{{factor .factor}} {{.next}}{{if has .low}} (95 % interval {{interval .low .high}}){{end}}{{end}}.`},
	Entry{Example: VerdictParams{Code: VerdictGroup, Arms: []string{"pogreb", "bbolt", "boltdb"}, Phases: []string{"read"},
		Classes: []string{"D3"}, Factor: 3.68, Most: 23.8, Low: Known(2.9)},
		Says: `{{list .arms}} lead at {{list .phases}} ({{join .classes}}): ` +
			`{{factor .factor}}{{if ne (factor .factor) (factor .most)}} to {{factor .most}}{{end}} the others{{if has .low}} (95 % intervals from {{factor .low}}){{end}}.`},
	Entry{Example: BaselineParams{Arm: "whalin-3.0.2", Baseline: "whalin-3.0.0", Least: 0.87, Most: 1.1, Tables: 4},
		Also: []Parameters{BaselineParams{Arm: "after", Baseline: "before", Least: 0.8, Most: 0.8, Tables: 1, Slower: []string{"get (D3)"}},
			BaselineParams{Arm: "after", Baseline: "before", Least: 0.8, Most: 1.3, Tables: 3, Faster: []string{"put (D3)"}, Slower: []string{"get (D3)"}}},
		Says: `{{.arm}} has {{factor .least}}{{if ne (factor .least) (factor .most)}} to {{factor .most}}{{end}} the rate of {{.baseline}}` +
			`{{if ne .tables 1}} in {{plural .tables "table" ""}}{{end}}: ` +
			`{{if .faster}}significantly more in {{list .faster}}{{end}}{{if .slower}}{{if .faster}}, {{end}}significantly less in {{list .slower}}{{end}}` +
			`{{if not (or .faster .slower)}}no significant difference{{end}}.`},
	Entry{Example: VerdictParams{Code: VerdictWide, Arms: []string{"pebble"}, Next: "bbolt", Places: []string{"get (D3)"},
		Low: Known(1.11), High: Known(33.43)},
		Says: `{{places .places}}: {{list .arms}} is faster than {{.next}}, but the interval is wide: {{interval .low .high}}.`},
	Entry{Example: VerdictParams{Code: VerdictEqual, Arms: []string{"bbolt", "boltdb"}, Rate: 41e3, Margin: 0.1},
		Also: []Parameters{VerdictParams{Code: VerdictEqual, Arms: []string{"bbolt", "boltdb"},
			Phases: []string{"get"}, Classes: []string{"D3"}, Margin: 0.1}},
		Says: `{{list .arms}} are tied at {{if has .phases}}{{list .phases}} ({{join .classes}}){{else}}{{rate .rate}}{{end}}: they differ by less than {{percent .margin}}.`},
	Entry{Example: VerdictParams{Code: VerdictTied, Arms: []string{"bbolt", "boltdb"}, Rate: 41e3, Least: 34e3,
		Detectable: 1.4, Blocks: 3},
		Also: []Parameters{
			VerdictParams{Code: VerdictTied, Arms: []string{"bbolt", "boltdb"}, Rate: 41e3, Detectable: 1.4, Blocks: 3},
			VerdictParams{Code: VerdictTied, Arms: []string{"bbolt", "boltdb"}, Places: []string{"get (D3)"},
				Detectable: 1.4, Blocks: 3},
			VerdictParams{Code: VerdictTied, Tables: 4, Of: 4, Places: []string{"get (D3)", "put (D1)"}},
			VerdictParams{Code: VerdictTied, Tables: 3, Of: 12, Places: []string{"get (D3)", "put (D1)"},
				Detectable: 1.4, Blocks: 3}},
		Says: `{{if .tables}}No single winner in {{if eq .tables .of}}any of {{plural .of "table" ""}}{{else}}{{.tables}} of {{plural .of "table" ""}}: {{places .places}}{{end}}.` +
			`{{else if .places}}{{places .places}}: {{list .arms}} are not significantly different.` + canDetect + ` between them.` +
			`{{else}}{{list .arms}}: no significant difference, ` +
			`{{if .least}}{{rate .least}} to {{else}}near {{end}}{{rate .rate}}.` + canDetect + `.{{end}}`},
	Entry{Example: VerdictParams{Code: VerdictNoisy, Arms: []string{"bbolt", "boltdb"}, Blocks: 3},
		Also: []Parameters{VerdictParams{Code: VerdictNoisy, Tables: 3, Of: 12, Places: []string{"get (D3)", "put (D1)"}, Blocks: 3}},
		Says: `{{if .tables}}Too{{else}}{{list .arms}}: too{{end}} noisy to compare in {{plural .blocks "block" ""}}` +
			`{{if .tables}}: {{.tables}} of {{plural .of "table" ""}} ({{places .places}}){{end}}.`},
	Entry{Example: VerdictParams{Code: VerdictFew, Arms: []string{"bbolt", "boltdb"}, Blocks: 1},
		Also: []Parameters{VerdictParams{Code: VerdictFew, Tables: 12, Blocks: 1}},
		Says: `{{if .arms}}{{list .arms}}: {{end}}{{plural .blocks "block is" "blocks are"}} too few to compare{{if .tables}} ({{plural .tables "table" ""}}){{end}}.`},
	Entry{Example: VerdictParams{Code: VerdictOne, Arms: []string{"bbolt"}, Rate: 41e3},
		Also: []Parameters{VerdictParams{Code: VerdictOne, Places: []string{"insert (D1)"},
			Why: New(NoRankParams{Code: NoTrialEnded})}},
		Says: `{{if .places}}Only one store has a rank in {{places .places}}.{{if .why}} Others: {{say .why}}.{{end}}` +
			`{{else}}Only {{list .arms}} has a rank, at {{rate .rate}}.{{end}}`},
	Entry{Example: VerdictParams{Code: VerdictNone},
		Also: []Parameters{
			VerdictParams{Code: VerdictNone, Places: []string{"insert (D1)"}, Why: New(NoRankParams{Code: NoTrialEnded})},
			VerdictParams{Code: VerdictNone, Places: []string{"insert (D1)", "get (D1)"}, All: true, Why: New(NoRankParams{Code: NoTrialEnded})}},
		Says: `{{if .places}}Nothing is ranked{{if not .all}} in {{places .places}}{{end}}{{if .why}}: {{say .why}}{{end}}.{{else}}No store has a rank.{{end}}`},
	Entry{Example: VerdictParams{Code: VerdictOpenLoad}, Says: `The experiment set the rate: compare the latencies.`},
)

// BaselineParams are of how an arm stands to the baseline, in all tables that have both: the least and
// the largest ratio of their rates, and where it is significant.
type BaselineParams struct {
	Arm, Baseline  string
	Least, Most    float64
	Tables         int
	Faster, Slower []string `param:"omitempty"`
}

func (BaselineParams) code() Code { return "verdict baseline" }

// VerdictParams are of who is ahead. Factor is that of the first of Arms to Next; of several tables it
// goes up to Most, and Low is the lowest end of their intervals.
type VerdictParams struct {
	Code                                   Code     `param:"-"`
	Arms, Phases, Classes, Places          []string `param:"omitempty"`
	Rate, Factor, Most, Margin, Detectable float64  `param:"omitempty"`
	Least                                  float64  `param:"omitempty"` // the lowest rate of those that are tied, where Rate is the highest
	Low, High                              *float64
	Next                                   string  `param:"omitempty"`
	Why                                    Message `param:"omitempty"`
	Tables, Of, Blocks                     int     `param:"omitempty"`
	All                                    bool    `param:"omitempty"`
}

func (p VerdictParams) code() Code { return p.Code }
