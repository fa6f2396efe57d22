package trace

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"assay/internal/experiment/keyval"
)

const draws = 1_000_000

// fits returns the probability that draws of the claimed probabilities would lie so far from them
// (Pearson's chi-square). Neighbouring classes are joined until at least 25 draws are expected in
// each.
func fits(counts []int, claimed func(i int) float64) float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	var expected, observed []float64
	open := false // the last class has not enough yet
	for i, n := range counts {
		if !open {
			expected, observed = append(expected, 0), append(observed, 0)
		}
		last := len(expected) - 1
		expected[last] += claimed(i) * float64(total)
		observed[last] += float64(n)
		open = expected[last] < 25
	}
	if last := len(expected) - 1; open && last > 0 {
		expected[last-1] += expected[last]
		observed[last-1] += observed[last]
		expected, observed = expected[:last], observed[:last]
	}
	if len(expected) < 2 {
		return 1
	}
	return distuv.ChiSquared{K: float64(len(expected) - 1)}.Survival(stat.ChiSquare(observed, expected))
}

func count(n int, draw func(random) uint64) []int {
	counts := make([]int, n)
	r := newRandom(7, 0, purposeKeys)
	for range draws {
		counts[draw(r)]++
	}
	return counts
}

func zipfProbability(n int, theta float64) func(int) float64 {
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -theta)
	}
	return func(i int) float64 { return math.Pow(float64(i+1), -theta) / sum }
}

// accepted and refused are the two sides of one check: the draws are fixed by the seed, so neither
// can flicker.
const (
	accepted = 0.001
	refused  = 1e-6
)

func TestZipfDrawsRanksByTheirProbability(t *testing.T) {
	for _, n := range []int{1, 2, 10, 1000, 100_000} {
		for _, theta := range []float64{0.3, 0.99, 1, 1.0001, 3} {
			counts := count(n, newZipf(uint64(n), theta).rank)
			if p := fits(counts, zipfProbability(n, theta)); n > 1 && p < accepted {
				t.Errorf("zipf of %d with theta %v does not fit: p = %g", n, theta, p)
			}
			if n < 1000 {
				continue
			}
			for _, wrong := range []float64{theta - 0.06, theta + 0.06} {
				if p := fits(counts, zipfProbability(n, wrong)); p > refused {
					t.Errorf("the check can't tell zipf of %d with theta %v from %v: p = %g", n, theta, wrong, p)
				}
			}
		}
	}
}

func TestDrawnOrdersFitTheirProbabilities(t *testing.T) {
	const n = 1000
	spread := newPermutation(n, 42, 0)
	rankOf := make([]int, n)
	for rank := range n {
		rankOf[spread.at(uint64(rank))] = rank
	}
	zipf := zipfProbability(n, 0.99)
	gamma := -math.Log(0.05) / (0.8571428571 * n)
	ycsb := ycsbProbabilities(n)
	for _, c := range []struct {
		order           Order
		claimed, almost func(int) float64
	}{
		{Order{Distribution: Uniform}, func(int) float64 { return 1.0 / n },
			func(i int) float64 { return 1.0/n + 0.02/n*sign(i) }},
		{Order{Distribution: Zipfian, Theta: 0.99}, func(i int) float64 { return zipf(rankOf[i]) }, zipf},
		{Order{Distribution: ScrambledZipfian}, func(i int) float64 { return ycsb[i] },
			func(i int) float64 { return zipf(rankOf[i]) }},
		{Order{Distribution: Hotspot, HotRecords: 0.2, HotOperations: 0.8},
			func(i int) float64 { return hot(i, 200, 0.8) }, func(i int) float64 { return hot(i, 201, 0.8) }},
		{Order{Distribution: Exponential},
			func(i int) float64 { return fallsOff(i, gamma) / (1 - math.Exp(-gamma*n)) },
			func(i int) float64 { return fallsOff(i, gamma*1.04) / (1 - math.Exp(-gamma*1.04*n)) }},
	} {
		counts := count(n, c.order.draw(n, 42))
		if p := fits(counts, c.claimed); p < accepted {
			t.Errorf("%s does not fit: p = %g", c.order.Distribution, p)
		}
		if p := fits(counts, c.almost); p > refused {
			t.Errorf("the check can't tell %s from something like it: p = %g", c.order.Distribution, p)
		}
	}
}

func sign(i int) float64 { return float64(1 - 2*(i%2)) }

func hot(i, records int, share float64) float64 {
	if i < records {
		return share / float64(records)
	}
	return (1 - share) / float64(1000-records)
}

func fallsOff(i int, gamma float64) float64 {
	return math.Exp(-gamma*float64(i)) - math.Exp(-gamma*float64(i+1))
}

// ycsbProbabilities gives the share of each record under YCSB's formula, its 10^10 items summed:
// the head item by item, the tail (which the hash makes uniform) evenly.
func ycsbProbabilities(records int) []float64 {
	const head = 5_000_000
	eta := (1 - math.Pow(2.0/10_000_000_001, 0.01)) / (1 - (1+math.Pow(0.5, 0.99))/ycsbZetaN)
	// below is P(item < k): the inverse of items × (eta × u − eta + 1)^100.
	below := func(k float64) float64 { return (math.Pow(k/10_000_000_001, 0.01) - 1 + eta) / eta }
	p := make([]float64, records)
	p[keyval.YCSBHash(0)%uint64(records)] += 1 / ycsbZetaN
	p[keyval.YCSBHash(1)%uint64(records)] += math.Pow(0.5, 0.99) / ycsbZetaN
	from := (1 + math.Pow(0.5, 0.99)) / ycsbZetaN
	for k := 0; k < head; k++ {
		if to := below(float64(k + 1)); to > from {
			p[keyval.YCSBHash(uint64(k))%uint64(records)] += to - from
			from = to
		}
	}
	for i := range p {
		p[i] += (1 - from) / float64(records)
	}
	return p
}

