package export

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"assay/internal/analysis/compare"
	"assay/internal/presentation/column"
	"assay/internal/testkit/hostile"
)

// Without a threshold a worse figure fails, with one the threshold decides; what is inconclusive is
// neither passed nor failed. Counts are those of the tests.
func TestJUnit(t *testing.T) {
	row := func(arm, why string, outcome compare.Outcome) column.ComparisonRow {
		return column.ComparisonRow{Outcome: outcome, Cells: []string{"put D1", arm, "rate", "100 k/s", "90 k/s", "0.90×", "0.88 to 0.92", why}}
	}
	c := column.Comparison{Verdict: "Regression.", Heads: []string{"where", "store", "", "before", "after", "ratio", "95 %", ""},
		Rows: []column.ComparisonRow{row("elm", "worse", compare.Regression), row("oak", "not worse", compare.NoRegression),
			row("ash"+hostile.Text, "undecided", compare.Inconclusive)},
		Skipped: []string{"fir, put, D1: refused"}}
	for _, with := range []struct {
		criteria                 []column.Criterion
		tests, failures, skipped int
		fails                    string
	}{
		{nil, 4, 1, 2, "rate of elm in put D1"},
		{[]column.Criterion{{Criterion: compare.Criterion{Text: "rate < 0.95x", Failed: 1}}, {Criterion: compare.Criterion{Text: "p99 > 2x", Open: 1}},
			{Criterion: compare.Criterion{Text: "disk > 2x"}}}, 7, 1, 3, "rate < 0.95x"},
	} {
		c.Criteria = with.criteria
		var out bytes.Buffer
		if err := JUnit(&out, &c); err != nil {
			t.Fatal(err)
		}
		var read junitSuites
		if err := xml.Unmarshal(out.Bytes(), &read); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		failed, tests := "", 0
		for _, s := range read.Suites {
			for _, test := range s.Cases {
				if tests++; test.Failure != nil {
					failed += test.Name
				}
			}
		}
		if read.Tests != with.tests || tests != with.tests || read.Failures != with.failures ||
			read.Skipped != with.skipped || failed != with.fails {
			t.Errorf("%d tests, %d failures, %d skipped, failed %q; want %+v\n%s", read.Tests, read.Failures, read.Skipped, failed, with, out.String())
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Error("an escape went through")
		}
	}
}
