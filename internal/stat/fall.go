package stat

import "math"

const (
	// CliffFallMin is how much of the rate before a lasting fall must be gone after it for it to be a cliff.
	CliffFallMin = 0.25
	// cliffSharpness is how much of a fall between two levels must happen within edgeSamples on either side.
	cliffSharpness = 0.6
	edgeSamples    = SegmentSamplesMin
	// cliffSignificance is that of the difference of the rates before and after, each with its own spread.
	cliffSignificance = 0.01
	// wanderingJump is how many standard deviations of a step from sample to sample a cliff must be in a series that wanders.
	wanderingJump = 6
	// placeCritical is the 95 % point of the likelihood ratio for the place of a change (Hansen, Econometrica 68, 2000).
	placeCritical = 7.35
)

// Cliff is a fall that came at once and lasted: to the next cliff, or to the end.
type Cliff struct {
	At      int     `json:"at"`     // first sample below
	From    int     `json:"from"`   // first sample of the level before
	Until   int     `json:"until"`  // sample at which what is called after ends
	Before  float64 `json:"before"` // mean rate of the level before
	After   float64 `json:"after"`  // mean rate after
	Seconds float64 `json:"t"`      // when
	// SecondsInterval is the 95 % interval of when.
	SecondsInterval Interval `json:"t_interval"`
	// Left is After ÷ Before, with its 95 % interval.
	Left         float64  `json:"left"`
	LeftInterval Interval `json:"left_interval"`
	P            float64  `json:"p"`
	gain         float64  // squared distance of before and after in standard errors
	// What was stored when it came; nil: not measured.
	Records         *float64  `json:"records,omitempty"`
	RecordsInterval *Interval `json:"records_interval,omitempty"`
	Bytes           *float64  `json:"bytes,omitempty"`
	BytesInterval   *Interval `json:"bytes_interval,omitempty"`
}

// findCliffs returns the cliffs among the changes of level, in order. A change is one if
//
//   - no later level has more than 1 − CliffFallMin of the rate of the level before it;
//   - the series had not fallen as far before and recovered (then it is a habit, not a cliff);
//   - most of the fall happened at once (a decline, cut into levels, looks like stairs);
//   - the mean rates before and after differ with p < 0.01, and by as much as a change of level costs, when both sides have
//     the long-run variance of the louder one: noise that grows is no fall.
//
// What alternates between two levels after a cliff has no more cliffs.
func findCliffs(s Series, logs []float64, l levelSplit, wanders bool) (cliffs []Cliff) {
	segments := l.levels.Segments
	for i := 1; i < len(segments); i++ {
		before, at := segments[i-1], segments[i].From
		if !lasts(segments, i) || hadFallen(segments, i) || !sharp(l, segments, i) {
			continue
		}
		if wanders && steepest(logs, at) < wanderingJump*l.sigmaD*math.Sqrt2 {
			continue
		}
		at = firstBelow(s, logs, before.From, at)
		c := Cliff{At: at, From: before.From, Until: len(s.Rates)}
		c.estimate(s, l.levels)
		if !c.holds(len(s.Rates)) {
			continue
		}
		if n := len(cliffs); n > 0 {
			// The earlier one had the whole rest to stand on. If what is left of it can't, it was the beginning of this one.
			earlier := &cliffs[n-1]
			earlier.Until = at
			earlier.estimate(s, l.levels)
			if !earlier.holds(len(s.Rates)) {
				cliffs = cliffs[:n-1]
			}
		}
		c.place(s, l, segments[i-1].From, segments[i].To)
		cliffs = append(cliffs, c)
		if findAlternation(s, logs, at, len(s.Rates)) != nil {
			break
		}
	}
	return cliffs
}

// holds says whether the rates before and after differ, by enough and not by chance, in a series of n samples.
func (c *Cliff) holds(n int) bool {
	return c.P <= cliffSignificance && c.gain >= penaltyFactor*math.Log(float64(n)) && c.Left <= 1-CliffFallMin
}

func lasts(segments []Segment, i int) bool {
	for _, later := range segments[i:] {
		if later.Rate > (1-CliffFallMin)*segments[i-1].Rate {
			return false
		}
	}
	return true
}

// hadFallen says whether a level below the middle of this fall came before it, after one above.
func hadFallen(segments []Segment, i int) bool {
	middle := math.Sqrt(segments[i-1].Rate * segments[i].Rate)
	above := false
	for _, earlier := range segments[:i] {
		if earlier.Rate > middle {
			above = true
		} else if above {
			return true
		}
	}
	return false
}

// sharp compares the samples next to the change with the levels on both sides.
func sharp(l levelSplit, segments []Segment, i int) bool {
	at := segments[i].From
	before, after := l.bounded[segments[i-1].From:at], l.bounded[at:segments[i].To]
	fall := Mean(before) - Mean(after)
	edge := Mean(before[max(len(before)-edgeSamples, 0):]) - Mean(after[:min(len(after), edgeSamples)])
	noise := math.Sqrt(2 * l.levels.LongRunVariance / edgeSamples)
	return edge >= cliffSharpness*fall || edge >= -math.Log1p(-CliffFallMin) && edge >= 4*noise
}

// firstBelow moves a fall forward to the first of the samples before it that clearly are below already: where the rate goes
// to and fro after a cliff, the level changes, on the whole, only once it is at the lower end.
func firstBelow(s Series, logs []float64, from, at int) int {
	least := s.clearlyBelow(logs, from, at)
	for at-1 >= from+SegmentSamplesMin && s.Rates[at-1] < least {
		at--
	}
	return at
}

