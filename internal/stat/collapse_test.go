package stat

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// everySecond is a series that begins at 0 and has a sample a second.
func everySecond(rates []float64) Series {
	s := Series{Rates: rates, Ends: make([]float64, len(rates))}
	for i := range s.Ends {
		s.Ends[i] = float64(i + 1)
	}
	return s
}

// article is S1's curve: half a minute between 104,000 and 144,000, and then what was printed.
func article() Series {
	r := source("article", 0, 0)
	var rates []float64
	for range 30 {
		rates = append(rates, 104_000+40_000*r.Float64())
	}
	return everySecond(append(rates, 48060, 6901, 4987, 46229, 46686, 45402, 6271, 810, 33895, 46548, 47025, 6995, 860))
}

func TestTheArticlesCollapse(t *testing.T) {
	c := Describe(article())
	if !slices.Equal(c.Shapes, []Shape{ShapeCliff, ShapeOscillation, ShapeStalls}) {
		t.Fatalf("shapes %v: %+v", c.Shapes, c)
	}
	cliff := c.Cliffs[0]
	if cliff.At != 30 || cliff.Seconds != 30 || !cliff.SecondsInterval.Contains(30) || cliff.Left > 0.4 || !cliff.LeftInterval.Contains(cliff.Left) {
		t.Errorf("cliff %+v", cliff)
	}
	a := c.Alternations[0]
	if len(c.Cliffs) != 1 || !near(a.High, 46_500, 1000) || !near(a.Low, 6_600, 700) || a.Switches != 5 {
		t.Errorf("oscillation %+v", a)
	}
}

