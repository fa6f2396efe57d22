package stat

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// Student's sleep data (Biometrika 6, 1908), as logs.
var (
	sleepFirst  = expOf(0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2)
	sleepSecond = expOf(1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)
)

func expOf(logs ...float64) []float64 {
	for i, v := range logs {
		logs[i] = math.Exp(v)
	}
	return logs
}

// TestCompareOfTwoArmsIsThePairedTTest: two arms alone have no other arm to learn from.
func TestCompareOfTwoArmsIsThePairedTTest(t *testing.T) {
	r := Compare([][]float64{sleepSecond, sleepFirst}, Options{}).Pair(0, 1)
	if !near(math.Log(r.Value), 1.58, 1e-9) || !near(math.Log(r.Interval.Low), 0.7001, 1e-3) ||
		!near(math.Log(r.Interval.High), 2.4599, 1e-3) || !near(*r.P, 0.002833, 1e-5) || r.N != 10 || !r.Significant {
		t.Errorf("ratio %+v, interval %+v, p %v", r, r.Interval, *r.P)
	}
}

func TestCompareUnpairedOfOneArmIsTheTTest(t *testing.T) {
	r := CompareUnpaired([][]float64{sleepFirst}, [][]float64{sleepSecond}, Options{})[0]
	// Of the same data: t = 1.8608 with 18 degrees of freedom.
	if !near(*r.P, 0.07919, 1e-4) || !near(math.Log(r.Value), 1.58, 1e-9) || r.Significant {
		t.Errorf("ratio %+v, p %v", r, *r.P)
	}
}

func TestCompareOfOneArmIsStudentsInterval(t *testing.T) {
	e := Compare([][]float64{sleepSecond}, Options{}).Arms[0] // mean 2.33, standard deviation 2.0022
	high := 2.33 + 2.2622*2.0022/math.Sqrt(10)
	if !near(math.Log(e.Value), 2.33, 1e-9) || !near(math.Log(e.Interval.High), high, 1e-3) || e.N != 10 {
		t.Errorf("%+v %+v", e, e.Interval)
	}
}

// TestLostTrialIsEstimatedAsByYates holds unbalanced fits to the missing-plot formula (Empire
// Journal of Experimental Agriculture 1, 1933).
func TestLostTrialIsEstimatedAsByYates(t *testing.T) {
	logs := [][]float64{{1, 2, 4}, {2, 2.5, 4.5}, {0, 1.5, 3}, {math.NaN(), 1, 3.5}}
	var arm, block, all float64
	for a := range logs {
		for b, v := range logs[a] {
			if math.IsNaN(v) {
				continue
			}
			all += v
			if a == 3 {
				arm += v
			}
			if b == 0 {
				block += v
			}
		}
	}
	missing := (4*arm + 3*block - all) / (3 * 2)
	values := make([][]float64, len(logs))
	for a := range logs {
		values[a] = expOf(slices.Clone(logs[a])...)
	}
	c := Compare(values, Options{})
	if got, want := math.Log(c.Arms[3].Value), (missing+arm)/3; !near(got, want, 1e-9) {
		t.Errorf("mean %v, expected %v", got, want)
	}
	if c.Arms[3].N != 2 || c.Arms[3].Interval == nil {
		t.Errorf("%+v", c.Arms[3])
	}
}

