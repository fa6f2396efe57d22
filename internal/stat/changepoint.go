package stat

import (
	"math"
	"slices"
)

const (
	// SegmentSamplesMin is the shortest stretch that counts as a level of its own. What is shorter is a stall or a spike.
	SegmentSamplesMin = 5
	// penaltyFactor and provisionalRho: see ChangePoints.
	penaltyFactor  = 3
	provisionalRho = 0.6
	// outlierSigmas is how far from the running median a sample may pull the mean of its segment.
	outlierSigmas = 2.5
)

// Segment is a stretch of a series at one level: samples From (included) to To (excluded).
type Segment struct {
	From int     `json:"from"`
	To   int     `json:"to"`
	Rate float64 `json:"rate"` // arithmetic mean of its rates, stalls included
}

// Samples returns how many samples the segment has.
func (s Segment) Samples() int { return s.To - s.From }

// Levels is a series cut where its level changed.
type Levels struct {
	Segments        []Segment `json:"segments"` // in order, without gaps; one if nothing changed, none for an empty series
	Autocorrelation float64   `json:"autocorrelation"`
	LongRunVariance float64   `json:"long_run_variance"` // of log rates
	cost            float64   // Σ of squared distances of the (bounded) log rates from their segment's mean
}

// ChangePoints cuts a series of rates (operations a second, one every sampleSeconds) where its level changed: PELT
// (Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 107, 2012)
// with squared distance on log rates, so that a fall by half counts the same at any level.
//
// Each change costs 3·LRV·ln n. The long-run variance LRV, rather than the variance, is what makes it hold for seconds
// of one run, which are alike: with a white-noise penalty nearly every long series would have false changes. LRV needs
// the autocorrelation around the levels, which needs the levels: a first split supposes ρ = 0.6, its residuals give ρ,
// and the second split is the answer.
//
// A sample counts at most two and a half standard deviations away from the median of the nine around it, so that a stall of a
// second, which is enormous on a log scale, does not pass for a level. Stretches shorter than SegmentSamplesMin are
// never a level. Samples without operations: see LogRates.
func ChangePoints(rates []float64, sampleSeconds float64) Levels {
	if len(rates) == 0 {
		return Levels{}
	}
	s := split(LogRates(rates, sampleSeconds))
	from := 0
	for _, to := range s.ends {
		s.levels.Segments = append(s.levels.Segments, Segment{From: from, To: to, Rate: Mean(rates[from:to])})
		from = to
	}
	return s.levels
}

// levelSplit is the split of a series of any values, one or more of them, into levels.
type levelSplit struct {
	ends    []int     // where each level ends
	bounded []float64 // the values, outliers pulled in
	sigmaD  float64   // standard deviation of the noise, as if it were white
	levels  Levels    // without its segments
}

// split does what ChangePoints says, on values as they are.
func split(values []float64) levelSplit {
	sigmaD := differenceDeviation(values)
	bounded := boundOutliers(values, outlierSigmas*sigmaD/math.Sqrt(1-provisionalRho))
	penalty := func(rho float64) float64 {
		return penaltyFactor * longRunVariance(sigmaD, rho) * math.Log(float64(len(values)))
	}
	first := pelt(bounded, penalty(provisionalRho), SegmentSamplesMin)
	rho := lagOne(levelResiduals(bounded, first), len(first))
	s := levelSplit{ends: pelt(bounded, penalty(rho), SegmentSamplesMin), bounded: bounded, sigmaD: sigmaD}
	s.levels = Levels{Autocorrelation: rho, LongRunVariance: longRunVariance(sigmaD, rho)}
	for _, r := range levelResiduals(bounded, s.ends) {
		s.levels.cost += r * r
	}
	return s
}

// boundOutliers pulls each value to within `most` of the running median over 2·SegmentSamplesMin − 1 values: the longest
// window whose median follows every level of SegmentSamplesMin or more.
func boundOutliers(values []float64, most float64) []float64 {
	bounded := make([]float64, len(values))
	for i, v := range values {
		middle := Median(values[max(i-SegmentSamplesMin+1, 0):min(i+SegmentSamplesMin, len(values))])
		bounded[i] = min(max(v, middle-most), middle+most)
	}
	return bounded
}

// levelResiduals returns the distance of each value from the mean of its segment.
func levelResiduals(values []float64, ends []int) []float64 {
	residuals := make([]float64, 0, len(values))
	from := 0
	for _, to := range ends {
		mean := Mean(values[from:to])
		for _, v := range values[from:to] {
			residuals = append(residuals, v-mean)
		}
		from = to
	}
	return residuals
}

// pelt returns the ends of the segments that make Σ cost + penalty·(segments − 1) least, each of at least shortest values;
// all in one segment if there are fewer than 2·shortest. The cost is the squared distance from the segment's mean.
//
// A candidate start t is dropped once F(t) + C(t, s) ≥ F(s): then s is the better start for all ends that s can serve,
// which are those from s + shortest on. Dropping it earlier, as some implementations do, is no longer exact.
func pelt(values []float64, penalty float64, shortest int) (ends []int) {
	n := len(values)
	sum, squares := make([]float64, n+1), make([]float64, n+1)
	middle := Mean(values) // keeps the sums of squares small, so that their differences stay exact
	for i, v := range values {
		sum[i+1] = sum[i] + v - middle
		squares[i+1] = squares[i] + (v-middle)*(v-middle)
	}
	cost := func(from, to int) float64 {
		s := sum[to] - sum[from]
		return max(squares[to]-squares[from]-s*s/float64(to-from), 0)
	}

	least := make([]float64, n+1) // F
	start := make([]int, n+1)     // of the last segment in the best split of the first i values
	serves := make([]int, n+1)    // candidate t serves ends below serves[t]
	least[0] = -penalty
	for i := range serves {
		serves[i] = n + 1
	}
	candidates := []int{0}
	for end := shortest; end <= n; end++ {
		if born := end - shortest; born >= shortest {
			candidates = append(candidates, born)
		}
		candidates = slices.DeleteFunc(candidates, func(t int) bool { return end >= serves[t] })
		least[end] = math.Inf(1)
		for _, t := range candidates {
			if total := least[t] + cost(t, end) + penalty; total < least[end] {
				least[end], start[end] = total, t
			}
		}
		for _, t := range candidates {
			if serves[t] > n && least[t]+cost(t, end) >= least[end] {
				serves[t] = end + shortest
			}
		}
	}
	if n < 2*shortest {
		return []int{n}
	}
	for end := n; end > 0; end = start[end] {
		ends = append(ends, end)
	}
	slices.Reverse(ends)
	return ends
}