func TestShapes(t *testing.T) {
	r := source("shapes", 0, 0)
	noise := autoregressive(r, 120, 0.4, 0.05)
	long := autoregressive(source("long shapes", 0, 0), 300, 0.4, 0.05)
	grown := func(s Series, perSecond float64) Series {
		total := 0.0
		for _, rate := range s.Rates {
			total += rate * perSecond
			s.Records = append(s.Records, total)
		}
		return s
	}
	for _, c := range []struct {
		name   string
		series Series
		want   []Shape
	}{
		{"steady", everySecond(ratesOf(noise, constant)), []Shape{ShapeSteady}},
		{"cliff", everySecond(ratesOf(noise, fallAt(70, 0.4))), []Shape{ShapeCliff}},
		{"two cliffs", everySecond(ratesOf(noise, func(i int) float64 { return fallAt(40, 0.5)(i) * fallAt(80, 0.5)(i) })), []Shape{ShapeCliff}},
		{"decline over time", everySecond(ratesOf(noise, func(i int) float64 { return math.Exp(-0.01 * float64(i)) })), []Shape{ShapeDecline}},
		{"decline over records", grown(everySecond(ratesOf(noise, func(i int) float64 { return math.Pow(float64(i+1), -0.4) })), 1), []Shape{ShapeDecline}},
		{"a decline that ends in a cliff", everySecond(ratesOf(noise, func(i int) float64 { return math.Exp(-0.005*float64(i)) * fallAt(80, 0.7)(i) })), []Shape{ShapeCliff, ShapeDecline}},
		{"stalls", everySecond(ratesOf(noise, func(i int) float64 {
			if i%20 == 13 {
				return 0.02
			}
			return 1
		})), []Shape{ShapeSteady, ShapeStalls}},
		{"two levels", everySecond(ratesOf(noise, func(i int) float64 { return 1 - 0.8*float64(i/3%2) })), []Shape{ShapeOscillation}},
		{"slow two levels", everySecond(ratesOf(noise, func(i int) float64 { return 1 - 0.8*float64(i/15%2) })), []Shape{ShapeOscillation}},
		{"there and back", everySecond(ratesOf(noise, func(i int) float64 { return 1 - 0.5*float64(i/40%2) })), []Shape{ShapeStepped}},
		{"rise", everySecond(ratesOf(noise, func(i int) float64 { return math.Exp(0.01 * float64(i)) })), []Shape{ShapeRise}},
		{"linear rise", everySecond(ratesOf(long, func(i int) float64 { return 0.1 + 0.9*float64(i)/299 })), []Shape{ShapeRise}},
		{"linear fall", everySecond(ratesOf(long, func(i int) float64 { return 1 - 0.9*float64(i)/299 })), []Shape{ShapeDecline}},
		{"it declines and settles", everySecond(ratesOf(long, func(i int) float64 { return math.Exp(-float64(min(i, 100)) / 80) })), []Shape{ShapeDecline}},
		{"a sine", everySecond(ratesOf(autoregressive(r, 600, 0.4, 0.05), func(i int) float64 { return 1 + 0.5*math.Sin(float64(i)*2*math.Pi/60) })), []Shape{ShapeStepped}},
		{"a fall in the last three", everySecond(ratesOf(noise, fallAt(117, 0.8))), []Shape{ShapeStepped}},
		{"nothing in the last three", everySecond(ratesOf(noise, fallAt(117, 1))), []Shape{ShapeStepped, ShapeStalls}},
		{"nine samples", everySecond(ratesOf(noise[:9], constant)), []Shape{ShapeTooShort}},
		{"bursts", everySecond(ratesOf(noise, func(i int) float64 { return float64(max(i%10-8, 0)) })), []Shape{ShapeTooShort}},
		{"nothing", everySecond(make([]float64, 60)), []Shape{ShapeTooShort}},
		{"none", Series{}, []Shape{ShapeTooShort}},
	} {
		got := Describe(c.series)
		if !slices.Equal(got.Shapes, c.want) {
			t.Errorf("%s: %v (%s), want %v: %+v", c.name, got.Shapes, got.Why, c.want, got)
		}
		if c.name == "stalls" && (got.StallPeriod == nil || !got.StallPeriod.Interval.Contains(20)) {
			t.Errorf("stalls every 20 s: period %+v", got.StallPeriod)
		}
		if fell := strings.HasSuffix(c.name, "in the last three"); fell != (got.LastFall != nil) || fell && (got.LastFall.From != 117 || !near(got.SteadyRate, simulatedRate, 2000)) {
			t.Errorf("%s: last fall %+v, before it %v", c.name, got.LastFall, got.SteadyRate)
		}
		if c.name == "a sine" && (got.Swing == nil || !got.Swing.Interval.Contains(60)) {
			t.Errorf("a sine of 60 s: %+v", got.Swing)
		}
		if c.name == "decline over records" && (got.Declines[0].Basis != OverRecords || got.Declines[0].HalfAt == nil) {
			t.Errorf("decline %+v", got.Declines[0])
		}
	}
}

// TestADeclinesHalf: 100,000/s less the factor e for each 10 million records: half is left 6.9 million later.
func TestADeclinesHalf(t *testing.T) {
	noise := autoregressive(source("half", 0, 0), 200, 0.4, 0.05)
	total := 0.0
	var records []float64
	s := everySecond(ratesOf(noise, func(int) float64 {
		rate := math.Exp(-total / 10e6)
		total += rate * simulatedRate
		records = append(records, total)
		return rate
	}))
	s.Records = records
	d := Describe(s).Declines
	if len(d) != 1 || d[0].Form != LogLin || d[0].HalfInterval == nil || d[0].Extrapolated {
		t.Fatalf("declines %+v", d)
	}
	if early := records[10]; !d[0].HalfInterval.Contains(early+6.93e6) || !d[0].SlopeInterval.Contains(-1e-7) {
		t.Errorf("half at %v in %+v, slope %v", *d[0].HalfAt, d[0].HalfInterval, d[0].Slope)
	}
}

