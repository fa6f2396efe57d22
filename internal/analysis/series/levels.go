package series

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"assay/internal/analysis/stat"
)

const (
	// levelSamplesMin is the shortest stretch that is a level. What is shorter is a drop.
	levelSamplesMin = 5
	// changePenalty times LRV·ln n is the cost of a change of level; see levelsOf.
	changePenalty  = 3
	provisionalRho = 0.6
	// outlierSigmas is how far from the running median a sample may pull the mean of its level.
	outlierSigmas = 2.5
	madPerSigma   = 0.6745
	// quartersPerSigma: three quarters of normal values are nearer to their mean. largeShare leaves
	// normal noise to the median.
	quartersPerSigma = 1.1503
	largeShare       = 0.8
	// rhoMax bounds the autocorrelation: beyond it, a few samples decide the long-run variance.
	rhoMax = 0.9
	// noiseFloor is the least standard deviation of log rates that is believed.
	noiseFloor = 0.001
	// levelSamplesMax bounds PELT's quadratic time: longer series are first joined to fewer
	// samples.
	levelSamplesMax = 4096
	// firstSamplesMax is the same for the first cut, which only serves the autocorrelation.
	firstSamplesMax = 1024
)

// levels is a series of logs cut where its level changed.
type levels struct {
	ends    []int     // where each level ends; the last is the number of samples
	bounded []float64 // logs, outliers pulled in
	sigma   float64   // standard deviation of white noise with these first differences
	rho     float64   // lag-1 autocorrelation around the levels
	lrv     float64   // long-run variance
	cost    float64   // sum of squared distances from the levels
	penalty float64   // of one change
}

// levelsOf cuts logs where their level changed: PELT (Killick, Fearnhead and Eckley, JASA 107,
// 2012) with squared distance. A change costs 3·LRV·ln n: with a white-noise penalty nearly every
// long series of alike seconds would have false changes. LRV needs the autocorrelation around the
// levels, which needs the levels: a first cut supposes ρ = 0.6, and its residuals give ρ for the
// second.
func levelsOf(logs []float64) levels {
	join := (len(logs) + levelSamplesMax - 1) / levelSamplesMax
	if join > 1 {
		return joinedLevels(logs, join)
	}
	l := levels{sigma: differenceDeviation(logs)}
	l.bounded = boundOutliers(logs, outlierSigmas*l.sigma/math.Sqrt(1-provisionalRho))
	cut := func(values []float64, rho float64) []int {
		l.rho, l.lrv = rho, longRunVariance(l.sigma, rho)
		l.penalty = changePenalty * l.lrv * math.Log(float64(len(logs)))
		return pelt(values, l.penalty, levelSamplesMin)
	}
	var first []int
	if join := (len(logs) + firstSamplesMax - 1) / firstSamplesMax; join > 1 {
		// The mean of so many samples weighs as one of them: what it costs is a part of the whole.
		first = cut(scale(joined(l.bounded, join), math.Sqrt(float64(join))), provisionalRho)
		for i := range first {
			first[i] *= join
		}
		first[len(first)-1] = len(logs)
	} else {
		first = cut(l.bounded, provisionalRho)
	}
	l.ends = cut(l.bounded, lagOne(residuals(l.bounded, first), len(first)))
	l.prune()
	return l
}

func joined(values []float64, join int) []float64 {
	means := make([]float64, len(values)/join)
	for i := range means {
		means[i] = stat.Mean(values[i*join : (i+1)*join])
	}
	return means
}

func scale(values []float64, by float64) []float64 {
	for i := range values {
		values[i] *= by
	}
	return values
}

// prune joins levels that would not count as two if both were as loud as the louder one: where the
// noise grows, the noise of the whole series is too small a measure.
func (l *levels) prune() {
	s := sumsOf(l.bounded)
	price := changePenalty * math.Log(float64(len(l.bounded)))
	for len(l.ends) > 1 {
		worst, at, from := 1.0, -1, 0
		for i, end := range l.ends[:len(l.ends)-1] {
			to := l.ends[i+1]
			before, after := float64(end-from), float64(to-end)
			loudest := max(s.cost(from, end)/max(before-1, 1), s.cost(end, to)/max(after-1, 1))
			noise := max(loudest*(1+l.rho)/(1-l.rho), l.lrv)
			by := (s.sum[end]-s.sum[from])/before - (s.sum[to]-s.sum[end])/after
			if share := by * by / (price * noise * (1/before + 1/after)); share < worst {
				worst, at = share, i
			}
			from = end
		}
		if at < 0 {
			break
		}
		l.ends = slices.Delete(l.ends, at, at+1)
	}
	l.cost = squares(residuals(l.bounded, l.ends))
}

