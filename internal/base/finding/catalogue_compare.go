package finding

const moreBlocks = `{{if and .too_many (eq .runs 2)}}more blocks will not decide it; one run decides it that has both versions as stores{{else if .too_many}}more blocks will not decide it: variation between blocks is too large{{else if .blocks}}run {{if eq .runs 2}}both{{else}}it{{end}} with {{plural .blocks "block" ""}}{{end}}`

// What `assay compare` says. Package compare makes it.
var _ = register(
	Entry{Example: CompareRegressionParams{Worse: 2, Of: 24, Places: []string{"rate of bbolt in put (D1)"}},
		Says: `Regression: {{places .places}} ({{.worse}} of {{plural .of "figure" ""}}).`},
	Entry{Example: CompareImprovementParams{Better: 2, Of: 24, Places: []string{"rate of bbolt in put (D1)"}},
		Says: `Improvement: {{places .places}} ({{.better}} of {{plural .of "figure" ""}}). No regression.`},
	Entry{Example: CompareNoneParams{Margin: 0.1},
		Says: `No regression: no rate is slower by {{percent .margin}} or more.`},
	Entry{Example: CompareNothing, Says: `Inconclusive: nothing could be compared.`},
	Entry{Example: CompareArmsParams{Code: "compare-result slower", Old: "bbolt", New: "pebble",
		Places: []string{"rate in put (D1) 0.44×"}, Others: []string{"p99 in put (D1) 0.8×"}},
		Says: `{{clean .new}} is slower{{if .larger}} or larger{{end}} than {{clean .old}}: {{places .places}}.{{if .others}} Better: {{list .others}}.{{end}}`},
	Entry{Example: CompareArmsParams{Code: "compare-result faster", Old: "bbolt", New: "pebble",
		Places: []string{"rate in put (D1) 1.44×"}},
		Says: `{{clean .new}} is faster{{if .larger}} or smaller{{end}} than {{clean .old}}: {{places .places}}.`},
	Entry{Example: CompareArmsParams{Code: "compare-result not-slower", Old: "bbolt", New: "pebble", Margin: 0.1},
		Says: `{{clean .new}} is not slower than {{clean .old}}: no rate by {{percent .margin}} or more.`},
	Entry{Example: CompareInconclusiveParams{Open: 2, Of: 4, Deciding: Deciding{Blocks: 11, Runs: 2}},
		Says:   `Inconclusive: {{.open}} of {{plural .of "rate" ""}} undecided{{if .skipped}}, {{.skipped}} not compared{{end}}.`,
		Remedy: moreBlocks},
	Entry{Example: CompareOtherMachineParams{What: []string{"processor", "memory"}},
		Says:   `Inconclusive: the runs are of two machines ({{list .what}}), and every ratio is of the machines, too.`,
		Remedy: "run both in one experiment, as two stores; --across-machines compares the runs as they are"},
	Entry{Example: CompareCriteriaFailedParams{Failed: 2, Criteria: []string{"rate < 0.95x"}},
		Says: `Regression: {{list .criteria}} in {{plural .failed "figure" ""}}.`},
	Entry{Example: CompareCriteriaOpenParams{Open: 2, Deciding: Deciding{Blocks: 11, Runs: 2}},
		Says:   `Inconclusive: {{plural .open "figure" ""}} may be beyond a threshold{{if .skipped}}, {{.skipped}} not compared{{end}}.`,
		Remedy: moreBlocks},
	Entry{Example: CompareCriteriaMetParams{Criteria: 2},
		Says: `No regression: no figure is beyond the {{plural .criteria "threshold" ""}}.`},

	Entry{Example: CompareWorse, Says: `worse`},
	Entry{Example: CompareBetter, Says: `better`},
	Entry{Example: CompareNotWorse, Says: `not worse`},
	Entry{Example: CompareOneBlock, Says: `one block`},
	Entry{Example: CompareUndecided, Says: `undecided`},
	Entry{Example: CompareBeyond, Says: `beyond the limit`},

	Entry{Example: ComparePlaceParams{Metric: "rate", Arm: "bbolt", Phase: "put", Class: "D1"},
		Also: []Parameters{ComparePlaceParams{Metric: "rate", Phase: "put", Class: "D1", Ratio: 0.44}},
		Says: `{{.metric}}{{if has .arm}} of {{.arm}}{{end}} in {{.phase}} ({{.class}}){{if has .ratio}} {{factor .ratio}}{{end}}`},

	Entry{Example: CompareOnlyOld, Says: `only in the old run`},
	Entry{Example: CompareOnlyNew, Says: `only in the new run`},
	Entry{Example: CompareNotInParams{Side: "runs/3"}, Says: `not in {{clean .side}}`},
	Entry{Example: CompareNoArm, Says: `no such store`},
	Entry{Example: CompareNoCommonBlock, Says: `no block in which both ran`},
	Entry{Example: CompareNoFigureParams{Side: "after", Why: "no trial ended"},
		Says: `{{clean .side}}: {{if .why}}{{clean .why}}{{else}}no figure{{end}}`},
	Entry{Example: CompareOtherWorkParams{Differences: []string{"order.theta (old: 0.99, new: 0.5)"}},
		Says: `other work: {{list .differences}}`},

	Entry{Example: CompareExperimentsDiffer, Says: `The runs are of different experiments; only equal cells, phases and stores are compared.`},
	Entry{Example: CompareMachinesDifferParams{What: []string{"kernel", "device"}},
		Says: `The machines differ: {{list .what}}.`},
	Entry{Example: CompareAssayDiffersParams{Old: "v0.1.0", New: "v0.2.0"},
		Says: `Assay differs: {{clean .old}} and {{clean .new}}.`},
	Entry{Example: CompareArmDiffersParams{Arm: "bbolt", Driver: false},
		Says: `{{.arm}} has {{if .driver}}another driver{{else}}other options{{end}} in the new run.`},
	Entry{Example: CompareUnpaired, Says: `The runs did not share blocks. For what the machine changed between them, an error of 2.5 % is added, or more where the null driver or the A/A arm moved.`,
		Remedy: `run both versions as stores of one experiment`},
	Entry{Example: CompareEarlierParams{Pairs: 6, Spread: 0.012},
		Says: `{{plural .pairs "pair" ""}} of earlier runs of this machine, between which nothing was changed, moved by {{percent .spread}} beyond their blocks: that counts beside the 2.5 %.`},
)

