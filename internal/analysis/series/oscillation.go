package series

import (
	"math"
	"slices"

	"assay/internal/analysis/stat"
)

const (
	turnSamplesMin  = 10
	turnSwitchesMin = 4
	// turnShareMin is the share of the time that each level has at least; a rarer low level is
	// drops.
	turnShareMin = 0.2
	turnRatioMin = 1.5
	// turnSeparation is how many times the variance of logs is that around the two levels. One
	// level of normal noise comes to 2.8, an even spread to 4, a sine to 5.3.
	turnSeparation = 8
	// stayFactor times the longest stay between two switches is the longest first or last stay:
	// else most of it is outside of the oscillation.
	stayFactor = 2
	// sparseRootsMin is four standard deviations of the root of a Poisson count.
	sparseRootsMin = 2
)

// Turns describes an oscillation between two levels.
type Turns struct {
	High      float64 `json:"high"` // median rate at the upper level
	Low       float64 `json:"low"`
	HighShare float64 `json:"high_share"`  // of the time
	HighStay  float64 `json:"high_stay_s"` // median
	LowStay   float64 `json:"low_stay_s"`
	Switches  int     `json:"switches"`
	Period    *Period `json:"period,omitempty"` // of the falls; nil: not periodic
}

// stay is a run of samples at one of the two levels.
type stay struct {
	from, to int
	high     bool
}

// oscillation finds two levels in turn: logs cut in two where the least variance is left (Otsu,
// IEEE SMC 9, 1979). Stalls count to the lower level. from and to are its part of the view.
func oscillation(v view) (turns *Turns, from, to int) {
	n := v.samples()
	if n < turnSamplesMin {
		return nil, 0, 0
	}
	floor := stat.Median(v.logs) + math.Log(stallShare)
	clamped := make([]float64, n)
	for i, y := range v.logs {
		clamped[i] = max(y, floor)
	}
	split, separation := cutInTwo(slices.Sorted(slices.Values(clamped)))
	if separation < turnSeparation {
		return nil, 0, 0
	}
	stays := staysOf(clamped, split)
	if len(stays) <= turnSwitchesMin {
		return nil, 0, 0
	}
	longest := 0
	for _, s := range stays[1 : len(stays)-1] {
		longest = max(longest, s.to-s.from)
	}
	if first := &stays[0]; first.to-first.from > stayFactor*longest {
		first.from = first.to - longest
	}
	if last := &stays[len(stays)-1]; last.to-last.from > stayFactor*longest {
		last.to = last.from + longest
	}
	return turnsOf(v, stays), stays[0].from, stays[len(stays)-1].to
}

func staysOf(logs []float64, split float64) (stays []stay) {
	for i, y := range logs {
		if last := len(stays) - 1; last >= 0 && stays[last].high == (y > split) {
			stays[last].to = i + 1
			continue
		}
		stays = append(stays, stay{i, i + 1, y > split})
	}
	return stays
}

// turnsOf sums up stays. Nil: one level is too rare, or they lie too near.
func turnsOf(v view, stays []stay) *Turns {
	t := &Turns{Switches: len(stays) - 1}
	var rates, lasted [2][]float64
	var seconds [2]float64
	var falls []float64
	for i, s := range stays {
		level := 0
		if s.high {
			level = 1
		} else if i > 0 {
			falls = append(falls, v.begins(s.from))
		}
		for k := s.from; k < s.to; k++ {
			rates[level] = append(rates[level], v.rate(k))
		}
		lasted[level] = append(lasted[level], v.seconds(s.from, s.to))
		seconds[level] += v.seconds(s.from, s.to)
	}
	t.Low, t.High, t.LowStay, t.HighStay =
		stat.Median(rates[0]), stat.Median(rates[1]), stat.Median(lasted[0]), stat.Median(lasted[1])
	t.HighShare = seconds[1] / (seconds[0] + seconds[1])
	near := v.sparse && math.Sqrt(t.High*v.width)-math.Sqrt(t.Low*v.width) < sparseRootsMin
	if near || min(t.HighShare, 1-t.HighShare) < turnShareMin || t.High < turnRatioMin*t.Low {
		return nil
	}
	t.Period = periodOf(falls, min(t.HighStay, t.LowStay))
	return t
}

// cutInTwo returns the line between two groups of sorted values, and how many times the whole
// variance is that within them.
func cutInTwo(sorted []float64) (split, separation float64) {
	n, s, least := len(sorted), sumsOf(sorted), math.Inf(1)
	for k := 1; k < n; k++ {
		if within := s.cost(0, k) + s.cost(k, n); within < least {
			least, split = within, (sorted[k-1]+sorted[k])/2
		}
	}
	// One level without any noise is one level.
	return split, s.cost(0, n) / max(least, float64(n)*noiseFloor*noiseFloor)
}
