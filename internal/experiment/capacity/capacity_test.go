package capacity

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Objective{
		"p99 < 5ms":      {Percentile, 0.99, 5e6},
		"p99.9<=1.5ms":   {Percentile, 0.999, 1.5e6},
		" p50 < 100us ":  {Percentile, 0.5, 1e5},
		"mean < 1ms":     {Mean, 0, 1e6},
		"errors < 0.1%":  {Errors, 0, 0.001},
		"misses < 0.02":  {Misses, 0, 0.02},
		"misses < 12.5%": {Misses, 0, 0.125},
	} {
		got, err := Parse(text)
		if err != nil || got.Metric != want.Metric || math.Abs(got.Quantile-want.Quantile) > 1e-12 ||
			math.Abs(got.Limit-want.Limit) > 1e-9 {
			t.Errorf("%q: %+v, %v; expected %+v", text, got, err, want)
		}
		if again, err := Parse(got.Text()); err != nil || math.Abs(again.Limit-got.Limit) > 1e-9 ||
			again.Metric != got.Metric {
			t.Errorf("%q is written %q, which reads %+v, %v", text, got.Text(), again, err)
		}
	}
	for text, says := range map[string]string{
		"p99 > 5ms": "form", "p99 < 5": "a time above 0", "p100 < 5ms": "p1 to", "errors < 0": "share", "errors < 3ms": "share",
		"rate < 5ms": "no metric rate", "mean50 < 5ms": "no metric", "p < 5ms": "no metric", "": "form", "p99 < 0ms": "above 0",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, expected %q", text, err, says)
		}
	}
}

func TestObjective_is_written_as_it_was_given(t *testing.T) {
	for text, want := range map[string]string{"p99<5ms": "p99 < 5 ms", "p99.9 < 1.5s": "p99.9 < 1.5 s", "mean < 800us": "mean < 800 µs", "errors < 0.1%": "errors < 0.1%"} {
		if o, err := Parse(text); err != nil || o.String() != want {
			t.Errorf("%q is written %q, %v; expected %q", text, o, err, want)
		}
	}
}

func TestUsed(t *testing.T) {
	c := Counts{Due: 1000, Ended: 995, MeanNS: 2e6, Bad: 0.002, Missed: 0.01, Above: func(float64) uint64 { return 10 }}
	objectives := []Objective{{Percentile, 0.99, 5e6}, {Mean, 0, 4e6}, {Errors, 0, 0.001}, {Misses, 0, 0.1}}
	want := []float64{1.5, 0.5, 2, 0.1, 0.5}
	for i, used := range Used(objectives, c) {
		if math.Abs(used-want[i]) > 1e-9 {
			t.Errorf("objective %d used %v of its limit, expected %v", i, used, want[i])
		}
	}
}

var asked = Asked{Objectives: []Objective{{Percentile, 0.99, 5e6}}, From: 100, To: 1e6, Step: 2 * time.Second,
	Hold: 10 * time.Second}

// searched does a search on a store of which it is known what a step uses and does.
func searched(t *testing.T, asked Asked, start float64, quick bool, store func(step Step, n int) Seen) (*Search,
	[]Step) {
	t.Helper()
	s := NewSearch(asked, start, quick, 1)
	var steps []Step
	for {
		step, more := s.Next()
		if !more {
			return s, steps
		}
		if len(steps) > StepsMost {
			t.Fatal("the search does not end")
		}
		if step.Rate < asked.From/64 || step.Rate > asked.To || step.Length <= 0 {
			t.Fatalf("step %+v is outside of what may be tried", step)
		}
		seen := store(step, len(steps))
		seen.Kind, seen.Rate, seen.Due = step.Kind, step.Rate, uint64(step.Rate*step.Length.Seconds())
		steps = append(steps, step)
		s.Saw(seen)
	}
}

// sharp holds up to a rate, and then does that rate.
func sharp(rate float64) func(Step, int) Seen {
	return func(step Step, _ int) Seen {
		if step.Rate <= rate {
			return Seen{Used: []float64{0.1, 0}, Done: step.Rate}
		}
		return Seen{Used: []float64{90, 10}, Done: rate}
	}
}

