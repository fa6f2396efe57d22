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
func seriesOf(samples []record.Sample, phase string, points int) Series {
	var s Series
	var taken []record.Sample
	var rates []float64
	for _, sample := range samples {
		if sample.Phase != phase || sample.Seconds <= 0 {
			continue
		}
		taken, rates = append(taken, sample), append(rates, float64(sample.Operations)/sample.Seconds)
	}
	s.Samples = len(taken)
	grows := recordsChange(taken)
	for _, i := range thin(rates, points) {
		rate := round4(rates[i])
		s.At, s.Rate = append(s.At, milli(taken[i].At)), append(s.Rate, &rate)
		if grows {
			s.Records = append(s.Records, asFloat(taken[i].Records))
		}
	}
	return s
}

// recordsChangeMin is how much the number of records must change for a rate to be drawn against it.
const recordsChangeMin = 0.02

func recordsChange(samples []record.Sample) bool {
	var least, most uint64
	known := 0
	for _, s := range samples {
		if s.Records == nil {
			continue
		}
		if known == 0 {
			least = *s.Records
		}
		least, most = min(least, *s.Records), max(most, *s.Records)
		known++
	}
	return known > 2 && float64(most-least) > recordsChangeMin*float64(most)
}

// thin returns the positions that are kept: of each stretch, the lowest and the highest rate, in the order in which they
// came. A mean would hide the stalls that a reader looks for.
func thin(rates []float64, points int) []int {
	var kept []int
	if len(rates) <= points {
		for i := range rates {
			kept = append(kept, i)
		}
		return kept
	}
	stretches := points / 2
	for i := range stretches {
		from, to := i*len(rates)/stretches, (i+1)*len(rates)/stretches
		lowest, highest := from, from
		for j := from; j < to; j++ {
			if rates[j] < rates[lowest] {
				lowest = j
			}
			if rates[j] > rates[highest] {
				highest = j
			}
		}
		kept = append(kept, min(lowest, highest))
		if lowest != highest {
			kept = append(kept, max(lowest, highest))
		}
	}
	return kept
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
