package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// loads are a rate over time in each form, and the same rate as a function of seconds, written
// another way.
var loads = []struct {
	name     string
	segments []Segment
	rate     func(second float64) float64
}{
	{"step", []Segment{{Form: FormStep, To: 5000, Duration: 5 * time.Second}}, func(float64) float64 { return 5000 }},
	{"steps", []Segment{{Form: FormStep, To: 1000, Duration: 2500 * time.Millisecond}, {Form: FormStep, To: 0, Duration: time.Second}, {Form: FormStep, To: 7000.5, Duration: 3 * time.Second}},
		func(s float64) float64 {
			switch {
			case s < 2.5:
				return 1000
			case s < 3.5:
				return 0
			}
			return 7000.5
		}},
	{"ramp", []Segment{{Form: FormRamp, From: 0, To: 20_000, Duration: 10 * time.Second}}, func(s float64) float64 { return 2000 * s }},
	{"ramp down", []Segment{{Form: FormRamp, From: 9000, To: 1000, Duration: 8 * time.Second}}, func(s float64) float64 { return 9000 - 1000*s }},
	{"burst", []Segment{{Form: FormBurst, From: 2000, To: 50_000, Every: 4 * time.Second, Length: 500 * time.Millisecond, Duration: 10 * time.Second}},
		func(s float64) float64 {
			if in := math.Mod(s, 4); in >= 1.75 && in < 2.25 {
				return 50_000
			}
			return 2000
		}},
	{"sine", []Segment{{Form: FormSine, From: 100, To: 10_000, Every: 7 * time.Second, Duration: 16 * time.Second}},
		func(s float64) float64 { return 5050 - 4950*math.Cos(2*math.Pi*s/7) }},
	{"file", []Segment{{Form: FormFile, Duration: 4 * time.Second, Points: []Point{{0, 1000}, {time.Second, 3000}, {time.Second, 500}, {4 * time.Second, 8000}}}},
		func(s float64) float64 {
			if s < 1 {
				return 1000 + 2000*s
			}
			return 500 + 2500*(s-1)
		}},
}

func end(segments []Segment) (end time.Duration) {
	for _, s := range segments {
		end += s.Duration
	}
	return end
}

// integral sums a rate over a stretch of time, in steps of its own.
func integral(rate func(float64) float64, from, to float64) (sum float64) {
	const steps = 20_000
	for i := range steps {
		sum += rate(from + (float64(i)+0.5)*(to-from)/steps)
	}
	return sum * (to - from) / steps
}

func loadSpec(segments []Segment) Spec {
	return Spec{Mix: []Share{{Read, 1}}, Records: 1000, Fresh: 1000, Order: Order{Distribution: Uniform},
		Threads: 4, Seed: 7, Rate: 1, Segments: segments}
}

// allDue returns when each operation of a trace is due, in order.
func allDue(f *File) (due []uint64) {
	for i := range f.Threads {
		due = append(due, f.Threads[i].Due...)
	}
	slices.Sort(due)
	return due
}

// In each second, and in each burst, as many operations are due as the rate's integral says: within
// 0.1 %, or one operation.
func TestLoadOverTimeIsExactInEachSecond(t *testing.T) {
	for _, c := range loads {
		for _, arrivals := range []Arrivals{Poisson, Constant} {
			for _, threads := range []int{1, 3, 64} {
				t.Run(fmt.Sprintf("%s %s %d", c.name, arrivals, threads), func(t *testing.T) {
					s := loadSpec(c.segments)
					s.Arrivals, s.Threads = arrivals, threads
					s.EndNS = uint64(end(c.segments))
					f := generate(t, s)
					due := allDue(f)
					cuts := []float64{0, end(c.segments).Seconds()}
					for at := 1.0; at < cuts[1]; at++ {
						cuts = append(cuts, at)
					}
					if c.name == "burst" {
						cuts = append(cuts, 1.75, 2.25, 5.75, 6.25, 9.75)
					}
					slices.Sort(cuts)
					for i, from := range cuts[:len(cuts)-1] {
						to := cuts[i+1]
						first, _ := slices.BinarySearch(due, uint64(math.Round(from*1e9)))
						last, _ := slices.BinarySearch(due, uint64(math.Round(to*1e9)))
						asked := integral(c.rate, from, to)
						if sent := float64(last - first); math.Abs(sent-asked) > max(1.01, 0.001*asked) {
							t.Errorf("%g to %g s: %g operations are due, %.1f were asked for", from, to, sent, asked)
						}
					}
					if asked := integral(c.rate, 0,
						cuts[len(cuts)-1]); math.Abs(float64(len(due))-asked) > max(1.01, 0.0001*asked) {
						t.Errorf("%d operations in all, %.1f were asked for", len(due), asked)
					}
				})
			}
		}
	}
}

// Evenly spread operations are due where the integral passes each whole number.
func TestConstantArrivalsFollowTheRateWithinASecond(t *testing.T) {
	for _, c := range loads {
		s := loadSpec(c.segments)
		s.Arrivals = Constant
		due := allDue(generate(t, s))
		for _, i := range []int{0, 1, len(due) / 3, len(due) / 2, len(due) - 1} {
			at := float64(due[i]) / 1e9
			if sum := integral(c.rate, 0, at); math.Abs(sum-float64(i)) > 1+0.001*float64(i) {
				t.Errorf("%s: operation %d is due at %g s, until when %.1f were asked for", c.name, i, at, sum)
			}
		}
	}
}

