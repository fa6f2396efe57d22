package stat

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

func TestASampleWithoutOperationsIsHalfAnOperation(t *testing.T) {
	logs := LogRates([]float64{0, 10}, 0.1)
	if !near(logs[0], math.Log(5), 1e-12) || !near(logs[1], math.Log(10), 1e-12) {
		t.Fatalf("logs %v: none in a tenth of a second is 5 a second", logs)
	}
}

func TestAutocorrelationIsRecovered(t *testing.T) {
	for _, rho := range []float64{0, 0.3, 0.6} {
		got := means("autocorrelation", int(rho*10), 400, func(r *rand.Rand) float64 {
			return Autocorrelation(autoregressive(r, 60, rho, 1))
		})
		// Estimates below 0 count as 0, which lifts the mean at ρ = 0 by 0.4 of their standard deviation, 0.13.
		if !near(got, rho, 0.08) {
			t.Errorf("ρ = %v: estimated %v", rho, got)
		}
	}
	// Uncorrected, 30 samples of ρ = 0.6 would give 0.51.
	if got := means("autocorrelation", 7, 2000, func(r *rand.Rand) float64 { return Autocorrelation(autoregressive(r, 30, 0.6, 1)) }); !near(got, 0.6, 0.05) {
		t.Errorf("30 samples of ρ = 0.6: estimated %v", got)
	}
	if EffectiveSamples(100, 0.6) != 25 {
		t.Errorf("100 samples with ρ = 0.6 are worth %v, want 25", EffectiveSamples(100, 0.6))
	}
}

func TestLongRunVarianceIsThatOfTheMean(t *testing.T) {
	const n, rho = 400, 0.6
	meanSquare := means("long-run variance", 0, 2000, func(r *rand.Rand) float64 {
		m := Mean(autoregressive(r, n, rho, 1))
		return n * m * m
	})
	sigmaD := math.Sqrt(1 - rho) // for σ = 1
	if got := longRunVariance(sigmaD, rho); !near(got/meanSquare, 1, 0.12) {
		t.Errorf("long-run variance %v, simulated %v", got, meanSquare)
	}
}

func TestMSER5(t *testing.T) {
	step := func(n, at int) []float64 {
		s := make([]float64, n)
		for i := range s {
			s[i] = 100 + float64(i%2)
			if i < at {
				s[i] = 10
			}
		}
		return s
	}
	for _, c := range []struct {
		name   string
		series []float64
		cut    int
		ok     bool
		why    string
	}{
		{"a warm-up of ten", step(100, 10), 10, true, ""},
		{"nothing to cut", step(100, 0), 0, true, ""},
		{"all alike", make([]float64, 100), 0, true, ""},
		{"short: sample by sample", step(30, 3), 3, true, "too few for batches"},
		{"too short", step(9, 1), 0, false, "too few"},
		{"none", nil, 0, false, "too few"},
		{"change in the second half", step(100, 70), 0, false, "second half"},
	} {
		cut, ok, why := MSER5(c.series)
		if cut != c.cut || ok != c.ok || !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
			t.Errorf("%s: cut %d, ok %v, %q; want %d, %v, %q", c.name, cut, ok, why, c.cut, c.ok, c.why)
		}
	}
}

// TestPELTFindsTheBestSplit compares PELT with trying every split.
func TestPELTFindsTheBestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 40).Draw(t, "values")
		penalty := rapid.Float64Range(0, 8).Draw(t, "penalty")
		shortest := rapid.IntRange(1, 6).Draw(t, "shortest")
		ends := pelt(values, penalty, shortest)
		if ends[len(ends)-1] != len(values) {
			t.Fatalf("ends %v of %d values", ends, len(values))
		}
		from := 0
		for _, to := range ends {
			if to-from < shortest && len(ends) > 1 {
				t.Fatalf("a segment of %d values: %v, shortest %d", to-from, ends, shortest)
			}
			from = to
		}
		got, want := splitCost(values, ends, penalty), bestSplitCost(values, penalty, shortest)
		if !near(got, want, 1e-6) {
			t.Fatalf("ends %v cost %v, the best split %v", ends, got, want)
		}
	})
}

func splitCost(values []float64, ends []int, penalty float64) float64 {
	total := penalty * float64(len(ends)-1)
	for _, r := range levelResiduals(values, ends) {
		total += r * r
	}
	return total
}

// bestSplitCost is optimal partitioning without pruning, from the definition.
func bestSplitCost(values []float64, penalty float64, shortest int) float64 {
	n := len(values)
	if n < 2*shortest {
		return splitCost(values, []int{n}, penalty)
	}
	best := make([]float64, n+1)
	for end := 1; end <= n; end++ {
		best[end] = math.Inf(1)
		for start := 0; start <= end-shortest; start++ {
			cost := splitCost(values[start:end], []int{end - start}, penalty)
			if start > 0 {
				cost += best[start] + penalty
			}
			best[end] = min(best[end], cost)
		}
	}
	return best[n]
}