// joinedLevels finds the levels of means of so many samples each, and then moves each change to the
// sample where it costs least.
func joinedLevels(logs []float64, join int) levels {
	sigma := differenceDeviation(logs)
	bounded := boundOutliers(logs, outlierSigmas*sigma/math.Sqrt(1-provisionalRho))
	coarse := levelsOf(joined(bounded, join))
	l := levels{bounded: bounded, sigma: sigma}
	for i, end := range coarse.ends {
		if i == len(coarse.ends)-1 {
			l.ends = append(l.ends, len(logs))
			break
		}
		l.ends = append(l.ends, bestCut(bounded, (end-2)*join, (end+2)*join))
	}
	l.rho = lagOne(residuals(bounded, l.ends), len(l.ends))
	// The long-run variance is of the joined samples, which see slower noise than neighbours do.
	l.lrv = max(longRunVariance(sigma, l.rho), coarse.lrv*float64(join))
	l.penalty = changePenalty * l.lrv * math.Log(float64(len(logs)))
	l.prune()
	return l
}

// bestCut is where two levels leave the least squared distance between from and to.
func bestCut(values []float64, from, to int) int {
	sums := sumsOf(values[from:to])
	best, least := from+1, math.Inf(1)
	for k := 1; k < to-from; k++ {
		if cost := sums.cost(0, k) + sums.cost(k, to-from); cost < least {
			best, least = from+k, cost
		}
	}
	return best
}

// boundOutliers pulls each value to within `most` of the running median over nine values: the
// longest window whose median follows every level.
func boundOutliers(values []float64, most float64) []float64 {
	bounded := make([]float64, len(values))
	for i, v := range values {
		middle := stat.Median(values[max(i-levelSamplesMin+1, 0):min(i+levelSamplesMin, len(values))])
		bounded[i] = min(max(v, middle-most), middle+most)
	}
	return bounded
}

func residuals(values []float64, ends []int) []float64 {
	rest := make([]float64, 0, len(values))
	from := 0
	for _, to := range ends {
		mean := stat.Mean(values[from:to])
		for _, v := range values[from:to] {
			rest = append(rest, v-mean)
		}
		from = to
	}
	return rest
}

func squares(values []float64) (sum float64) {
	for _, v := range values {
		sum += v * v
	}
	return sum
}

// sums are prefix sums of values and of their squares.
type sums struct{ sum, square []float64 }

func sumsOf(values []float64) sums {
	s := sums{make([]float64, len(values)+1), make([]float64, len(values)+1)}
	middle := stat.Mean(values) // keeps the squares small, so that their differences stay exact
	for i, v := range values {
		s.sum[i+1] = s.sum[i] + v - middle
		s.square[i+1] = s.square[i] + (v-middle)*(v-middle)
	}
	return s
}

// cost is the squared distance from the mean.
func (s sums) cost(from, to int) float64 {
	d := s.sum[to] - s.sum[from]
	return max(s.square[to]-s.square[from]-d*d/float64(to-from), 0)
}

// pelt returns the ends of the segments that make Σ cost + penalty·(segments − 1) least, each of at
// least `shortest` values. A candidate start t is dropped once F(t) + C(t, s) ≥ F(s), but only for
// ends from s + shortest on, which s can serve: dropping it earlier is not exact.
func pelt(values []float64, penalty float64, shortest int) (ends []int) {
	n := len(values)
	if n < 2*shortest {
		return []int{n}
	}
	s := sumsOf(values)
	sum, square := s.sum, s.square
	least := make([]float64, n+1)   // F
	start := make([]int, n+1)       // of the last segment in the best split of the first i values
	serves := make([]int, n+1)      // candidate t serves ends below serves[t]
	split := make([]float64, n+1)   // F(t) + C(t, end) of each candidate
	inverse := make([]float64, n+1) // of lengths: a division costs more than the rest of the loop
	least[0] = -penalty
	for i := range serves {
		serves[i], inverse[i] = n+1, 1/float64(max(i, 1))
	}
	candidates := []int{0}
	for end := shortest; end <= n; end++ {
		if born := end - shortest; born >= shortest {
			candidates = append(candidates, born)
		}
		best, from, kept := math.Inf(1), 0, 0
		for _, t := range candidates {
			if end >= serves[t] {
				continue
			}
			d := sum[end] - sum[t]
			total := least[t] + square[end] - square[t] - d*d*inverse[end-t]
			candidates[kept], split[kept] = t, total
			if kept++; total < best {
				best, from = total, t
			}
		}
		candidates = candidates[:kept]
		least[end], start[end] = best+penalty, from
		for k, t := range candidates {
			if serves[t] > n && split[k] >= least[end] {
				serves[t] = end + shortest
			}
		}
	}
	for end := n; end > 0; end = start[end] {
		ends = append(ends, end)
	}
	slices.Reverse(ends)
	return ends
}

