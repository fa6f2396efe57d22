package series

import (
	"math"
	"slices"

	"assay/internal/analysis/stat"
)

const (
	// rampSeconds is the longest fall that is a step; a longer one is a slope.
	rampSeconds = 10.0
	// stepReach is how many samples on either side a step is held against a slope on.
	stepReach = 30
	// placeCost times LRV is how much worse than the best a place in the 95 % interval may be
	// (Hansen, Econometrica 68, 2000); rampCost is what the length of a fall costs as a parameter.
	placeCost = 7.35
	rampCost  = 4.0
	// backShare is the share of the level before that a rate has to reach to be back.
	backShare = 0.9
	// flatShare is the share of its depth that a level may change by; what changes more is on its
	// way back.
	flatShare = 0.25
	// longDropMax is the longest drop with a slow return, as a share of the series.
	longDropMax = 1.0 / 3
	// separate is the ratio between all levels before and all levels after a place at which
	// oscillations are looked for apart.
	separate = 4.0 / 3
	// slopeSignificance is the chance of a false slope, and driftUnknown the change that may not
	// fit a series that is called steady.
	slopeSignificance = 0.01
	driftUnknown      = 0.3
	// saysNothing is how far, as a factor to either side, a change is open that is better not given.
	saysNothing = 3
	// slopeReach is how many samples before and after a step their slopes are of, and
	// unexplainedMin the share of the change that these slopes must leave unexplained.
	slopeReach     = 15
	unexplainedMin = 0.5
	// endErrors is how many standard errors of a mean of white noise the end of a line may be off:
	// three of its own, which are twice as large, and half more for neighbours that are alike.
	endErrors = 9
	// jumpErrors is how many standard errors a jump on a slope has at least.
	jumpErrors = 3
	// jumpSide is how many samples each side of a jump between slopes has at least.
	jumpSide = 10
	// walkPrice is how many parameters a change costs in comparison with a random walk: its place,
	// its level, its length, and one for having been looked for.
	walkPrice = 4
	// walkSigmas is how many standard deviations of a random walk's step a jump in one must be.
	walkSigmas = 6
)

// finder gathers the events of a view.
type finder struct {
	view
	events []Event
	levels []Level
	why    *Doubt
	rho    float64
}

// find looks for oscillations, and at what lies between them piece by piece.
func (f *finder) find() {
	if f.samples() <= shortSamplesMax {
		f.findShort()
		return
	}
	whole := sketchOf(f.view)
	turns := f.oscillations(whole)
	if len(turns) == 0 {
		f.piece(whole)
	} else {
		from := 0
		for _, o := range turns {
			f.turnsAfter(from, o)
			from = o.to
		}
		f.pieceOf(from, f.samples())
	}
	if f.why != nil && f.why.Code == TooNoisy && f.changed() {
		f.why = nil
	}
}

// changed reports whether there is an event that leaves the series without one rate.
func (f *finder) changed() bool {
	return slices.ContainsFunc(f.events, func(e Event) bool { return e.Kind != Drops })
}

// turning is an oscillation of the samples from … to.
type turning struct {
	from, to int
	turns    *Turns
}

// oscillations looks for one in each stretch between places where all levels before lie above, or
// below, all levels after.
func (f *finder) oscillations(whole sketch) (found []turning) {
	from := 0
	for _, to := range append(separations(whole.levels), len(whole.position)) {
		end := f.samples()
		if to < len(whole.position) {
			end = whole.position[to]
		}
		if turns, a, b := oscillation(f.part(from, end)); turns != nil {
			found = f.joined(found, turning{from + a, from + b, turns})
		}
		from = end
	}
	return found
}

// joined appends an oscillation; one between the levels of the last, right after it, is part of
// that.
func (f *finder) joined(found []turning, o turning) []turning {
	alike := func(a, b float64) bool { return max(a, b) < separate*min(a, b) }
	if k := len(found) - 1; k >= 0 && found[k].to+levelSamplesMin > o.from &&
		alike(found[k].turns.High, o.turns.High) && alike(found[k].turns.Low, o.turns.Low) {
		from := found[k].from
		if turns, a, b := oscillation(f.part(from, o.to)); turns != nil {
			found[k] = turning{from + a, from + b, turns}
			return found
		}
	}
	return append(found, o)
}

