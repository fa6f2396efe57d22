package stat

import (
	"math"
	"slices"
)

const (
	// dipReach is how many samples to either side of one its usual rate is the median of.
	dipReach = 30
	// dipSigmas is how many standard deviations of those around it a sample of a dip lies below them: with four, one steady series of 600 in a hundred has two of them by chance.
	dipSigmas = 5
	// dipSamplesMax is the longest dip: what lasts longer is a level.
	dipSamplesMax = 15
	// dipsMin is how few dips are a habit; one is told, too, if it has dipSamplesAlone samples.
	dipsMin         = 2
	dipSamplesAlone = 3
	// spikeAlone is how many times the usual rate one spike has that is told however short it is.
	spikeAlone = 5
	// dipShareMax is how much of the time dips may take: with more, what is usual can't be told from them.
	dipShareMax = 1.0 / 3
)

// Dip is a run of samples, From (included) to To (excluded), far below those around it, none of which is a stall: the rate fell and came back.
// A spike is one far above them.
type Dip struct {
	From    int     `json:"from"`
	To      int     `json:"to"`
	Rate    float64 `json:"rate"`              // mean
	Lowest  float64 `json:"lowest,omitempty"`  // rate of a sample of a dip
	Highest float64 `json:"highest,omitempty"` // and of a spike
	Usual   float64 `json:"usual"`             // rate around it
}

// Dips are the dips of a series, or its spikes.
type Dips struct {
	Events  []Dip   `json:"events"`
	Share   float64 `json:"share"`            // of the time
	Seconds float64 `json:"seconds"`          // median length
	Left    float64 `json:"left"`             // median share of the usual rate that a dip leaves; of a spike, how many times the usual rate it has
	Period  *Period `json:"period,omitempty"` // nil: not regular, or too few to tell
}

const (
	downwards = 1.0
	upwards   = -1.0
)

// findDips looks for runs of samples that fall below the running median by what a cliff falls at least, in one of them by five standard deviations of the
// samples around, and end where the rate is back: see docs/statistics.md, 11. Nil: there are none, or they are no habit.
// Upwards, it looks for spikes: for dips of the negated logarithms.
func findDips(s Series, logs []float64, way float64) *Dips {
	n := len(s.Rates)
	var events []Dip
	longest := 0
	ys := make([]float64, n)
	for i, v := range logs {
		ys[i] = way * v
	}
	for i, done := 0, 0; i < n; i++ {
		first, beyond := max(i-dipReach, 0), min(i+dipReach+1, n)
		around := ys[first:beyond]
		usual := Median(around)
		back := usual + math.Log1p(-CliffFallMin)
		if ys[i] >= min(back, usual-dipSigmas*medianDeviation(around)/madPerSigma) {
			continue
		}
		from, to := i, i
		for from > done && ys[from-1] < back {
			from--
		}
		for to < n && ys[to] < back {
			to++
		}
		i, done = to, to
		// What is longer is a level, and of nothing a spike is no multiple.
		if to-from > dipSamplesMax || Median(s.Rates[first:beyond]) == 0 {
			continue
		}
		dip := Dip{From: from, To: to, Rate: s.mean(from, to), Usual: math.Exp(way * usual)}
		if way == upwards {
			dip.Highest = slices.Max(s.Rates[from:to])
		} else if dip.Lowest = slices.Min(s.Rates[from:to]); dip.Lowest < StallShare*dip.Usual {
			continue
		}
		events = append(events, dip)
		if from > 0 && to < n {
			longest = max(longest, to-from)
		}
	}
	return dipsOf(s, events, longest, way)
}

// dipsOf sums up runs, of which the longest has so many samples; nil: they are none to tell of. What the series ends in is one if it had some and one at
// least as long: else nobody knows if the rate comes back. So is a spike that it begins in, and no dip: that may be a warm-up.
func dipsOf(s Series, events []Dip, longest int, way float64) *Dips {
	n := len(s.Rates)
	whole := slices.DeleteFunc(slices.Clone(events), func(d Dip) bool { return d.From == 0 || d.To == n })
	d := Dips{Events: whole}
	if len(whole) >= dipsMin {
		d.Events = slices.DeleteFunc(events, func(d Dip) bool { return d.From == 0 && way == downwards || d.To-d.From > longest })
	}
	alone := len(whole) == 1 && (longest >= dipSamplesAlone || whole[0].Rate >= spikeAlone*whole[0].Usual)
	var began, lasted, left []float64
	total := 0.0
	for _, dip := range d.Events {
		seconds := s.Ends[dip.To-1] - s.begins(dip.From)
		began, lasted, left = append(began, s.begins(dip.From)), append(lasted, seconds), append(left, boundedExp(math.Log(dip.Rate)-math.Log(dip.Usual))) // finite, whatever they are
		total += seconds
	}
	d.Share = total / (s.Ends[n-1] - s.Begin)
	if len(whole) < dipsMin && !alone || d.Share > dipShareMax {
		return nil
	}
	d.Seconds, d.Left = Median(lasted), Median(left)
	d.Period = FindPeriod(began, d.Seconds+s.length(0))
	return &d
}

// without is the series with the usual rate in place of its dips, or spikes.
func (d *Dips) without(s Series) Series {
	rates := append([]float64(nil), s.Rates...)
	for _, dip := range d.Events {
		for i := dip.From; i < dip.To; i++ {
			rates[i] = dip.Usual
		}
	}
	s.Rates = rates
	return s
}
