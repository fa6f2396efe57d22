package column

import (
	"path/filepath"
	"strings"

	"assay/internal/analysis/compare"
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/format"
)

// Comparison is what assay compare says, as lines and a table: the same in every form that a person
// reads.
type Comparison struct {
	Verdict, Remedy string
	Run             string      // of one run that is held against limits; "": of two sides
	Criteria        []Criterion // of --fail-if
	Heads           []string
	Rows            []ComparisonRow
	More            string // what is left out; ""
	Changes         []string
	Skipped         []string
	Notes           []string
}

// Criterion is one threshold.
type Criterion struct{ compare.Criterion }

// String is the threshold with what it comes to.
func (c Criterion) String() string {
	return finding.Text(finding.New(finding.CriterionParams{Criterion: c.Text, Failed: c.Failed, Open: c.Open}))
}

// ComparisonRow is a figure of each side, and what lies between them.
type ComparisonRow struct {
	Cells   []string
	Outcome compare.Outcome
	Ratio   *facts.Ratio // new ÷ old; nil: not known
}

// The columns of a comparison's table that hold words, that of the store, those of the two sides, and
// that of the interval.
const (
	ComparisonStore = 1
	ComparisonWords = 3
	ComparisonOld   = 3
	ComparisonNew   = 4
	ComparisonRatio = 5
	ComparisonRange = 6
	ComparisonWhy   = 7
)

// Compared tells a comparison. Without all, figures other than rates are shown only where they
// changed.
func Compared(c *compare.Comparison, all bool) Comparison {
	c = format.Shown(c)
	last := len(c.Sides) - 1
	told := Comparison{Verdict: finding.Text(c.Verdict), Remedy: finding.Remedy(c.Verdict),
		Heads: []string{finding.HeadOf(finding.ColumnWhere).Short, finding.HeadOf(finding.ColumnStore).Short, "", side(c, 0), side(c, last),
			finding.HeadOf(finding.ColumnRatio).Short, finding.HeadOf(finding.ColumnInterval).Short, ""}}
	if len(c.Sides) == 1 { // one run, held against limits
		told.Run = told.Heads[ComparisonNew]
		told.Heads[ComparisonOld], told.Heads[ComparisonNew], told.Heads[ComparisonRatio] = "", finding.HeadOf(finding.ColumnFigure).Short, ""
	}
	for _, criterion := range c.Criteria {
		told.Criteria = append(told.Criteria, Criterion{criterion})
	}
	for _, r := range c.Rows {
		changed := r.Outcome == compare.Regression || r.Outcome == compare.Improvement || len(r.Changes) > 0
		if !all && r.Metric != "rate" && !changed && len(c.Sides) > 1 {
			continue
		}
		ratio, interval := format.Absent, format.Absent
		if r.Ratio != nil {
			ratio = format.Factor(r.Ratio.Value)
			if r.Ratio.Low != nil {
				interval = format.Interval(*r.Ratio.Low, *r.Ratio.High)
			}
		}
		old := figureOf(r.Metric, r.Values[0].Value)
		if len(c.Sides) == 1 {
			old, ratio = "", ""
			if e := r.Values[0]; e.Low != nil {
				interval = figureOf(r.Metric, *e.Low) + " to " + figureOf(r.Metric, *e.High)
			}
		}
		figure := figureOf(r.Metric, r.Values[last].Value)
		if r.AtMost {
			figure = format.AtMost(figure)
		}
		told.Rows = append(told.Rows, ComparisonRow{Outcome: r.Outcome, Ratio: r.Ratio, Cells: []string{r.Phase + " " + r.Cell, format.CleanMax(r.Arm, 40), r.Metric,
			old, figure, ratio, interval, finding.Text(r.Why)}})
		for _, change := range r.Changes {
			told.Changes = append(told.Changes,
				finding.Text(finding.New(finding.ComparedChangeParams{Metric: r.Metric, Arm: r.Arm, Phase: r.Phase,
					Before: figureOf(r.Metric, change.Before), Since: side(c, change.Side), After: figureOf(r.Metric,
						change.After)})))
		}
	}
	if more := len(c.Rows) - len(told.Rows); more > 0 {
		told.More = finding.Text(finding.New(finding.FooterParams{Code: finding.MoreFigures, More: more}))
	}
	for _, s := range c.Skipped {
		told.Skipped = append(told.Skipped, strings.Join(nonEmpty(s.Arm, s.Phase, s.Cell), ", ")+": "+finding.Text(s.Why))
	}
	for _, note := range c.Notes {
		told.Notes = append(told.Notes, finding.Text(note))
	}
	return told
}

func nonEmpty(words ...string) (kept []string) {
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

// side names one side by the last part of its path.
func side(c *compare.Comparison, at int) string {
	return format.CleanMax(filepath.Base(c.Sides[at]), 40)
}

// figureOf writes a value of a metric with its unit.
func figureOf(metric string, v float64) string {
	if v == 0 {
		return format.Absent
	}
	return format.Figure(metric, v)
}
