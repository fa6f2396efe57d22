package stat

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var interferenceSimulated = simulated{
	"testdata/interference.json", "testdata/interference-short.json", 2000, []simulation{
		{"interference", simulateInterference, 1},
	}}

func TestInterferenceErrorRates(t *testing.T) { interferenceSimulated.run(t, 60) }

func TestErrorRatesPageHasTheRecordedInterference(t *testing.T) {
	interferenceSimulated.checkDocuments(t)
}

// besideSeries is a simulated rate of 200 samples, beside which another group runs.
type besideSeries struct {
	name           string
	blocks, during int
	noise          float64
	left           float64 // of the rate while the other group runs; 1: all
	shape          func(r *rand.Rand, samples int) func(i int) float64
	low, high      float64 // in which share of the series an effect should be shown
}

func level(*rand.Rand, int) func(int) float64 { return func(int) float64 { return 1 } }

// declining loses so much of its rate from the first sample to the last.
func declining(by float64) func(*rand.Rand, int) func(int) float64 {
	return func(_ *rand.Rand, samples int) func(int) float64 {
		return func(i int) float64 { return 1 - by*float64(i)/float64(samples) }
	}
}

// stepped falls to 60 % somewhere.
func stepped(r *rand.Rand, samples int) func(int) float64 {
	at := r.IntN(samples)
	return func(i int) float64 {
		if i >= at {
			return 0.6
		}
		return 1
	}
}

// steppedWith falls to 60 % when the other group begins, and stays there.
func steppedWith(_ *rand.Rand, samples int) func(int) float64 {
	return func(i int) float64 {
		if i >= besideBegins {
			return 0.6
		}
		return 1
	}
}

// dipping falls to 70 % for 3 of each 20 samples.
func dipping(r *rand.Rand, _ int) func(int) float64 {
	first := r.IntN(20)
	return func(i int) float64 {
		if (i+first)%20 < 3 {
			return 0.7
		}
		return 1
	}
}

const besideSamples, besideBegins = 200, 80

func (s besideSeries) draw(r *rand.Rand) (blocks []Beside) {
	for range s.blocks {
		shape, noise := s.shape(r, besideSamples), autoregressive(r, besideSamples, 0.6, s.noise)
		rates := make([]float64, besideSamples)
		for i := range rates {
			rates[i] = simulatedRate * shape(i) * max(1+noise[i], 0)
			if i >= besideBegins && i < besideBegins+s.during {
				rates[i] *= s.left
			}
		}
		end := besideBegins + s.during
		blocks = append(blocks, Beside{rates[:besideBegins], rates[besideBegins:end], rates[end:]})
	}
	return blocks
}

func simulateInterference(t *testing.T, series int) table {
	made := table{Columns: []string{"rate", "blocks", "samples while it runs", "noise (ρ = 0.6)", "effect", "effect shown", "intervals that cover"}}
	for row, s := range []besideSeries{
		{"level", 1, 3, 0.10, 1, level, 0, 0.05},
		{"level", 1, 10, 0.10, 1, level, 0, 0.05},
		{"level", 3, 10, 0.10, 1, level, 0, 0.05},
		{"level", 3, 40, 0.05, 1, level, 0, 0.05},
		{"halves over the phase", 3, 10, 0.05, 1, declining(0.5), 0, 0.05},
		{"loses 80 % over the phase", 3, 40, 0.05, 1, declining(0.8), 0, 0.05},
		{"falls to 60 % somewhere", 1, 10, 0.05, 1, stepped, 0, 0.05},
		{"falls to 60 % somewhere", 3, 40, 0.05, 1, stepped, 0, 0.05},
		{"falls to 60 % when it begins", 3, 10, 0.05, 1, steppedWith, 0, 0.05},
		{"dips to 70 % for 3 of 20 samples", 3, 10, 0.05, 1, dipping, 0, 0.05},
		{"level", 1, 3, 0.10, 0.1, level, 0.9, 1},
		{"level", 1, 10, 0.10, 0.1, level, 0.95, 1},
		{"level", 1, 10, 0.10, 0.5, level, 0.95, 1},
		{"level", 3, 10, 0.10, 0.5, level, 0.95, 1},
		{"level", 1, 10, 0.05, 0.8, level, 0.6, 1},
		{"level", 3, 10, 0.05, 0.8, level, 0.9, 1},
		{"level", 3, 10, 0.10, 0.8, level, 0.5, 1},
		{"level", 3, 40, 0.10, 0.8, level, 0.9, 1},
		{"halves over the phase", 3, 10, 0.05, 0.5, declining(0.5), 0.95, 1},
		{"falls to 60 % somewhere", 3, 10, 0.05, 0.1, stepped, 0.9, 1},
	} {
		type outcome struct{ shown, covers float64 }
		outcomes := each("interference", row, series, func(r *rand.Rand) outcome {
			e, known := Interference(s.draw(r), Significance)
			if !known {
				t.Error("too few samples")
			}
			var o outcome
			if e.Shown {
				o.shown = 1
			}
			if e.Interval.Contains(s.left) {
				o.covers = 1
			}
			return o
		})
		var shown, covers []float64
		for _, o := range outcomes {
			shown, covers = append(shown, o.shown), append(covers, o.covers)
		}
		effect := "none"
		if s.left != 1 {
			effect = fmt.Sprintf("−%.0f %%", 100*(1-s.left))
		}
		within(t, fmt.Sprintf("%s, %d blocks, %d samples, noise %.2f, effect %s", s.name, s.blocks, s.during, s.noise, effect),
			Mean(shown), s.low, s.high, series)
		made.Rows = append(made.Rows, []string{s.name, fmt.Sprint(s.blocks), fmt.Sprint(s.during), fmt.Sprintf("%.0f %%", 100*s.noise), effect,
			percent(Mean(shown)), percent(Mean(covers))})
	}
	return made
}

func TestInterferenceNeedsSamples(t *testing.T) {
	side := []float64{10, 11, 10, 9, 10}
	for _, c := range []struct {
		name  string
		b     Beside
		known bool
	}{
		{"enough", Beside{side, []float64{1, 1, 1}, side}, true},
		{"a window of two samples", Beside{side, []float64{1, 1}, side}, false},
		{"nothing before", Beside{nil, []float64{1, 1, 1}, side}, false},
		{"too little after", Beside{side, []float64{1, 1, 1}, side[:4]}, false},
	} {
		e, known := Interference([]Beside{c.b}, Significance)
		if known != c.known || known && (!e.Shown || e.Ratio > 0.11 || e.Blocks != 1) {
			t.Errorf("%s: %+v, %v", c.name, e, known)
		}
	}
	// A rate that stands still while the other runs has no noise of its own there.
	still := Beside{side, []float64{0, 0, 0, 0}, side}
	if e, _ := Interference([]Beside{still, still}, Significance); !e.Shown || e.Ratio != 0 {
		t.Errorf("a standstill: %+v", e)
	}
}
