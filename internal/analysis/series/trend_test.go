package series

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A random walk without a direction tends one way in about 1 %.
func TestTendsOneWay_random_walks_seldom_do(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	draws := 2000
	if long() {
		draws = 50_000
	}
	for _, n := range []int{21, 60, 200} {
		either := 0
		for range draws {
			walk := make([]float64, n)
			for i := 1; i < n; i++ {
				walk[i] = walk[i-1] + 0.05*r.NormFloat64()
			}
			if tendsOneWay(walk) {
				either++
			}
		}
		if share, slack := float64(either)/float64(draws), 4*math.Sqrt(0.01/float64(draws)); share > 0.012+slack {
			t.Errorf("%d samples: %.2f %%", n, 100*share)
		}
	}
}

// The cleaner a decline, the surer it is found, and told from end to end.
func TestAnalyze_clean_declines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, noise := range []float64{0, 0.001, 0.01, 0.02, 0.05} {
		for _, n := range []int{40, 120, 900} {
			for _, left := range []float64{0.6, 0.5, 0.2} {
				for name, level := range map[string]func(x float64) float64{
					"straight":    func(x float64) float64 { return 1 - (1-left)*x },
					"exponential": func(x float64) float64 { return math.Pow(left, x) },
					"slower":      func(x float64) float64 { return 1 - (1-left)*math.Sqrt(x) },
				} {
					s := Analyze(seconds(autoregressive(r, n, 0, noise),
						func(i int) float64 { return level(float64(i) / float64(n-1)) }))
					d := s.Of(Decline)
					if len(d) != 1 || s.Why != nil {
						t.Errorf("%s to %g, noise %g, %d samples: %v, %+v", name, left, noise, n, s.Kinds, s.Why)
					} else if got := d[0].After / d[0].Before; name != "slower" && math.Abs(got-left) > 0.02+noise {
						t.Errorf("%s to %g, noise %g, %d samples: %.3f are left", name, left, noise, n, got)
					}
				}
			}
		}
	}
}

// A level that lasts is a step down and a step up, early or late, half or nothing.
func TestAnalyze_long_levels(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for _, n := range []int{100, 300} {
		for _, low := range []float64{0.5, 0.1, 0} {
			for _, at := range []int{n / 12, n / 2} {
				for _, lasts := range []int{n / 6, n / 3} {
					s := Analyze(seconds(autoregressive(r, n, 0.3, 0.03), func(i int) float64 {
						if i >= at && i < at+lasts {
							return low
						}
						return 1
					}))
					steps := s.Of(Step)
					if len(steps) != 2 || s.Rate != nil || s.Has(Drops) || steps[0].Back == nil ||
						math.Abs(steps[0].From-float64(at)) > 1 || math.Abs(steps[1].From-float64(at+lasts)) > 1 {
						t.Errorf("%d samples, at %g from %d for %d: %v %+v", n, low, at, lasts, s.Kinds, steps)
					}
				}
			}
		}
	}
}

// Stalls of one rhythm are all found, the first one too, wherever it lies.
func TestAnalyze_first_stall_of_a_rhythm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 10))
	for first := range 24 {
		s := Analyze(seconds(autoregressive(r, 200, 0.3, 0.05), func(i int) float64 {
			if i >= first && (i-first)%25 == 0 {
				return 0.01
			}
			return 1
		}))
		if d := s.Of(Drops); len(d) != 1 || d[0].Drops.Stalls != 8 || d[0].From != float64(first) {
			t.Errorf("from %d on: %v", first, s.Events)
		}
	}
}

// What fell below half did so no earlier than its first sample below half, however steep the fall.
func TestHalfIsLostNotBeforeASampleShowsIt(t *testing.T) {
	for name, c := range map[string]struct {
		rates []float64
		at    float64
	}{
		"steep at once": {[]float64{9100, 4100, 2300, 1700, 1600, 1500, 1420, 1350, 1200, 1150}, 2},
		"straight":      {[]float64{1000, 870, 700, 560, 430, 330, 260, 210, 160, 125}, 4},
	} {
		var s Series
		for i, rate := range c.rates {
			s.Ends, s.Rates = append(s.Ends, float64(i+1)), append(s.Rates, rate)
		}
		shape := Analyze(s)
		if shape.Half == nil || shape.Half.Seconds != c.at {
			t.Errorf("%s: %+v, want half lost at %g s", name, shape.Half, c.at)
		}
	}
}

// The step to an oscillation is where the rate leaves the level before, which may leave too little of
// that to be a level.
func TestTurnsAfter_a_level_before_that_is_too_short(t *testing.T) {
	const usual, near = levelSamplesMin - 1, levelSamplesMin - 2 // samples before the oscillation
	var s Series
	add := func(rates ...float64) {
		for _, rate := range rates {
			s.Ends, s.Rates = append(s.Ends, float64(len(s.Ends)+1)), append(s.Rates, rate)
		}
	}
	for range usual {
		add(100)
	}
	for range near {
		add(10)
	}
	for range 20 {
		add(10, 5)
	}
	v, _ := viewOf(&s)
	f := finder{view: v}
	f.turnsAfter(0, turning{from: usual + near, to: v.samples(), turns: &Turns{High: 10, Low: 5}})
	if len(f.levels) != 1 || len(f.events) != 1 || f.events[0].Kind != Oscillation {
		t.Errorf("levels %+v, events %+v", f.levels, f.events)
	}
}
