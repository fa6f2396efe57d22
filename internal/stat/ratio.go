package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is that of every interval: 95 %.
const Confidence = 0.95

// power is at which chance the smallest detectable difference would be found.
const power = 0.80

// Interval is a range of values, both ends included.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Contains says whether v lies in the interval.
func (i Interval) Contains(v float64) bool { return i.Low <= v && v <= i.High }

// Estimate is a rate over blocks.
type Estimate struct {
	Value    float64   `json:"value"`              // geometric mean; 0 if N is 0
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than two blocks
	N        int       `json:"blocks"`
	Spread   float64   `json:"spread"` // standard deviation of the logs
	Warnings []Warning `json:"warnings,omitempty"`
}

// Ratio is how many times larger one arm's rate is than another's.
type Ratio struct {
	Value    float64   `json:"value"`              // 0 if N is 0
	Interval *Interval `json:"interval,omitempty"` // nil: fewer than two blocks
	P        *float64  `json:"p,omitempty"`        // chance of a ratio this far from 1 if there were no difference; nil likewise
	N        int       `json:"blocks"`             // pairs; of an unpaired ratio, the smaller side
	Spread   float64   `json:"spread"`             // standard deviation of the log ratios; of an unpaired ratio, of both sides together
	// Detectable is the smallest relative difference (0.05: 5 %) that would have been found with 80 % chance at the 5 %
	// level, were the true spread the one seen; nil: fewer than two blocks.
	Detectable *float64 `json:"detectable,omitempty"`
	// Significant: the adjusted P is below the level, and the ratio lies further from 1 than the smallest difference.
	Significant bool `json:"significant"`
	// Equal: the ratio is shown to lie within the margin of a tie (two one-sided tests, adjusted like P).
	Equal    bool      `json:"equal"`
	Warnings []Warning `json:"warnings,omitempty"` // Deprecated: set by the functions below only

	found difference
}

// MeanRate is the geometric mean of one arm's rates over blocks, with Student's t interval on their logs. It assumes that
// blocks are alike but for independent noise: a machine that warms up widens the interval, as it should.
//
// Deprecated: use Arms of [Compare].
func MeanRate(rates []float64) Estimate {
	logs, warnings := logsOf(rates)
	m := meanOf(logs)
	e := Estimate{N: len(logs), Spread: m.spread, Warnings: append(warnings, fewBlocks(len(logs))...)}
	if e.N > 0 {
		e.Value = math.Exp(m.mean)
	}
	if e.N > 1 {
		e.Interval = &Interval{boundedExp(m.mean - m.half), boundedExp(m.mean + m.half)}
	}
	return e
}

// PairedRatio is the ratio a/b of two arms' rates, where a[i] and b[i] ran in the same block: the geometric mean of the
// blocks' ratios, with Student's t interval on their logs. What slows a whole block (heat, a neighbour, drift) falls out.
// Blocks in which either rate is not positive are left out, with a warning. It panics if a and b differ in length.
//
// Deprecated: use Pair of [Compare].
func PairedRatio(a, b []float64) Ratio {
	if len(a) != len(b) {
		panic(fmt.Sprintf("stat: paired ratio of %d and %d blocks", len(a), len(b)))
	}
	var quotients []float64
	for i := range a {
		if a[i] > 0 && b[i] > 0 {
			quotients = append(quotients, a[i]/b[i])
		} else {
			quotients = append(quotients, 0)
		}
	}
	logs, warnings := logsOf(quotients)
	m := meanOf(logs)
	return m.ratio(len(logs), m.spread, append(warnings, fewBlocks(len(logs))...))
}

