package stat

import (
	"fmt"
	"math"
	"slices"
)

// Series is a rate over time, with what was measured beside it. All columns have a value for each sample.
type Series struct {
	Begin float64   // when the first sample began, seconds
	Ends  []float64 // when each sample ended, seconds, increasing
	Rates []float64 // per second of its sample; none negative, infinite or NaN
	// Records and Bytes are what was stored at each sample's end. Nil: no such column; NaN: not measured.
	Records []float64
	Bytes   []float64
	// Resources may hang together with the rate. They never decide what is said of it.
	Resources []Resource
	// Sparse says that rates are of operations, of which a usual sample holds so few that an empty one means nothing: then there are
	// no stalls, and an empty sample stands for half an operation.
	Sparse bool
}

// Resource is a column beside the rate. NaN: not measured.
type Resource struct {
	Name   string
	Engine bool // a counter of the store itself: it comes first
	Values []float64
}

func (s Series) begins(i int) float64 {
	if i <= 0 {
		return s.Begin
	}
	return s.Ends[min(i, len(s.Ends))-1]
}

func (s Series) length(i int) float64 { return s.Ends[i] - s.begins(i) }

// mean is the mean rate of samples from … to, by their lengths.
func (s Series) mean(from, to int) float64 {
	var done float64
	for i := from; i < to; i++ {
		done += s.Rates[i] * s.length(i)
	}
	return done / (s.Ends[to-1] - s.begins(from))
}

// Shape is a word for what a rate does over time. Several can hold.
type Shape string

const (
	ShapeSteady      Shape = "steady"
	ShapeCliff       Shape = "cliff"       // it fell at once, or within a few samples, and it lasted
	ShapeDecline     Shape = "decline"     // it falls as data grows
	ShapeStalls      Shape = "stalls"      // it stood nearly still for a moment, and recovered
	ShapeDips        Shape = "dips"        // it fell far for a moment, and came back
	ShapeSpikes      Shape = "spikes"      // it rose far for a moment, and came back
	ShapeOscillation Shape = "oscillation" // it goes to and fro between two levels
	ShapeStepped     Shape = "stepped"     // it has levels that lie apart, none of the above
	ShapeRise        Shape = "rise"        // it rises all the way
	ShapeWandering   Shape = "wandering"   // it moves like a random walk: levels and slopes mean nothing
	ShapeTooShort    Shape = "too-short"   // nobody can tell
)

// Course is what can be said of a series.
type Course struct {
	Shapes  []Shape `json:"shapes"` // never empty
	Why     string  `json:"why"`    // of steady, stepped, rise and too short: a sentence with the figures
	Samples int     `json:"samples"`
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"`   // mean over all of it, warm-up included
	Median  float64 `json:"median"` // of the samples' rates

	// SteadyRate is the mean from sample SteadyFrom on, where the warm-up ends; both are 0 where the rate is not steady.
	SteadyRate float64 `json:"steady_rate,omitempty"`
	SteadyFrom int     `json:"steady_from,omitempty"`
	// SteadySpread holds nine in ten of these samples, one in twenty below and one in twenty above; nil where the rate is not steady.
	SteadySpread *Interval `json:"steady_spread,omitempty"`
	// LastFall are the samples after a fall that came too late to tell: the rate was steady until then (SteadyRate), and these are
	// fewer than a level has. Nil: there is no such fall.
	LastFall *Segment `json:"last_fall,omitempty"`

	Levels       Levels        `json:"levels"`
	Cliffs       []Cliff       `json:"cliffs,omitempty"`
	Declines     []Decline     `json:"declines,omitempty"`
	Stalls       []Stall       `json:"stalls,omitempty"`
	StallPeriod  *Period       `json:"stall_period,omitempty"` // nil: not regular, or too few to tell
	Dips         *Dips         `json:"dips,omitempty"`         // nil: there are none; else levels, falls and slopes are of what lies between them. Rate, Median and the steady rate are of everything
	Spikes       *Dips         `json:"spikes,omitempty"`       // the same upwards
	Alternations []Alternation `json:"oscillations,omitempty"`
	Swing        *Period       `json:"swing,omitempty"` // of the falls below the middle, where there are no two levels; nil: not regular, or not looked for
	Coincidences []Coincidence `json:"coincidences,omitempty"`
	Warnings     []Warning     `json:"warnings,omitempty"`
}