func separations(l levels) (at []int) {
	means := l.means()
	for i := range len(means) - 1 {
		lowBefore, highBefore := extremes(means[:i+1])
		lowAfter, highAfter := extremes(means[i+1:])
		if max(lowBefore-highAfter, lowAfter-highBefore) >= math.Log(separate) {
			at = append(at, l.ends[i])
		}
	}
	return at
}

func (l *levels) means() []float64 {
	means := make([]float64, len(l.ends))
	from := 0
	for i, to := range l.ends {
		means[i], from = stat.Mean(l.bounded[from:to]), to
	}
	return means
}

func extremes(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// turnsAfter adds an oscillation, what lies between sample `from` and it, and the step to it where
// all of it lies below or above that: at the last sample that is nearer to the level before.
func (f *finder) turnsAfter(from int, o turning) {
	usual := stat.Median(f.part(from, max(o.from, from+1)).rates())
	near, step := o.turns.High, usual*(1-SteadyChange) > o.turns.High
	if usual*(1+SteadyChange) < o.turns.Low {
		near, step = o.turns.Low, true
	}
	if step = step && o.from-from >= levelSamplesMin; step {
		middle := math.Sqrt(near * usual)
		for o.from = min(o.from+levelSamplesMin, o.to-1); o.from > from &&
			(f.rate(o.from-1) > middle) == (near > middle); {
			o.from--
		}
	}
	known := len(f.levels) // a piece that is too short to be a level adds none
	if f.pieceOf(from, o.from); step && len(f.levels) > known {
		before, after := f.levels[len(f.levels)-1].Rate, f.mean(o.from, o.to)
		f.step(f.view, fit{from: o.from, to: o.from, low: o.from, high: o.from}, before, after,
			stat.Interval{Low: o.turns.Low / before, High: max(o.turns.High, after) / before})
	}
	f.events = append(f.events, Event{Kind: Oscillation, From: f.begins(o.from), To: f.ends(o.to - 1),
		Before: o.turns.High, After: o.turns.Low,
		Turns: o.turns, Records: f.stored(f.s.Records, o.from), Bytes: f.stored(f.s.Bytes, o.from), at: f.at[o.from]})
	f.levels = append(f.levels, Level{f.begins(o.from), f.ends(o.to - 1), f.mean(o.from, o.to)})
}

// step adds the event of a change at a place of a view.
func (f *finder) step(v view, place fit, before, after float64, left stat.Interval) {
	e := Event{Kind: Step, From: v.begins(place.from), To: v.begins(place.to), Before: before,
		After: after, Left: &left,
		Cliff:    after <= cliffLeftMax*before && left.Low <= 1-CliffFall,
		Interval: &stat.Interval{Low: v.begins(max(place.low-1, 0)), High: v.begins(max(place.high, place.to))},
		Records:  v.stored(v.s.Records, place.from), Bytes: v.stored(v.s.Bytes,
			place.from), at: v.at[min(place.from, len(v.at)-1)]}
	low, high := v.stored(v.s.Records, place.low-1), v.stored(v.s.Records, max(place.high, place.to))
	if low != nil && high != nil {
		e.RecordsInterval = &stat.Interval{Low: *low, High: *high}
	}
	f.events = append(f.events, e)
}

// sketch is a view with its short drops, and the levels of what lies between them.
type sketch struct {
	whole    view
	drops    []Drop
	rest     view
	position []int // of each sample of rest in whole
	levels   levels
}

func sketchOf(v view) sketch {
	s := sketch{whole: v, drops: shortDrops(v)}
	s.rest, s.position = v.without(s.drops)
	s.levels = levelsOf(s.rest.logs)
	return s
}

// pieceOf is piece for the samples from … to, unless they are too few for a level.
func (f *finder) pieceOf(from, to int) {
	if to-from >= levelSamplesMin {
		f.piece(sketchOf(f.part(from, to)))
	}
}

// piece finds the drops, steps and slopes where nothing oscillates.
func (f *finder) piece(s sketch) {
	drops, rest, l := s.drops, s.rest, s.levels
	c := changesOf(rest, &l)
	if slow := c.longDrops(); len(slow) > 0 {
		drops = append(drops, slow...)
		sortDrops(drops)
		rest, _ = rest.without(slow)
		l = levelsOf(rest.logs)
	}
	f.changes(rest, &l)
	f.backs()
	if len(drops) > 0 {
		f.events = append(f.events, s.whole.dropEvent(drops))
	}
}

// changes tells the steps and slopes of a view from its levels.
func (f *finder) changes(v view, l *levels) {
	n := v.samples()
	f.rho = max(f.rho, l.rho)
	trend := lineOf(positions(n), l.bounded, l.sigma)
	curve := v.curve(l, trend)
	// A slope that no random walk makes is none, whatever the shape of its curve.
	tends := tendsOneWay(l.bounded)
	slopes := (trend.p < slopeSignificance || tends) && isChange(curve.drift)
	c := changesOf(v, l)
	switch {
	case slopes && (len(l.ends) == 1 || curve.cost+l.penalty <= l.cost+l.penalty*float64(len(l.ends)-1)):
		if place, jumps := jumpOf(l.bounded, max(int(rampSeconds/v.width), 1)); jumps {
			f.split(v, place)
			return
		}
		if tends || !c.walks(curve.cost*(1-curve.rho*curve.rho), 1) {
			curve.mendEnds(v.logs, l.sigma)
			if f.slope(v, 0, n, &curve) {
				return
			}
			break // its levels describe it
		}
		f.why, c.all = &Doubt{Code: TooErratic, Samples: n}, nil
	case !tends && c.stepsWalk():
		f.why = &Doubt{Code: TooErratic, Samples: n}
		c.keepJumps()
	case len(c.all) == 0 && (n < steadySamplesMin || driftHides(&trend, l.bounded)):
		f.doubt(&trend, l.bounded)
	}
	f.emit(c)
}

// split tells of a step between two slopes, and of each side by itself.
func (f *finder) split(v view, place fit) {
	low, high := max(place.from-slopeReach, 0), min(place.to+slopeReach, v.samples())
	first, last := v.part(0, place.from), v.part(place.to, v.samples())
	sides := [2]levels{levelsOf(first.logs), levelsOf(last.logs)}
	c := changeList{v: v, l: &levels{bounded: v.logs, sigma: max(sides[0].sigma, sides[1].sigma),
		rho: max(sides[0].rho, sides[1].rho)}}
	f.changes(first, &sides[0])
	f.step(v, place, v.mean(low, place.from), v.mean(place.to, high), c.left(low, place, high))
	f.changes(last, &sides[1])
}

// jumpOf looks for one fall, at once or over at most so many samples, between two slopes of logs
// that a single slope describes better than levels do. It must make both slopes worth their price,
// and be no part of either.
func jumpOf(values []float64, ramp int) (place fit, jumps bool) {
	n := len(values)
	lines := lineSumsOf(values)
	one, best := lines.cost(0, n), math.Inf(1)
	for i := jumpSide; i <= n-jumpSide; i++ {
		for j := i; j <= min(i+ramp, n-jumpSide); j++ {
			if cost := lines.cost(0, i) + lines.cost(j, n) + lines.between(values, i, j); cost < best {
				best, place = cost, fit{from: i, to: j, low: i, high: j}
			}
		}
	}
	if math.IsInf(best, 1) {
		return place, false
	}
	rest := lines.residuals(values, place)
	rho := lagOne(rest, 4)
	noise := max(squares(rest)/float64(n), noiseFloor*noiseFloor) * (1 + rho) / (1 - rho)
	before, after := lines.at(0, place.from, float64(place.from)-1), lines.at(place.to, n, float64(place.to))
	through := float64(place.to-place.from+1) * (lines.slope(0, place.from) + lines.slope(place.to, n)) / 2
	by := after - before - through
	if by > math.Log(dropShare) || one-best < 2*changePenalty*noise*math.Log(float64(n)) {
		return place, false
	}
	return place, true
}

// driftRange is the 95 % interval of a line's drift. No drift is larger than what lies between the
// lowest and the highest sample.
func driftRange(trend *line, logs []float64) (low, high float64) {
	most := slices.Max(logs) - slices.Min(logs)
	return min(max(trend.drift-trend.half, -most), most), max(min(trend.drift+trend.half, most), -most)
}

// driftHides reports whether a change by more than a steady rate may have fits the samples.
func driftHides(trend *line, logs []float64) bool {
	low, high := driftRange(trend, logs)
	return max(-low, high) > math.Log1p(driftUnknown)
}

// doubt says that a change could hide in the noise, if nothing else is known of the series.
func (f *finder) doubt(trend *line, logs []float64) {
	if f.why != nil {
		return
	}
	f.why = &Doubt{Code: TooNoisy, Samples: len(logs)}
	if low, high := driftRange(trend, logs); high-low < 2*math.Log(saysNothing) {
		f.why.Low, f.why.High = expm1(low), expm1(high)
	}
}

func expm1(x float64) float64 { return math.Expm1(min(max(x, -20), 20)) }

// isChange reports whether a difference of logs is a larger change than a steady rate may have.
func isChange(by float64) bool {
	return by > math.Log1p(SteadyChange) || by < math.Log1p(-SteadyChange)
}

// curve is the line that fits best: of the logarithm over time, records (or elapsed time) or their
// logarithm, or of the rate itself over time.
func (v view) curve(l *levels, best line) line {
	if straight := straightRate(l.bounded, l.sigma); straight.cost < best.cost {
		best = straight
	}
	amount, logs := make([]float64, v.samples()), make([]float64, v.samples())
	for i, at := range v.at {
		if amount[i] = v.ends(i) - v.s.Begin; v.s.Records != nil {
			amount[i] = v.s.Records[at]
		}
		if !(amount[i] > 0) || i > 0 && amount[i] < amount[i-1] {
			return best
		}
		logs[i] = math.Log(amount[i])
	}
	for _, x := range [][]float64{amount, logs} {
		if other := lineOf(x, l.bounded, l.sigma); other.cost < best.cost {
			best = other
		}
	}
	return best
}

// slope adds a decline or a rise of the samples from … to along a curve. What it tells is the curve
// at its ends: means of the first and the last samples would understate it. It reports whether that
// is a larger change than a steady rate may have; a smaller one is not added.
func (f *finder) slope(v view, from, to int, curve *line) bool {
	edge := max((to-from)/10, min(levelSamplesMin, (to-from)/4), 1)
	// The mean of rates lies above the exponential of the mean of their logarithms.
	mean := math.Exp(curve.begin + min(curve.cost/float64(to-from), 1)/2)
	first := Level{v.begins(from), v.ends(from + edge - 1), v.within(from, from+edge, mean)}
	last := Level{v.begins(to - edge), v.ends(to - 1), v.within(to-edge, to, mean*math.Exp(curve.drift))}
	if !isChange(math.Log(last.Rate / first.Rate)) {
		return false
	}
	f.levels = append(f.levels, first, last)
	e := Event{Kind: Decline, From: v.begins(from), To: v.ends(to - 1), Before: first.Rate,
		After: last.Rate, at: v.at[from],
		Records: v.stored(v.s.Records, from), Bytes: v.stored(v.s.Bytes, from)}
	if last.Rate > first.Rate {
		e.Kind = Rise
	}
	if curve.half > 0 {
		e.Left = &stat.Interval{Low: 1 + expm1(curve.drift-curve.half), High: 1 + expm1(curve.drift+curve.half)}
	}
	f.events = append(f.events, e)
	return true
}

// within keeps a rate among those of the samples from … to: a curve that fits as a whole may leave
// them at its ends.
func (v view) within(from, to int, rate float64) float64 {
	rates := v.rates()[from:to]
	return min(max(rate, slices.Min(rates)), slices.Max(rates))
}

// change is a change of level: from segment left to segment right, with none or some short ones
// between them that are part of the fall.
type change struct {
	left, right int
	fit         fit
	sharp       bool // a step fits better than a slope
}

// fit is where a step happened: samples of a view. At once: from equals to.
type fit struct {
	from, to  int
	low, high int // 95 %
	cost      float64
}

// changeList is the changes between the levels of a view.
type changeList struct {
	v     view
	l     *levels
	start []int // of each level
	means []float64
	all   []change
}

func changesOf(v view, l *levels) changeList {
	c := changeList{v: v, l: l, means: l.means(), start: append([]int{0}, l.ends[:len(l.ends)-1]...)}
	ramp := max(int(rampSeconds/v.width), 1)
	last := len(l.ends) - 1
	for left := 0; left < last; {
		right := left + 1
		for right < last && c.start[right+1]-c.start[left+1] <= ramp &&
			(c.means[right]-c.means[left])*(c.means[right+1]-c.means[right]) > 0 {
			right++
		}
		ch := change{left: left, right: right}
		low, high := max(c.start[left], l.ends[left]-stepReach), min(l.ends[right], c.start[right]+stepReach)
		ch.fit = stepFit(l.bounded, low, high, ramp, l.lrv)
		straight := lineOf(positions(high-low), l.bounded[low:high], l.sigma)
		ch.sharp = ch.fit.cost < straight.cost
		if k := len(c.all) - 1; k >= 0 && c.all[k].fit.to >= ch.fit.from {
			c.unfit(&c.all[k]) // two fits that cross: the cuts between levels never do
			c.unfit(&ch)
		}
		c.all = append(c.all, ch)
		left = right
	}
	for i := range c.all {
		c.all[i].sharp = c.all[i].sharp && c.jumps(i)
	}
	return c
}

func (c *changeList) unfit(ch *change) {
	ch.fit.from, ch.fit.to = c.l.ends[ch.left], c.start[ch.right]
	ch.fit.low, ch.fit.high = ch.fit.from, ch.fit.to
}

func (c *changeList) by(ch change) float64 { return c.means[ch.right] - c.means[ch.left] }

// isStep reports whether a change is sharp, and larger than a steady rate may have.
func (c *changeList) isStep(ch change) bool { return ch.sharp && isChange(c.by(ch)) }

// jumps reports whether enough of a change is left when the slopes on both sides went on through
// it. On one of several stairs in one direction, what is left must be significant, too.
func (c *changeList) jumps(i int) bool {
	place, values := c.all[i].fit, c.l.bounded
	before := values[max(place.from-slopeReach, 0):place.from]
	after := values[place.to:min(place.to+slopeReach, len(values))]
	if len(before) < levelSamplesMin || len(after) < levelSamplesMin {
		return true
	}
	slopeBefore, _ := slopeOf(positions(len(before)), before)
	slopeAfter, _ := slopeOf(positions(len(after)), after)
	by := stat.Mean(after) - stat.Mean(before)
	left := by - slopeBefore*float64(len(before)-1)/2 - slopeAfter*float64(len(after)-1)/2 -
		(slopeBefore+slopeAfter)/2*float64(place.to-place.from+1)
	// The end of a line has four times the variance of its middle.
	noise := math.Sqrt(4 * c.l.lrv * (1/float64(len(before)) + 1/float64(len(after))))
	alone := (i == 0 || c.by(c.all[i-1])*c.by(c.all[i]) < 0) && (i == len(c.all)-1 ||
		c.by(c.all[i+1])*c.by(c.all[i]) < 0)
	return left*by > 0 && math.Abs(left) >= unexplainedMin*math.Abs(by) && (alone || math.Abs(left) >= jumpErrors*noise)
}

// walks reports whether a random walk describes the samples better than a model with so many
// parameters that leaves such squared distances, by the Bayesian information criterion.
func (c *changeList) walks(around, parameters float64) bool {
	n := float64(len(c.l.bounded))
	var steps float64
	for i := 1; i < len(c.l.bounded); i++ {
		d := c.l.bounded[i] - c.l.bounded[i-1]
		steps += d * d
	}
	floor := n * noiseFloor * noiseFloor
	return n*math.Log(max(steps, floor)) < n*math.Log(max(around, floor))+parameters*math.Log(n)
}

// stepsWalk holds the changes against a random walk.
func (c *changeList) stepsWalk() bool {
	if len(c.all) == 0 {
		return false
	}
	rest := c.residuals()
	rho := lagOne(rest, len(c.all)+1)
	return c.walks(squares(rest)*(1-rho*rho), walkPrice*float64(len(c.all)))
}

// residuals are the distances from the levels and from the ramps between them.
func (c *changeList) residuals() (rest []float64) {
	values := c.l.bounded
	from := 0
	for i := 0; i <= len(c.all); i++ {
		place := fit{from: len(values), to: len(values)}
		if i < len(c.all) {
			place = c.all[i].fit
		}
		level := stat.Mean(values[from:place.from])
		for _, y := range values[from:place.from] {
			rest = append(rest, y-level)
		}
		if place.to < len(values) {
			next := len(values)
			if i+1 < len(c.all) {
				next = c.all[i+1].fit.from
			}
			by := stat.Mean(values[place.to:next]) - level
			for k := place.from; k < place.to; k++ {
				rest = append(rest, values[k]-level-by*float64(k-place.from+1)/float64(place.to-place.from+1))
			}
		}
		from = place.to
	}
	return rest
}

// keepJumps keeps the changes that no random walk with these differences makes.
func (c *changeList) keepJumps() {
	var kept []change
	for _, ch := range c.all {
		at := ch.fit.from
		near := min(3, at, len(c.l.bounded)-at)
		jump := stat.Mean(c.l.bounded[at:at+near]) - stat.Mean(c.l.bounded[at-near:at])
		if ch.sharp = ch.sharp && math.Abs(jump) > walkSigmas*c.l.sigma*math.Sqrt2; ch.sharp {
			kept = append(kept, ch)
		}
	}
	c.all = kept
}

// stepFit finds the step, at once or along a straight ramp of at most so many samples, that leaves
// the least squared distance of the values between low and high.
func stepFit(values []float64, low, high, ramp int, lrv float64) fit {
	s := sumsOf(values[low:high])
	n := high - low
	mean := func(a, b int) float64 { return stat.Mean(values[low+a : low+b]) }
	once, best := fit{cost: math.Inf(1)}, fit{cost: math.Inf(1)}
	costs := make([]float64, n)
	edge := min(3, n/2)
	for i := edge; i <= n-edge; i++ {
		a := mean(0, i)
		for j := i; j <= min(i+ramp, n-edge); j++ {
			cost, b := s.cost(0, i)+s.cost(j, n), mean(j, n)
			for k := i; k < j; k++ {
				d := values[low+k] - a - (b-a)*float64(k-i+1)/float64(j-i+1)
				cost += d * d
			}
			if i == j {
				if costs[i] = cost; cost < once.cost {
					once = fit{from: i, to: i, cost: cost}
				}
			}
			if cost < best.cost {
				best = fit{from: i, to: j, cost: cost}
			}
		}
	}
	if once.cost <= best.cost+rampCost*lrv {
		best = once
	}
	best.low, best.high = best.from, best.to
	for i := edge; i <= n-edge; i++ {
		if costs[i] <= best.cost+placeCost*lrv {
			best.low, best.high = min(best.low, i), max(best.high, i)
		}
	}
	best.from, best.to, best.low, best.high = best.from+low, best.to+low, best.low+low, best.high+low
	return best
}

// longDrops finds the sharp falls from which the rate came back within a third of the series.
func (c *changeList) longDrops() (drops []Drop) {
	all := c.v.seconds(0, c.v.samples())
	smooth := boundOutliers(c.v.logs, 0)
	for i := 0; i < len(c.all); i++ {
		before, lowest := c.means[c.all[i].left], math.Inf(1)
		if !c.isStep(c.all[i]) || c.by(c.all[i]) > 0 {
			continue
		}
		for j := i; j < len(c.all); j++ {
			level := c.means[c.all[j].right]
			if lowest = min(lowest, level); level < before+math.Log(backShare) {
				continue
			}
			// Of a slow return, the end is where the rate first reaches its level.
			from, to := c.all[i].fit.from, max(c.all[j].fit.from, c.all[i].fit.to)
			for to < c.l.ends[c.all[j].right] && smooth[to] < before+math.Log(backShare) {
				to++
			}
			short := to-from <= dropSamplesMax && !c.v.isLevel(to-from)
			slow := lowest < before+math.Log(dropShare) && c.v.seconds(from,
				to) <= longDropMax*all && !(c.isStep(c.all[j]) && c.stays(i, j))
			if to > from && (short || slow) {
				drops = append(drops, c.v.drop(from, to, c.v.mean(c.start[c.all[i].left], from)))
				i = j
			}
			break
		}
	}
	return drops
}

// stays reports whether the rate stays low between two changes, on a level of its own.
func (c *changeList) stays(i, j int) bool {
	before := c.means[c.all[i].left]
	for k := c.all[i].right; k <= c.all[j].left; k++ {
		samples, depth := c.l.ends[k]-c.start[k], before-c.means[k]
		if !c.v.isLevel(samples) || depth < -math.Log(dropShare) {
			continue
		}
		slope, _ := slopeOf(positions(samples), c.l.bounded[c.start[k]:c.l.ends[k]])
		if math.Abs(slope)*float64(samples) < flatShare*depth {
			return true
		}
	}
	return false
}

// endsOf is a curve of which only the ends are known: those of lines through the first and the last
// quarter.
func endsOf(values []float64) line {
	n := len(values)
	sums, quarter := lineSumsOf(values), quarterOf(n)
	begin := sums.at(0, quarter, 0)
	return line{begin: begin, drift: sums.at(n-quarter, n, float64(n-1)) - begin}
}

func quarterOf(n int) int { return min(max(n/4, 2*levelSamplesMin), n) }

// mendEnds replaces ends that the samples there are far from: the curve has another shape.
func (c *line) mendEnds(logs []float64, sigma float64) {
	ends := endsOf(logs)
	far := endErrors * sigma / math.Sqrt(float64(quarterOf(len(logs))))
	if math.Abs(ends.begin-c.begin) > far || math.Abs(ends.begin+ends.drift-c.begin-c.drift) > far {
		*c = ends
	}
}

// emit adds the events and levels of a piece.
func (f *finder) emit(c changeList) {
	from := 0 // sample where the present level began
	for i := 0; i < len(c.all); i++ {
		ch := c.all[i]
		if c.isStep(ch) {
			to := c.end(i)
			before, after := c.v.mean(from, ch.fit.from), c.v.mean(ch.fit.to, to)
			if !isChange(math.Log(after / before)) {
				continue
			}
			f.levels = append(f.levels, Level{c.v.begins(from), c.v.begins(ch.fit.from), before})
			f.step(c.v, ch.fit, before, after, c.left(from, ch.fit, to))
			if f.endsBurst(after) {
				f.events[len(f.events)-1].Cliff = false
			}
			from = ch.fit.to
			continue
		}
		// Changes that are no steps, one after the other in one direction, are a slope.
		j := i
		for j+1 < len(c.all) && !c.isStep(c.all[j+1]) && c.by(c.all[j+1])*c.by(ch) > 0 {
			j++
		}
		begin, end := max(from, c.start[ch.left]), c.l.ends[c.all[j].right]
		curve := endsOf(c.v.logs[begin:end])
		if isChange(c.means[c.all[j].right]-c.means[ch.left]) && f.slope(c.v, begin, end, &curve) {
			from = c.start[c.all[j].right]
		}
		i = j
	}
	n := c.v.samples()
	if from < n {
		f.levels = append(f.levels, Level{c.v.begins(from), c.v.ends(n - 1), c.v.mean(from, n)})
	}
}

// endsBurst reports whether the last level was a burst: shorter than the one before it, near which
// the rate now is again. The end of a burst is no cliff.
func (f *finder) endsBurst(after float64) bool {
	k := len(f.levels) - 1
	return k >= 1 && f.levels[k].To-f.levels[k].From < f.levels[k-1].To-f.levels[k-1].From &&
		after > dropShare*f.levels[k-1].Rate
}

// end is where the level after change i ends: before the next step.
func (c *changeList) end(i int) int {
	for _, next := range c.all[i+1:] {
		if c.isStep(next) {
			return next.fit.from
		}
	}
	return c.v.samples()
}

// left is the 95 % interval of what a step left, with the noise of each side.
func (c *changeList) left(from int, place fit, to int) stat.Interval {
	variance, freedom := 0.0, 0.0
	var means [2]float64
	for side, part := range [][]float64{c.l.bounded[from:place.from], c.l.bounded[place.to:to]} {
		means[side] = stat.Mean(part)
		n := float64(len(part))
		each := max(squares(residuals(part, []int{len(part)}))/max(n-1, 1), c.l.sigma*c.l.sigma/(1-c.l.rho))
		variance += each / n * (1 + c.l.rho) / (1 - c.l.rho)
		freedom += effective(len(part), c.l.rho)
	}
	half := students(freedom-2).Quantile(0.975) * math.Sqrt(variance)
	by := means[1] - means[0]
	return stat.Interval{Low: 1 + expm1(by-half), High: 1 + expm1(by+half)}
}

// backs sets for each step down the later level at which half of what was lost had come back.
func (f *finder) backs() {
	for i := range f.events {
		e := &f.events[i]
		if e.Kind != Step || e.After >= e.Before || e.Back != nil {
			continue
		}
		for _, level := range f.levels {
			if level.From >= e.To && level.Rate >= (e.Before+e.After)/2 {
				back := level
				e.Back = &back
				break
			}
		}
	}
}