// clearlyBelow is the rate that no sample of the level of most samples from … to falls short of by chance.
func (s Series) clearlyBelow(logs []float64, from, to int) float64 {
	spread := medianDeviation(logs[from:to]) / madPerSigma
	return Median(s.Rates[from:to]) * min(1-CliffFallMin, math.Exp(-4*spread))
}

// steepest is the largest fall of log rate over one or two samples around position at.
func steepest(logs []float64, at int) (fall float64) {
	for i := max(at-2, 0); i <= min(at+1, len(logs)-1); i++ {
		for j := i + 1; j <= min(i+2, len(logs)-1); j++ {
			fall = max(fall, logs[i]-logs[j])
		}
	}
	return fall
}

// wandering says whether a random walk describes the series better than its levels do: then levels are only where it
// happened to linger. It compares the innovations of a walk with those around the levels, at the levels' own price.
func wandering(l levelSplit) bool {
	n := len(l.bounded)
	changes := len(l.ends) - 1
	if changes == 0 {
		return false
	}
	residuals := levelResiduals(l.bounded, l.ends)
	var product, square, walk float64
	for i := 1; i < n; i++ {
		product += residuals[i] * residuals[i-1]
		square += residuals[i-1] * residuals[i-1]
		d := l.bounded[i] - l.bounded[i-1]
		walk += d * d
	}
	rho := 0.0
	if square > 0 {
		rho = product / square
	}
	var around float64
	for i := 1; i < n; i++ {
		d := residuals[i] - rho*residuals[i-1]
		around += d * d
	}
	floor := float64(n) * noiseFloor * noiseFloor
	return float64(n)*math.Log(max(walk, floor)/max(around, floor)) <= penaltyFactor*math.Log(float64(n))*float64(changes)
}

// estimate fills in the rates before and after and their ratio. The interval is that of the log of a ratio of means, by the
// delta method, with each side's own long-run variance where it is larger than the whole series'.
func (c *Cliff) estimate(s Series, levels Levels) {
	var variance, effective, loudest float64
	side := func(from, to int) float64 {
		mean := s.mean(from, to)
		relative := make([]float64, to-from)
		for _, level := range levels.Segments { // the way from level to level is no noise
			for i := max(level.From, from); i < min(level.To, to); i++ {
				relative[i-from] = (s.Rates[i] - level.Rate) / max(mean, math.SmallestNonzeroFloat64)
			}
		}
		rho := Autocorrelation(relative)
		n := float64(to - from)
		own := square(deviation(relative)) * (1 + rho) / (1 - rho)
		variance += max(own, levels.LongRunVariance) / n
		loudest = max(loudest, own, levels.LongRunVariance)
		effective += EffectiveSamples(to-from, rho)
		return mean
	}
	c.Before, c.After = side(c.From, c.At), side(c.At, c.Until)
	c.Left = c.After / max(c.Before, math.SmallestNonzeroFloat64)
	// A level of few and like-minded samples would leave no degree of freedom, and Student's tail no fall that counts; that the
	// level changed at all was decided before, over the whole series.
	distribution := students(max(effective-2, 3))
	// A few samples that happen to lie low seem quiet: what one side does, the other may do.
	loudVariance := loudest * (1/float64(c.At-c.From) + 1/float64(c.Until-c.At))
	standardError := math.Sqrt(variance)
	half := distribution.Quantile(0.975) * standardError
	if c.After <= 0 {
		// Nothing at all is left, and nothing has no logarithm.
		c.LeftInterval, c.P, c.gain = Interval{0, min(half, 1)}, 2*distribution.Survival(1/standardError), 1/loudVariance
		return
	}
	difference := math.Log(c.Left)
	c.gain = difference * difference / loudVariance
	c.LeftInterval = Interval{boundedExp(difference - half), boundedExp(difference + half)}
	c.P = 2 * distribution.Survival(math.Abs(difference)/standardError)
}

// place fills in when the cliff came. In the interval are the places whose split costs little more than the best one's, and
// one sample before: a fall within a sample counts to either side.
func (c *Cliff) place(s Series, l levelSplit, from, to int) {
	cost := func(at int) (total float64) {
		for _, part := range [][]float64{l.bounded[from:at], l.bounded[at:to]} {
			mean := Mean(part)
			for _, v := range part {
				total += (v - mean) * (v - mean)
			}
		}
		return total
	}
	low, high := c.At, c.At
	most := cost(c.At) + placeCritical*l.levels.LongRunVariance
	window := 10 * SegmentSamplesMin
	for at := max(from+1, c.At-window); at < min(to, c.At+window+1); at++ {
		if cost(at) <= most {
			low, high = min(low, at), max(high, at)
		}
	}
	low = max(low-1, 0)
	c.Seconds = s.begins(c.At)
	c.SecondsInterval = Interval{s.begins(low), s.Ends[min(high, len(s.Ends)-1)]}
	// What was stored may shrink as well as grow, and go back and forth: the interval spans all of it.
	amount := func(values []float64) (*float64, *Interval) {
		at, ok := valueAt(values, c.At-1)
		if !ok {
			return nil, nil
		}
		span := Interval{at, at}
		for i := max(low-1, 0); i <= min(high, len(s.Ends)-1); i++ {
			v, ok := valueAt(values, i)
			if !ok {
				return nil, nil
			}
			span.Low, span.High = min(span.Low, v), max(span.High, v)
		}
		return &at, &span
	}
	c.Records, c.RecordsInterval = amount(s.Records)
	c.Bytes, c.BytesInterval = amount(s.Bytes)
}

// valueAt returns a column's value at the end of sample i, or the last one measured before.
func valueAt(values []float64, i int) (float64, bool) {
	if len(values) == 0 {
		return 0, false
	}
	for j := max(min(i, len(values)-1), 0); j >= 0; j-- {
		if !math.IsNaN(values[j]) {
			return values[j], true
		}
	}
	return 0, false
}
