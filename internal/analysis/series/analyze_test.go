package series

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
)

// noisy is a series of white noise of 3 % around a level.
func noisy(n int, level func(i int) float64) Series {
	return seconds(autoregressive(rand.New(rand.NewPCG(uint64(n), 11)), n, 0, 0.03), level)
}

func only(t *testing.T, s Shape, kind Kind) Event {
	t.Helper()
	events := s.Of(kind)
	if len(events) != 1 {
		t.Fatalf("%d events of kind %s in %+v", len(events), kind, s.Events)
	}
	return events[0]
}

func TestAnalyze_what_was_not_measured(t *testing.T) {
	s := noisy(100, constant)
	for i := 40; i < 70; i++ {
		s.Rates[i] = math.NaN()
	}
	s.Rates[70] = 0
	shape := Analyze(s)
	if gap := only(t, shape, Gap); gap.From != 40 || gap.To != 70 {
		t.Errorf("gap %+v", gap)
	}
	drops := only(t, shape, Drops).Drops
	if drops.Stalls != 1 || drops.Longest != 1 || drops.All[0].From != 70 || !shape.Has(Steady) {
		t.Errorf("%+v", drops)
	}

	missing := noisy(100, constant) // thirty seconds without a line
	missing.Ends = append(missing.Ends[:40:40], missing.Ends[70:]...)
	missing.Rates = append(missing.Rates[:40:40], missing.Rates[70:]...)
	if gap := only(t, Analyze(missing), Gap); gap.From != 40 || gap.To != 71 {
		t.Errorf("gap %+v", gap)
	}
	geometric := Series{Ends: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, Rates: []float64{9, 8, 7, 6.2, 5.1,
		4.4, 3.9, 3.1, 2.5, 2}}
	if shape := Analyze(geometric); shape.Has(Gap) || len(shape.Of(Gap)) > 0 || !shape.Has(Decline) {
		t.Errorf("samples of growing length: %+v", shape)
	}
}

func TestAnalyze_stop_from_outside_is_no_stall(t *testing.T) {
	s := noisy(120, constant)
	s.Interrupted = make([]bool, 120)
	for i := 60; i < 80; i++ {
		s.Rates[i], s.Interrupted[i] = 0, true
	}
	shape := Analyze(s)
	if e := only(t, shape, Interruption); e.From != 60 || e.To != 80 || shape.Has(Drops) || shape.Has(Step) ||
		!shape.Has(Steady) {
		t.Errorf("%+v", shape)
	}
	if math.Abs(shape.Rate.Value/1e5-1) > 0.02 {
		t.Errorf("the stop takes part in the rate: %v", shape.Rate.Value)
	}
	s.Interrupted = nil // the attacker: the same zeros, not known to be a stop
	if shape := Analyze(s); !shape.Has(Drops) && !shape.Has(Step) {
		t.Errorf("twenty empty seconds go unnoticed: %+v", shape)
	}
}

func TestAnalyze_stall_is_as_long_as_the_longest_silence(t *testing.T) {
	s := Series{}
	for i := range 200 {
		s.Ends, s.Rates, s.MaxSeconds = append(s.Ends, float64(i+1)/4), append(s.Rates, 1e5+float64(i%7)*500),
			append(s.MaxSeconds, 0.001)
	}
	s.Rates[100], s.Rates[101] = 0, 0
	if d := only(t, Analyze(s), Drops).Drops; d.Longest != 0.5 {
		t.Errorf("from samples: %v", d.Longest)
	}
	s.MaxSeconds[102] = 0.807
	if d := only(t, Analyze(s), Drops).Drops; d.Longest != 0.807 {
		t.Errorf("with the latency of the operation that ended after it: %v", d.Longest)
	}
	s.MaxSeconds[102] = 30 // of one operation among others that went on
	if d := only(t, Analyze(s), Drops).Drops; d.Longest != 1 {
		t.Errorf("a latency beyond the neighbouring samples: %v", d.Longest)
	}
}

func TestAnalyze_long_files_keep_their_stalls(t *testing.T) {
	for _, n := range []int{14_400, 86_400} {
		shape := Analyze(noisy(n, func(i int) float64 {
			if i%20 == 7 {
				return 0.001
			}
			return 1
		}))
		g := only(t, shape, Drops)
		if g.Drops.Stalls != n/20 || g.Drops.Period == nil || math.Abs(g.Drops.Period.Seconds-20) > 0.1 ||
			g.After > 150 || !shape.Has(Steady) {
			t.Errorf("%d samples: %d stalls, lowest %v", n, g.Drops.Stalls, g.After)
		}
	}
	if s := Analyze(noisy(20_000, fall(12_345, 0, 0.5))); s.Cliff() == nil || math.Abs(s.Cliff().From-12_345) > 2 {
		t.Errorf("a cliff in a joined series: %+v", s.Events)
	}
}

