package series

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"assay/internal/analysis/stat"
)

// allChoices is permutationTail by going through each choice.
func allChoices(logs []float64, place int) (tail float64) {
	n, mean := len(logs), stat.Mean(logs)
	var before float64
	for _, y := range logs[:place] {
		before += y - mean
	}
	gain := func(sum float64, k int) float64 { return sum * sum / float64(k*(n-k)) }
	least := (1 - 1e-9) * gain(before, place)
	for k := shortStepSide; k <= n-shortStepSide; k++ {
		extreme := 0
		for _, choice := range combin.Combinations(n, k) {
			var sum float64
			for _, i := range choice {
				sum += logs[i] - mean
			}
			if sum*before > 0 && gain(sum, k) >= least {
				extreme++
			}
		}
		tail += float64(extreme) / float64(combin.Binomial(n, k))
	}
	return tail
}

func TestPermutationTail_is_that_of_all_choices(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 60 {
		n := shortSamplesMin + random.IntN(5)
		logs := make([]float64, n)
		for i := range logs {
			if logs[i] = random.NormFloat64(); n%2 == 0 {
				logs[i] = math.Round(2 * logs[i]) // ties
			}
		}
		place, _, _ := bestStep(logs)
		if got, want := permutationTail(logs, place), allChoices(logs, place); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v at %d: %v, want %v", logs, place, got, want)
		}
	}
}