// What was stored at a cliff lies in its interval, and so does what was stored at both ends of the interval of its time, whichever way it went.
func TestACliffWhereRecordsShrink(t *testing.T) {
	s := everySecond(ratesOf(autoregressive(source("shrink", 0, 0), 60, 0.3, 0.05), fallAt(30, 0.7)))
	left := 1e7
	for _, rate := range s.Rates {
		left -= rate
		s.Records = append(s.Records, left)
	}
	c := Describe(s).Cliffs
	if len(c) != 1 {
		t.Fatalf("cliffs %+v", c)
	}
	for _, at := range []float64{c[0].Seconds, c[0].SecondsInterval.Low, c[0].SecondsInterval.High} {
		if stored := s.Records[int(at)-1]; !c[0].RecordsInterval.Contains(stored) {
			t.Errorf("at %v s there were %v records, which %+v does not hold", at, stored, c[0].RecordsInterval)
		}
	}
	if c[0].RecordsInterval.Low >= *c[0].Records || c[0].RecordsInterval.High <= *c[0].Records {
		t.Errorf("%v records in %+v", *c[0].Records, c[0].RecordsInterval)
	}
}

func TestTheSteadyRateLeavesOutTheWarmup(t *testing.T) {
	c := Describe(everySecond(ratesOf(autoregressive(source("warm", 0, 0), 120, 0.3, 0.02), func(i int) float64 {
		if i < 20 {
			return 0
		}
		return 1
	})))
	if !c.Has(ShapeSteady) || c.SteadyFrom < 20 || !near(c.SteadyRate, simulatedRate, 1000) || !c.SteadySpread.Contains(c.SteadyRate) || !near(c.Rate, simulatedRate*100/120, 2000) {
		t.Errorf("%v from %d on in %+v, %v in all: %v", c.SteadyRate, c.SteadyFrom, c.SteadySpread, c.Rate, c.Shapes)
	}
}

// Where samples are longer than what counts as near, the sample beside a cliff does.
func TestWhatGoesWithACliffOfMinutes(t *testing.T) {
	r := source("minutes", 0, 0)
	s := Series{Rates: ratesOf(autoregressive(r, 100, 0.3, 0.05), fallAt(50, 0.6))}
	faults := autoregressive(r, 100, 0.3, 1)
	for i := range s.Rates {
		s.Ends = append(s.Ends, 60*float64(i+1))
		if i >= 51 {
			faults[i] += 50
		}
	}
	s.Resources = []Resource{{Name: "faults", Values: faults}}
	if got := Describe(s).Coincidences; len(got) != 1 || got[0].Kind != WithCliff || got[0].Seconds != 51*60 {
		t.Errorf("%+v", got)
	}
}

func TestWhatGoesWithACliff(t *testing.T) {
	r := source("with", 0, 0)
	s := everySecond(ratesOf(autoregressive(r, 200, 0.4, 0.05), fallAt(100, 0.6)))
	step := func(at int, from, to float64) []float64 {
		values := autoregressive(r, 200, 0.3, 1)
		for i := range values {
			values[i] += from
			if i >= at {
				values[i] += to - from
			}
		}
		return values
	}
	counter := make([]float64, 200)
	for i := 1; i < 200; i++ {
		counter[i] = counter[i-1] + step(101, 100, 200)[i]
	}
	s.Resources = []Resource{{"faults", false, step(102, 10, 90)}, {"late", false, step(106, 10, 90)}, {"compactions", true, counter}, {"still", false, make([]float64, 200)}}
	got := Describe(s).Coincidences
	if len(got) != 2 || got[0].Resource != "compactions" || !got[0].PerSecond || got[1].Resource != "faults" || got[1].Seconds != 102 || !near(got[1].After, 90, 2) {
		t.Fatalf("%+v", got)
	}
}

