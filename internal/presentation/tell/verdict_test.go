package tell

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
)

// Stores that are not significantly different may be far apart: the verdict says how far.
func TestVerdictSaysHowFarTiedStoresAreApart(t *testing.T) {
	for least, want := range map[float64]string{
		62_500:  "bbolt and pebble: no significant difference, 62.5 k/s to 112 k/s. 3 blocks can detect differences above 2.22×.",
		111_000: "bbolt and pebble: no significant difference, near 112 k/s. 3 blocks can detect differences above 2.22×.",
	} {
		table := &facts.Table{}
		table.Lead, table.Best, table.Detectable, table.Common = facts.LeadTied, []string{"bbolt", "pebble"}, 2.22, 3
		for i, rate := range []float64{112_000, least, 10} {
			row := &facts.Row{Arm: []string{"pebble", "bbolt", "slow"}[i]}
			row.Standing, row.Rate = facts.Ranked, &facts.Estimate{Value: rate}
			table.Rows = append(table.Rows, row)
		}
		if got := finding.Text(verdictOf(table)); got != want {
			t.Errorf("%s", got)
		}
	}
}
