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

// ChangesAt is Changes at another level than Significance: of one of several series, whose false
// changes are to be few together.
func ChangesAt(values []float64, smallest, level float64) []Change {
	orders := max(999, int(math.Ceil(20/level))-1) // the least P is a twentieth of the level
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
		cut, size := bestSplit(logs[from:to])
		if size == 0 {
			return
		}
		random := rand.New(rand.NewPCG(uint64(from), uint64(to)))
		shuffled := slices.Clone(logs[from:to])
		larger := 1
		for range orders {
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if _, s := bestSplit(shuffled); s >= size*(1-1e-9) {
				larger++
			}
			if float64(larger) > level*float64(orders+1) {
				return
			}
		}
		p := float64(larger) / float64(orders+1)
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