func TestCompareWithFewBlocks(t *testing.T) {
	one := Compare([][]float64{{1}, {1000}, {5}}, Options{})
	r := one.Pair(1, 0)
	if r.Value < 999.9 || r.Interval != nil || r.P != nil || r.Significant || r.Equal || r.Detectable != nil ||
		one.Arms[0].Interval != nil {
		t.Errorf("one block: %+v", r)
	}
	if len(one.Undecided()) != 3 || len(one.UndecidedBest()) != 2 || len(one.Best) != 3 ||
		!slices.Equal(one.Order, []int{1, 2, 0}) {
		t.Errorf("one block: %+v", one)
	}
	single := Compare([][]float64{{1, 1.1, 0.9}, {2, 2.1, 2}, {math.NaN(), 9, math.NaN()}}, Options{})
	if r := single.Pair(2, 0); r.Interval != nil || r.Significant || r.Value < 5 {
		t.Errorf("an arm with a single value: %+v", r)
	}
	if r := single.Pair(1, 0); r.Interval == nil {
		t.Errorf("its neighbours: %+v", r)
	}
	none := Compare([][]float64{nil, {0, math.NaN()}, {math.Inf(1), -3}}, Options{})
	if len(none.Order) != 0 || none.Letters[0] != "" || none.Pair(0, 1).Value != 0 || none.Arms[1].Value != 0 {
		t.Errorf("nothing: %+v", none)
	}
	if empty := Compare(nil, Options{}); len(empty.Arms)+len(empty.Undecided()) != 0 {
		t.Errorf("%+v", empty)
	}
	apart := Compare([][]float64{{1, 1.1, math.NaN(), math.NaN()}, {math.NaN(), math.NaN(), 3, 3.1}}, Options{})
	if r := apart.Pair(0, 1); r.Value != 0 || r.Interval != nil || apart.Arms[1].Value < 3 {
		t.Errorf("arms without a common block: %+v of %+v", r, apart.Arms)
	}
}

func TestReferencesAreComparedWithNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	arm := func(rate float64) []float64 {
		v := make([]float64, 4)
		for i := range v {
			v[i] = rate * math.Exp(0.02*r.NormFloat64())
		}
		return v
	}
	values := [][]float64{arm(100), arm(50), arm(115), arm(9000)}
	c := Compare(values, Options{References: []int{2, 3}})
	if !slices.Equal(c.Order, []int{0, 1}) || !slices.Equal(c.Letters, []string{"a", "b", "", ""}) {
		t.Errorf("order %v, letters %q", c.Order, c.Letters)
	}
	if c.Smallest != DifferenceMin {
		t.Errorf("smallest %v: what twins differ by is noise, and no threshold", c.Smallest)
	}
	if c.Pair(3, 0).P == nil {
		t.Error("the ratio to the null driver has no p")
	}
	family := Compare(values, Options{Family: [][2]int{{1, 0}}})
	if !family.Pair(0, 1).Significant || family.Pair(3, 1).P != nil || family.Pair(3, 1).Interval == nil {
		t.Errorf("outside the family: %+v", family.Pair(3, 1))
	}
}

func TestSmallDifferencesAreNotSignificant(t *testing.T) {
	a, b := []float64{100, 100.1, 99.9, 100}, []float64{102, 102.1, 101.9, 102}
	r := Compare([][]float64{a, b}, Options{}).Pair(1, 0)
	if *r.P > 1e-3 || r.Significant || !r.Equal {
		t.Errorf("2 %%: %+v, p %v", r, *r.P)
	}
	if r := Compare([][]float64{a, b}, Options{Tie: 0.01}).Pair(1, 0); r.Equal {
		t.Errorf("tied within 1 %%: %+v", r)
	}
	far := []float64{120, 120.1, 119.9, 120}
	if r := Compare([][]float64{a, far}, Options{Smallest: 0.25}).Pair(1, 0); r.Significant {
		t.Errorf("20 %%, where 25 %% is the smallest: %+v", r)
	}
}

// TestValuesOnAGrid: a percentile that falls into the same bucket in each block is not known
// exactly.
func TestValuesOnAGrid(t *testing.T) {
	values := [][]float64{{1000, 1000, 1000}, {1040, 1040, 1040}}
	exact, coarse := Compare(values, Options{}).Pair(1, 0), Compare(values, Options{Resolution: 0.04}).Pair(1, 0)
	if !exact.Significant || *exact.P != 0 {
		t.Errorf("exact: %+v", exact)
	}
	if coarse.Significant || coarse.Interval.Low == coarse.Interval.High {
		t.Errorf("in buckets of 4 %%: %+v %+v", coarse, coarse.Interval)
	}
}

