package stat

import (
	"math"
	"slices"
)

const (
	// alternationSamplesMin, alternationSwitchesMin and alternationShareMin: two levels are a habit only if the series comes
	// back to each of them, often enough to say in which shares of the time.
	alternationSamplesMin  = 10
	alternationSwitchesMin = 4
	alternationShareMin    = 0.15
	// alternationRatioMin is how many times the upper level is the lower one, at least.
	alternationRatioMin = 1.5
	// staysMax is how many times the longest stay between two switches the first or the last stay may be: else most of it does not belong to what goes to and fro.
	staysMax = 2
	// sparseRootsMin is how far apart the roots of the levels' operations a sample are, where these are few: four standard deviations
	// of the root of a Poisson count.
	sparseRootsMin = 2
	// alternationSeparation is how many times the variance of log rates is that around two levels, at least. One level with
	// normal noise comes to 2.8 however it is cut in two, a sine to 5.3, an even spread to 4.
	alternationSeparation = 8
)

// Alternation is a series that goes to and fro between two levels.
type Alternation struct {
	From      int     `json:"from"`
	To        int     `json:"to"`
	High      float64 `json:"high"`         // median rate of the samples at the upper level
	Low       float64 `json:"low"`          // and at the lower one
	HighShare float64 `json:"high_share"`   // of the time
	LowShare  float64 `json:"low_share"`    // what is missing to 1 are stalls
	Switches  int     `json:"switches"`     // from one level to the other
	HighVisit float64 `json:"high_visit_s"` // median length of a stay, seconds
	LowVisit  float64 `json:"low_visit_s"`
	Period    *Period `json:"period,omitempty"` // of the falls to the lower level; nil: not regular
	// StallsApart says that samples below a tenth of the median belong to neither level.
	StallsApart bool `json:"stalls_apart"`
	// Before and After are what lies between it and the next cliff, or the end of the series, on either side; nil: nothing does.
	Before *Segment `json:"before,omitempty"`
	After  *Segment `json:"after,omitempty"`
	// firstSwitch and lastSwitch are the samples after them, and longest is the longest stay between them, seconds.
	firstSwitch, lastSwitch int
	longest                 float64
}

// findAlternation looks at one stretch. It tries all samples, then those that are no stalls. What goes to and fro for a part of the stretch only is told of that part: where the
// rate stays much longer before the first switch, or after the last, than ever between them, all but its longest such stay is left out.
func findAlternation(s Series, logs []float64, from, to int) *Alternation {
	a := alternateAnywhere(s, logs, from, to)
	if a == nil {
		return nil
	}
	begin, end := s.around(*a)
	if begin == from && end == to {
		return a
	}
	return alternateAnywhere(s, logs, begin, end)
}

// around is the part of an alternation's stretch that belongs to it.
func (s Series) around(a Alternation) (begin, end int) {
	begin, end = a.From, a.To
	if s.begins(a.firstSwitch)-s.begins(begin) > staysMax*a.longest {
		for s.begins(begin) < s.begins(a.firstSwitch)-a.longest {
			begin++
		}
	}
	if s.begins(end)-s.begins(a.lastSwitch) > staysMax*a.longest {
		for s.begins(end-1) >= s.begins(a.lastSwitch)+a.longest {
			end--
		}
	}
	return begin, end
}

func alternateAnywhere(s Series, logs []float64, from, to int) *Alternation {
	if a := alternate(s, logs, from, to, 0); a != nil {
		return a
	}
	floor := StallShare * Median(s.Rates[from:to])
	a := alternate(s, logs, from, to, floor)
	if a != nil {
		a.StallsApart = true
	}
	return a
}

