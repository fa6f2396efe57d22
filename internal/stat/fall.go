package stat

import (
	"math"
	"slices"
)

const (
	// CliffFallMin is how much of the rate before a lasting fall must be gone after it for it to be a cliff.
	CliffFallMin = 0.25
	// cliffSharpness is how much of a fall between two levels must happen within edgeSamples on either side.
	cliffSharpness = 0.6
	edgeSamples    = SegmentSamplesMin
	// fallSamplesMax is how many samples a fall may take: one that takes more is a decline.
	fallSamplesMax = 2 * SegmentSamplesMin
	// cliffSignificance is that of the difference of the rates before and after, each with its own spread.
	cliffSignificance = 0.01
	// orderSignificance is that of the samples' order alone, whose likeness it leaves out.
	orderSignificance = 0.001
	// wanderingJump is how many standard deviations of a step from sample to sample a cliff must be in a series that wanders.
	wanderingJump = 6
	// besideSamples is how many samples of the levels on either side are asked for the place of a fall: more make it slow, and no surer.
	besideSamples = 100
	// foldSteepness is how much of a fall that took some samples must be left if the slopes on either side went on through it.
	foldSteepness = 0.5
	// lengthPrice is what the length of a fall costs, as a share of a change of level, and slopePrice what a slope costs.
	lengthPrice = 1.0 / penaltyFactor
	slopePrice  = 0.5
	// placeCritical is the 95 % point of the likelihood ratio for the place of a change (Hansen, Econometrica 68, 2000).
	placeCritical = 7.35
)

// Cliff is a fall that came at once, or within fallSamplesMax, and lasted: to the next cliff, or to the end, the rate was never again where it had been.
type Cliff struct {
	At      int     `json:"at"`     // first sample below the level before
	Below   int     `json:"below"`  // first sample at the level after; At where it came at once
	From    int     `json:"from"`   // first sample of the level before
	Until   int     `json:"until"`  // sample at which the level after ends
	Before  float64 `json:"before"` // mean rate of the level before
	After   float64 `json:"after"`  // and of the level after
	Seconds float64 `json:"t"`      // when it began
	// SecondsInterval holds all of the fall, with 95 %.
	SecondsInterval Interval `json:"t_interval"`
	// Left is After ÷ Before, with its 95 % interval.
	Left         float64  `json:"left"`
	LeftInterval Interval `json:"left_interval"`
	P            float64  `json:"p"`
	gain         float64  // squared distance of before and after in standard errors
	// order is the chance that every sample before lies above every one after, and orderEffective that of as many as count.
	order, orderEffective float64
	// Back is a later level, before the next cliff, far above After; nil: there is none.
	Back *Segment `json:"back,omitempty"`
	// What was stored when it came; nil: not measured.
	Records         *float64  `json:"records,omitempty"`
	RecordsInterval *Interval `json:"records_interval,omitempty"`
	Bytes           *float64  `json:"bytes,omitempty"`
	BytesInterval   *Interval `json:"bytes_interval,omitempty"`
}

// Gradual says that it did not come at once.
func (c Cliff) Gradual() bool { return c.Below > c.At }

// fall is a change from a higher level to a lower one, over a few samples or at once.
type fall struct {
	upper, lower int // positions of the two levels; what lies between them belongs to the fall
	from, to     int // samples of the two levels, without what belongs to another fall
	at, below    int // first sample below the upper level, and first at the lower one; the same where it came at once
}

// foldFalls finds, among levels, the falls. Levels of a few samples on the way down from a longer one to a longer one are no levels but the fall itself.
func (l levelSplit) foldFalls() (falls []fall) {
	segments, from := l.levels.Segments, 0
	for i := 1; i < len(segments); i++ {
		if segments[i].Rate >= segments[i-1].Rate {
			from = segments[i].From
			continue
		}
		f, found := fall{}, false
		for j := len(segments) - 1; !found; j-- { // down to i itself
			f, found = l.fold(i-1, j, from)
		}
		falls = append(falls, f)
		i, from = f.lower, f.below
	}
	return falls
}

