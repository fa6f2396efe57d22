package series

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/analysis/stat"
)

func TestPELT_finds_the_best_split(t *testing.T) {
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
		if math.Abs(got-want) > 1e-6 {
			t.Fatalf("ends %v cost %v, the best split %v", ends, got, want)
		}
	})
}

func splitCost(values []float64, ends []int, penalty float64) float64 {
	return penalty*float64(len(ends)-1) + squares(residuals(values, ends))
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

func TestNoise_is_recovered(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, rho := range []float64{0, 0.3, 0.6} {
		var rhos, means float64
		const draws, n = 600, 100
		for range draws {
			noise := autoregressive(r, n, rho, 1)
			rhos += lagOne(residuals(noise, []int{n}), 1) / draws
			means += n * stat.Mean(noise) * stat.Mean(noise) / draws
		}
		// Estimates below 0 count as 0, which lifts the mean at ρ = 0.
		if math.Abs(rhos-rho) > 0.06 {
			t.Errorf("ρ = %v: estimated %v", rho, rhos)
		}
		if lrv := longRunVariance(math.Sqrt(1-rho), rho); math.Abs(lrv/means-1) > 0.25 {
			t.Errorf("ρ = %v: long-run variance %v, simulated %v", rho, lrv, means)
		}
	}
}

func TestWarmup_is_a_slow_beginning_alone(t *testing.T) {
	for _, c := range []struct {
		name        string
		level       func(i int) float64
		least, most int
	}{
		{"steady", constant, 0, 30},
		{"half at first", func(i int) float64 { return 1 - 0.5*math.Exp(-float64(i)/5) }, 5, 30},
		{"double at first", func(i int) float64 { return 1 + math.Exp(-float64(i)/10) }, 0, 0},
		{"an outage early", func(i int) float64 {
			if i >= 10 && i < 20 {
				return 0.3
			}
			return 1
		}, 0, 10},
	} {
		cut := warmup(noisy(120, c.level).Rates)
		if cut < c.least || cut > c.most {
			t.Errorf("%s: %d samples cut, want %d to %d", c.name, cut, c.least, c.most)
		}
	}
}
