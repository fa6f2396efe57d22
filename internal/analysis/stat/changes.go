package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// RunsMin is the fewest runs in which a change can be found: of fewer, more than one random order
// in twenty looks as split as any.
const RunsMin = 10

// Change is a change of level in a series of runs.
type Change struct {
	At    int     `json:"at"`    // the first run of the new level
	Ratio float64 `json:"ratio"` // new level ÷ old level
	P     float64 `json:"p"`
}

// Changes finds where the level of a series of runs changed, one value a run in the order of time.
// Values that are not positive are skipped. The best split is tested by random orders of the
// series, then each side is split on (as E-divisive does: Matteson and James, JASA 109, 2014; here
// on means of logs). Changes up to the smallest are left out.
func Changes(values []float64, smallest float64) []Change {
	return ChangesAt(values, smallest, Significance)
}

// runsWhole is the most runs that are looked at one by one. Of more, the latest so many are, and the
// whole series as so many means of neighbours, each at half of the level.
const runsWhole = 512

// ChangesAt is Changes at another level than Significance: of one of several series, whose false
// changes are to be few together. Its time grows with the runs.
func ChangesAt(values []float64, smallest, level float64) []Change {
	var logs []float64
	var at []int
	for i, v := range values {
		if usable(v) {
			logs, at = append(logs, math.Log(v)), append(at, i)
		}
	}
	var cuts []int
	chance := map[int]float64{}
	var split func(from, to int)
	split = func(from, to int) {
		if to-from < RunsMin {
			return
		}
		cut, p := splitOf(logs[from:to], level, uint64(from), uint64(to))
		if cut == 0 {
			return
		}
		cut += from
		cuts, chance[cut] = append(cuts, cut), p
		split(from, cut)
		split(cut, to)
	}
	split(0, len(logs))
	slices.Sort(cuts)
	var changes []Change
	for i, cut := range cuts {
		from, to := 0, len(logs)
		if i > 0 {
			from = cuts[i-1]
		}
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		ratio := boundedExp(Mean(logs[cut:to]) - Mean(logs[from:cut]))
		if Distance(ratio) > smallest {
			changes = append(changes, Change{at[cut], ratio, chance[cut]})
		}
	}
	return changes
}

// splitOf finds where a series splits best, and the chance of a split as good in random order. A cut
// of 0: it does not.
func splitOf(logs []float64, level float64, seeds ...uint64) (cut int, p float64) {
	n := len(logs)
	if n <= runsWhole {
		return testedSplit(logs, level, rand.NewPCG(seeds[0], seeds[1]))
	}
	late, pLate := testedSplit(logs[n-runsWhole:], level/2, rand.NewPCG(seeds[0], seeds[1]))
	join := (n + runsWhole - 1) / runsWhole
	means := make([]float64, n/join)
	for i := range means {
		means[i] = Mean(logs[i*join : (i+1)*join])
	}
	whole, pWhole := testedSplit(means, level/2, rand.NewPCG(seeds[1], seeds[0]))
	switch {
	case whole > 0 && (late == 0 || pWhole <= pLate):
		return placeNear(logs, whole*join, join), min(2*pWhole, 1)
	case late > 0:
		return n - runsWhole + late, min(2*pLate, 1)
	}
	return 0, 1
}

// placeNear is the run near one at which the means before and after differ most for their lengths.
func placeNear(logs []float64, at, reach int) int {
	low, high := max(at-4*reach, 0), min(at+4*reach, len(logs))
	part := logs[low:high]
	var sum, before, best float64
	for _, v := range part {
		sum += v
	}
	place, n := at, float64(len(part))
	for i, v := range part[:len(part)-1] {
		before += v
		k := float64(i + 1)
		if d := math.Abs(before/k-(sum-before)/(n-k)) * math.Sqrt(k*(n-k)/n); d > best && low+i+1 >= at-reach &&
			low+i+1 <= at+reach {
			best, place = d, low+i+1
		}
	}
	return place
}

