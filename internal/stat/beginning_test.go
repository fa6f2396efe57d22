package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// What was as fast as the steady rate before it fell is no warm-up.
func TestAnEarlyOutageIsNoWarmup(t *testing.T) {
	for row, c := range []struct{ samples, from, to int }{{300, 40, 70}, {300, 10, 50}, {600, 100, 140}, {200, 20, 45}, {60, 4, 12}} {
		for k := range 6 {
			rates := ratesOf(autoregressive(source("early outage", row, k), c.samples, 0.3, 0.03), func(i int) float64 {
				if i >= c.from && i < c.to {
					return 0.4
				}
				return 1
			})
			cut, _, _ := Warmup(rates)
			decided, course := Decide(rates, 1), Describe(everySecond(rates))
			if cut != 0 || decided.Kind != Stepped || course.Has(ShapeSteady) && course.Dips == nil {
				t.Errorf("%+v: %d samples cut, %s (%s), %v", c, cut, decided.Kind, decided.Why, course.Shapes)
			}
		}
	}
}

// Nor is what was faster than the rest.
func TestAFastBeginningIsNoWarmup(t *testing.T) {
	// Tokyo Cabinet's hash, under a memory limit: operations a second, one sample every 0.75 s.
	hash := []float64{172246.7, 162383.1, 152000, 155000, 151000, 7200, 7500, 7300, 7100, 7600, 7400, 7250, 7350, 7450, 7150, 7550, 7300, 7400, 7200, 7500}
	for _, c := range []struct {
		name  string
		rates []float64
		kind  SteadyKind
		cut   int
	}{
		{"a hash that fell after five of twenty", hash, Stepped, 0},
		{"three samples of twenty times", fastAtFirst(60, 3, 20), Stepped, 0},
		{"eight of two and a half", fastAtFirst(120, 8, 2.5), Stepped, 0},
		{"one of twice moves the mean by little", fastAtFirst(60, 1, 2), Steady, 0},
		{"a tenth of it a fifth faster", fastAtFirst(120, 12, 1.2), Steady, 15},
		{"a warm-up", fastAtFirst(120, 10, 0.5), Steady, 10},
	} {
		if got := Decide(c.rates, 0.75); got.Kind != c.kind || got.From > c.cut || c.cut > 0 && got.From == 0 {
			t.Errorf("%s: %s from %d on (%s)", c.name, got.Kind, got.From, got.Why)
		}
	}
	noisy := Decide(ratesOf(autoregressive(source("fast first", 0, 0), 30, 0.3, 0.05), fallAt(1, 0.9)), 1)
	if noisy.Kind != Stepped || !strings.Contains(noisy.Why, "k/s at first, for 1 of 30 samples, and 9.97 k/s from then on") {
		t.Errorf("%s: %q", noisy.Kind, noisy.Why)
	}
}

func fastAtFirst(n, first int, factor float64) []float64 {
	return ratesOf(make([]float64, n), func(i int) float64 {
		if i < first {
			return factor
		}
		return 1 + 0.01*float64(i%3-1)
	})
}

func TestADeclineSaysWhenItsFirstRateWas(t *testing.T) {
	noise := autoregressive(source("early at", 0, 0), 120, 0.3, 0.03)
	d := Describe(everySecond(ratesOf(noise, func(i int) float64 { return 1 / float64(i+1) }))).Declines
	if len(d) != 1 || d[0].EarlyAt != 7 || math.Abs(d[0].Early*7/simulatedRate-1) > 0.15 {
		t.Errorf("%+v", d)
	}
}

// A swing leaves so much room for a drift that nobody could tell one: it is looked for before that is said.
func TestASineSwings(t *testing.T) {
	for row, period := range []float64{20, 30} {
		for k := range 10 {
			c := Describe(everySecond(sine(period)(source("sine", row, k), 600)))
			if !slices.Equal(c.Shapes, []Shape{ShapeStepped}) || c.Swing == nil || math.Abs(c.Swing.Seconds-period) > 0.5 {
				t.Errorf("%v s: %v, %+v (%s)", period, c.Shapes, c.Swing, c.Why)
			}
		}
	}
}

func TestAFallInTheLastSamplesIsTold(t *testing.T) {
	for _, n := range []int{30, 60, 120} {
		for last := range 5 {
			c := Describe(everySecond(ratesOf(autoregressive(source("last", n, last), n, 0.3, 0.03), func(i int) float64 {
				if i >= n-last {
					return 0.3
				}
				return 1
			})))
			name := fmt.Sprintf("the last %d of %d", last, n)
			if last == 0 {
				if !c.Has(ShapeSteady) || c.LastFall != nil {
					t.Errorf("%s: %v, %+v", name, c.Shapes, c.LastFall)
				}
				continue
			}
			if c.LastFall == nil || c.LastFall.From != n-last || !near(c.SteadyRate, simulatedRate, 3000) {
				t.Errorf("%s: %v, %+v", name, c.Shapes, c.LastFall)
			}
		}
	}
	// Where samples were as low before, the last one has nothing new to say.
	habit := Describe(everySecond(ratesOf(autoregressive(source("last habit", 0, 0), 120, 0.3, 0.03), func(i int) float64 {
		if i == 40 || i == 119 {
			return 0.6
		}
		return 1
	})))
	if habit.LastFall != nil || !habit.Has(ShapeSteady) {
		t.Errorf("%v, %+v", habit.Shapes, habit.LastFall)
	}
}
