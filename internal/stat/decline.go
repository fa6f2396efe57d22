package stat

import (
	"cmp"
	"math"
	"slices"
)

const (
	declineSamplesMin = 20
	// growthMin is by what factor records or bytes must grow for a decline to be told against them.
	growthMin = 1.1
	// formEvidence is the difference in −2·log likelihood, of effective samples, from which one form fits better.
	formEvidence = 4
	// wanderingRho and wanderingFall: a series whose residuals hang together this closely declines only if it fell by
	// so many times what a random walk with its steps would.
	wanderingRho  = 0.85
	wanderingFall = 2.5
	// halfReach is how many times the largest amount seen an extrapolated half may lie at and still be printed.
	halfReach = 4
	// staircaseLevelsMin is how many levels, each below (or above) the one before, are hardly ever a random walk's, whatever line fails to fit them.
	staircaseLevelsMin = 5
)

// Basis is what a decline is told against.
type Basis string

const (
	OverRecords Basis = "records"
	OverBytes   Basis = "bytes"
	OverSeconds Basis = "seconds"
)

// Form is a shape of decline.
type Form string

const (
	LogLog  Form = "log-log" // rate ∝ amount^slope: each doubling costs the same share
	LogLin  Form = "log-lin" // rate ∝ e^(slope·amount): each million costs the same share
	NoForm  Form = "none"    // it falls from level to level, but along neither
	Unclear Form = "unclear" // both fit about as well
)

// Decline is a stretch over which the rate falls as the data grows.
type Decline struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Basis Basis `json:"basis"`
	Form  Form  `json:"form"`
	// Slope is that of the better form, with its 95 % interval: of ln rate over ln amount (log-log), or over the amount (log-lin).
	Slope         float64  `json:"slope"`
	SlopeInterval Interval `json:"slope_interval"`
	SlopeForm     Form     `json:"slope_form"`
	// Evidence is how much better it fits than the other: a difference in −2·log likelihood, 4 or more is worth a word.
	Evidence float64 `json:"evidence"`
	P        float64 `json:"p"`
	// Early is the rate on the fitted line at the middle of the stretch's first tenth, End that at its end; without a form,
	// they are the medians of its first and last tenth, HalfAt is read off, and there is no slope.
	Early   float64 `json:"early"`
	EarlyAt float64 `json:"early_t"` // seconds, on the series' clock: when that is
	End     float64 `json:"end"`
	// HalfAt is the amount at which half of Early is left, on the line; nil where that is too far beyond what was seen.
	HalfAt       *float64  `json:"half_at,omitempty"`
	HalfInterval *Interval `json:"half_interval,omitempty"` // nil: it has no upper end
	Extrapolated bool      `json:"extrapolated,omitempty"`  // HalfAt lies beyond the last sample
	// Steepest is where a decline from level to level falls most in the least time; nil where it follows a line or has no levels.
	Steepest *Step `json:"steepest,omitempty"`
}

// Step is a change from one level to the next.
type Step struct {
	At     int     `json:"at"` // the first sample of the next level
	Before float64 `json:"before"`
	After  float64 `json:"after"` // the levels' geometric mean rates
}

// findDecline looks at one stretch. A decline is a line through log rates, over the amount or its logarithm, that falls by
// more than a steady rate may, with p < 0.01, and describes the stretch as well as its levels do. Without a form, it is such
// a line over anything, time included, with levels of which each is below the one before; or staircaseLevelsMin such levels, with any
// line; or, where drifts says that Decide found a drift, any. Standard errors are those of Decide.
func findDecline(s Series, logs []float64, from, to int, drifts bool) *Decline {
	if to-from < declineSamplesMin {
		return nil
	}
	basis, amounts := s.amounts(from, to)
	ys := logs[from:to]
	linear := fitLine(amounts, ys)
	best, other, form := linear, linear, LogLin
	n := len(amounts)
	logAmounts := make([]float64, n)
	smallest := math.Inf(1)
	for i, a := range amounts {
		logAmounts[i] = math.Log(a)
		smallest = min(smallest, a)
	}
	if smallest > 0 {
		power := fitLine(logAmounts, ys)
		// A form that fits a little better but falls too little to count leaves the word to the other.
		if power.cost < linear.cost && power.falls() || !linear.falls() {
			best, form = power, LogLog
		} else {
			other = power
		}
	}
	formless := false
	if !best.falls() {
		// A rate that falls in bends as data grows may still fall along the time: then it declines, in no form.
		times := make([]float64, n)
		for i := range times {
			times[i] = s.Ends[from+i]
		}
		if best, formless = fitLine(times, ys), true; !best.falls() && !staircase(ys) {
			return nil
		}
	}
	middle := max(edgeSamples, n/10) / 2 // of the first tenth
	d := &Decline{From: from, To: to, Basis: basis, Form: form, SlopeForm: form, Slope: best.slope, EarlyAt: s.Ends[from+middle],
		SlopeInterval: Interval{best.slope - best.slopeHalf, best.slope + best.slopeHalf}, P: best.p}
	floor := float64(n) * noiseFloor * noiseFloor
	d.Evidence = EffectiveSamples(n, best.rho) * math.Log(max(other.cost, floor)/max(best.cost, floor))
	if d.Evidence < formEvidence {
		d.Form = Unclear
	}

	levels := split(ys)
	changes := float64(len(levels.ends) - 1)
	perChange := penaltyFactor * levels.levels.LongRunVariance * math.Log(float64(n))
	if formless || best.cost+perChange > levels.levels.cost+perChange*changes {
		if !descends(levels) && !drifts {
			return nil
		}
		d.withoutForm(s.Rates[from:to], amounts)
		if descends(levels) {
			d.Steepest = steepestStep(levels, from)
		}
		return d
	}
	early := amounts[middle]
	last := amounts[n-1]
	on := func(amount float64) float64 {
		if form == LogLog {
			amount = math.Log(amount)
		}
		return math.Exp(best.at(amount))
	}
	d.Early, d.End = on(early), on(last)
	half := func(slope float64) float64 {
		if slope >= 0 {
			return math.Inf(1)
		}
		if form == LogLog {
			return early * math.Exp(math.Min(math.Ln2/-slope, 500))
		}
		return early + math.Ln2/-slope
	}
	if at := half(best.slope); at <= halfReach*last {
		d.HalfAt, d.Extrapolated = &at, at > last
		if high := half(d.SlopeInterval.High); high < math.MaxFloat64 {
			d.HalfInterval = &Interval{half(d.SlopeInterval.Low), high}
		}
	}
	return d
}