// testedSplit tests the best split by random orders. Where no order can reach it, none is drawn.
func testedSplit(logs []float64, level float64, source rand.Source) (cut int, p float64) {
	orders := max(999, int(math.Ceil(20/level))-1) // the least P is a twentieth of the level
	cut, size := bestSplit(logs)
	if size == 0 {
		return 0, 1
	}
	search := searchOf(logs, size*(1-1e-9))
	if search.chanceMax()*float64(orders) < neverDrawn {
		return cut, 1 / float64(orders+1)
	}
	random := rand.New(source)
	shuffled := slices.Clone(logs)
	larger := 1
	for range orders {
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if search.reaches(shuffled) {
			larger++
		}
		if float64(larger) > level*float64(orders+1) {
			return 0, 1
		}
	}
	return cut, float64(larger) / float64(orders+1)
}

// neverDrawn is the chance at which a draw is held to be impossible.
const neverDrawn = 1e-6

// splitSearch asks of many orders of the same values whether they can be split as well as one was.
type splitSearch struct {
	size   float64
	mean   float64
	spread float64   // largest less smallest value
	least  []float64 // by length of a stretch, the sum about the mean that makes it as large; ∞: no order reaches it
	sums   []float64
}

func searchOf(logs []float64, size float64) *splitSearch {
	n := len(logs)
	s := &splitSearch{size: size, mean: Mean(logs), least: make([]float64, n+1), sums: make([]float64, n+1)}
	away := make([]float64, n)
	for i, v := range logs {
		away[i] = v - s.mean
	}
	slices.Sort(away)
	s.spread = away[n-1] - away[0]
	// No k values have a larger sum than the k largest, nor a smaller one than the k smallest.
	var low, high float64
	for k := range n + 1 {
		s.least[k] = math.Inf(1)
		if k > 0 {
			low, high = low+away[k-1], high+away[n-k]
		}
		if k < 2 || n-k < 2 {
			continue
		}
		// The distance of two means, for their lengths, is that of one sum from 0.
		if sum := size * math.Sqrt(float64(k)*float64(n-k)/float64(n)); sum <= max(high, -low)*(1+1e-9) {
			s.least[k] = sum
		}
	}
	return s
}

// chanceMax bounds the chance that a random order reaches the size, summed over all stretches
// (Serfling, Annals of Statistics 2, 1974: sums without replacement).
func (s *splitSearch) chanceMax() float64 {
	n, sum := float64(len(s.least)-1), 0.0
	if s.spread == 0 {
		return 1
	}
	for k, least := range s.least {
		if !math.IsInf(least, 1) {
			rest := n - float64(k)
			sum += (rest + 1) * 2 * math.Exp(-2*s.size*s.size*rest/(rest+1)/(s.spread*s.spread))
		}
	}
	return sum
}

// reaches reports whether an order has a stretch as different from its rest. A stretch and its rest
// are one split, so that half of the lengths are enough.
func (s *splitSearch) reaches(order []float64) bool {
	n := len(order)
	var low, high float64
	for i, v := range order {
		s.sums[i+1] = s.sums[i] + v - s.mean
		low, high = min(low, s.sums[i+1]), max(high, s.sums[i+1])
	}
	s.sums[n] = 0
	for k := 2; k <= n-2; k++ {
		least := s.least[k]
		if high-low < least {
			continue
		}
		for i, before := range s.sums[:n+1-k] {
			if by := s.sums[i+k] - before; by >= least || by <= -least {
				return true
			}
		}
	}
	return false
}

// bestSplit is how much the values of the most different stretch differ from the rest, for their
// lengths (a stretch in the middle is a change and its end: circular binary segmentation, Olshen
// and others, Biostatistics 5, 2004), and which end of it splits the whole better. A stretch and
// its rest have two values at least.
func bestSplit(logs []float64) (at int, size float64) {
	n := len(logs)
	sums := make([]float64, n+1)
	for i, v := range logs {
		sums[i+1] = sums[i] + v
	}
	differ := func(from, to int) float64 {
		k := float64(to - from)
		rest := float64(n) - k
		if k < 2 || rest < 2 {
			return 0
		}
		inside := sums[to] - sums[from]
		return math.Abs(inside/k-(sums[n]-inside)/rest) * math.Sqrt(k*rest/float64(n))
	}
	for from := range n {
		for to := from + 2; to <= n; to++ {
			if d := differ(from, to); d > size {
				size, at = d, from
				if differ(0, to) > differ(0, from) {
					at = to
				}
			}
		}
	}
	return at, size
}