func TestSearch_finds_an_edge(t *testing.T) {
	for _, start := range []float64{0, 50, 3000, 12_345, 5e5, 1e9} {
		s, steps := searched(t, asked, start, false, sharp(12_345))
		f := Fit(s.Seen())
		if f.Outcome != Found || math.Abs(f.Rate/12_345-1) > 0.02 {
			t.Errorf("from %v: %s %v, expected 12345", start, f.Outcome, f.Rate)
		}
		if f.Held != RoundDown(f.Held) || f.Held > 12_345 || f.Held < 0.9*12_345 {
			t.Errorf("from %v: held at %v", start, f.Held)
		}
		last := steps[len(steps)-1]
		if last.Kind != Hold || last.Length != asked.Hold {
			t.Errorf("the last step is %+v, expected one that confirms", last)
		}
	}
}

// What is the client's is what delay may explain: a store that is far above its limit is slow by itself.
func TestByClient(t *testing.T) {
	objectives := []Objective{{Percentile, 0.99, 5e6}}
	above := func(slow map[float64]uint64) func(float64) uint64 { // operations of so many ns each
		return func(ns float64) (n uint64) {
			for took, count := range slow {
				if took > ns {
					n += count
				}
			}
			return n
		}
	}
	for name, c := range map[string]struct {
		response, late map[float64]uint64
		never          uint64
		want           float64
	}{
		"in time":                                  {map[float64]uint64{8e6: 300}, map[float64]uint64{2e6: 99}, 0, 0},
		"all of it late":                           {map[float64]uint64{20e6: 300}, map[float64]uint64{18e6: 300}, 0, 3},
		"late by less than the store takes":        {map[float64]uint64{20e6: 300}, map[float64]uint64{2e6: 150}, 0, 0},
		"half of what is slow is late":             {map[float64]uint64{20e6: 300}, map[float64]uint64{18e6: 150}, 0, 1.5},
		"near the limit, which 50 are above alone": {map[float64]uint64{5.5e6: 200}, map[float64]uint64{1.5e6: 150}, 0, 1.5},
		"never begun, and what began was late":     {nil, map[float64]uint64{2e6: 150}, 500, 5},
		"never ended, and all was in time":         {nil, nil, 500, 0},
	} {
		got := ByClient(objectives, Counts{Due: 10_000, Ended: 10_000 - c.never, Above: above(c.response),
			Late: above(c.late)})
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	mean := []Objective{{Mean, 0, 1e6}}
	if got := ByClient(mean, Counts{Due: 10, Ended: 10, MeanNS: 3e6, LateMeanNS: 1e6, Late: above(nil)}); got != 1 {
		t.Errorf("mean: %v", got)
	}
}

func TestSearch_outcomes(t *testing.T) {
	slow := func(step Step, n int) Seen { return sharp(12_345)(step, n) }
	cases := []struct {
		name  string
		store func(Step, int) Seen
		want  Outcome
		rate  float64
	}{
		{"holds everywhere", sharp(1e9), AtLeast, asked.To},
		{"holds nowhere", sharp(1), Below, 2.5},
		{"client late above 8000/s", func(step Step, n int) Seen {
			seen := slow(step, n)
			if step.Rate > 8000 {
				seen.Used[0], seen.ByClient = 50, 49.5
			}
			return seen
		}, Client, 8000},
		{"does a third above its edge", func(step Step, n int) Seen {
			seen := slow(step, n)
			if !seen.Held() {
				seen.Done = 4000
			}
			return seen
		}, Cliff, 12_345},
		{"holds and breaks by turns", func(step Step, n int) Seen {
			if n%2 == 0 {
				return Seen{Used: []float64{0.1, 0}, Done: step.Rate}
			}
			return Seen{Used: []float64{20, 0}, Done: step.Rate}
		}, Unstable, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, _ := searched(t, asked, 1000, false, c.store)
			f := Fit(s.Seen())
			if f.Outcome != c.want || c.rate > 0 && math.Abs(f.Rate/c.rate-1) > 0.03 {
				t.Errorf("%s %v, expected %s %v", f.Outcome, f.Rate, c.want, c.rate)
			}
		})
	}
}

