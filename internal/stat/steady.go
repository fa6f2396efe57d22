package stat

import (
	"fmt"
	"math"
)

const (
	// SteadyTolerance is how far the levels of a steady phase may lie apart, and how far it may drift: 10 %.
	SteadyTolerance = 0.10
	// SteadySamplesMin is how few samples after the warm-up can still be called steady or not.
	SteadySamplesMin = 10

	// driftUnknown is how far the interval of a drift may reach before the phase is too short to tell.
	driftUnknown = 0.30
	// trendSignificance is the chance at which a drift that is only noise is believed.
	trendSignificance = 0.01
)

// SteadyKind says whether a phase has a rate that stands for it.
type SteadyKind string

const (
	Steady   SteadyKind = "steady"
	Drifting SteadyKind = "drifting"  // it rises or falls all the way
	Stepped  SteadyKind = "stepped"   // it has levels that lie apart
	TooShort SteadyKind = "too-short" // nobody can tell
)

// Steadiness is what can be said of the rate of a phase.
type Steadiness struct {
	Kind SteadyKind `json:"kind"`
	Why  string     `json:"why"` // a sentence with the figures

	From             int     `json:"from"`    // first sample after the warm-up
	Samples          int     `json:"samples"` // after the warm-up
	Rate             float64 `json:"rate"`    // arithmetic mean after the warm-up, operations a second
	Worst            float64 `json:"worst"`   // the lowest sample after the warm-up
	WorstAt          int     `json:"worst_at"`
	Autocorrelation  float64 `json:"autocorrelation"`
	EffectiveSamples float64 `json:"effective_samples"`

	// Drift is how much the rate changed from the first to the last sample after the warm-up along a straight line through
	// the log rates (−0.2: it fell by a fifth), with its 95 % interval.
	Drift    float64   `json:"drift"`
	Interval *Interval `json:"drift_interval,omitempty"`

	Levels   Levels    `json:"levels"` // of what comes after the warm-up; positions are in the whole series
	Warnings []Warning `json:"warnings,omitempty"`
}

// Decide says whether a phase's rates (operations a second, one every sampleSeconds) settled, where, and at which rate.
//
// After the warm-up (Warmup), a phase is not steady if its levels (ChangePoints) lie more than SteadyTolerance apart,
// or if it drifts by more than that with p < 0.01. The drift is the slope of log rate on time by least squares; its
// standard error is √(LRV / Σ(t − t̄)²), with the long-run variance of the residuals, and its degrees of freedom those of
// the effective samples: a plain regression would take the likeness of neighbouring seconds for a trend.
// A beginning that is no warm-up, though MSER5 would cut it, that moves the mean by more than SteadyTolerance, and is as far from the rest as a change of level costs, is a level of its own, however short.
// Where the drift's interval reaches beyond 30 %, nobody can tell. A series that is not steady is drifting rather than stepped where a line describes it as well as the levels do.
func Decide(rates []float64, sampleSeconds float64) Steadiness {
	var s Steadiness
	settled, ok, why := MSER5(rates)
	cut := offThroughout(rates, settled)
	if !ok {
		s.Warnings = append(s.Warnings, Warning{WarnNoWarmupCut, why, "run the phase longer"})
	}
	s.From, s.Samples = cut, len(rates)-cut
	if s.Samples == 0 {
		s.Kind, s.Why = TooShort, "there is no sample"
		return s
	}
	after := rates[cut:]
	s.Rate = Mean(after)
	s.Worst, s.WorstAt = after[0], cut
	for i, r := range after {
		if r < s.Worst {
			s.Worst, s.WorstAt = r, cut+i
		}
	}
	s.Levels = ChangePoints(after, sampleSeconds)
	s.Autocorrelation = s.Levels.Autocorrelation
	s.EffectiveSamples = EffectiveSamples(s.Samples, s.Autocorrelation)
	for i := range s.Levels.Segments {
		s.Levels.Segments[i].From += cut
		s.Levels.Segments[i].To += cut
	}
	if s.Samples < SteadySamplesMin {
		s.Kind = TooShort
		s.Why = fmt.Sprintf("%s to tell: at least %d are needed", tooFew(s.Samples, " after the warm-up"), SteadySamplesMin)
		return s
	}

	line := fitTrend(LogRates(after, sampleSeconds))
	s.Drift, s.Interval = math.Expm1(line.drift), &Interval{boundedExp(line.drift-line.half) - 1, boundedExp(line.drift+line.half) - 1}
	low, high := levelRange(s.Levels.Segments)
	apart := high/max(low, math.SmallestNonzeroFloat64) - 1
	drifts := line.p < trendSignificance && math.Abs(line.drift) > math.Log1p(SteadyTolerance)

	perChange := penaltyFactor * s.Levels.LongRunVariance * math.Log(float64(s.Samples))
	rest := Mean(rates[settled:])
	beginsApart := math.Abs(s.Rate-rest) > SteadyTolerance*rest && stepCost(LogRates(rates[cut:], sampleSeconds), settled-cut) > perChange
	lineIsAsGood := line.cost+perChange <= s.Levels.cost+perChange*float64(len(s.Levels.Segments)-1)
	switch {
	case apart > SteadyTolerance && !(drifts && lineIsAsGood):
		s.Kind = Stepped
		s.Why = fmt.Sprintf("%d levels, from %s to %s: more than %.0f %% apart",
			len(s.Levels.Segments), figure(low), figure(high), 100*SteadyTolerance)
	case drifts:
		s.Kind = Drifting
		s.Why = fmt.Sprintf("a drift of %s over %d samples (95 %% interval %s to %s)",
			change(s.Drift), s.Samples, change(s.Interval.Low), change(s.Interval.High))
	case beginsApart:
		s.Kind = Stepped
		s.Why = fmt.Sprintf("%s at first, for %d of %d samples, and %s from then on", figure(Mean(rates[cut:settled])), settled-cut, len(rates), figure(rest))
	case s.Interval.Low < -driftUnknown || s.Interval.High > driftUnknown:
		s.Kind = TooShort
		s.Why = fmt.Sprintf("a drift between %s and %s fits the %d samples after the warm-up: too few, or too restless, to tell",
			change(s.Interval.Low), change(s.Interval.High), s.Samples)
	default:
		s.Kind = Steady
		s.Why = fmt.Sprintf("no lasting change of more than %.0f %% in %d samples after the warm-up", 100*SteadyTolerance, s.Samples)
		if s.Interval.Low < -SteadyTolerance || s.Interval.High > SteadyTolerance {
			s.Warnings = append(s.Warnings, Warning{WarnTrendUnclear,
				fmt.Sprintf("a drift between %s and %s fits the samples as well", change(s.Interval.Low), change(s.Interval.High)),
				"run the phase longer"})
		}
	}
	return s
}