// fold makes one fall of what lies between two levels, if all of it goes down and is short. Over which samples the fall went, up to fallSamplesMax, is where two
// levels and the slope between them fit best, if they do so by more than chance.
func (l levelSplit) fold(upper, lower, from int) (f fall, ok bool) {
	segments := l.levels.Segments
	plain := segments[lower].From
	f = fall{upper: upper, lower: lower, from: from, at: plain, below: plain, to: segments[lower].To}
	between := plain - segments[upper].To
	if between > 2*fallSamplesMax || min(segments[upper].Samples(), segments[lower].Samples()) < between {
		return f, false
	}
	for i := upper; i < lower; i++ {
		if segments[i+1].Rate >= segments[i].Rate {
			return f, false
		}
	}
	beside := f.beside()
	best, least, atOnce := f, math.Inf(1), math.Inf(1)
	for at := max(from+SegmentSamplesMin, segments[upper].To-fallSamplesMax); at <= min(f.to-SegmentSamplesMin, plain+fallSamplesMax); at++ {
		for below := at; below <= min(f.to-SegmentSamplesMin, at+fallSamplesMax); below++ {
			beside.at, beside.below = at, below
			cost := l.fallCost(beside)
			if below == at {
				atOnce = min(atOnce, cost)
			}
			if cost < least {
				least, best.at, best.below = cost, at, below
			}
		}
	}
	if best.below > best.at && atOnce-least > placeCritical*l.levels.LongRunVariance {
		return best, true
	}
	return f, lower == upper+1
}

// beside is the same fall with no more of its levels than tells where it is.
func (f fall) beside() fall {
	f.from, f.to = max(f.from, f.at-besideSamples), min(f.to, f.below+besideSamples)
	return f
}

// atOnce is the same fall as if it had come where its first level ends.
func (f fall) atOnce(segments []Segment) fall {
	f.lower = f.upper + 1
	f.at, f.below, f.to = segments[f.lower].From, segments[f.lower].From, segments[f.lower].To
	return f
}

// fallFit returns the two levels that, with the straight way between them, fit best.
func (l levelSplit) fallFit(f fall) (high, low float64) {
	var hh, ll, hl, hy, ly float64
	for i := f.from; i < f.to; i++ {
		w, y := f.done(i), l.bounded[i]
		hh, ll, hl = hh+(1-w)*(1-w), ll+w*w, hl+w*(1-w)
		hy, ly = hy+(1-w)*y, ly+w*y
	}
	determinant := hh*ll - hl*hl
	return (ll*hy - hl*ly) / determinant, (hh*ly - hl*hy) / determinant
}

// done is which share of a fall lies behind at sample i.
func (f fall) done(i int) float64 {
	return min(max(float64(i-f.at+1)/float64(f.below-f.at+1), 0), 1)
}

func (l levelSplit) fallCost(f fall) (cost float64) {
	for _, r := range l.fallResiduals(f) {
		cost += r * r
	}
	return cost
}

func (l levelSplit) fallResiduals(f fall) []float64 {
	high, low := l.fallFit(f)
	residuals := make([]float64, f.to-f.from)
	for i := range residuals {
		w := f.done(f.from + i)
		residuals[i] = l.bounded[f.from+i] - high*(1-w) - low*w
	}
	return residuals
}