func TestWhatMovesWithTheRate(t *testing.T) {
	r := source("moves", 0, 0)
	noise := autoregressive(r, 200, 0.4, 0.1)
	other := autoregressive(r, 200, 0.4, 0.1)
	mixed := make([]float64, 200)
	for i := range mixed {
		mixed[i] = -noise[i] + 0.5*other[i]
	}
	s := everySecond(ratesOf(noise, constant))
	s.Resources = []Resource{{Name: "iowait", Values: mixed}, {Name: "else", Values: autoregressive(r, 200, 0.4, 1)}}
	got := Describe(s).Coincidences
	if len(got) != 1 || got[0].Resource != "iowait" || got[0].Rank > -0.6 || got[0].P > 0.01 {
		t.Errorf("%+v", got)
	}
}

func TestRanks(t *testing.T) {
	if got := ranks([]float64{10, 30, 20, 20}); !slices.Equal(got, []float64{0, 3, 1.5, 1.5}) {
		t.Errorf("%v", got)
	}
}

func TestPeriodsMayMissABeat(t *testing.T) {
	if p := FindPeriod([]float64{10, 40.2, 70, 130.1, 160, 190}, 2); p == nil || !near(p.Seconds, 30, 0.1) || !p.Interval.Contains(30) {
		t.Errorf("%+v", p)
	}
	if p := FindPeriod([]float64{10, 12, 50, 61, 99, 140, 171}, 2); p != nil {
		t.Errorf("found in nothing: %+v", p)
	}
}

// drawSeries draws a series with structure: levels, stalls, noise.
func drawSeries(t *rapid.T) Series {
	n := rapid.IntRange(0, 90).Draw(t, "samples")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	rates := make([]float64, 0, n)
	level := 1000.0
	for i := range n {
		if i%13 == 0 && r.IntN(3) == 0 {
			level = 1000 * math.Exp(2*r.NormFloat64())
		}
		rate := level * math.Exp(0.1*r.NormFloat64())
		if r.IntN(20) == 0 {
			rate = 0
		}
		rates = append(rates, rate)
	}
	return everySecond(rates)
}

// said is what is said of the rate, without figures that carry a unit.
func said(c Course) (words []string) {
	for _, shape := range c.Shapes {
		words = append(words, string(shape))
	}
	for _, cliff := range c.Cliffs {
		words = append(words, "cliff at", string(rune('a'+cliff.At)))
	}
	for _, stall := range c.Stalls {
		words = append(words, "stall", string(rune('a'+stall.From)), string(rune('a'+stall.To)))
	}
	for _, d := range c.Declines {
		words = append(words, string(d.Form), string(d.Basis))
	}
	for _, a := range c.Alternations {
		words = append(words, "switches", string(rune('a'+a.Switches)))
	}
	return words
}

func TestTheUnitOfTheRateDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeries(t)
		scaled := s
		scaled.Rates = make([]float64, len(s.Rates))
		power := rapid.IntRange(-20, 20).Draw(t, "power of two") // exact, so that nothing can tip over by rounding
		for i, r := range s.Rates {
			scaled.Rates[i] = math.Ldexp(r, power)
		}
		if a, b := said(Describe(s)), said(Describe(scaled)); !slices.Equal(a, b) {
			t.Fatalf("%v became %v", a, b)
		}
	})
}

func TestTheStartOfTheClockDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeries(t)
		moved := s
		by := float64(rapid.IntRange(-1000, 1_000_000).Draw(t, "seconds"))
		moved.Begin += by
		moved.Ends = make([]float64, len(s.Ends))
		for i, at := range s.Ends {
			moved.Ends[i] = at + by
		}
		a, b := Describe(s), Describe(moved)
		if !slices.Equal(said(a), said(b)) {
			t.Fatalf("%v became %v", said(a), said(b))
		}
		for i := range a.Cliffs {
			if a.Cliffs[i].Seconds+by != b.Cliffs[i].Seconds {
				t.Fatalf("cliff at %v became %v", a.Cliffs[i].Seconds, b.Cliffs[i].Seconds)
			}
		}
	})
}

