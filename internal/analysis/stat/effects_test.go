package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var effectsSimulated = simulated{"testdata/effects.json", "testdata/effects-short.json", 400,
	[]simulation{{"effects", simulateEffects, 1}}}

func TestEffectErrorRates(t *testing.T) { effectsSimulated.run(t, 20) }

func TestErrorRatesPageHasTheEffects(t *testing.T) { effectsSimulated.checkDocuments(t) }

// combined returns the design of all combinations of so many levels of each axis.
func combined(points ...int) (f Factorial, cells int) {
	cells = 1
	for _, n := range points {
		cells *= n
	}
	f.Levels = make([][]int, len(points))
	for cell := range cells {
		rest := cell
		for axis, n := range points {
			f.Levels[axis] = append(f.Levels[axis], rest%n)
			rest /= n
		}
	}
	return f, cells
}

// factorial is a simulated one: every level of the first axis but its first is so many times faster,
// and interaction times more where the second axis is not at its first level either.
type factorial struct {
	arms, blocks int
	points       []int
	noise        float64
	effect       float64
	interaction  float64
	missing      float64 // share of the trials
}

func (s factorial) truth(e Effect) float64 {
	switch {
	case len(e.Axes) == 2:
		return s.interaction
	case e.Axes[0] == 0 && len(s.points) == 2: // averaged over the second axis
		return s.effect * math.Pow(s.interaction, 1-1/float64(s.points[1]))
	case e.Axes[0] == 0:
		return s.effect
	}
	return math.Pow(s.interaction, 1-1/float64(s.points[0]))
}

func (s factorial) values(r *rand.Rand) (Factorial, [][][]float64) {
	f, cells := combined(s.points...)
	blocks := make([]float64, s.blocks)
	for b := range blocks {
		blocks[b] = simulatedBlocks * r.NormFloat64()
	}
	values := make([][][]float64, s.arms)
	for arm := range values {
		values[arm] = make([][]float64, cells)
		level := 2 * r.NormFloat64()
		for cell := range cells {
			for b := range blocks {
				v := level + blocks[b] + s.noise*r.NormFloat64()
				if f.Levels[0][cell] > 0 {
					if v += math.Log(s.effect); len(s.points) == 2 && f.Levels[1][cell] > 0 {
						v += math.Log(s.interaction)
					}
				}
				rate := simulatedRate * math.Exp(v)
				if r.Float64() < s.missing {
					rate = math.NaN()
				}
				values[arm][cell] = append(values[arm][cell], rate)
			}
		}
	}
	return f, values
}

// found counts what the families of effects of one table, each adjusted together, got right.
type found struct{ real, shown, families, wrong, intervals, covered float64 }

func (s factorial) found(r *rand.Rand) (out found) {
	f, values := s.values(r)
	wrong := map[int]bool{}
	families := map[int]bool{}
	for _, e := range f.Effects(values, Options{}) {
		family, truth := e.Axes[0]-2*(len(e.Axes)-1), s.truth(e)
		if e.Ratio.Interval != nil {
			out.intervals++
			if e.Ratio.Interval.Contains(truth) {
				out.covered++
			}
		}
		if truth == 1 {
			families[family] = true
			wrong[family] = wrong[family] || e.Ratio.Significant
			continue
		}
		out.real++
		if e.Ratio.Significant && (e.Ratio.Value > 1) == (truth > 1) {
			out.shown++
		}
	}
	for family := range families {
		out.families++
		if wrong[family] {
			out.wrong++
		}
	}
	return out
}

