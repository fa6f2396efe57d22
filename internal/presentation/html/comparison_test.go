package html

import (
	"bytes"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"assay/internal/analysis/compare"
	"assay/internal/base/finding"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
	"assay/internal/testkit/chromium"
	"assay/internal/testkit/hostile"
)

func compared(row func(arm, metric string, old, new, low, high float64,
	outcome compare.Outcome) compare.ComparisonRow) string {
	c := &compare.Comparison{Sides: []string{"runs/before", "runs/after"}, Outcome: compare.Regression,
		Verdict: finding.New(finding.CompareRegressionParams{Worse: 1, Of: 4, Places: []string{"rate of elm in put (D1)"}}),
		Rows: []compare.ComparisonRow{
			row("oak", "rate", 200e3, 198e3, 0.96, 1.02, compare.NoRegression),
			row("elm", "rate", 100e3, 90e3, 0.88, 0.92, compare.Regression),
			row("oak", "memory", 90e6, 45e6, 0.4, 0.6, compare.Improvement),
			row("elm", "p99", 9000, 9000, 0.02, 50, compare.Inconclusive),
			{Arm: "ash " + hostile.Text, Phase: "put", Cell: "D1", Metric: "rate", Values: make([]model.Estimate, 2)},
		},
		Skipped:  []compare.Skipped{{Arm: "ash", Phase: "put", Cell: "D1", Why: finding.New(finding.CompareNoFigureParams{Side: "runs/after", Why: "not supported"})}},
		Criteria: []compare.Criterion{{Text: "rate < 0.95x", Failed: 1}}}
	told := column.Compared(c, true)
	var page bytes.Buffer
	if err := Comparison(&page, &told); err != nil {
		panic(err)
	}
	return page.String()
}

// Each ratio's interval stands where its numbers say, on an axis that holds 1, on a wide screen and on
// a phone; the page asks for nothing and runs no script.
func TestComparisonInABrowser(t *testing.T) {
	html := compared(func(arm, metric string, old, new, low, high float64,
		outcome compare.Outcome) compare.ComparisonRow {
		return compare.ComparisonRow{Arm: arm, Cell: "D1", Class: "D1", Phase: "put", Metric: metric, Outcome: outcome, Why: finding.Message{Code: "compare-figure worse", Params: finding.Params{"margin": 0.1}},
			Values: []model.Estimate{{Value: old}, {Value: new}},
			Ratio:  &model.Ratio{Estimate: model.Estimate{Value: new / old, Low: &low, High: &high}}}
	})
	if strings.Contains(html, "<script") || strings.Contains(html, "\x1b") {
		t.Error("the page has a script, or a terminal escape")
	}
	keep(t, "comparison.html", func() []byte { return []byte(html) })
	b := openPage(t, html)
	b.Settle()
	for i, wrong := range js[[]bool](b, `[...document.querySelectorAll(".compared tbody tr")].map((row) => {
		const one = row.querySelector(".one").getBoundingClientRect(), range = row.querySelector(".range")?.getBoundingClientRect();
		const interval = row.cells[6].textContent.match(/[\d.]+/g)?.map(Number);
		if (!range) return interval != null;
		const slack = 1; // pixel
		return (interval[0] > 1) !== (range.left > one.left + slack) || (interval[1] < 1) !== (range.right < one.left - slack);
	})`) {
		if wrong {
			t.Errorf("row %d: the interval is drawn on the wrong side of 1", i)
		}
	}
	b.checkWidth(1280)
	b.shoot("comparison-1280.png")
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateScale(2)), chromedp.Reload())
	b.Settle()
	b.checkWidth(390)
	b.shoot("comparison-390.png")
	b.Quiet(chromium.Alone)
	b.Accessible()
}
