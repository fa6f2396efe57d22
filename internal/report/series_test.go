package report

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Thinning out keeps the time order, the bound, and the extremes: a stall of one sample among thousands is still there.
func TestThinKeepsExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rates := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 3000).Draw(t, "rates")
		points := rapid.IntRange(2, 400).Draw(t, "points")
		kept := thin(rates, points)
		if len(kept) > max(points, 2) {
			t.Fatalf("%d of %d points are kept, want at most %d", len(kept), len(rates), points)
		}
		if !slices.IsSorted(kept) {
			t.Fatal("the points are out of order")
		}
		var values []float64
		for _, i := range kept {
			values = append(values, rates[i])
		}
		if slices.Min(values) != slices.Min(rates) || slices.Max(values) != slices.Max(rates) {
			t.Fatal("an extreme is lost")
		}
	})
}