// UnpairedRatio is the ratio a/b of the rates of two runs that did not run side by side: the difference of mean logs, with
// Welch's interval (Biometrika 34, 1947). Whatever changed between the runs is in it; a warning always says so.
//
// Deprecated: use [CompareUnpaired].
func UnpairedRatio(a, b []float64) Ratio {
	logsA, warnings := logsOf(a)
	logsB, more := logsOf(b)
	warnings = append(append(warnings, more...), Warning{WarnUnpaired,
		"the two sides did not run in the same blocks: what changed on the machine in between counts as a difference",
		"run both as arms of one experiment"})
	n := min(len(logsA), len(logsB))
	warnings = append(warnings, fewBlocks(n)...)
	if n == 0 {
		return Ratio{Warnings: warnings}
	}
	ma, mb := meanOf(logsA), meanOf(logsB)
	m := mean{mean: ma.mean - mb.mean}
	spread := math.Hypot(ma.spread, mb.spread)
	if n < 2 {
		return m.ratio(n, spread, warnings)
	}
	va, vb := square(ma.spread)/float64(len(logsA)), square(mb.spread)/float64(len(logsB))
	m.standardError = math.Sqrt(va + vb)
	m.freedom = float64(n - 1)
	if m.standardError > 0 {
		m.freedom = square(va+vb) / (square(va)/float64(len(logsA)-1) + square(vb)/float64(len(logsB)-1))
	}
	m.half = students(m.freedom).Quantile(1-(1-Confidence)/2) * m.standardError
	return m.ratio(n, spread, warnings)
}

// mean is the mean of logs, with half of its t interval.
type mean struct {
	mean, spread, standardError, half, freedom float64
}

func meanOf(logs []float64) mean {
	m := mean{spread: deviation(logs)}
	if len(logs) > 0 {
		m.mean = Mean(logs)
	}
	if n := float64(len(logs)); n > 1 {
		m.freedom = n - 1
		m.standardError = m.spread / math.Sqrt(n)
		m.half = students(m.freedom).Quantile(1-(1-Confidence)/2) * m.standardError
	}
	return m
}

func (m mean) ratio(n int, spread float64, warnings []Warning) Ratio {
	r := Ratio{N: n, Spread: spread, Warnings: warnings}
	if n == 0 {
		return r
	}
	r.Value = boundedExp(m.mean)
	if n < 2 {
		return r
	}
	r.Interval = &Interval{boundedExp(m.mean - m.half), boundedExp(m.mean + m.half)}
	p := 1.0
	switch {
	case m.standardError > 0:
		p = 2 * students(m.freedom).Survival(math.Abs(m.mean)/m.standardError)
	case m.mean != 0:
		p = 0
	}
	r.P = &p
	t := students(m.freedom)
	detectable := boundedExp((t.Quantile(1-(1-Confidence)/2)+t.Quantile(power))*m.standardError) - 1
	r.Detectable = &detectable
	return r
}

// boundedExp is e^x, kept finite and above zero: an interval from two wild blocks has ends that no float holds, and JSON
// has no infinity.
func boundedExp(x float64) float64 { return math.Exp(min(max(x, -500), 500)) }

func students(freedom float64) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
}

func square(v float64) float64 { return v * v }

func logsOf(values []float64) (logs []float64, warnings []Warning) {
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			logs = append(logs, math.Log(v))
		}
	}
	if left := len(values) - len(logs); left > 0 {
		warnings = []Warning{{WarnZeroRate,
			fmt.Sprintf("%d of %d blocks had a rate of zero and are left out", left, len(values)),
			"look at these trials: a rate of zero has no ratio"}}
	}
	return logs, warnings
}

func fewBlocks(n int) []Warning {
	switch n {
	case 0:
		return []Warning{{WarnNoRun, "there is no block to estimate from", "see why its trials did not end well"}}
	case 1:
		return []Warning{{WarnOneBlock, "one block gives no interval: a second run could differ by anything", "run at least 5 blocks"}}
	case 2:
		return []Warning{{WarnTwoBlocks, "two blocks leave one degree of freedom: the interval is 12.7 standard errors wide on each side", "run at least 5 blocks"}}
	}
	return nil
}
