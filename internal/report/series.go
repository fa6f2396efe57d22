package report

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/stat"
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

// seriesOf takes a trial's rates, as the verdict judges them, at most points of them.
func seriesOf(judged stat.Series, points int) Series {
	s := Series{Samples: len(judged.Rates)}
	grows := recordsChange(judged.Records)
	for _, i := range thin(judged.Rates, points) {
		rate := round4(judged.Rates[i])
		s.At, s.Rate = append(s.At, milli(judged.Ends[i])), append(s.Rate, &rate)
		if grows {
			s.Records = append(s.Records, measured(judged.Records[i]))
		}
	}
	return s
}

// measured returns nil for NaN.
func measured(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// recordsChangeMin is how much the number of records must change for a rate to be drawn against it.
const recordsChangeMin = 0.02

func recordsChange(records []float64) bool {
	var known []float64
	for _, n := range records {
		if !math.IsNaN(n) {
			known = append(known, n)
		}
	}
	return len(known) > 2 && slices.Max(known)-slices.Min(known) > recordsChangeMin*slices.Max(known)
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