// Where no short step breaks, a longer one confirms the highest rate, or a lower one, or shows that none holds.
func TestSearch_confirms_the_highest_rate(t *testing.T) {
	for name, c := range map[string]struct {
		most float64 // at which a longer step holds
		want Outcome
		rate float64
	}{
		"it holds":                   {1e9, AtLeast, asked.To},
		"nine tenths of it":          {0.95 * asked.To, AtLeast, 0.9 * asked.To},
		"one hiccup of a short step": {2e9, AtLeast, asked.To},
		"no longer step":             {0, Unstable, asked.To},
	} {
		broke := false
		s, steps := searched(t, asked, 5e5, false, func(step Step, n int) Seen {
			if step.Kind == Hold && step.Rate > c.most {
				return Seen{Used: []float64{20, 0}, Done: step.Rate}
			}
			if c.most > 1e9 && step.Rate == asked.To && step.Kind == Bracket && !broke {
				broke = true
				return Seen{Used: []float64{20, 0}, Done: step.Rate}
			}
			return sharp(1e9)(step, n)
		})
		f := Fit(s.Seen())
		if f.Outcome != c.want || math.Abs(f.Rate/c.rate-1) > 0.001 || c.want == AtLeast && f.Held != f.Rate {
			t.Errorf("%s: %s %v, held %v", name, f.Outcome, f.Rate, f.Held)
		}
		if last := steps[len(steps)-1]; last.Kind != Hold || len(steps) > 6 {
			t.Errorf("%s: %d steps, the last %+v", name, len(steps), last)
		}
	}
}

func TestSearch_below_the_lowest_rate(t *testing.T) {
	s, steps := searched(t, asked, 1000, false, sharp(40))
	if f := Fit(s.Seen()); f.Outcome != Found || math.Abs(f.Rate/40-1) > 0.02 {
		t.Errorf("%s %v, expected 40 although the search is from 100 on", f.Outcome, f.Rate)
	}
	if first := steps[0].Rate; first < asked.From {
		t.Errorf("began at %v, below what is asked about", first)
	}
}

// One hiccup breaks a step at each place of the search: none may decide it.
func TestSearch_with_one_hiccup(t *testing.T) {
	_, undisturbed := searched(t, asked, 1000, false, sharp(12_345))
	for at := range undisturbed {
		s, _ := searched(t, asked, 1000, false, func(step Step, n int) Seen {
			seen := sharp(12_345)(step, n)
			if n == at && seen.Held() {
				seen.Used[0] = 8
			}
			return seen
		})
		if f := Fit(s.Seen()); f.Outcome != Found || math.Abs(f.Rate/12_345-1) > 0.04 {
			t.Errorf("a hiccup in step %d (%s at %v): %s %v", at, undisturbed[at].Kind, undisturbed[at].Rate, f.Outcome, f.Rate)
		}
	}
}

func TestSearch_does_disturbed_steps_again(t *testing.T) {
	for name, every := range map[string]int{"one of three": 3, "one of two": 2, "all": 1} {
		again := 0
		s := NewSearch(asked, 1000, false, 1)
		for n := 0; ; n++ {
			step, more := s.Next()
			if !more {
				break
			}
			seen := sharp(12_345)(step, n)
			seen.Kind, seen.Rate, seen.Due = step.Kind, step.Rate, uint64(step.Rate*step.Length.Seconds())
			if seen.Disturbed = n%every == 0; seen.Disturbed {
				seen.Used[0] = 5
			}
			if s.Saw(seen) {
				again++
			}
		}
		f := Fit(s.Seen())
		if again == 0 || again > againAllMost {
			t.Errorf("%s: %d steps done again", name, again)
		}
		if every == 3 && (f.Outcome != Found || math.Abs(f.Rate/12_345-1) > 0.03) {
			t.Errorf("%s: %s %v", name, f.Outcome, f.Rate)
		}
		if every == 1 && f.Outcome == Found {
			t.Errorf("%s: a capacity, %v, of a store that held nowhere", name, f.Rate)
		}
	}
}

func TestFit_leaves_out_steps_that_are_done_again(t *testing.T) {
	s, _ := searched(t, asked, 1000, false, sharp(12_345))
	seen := s.Seen()
	want := Fit(seen)
	with := append([]Seen{{Kind: Edge, Rate: 5000, Used: []float64{90, 90}, Again: true}}, seen...)
	if got := Fit(with); got.Rate != want.Rate || got.Outcome != want.Outcome {
		t.Errorf("%+v, expected %+v", got, want)
	}
}