// YCSB's scrambled zipfian is flatter at its head than the zipfian that it is named after: a
// finding that reports quote.
func TestHottestKeyOfBothZipfians(t *testing.T) {
	const records = 1_000_000
	share := func(o Order) float64 {
		hottest := 0
		for _, n := range count(records, o.draw(records, 1)) {
			hottest = max(hottest, n)
		}
		return float64(hottest) / draws
	}
	scrambled, zipfian := share(Order{Distribution: ScrambledZipfian}), share(Order{Distribution: Zipfian, Theta: 0.99})
	t.Logf("hottest of a million: scrambled_zipfian %.2f %%, zipfian %.2f %%", 100*scrambled, 100*zipfian)
	if math.Abs(scrambled-1/ycsbZetaN) > 0.001 {
		t.Errorf("scrambled_zipfian gives its hottest key %v, expected 3.78 %%", scrambled)
	}
	if want := zipfProbability(records, 0.99)(0); math.Abs(zipfian-want) > 0.001 {
		t.Errorf("zipfian gives its hottest key %v, expected %v", zipfian, want)
	}
}

func TestHotKeysAreNoNeighbours(t *testing.T) {
	const n = 100_000
	p := newPermutation(n, 3, 0)
	near := 0
	for rank := uint64(0); rank < 1000; rank++ {
		a, b := p.at(rank), p.at(rank+1)
		if max(a, b)-min(a, b) < n/100 {
			near++
		}
	}
	if near > 60 { // 20 are expected, with a deviation of 4.4
		t.Errorf("%d of 1000 pairs of popular ranks lie within 1 %% of the keys", near)
	}
}

func TestPermutationIsABijection(t *testing.T) {
	sizes := []uint64{tableMax - 1, tableMax, tableMax + 1, 1 << 17, 1<<17 + 1, 300_007}
	for n := range uint64(100) {
		sizes = append(sizes, n+1)
	}
	for _, n := range sizes {
		for seed := range uint64(3) {
			p := newPermutation(n, seed, 1)
			seen := make([]bool, n)
			for x := range n {
				if y := p.at(x); y >= n || seen[y] {
					t.Fatalf("permutation of %d, seed %d: %d comes twice or is outside", n, seed, y)
				} else {
					seen[y] = true
				}
			}
		}
	}
}

func TestLargePermutationPutsItemsEverywhere(t *testing.T) {
	const n, classes = 100_003, 50
	for _, x := range []uint64{0, 1, 2, n / 2, n - 1} {
		counts := make([]int, classes)
		for seed := range uint64(100_000) {
			p := newPermutation(n, seed, 0)
			counts[p.at(x)*classes/n]++
		}
		if p := fits(counts, func(int) float64 { return 1.0 / classes }); p < accepted {
			t.Errorf("item %d of %d is not spread evenly by the seeds: p = %g, %v", x, n, p, counts)
		}
	}
}

func TestSmallPermutationPutsEveryItemEverywhere(t *testing.T) {
	const n = 10
	for x := range uint64(n) {
		counts := make([]int, n)
		for seed := range uint64(200_000) {
			p := newPermutation(n, seed, 0)
			counts[p.at(x)]++
		}
		if p := fits(counts, func(int) float64 { return 1.0 / n }); p < accepted {
			t.Errorf("item %d of %d is not spread evenly by the seeds: p = %g, %v", x, n, p, counts)
		}
	}
}

func TestOwnExpAndLnAgreeWithMath(t *testing.T) {
	for x := -600.0; x < 600; x += 0.37 {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-15*want*4 {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for x := 1e-300; x < 1e300; x *= 1.37 {
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 1e-15*max(math.Abs(want), 1) {
			t.Fatalf("ln(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestBelowIsUniform(t *testing.T) {
	for _, n := range []uint64{1, 3, 1000} {
		counts := count(int(n), func(r random) uint64 { return r.below(n) })
		if p := fits(counts, func(int) float64 { return 1 / float64(n) }); n > 1 && p < accepted {
			t.Errorf("below(%d) is not uniform: p = %g", n, p)
		}
	}
}

// Numbers are scaled and split as package math does, bit for bit.
func TestScaleAndSplit(t *testing.T) {
	for _, x := range []float64{
		0.5, math.Nextafter(1, 0), 1, math.Sqrt2, 1.42, 3,
		1e-300, 0x1p-1022, 0x1p-1060, 1e300, math.MaxFloat64, math.Inf(1),
	} {
		m, e := split(x)
		if wantM, wantE := math.Frexp(x); m != wantM || e != wantE {
			t.Errorf("split %g: %g × 2^%d, want %g × 2^%d", x, m, e, wantM, wantE)
		}
	}
	for k := -1100; k <= 1100; k++ {
		for _, x := range []float64{0.7, 1, 1.42} {
			if got, want := scale(x, k), math.Ldexp(x, k); got != want {
				t.Errorf("%g × 2^%d: %g, want %g", x, k, got, want)
			}
		}
	}
}