// findCliffs returns the cliffs among the falls, in order. A fall is one if
//
//   - no later level has more than 1 − CliffFallMin of the rate of the level before it;
//   - the series had not fallen as far before and recovered (then it is a habit, not a cliff), nor come from a longer level that is no higher than what is left (then it was a burst);
//   - most of the fall happened at once, or in the few samples of the fall (a decline, cut into levels, looks like stairs);
//   - the mean rates before and after differ with p < 0.01, and by as much as a change of level costs, when both sides have
//     the long-run variance of the louder one: noise that grows is no fall; or every sample before lies far above every one after;
//   - no slope describes it as well.
//
// What alternates between two levels after a cliff has no more cliffs.
func findCliffs(s Series, logs []float64, l levelSplit, falls []fall, wanders bool) (cliffs []Cliff) {
	segments, n := l.levels.Segments, len(s.Rates)
	restless := 0 // where what goes to and fro after the last cliff ends
	for _, f := range falls {
		swings := findAlternation(s, logs, segments[f.upper].To, n) != nil
		if swings && f.below > f.at { // what goes to and fro is no slope
			f = f.atOnce(segments)
		}
		if f.at < restless || !lasts(segments, f) || hadFallen(segments, f) || wasBurst(segments, f) || !sharp(l, f) {
			continue
		}
		if wanders && l.wandersBeside(f) && steepest(logs, f) < wanderingJump*l.sigmaD*math.Sqrt2 {
			continue
		}
		at, below := f.at, f.below
		if at == below {
			at = firstBelow(s, logs, f.from, at)
			below = at
		}
		c := Cliff{At: at, Below: below, From: f.from, Until: n}
		c.judge(s, logs, l.levels)
		if !c.holds(n) || !swings && c.order > orderSignificance && l.slopes(f) {
			continue
		}
		if k := len(cliffs); k > 0 {
			// The earlier one had the whole rest to stand on. If what is left of it can't, it was the beginning of this one.
			earlier := &cliffs[k-1]
			earlier.Until = at
			earlier.judge(s, logs, l.levels)
			if !earlier.holds(n) {
				cliffs = cliffs[:k-1]
			}
		}
		c.place(s, l, f)
		cliffs = append(cliffs, c)
		if a := findAlternation(s, logs, below, n); a != nil {
			restless = a.To
		}
	}
	for i := range cliffs {
		cliffs[i].settle(s, logs, l.levels)
	}
	return cliffs
}

// holds says whether the rates before and after differ, by enough and not by chance, in a series of n samples. A few samples far above many loud ones tell little by their
// spread and all by their order: that counts for both, where the samples' likeness leaves enough of them, or for the chance alone, if the gain passes.
func (c *Cliff) holds(n int) bool {
	gains := c.gain >= penaltyFactor*math.Log(float64(n))
	return c.Left <= 1-CliffFallMin && (gains && (c.P <= cliffSignificance || c.order <= orderSignificance) || c.orderEffective <= cliffSignificance)
}

// judge estimates a cliff, by the rates and by their order.
func (c *Cliff) judge(s Series, logs []float64, levels Levels) {
	c.estimate(s, levels)
	c.order, c.orderEffective = apart(logs, c.From, c.At, c.Below, c.Until)
}

// settle takes as what is left the level after the fall alone, and the levels after it that are within SteadyTolerance of it, unless the rate goes to and fro; and looks for
// a later level above these. That it fell was judged before, by all that comes after.
func (c *Cliff) settle(s Series, logs []float64, levels Levels) {
	end, p := c.Until, c.P
	if findAlternation(s, logs, c.Below, end) == nil {
		c.Until = levels.alike(c.Below, end)
	}
	c.estimate(s, levels)
	if c.P = p; p > cliffSignificance {
		c.P = min(c.order, c.orderEffective)
		c.LeftInterval.High = min(c.LeftInterval.High, slices.Max(s.Rates[c.Below:c.Until])/slices.Min(s.Rates[c.From:c.At]))
	}
	for _, later := range levels.Segments {
		if later.From >= c.Until && later.To <= end && later.Rate*(1-CliffFallMin) > c.After {
			to := levels.alike(later.From, end)
			c.Back = &Segment{From: later.From, To: to, Rate: s.mean(later.From, to)}
			return
		}
	}
}

// alike returns where the levels end that, from the one at sample `from` on, all lie within SteadyTolerance of it.
func (l Levels) alike(from, end int) int {
	first := -1.0
	for _, segment := range l.Segments {
		if segment.To <= from {
			continue
		}
		if first < 0 {
			first = segment.Rate
		}
		if low, high := min(first, segment.Rate), max(first, segment.Rate); segment.From >= end || high > (1+SteadyTolerance)*low {
			return min(segment.From, end)
		}
	}
	return end
}

func lasts(segments []Segment, f fall) bool {
	for _, later := range segments[f.lower:] {
		if later.Rate > (1-CliffFallMin)*segments[f.upper].Rate {
			return false
		}
	}
	return true
}