// alternate cuts the log rates in two at the place that leaves the least variance (Otsu, IEEE Transactions on Systems, Man
// and Cybernetics 9, 1979); samples below floor stay out.
func alternate(s Series, logs []float64, from, to int, floor float64) *Alternation {
	var kept []int
	for i := from; i < to; i++ {
		if s.Rates[i] >= floor {
			kept = append(kept, i)
		}
	}
	if len(kept) < alternationSamplesMin {
		return nil
	}
	sorted := make([]float64, len(kept))
	for i, at := range kept {
		sorted[i] = logs[at]
	}
	slices.Sort(sorted)
	line, separation := cutInTwo(sorted)
	if separation < alternationSeparation {
		return nil
	}

	a := Alternation{From: from, To: to}
	var high, low, highVisits, lowVisits, falls []float64
	var highSeconds, lowSeconds, stay float64
	above := false
	leave := func() {
		switch {
		case stay == 0:
		case above:
			highVisits = append(highVisits, stay)
		default:
			lowVisits = append(lowVisits, stay)
		}
		stay = 0
	}
	for i, at := range kept {
		up := logs[at] > line
		if i > 0 && up != above {
			if a.Switches == 0 {
				a.firstSwitch = at
			} else {
				a.longest = max(a.longest, s.begins(at)-s.begins(a.lastSwitch))
			}
			a.lastSwitch = at
			a.Switches++
			leave()
			if !up {
				falls = append(falls, s.begins(at))
			}
		}
		above = up
		length := s.length(at)
		stay += length
		if up {
			high, highSeconds = append(high, s.Rates[at]), highSeconds+length
		} else {
			low, lowSeconds = append(low, s.Rates[at]), lowSeconds+length
		}
	}
	leave()
	total := s.Ends[to-1] - s.begins(from)
	a.High, a.Low, a.HighShare, a.LowShare = Median(high), Median(low), highSeconds/total, lowSeconds/total
	if a.Switches < alternationSwitchesMin || min(a.HighShare, a.LowShare) < alternationShareMin || a.High < alternationRatioMin*a.Low {
		return nil
	}
	if each := total / float64(to-from); s.Sparse && math.Sqrt(a.High*each)-math.Sqrt(a.Low*each) < sparseRootsMin {
		return nil
	}
	a.HighVisit, a.LowVisit = Median(highVisits), Median(lowVisits)
	a.Period = FindPeriod(falls, min(a.HighVisit, a.LowVisit))
	return &a
}

// swing says how regularly log rates, each the median of those around it, come down through their middle. On either side of
// it lies half of what they usually are away, so that noise that goes to and fro across the middle is no swing.
func swing(s Series, logs []float64) *Period {
	const window = 2*SegmentSamplesMin - 1
	smooth := boundOutliers(logs, 0)
	middle, half := Median(smooth), medianDeviation(smooth)/2
	var falls []float64
	above := false
	for i, v := range smooth {
		switch {
		case v > middle+half:
			above = true
		case v < middle-half && above:
			above = false
			falls = append(falls, s.begins(i))
		}
	}
	return FindPeriod(falls, window*(s.Ends[len(s.Ends)-1]-s.Begin)/float64(len(s.Ends)))
}

// cutInTwo returns the line between two groups of sorted values, and how many times the whole variance is that within them.
func cutInTwo(sorted []float64) (line, separation float64) {
	n := len(sorted)
	sums, squares := make([]float64, n+1), make([]float64, n+1)
	mean := Mean(sorted)
	for i, v := range sorted {
		sums[i+1] = sums[i] + v - mean
		squares[i+1] = squares[i] + (v-mean)*(v-mean)
	}
	least := math.Inf(1)
	for k := 1; k < n; k++ {
		above := sums[n] - sums[k]
		within := squares[n] - sums[k]*sums[k]/float64(k) - above*above/float64(n-k)
		if within < least {
			least, line = within, (sorted[k-1]+sorted[k])/2
		}
	}
	// Two levels without any noise are told apart as well as can be; one level without noise is one level.
	least = max(least, float64(n)*noiseFloor*noiseFloor)
	return line, squares[n] / least
}
