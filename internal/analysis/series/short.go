package series

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"assay/internal/analysis/stat"
)

const (
	shortSamplesMin = 8
	shortSamplesMax = 20
	// shortStepSide is how many samples each side of a step has at least.
	shortStepSide     = 3
	shortSignificance = 0.01
	// unevenMin is how many times one part of a short series is the other, to be told as such.
	unevenMin = 2
)

// findShort looks for one step or one slope in 8 to 20 samples: exact tests, which need no estimate
// of the noise, and bounds that series with an autocorrelation of 0.6 exceed in at most 1 %. Of
// points that may be independent, what the tests alone show is reported with that assumption. A run that
// the series ends in is a drop only if it is no part of such a change.
func (f *finder) findShort() {
	drops := shortDrops(f.view)
	closed := slices.DeleteFunc(slices.Clone(drops), func(d Drop) bool { return d.Open })
	if len(closed) < len(drops) && f.shortChange(closed) || f.shortChange(drops) {
		return
	}
	if len(drops) > 0 {
		f.events = append(f.events, f.dropEvent(drops))
	}
	v, _ := f.without(drops)
	n := v.samples()
	if n < shortSamplesMin {
		f.why = &Doubt{Code: TooFew, Samples: n, Needed: steadySamplesMin}
		f.levels = append(f.levels, Level{f.begins(0), f.ends(f.samples() - 1), f.mean(0, f.samples())})
		return
	}
	trend := lineOf(positions(n), v.logs, differenceDeviation(v.logs))
	f.rho = trend.rho
	f.levels = append(f.levels, Level{v.begins(0), v.ends(n - 1), v.mean(0, n)})
	switch hides := driftHides(&trend, v.logs); {
	case hides && f.uneven(v):
	case n < steadySamplesMin:
		f.why = &Doubt{Code: TooFew, Samples: n, Needed: steadySamplesMin}
	case hides:
		f.doubt(&trend, v.logs)
	}
}

// uneven says of a series in which no exact test shows a change that its first samples lie far from
// all others: of so few on one side, chance makes one order in C(n, k) the same.
func (f *finder) uneven(v view) bool {
	n, s := v.samples(), sumsOf(v.logs)
	place, least := 0, math.Inf(1)
	for k := 1; k < n; k++ {
		if left := s.cost(0, k) + s.cost(k, n); left < least {
			place, least = k, left
		}
	}
	first, rest := v.logs[:place], v.logs[place:]
	apart := max(slices.Min(first)-slices.Max(rest), slices.Min(rest)-slices.Max(first))
	if f.why != nil || apart < 0 || math.Abs(stat.Mean(first)-stat.Mean(rest)) < math.Log(unevenMin) {
		return false
	}
	f.why = &Doubt{Code: TooUneven, Samples: n, Before: place, First: v.mean(0, place), Rest: v.mean(place, n)}
	return true
}

// shortChange adds a step or a slope between some drops, and these, if there is one.
func (f *finder) shortChange(drops []Drop) bool {
	v, _ := f.without(drops)
	n := v.samples()
	if n < shortSamplesMin {
		return false
	}
	sigma := differenceDeviation(v.logs)
	curve := v.curve(&levels{bounded: v.logs, sigma: sigma}, lineOf(positions(n), v.logs, sigma))
	place, cost, gain := bestStep(v.logs)
	before, after := v.mean(0, place), v.mean(place, n)
	isStep, by := cost < curve.cost, curve.drift
	if isStep {
		by = math.Log(after / before)
	}
	if !isChange(by) {
		return false // before the exact tests, which go through thousands of choices
	}
	best := least(shortSlope(v.logs), shortStep(v.logs, place, gain))
	if !best.firm && !(f.s.Points && best.p < shortSignificance/2) || !isStep && !f.slope(v, 0, n, &curve) {
		return false
	}
	f.rho = curve.rho
	if isStep {
		l := levels{bounded: v.logs, sigma: sigma, ends: []int{place, n}}
		c := changeList{v: v, l: &l}
		where := fit{from: place, to: place, low: place, high: place}
		f.levels = append(f.levels, Level{v.begins(0), v.begins(place), before},
			Level{v.begins(place), v.ends(n - 1), after})
		f.step(v, where, before, after, c.left(0, where, n))
	}
	if e := &f.events[len(f.events)-1]; !best.firm {
		e.P, e.Cliff = &best.p, false
	}
	if len(drops) > 0 {
		f.events = append(f.events, f.dropEvent(drops))
	}
	return true
}

// exact is the answer of an exact test.
type exact struct {
	p    float64 // if the samples are independent
	firm bool    // it holds for samples that resemble their neighbours, too
}

func least(a, b exact) exact { return exact{min(a.p, b.p), a.firm || b.firm} }