func TestAnalyze_deep_dip_with_slow_return(t *testing.T) {
	shape := Analyze(noisy(300, func(i int) float64 {
		if i >= 100 && i < 160 {
			return 0.05 + 0.95*float64(i-100)/60
		}
		return 1
	}))
	d := only(t, shape, Drops).Drops.All[0]
	if math.Abs(d.From-100) > 1 || math.Abs(d.To-156) > 8 || d.Lowest > 6000 || shape.Has(Step) || !shape.Has(Steady) {
		t.Errorf("%+v in %+v", d, shape.Kinds)
	}
}

func TestAnalyze_end_of_the_series(t *testing.T) {
	level := func(last int) func(int) float64 {
		return func(i int) float64 {
			if i >= 120-last {
				return 0.2
			}
			return 1
		}
	}
	if d := only(t, Analyze(noisy(120, level(3))), Drops).Drops.All[0]; !d.Open || d.From != 117 {
		t.Errorf("three low samples at the end: %+v", d)
	}
	if s := Analyze(noisy(120, level(10))); s.Cliff() == nil || s.Cliff().From != 110 {
		t.Errorf("ten low samples at the end: %+v", s.Events)
	}
}

func TestAnalyze_end_of_a_burst_is_no_cliff(t *testing.T) {
	level := func(from, to int) func(int) float64 {
		return func(i int) float64 {
			if i >= from && i < to {
				return 2
			}
			return 1
		}
	}
	if s := Analyze(noisy(200, level(80, 90))); s.Cliff() != nil || len(s.Of(Step)) != 2 {
		t.Errorf("ten seconds at double: %+v", s.Events)
	}
	if s := Analyze(noisy(200, level(20, 150))); s.Cliff() == nil || math.Abs(s.Cliff().From-150) > 1 {
		t.Errorf("a level that lasted: %+v", s.Events)
	}
}

func TestAnalyze_counts_of_few_things_have_no_stalls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	s := Series{}
	for i := range 300 {
		count := 0
		for at := r.ExpFloat64(); at < 3; at += r.ExpFloat64() {
			count++
		}
		s.Ends, s.Rates = append(s.Ends, float64(10*(i+1))), append(s.Rates, float64(count)/10)
	}
	if shape := Analyze(s); shape.Has(Oscillation) || shape.Cliff() != nil || slices.ContainsFunc(shape.Of(Drops),
		func(e Event) bool { return e.Drops.Stalls > 0 }) {
		t.Errorf("three things a sample: %+v", shape.Events)
	}
}

func TestAnalyze_too_little(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		code  string
	}{
		{nil, TooFew}, {[]float64{104, 120, 118}, TooFew}, {make([]float64, 50), TooEmpty},
		{[]float64{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, TooNoisy},
	} {
		s := Series{Rates: c.rates}
		for i := range c.rates {
			s.Ends = append(s.Ends, float64(i+1))
		}
		shape := Analyze(s)
		if shape.Kind != Inconclusive || shape.Why.Code != c.code {
			t.Errorf("%v: %s, %+v", c.rates, shape.Kind, shape.Why)
		}
	}
	short := Analyze(Series{Ends: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Rates: []float64{100, 93, 85, 72, 61,
		50, 44, 38, 30, 25}})
	if short.Kind != Decline {
		t.Errorf("ten samples that fall to a quarter: %s, %+v", short.Kind, short.Why)
	}
}

// Points that fall to an eighth are a decline, with the assumption where it is needed; the seconds of
// a run need more. No range that says nothing is given.
func TestAnalyze_published_points(t *testing.T) {
	of := func(points bool, rates ...float64) Shape {
		s := Series{Rates: rates, Points: points}
		for i := range rates {
			s.Ends = append(s.Ends, float64(i+1))
		}
		return Analyze(s)
	}
	bumpy := []float64{600, 800, 500, 650, 300, 420, 330, 140, 210, 100} // S = 35 of 45
	if s := of(true, bumpy...); s.Kind != Decline || s.Events[0].P == nil || *s.Events[0].P > 0.005 {
		t.Errorf("bumpy points: %v %+v", s.Kinds, s.Events)
	} else if words := finding.Text(s.Findings(finding.Where{})[0].Message); !strings.Contains(words, "if the points are independent") {
		t.Error(words)
	}
	if s := of(false, bumpy...); s.Kind != Inconclusive {
		t.Errorf("bumpy seconds: %v", s.Kinds)
	}
	if s := of(true, 800, 640, 510, 420, 330, 260, 210, 170, 130, 100); s.Kind != Decline || s.Events[0].P != nil {
		t.Errorf("a straight fall: %v %+v", s.Kinds, s.Events)
	}
	if s := of(true, 800, 790, 780, 760, 740, 700, 600, 300, 150, 100); s.Why != nil {
		t.Errorf("a late fall: %v %+v", s.Kinds, s.Why)
	}
	if s := of(true, 1, 9, 2, 8, 1, 9, 3, 7, 1, 12); s.Kind != Inconclusive || s.Why.High != 0 {
		t.Errorf("large scatter: %v %+v", s.Kinds, s.Why)
	}
}