// hadFallen says whether a level below the middle of this fall came before it, after one above.
func hadFallen(segments []Segment, f fall) bool {
	middle := math.Sqrt(segments[f.upper].Rate * segments[f.lower].Rate)
	above := false
	for _, earlier := range segments[:f.upper+1] {
		if earlier.Rate > middle {
			above = true
		} else if above {
			return true
		}
	}
	return false
}

// wasBurst says whether a longer level came before the upper one from which the rate has not fallen by what a cliff falls at least.
func wasBurst(segments []Segment, f fall) bool {
	for _, earlier := range segments[:f.upper] {
		if earlier.Samples() > segments[f.upper].Samples() && segments[f.lower].Rate > (1-CliffFallMin)*earlier.Rate {
			return true
		}
	}
	return false
}

// sharp compares the samples next to the fall with the levels on both sides. A fall that took some samples needs as many on either side, and to be steeper than these.
func sharp(l levelSplit, f fall) bool {
	before, after := l.bounded[f.from:f.at], l.bounded[f.below:f.to]
	fall := Mean(before) - Mean(after)
	edge := Mean(before[max(len(before)-edgeSamples, 0):]) - Mean(after[:min(len(after), edgeSamples)])
	if length := f.below - f.at; length > 0 {
		beside := max(0, -slopeASample(l.bounded[max(f.at-2*edgeSamples, 0):f.at]), -slopeASample(l.bounded[f.below:min(f.below+2*edgeSamples, len(l.bounded))]))
		if min(len(before), len(after)) < length || edge-beside*float64(length+edgeSamples) < foldSteepness*edge {
			return false
		}
	}
	noise := math.Sqrt(2 * l.levels.LongRunVariance / edgeSamples)
	return edge >= cliffSharpness*fall || edge >= -math.Log1p(-CliffFallMin) && edge >= 4*noise
}