func TestResourcesNeverDecideWhatIsSaidOfTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeries(t)
		alone := Describe(s)
		value := rapid.OneOf(rapid.Just(math.NaN()), rapid.Float64Range(-1e12, 1e12))
		for range rapid.IntRange(1, 3).Draw(t, "resources") {
			s.Resources = append(s.Resources, Resource{Name: "x", Engine: rapid.Bool().Draw(t, "engine"), Values: rapid.SliceOfN(value, len(s.Rates), len(s.Rates)).Draw(t, "values")})
		}
		with := Describe(s)
		if _, err := json.Marshal(with); err != nil {
			t.Fatal(err)
		}
		with.Coincidences = nil
		if !reflect.DeepEqual(alone, with) {
			t.Fatalf("%+v\nbecame\n%+v", alone, with)
		}
	})
}

func TestDoubtsAreSaid(t *testing.T) {
	s := everySecond(ratesOf(autoregressive(source("doubts", 0, 0), 60, 0.3, 0.03), fallAt(53, 0.6)))
	for i := range s.Ends {
		s.Ends[i] += 0.4 * float64(i%2)
	}
	var codes []string
	for _, w := range Describe(s).Warnings {
		codes = append(codes, w.Code)
	}
	if got := strings.Join(codes, " "); got != WarnIrregular+" "+WarnRecentFall {
		t.Errorf("warnings %q", got)
	}
}

// A last sample that was cut short is no reason to doubt; one in the middle is.
func TestShortSamplesAreToldOf(t *testing.T) {
	s := everySecond(ratesOf(autoregressive(source("short", 0, 0), 60, 0.3, 0.03), constant))
	s.Ends[59] -= 0.6
	if got := Describe(s).Warnings; len(got) != 0 {
		t.Errorf("%+v", got)
	}
	s.Ends[30] -= 0.6
	if got := Describe(s).Warnings; len(got) != 1 || got[0].Code != WarnIrregular {
		t.Errorf("%+v", got)
	}
}

// What comes out goes into JSON, which has neither NaN nor infinity, whatever somebody's file holds.
func TestWildColumnsStayFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "samples")
		rate := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1e300), rapid.Float64Range(0, 1e-300), rapid.Float64Range(1, 2))
		any := rapid.OneOf(rapid.Just(math.NaN()), rapid.Just(0.0), rapid.Float64Range(-1e300, 1e300), rapid.Float64Range(0, 10))
		s := Series{Rates: rapid.SliceOfN(rate, n, n).Draw(t, "rates")}
		at := rapid.Float64Range(-1e9, 1e9).Draw(t, "begin")
		s.Begin = at
		for range n {
			at += rapid.Float64Range(1e-3, 1e6).Draw(t, "length")
			s.Ends = append(s.Ends, at)
		}
		s.Records = rapid.SliceOfN(any, n, n).Draw(t, "records")
		slices.Sort(s.Records)
		s.Bytes = rapid.SliceOfN(any, n, n).Draw(t, "bytes")
		s.Resources = []Resource{{Name: "x", Values: rapid.SliceOfN(any, n, n).Draw(t, "x")}}
		if _, err := json.Marshal(Describe(s)); err != nil {
			t.Fatal(err)
		}
	})
}

// A resource that begins as the rate takes its steepest step goes with it, however restless it is from then on; one that begins elsewhere does not.
func TestAnOnsetGoesWithTheSteepestStep(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const n = 120
	rates := make([]float64, n)
	for i, noise := range autoregressive(r, n, 0.3, 0.03) {
		level := 120e3
		switch {
		case i >= 90:
			level = 14e3
		case i >= 60:
			level = 22e3
		case i >= 40:
			level = 30e3 // the steepest
		case i >= 20:
			level = 105e3
		}
		rates[i] = level * math.Exp(noise)
	}
	s := everySecond(rates)
	begins := func(at int) []float64 {
		values := make([]float64, n)
		for i, noise := range autoregressive(r, n, 0.8, 0.3) {
			if i >= at {
				values[i] = 100 * math.Exp(noise)
			}
		}
		return values
	}
	s.Resources = []Resource{{Name: "reads", Values: begins(41)}, {Name: "other", Values: begins(100)}}
	total := 0.0
	for _, rate := range rates {
		total += rate
		s.Records = append(s.Records, total)
	}
	c := Describe(s)
	var names []string
	for _, with := range c.Coincidences {
		if with.Kind != WithRate {
			names = append(names, with.Resource)
			if !with.Onset || with.Seconds < 40 || with.Seconds > 42 {
				t.Errorf("%+v", with)
			}
		}
	}
	if len(names) == 0 || slices.Contains(names, "other") {
		t.Errorf("%v go with the falls: declines %+v, cliffs %+v", names, c.Declines, c.Cliffs)
	}
}

