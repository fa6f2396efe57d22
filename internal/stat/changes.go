package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// RunsMin is the fewest runs in which a change can be found: of fewer, too many orders look as split as any.
const RunsMin = 8

// Change is a change of level in a series of runs.
type Change struct {
	At    int     `json:"at"`    // the first run of the new level
	Ratio float64 `json:"ratio"` // new level ÷ old level
	P     float64 `json:"p"`
}

// Changes finds where the level of a series of runs changed, one value a run in the order of time. Values that are not
// positive are skipped. Each split is the one whose halves differ most, tested by 999 random orders of its stretch
// (hierarchically, as E-divisive does: Matteson and James, JASA 109, 2014; here on the means of logs). Differences up to
// the smallest are left out.
func Changes(values []float64, smallest float64) []Change {
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
		random := rand.New(rand.NewPCG(uint64(from), uint64(to)))
		shuffled := slices.Clone(logs[from:to])
		larger := 1
		const orders = 999
		for range orders {
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if _, s := bestSplit(shuffled); s >= size*(1-1e-9) {
				larger++
			}
		}
		p := float64(larger) / (orders + 1)
		if size == 0 || p > Significance {
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

// bestSplit is where the two sides' means differ most, and by how much for their lengths; both sides have two values.
func bestSplit(logs []float64) (at int, size float64) {
	var total, sum float64
	for _, v := range logs {
		total += v
	}
	n := float64(len(logs))
	for i, v := range logs {
		sum += v
		k := float64(i + 1)
		if k < 2 || n-k < 2 {
			continue
		}
		if s := math.Abs(sum/k-(total-sum)/(n-k)) * math.Sqrt(k*(n-k)/n); s > size {
			at, size = i+1, s
		}
	}
	return at, size
}
