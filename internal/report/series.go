package report

import (
	"fmt"
	"math"

	"assay/internal/record"
)

// How many points of a rate over time the report keeps: enough for a wide screen, and few enough that a run of hundreds
// of trials still opens at once.
const (
	seriesPointsMax = 800
	seriesPointsMin = 80
	viewPointsMax   = 240_000
)

// pointsFor returns how many points each of n series may have.
func pointsFor(n int) int {
	if n == 0 {
		return seriesPointsMax
	}
	return min(seriesPointsMax, max(seriesPointsMin, viewPointsMax/n))
}

// seriesOf takes one phase's rates out of a trial's samples, at most points of them.
func seriesOf(samples []record.Sample, phase string, points int) (at []float64, rate []*float64, sampled int) {
	for _, s := range samples {
		if s.Phase != phase || s.Seconds <= 0 {
			continue
		}
		r := float64(s.Operations) / s.Seconds
		at, rate = append(at, milli(s.At)), append(rate, &r)
	}
	sampled = len(at)
	at, rate = thin(at, rate, points)
	for i, r := range rate {
		rounded := round4(*r)
		rate[i] = &rounded
	}
	return at, rate, sampled
}

// thin keeps, of each stretch of time, the lowest and the highest rate, in the order in which they came: a mean would
// hide the stalls that a reader looks for.
func thin(at []float64, rate []*float64, points int) ([]float64, []*float64) {
	if len(at) <= points {
		return at, rate
	}
	stretches := points / 2
	var keptAt []float64
	var keptRate []*float64
	for i := range stretches {
		from, to := i*len(at)/stretches, (i+1)*len(at)/stretches
		lowest, highest := from, from
		for j := from; j < to; j++ {
			if *rate[j] < *rate[lowest] {
				lowest = j
			}
			if *rate[j] > *rate[highest] {
				highest = j
			}
		}
		for _, j := range []int{min(lowest, highest), max(lowest, highest)} {
			keptAt, keptRate = append(keptAt, at[j]), append(keptRate, rate[j])
			if lowest == highest {
				break
			}
		}
	}
	return keptAt, keptRate
}

func milli(v float64) float64 { return math.Round(v*1000) / 1000 }

func round4(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// thinningNote says what was left out of the plots; "" if nothing was.
func thinningNote(tables []Table) string {
	thinned, longest, kept := 0, 0, 0
	for _, t := range tables {
		for _, s := range t.Series {
			if s.Samples > len(s.At) {
				thinned++
				if s.Samples > longest {
					longest, kept = s.Samples, len(s.At)
				}
			}
		}
	}
	if thinned == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the rates over time are drawn with fewer points than were sampled (the longest with %s of %s): of each stretch its lowest and its highest sample. The raw data has them all.",
		thinned, count(uint64(kept)), count(uint64(longest)))
}