// A few fast samples before many loud, slow ones: a measured Tokyo Cabinet hash of 159,000 records a second for five samples, then of 7,000.
func TestAFewFastSamplesBeforeLoudOnes(t *testing.T) {
	c := Describe(everySecond([]float64{172247, 162383, 157709, 154109, 149429, 11936, 6460, 6635, 2880, 10748, 6650, 6022, 5555, 3906, 13569, 28293, 3382, 1257, 1368, 1213}))
	if len(c.Cliffs) != 1 || c.Cliffs[0].At != 5 || c.Cliffs[0].P > 0.001 || c.Cliffs[0].LeftInterval.High > 0.5 {
		t.Errorf("%v: %+v", c.Shapes, c.Cliffs)
	}
	if found := share("few", 0, 50, func(r *rand.Rand) bool {
		rates := make([]float64, 40)
		for i := range rates {
			rates[i] = 5000 * math.Exp(0.9*r.NormFloat64())
			if i < 6 {
				rates[i] = 100_000 * math.Exp(0.05*r.NormFloat64())
			}
		}
		c := Describe(everySecond(rates)).Cliffs
		return len(c) == 1 && c[0].At == 6
	}); found < 0.85 {
		t.Errorf("%v of such falls found", found)
	}
}

// What is over is no cliff: the rate is where it was before the burst.
func TestABurstEndsInNoCliff(t *testing.T) {
	r := source("burst", 0, 0)
	for _, seconds := range []int{5, 8, 30} {
		for _, times := range []float64{2, 5} {
			if c := Describe(everySecond(burst(seconds, times)(r, 180))); len(c.Cliffs) > 0 {
				t.Errorf("%d s at %v times: %+v", seconds, times, c.Cliffs)
			}
		}
	}
}

// What is left is told of the level after the fall, whatever comes later, and a part of it that comes back is told of.
func TestAFallThatIsTakenBackInPart(t *testing.T) {
	c := Describe(everySecond(ratesOf(autoregressive(source("back", 0, 0), 120, 0.3, 0.02), func(i int) float64 { return []float64{1, 0.4, 0.7}[i/40] })))
	if len(c.Cliffs) != 1 {
		t.Fatalf("%v: %+v", c.Shapes, c.Cliffs)
	}
	cliff := c.Cliffs[0]
	if cliff.Until != 80 || !cliff.LeftInterval.Contains(0.4) || cliff.Back == nil || cliff.Back.From != 80 || cliff.Back.To != 120 || !near(cliff.Back.Rate, 0.7*simulatedRate, 2000) {
		t.Errorf("%+v, back %+v", cliff, cliff.Back)
	}
}