func TestCorrectionOverManyTables(t *testing.T) {
	table := func(seed uint64, ratio float64) *Ratio {
		r := rand.New(rand.NewPCG(seed, 0))
		var a, b []float64
		for range 5 {
			a, b = append(a, math.Exp(0.05*r.NormFloat64())), append(b, ratio*math.Exp(0.05*r.NormFloat64()))
		}
		pair := Compare([][]float64{a, b}, Options{}).Pair(1, 0)
		return &pair
	}
	lone := table(1, 1.2)
	if !lone.Significant {
		t.Fatalf("%+v, p %v", lone, *lone.P)
	}
	alone := *lone.P
	all := []*Ratio{lone, {Value: 7}} // the second has no interval
	Correct(all, DifferenceMin, Options{})
	if *lone.P != alone || all[1].P != nil || all[1].Significant {
		t.Errorf("p %v, expected %v; %+v", *lone.P, alone, all[1])
	}
	for seed := range uint64(20) {
		all = append(all, table(seed+2, 1))
	}
	Correct(all, DifferenceMin, Options{})
	if *lone.P < 15*alone {
		t.Errorf("p %v among 21, %v alone", *lone.P, alone)
	}
}

// TestCompareHoldsForAnyValues: what comes out goes into JSON, which has neither NaN nor infinity,
// and never contradicts itself.
func TestCompareHoldsForAnyValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arms, blocks := rapid.IntRange(1, 7).Draw(t, "arms"), rapid.IntRange(1, 5).Draw(t, "blocks")
		usual := rapid.Float64Range(1, 100)
		wild := rapid.OneOf(usual, usual, usual, rapid.SampledFrom([]float64{5, math.NaN(), 0, 1e300, 1e-300}))
		values := make([][]float64, arms)
		for a := range values {
			values[a] = rapid.SliceOfN(wild, blocks, blocks).Draw(t, fmt.Sprint("arm ", a))
		}
		c := Compare(values, Options{LowerIsBetter: rapid.Bool().Draw(t, "lower")})
		for i := range arms {
			for j := range arms {
				r := c.Pair(i, j)
				if _, err := json.Marshal(r); err != nil {
					t.Fatalf("%+v: %v", r, err)
				}
				x, y := math.Log(c.Arms[i].Value), math.Log(c.Arms[j].Value)
				finite := max(math.Abs(x), math.Abs(y), math.Abs(x-y)) < 400
				if i != j && r.Value > 0 && finite && !near(math.Log(r.Value), x-y, 1e-6) {
					t.Fatalf("%v is not the ratio of %v and %v", r.Value, c.Arms[i].Value, c.Arms[j].Value)
				}
				shared := strings.ContainsAny(c.Letters[i], c.Letters[j])
				if i != j && c.Letters[i] != "" && c.Letters[j] != "" && shared == r.Significant {
					t.Fatalf("arms %d (%s) and %d (%s): %+v", i, c.Letters[i], j, c.Letters[j], r)
				}
			}
		}
		for _, result := range []any{c, CompareUnpaired(values, values, Options{})} {
			if _, err := json.Marshal(result); err != nil {
				t.Fatalf("%+v: %v", result, err)
			}
		}
	})
}