// slopes says whether a line describes the two levels of a fall as well as they do, or a level with a slope after or before it.
func (l levelSplit) slopes(f fall) bool {
	f = f.beside()
	most, bent, line := l.fallCost(f), f, 0.0
	for _, r := range lineResiduals(l.bounded[f.from:f.to]) {
		line += r * r
	}
	if line <= most {
		return true
	}
	for bend := f.from + SegmentSamplesMin; bend <= f.to-SegmentSamplesMin; bend++ {
		if bent.at, bent.below = bend, f.to; bend <= f.at && l.fallCost(bent) <= most {
			return true
		}
		if bent.at, bent.below = f.from, bend; bend >= f.below && l.fallCost(bent) <= most {
			return true
		}
	}
	return false
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

// steepest is the largest fall of log rate over one or two samples in and around a fall.
func steepest(logs []float64, f fall) (fall float64) {
	for i := max(f.at-2, 0); i <= min(f.below+1, len(logs)-1); i++ {
		for j := i + 1; j <= min(i+2, len(logs)-1); j++ {
			fall = max(fall, logs[i]-logs[j])
		}
	}
	return fall
}

// wandering says whether a random walk describes the series better than its levels, and the falls between them, do: then levels are only where it
// happened to linger. It compares the innovations of a walk with those around the levels, at the levels' own price.
func wandering(l levelSplit, falls []fall) bool {
	changes := float64(len(l.ends) - 1)
	if changes == 0 {
		return false
	}
	for _, f := range falls {
		changes -= float64(f.lower - f.upper - 1)
		if f.below > f.at {
			changes += lengthPrice
		}
	}
	return l.walks(l.foldedResiduals(falls), changes)
}

// foldedResiduals are the distances from the levels and from the falls between them.
func (l levelSplit) foldedResiduals(falls []fall) []float64 {
	residuals := levelResiduals(l.bounded, l.ends)
	for _, f := range falls {
		if f.below > f.at {
			copy(residuals[f.from:], l.fallResiduals(f))
		}
	}
	return residuals
}

// wandersBeside says whether a random walk describes the series better than one fall with a straight line before it and another after it.
func (l levelSplit) wandersBeside(f fall) bool {
	before, after := lineResiduals(l.bounded[:f.at]), lineResiduals(l.bounded[f.below:])
	high, low := l.bounded[f.at-1]-before[f.at-1], l.bounded[f.below]-after[0]
	residuals := before
	for i := f.at; i < f.below; i++ {
		residuals = append(residuals, l.bounded[i]-high-(low-high)*f.done(i))
	}
	changes := 1 + 2*slopePrice
	if f.below > f.at {
		changes += lengthPrice
	}
	return l.walks(append(residuals, after...), changes)
}

// walks compares the innovations of a random walk with those of residuals that so many changes cost.
func (l levelSplit) walks(residuals []float64, changes float64) bool {
	n := len(l.bounded)
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
	return float64(n)*math.Log(max(walk, floor)/max(around, floor)) <= penaltyFactor*math.Log(float64(n))*changes
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
	c.Before, c.After = side(c.From, c.At), side(c.Below, c.Until)
	c.Left = c.After / max(c.Before, math.SmallestNonzeroFloat64)
	// A level of few and like-minded samples would leave no degree of freedom, and Student's tail no fall that counts; that the
	// level changed at all was decided before, over the whole series.
	if math.IsNaN(effective + variance + loudest) { // rates whose squares no float holds
		effective, variance, loudest = 0, math.MaxFloat64, math.MaxFloat64
	}
	distribution := students(max(effective-2, 3))
	// A few samples that happen to lie low seem quiet: what one side does, the other may do.
	loudVariance := loudest * (1/float64(c.At-c.From) + 1/float64(c.Until-c.Below))
	standardError := math.Sqrt(min(variance, math.MaxFloat64))
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
func (c *Cliff) place(s Series, l levelSplit, f fall) {
	f.at, f.below = c.At, c.Below
	f = f.beside()
	low, high := c.At, c.Below
	most := l.fallCost(f) + placeCritical*l.levels.LongRunVariance
	longest := 0
	if c.Below > c.At {
		longest = fallSamplesMax
	}
	window := 10 * SegmentSamplesMin
	for at := max(f.from+1, c.At-window); at < min(f.to, c.At+window+1); at++ {
		for below := at; below < min(f.to, at+longest+1); below++ {
			if f.at, f.below = at, below; l.fallCost(f) <= most {
				low, high = min(low, at), max(high, below)
			}
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

// apart is the chance that all samples of a stretch lie above all those of a later one, if they do so by what a cliff falls at least: the rank test of Mann and Whitney
// (Annals of Mathematical Statistics 18, 1947), exactly, once for the samples and once for as many as count, with each side's trend taken out; 1 if they don't.
func apart(logs []float64, from, to, laterFrom, laterTo int) (order, effective float64) {
	before, after := logs[from:to], logs[laterFrom:laterTo]
	if slices.Min(before)+math.Log1p(-CliffFallMin) < slices.Max(after) {
		return 1, 1
	}
	rho := lagOne(append(lineResiduals(before), lineResiduals(after)...), 2)
	chance := func(m, n float64) float64 {
		logM, _ := math.Lgamma(m + 1)
		logN, _ := math.Lgamma(n + 1)
		logAll, _ := math.Lgamma(m + n + 1)
		return min(2*math.Exp(logM+logN-logAll), 1)
	}
	return chance(float64(len(before)), float64(len(after))), chance(EffectiveSamples(len(before), rho), EffectiveSamples(len(after), rho))
}

// tellApart cuts levels that were none in two where every sample before lies above every one after, by more than chance: loud samples hide a few quiet ones before them from
// the price of a change, which is theirs.
func (l *levelSplit) tellApart(logs []float64) {
	n := len(logs)
	if len(l.ends) > 1 || n < 2*SegmentSamplesMin {
		return
	}
	highest := slices.Clone(logs) // of the samples from i on
	for i := n - 2; i >= 0; i-- {
		highest[i] = max(highest[i], highest[i+1])
	}
	at, most := 0, 0.0
	lowest := math.Inf(1)
	for i := range n - SegmentSamplesMin {
		if gap := lowest - highest[i]; i >= SegmentSamplesMin && gap > most {
			at, most = i, gap
		}
		lowest = min(lowest, logs[i])
	}
	if at == 0 {
		return
	}
	if _, effective := apart(logs, 0, at, at, n); effective <= cliffSignificance {
		l.ends = []int{at, n}
	}
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
