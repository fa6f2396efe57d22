package text

import (
	"bytes"
	"strings"
	"testing"

	"assay/internal/analysis/compare"
	"assay/internal/base/finding"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
	"assay/internal/testkit/golden"
)

func TestComparison(t *testing.T) {
	row := func(arm, metric string, old, new, low, high float64, outcome compare.Outcome,
		why finding.Code) compare.ComparisonRow {
		return compare.ComparisonRow{Arm: arm, Cell: "D1", Class: "D1", Phase: "put", Metric: metric, Outcome: outcome, Why: finding.Message{Code: why, Params: finding.Params{"margin": 0.1}},
			Values: []model.Estimate{{Value: old}, {Value: new}},
			Ratio:  &model.Ratio{Estimate: model.Estimate{Value: new / old, Low: &low, High: &high}}}
	}
	c := &compare.Comparison{Sides: []string{"runs/before", "runs/after"}, Outcome: compare.Regression,
		Verdict: finding.New(finding.CompareRegressionParams{Worse: 1, Of: 4, Places: []string{"rate of elm in put (D1)"}}),
		Rows: []compare.ComparisonRow{
			row("oak", "rate", 200e3, 198e3, 0.96, 1.02, compare.NoRegression, "compare-figure not-worse"),
			row("elm", "rate", 100e3, 90e3, 0.88, 0.92, compare.Regression, "compare-figure worse"),
			row("oak", "p99", 8000, 7900, 0.9, 1.1, compare.NoRegression, "compare-figure not-worse"),
			row("oak", "memory", 90e6, 45e6, 0.4, 0.6, compare.Improvement, "compare-figure better"),
		},
		Skipped:  []compare.Skipped{{Arm: "ash", Phase: "put", Cell: "D1", Why: finding.New(finding.CompareNoFigureParams{Side: "runs/after", Why: "not supported"})}},
		Notes:    []finding.Message{finding.New(finding.CompareUnpaired)},
		Criteria: []compare.Criterion{{Text: "rate < 0.95x", Failed: 1}, {Text: "p99 > 1.1x", Open: 1}, {Text: "disk > 2x"}}}
	c.Rows[0].Changes = []compare.Change{{Side: 1, Before: 200e3, After: 198e3}}
	told := column.Compared(c, false)
	var out bytes.Buffer
	if err := Comparison(&out, &told, Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "comparison.txt", out.String())
	out.Reset()
	if err := ComparisonMarkdown(&out, &told); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "comparison.md", out.String())
}

// Of two stores of one run, the figures of both stand in a terminal of 80 columns; what finds no room in
// a narrower one is named.
func TestComparisonOfTwoStoresShowsBothSides(t *testing.T) {
	low, high := 2.36, 15.46
	c := &compare.Comparison{Sides: []string{"bbolt", "goleveldb"}, Outcome: compare.Inconclusive, Verdict: finding.New(finding.CompareRegressionParams{Worse: 1, Of: 1}),
		Rows: []compare.ComparisonRow{{Arm: "goleveldb", Cell: "D1", Class: "D1", Phase: "overwrite", Metric: "rate", Outcome: compare.Inconclusive,
			Why:    finding.Message{Code: "compare-figure worse", Params: finding.Params{"margin": 0.1}},
			Values: []model.Estimate{{Value: 43100}, {Value: 260e3}},
			Ratio:  &model.Ratio{Estimate: model.Estimate{Value: 6.04, Low: &low, High: &high}}}}}
	told := column.Compared(c, false)
	for width, parts := range map[int][]string{80: {"43.1 k/s", "260 k/s", "2.36 to 15.5"}, 60: {"43.1 k/s", "6.04×", "Not shown at this width: goleveldb."}} {
		var out bytes.Buffer
		if err := Comparison(&out, &told, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%d columns lack %q:\n%s", width, part, out.String())
			}
		}
	}
}