// TestUnitsAndOrderDoNotMatter: units of blocks or arms, and the order of either, change nothing
// but the values.
func TestUnitsAndOrderDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		values := design{"", 5, 4, 1.2, alike(0.05), nil, lose(2)}.values(r)
		before := Compare(values, Options{})
		arms, blocks := r.Perm(5), r.Perm(4)
		moved := make([][]float64, 5)
		for a := range moved {
			moved[a] = make([]float64, 4)
			for b := range moved[a] {
				moved[a][b] = values[arms[a]][blocks[b]] * float64(1+blocks[b]) * 1e-6
			}
		}
		after := Compare(moved, Options{})
		for i := range moved {
			for j := range i {
				x, y := after.Pair(i, j), before.Pair(arms[i], arms[j])
				same := near(x.Value, y.Value, 1e-9) && (x.P == nil) == (y.P == nil)
				if !same || x.P != nil && (!near(*x.P, *y.P, 1e-9) || !near(x.Interval.Low, y.Interval.Low, 1e-9)) {
					t.Fatalf("%+v became %+v", y, x)
				}
			}
		}
	}
}

// TestLettersSayWhatIsSignificant takes any relation between arms, noisy arms in between included.
func TestLettersSayWhatIsSignificant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "arms")
		c := &Comparison{Arms: make([]Estimate, n), pairs: make([][]Ratio, n)}
		for i := range n {
			c.Order = append(c.Order, i)
			c.pairs[i] = make([]Ratio, n)
		}
		for i := range n {
			for j := range i {
				c.pairs[i][j].Significant = rapid.Bool().Draw(t, "significant")
				c.pairs[j][i].Significant = c.pairs[i][j].Significant
			}
		}
		letters := c.letters()
		if ranks := c.ranks(); ranks[0] != 1 || !slices.IsSorted(ranks) {
			t.Fatalf("ranks %v contradict the order", ranks)
		}
		if letters[0][0] != 'a' {
			t.Fatalf("the best arm has %q", letters[0])
		}
		for i := range n {
			for j := range i {
				if strings.ContainsAny(letters[i], letters[j]) == c.pairs[i][j].Significant {
					t.Fatalf("arms %d and %d: %q, significant %v", i, j, letters, c.pairs[i][j].Significant)
				}
			}
		}
	})
	if letter(25) != "z" || letter(26) != "a1" {
		t.Errorf("%s %s", letter(25), letter(26))
	}
}

func TestLookLevelIsPococks(t *testing.T) {
	for looks, z := range map[int]float64{1: 1.960, 2: 2.178, 3: 2.289, 5: 2.413, 10: 2.555} {
		if got := distuv.UnitNormal.Quantile(1 - LookLevel(1, looks)/2); !near(got, z, 0.004) {
			t.Errorf("%d looks: %.3f, Pocock %.3f", looks, got, z)
		}
	}
	if l := LookLevel(3, 10); l <= LookLevel(1, 8) || l >= Significance {
		t.Errorf("looks 3 to 10: %v", l)
	}
}

// TestPriorIsRecovered draws variances from a known prior, many of them so that the moments are
// near.
func TestPriorIsRecovered(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	chi := func(n float64) float64 { return distuv.ChiSquared{K: n}.Quantile(r.Float64()) / n }
	variances, freedoms := make([]float64, 4000), make([]float64, 4000)
	for i := range variances {
		freedoms[i] = 3
		variances[i] = 0.01 / chi(6) * chi(3)
	}
	// The mean of 1/chi(6) is 6/4.
	if p := fitPrior(variances, freedoms, 0, 1e6); !near(p.Freedom, 6, 1) || !near(p.Variance, 0.015, 0.002) {
		t.Errorf("%+v", p)
	}
	for _, x := range []float64{0.05, 0.5, 3, 1e4} {
		if got := inverseTrigamma(mathext.Zeta(2, x)); !near(got, x, 1e-4*x) {
			t.Errorf("trigamma of %v turns back to %v", x, got)
		}
	}
}

