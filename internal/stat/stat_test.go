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

// TestPELTFindsTheBestSplit compares PELT with trying every split.
// bestSplitCost is optimal partitioning without pruning, from the definition.
// A series that jumps between one and millions fits any drift. How large a drift is of no use to anybody.
// TestTheDriftsIntervalHoldsTheDrift: 95 % of constant series must have no drift inside it, up to what few samples blur.
// TestTIntervalAgainstAnExample uses the sleep data of Student (Biometrika 6, 1908): the mean difference of ten patients
// is 1.58 h, its 95 % interval 0.70 to 2.46, p = 0.0028.
func TestTIntervalAgainstAnExample(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	a, b := make([]float64, 10), make([]float64, 10)
	for i := range first {
		a[i], b[i] = math.Exp(second[i]), math.Exp(first[i])
	}
	r := PairedRatio(a, b)
	if !near(math.Log(r.Value), 1.58, 1e-9) || !near(math.Log(r.Interval.Low), 0.7001, 1e-3) ||
		!near(math.Log(r.Interval.High), 2.4599, 1e-3) || !near(*r.P, 0.002833, 1e-5) || r.N != 10 {
		t.Errorf("ratio %+v, p %v", r, *r.P)
	}
	// Welch on the same data, from the same source's usual second example: t = 1.8608 (17.776 degrees of freedom), p = 0.07939.
	w := UnpairedRatio(a, b)
	if !near(*w.P, 0.07939, 1e-5) || !near(math.Log(w.Interval.Low), -0.2055, 1e-3) || !hasWarning(w.Warnings, WarnUnpaired) {
		t.Errorf("unpaired %+v, p %v", w, *w.P)
	}
}

func hasWarning(warnings []Warning, code string) bool {
	return slices.ContainsFunc(warnings, func(w Warning) bool { return w.Code == code })
}

func TestFewBlocks(t *testing.T) {
	one := PairedRatio([]float64{2}, []float64{1})
	if one.Value != 2 || one.Interval != nil || one.P != nil || one.Detectable != nil || !hasWarning(one.Warnings, WarnOneBlock) {
		t.Errorf("one block: %+v", one)
	}
	two := PairedRatio([]float64{2, 2.2}, []float64{1, 1})
	if two.Interval == nil || two.Interval.High/two.Interval.Low < 3 || !hasWarning(two.Warnings, WarnTwoBlocks) {
		t.Errorf("two blocks: %+v", two)
	}
	none := PairedRatio(nil, nil)
	if none.N != 0 || none.Interval != nil || !hasWarning(none.Warnings, WarnNoRun) {
		t.Errorf("no block: %+v", none)
	}
	dead := PairedRatio([]float64{0, 2, 2, 2}, []float64{1, 1, 1, 1})
	if dead.N != 3 || dead.Value < 1.999 || *dead.P != 0 || !hasWarning(dead.Warnings, WarnZeroRate) {
		t.Errorf("a block at zero: %+v", dead)
	}
	if e := MeanRate([]float64{100, 400}); !near(e.Value, 200, 1e-9) || e.Interval == nil || e.N != 2 {
		t.Errorf("mean rate %+v", e)
	}
}

func TestPairedRatioTurnsRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Float64Range(1, 1e6), 2, 12).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Float64Range(1, 1e6), len(a), len(a)).Draw(t, "b")
		forth, back := PairedRatio(a, b), PairedRatio(b, a)
		if !near(forth.Value*back.Value, 1, 1e-9) || !near(math.Log(forth.Interval.Low), -math.Log(back.Interval.High), 1e-6) ||
			!near(*forth.P, *back.P, 1e-9) {
			t.Fatalf("a/b %+v, b/a %+v", forth, back)
		}
		if !forth.Interval.Contains(forth.Value) {
			t.Fatalf("%+v is outside its interval", forth)
		}
	})
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

func TestShown(t *testing.T) {
	narrow := func(value float64) Ratio { p := 0.001; return Ratio{Value: value, P: &p, N: 5} }
	for _, c := range []struct {
		name      string
		ratio     Ratio
		adjusted  float64
		threshold float64
		want      bool
	}{
		{"a tenth", narrow(1.1), 0.01, 0.03, true},
		{"a tenth less", narrow(1 / 1.1), 0.01, 0.03, true},
		{"two per cent", narrow(1.02), 0.001, 0.03, false},
		{"within the baseline's own difference", narrow(1.1), 0.01, 0.12, false},
		{"not after correction", narrow(1.1), 0.06, 0.03, false},
		{"one block", Ratio{Value: 2, N: 1}, 0, 0.03, false},
	} {
		if got := Shown(c.ratio, c.adjusted, c.threshold); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	aa := narrow(0.9)
	if !near(Threshold(&aa), 1/0.9-1, 1e-12) || Threshold(nil) != DifferenceMin || Threshold(&Ratio{}) != DifferenceMin {
		t.Errorf("threshold %v", Threshold(&aa))
	}
	if !math.IsNaN(CouldHaveShown(Ratio{N: 1}, 0.03, 1)) {
		t.Error("one block could have shown nothing")
	}
}

// TestWildSeriesStayFinite: what comes out goes into reports as JSON, which has neither NaN nor infinity.
func TestWildSeriesStayFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1e9))
		rates := rapid.SliceOfN(rate, 0, 80).Draw(t, "rates")
		for _, result := range []any{MeanRate(rates), PairedRatio(rates, rates[:len(rates):len(rates)]),
			UnpairedRatio(rates[:len(rates)/2], rates[len(rates)/2:])} {
			if _, err := json.Marshal(result); err != nil {
				t.Fatalf("%+v: %v", result, err)
			}
		}
	})
	wild := PairedRatio([]float64{1e150, 1}, []float64{1e-150, 1})
	if _, err := json.Marshal(wild); err != nil || wild.Interval.Low <= 0 {
		t.Errorf("%+v: %v", wild, err)
	}
}

// The numbers of pairs that can be equal, by hand: of four arms, all six; three alike; two pairs or one; none.
func TestPairsThatCanBeEqual(t *testing.T) {
	for arms, want := range map[int][]int{1: {0}, 2: {0, 1}, 3: {0, 1, 3}, 4: {0, 1, 2, 3, 6}, 5: {0, 1, 2, 3, 4, 6, 10}} {
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
