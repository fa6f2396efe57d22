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
		at, rate := make([]float64, len(rates)), make([]*float64, len(rates))
		for i := range rates {
			at[i], rate[i] = float64(i), &rates[i]
		}
		keptAt, kept := thin(at, rate, points)
		if len(kept) > max(points, 2) || len(kept) != len(keptAt) {
			t.Fatalf("%d of %d points are kept, want at most %d", len(kept), len(rates), points)
		}
		if !slices.IsSorted(keptAt) {
			t.Fatal("the times are out of order")
		}
		var values []float64
		for i, r := range kept {
			values = append(values, *r)
			if rates[int(keptAt[i])] != *r {
				t.Fatalf("the rate at %g is %g, want %g", keptAt[i], *r, rates[int(keptAt[i])])
			}
		}
		if slices.Min(values) != slices.Min(rates) || slices.Max(values) != slices.Max(rates) {
			t.Fatal("an extreme is lost")
		}
	})
}
