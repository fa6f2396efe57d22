package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The fast search finds a split exactly where the search over all stretches does.
func TestSplitSearch_agrees_with_all_stretches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := RunsMin + random.IntN(40)
		logs := make([]float64, n)
		for i := range logs {
			logs[i] = random.NormFloat64()
			if i > n/2 && n%2 == 0 {
				logs[i] = math.Round(logs[i]) // ties
			}
		}
		_, size := bestSplit(logs)
		search := searchOf(logs, size*(1-1e-9))
		if !search.reaches(logs) {
			t.Fatalf("%d values don't reach their own best split", n)
		}
		for range 20 {
			order := slices.Clone(logs)
			random.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			if _, other := bestSplit(order); search.reaches(order) != (other >= size*(1-1e-9)) {
				t.Fatalf("%d values: best %v, this order %v: said %v", n, size, other, search.reaches(order))
			}
		}
	}
}

// The bound holds for what is drawn.
func TestSplitSearch_chance_is_a_bound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, step := range []float64{0, 1, 2, 4} {
		logs := make([]float64, 40)
		for i := range logs {
			if logs[i] = random.Float64(); i >= 20 {
				logs[i] += step
			}
		}
		_, size := bestSplit(logs)
		search := searchOf(logs, size)
		reached := 0
		const draws = 2000
		for range draws {
			random.Shuffle(len(logs), func(i, j int) { logs[i], logs[j] = logs[j], logs[i] })
			if search.reaches(logs) {
				reached++
			}
		}
		if most := search.chanceMax(); float64(reached)/draws > most {
			t.Errorf("a step of %v: %d of %d reached, at most %v expected", step, reached, draws, most)
		}
	}
}

// Of more runs than are looked at one by one, steps in all parts are found where they are.
func TestChanges_of_many_runs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const n = 5000
	values, steps := make([]float64, n), []int{700, 3001, 4950}
	for i := range values {
		level := 100.0
		for _, at := range steps {
			if i >= at {
				level *= 0.8
			}
		}
		values[i] = level * math.Exp(0.02*random.NormFloat64())
	}
	changes := Changes(values, DifferenceMin)
	if len(changes) != len(steps) {
		t.Fatalf("%+v", changes)
	}
	for i, c := range changes {
		if c.At != steps[i] || math.Abs(c.Ratio-0.8) > 0.02 {
			t.Errorf("change %d: %+v, want %d", i, c, steps[i])
		}
	}
	for i := range values {
		values[i] = math.Exp(0.02 * random.NormFloat64())
	}
	if changes := Changes(values, DifferenceMin); len(changes) != 0 {
		t.Errorf("noise: %+v", changes)
	}
}