// CompareEarlierParams are of pairs of runs that a history has, and the root of the mean square of what they
// moved by.
type CompareEarlierParams struct {
	Pairs  int
	Spread float64
}

func (CompareEarlierParams) code() Code { return "compare-caution earlier" }

type CompareRegressionParams struct {
	Worse, Of int
	Places    []string
}

func (CompareRegressionParams) code() Code { return "compare-result regression" }

type CompareImprovementParams struct {
	Better, Of int
	Places     []string
}

func (CompareImprovementParams) code() Code { return "compare-result improvement" }

type CompareNoneParams struct{ Margin float64 }

func (CompareNoneParams) code() Code { return "compare-result no-regression" }

type CompareInconclusiveParams struct {
	Open, Of int
	Deciding
}

func (CompareInconclusiveParams) code() Code { return "compare-result inconclusive" }

// CompareOtherMachineParams say in what two machines differ.
type CompareOtherMachineParams struct{ What []string }

func (CompareOtherMachineParams) code() Code { return "compare-result other-machine" }

type CompareCriteriaFailedParams struct {
	Failed   int
	Criteria []string
}

func (CompareCriteriaFailedParams) code() Code { return "compare-result criteria-failed" }

type CompareCriteriaOpenParams struct {
	Open int
	Deciding
}

// Deciding is what would decide a comparison: so many blocks, of one run or both, unless the most
// that are looked at are TooMany.
type Deciding struct {
	Skipped, Blocks, Runs int
	TooMany               bool
}

// CompareArmsParams is how the second of two arms of a run stands to the first.
type CompareArmsParams struct {
	Code           Code `param:"-"`
	Old, New       string
	Larger         bool // memory or disk is among the places
	Places, Others []string
	Margin         float64 `param:"omitempty"`
}

func (p CompareArmsParams) code() Code { return p.Code }

func (CompareCriteriaOpenParams) code() Code { return "compare-result criteria-open" }

type CompareCriteriaMetParams struct{ Criteria int }

func (CompareCriteriaMetParams) code() Code { return "compare-result criteria-met" }

type CompareNotInParams struct{ Side string }

func (CompareNotInParams) code() Code { return "compare-skipped not-in" }

type CompareNoFigureParams struct{ Side, Why string }

func (CompareNoFigureParams) code() Code { return "compare-skipped no-figure" }

type CompareOtherWorkParams struct{ Differences []string }

func (CompareOtherWorkParams) code() Code { return "compare-skipped other-work" }

type CompareMachinesDifferParams struct{ What []string }

func (CompareMachinesDifferParams) code() Code { return "compare-caution machines-differ" }

type CompareAssayDiffersParams struct{ Old, New string }

func (CompareAssayDiffersParams) code() Code { return "compare-caution assay-differs" }

type CompareArmDiffersParams struct {
	Arm    string
	Driver bool
}

func (CompareArmDiffersParams) code() Code { return "compare-caution store-differs" }

// Codes without parameters.
const (
	CompareNothing           Bare = "compare-result nothing"
	CompareWorse             Bare = "compare-figure worse"
	CompareBetter            Bare = "compare-figure better"
	CompareNotWorse          Bare = "compare-figure not-worse"
	CompareUndecided         Bare = "compare-figure undecided"
	CompareBeyond            Bare = "compare-figure beyond"
	CompareOneBlock          Bare = "compare-figure one-block"
	CompareOnlyOld           Bare = "compare-skipped only-old"
	CompareOnlyNew           Bare = "compare-skipped only-new"
	CompareNoArm             Bare = "compare-skipped no-store"
	CompareNoCommonBlock     Bare = "compare-skipped no-common-block"
	CompareExperimentsDiffer Bare = "compare-caution experiments-differ"
	CompareUnpaired          Bare = "compare-caution unpaired"
)

// ComparePlaceParams name a figure: of an arm in two runs, or of two arms with their ratio.
type ComparePlaceParams struct {
	Metric       string
	Arm          string `param:"omitempty"`
	Phase, Class string
	Ratio        float64 `param:"omitempty"`
}

func (ComparePlaceParams) code() Code { return "compare-figure place" }