// Has says whether a shape is among those that hold.
func (c Course) Has(shape Shape) bool {
	for _, s := range c.Shapes {
		if s == shape {
			return true
		}
	}
	return false
}

// The warnings of a course.
const (
	WarnIrregular  = "irregular-samples" // samples are not of one length
	WarnRecentFall = "recent-fall"       // a cliff so near to the end that it may yet recover
)

const (
	// emptyShare is the share of the median rate that stands for a sample without any operation: what can be told from a
	// rate in any unit. Outliers are pulled in anyway.
	emptyShare = 1e-3
	// leastRate stands for any lower rate, so that its inverse is finite.
	leastRate = 1e-300
	// irregularShare is how much the longest sample may be longer than the shortest without a word.
	irregularShare = 1.5
	recentSamples  = 10
)

// Describe tells what a rate does over time: see docs/statistics.md, 11. It first cuts the series where its level changed,
// picks the changes that are cliffs, and then looks at each stretch between cliffs by itself. Where the rate does not go to and fro between two levels,
// dips and spikes are then taken out and the rest is described anew. What is said of the rate
// doesn't depend on its unit, on when the clock began, or on the resources.
func Describe(s Series) Course {
	c := describe(s, s)
	if len(c.Levels.Segments) == 0 { // far too short
		return c
	}
	if len(c.Alternations) == 0 && !s.Sparse {
		logs, rest := LogRates(s.Rates, s.perEmpty()), s
		dips, spikes := findDips(s, logs, downwards), findDips(s, logs, upwards)
		for _, found := range []*Dips{dips, spikes} {
			if found != nil {
				rest = found.without(rest)
			}
		}
		if dips != nil || spikes != nil {
			c = describe(rest, s)
			c.Dips, c.Spikes = dips, spikes
		}
		if dips != nil {
			c.Shapes = append(c.Shapes, ShapeDips)
		}
		if spikes != nil {
			c.Shapes = append(c.Shapes, ShapeSpikes)
		}
	}
	c.Coincidences = coincide(s, c)
	c.warn(s)
	return c
}

// perEmpty is what LogRates takes for the length of a sample, so that an empty one stands for a thousandth of the median in any unit, or, where samples hold
// few operations, for half of one.
func (s Series) perEmpty() float64 {
	if s.Sparse {
		return (s.Ends[len(s.Ends)-1] - s.Begin) / float64(len(s.Rates))
	}
	return 0.5 / max(emptyShare*Median(positive(s.Rates)), leastRate)
}

// describe tells of a series; whole is the same with what was taken out of it, of which the rates are that stand for all of it, and the steady one.
func describe(s, whole Series) Course {
	c := Course{Samples: len(s.Rates)}
	if c.Samples == 0 {
		c.Shapes, c.Why = []Shape{ShapeTooShort}, "there is no sample"
		return c
	}
	n := c.Samples
	c.Seconds, c.Rate, c.Median = s.Ends[n-1]-s.Begin, whole.mean(0, n), Median(whole.Rates)
	switch {
	case len(positive(s.Rates)) == 0:
		c.Shapes, c.Why = []Shape{ShapeTooShort}, "no sample has a rate above zero"
		return c
	case n < SteadySamplesMin:
		c.Shapes = []Shape{ShapeTooShort}
		c.Why = fmt.Sprintf("%s to tell: at least %d are needed", tooFew(n, ""), SteadySamplesMin)
		return c
	}
	logs := LogRates(s.Rates, s.perEmpty())
	l := split(logs)
	l.tellApart(logs)
	c.Levels = l.levels
	from := 0
	for _, to := range l.ends {
		c.Levels.Segments = append(c.Levels.Segments, Segment{From: from, To: to, Rate: s.mean(from, to)})
		from = to
	}
	l.levels = c.Levels
	falls := l.foldFalls()
	l.levels.LongRunVariance = min(l.levels.LongRunVariance, longRunVariance(l.sigmaD, lagOne(l.foldedResiduals(falls), len(l.ends))))
	wanders := wandering(l, falls)

	if line := findDecline(s, logs, 0, n, false); line == nil || line.Form == NoForm {
		c.Cliffs = findCliffs(s, logs, l, falls, wanders)
	}
	for _, stretch := range stretches(c.Cliffs, n) {
		c.look(s, logs, stretch[0], stretch[1])
	}
	c.StallPeriod = stallPeriod(s, c.Stalls)
	c.name(s, whole, logs, wanders)
	return c
}