// falls says whether the line falls by more than a steady rate may, and not by chance.
func (t trend) falls() bool {
	return t.slope < 0 && t.p < trendSignificance && -t.drift > math.Log1p(SteadyTolerance) && !t.wanders()
}

// wanders says whether a random walk with the same steps could have come as far: residuals that hang together as closely
// as a walk's leave no other yardstick.
func (t trend) wanders() bool {
	return t.rho >= wanderingRho && math.Abs(t.drift) < wanderingFall*t.sigmaD*math.Sqrt2*math.Sqrt(t.samples)
}

func (t trend) rises() bool {
	return t.p < trendSignificance && t.drift > math.Log1p(SteadyTolerance) && !t.wanders()
}

// withoutForm says of a decline that follows no line what can be read off: the medians of its first and last tenth, and
// the amount from which on most of the next samples have half of the early rate or less.
func (d *Decline) withoutForm(rates, amounts []float64) {
	tenth := max(edgeSamples, len(rates)/10)
	d.Form, d.SlopeForm, d.Slope, d.SlopeInterval, d.Evidence = NoForm, NoForm, 0, Interval{}, 0
	d.Early, d.End = Median(rates[:tenth]), Median(rates[len(rates)-tenth:])
	for i := range len(rates) - tenth {
		if Median(rates[i:i+tenth]) <= d.Early/2 {
			d.HalfAt = &amounts[i]
			return
		}
	}
}

// descends says whether there are three levels or more, each below the one before.
func descends(l levelSplit) bool {
	if len(l.ends) < 3 {
		return false
	}
	from, before := 0, math.Inf(1)
	for _, to := range l.ends {
		level := Mean(l.bounded[from:to])
		if level >= before {
			return false
		}
		from, before = to, level
	}
	return true
}

// staircase says whether log rates come down by more than a steady rate may, over levels of which each is below the one before.
func staircase(logs []float64) bool {
	levels := split(logs)
	if len(levels.ends) < staircaseLevelsMin || !descends(levels) {
		return false
	}
	last := len(levels.ends) - 1
	return Mean(levels.bounded[:levels.ends[0]])-Mean(levels.bounded[levels.ends[last-1]:]) > math.Log1p(SteadyTolerance)
}

// ascend says the same of a rise.
func (l Levels) ascend() bool {
	last := len(l.Segments) - 1
	if last+1 < staircaseLevelsMin || l.Segments[last].Rate <= (1+SteadyTolerance)*l.Segments[0].Rate {
		return false
	}
	return slices.IsSortedFunc(l.Segments, func(a, b Segment) int { return cmp.Compare(a.Rate, b.Rate) })
}

// steepestStep returns, of levels that begin at sample from, the change with the largest fall of the log rate a sample, taken between the levels'
// middles: of two steps that follow each other closely, the one in the thick of the fall.
func steepestStep(l levelSplit, from int) *Step {
	level := func(i int) (middle, mean float64) {
		begin := 0
		if i > 0 {
			begin = l.ends[i-1]
		}
		return float64(begin+l.ends[i]) / 2, Mean(l.bounded[begin:l.ends[i]])
	}
	var steepest *Step
	most := 0.0
	for i := range len(l.ends) - 1 {
		middle, mean := level(i)
		next, after := level(i + 1)
		if fall := (mean - after) / (next - middle); fall > most {
			most, steepest = fall, &Step{At: from + l.ends[i], Before: math.Exp(mean), After: math.Exp(after)}
		}
	}
	return steepest
}

// amounts returns what grew in a stretch: records, else bytes, else the time since the series began.
func (s Series) amounts(from, to int) (Basis, []float64) {
	for _, candidate := range []struct {
		basis  Basis
		values []float64
	}{{OverRecords, s.Records}, {OverBytes, s.Bytes}} {
		if grows(candidate.values, from, to) {
			return candidate.basis, candidate.values[from:to]
		}
	}
	times := make([]float64, to-from)
	for i := range times {
		times[i] = s.Ends[from+i] - s.begins(0)
	}
	return OverSeconds, times
}

// grows says whether a column was measured all through a stretch, never fell, and grew by growthMin.
func grows(values []float64, from, to int) bool {
	if len(values) == 0 || !(values[to-1] >= growthMin*values[from]) || values[to-1] <= 0 {
		return false
	}
	for i := from; i < to; i++ {
		if math.IsNaN(values[i]) || i > from && values[i] < values[i-1] {
			return false
		}
	}
	return true
}