// differenceDeviation is the standard deviation of white noise with the same first differences. A
// change of level is one difference among many, so that it does not count.
func differenceDeviation(logs []float64) float64 {
	if len(logs) < 3 {
		return noiseFloor
	}
	steps := differences(logs)
	sigma := max(medianDeviation(steps)/(madPerSigma*math.Sqrt2), noiseFloor)
	// Where neighbours are on one of two levels at random, half of the differences are near 0, and
	// their median says nothing of the other half. Differences as large as those of an oscillation are
	// no noise.
	for i, step := range steps {
		steps[i] = math.Abs(step)
	}
	slices.Sort(steps)
	if large := steps[len(steps)*3/4]; large < math.Log(separate) {
		sigma = max(sigma, largeShare*large/(quartersPerSigma*math.Sqrt2))
	}
	return sigma
}

func differences(values []float64) []float64 {
	away := make([]float64, len(values)-1)
	for i := range away {
		away[i] = values[i+1] - values[i]
	}
	return away
}

func medianDeviation(values []float64) float64 {
	middle := stat.Median(values)
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - middle)
	}
	return stat.Median(away)
}

// lagOne is the lag-1 autocorrelation of residuals from which `fitted` parameters were taken,
// corrected for the bias that this brings (Kendall, Biometrika 41, 1954), between 0 and rhoMax.
func lagOne(rest []float64, fitted int) float64 {
	n, k := float64(len(rest)), float64(fitted)
	var product float64
	for i := 1; i < len(rest); i++ {
		product += rest[i] * rest[i-1]
	}
	square := squares(rest)
	if square == 0 || n <= 3*k+1 {
		return 0
	}
	return min(max((product/square*n+k)/(n-3*k), 0), rhoMax)
}

// longRunVariance is n times the variance of the mean of n samples of a first-order autoregressive
// series whose first differences are those of white noise with deviation sigma.
func longRunVariance(sigma, rho float64) float64 {
	return sigma * sigma / (1 - rho) * (1 + rho) / (1 - rho)
}

func effective(n int, rho float64) float64 { return float64(n) * (1 - rho) / (1 + rho) }

func students(freedom float64) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: max(freedom, 1)}
}

// line is a straight line through logs, outliers pulled in.
type line struct {
	begin float64 // at the first sample
	drift float64 // from the first to the last sample
	half  float64 // of the 95 % interval of drift
	p     float64
	cost  float64 // sum of squared distances
	rho   float64
}

// lineOf fits a line over any increasing x. Its standard error is of the long-run variance of the
// residuals: a plain regression would take the likeness of neighbouring seconds for a slope.
func lineOf(x, bounded []float64, sigma float64) line {
	n := float64(len(x))
	mean, middle := stat.Mean(bounded), stat.Mean(x)
	var sxx, sxy float64
	for i, y := range bounded {
		sxx += (x[i] - middle) * (x[i] - middle)
		sxy += (x[i] - middle) * (y - mean)
	}
	if sxx == 0 {
		return line{p: 1, cost: math.Inf(1), half: math.Inf(1)}
	}
	slope := sxy / sxx
	rest := make([]float64, len(x))
	for i, y := range bounded {
		rest[i] = y - mean - slope*(x[i]-middle)
	}
	l := line{cost: squares(rest), rho: lagOne(rest, 2)}
	// Sigma is of neighbours, the residuals are of the whole line: the larger is the cautious one.
	variance := max(longRunVariance(sigma, l.rho), l.cost/(n-2)*(1+l.rho)/(1-l.rho))
	student := students(effective(len(x), l.rho) - 2)
	length := x[len(x)-1] - x[0]
	l.begin = mean + slope*(x[0]-middle)
	l.drift, l.half = slope*length, student.Quantile(0.975)*math.Sqrt(variance/sxx)*length
	l.p = 2 * student.Survival(math.Abs(slope)/math.Sqrt(variance/sxx))
	return l
}

func positions(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}
