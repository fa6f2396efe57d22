package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// StallShare is the share of the usual rate below which a sample is a stall.
	StallShare = 0.1
	// periodEventsMin is how many events it takes before their distances can be called regular.
	periodEventsMin = 5
	// periodSignificance is the chance at which events that fall anywhere pass for periodic ones.
	periodSignificance = 0.01
	periodDraws        = 1999
	// periodIrregularityMax is how far from a whole number of periods the distances may be, on average. Were they anything, it
	// would be a quarter.
	periodIrregularityMax = 0.15
	// periodEventsMax bounds the work: the first so many events are looked at.
	periodEventsMax = 200
)

// Stall is a run of samples, From (included) to To (excluded), below a tenth of the usual rate.
type Stall struct {
	From      int     `json:"from"`
	To        int     `json:"to"`
	Lowest    float64 `json:"lowest"`    // rate
	Usual     float64 `json:"usual"`     // rate that it fell short of
	Recovered bool    `json:"recovered"` // a later sample was no stall
}

// Stalls returns the stalls of a series of rates: samples below a tenth of the usual rate. A usual rate of 0 has no
// stalls: there is nothing to fall from.
func Stalls(rates []float64, usual float64) (stalls []Stall) {
	for i, r := range rates {
		if r >= StallShare*usual {
			if len(stalls) > 0 {
				stalls[len(stalls)-1].Recovered = true
			}
			continue
		}
		if last := len(stalls) - 1; last >= 0 && stalls[last].To == i {
			stalls[last].To = i + 1
			stalls[last].Lowest = min(stalls[last].Lowest, r)
			continue
		}
		stalls = append(stalls, Stall{From: i, To: i + 1, Lowest: r, Usual: usual})
	}
	return stalls
}

// Period is how regularly events come back.
type Period struct {
	Seconds  float64  `json:"seconds"`
	Interval Interval `json:"interval_s"` // 95 %
	P        float64  `json:"p"`          // chance of distances this regular, if the events fell anywhere
	Events   int      `json:"events"`
}

// FindPeriod says whether events at the given times (seconds, increasing) come back at a regular distance. The period is
// first the median distance, of which a longer one counts as so many periods (a beat may be missed), then the slope of
// time over beat number. P is the share of random draws, as many events in the same stretch, no two nearer than apart
// seconds (they last some time), whose distances are as regular (Monte Carlo test: Barnard, JRSS B 25, 1963; the seed is
// fixed). Nil: too few events, or not regular.
func FindPeriod(times []float64, apart float64) *Period {
	times = times[:min(len(times), periodEventsMax)]
	n := len(times)
	if n < periodEventsMin {
		return nil
	}
	seen, period := irregularity(times)
	span := times[n-1] - times[0]
	for i := 1; i < n; i++ {
		apart = min(apart, times[i]-times[i-1])
	}
	if span <= 0 || seen > periodIrregularityMax {
		return nil
	}
	random := rand.New(rand.NewPCG(1, uint64(n)))
	drawn, asRegular := make([]float64, n), 0
	// What is left of the stretch after the least distances is shared out at random: uniform among all ways to place the events.
	free := span - apart*float64(n-1)
	for range periodDraws {
		for i := 1; i < n-1; i++ {
			drawn[i] = random.Float64() * free
		}
		drawn[0], drawn[n-1] = 0, free
		slices.Sort(drawn)
		for i := range drawn {
			drawn[i] += apart * float64(i)
		}
		if score, _ := irregularity(drawn); score <= seen {
			asRegular++
		}
	}
	p := float64(1+asRegular) / float64(1+periodDraws)
	if p >= periodSignificance {
		return nil
	}
	beats := make([]float64, n)
	for i := 1; i < n; i++ {
		beats[i] = beats[i-1] + max(math.Round((times[i]-times[i-1])/period), 1)
	}
	slope, half := slopeOf(beats, times)
	return &Period{Seconds: slope, Interval: Interval{max(slope-half, 0), slope + half}, P: p, Events: n}
}

// irregularity is the mean distance of the gaps from a whole number of median gaps, in median gaps; 0 for a clock.
func irregularity(times []float64) (score, period float64) {
	gaps := make([]float64, len(times)-1)
	for i := range gaps {
		gaps[i] = times[i+1] - times[i]
	}
	period = Median(gaps)
	if period <= 0 {
		return math.Inf(1), 0 // more than half of them at once
	}
	for _, gap := range gaps {
		score += math.Abs(gap/period - max(math.Round(gap/period), 1))
	}
	return score / float64(len(gaps)), period
}

// slopeOf is least squares with white residuals: event times jitter around their beats.
func slopeOf(x, y []float64) (slope, half float64) {
	mx, my := Mean(x), Mean(y)
	var sxx, sxy, rest float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	slope = sxy / sxx
	for i := range x {
		d := y[i] - my - slope*(x[i]-mx)
		rest += d * d
	}
	freedom := float64(len(x) - 2)
	return slope, students(freedom).Quantile(0.975) * math.Sqrt(rest/freedom/sxx)
}
