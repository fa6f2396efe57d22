package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSpikesAreToldWithTheirPeriod(t *testing.T) {
	for name, s := range map[string]Series{
		"in the middle":    dipping(600, 21, 100, func(i int) bool { return i%30 == 10 || i%30 == 11 }),
		"at the beginning": dipping(600, 22, 100, func(i int) bool { return i%30 < 2 }),
		"at the end":       dipping(600, 23, 100, func(i int) bool { return i%30 > 27 }),
	} {
		c := Describe(s)
		if !slices.Equal(c.Shapes, []Shape{ShapeSteady, ShapeSpikes}) || c.Dips != nil {
			t.Errorf("%s: %v, %s", name, c.Shapes, c.Why)
			continue
		}
		d := c.Spikes
		if len(d.Events) != 20 || d.Seconds != 2 || math.Abs(d.Left-100) > 5 || d.Period == nil || math.Abs(d.Period.Seconds-30) > 0.5 || d.Events[0].Highest < 9e6 {
			t.Errorf("%s: %d spikes, %+v", name, len(d.Events), d)
		}
		if len(c.Levels.Segments) != 1 || c.SteadyRate < 5e5 {
			t.Errorf("%s: levels %+v, a steady rate of %v", name, c.Levels.Segments, c.SteadyRate)
		}
	}
}

func TestOneSpike(t *testing.T) {
	for name, c := range map[string]struct {
		series Series
		want   int
	}{
		"one sample of ten times":      {dipping(120, 24, 10, func(i int) bool { return i == 70 }), 1},
		"three of twice":               {dipping(120, 25, 2, func(i int) bool { return i >= 70 && i < 73 }), 1},
		"one of twice":                 {dipping(120, 26, 2, func(i int) bool { return i == 70 }), 0},
		"a fast beginning":             {dipping(120, 27, 10, func(i int) bool { return i < 3 }), 0},
		"a level of 20 samples":        {dipping(200, 28, 2, func(i int) bool { return i >= 80 && i < 100 }), 0},
		"a rise that lasts to the end": {dipping(200, 29, 2, func(i int) bool { return i >= 192 }), 0},
		"bursts out of nothing":        {everySecond(ratesOf(make([]float64, 120), func(i int) float64 { return float64(max(i%10-8, 0)) })), 0},
	} {
		got := 0
		if d := Describe(c.series).Spikes; d != nil {
			got = len(d.Events)
		}
		if got != c.want {
			t.Errorf("%s: %d spikes, want %d", name, got, c.want)
		}
	}
}

// A level is no dip, wherever noise lets it be seen first.
func TestADipBeginsWhereTheRateFalls(t *testing.T) {
	for seed := range uint64(30) {
		for _, noise := range []float64{0.03, 0.1} {
			s := everySecond(ratesOf(autoregressive(rand.New(rand.NewPCG(seed, 7)), 120, 0.3, noise), func(i int) float64 {
				if i >= 40 && i < 70 {
					return 0.4
				}
				return 1
			}))
			if c := Describe(s); c.Dips != nil || c.Spikes != nil {
				t.Errorf("seed %d, noise %v: %+v %+v", seed, noise, c.Dips, c.Spikes)
			}
		}
	}
}