func TestKendall_exact_distribution(t *testing.T) {
	// Of 24 orders of four values, one has the score 6 and three have the score 4.
	for score, want := range map[int]float64{6: 1.0 / 24, 4: 4.0 / 24, -6: 1} {
		if got := kendallTail(4, score); math.Abs(got-want) > 1e-12 {
			t.Errorf("score %d: %v, want %v", score, got, want)
		}
	}
	if got := permutationTail([]float64{5, 5.1, 5.2, 1, 1.1, 1.2}, 3); math.Abs(got-1.0/20) > 1e-12 {
		t.Errorf("three of six: %v, want one of twenty", got)
	}
}

func TestAnalyze_resources(t *testing.T) {
	s := noisy(120, fall(60, 0, 0.3))
	gauge, counter, late := make([]float64, 120), make([]float64, 120), make([]float64, 120)
	for i := range gauge {
		if i >= 60 {
			gauge[i] = 1
			counter[i] = counter[i-1] + 500 + float64(i%3)
		} else if i > 0 {
			counter[i] = counter[i-1] + 3 + float64(i%2)
		}
		if late[i] = 5; i >= 90 {
			late[i] = 9
		}
	}
	s.Resources = []Resource{{Name: "late", Values: late}, {Name: "gauge", Values: gauge}, {Name: "faults", Engine: true, Values: counter}}
	var names []string
	for _, c := range Analyze(s).Coincidences {
		if c.Event != nil && c.Seconds == 60 {
			names = append(names, c.Resource)
		}
		if c.Resource == "late" && c.Event != nil || c.PerSecond != (c.Resource == "faults") {
			t.Errorf("%+v", c)
		}
	}
	if !slices.Equal(names, []string{"faults", "gauge"}) {
		t.Errorf("changed with the cliff: %q", names)
	}
}

// Whatever the numbers are, the answer is finite, lies in the series, and has words.
func TestAnalyze_of_anything(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	nasty := []float64{0, 0, 1e-300, 5, 1e5, 1e100, math.NaN(), math.Inf(1), -1}
	for range 400 {
		n := r.IntN(130)
		s := Series{Records: make([]float64, n), MaxSeconds: make([]float64, n), Interrupted: make([]bool, n)}
		resource := make([]float64, n)
		at := 0.0
		for i := range n {
			at += 0.1 + math.Pow(r.Float64(), 8)*30
			rate := nasty[r.IntN(len(nasty))]
			if r.IntN(3) > 0 {
				rate = math.Exp(float64(i/20%3)) * (1 + r.Float64())
			}
			s.Ends, s.Rates = append(s.Ends, at), append(s.Rates, rate)
			s.Records[i], s.MaxSeconds[i], resource[i] = nasty[r.IntN(7)], nasty[r.IntN(8)], nasty[r.IntN(len(nasty))]
			s.Interrupted[i] = r.IntN(20) == 0
		}
		s.Resources = []Resource{{Name: "r", Values: resource}}
		shape := Analyze(s)
		text, err := json.Marshal(shape)
		if err != nil {
			t.Fatalf("%v: %+v", err, s)
		}
		for _, e := range shape.Events {
			if e.From < s.Begin || e.To > at+1e-9 || e.To < e.From {
				t.Fatalf("event %+v outside of %s", e, text)
			}
		}
		for _, f := range shape.Findings(finding.Where{}) {
			if words := finding.Text(f.Message); words == "" || strings.HasPrefix(words, string(f.Code)) {
				t.Fatalf("no words for %s %v", f.Code, f.Params)
			}
		}
		if shape.Kind == "" || len(shape.Kinds) == 0 {
			t.Fatalf("no kind: %s", text)
		}
	}
}

// A change of a kind is as large as the kind says, in the numbers beside it.
func TestAnalyze_kinds_and_numbers_agree(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 7))
	told := 0
	for range 3000 {
		n := 8 + r.IntN(120)
		left, bend := 0.8+0.35*r.Float64(), 0.3+3*r.Float64() // around what a steady rate may change by
		noise := autoregressive(r, n, 0.5*r.Float64(), 0.05*r.Float64())
		s := seconds(noise, func(i int) float64 { return math.Pow(left, math.Pow(float64(i)/float64(n-1), bend)) })
		s.Points = r.IntN(2) == 0
		shape := Analyze(s)
		for _, e := range shape.Events {
			change := e.After/e.Before - 1
			switch e.Kind {
			case Step, Decline, Rise:
				told++
				if down := e.Kind == Decline || e.Kind == Step && change < 0; down && change > -SteadyChange ||
					!down && change < SteadyChange {
					t.Errorf("%s by %.2f %%", e.Kind, 100*change)
				}
			}
		}
	}
	if told < 300 {
		t.Errorf("only %d changes were found", told)
	}
}