func TestChangesInASeriesOfRuns(t *testing.T) {
	runs := []float64{100, 101, 99, 102, math.NaN(), 100, 98, 80, 81, 79, 80, 82, 80}
	got := Changes(runs, DifferenceMin)
	if len(got) != 1 || got[0].At != 7 || !near(got[0].Ratio, 0.803, 0.01) || got[0].P > 0.03 {
		t.Errorf("%+v", got)
	}
	if got := Changes(runs, 0.5); len(got) != 0 {
		t.Errorf("below the smallest: %+v", got)
	}
	for _, few := range [][]float64{nil, {1, 2, 3}, {1, 1, 1, 1, 2, 2, 2}, {5, 5, 5, 5, 5, 5, 5, 5, 5, 5}} {
		if got := Changes(few, 0); len(got) != 0 {
			t.Errorf("%v: %+v", few, got)
		}
	}
	back := []float64{100, 101, 99, 100, 102, 98, 50, 51, 49, 50, 52, 51, 100, 101, 98, 99, 100, 103}
	if got := Changes(back, 0); len(got) != 2 || got[0].At != 6 || got[1].At != 12 || got[1].Ratio < 1.9 {
		t.Errorf("down and up again: %+v", got)
	}
}

func TestPoolTwins(t *testing.T) {
	pair := func(log, standardError float64) Ratio {
		return difference{log: log, standardError: standardError, freedom: 4, n: 3, known: true,
			judged: true}.ratio(Significance)
	}
	for _, c := range []struct {
		name   string
		pairs  []Ratio
		differ bool
	}{
		{"no pair", nil, false},
		{"one block", []Ratio{{Value: 2}}, false},
		{"13 % with intervals that include 1", []Ratio{pair(0.12, 0.09), pair(-0.13, 0.08), pair(0.05, 0.07), pair(-0.12, 0.1)}, false},
		{"one of six tables just outside", []Ratio{pair(0.3, 0.1), pair(0.01, 0.1), pair(0, 0.1), pair(0.05, 0.1), pair(0.03, 0.1), pair(-0.02, 0.1)}, false},
		{"each table somewhat", []Ratio{pair(0.2, 0.09), pair(0.2, 0.09), pair(0.2, 0.09), pair(0.2, 0.09)}, true},
		{"without any noise", []Ratio{pair(0.2, 0)}, true},
	} {
		got := PoolTwins(twinTables(c.pairs))
		if got.Differ() != c.differ || (got.Widen() > 1) != c.differ || math.IsInf(got.MeanSquare, 0) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestWidenedErrorsHideDifferences(t *testing.T) {
	values := [][]float64{{100, 101, 99, 100}, {110, 111, 109, 112}}
	twins := Twins{Tables: 3, MeanSquare: 400, Freedom: 3}
	plain, wide := Compare(values, Options{}).Pair(1, 0), Compare(values, Options{Twins: twins}).Pair(1, 0)
	if !plain.Significant || wide.Significant || !near(wide.found.standardError,
		math.Sqrt(twins.Widen())*plain.found.standardError, 1e-9) ||
		!near(1/wide.found.freedom, 1/plain.found.freedom+1/twins.freedom(), 1e-9) {
		t.Errorf("%+v, widened %+v", plain, wide)
	}
}

func TestBlocksThatDecide(t *testing.T) {
	r := difference{log: -0.04, standardError: 0.06, freedom: 4, n: 3, known: true, judged: true}.ratio(Significance)
	needed := r.Blocks(TieMargin, 50)
	if needed < 6 || needed > 20 {
		t.Errorf("%d blocks", needed)
	}
	if again := r.Blocks(0.5, 50); again >= needed {
		t.Errorf("a larger difference needs %d blocks, a smaller one %d", again, needed)
	}
	if most := r.Blocks(1e-4, 50); most != 50 {
		t.Errorf("%d blocks for nothing", most)
	}
	if unknown := (Ratio{Value: 2}).Blocks(TieMargin, 50); unknown != 0 {
		t.Errorf("%d blocks for one without an interval", unknown)
	}
}

// twinTables are of different trials.
func twinTables(pairs []Ratio) (tables []TwinTable) {
	for _, pair := range pairs {
		tables = append(tables, TwinTable{Pair: pair})
	}
	return tables
}
