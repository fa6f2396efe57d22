package stat

import "math"

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
	// dipShareMax is how much of the time dips may take: with more, what is usual can't be told from them.
	dipShareMax = 1.0 / 3
)

// Dip is a run of samples, From (included) to To (excluded), far below those around it, none of which is a stall: the rate fell and came back.
type Dip struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Rate   float64 `json:"rate"`   // mean
	Lowest float64 `json:"lowest"` // rate of a sample
	Usual  float64 `json:"usual"`  // rate around it
}

// Dips are the dips of a series.
type Dips struct {
	Events  []Dip   `json:"events"`
	Share   float64 `json:"share"`            // of the time
	Seconds float64 `json:"seconds"`          // median length
	Left    float64 `json:"left"`             // median share of the usual rate that a dip leaves
	Period  *Period `json:"period,omitempty"` // nil: not regular, or too few to tell
}

// findDips looks for runs of samples that begin below the running median by what a cliff falls at least, and by five standard deviations of the
// samples around, and end where the rate is back: see docs/statistics.md, 11. Nil: there are none, or they are no habit.
func findDips(s Series, logs []float64) *Dips {
	n := len(s.Rates)
	var d Dips
	var began, lasted, left []float64
	total, longest := 0.0, 0
	for from := 0; from < n; from++ {
		around := logs[max(from-dipReach, 0):min(from+dipReach+1, n)]
		usual := Median(around)
		back := usual + math.Log1p(-CliffFallMin)
		if logs[from] >= min(back, usual-dipSigmas*medianDeviation(around)/madPerSigma) {
			continue
		}
		to := from
		for to < n && logs[to] < back {
			to++
		}
		// What the series ends in is a dip if it had some, and one at least as long: else nobody knows if the rate comes back.
		cut := to == n && (len(d.Events) < dipsMin || to-from > longest)
		if from == 0 || cut || to-from > dipSamplesMax { // the series begins in it, or it is a level
			from = to
			continue
		}
		dip := Dip{From: from, To: to, Rate: s.mean(from, to), Lowest: math.Inf(1), Usual: math.Exp(usual)}
		stalled := false
		for i := from; i < to; i++ {
			dip.Lowest = min(dip.Lowest, s.Rates[i])
			stalled = stalled || s.Rates[i] < StallShare*dip.Usual
		}
		if !stalled {
			d.Events = append(d.Events, dip)
			began, lasted, left = append(began, s.begins(from)), append(lasted, s.Ends[to-1]-s.begins(from)), append(left, dip.Rate/dip.Usual)
			total += lasted[len(lasted)-1]
			longest = max(longest, to-from)
		}
		from = to
	}
	alone := len(d.Events) == 1 && d.Events[0].To-d.Events[0].From >= dipSamplesAlone
	d.Share = total / (s.Ends[n-1] - s.Begin)
	if len(d.Events) < dipsMin && !alone || d.Share > dipShareMax {
		return nil
	}
	d.Seconds, d.Left = Median(lasted), Median(left)
	d.Period = FindPeriod(began, d.Seconds+s.length(0))
	return &d
}

// without is the series with the usual rate in place of its dips.
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