// A fall that takes some seconds is one fall, with the time that it took, whether the rate is level after it or sinks on.
func TestAFallThatTakesSomeSeconds(t *testing.T) {
	for _, takes := range []int{4, 6, 8} {
		for _, sinks := range []float64{0, 0.007} {
			level := fallOver(50, takes, 0.6)
			c := Describe(everySecond(ratesOf(autoregressive(source("takes", takes, 0), 120, 0.3, 0.03), func(i int) float64 {
				return level(i) * math.Exp(-sinks*float64(max(i-50, 0)))
			})))
			if len(c.Cliffs) != 1 || !c.Cliffs[0].Gradual() {
				t.Errorf("over %d s, %v: %v: %+v", takes, sinks, c.Shapes, c.Cliffs)
				continue
			}
			if in := c.Cliffs[0].SecondsInterval; !in.Contains(50) || !in.Contains(50+float64(takes)) || in.High-in.Low > float64(takes)+6 {
				t.Errorf("over %d s, %v: in %+v", takes, sinks, in)
			}
		}
	}
	slope := Describe(everySecond(ratesOf(autoregressive(source("takes", 0, 0), 240, 0.3, 0.03), fallOver(80, 80, 0.7))))
	if len(slope.Cliffs) > 0 {
		t.Errorf("a slope of 80 s: %+v", slope.Cliffs)
	}
}

// S1's table store: 197,000 records a second, less and less, and at 12 s a fall, as measured; and the same store where the rate is level until it falls.
func TestAMeasuredFallAfterADecline(t *testing.T) {
	for _, c := range []struct {
		at    int
		rates []float64
	}{
		{24, []float64{197081, 196248, 181188, 170465, 176400, 179038, 176155, 159087, 149935, 159429, 160552, 134916, 134006, 112989, 112651, 102357, 104203, 91591, 95600, 95303, 98087,
			72624, 80329, 71096, 30960, 45839, 40002, 33262, 30880, 33427, 28393, 19496}},
		{25, []float64{143234, 148187, 124551, 121729, 128084, 134057, 149185, 141830, 123229, 112466, 100062, 119920, 105609, 124159, 108940, 122671, 116898, 95307, 115549, 99956, 99669,
			130292, 126046, 107894, 112617, 55379, 34408, 32129, 31089, 26272, 21317, 15563}},
	} {
		if got := Describe(everySecond(c.rates)); len(got.Cliffs) != 1 || got.Cliffs[0].At != c.at {
			t.Errorf("at %d: %v: %+v", c.at, got.Shapes, got.Cliffs)
		}
	}
}

// What goes to and fro for a part of the time only is told of that part.
func TestWhatGoesToAndFroForAPart(t *testing.T) {
	level := func(i int) float64 {
		if i >= 120 && i < 240 && i/10%2 == 0 {
			return 0.3
		}
		return 1
	}
	c := Describe(everySecond(ratesOf(autoregressive(source("part", 0, 0), 300, 0.3, 0.05), level)))
	if len(c.Alternations) != 1 {
		t.Fatalf("%v: %+v", c.Shapes, c.Alternations)
	}
	a := c.Alternations[0]
	if a.From < 100 || a.From > 120 || a.To < 230 || a.To > 250 || a.Before == nil || a.After == nil || a.Before.From != 0 || a.After.To != 300 || !near(a.Before.Rate, simulatedRate, 3000) {
		t.Errorf("%+v, before %+v, after %+v", a, a.Before, a.After)
	}
}

// A slope, cut into levels, is no cliff; a fall before a rate that sinks on is one, though its levels alone look like a walk.
func TestSlopesAndFallsAreToldApart(t *testing.T) {
	cliffs := func(n int, noise float64, level func(i int) float64) float64 {
		return share("slopes", n, 60, func(r *rand.Rand) bool {
			return Describe(everySecond(ratesOf(autoregressive(r, n, 0.3, noise), level))).Has(ShapeCliff)
		})
	}
	if found := cliffs(200, 0.1, fallOver(67, 66, 0.7)); found > 0.12 {
		t.Errorf("of slopes over 66 s %v are called cliffs", found)
	}
	fall := fallOver(30, 5, 0.6)
	if found := cliffs(60, 0.05, func(i int) float64 { return fall(i) * math.Exp(-0.023*float64(max(i-35, 0))) }); found < 0.9 {
		t.Errorf("of falls over 5 s before a rate that sinks on %v are found", found)
	}
}