// stretches are what lies between cliffs.
func stretches(cliffs []Cliff, n int) (all [][2]int) {
	from := 0
	for _, cliff := range cliffs {
		all = append(all, [2]int{from, cliff.At})
		from = cliff.Below
	}
	return append(all, [2]int{from, n})
}

// look finds what goes on in one stretch.
func (c *Course) look(s Series, logs []float64, from, to int) {
	usual := Median(s.Rates[from:to])
	alternation := findAlternation(s, logs, from, to)
	if alternation != nil {
		alternation.Before = c.outside(s, logs, from, alternation.From)
		alternation.After = c.outside(s, logs, alternation.To, to)
		c.Alternations = append(c.Alternations, *alternation)
		if !alternation.StallsApart {
			usual = alternation.Low
		}
	} else if decline := findDecline(s, logs, from, to, false); decline != nil {
		c.Declines = append(c.Declines, *decline)
	}
	if s.Sparse {
		return
	}
	for _, stall := range Stalls(s.Rates[from:to], usual) {
		stall.From, stall.To = stall.From+from, stall.To+from
		stall.Recovered = stall.Recovered || to < len(s.Rates)
		c.Stalls = append(c.Stalls, stall)
	}
}

// outside is a stretch beside one that goes to and fro; nil if there is none. It may decline.
func (c *Course) outside(s Series, logs []float64, from, to int) *Segment {
	if from >= to {
		return nil
	}
	if decline := findDecline(s, logs, from, to, false); decline != nil {
		c.Declines = append(c.Declines, *decline)
	}
	return &Segment{From: from, To: to, Rate: s.mean(from, to)}
}

func stallPeriod(s Series, stalls []Stall) *Period {
	var began, lasted []float64
	for _, stall := range stalls {
		began = append(began, s.begins(stall.From))
		lasted = append(lasted, s.Ends[stall.To-1]-s.begins(stall.From))
	}
	return FindPeriod(began, Median(lasted)+s.length(0))
}

// name chooses the words.
func (c *Course) name(s, whole Series, logs []float64, wanders bool) {
	for _, has := range []struct {
		shape Shape
		found bool
	}{{ShapeCliff, len(c.Cliffs) > 0}, {ShapeDecline, len(c.Declines) > 0}, {ShapeOscillation, len(c.Alternations) > 0}} {
		if has.found {
			c.Shapes = append(c.Shapes, has.shape)
		}
	}
	if len(c.Shapes) == 0 {
		steadiness := Decide(s.Rates, s.perEmpty())
		c.Why = steadiness.Why
		switch {
		case steadiness.Kind == Steady && c.Median == 0:
			c.Shapes, c.Why = []Shape{ShapeTooShort}, "in more than half of the samples nothing was done, which longer samples would tell apart from a slow rate"
		case !(steadiness.Kind == Steady && c.fallsLikeThis(whole, logs, steadiness.From)) && c.fellLast(s, whole, logs):
			c.Shapes = []Shape{ShapeStepped}
		case steadiness.Kind == Steady:
			c.Shapes = []Shape{ShapeSteady}
			c.steady(whole, steadiness, c.Samples)
		case steadiness.Kind == TooShort && c.swings(s, logs): // too restless for a drift, but regular
			c.Shapes = []Shape{ShapeStepped}
			low, high := nineInTen(s.Rates)
			c.Why = fmt.Sprintf("nine samples in ten from %s to %s", figure(low), figure(high))
		case steadiness.Kind == TooShort:
			c.Shapes = []Shape{ShapeTooShort}
		case steadiness.Kind == Drifting && c.declineAfter(s, logs, steadiness.From):
			c.Shapes = []Shape{ShapeDecline}
		case fitTrend(logs).rises() || c.Levels.ascend():
			c.Shapes = []Shape{ShapeRise}
		case c.swings(s, logs):
			c.Shapes = []Shape{ShapeStepped}
		case wanders || steadiness.Kind == Drifting:
			c.Shapes = []Shape{ShapeWandering}
		default:
			c.Shapes = []Shape{ShapeStepped}
		}
	}
	if len(c.Stalls) > 0 {
		c.Shapes = append(c.Shapes, ShapeStalls)
	}
}