func simulateEffects(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "levels", "blocks", "noise", "effect of the first axis", "interaction", "effects shown",
		"axes with a false effect", "intervals that cover"}}
	for row, c := range []struct {
		factorial
		shown, wrong float64 // aims
	}{
		{factorial{1, 3, []int{2}, 0.10, 1, 1, 0}, 0, 0.05},
		{factorial{1, 3, []int{2}, 0.10, 2, 1, 0}, 0.95, 0},
		{factorial{6, 3, []int{2}, 0.10, 1, 1, 0}, 0, 0.05},
		{factorial{6, 3, []int{2}, 0.10, 2, 1, 0}, 0.95, 0},
		{factorial{6, 3, []int{2, 2}, 0.10, 1, 1, 0}, 0, 0.05},
		{factorial{6, 3, []int{2, 2}, 0.10, 2, 1, 0}, 0.95, 0.05},
		{factorial{6, 3, []int{2, 2}, 0.10, 1, 2, 0}, 0.90, 0.05},
		{factorial{6, 3, []int{2, 2}, 0.10, 2, 1, 0.05}, 0.90, 0.05},
		{factorial{3, 3, []int{5, 2}, 0.10, 1, 1, 0}, 0, 0.05},
		{factorial{3, 3, []int{5, 2}, 0.10, 2, 1, 0}, 0.95, 0.05},
	} {
		var sum found
		for _, f := range each("effects", row, series, c.found) {
			sum.real, sum.shown = sum.real+f.real, sum.shown+f.shown
			sum.families, sum.wrong = sum.families+f.families, sum.wrong+f.wrong
			sum.intervals, sum.covered = sum.intervals+f.intervals, sum.covered+f.covered
		}
		what := fmt.Sprintf("%+v", c.factorial)
		if sum.real > 0 {
			within(t, what+": shown", sum.shown/sum.real, c.shown, 1, series)
		}
		if sum.families > 0 {
			within(t, what+": false", sum.wrong/sum.families, 0, c.wrong, series)
		}
		within(t, what+": covered", sum.covered/sum.intervals, 0.93, 0.98, series)
		levels := fmt.Sprint(c.points[0])
		if len(c.points) > 1 {
			levels += fmt.Sprintf(" × %d", c.points[1])
		}
		times := func(v float64) string {
			if v == 1 {
				return "none"
			}
			return fmt.Sprintf("%g times", v)
		}
		noise := percent(c.noise)
		if c.missing > 0 {
			noise += ", one trial in 20 lost"
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.arms), levels, fmt.Sprint(c.blocks), noise,
			times(c.effect), times(c.interaction),
			shareOf(sum.shown, sum.real), shareOf(sum.wrong, sum.families), shareOf(sum.covered, sum.intervals)})
	}
	return out
}

func TestFactorialIsComplete(t *testing.T) {
	f, cells := combined(3, 2)
	if !f.Complete(cells) {
		t.Error("all combinations are not complete")
	}
	f.Levels[1][5] = 0
	if f.Complete(cells) {
		t.Error("a combination that is there twice is complete")
	}
	f, cells = combined(2, 2)
	f.Levels[0], f.Levels[1] = f.Levels[0][:3], f.Levels[1][:3]
	if f.Complete(cells - 1) {
		t.Error("a combination that is missing is complete")
	}
}

// Without noise, effects and interactions are what was put in.
func TestEffectsWithoutNoise(t *testing.T) {
	s := factorial{arms: 2, blocks: 3, points: []int{2, 2}, effect: 2, interaction: 3}
	f, values := s.values(rand.New(rand.NewPCG(1, 1)))
	effects := f.Effects(values, Options{})
	if len(effects) != 6 {
		t.Fatalf("%d effects", len(effects))
	}
	for _, e := range effects {
		if want := s.truth(e); math.Abs(e.Ratio.Value/want-1) > 1e-9 || e.Ratio.N != 3 {
			t.Errorf("arm %d, axes %v from %v to %v: %g, want %g", e.Arm, e.Axes, e.From, e.To, e.Ratio.Value, want)
		}
	}
	if !slices.Equal(effects[len(effects)-1].To, []int{1, 1}) {
		t.Errorf("%+v", effects[len(effects)-1])
	}
}
