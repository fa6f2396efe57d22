package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// dipping is a steady rate of 100,000 with 3 % of noise that falls to a share of it in some samples.
func dipping(n int, seed uint64, left float64, in func(i int) bool) Series {
	return everySecond(ratesOf(autoregressive(rand.New(rand.NewPCG(seed, 1)), n, 0.3, 0.03), func(i int) float64 {
		if in(i) {
			return left
		}
		return 1
	}))
}

func TestDipsAreToldWithTheirPeriod(t *testing.T) {
	c := Describe(dipping(600, 1, 0.4, func(i int) bool { return i >= 200 && i%30 < 5 }))
	if !slices.Equal(c.Shapes, []Shape{ShapeSteady, ShapeDips}) {
		t.Fatalf("%v: %s", c.Shapes, c.Why)
	}
	d := c.Dips
	if len(d.Events) != 13 || d.Events[0].From != 210 || d.Events[0].To != 215 || d.Events[12].From != 570 {
		t.Errorf("%+v", d.Events)
	}
	if d.Seconds != 5 || math.Abs(d.Left-0.4) > 0.02 || math.Abs(d.Share-65.0/600) > 0.001 {
		t.Errorf("%v s to %v, %v of the time", d.Seconds, d.Left, d.Share)
	}
	if d.Period == nil || math.Abs(d.Period.Seconds-30) > 0.5 {
		t.Errorf("period %+v", d.Period)
	}
	// Mean rates are of everything.
	if expected := 1e5 * (1 - 0.6*65/600); math.Abs(c.SteadyRate-expected) > 0.02*expected || math.Abs(c.Rate-expected) > 0.02*expected {
		t.Errorf("a steady rate of %.0f, in all %.0f; expected about %.0f", c.SteadyRate, c.Rate, expected)
	}
	if c.SteadySpread.Low > 5e4 {
		t.Errorf("nine samples in ten lie above %.0f, but a tenth of the time was below", c.SteadySpread.Low)
	}
}

func TestWhatIsNoDip(t *testing.T) {
	for name, s := range map[string]Series{
		"nothing":                            dipping(600, 2, 0.4, func(int) bool { return false }),
		"a cliff":                            dipping(200, 3, 0.4, func(i int) bool { return i >= 120 }),
		"a fall that lasts to the end":       dipping(200, 4, 0.4, func(i int) bool { return i >= 192 }),
		"a low beginning":                    dipping(200, 5, 0.4, func(i int) bool { return i < 8 }),
		"a level of 20 samples":              dipping(200, 6, 0.4, func(i int) bool { return i >= 80 && i < 100 }),
		"one sample":                         dipping(600, 7, 0.4, func(i int) bool { return i == 300 }),
		"stalls":                             dipping(600, 8, 0.03, func(i int) bool { return i%60 == 30 }),
		"two levels that take turns":         dipping(600, 9, 0.4, func(i int) bool { return i%30 < 10 }),
		"falls by a fifth":                   dipping(600, 10, 0.8, func(i int) bool { return i%30 < 5 }),
		"falls that noise of 20 % makes":     everySecond(ratesOf(autoregressive(rand.New(rand.NewPCG(11, 1)), 600, 0, 0.2), constant)),
		"a fall to half every other second":  dipping(600, 12, 0.5, func(i int) bool { return i%2 == 0 }),
		"a slow wave that comes down by two": everySecond(ratesOf(autoregressive(rand.New(rand.NewPCG(13, 1)), 600, 0, 0.03), func(i int) float64 { return 1.5 + math.Sin(float64(i)/20)/2 })),
	} {
		if c := Describe(s); c.Dips != nil || c.Has(ShapeDips) {
			t.Errorf("%s: %v, %+v", name, c.Shapes, c.Dips)
		}
	}
}

// One fall that is long enough is told, and so are two short ones.
func TestFewDips(t *testing.T) {
	once := Describe(dipping(200, 14, 0.4, func(i int) bool { return i >= 100 && i < 104 }))
	twice := Describe(dipping(200, 15, 0.4, func(i int) bool { return i == 100 || i == 150 }))
	if once.Dips == nil || len(once.Dips.Events) != 1 || twice.Dips == nil || len(twice.Dips.Events) != 2 {
		t.Errorf("%+v, %+v", once.Dips, twice.Dips)
	}
	sparse := dipping(200, 16, 0.4, func(i int) bool { return i >= 100 && i < 104 })
	if sparse.Sparse = true; Describe(sparse).Dips != nil {
		t.Error("dips of samples that hold next to nothing")
	}
}

// Dips must hide nothing: a cliff, a decline and what resources do with the rate are seen all the same.
func TestDipsHideNothing(t *testing.T) {
	s := dipping(600, 17, 0.4, func(i int) bool { return i%40 >= 35 })
	busy := make([]float64, 600)
	for i := range busy {
		busy[i] = rand.New(rand.NewPCG(uint64(i), 2)).Float64()
		if i%40 >= 35 {
			busy[i] += 3
		}
	}
	s.Resources = []Resource{{Name: "compactions", Engine: true, Values: busy}}
	c := Describe(s)
	if c.Dips == nil || len(c.Coincidences) != 1 || c.Coincidences[0].Rank > -0.3 {
		t.Errorf("%v: %+v", c.Shapes, c.Coincidences)
	}
	fallen := dipping(600, 18, 0.4, func(i int) bool { return i%40 >= 35 })
	for i := 300; i < 600; i++ {
		fallen.Rates[i] *= 0.3
	}
	if c := Describe(fallen); c.Dips == nil || len(c.Cliffs) != 1 || c.Cliffs[0].At != 300 {
		t.Errorf("%v: %+v", c.Shapes, c.Cliffs)
	}
	sinking := dipping(600, 19, 0.4, func(i int) bool { return i%40 >= 35 })
	for i := range 600 {
		sinking.Rates[i] *= 1 - 0.6*float64(i)/600
	}
	if c := Describe(sinking); c.Dips == nil || !c.Has(ShapeDecline) {
		t.Errorf("%v", c.Shapes)
	}
}