// steady takes over what was decided of the first n samples.
func (c *Course) steady(s Series, decided Steadiness, n int) {
	c.SteadyFrom, c.SteadyRate = decided.From, s.mean(decided.From, n)
	low, high := nineInTen(s.Rates[decided.From:n])
	c.SteadySpread = &Interval{low, high}
	for _, warning := range decided.Warnings {
		if warning.Code != WarnNoWarmupCut { // it is steady all the same
			c.Warnings = append(c.Warnings, warning)
		}
	}
}

// nineInTen leaves out one rate in twenty below and one in twenty above.
func nineInTen(rates []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(rates))
	beyond := len(sorted) / 20
	return sorted[beyond], sorted[len(sorted)-1-beyond]
}

// fallsLikeThis says whether the samples that a steady series ends in need no word of their own: they are told as a stall, or others since sample from were as low.
func (c *Course) fallsLikeThis(whole Series, logs []float64, from int) bool {
	if len(c.Stalls) > 0 && !c.Stalls[len(c.Stalls)-1].Recovered {
		return true
	}
	n := len(logs)
	least := whole.clearlyBelow(logs, 0, n)
	at := whole.lastBelow(least)
	return slices.ContainsFunc(whole.Rates[min(from, at):at], func(r float64) bool { return r < least })
}

// lastBelow is where the samples begin that the series ends in and that are all below a rate; their number: there are none.
func (s Series) lastBelow(least float64) int {
	at := len(s.Rates)
	for at > 0 && s.Rates[at-1] < least {
		at--
	}
	return at
}

// fellLast looks for a steady rate of which only the last samples, too few for a level, lie far below. To the split into
// levels, a few such samples look like a walk.
func (c *Course) fellLast(s, whole Series, logs []float64) bool {
	n := len(s.Rates)
	at := s.lastBelow(s.clearlyBelow(logs, 0, n))
	if at == n || n-at >= SegmentSamplesMin {
		return false
	}
	before := Decide(s.Rates[:at], s.perEmpty())
	if before.Kind != Steady {
		return false
	}
	c.steady(whole, before, at)
	c.Why = before.Why
	c.LastFall = &Segment{From: at, To: n, Rate: whole.mean(at, n)}
	// The last level was made long enough with samples from before the fall.
	levels := c.Levels.Segments
	if last := len(levels) - 1; last > 0 && levels[last].From > at-SegmentSamplesMin {
		levels = levels[:last]
	}
	until := &levels[len(levels)-1]
	*until = Segment{From: until.From, To: at, Rate: s.mean(until.From, at)}
	c.Levels.Segments = append(levels, *c.LastFall)
	return true
}

// swings looks for highs and lows that come back regularly.
func (c *Course) swings(s Series, logs []float64) bool {
	c.Swing = swing(s, logs)
	return c.Swing != nil
}

// declineAfter looks for the decline of a series that drifts once its warm-up is over.
func (c *Course) declineAfter(s Series, logs []float64, from int) bool {
	decline := findDecline(s, logs, from, len(logs), true)
	if decline != nil {
		c.Declines = append(c.Declines, *decline)
	}
	return decline != nil
}

func (c *Course) warn(s Series) {
	shortest, longest := math.Inf(1), 0.0
	for i := range s.Rates {
		longest = max(longest, s.length(i))
		if i < len(s.Rates)-1 { // a last one that was cut short is one sample of little weight
			shortest = min(shortest, s.length(i))
		}
	}
	if longest > irregularShare*shortest {
		c.Warnings = append(c.Warnings, Warning{WarnIrregular,
			fmt.Sprintf("samples are %.3g to %.3g s long: levels and slopes count each sample alike, only shares of time and mean rates count seconds", shortest, longest),
			"sample at one interval"})
	}
	if c.LastFall != nil {
		c.Warnings = append(c.Warnings, Warning{WarnRecentFall,
			fmt.Sprintf("the rate fell too late, %d of %d samples before the end: that it lasts is not known", c.LastFall.Samples(), len(s.Rates)), "run longer"})
	}
	if k := len(c.Cliffs); k > 0 && len(s.Rates)-c.Cliffs[k-1].Below < recentSamples {
		c.Warnings = append(c.Warnings, Warning{WarnRecentFall,
			fmt.Sprintf("the last fall came %d samples before the end: that it lasts is not known", len(s.Rates)-c.Cliffs[k-1].Below), "run longer"})
	}
}

func positive(values []float64) (above []float64) {
	for _, v := range values {
		if v > 0 {
			above = append(above, v)
		}
	}
	return above
}
