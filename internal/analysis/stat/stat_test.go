package stat

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v: %v, want %v", c.values, got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) || !math.IsNaN(Mean(nil)) {
		t.Error("nothing has no median and no mean")
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	want := []float64{0.03, 0.06, 0.06, 0.02}
	for i := range want {
		if !near(got[i], want[i], 1e-12) {
			t.Fatalf("Holm %v, want %v", got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		for i, adjusted := range Holm(p) {
			if adjusted < p[i] || adjusted > 1 {
				t.Fatalf("%v became %v", p[i], adjusted)
			}
		}
	})
}

// TestWildSeriesStayFinite: what comes out goes into reports as JSON, which has neither NaN nor
// infinity.
func TestWildSeriesStayFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1e9), rapid.Float64Range(1e-150, 1e150))
		a, b := rapid.SliceOfN(rate, 0, 40).Draw(t, "a"), rapid.SliceOfN(rate, 0, 40).Draw(t, "b")
		c := Compare([][]float64{a, b}, Options{})
		for _, result := range []any{c, c.Pair(0, 1), CompareUnpaired([][]float64{a}, [][]float64{b}, Options{})} {
			if _, err := json.Marshal(result); err != nil {
				t.Fatalf("%+v: %v", result, err)
			}
		}
	})
}

// The numbers of pairs that can be equal, by hand: of four arms, all six; three alike; two pairs or
// one; none.
func TestPairsThatCanBeEqual(t *testing.T) {
	for arms, want := range map[int][]int{1: {0}, 2: {0, 1}, 3: {0, 1, 3}, 4: {0, 1, 2, 3, 6}, 5: {0, 1, 2, 3, 4, 6,
		10}} {
		var got []int
		for n, can := range equalPairs(arms) {
			if can {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %d arms %v pairs can be equal, expected %v", arms, got, want)
		}
	}
}

func TestPairsAreAdjustedByHowManyCanBeEqual(t *testing.T) {
	// Of four arms: once one pair differs, three of the others can be equal at most.
	got := HolmPairs([]float64{0.2, 0.001, 0.01, 0.015, 0.5, 0.3}, 4)
	for i, want := range []float64{0.6, 0.006, 0.03, 0.045, 0.6, 0.6} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("adjusted %v", got)
			break
		}
	}
	if one := HolmPairs([]float64{0.04}, 2); one[0] != 0.04 {
		t.Errorf("a single pair is adjusted to %v", one)
	}
	if none := HolmPairs(nil, 1); len(none) != 0 {
		t.Errorf("%v", none)
	}
}