func TestSearch_of_a_store_that_does_not_recover(t *testing.T) {
	broken := false
	s, _ := searched(t, asked, 1000, false, func(step Step, n int) Seen {
		now := sharp(12_345)
		if broken {
			now = sharp(3000)
		}
		seen := now(step, n)
		broken = broken || !seen.Held()
		return seen
	})
	if f := Fit(s.Seen()); f.Outcome != NoRecovery {
		t.Errorf("%s %v, expected %s", f.Outcome, f.Rate, NoRecovery)
	}
}

func TestSearch_reports_which_objective_breaks_first(t *testing.T) {
	a := asked
	a.Objectives = append(slices.Clone(a.Objectives), Objective{Errors, 0, 0.001})
	s, _ := searched(t, a, 1000, false, func(step Step, n int) Seen {
		latency, errors := sharp(20_000)(step, n), sharp(12_345)(step, n)
		return Seen{Used: []float64{latency.Used[0], errors.Used[0], latency.Used[1]}, Done: latency.Done}
	})
	f := Fit(s.Seen())
	if math.Abs(f.Rate/12_345-1) > 0.02 || math.Abs(f.Each[1]/f.Rate-1) > 0.02 || f.Each[0] > 0 && f.Each[0] < 15_000 {
		t.Errorf("capacity %v, of each objective %v", f.Rate, f.Each)
	}
}

func TestSearch_quick_ends_with_its_bracket(t *testing.T) {
	s, steps := searched(t, asked, 1000, true, sharp(12_345))
	if f := Fit(s.Seen()); math.Abs(f.Rate/12_345-1) > 0.15 || len(steps) > 12 {
		t.Errorf("%v after %d steps", f.Rate, len(steps))
	}
}

func TestLength(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		rate float64
		want time.Duration
	}{
		{Edge, 10_000, 2 * time.Second},            // 200 operations beyond p99
		{Edge, 2000, 5 * time.Second},              // 100 beyond it
		{Edge, 100, 8 * time.Second},               // no longer than four times
		{Bracket, 10_000, time.Second},             // half
		{Edge, 40e6, 200 * time.Millisecond},       // no shorter
		{Edge, 10_000_000, 400 * time.Millisecond}, // four million operations
	} {
		if got := asked.Length(c.kind, c.rate); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("%s at %v/s takes %s, expected %s", c.kind, c.rate, got, c.want)
		}
	}
}

func TestRoundDown(t *testing.T) {
	for rate, want := range map[float64]float64{12_345: 12_300, 999.9: 999, 0.01239: 0.0123, 0: 0} {
		if got := RoundDown(rate); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is rounded to %v, expected %v", rate, got, want)
		}
	}
}

// What a plan says of a search is what it comes to, on stores that are fast, slow, or beyond what is tried.
func TestTakes(t *testing.T) {
	for name, of := range map[string]struct {
		asked Asked
		rate  float64 // the store's
		quick bool
	}{
		"fast":                   {asked, 100_000, false},
		"slow":                   {asked, 700, false},
		"very fast":              {asked, 900_000, false},
		"does all that is tried": {Asked{Objectives: asked.Objectives, From: 500, To: 20_000, Step: 5e8, Hold: 1e9}, 80_000, false},
		"and from far below":     {Asked{Objectives: asked.Objectives, From: 10, To: 20_000, Step: 5e8, Hold: 1e9}, 22_000, false},
		"short steps":            {Asked{Objectives: asked.Objectives, From: 10, To: 1e9, Step: 5e8, Hold: 1e9}, 15_000, false},
		"a null driver":          {asked, 700_000, true},
	} {
		store := sharp(of.rate)
		_, steps := searched(t, of.asked, StartShare*of.rate, of.quick, store)
		sum := of.asked.Length(Closed, of.asked.To).Seconds()
		for _, step := range steps {
			sum += step.Length.Seconds()
		}
		n, seconds := of.asked.Takes(of.rate, of.quick)
		if ratio := seconds / sum; ratio < 1/1.5 || ratio > 1.5 {
			t.Errorf("%s: %.1f s in %d steps, expected %.1f s in %d", name, seconds, n, sum, len(steps)+1)
		}
		if ratio := float64(n) / float64(len(steps)+1); ratio < 1/1.5 || ratio > 1.5 {
			t.Errorf("%s: %d steps, expected %d", name, n, len(steps)+1)
		}
	}
}
