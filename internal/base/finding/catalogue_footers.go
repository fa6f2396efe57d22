package finding

// What stands beneath tables, and explains their signs: what is left out, what signs mean, what a
// criterion came to. The packages that draw tables make them.
var _ = register(
	Entry{Example: FooterParams{Code: MoreStores, More: 3}, Says: `{{plural .more "more store" "more stores"}}: --full.`},
	Entry{Example: FooterParams{Code: MoreSeries, More: 3}, Says: `{{plural .more "more series" "more series"}} without a change: --full.`},
	Entry{Example: FooterParams{Code: MoreFigures, More: 3}, Says: `{{plural .more "more figure" ""}} without a significant change: --full.`},
	Entry{Example: FooterParams{Code: MoreEffects, More: 3}, Says: `{{plural .more "more effect" ""}}.`},
	Entry{Example: OnFoldedParams{Machine: true}, Also: []Parameters{OnFoldedParams{}},
		Says: `{{if .machine}}Machine and versions{{else}}Versions{{end}}: --full.`},
	Entry{Example: NotShownParams{Columns: []string{"p99", "memory"}}, Says: `Not shown at this width: {{join .columns}}.`},
	Entry{Example: CeilingsParams{Rates: []string{"null 9.20 M/s", "null-c 11.0 M/s"}}, Says: `Harness alone: {{join .rates}}.`},
	Entry{Example: CommitsMinParams{Commits: 10}, Says: `Changes are looked for in series of {{.commits}} points or more.`},

	Entry{Example: SignSorted, Says: `sort order`},
	Entry{Example: SignLetter, Says: `same letter: no significant difference`},
	Entry{Example: SignFastest, Says: `significantly fastest`},
	Entry{Example: SignUnsteady, Says: `did not hold its rate`},
	Entry{Example: SignUnranked, Says: `not ranked`},
	Entry{Example: SignFactor, Says: `95 % interval: the figure divided and multiplied by this`},
	Entry{Example: SignAbsent, Says: `not supported, or no figure`},

	Entry{Example: CriterionParams{Criterion: "rate < 0.95x", Failed: 2},
		Also: []Parameters{CriterionParams{Criterion: "rate < 0.95x", Open: 1}, CriterionParams{Criterion: "rate < 0.95x"}},
		Says: `{{.criterion}}: {{if .failed}}failed in {{plural .failed "figure" ""}}{{else if .open}}open in {{plural .open "figure" ""}}{{else}}met{{end}}`},
	Entry{Example: ComparedChangeParams{Metric: "rate", Arm: "bbolt", Phase: "put", Before: "100 k/s", Since: "new", After: "80.0 k/s"},
		Says: `{{.metric}} of {{.arm}} in {{.phase}}: {{.before}} before {{.since}}, {{.after}} from there on`},
)

// FooterParams are how many rows are not shown.
type FooterParams struct {
	Code Code `param:"-"`
	More int
}

func (p FooterParams) code() Code { return p.Code }

// What there is more of.
const (
	MoreStores  Code = "footer stores"
	MoreSeries  Code = "footer series"
	MoreFigures Code = "footer figures"
	MoreEffects Code = "footer effects"
)

// OnFoldedParams are what of the machine and the versions found no room.
type OnFoldedParams struct{ Machine bool }

func (OnFoldedParams) code() Code { return "footer on" }

// NotShownParams are the columns that found no room.
type NotShownParams struct{ Columns []string }

func (NotShownParams) code() Code { return "footer not-shown" }

// CeilingsParams are what the harness does without a store.
type CeilingsParams struct{ Rates []string }

func (CeilingsParams) code() Code { return "footer ceilings" }

// CommitsMinParams are how many commits a series must have.
type CommitsMinParams struct{ Commits int }

func (CommitsMinParams) code() Code { return "footer commits" }

// The signs of tables, in the order of their legend.
const (
	SignSorted   Bare = "sign sorted"
	SignLetter   Bare = "sign letter"
	SignFastest  Bare = "sign fastest"
	SignUnsteady Bare = "sign unsteady"
	SignUnranked Bare = "sign unranked"
	SignFactor   Bare = "sign factor"
	SignAbsent   Bare = "sign absent"
)

// CriterionParams are a threshold of a comparison, and of how many figures it is not met.
type CriterionParams struct {
	Criterion    string
	Failed, Open int
}

func (CriterionParams) code() Code { return "criterion" }

// ComparedChangeParams are a change of a figure within a series of runs. Since is the first run that
// has it.
type ComparedChangeParams struct{ Metric, Arm, Phase, Before, Since, After string }

func (ComparedChangeParams) code() Code { return "compared-change" }