// shortSlope is the test of Mann (Econometrica 13, 1945) and Kendall with its exact distribution.
func shortSlope(logs []float64) exact {
	n, score := len(logs), kendallScore(logs)
	p := 2 * kendallTail(n, score)
	return exact{p, p < shortSignificance && score >= shortSlopeMin[n-shortSamplesMin]}
}

// kendallScore is by how many more pairs rise than fall, or the other way round. A tie counts as
// neither, which makes the test cautious.
func kendallScore(logs []float64) int {
	score := 0
	for i, a := range logs {
		for _, b := range logs[i+1:] {
			score += cmp.Compare(b, a)
		}
	}
	return max(score, -score)
}

// kendallTail is the exact chance of a score this high or higher when n values come in random
// order.
func kendallTail(n, score int) float64 {
	ways := []float64{1} // by inversions
	for size := 2; size <= n; size++ {
		next := make([]float64, len(ways)+size-1)
		for inversions, w := range ways {
			for k := range size {
				next[inversions+k] += w / float64(size)
			}
		}
		ways = next
	}
	var tail float64
	for inversions, w := range ways {
		if n*(n-1)/2-2*inversions >= score {
			tail += w
		}
	}
	return tail
}

// shortStep is the test of the best step: of all orders of the values, the share that can be cut as
// well, in the same direction.
func shortStep(logs []float64, place int, gain float64) exact {
	p := permutationTail(logs, place)
	return exact{p, p < shortSignificance && gain >= shortStepMin[len(logs)-shortSamplesMin]}
}

// bestStep returns the place that cuts logs best into two levels, the squared distance left, and
// (n − 2) times what the cut takes away over what it leaves.
func bestStep(logs []float64) (place int, cost, gain float64) {
	n, s := len(logs), sumsOf(logs)
	cost = math.Inf(1)
	for k := shortStepSide; k <= n-shortStepSide; k++ {
		if left := s.cost(0, k) + s.cost(k, n); left < cost {
			place, cost = k, left
		}
	}
	return place, cost, (s.cost(0, n) - cost) / max(cost, noiseFloor*noiseFloor) * float64(n-2)
}

// permutationTail bounds the chance that values in random order can be cut as well as at this
// place, in the same direction: the exact shares of all choices of k values, summed over each k. The
// choices are counted as pairs of choices of two halves: 2^(n/2) sums and not 2^n.
func permutationTail(logs []float64, place int) float64 {
	n, mean := len(logs), stat.Mean(logs)
	var before float64
	for _, y := range logs[:place] {
		before += y - mean
	}
	const slack = 1 - 1e-9
	least := slack * before * before / float64(place*(n-place))
	away := make([]float64, n)
	for i, y := range logs {
		if away[i] = y - mean; before < 0 {
			away[i] = mean - y
		}
	}
	if before == 0 { // no direction
		return 0
	}
	first, second := choicesOf(away[:n/2]), choicesOf(away[n/2:])
	var tail float64
	for k := shortStepSide; k <= n-shortStepSide; k++ {
		sum := math.Sqrt(least * float64(k*(n-k)))
		var extreme int
		for some := max(k-len(second)+1, 0); some < len(first) && some <= k; some++ {
			extreme += pairsReaching(first[some], second[k-some], sum)
		}
		tail += float64(extreme) / float64(combin.Binomial(n, k))
	}
	return tail
}

// choicesOf are the sums of all choices of values, by how many they are, each list increasing.
func choicesOf(values []float64) [][]float64 {
	choices := make([][]float64, len(values)+1)
	choices[0] = []float64{0}
	for i, v := range values {
		for k := i; k >= 0; k-- {
			for _, sum := range choices[k] {
				choices[k+1] = append(choices[k+1], sum+v)
			}
		}
	}
	for _, sums := range choices {
		slices.Sort(sums)
	}
	return choices
}

// pairsReaching counts the pairs of one of each list whose sum is at least so much.
func pairsReaching(a, b []float64, least float64) (count int) {
	from := len(b) // the first of b that is enough for the present one of a
	for _, x := range a {
		for from > 0 && x+b[from-1] >= least {
			from--
		}
		count += len(b) - from
	}
	return count
}

func sortDrops(drops []Drop) {
	slices.SortFunc(drops, func(a, b Drop) int {
		switch {
		case a.From < b.From:
			return -1
		case a.From > b.From:
			return 1
		}
		return 0
	})
}

// shortSlopeMin and shortStepMin are, for 8 to 20 samples, what of stationary series with an
// autocorrelation of 0.6 at most 0.5 % reach: a score of Mann and Kendall, and (n − 2) times the
// squared distance that two levels take away over what they leave. TestShortBounds draws them.
var (
	shortSlopeMin = [...]int{28, 34, 39, 47, 54, 62, 71, 79, 88, 98, 107, 117, 128}
	shortStepMin  = [...]float64{80, 76, 76, 76, 74, 77, 74, 74, 74, 73, 72, 72, 71}
)