// changeMax is the largest drift that is written out: of a larger one, the figure says nothing.
const changeMax = 10

// change writes a drift: "-12 %".
func change(drift float64) string {
	if drift > changeMax {
		return "more than +1,000 %"
	}
	return fmt.Sprintf("%+.0f %%", 100*drift)
}

// figure writes a rate with three digits: 8.27 k/s.
func figure(rate float64) string {
	unit := ""
	for _, next := range []string{" k", " M", " G"} {
		if rate < 999.5 {
			break
		}
		rate, unit = rate/1000, next
	}
	decimals := 2
	switch {
	case rate >= 99.95:
		decimals = 0
	case rate >= 9.995:
		decimals = 1
	}
	return fmt.Sprintf("%.*f%s/s", decimals, rate, unit)
}

// stepCost is what it costs to take the first of some log rates for a part of the level of the rest.
func stepCost(logs []float64, first int) float64 {
	if first == 0 {
		return 0
	}
	step := Mean(logs[:first]) - Mean(logs[first:])
	return float64(first) * step * step
}

func levelRange(segments []Segment) (low, high float64) {
	low, high = segments[0].Rate, segments[0].Rate
	for _, s := range segments {
		low, high = min(low, s.Rate), max(high, s.Rate)
	}
	return low, high
}

// trend is a straight line through log rates.
type trend struct {
	drift float64 // log of last over first, on the line
	half  float64 // half of the 95 % interval of drift
	p     float64
	cost  float64 // Σ of squared distances, outliers bounded

	slope, slopeHalf float64 // of log rate over x, and half of its 95 % interval
	middle, level    float64 // the line goes through them
	rho              float64 // lag-1 autocorrelation around the line
	sigmaD, samples  float64
}

func (t trend) at(x float64) float64 { return t.level + t.slope*(x-t.middle) }

func fitTrend(logs []float64) trend {
	positions := make([]float64, len(logs))
	for i := range positions {
		positions[i] = float64(i)
	}
	return fitLine(positions, logs)
}

// fitLine fits log rates to a line over any increasing x, in the order of the samples.
func fitLine(positions, logs []float64) trend {
	sigmaD := differenceDeviation(logs)
	logs = boundOutliers(logs, outlierSigmas*sigmaD/math.Sqrt(1-provisionalRho))
	n := float64(len(logs))
	mean, middle := Mean(logs), Mean(positions)
	var sxx, sxy float64
	for i, y := range logs {
		x := positions[i] - middle
		sxx += x * x
		sxy += x * (y - mean)
	}
	t := trend{slope: sxy / sxx, middle: middle, level: mean}
	residuals := make([]float64, len(logs))
	for i, y := range logs {
		residuals[i] = y - mean - t.slope*(positions[i]-middle)
		t.cost += residuals[i] * residuals[i]
	}
	t.rho = lagOne(residuals, 2)
	// σ_d looks at neighbours only, the residuals at the whole line: the larger of both is the cautious one.
	variance := max(longRunVariance(sigmaD, t.rho), t.cost/(n-2)*(1+t.rho)/(1-t.rho))
	distribution := students(max(EffectiveSamples(len(logs), t.rho)-2, 1))
	length := positions[len(positions)-1] - positions[0]
	t.slopeHalf = distribution.Quantile(0.975) * math.Sqrt(variance/sxx)
	t.drift, t.half = t.slope*length, t.slopeHalf*length
	t.p = 2 * distribution.Survival(math.Abs(t.slope)/math.Sqrt(variance/sxx))
	t.sigmaD, t.samples = sigmaD, n
	return t
}