func TestChangePointsOfACollapse(t *testing.T) {
	r := source("collapse", 0, 0)
	rates := ratesOf(autoregressive(r, 90, 0.3, 0.05), fallAt(30, 0.8))
	rates[50], rates[51] = 0, 0
	levels := ChangePoints(rates, 1)
	if len(levels.Segments) != 2 || !near(float64(levels.Segments[0].To), 30, 1) {
		t.Fatalf("segments %+v, want two that meet at 30", levels.Segments)
	}
	course := Describe(everySecond(rates))
	if len(course.Cliffs) != 1 || !near(course.Cliffs[0].Before/simulatedRate, 1, 0.05) || !near(course.Cliffs[0].After/simulatedRate, 0.2, 0.03) {
		t.Errorf("cliffs %+v", course.Cliffs)
	}
	if len(course.Stalls) != 1 || course.Stalls[0].From != 50 || course.Stalls[0].To != 52 || !course.Stalls[0].Recovered {
		t.Errorf("stalls %+v", course.Stalls)
	}
	if ChangePoints(nil, 1).Segments != nil {
		t.Error("an empty series has segments")
	}
}

func TestACliffMustLast(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels []float64
		at     int
	}{
		{"back again", []float64{100, 30, 95}, -1},
		{"half back", []float64{100, 30, 55}, 20},
		{"small steps", []float64{100, 80, 64, 52}, -1},
		{"up first", []float64{50, 100, 20}, 40},
		{"a habit", []float64{100, 20, 100, 20}, -1},
		{"24 % only", []float64{100, 76}, -1},
		{"one level", []float64{100}, -1},
	} {
		var rates []float64
		for _, level := range c.levels {
			for i := range 20 {
				rates = append(rates, level*(1+0.02*math.Sin(float64(7*i))))
			}
		}
		cliffs := Describe(everySecond(rates)).Cliffs
		if (len(cliffs) > 0) != (c.at >= 0) || len(cliffs) > 0 && cliffs[0].At != c.at {
			t.Errorf("%s: %+v; want at %d", c.name, cliffs, c.at)
		}
	}
}

func TestStalls(t *testing.T) {
	got := Stalls([]float64{100, 100, 5, 100, 100, 9, 0}, 100)
	want := []Stall{{2, 3, 5, 100, true}, {5, 7, 0, 100, false}}
	if !slices.Equal(got, want) {
		t.Errorf("stalls %+v, want %+v", got, want)
	}
	if got := Stalls([]float64{0, 0, 0, 5}, 0); got != nil {
		t.Errorf("a series that never went has stalls: %+v", got)
	}
}

func TestDecideSaysWhy(t *testing.T) {
	r := source("decide", 0, 0)
	noise := autoregressive(r, 120, 0.3, 0.02)
	for _, c := range []struct {
		name  string
		rates []float64
		want  SteadyKind
		why   string
	}{
		{"steady", ratesOf(noise, constant), Steady, "no lasting change"},
		{"stepped", ratesOf(noise, fallAt(80, 0.4)), Stepped, "levels"},
		{"drifting", ratesOf(noise, func(i int) float64 { return math.Pow(0.99, float64(i)) }), Drifting, "drift"},
		{"too short", ratesOf(noise[:6], constant), TooShort, "too few"},
		{"restless", ratesOf(autoregressive(r, 24, 0, 1), constant), TooShort, "too restless"},
		{"none", nil, TooShort, "no sample"},
	} {
		got := Decide(c.rates, 1)
		if got.Kind != c.want || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: %s, %q", c.name, got.Kind, got.Why)
		}
	}
	s := Decide(ratesOf(noise, constant), 1)
	if !near(s.Rate/simulatedRate, 1, 0.02) || s.Worst >= s.Rate || s.EffectiveSamples >= float64(s.Samples) {
		t.Errorf("%+v", s)
	}
}

// A series that jumps between one and millions fits any drift. How large a drift is of no use to anybody.
func TestNoDriftIsWrittenOutBeyondAThousandPerCent(t *testing.T) {
	rates := make([]float64, 20)
	for i := range rates {
		rates[i] = math.Pow(10, float64([]int{6, 0, 1, 6, 5, 0, 2}[i%7]))
	}
	if s := Decide(rates, 1); s.Kind != TooShort || s.Interval.High < 2*changeMax || !strings.Contains(s.Why, " and more than +1,000 % fits the") {
		t.Errorf("%s, to %g: %q", s.Kind, s.Interval.High, s.Why)
	}
	for drift, want := range map[float64]string{-1: "-100 %", -0.123: "-12 %", 0.5: "+50 %", 9.99: "+999 %", 10.1: "more than +1,000 %", 1e18: "more than +1,000 %"} {
		if got := change(drift); got != want {
			t.Errorf("a drift of %g is %q, want %q", drift, got, want)
		}
	}
}

// TestTheDriftsIntervalHoldsTheDrift: 95 % of constant series must have no drift inside it, up to what few samples blur.
func TestTheDriftsIntervalHoldsTheDrift(t *testing.T) {
	for row, rho := range []float64{0, 0.3, 0.6} {
		holds := share("drift", row, 500, func(r *rand.Rand) bool {
			line := fitTrend(LogRates(ratesOf(autoregressive(r, 60, rho, simulatedSigma), constant), 1))
			return math.Abs(line.drift) <= line.half
		})
		within(t, "drift intervals that hold 0", holds, 0.93, 1, 500)
	}
}

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
		for _, result := range []any{Decide(rates, 1), MeanRate(rates), PairedRatio(rates, rates[:len(rates):len(rates)]),
			UnpairedRatio(rates[:len(rates)/2], rates[len(rates)/2:]), Describe(everySecond(rates))} {
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