// Gaps of a thread under poisson arrivals are exponential: their standard deviation is their mean.
func TestPoissonArrivalsAreIrregularOverTime(t *testing.T) {
	s := loadSpec([]Segment{{Form: FormRamp, From: 20_000, To: 20_001, Duration: 20 * time.Second}})
	f := generate(t, s)
	due := f.Threads[1].Due
	var sum, squares float64
	for i := range due[1:] {
		gap := float64(due[i+1] - due[i])
		sum, squares = sum+gap, squares+gap*gap
	}
	n := float64(len(due) - 1)
	mean := sum / n
	if ratio := math.Sqrt(squares/n-mean*mean) / mean; ratio < 0.97 || ratio > 1.03 {
		t.Errorf("the gaps' standard deviation is %.3f of their mean, expected 1", ratio)
	}
}

func TestLoadOverTimeEndsWithItsOperationsOrSegments(t *testing.T) {
	segments := []Segment{{Form: FormRamp, From: 0, To: 10_000, Duration: 2 * time.Second}}
	s := loadSpec(segments)
	s.Limit = 700
	if due := allDue(generate(t, s)); len(due) != 700 {
		t.Errorf("%d operations are due, 700 were asked for", len(due))
	}
	s = loadSpec(segments)
	s.FromNS, s.EndNS = 3e9, 2e9
	f := generate(t, s)
	if due := allDue(f); due[0] < 3e9 || due[len(due)-1] >= 5e9 {
		t.Errorf("due from %d to %d ns, expected from 3 s to 5 s", due[0], due[len(due)-1])
	}
	for i := range f.Threads {
		if n := uint64(len(f.Threads[i].Entries)); f.Threads[i].Limit != n {
			t.Errorf("thread %d does %d of its %d entries", i, f.Threads[i].Limit, n)
		}
	}
	s = loadSpec([]Segment{{Form: FormStep, To: 1, Duration: 2 * time.Second}})
	if due := allDue(generate(t, s)); len(due) != 2 {
		t.Errorf("two operations over four threads: %d", len(due))
	}
}

// Orders that visit each record, batches and requests go on for as long as the rate does.
func TestLoadOverTimeOfEveryKindOfWork(t *testing.T) {
	segments := []Segment{{Form: FormRamp, From: 0, To: 4000, Duration: 2 * time.Second}}
	for name, change := range map[string]func(*Spec){
		"sequential": func(s *Spec) { s.Order.Distribution, s.Records = Sequential, 10 },
		"shuffled":   func(s *Spec) { s.Order.Distribution, s.Records = Shuffled, 10 },
		"latest": func(s *Spec) {
			s.Order = Order{Distribution: Latest, Theta: 0.99}
			s.Mix = []Share{{Read, 1}, {Insert, 1}}
		},
		"batches": func(s *Spec) {
			s.Order.Distribution, s.Mix, s.Batch = Shuffled, []Share{{Update, 1}}, 7
		},
		"requests": func(s *Spec) { s.Mix, s.Request = nil, []Step{{Operation: Read}, {Operation: Update}} },
	} {
		s := loadSpec(segments)
		s.Sizes = oneSize
		change(&s)
		f := generate(t, s)
		operations := 0
		for i := range f.Threads {
			for _, e := range f.Threads[i].Entries {
				if o := e.Operation(); !e.IsMember() && (len(s.Request) == 0 || o == Request) {
					operations++
				}
			}
		}
		if operations != 4000 {
			t.Errorf("%s: %d operations, expected 4000", name, operations)
		}
	}
}

func TestImpossibleLoadsAreRefused(t *testing.T) {
	second := time.Second
	for want, s := range map[string]Segment{
		"no length":           {Form: FormStep, To: 5},
		"expected 0 to 1e9":   {Form: FormStep, To: 2e9, Duration: second},
		"without a period":    {Form: FormSine, To: 5, Duration: second},
		"a burst of 2s":       {Form: FormBurst, To: 5, Every: second, Length: 2 * second, Duration: 9 * second},
		"no operation":        {Form: FormStep, To: 0.1, Duration: second},
		"unknown form":        {Form: "square", To: 5, Duration: second},
		"do not span":         {Form: FormFile, Duration: second, Points: []Point{{0, 1}}},
		"is before the one":   {Form: FormFile, Duration: second, Points: []Point{{0, 1}, {2 * second, 1}, {second, 1}}},
		"are too many":        {Form: FormSine, To: 5, Every: time.Microsecond, Duration: second},
		"entries that a trac": {Form: FormStep, To: 1e9, Duration: second},
	} {
		if _, err := Generate(loadSpec([]Segment{s})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, expected one with %q", s, err, want)
		}
	}
}

func TestOwnCosineAgreesWithMath(t *testing.T) {
	for i := range 10_000 {
		turn := float64(i) / 10_000
		if got, want := cosine(turn), math.Cos(2*math.Pi*turn); math.Abs(got-want) > 1e-15*8 {
			t.Fatalf("cosine of %g turns: %v, math has %v", turn, got, want)
		}
	}
}
