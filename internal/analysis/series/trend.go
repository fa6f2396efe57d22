package series

import (
	"math"

	"assay/internal/analysis/stat"
)

const (
	// trendParts is how many equal parts of a series are held against a random walk.
	trendParts = 20
	// trendFactor is how many times its largest move back the whole change of a random walk is in
	// 0.7 %, and trendSignificance the level of the test of its differences.
	// TestTendsOneWay_random_walks_seldom_do draws both.
	trendFactor       = 18
	trendSignificance = 0.005
	// partVariance is the variance of the sum of the differences between means of parts of a random
	// walk, per difference and as a multiple of their variance: neighbours share a correlation of
	// 1/4.
	partVariance = 1.5
)

// tendsOneWay reports whether values go one way as no random walk without a direction does, by the
// means of equal parts: their change is many times their largest move back, or too large for the
// size of their differences. The less noise, the clearer that is, whatever the shape of the curve;
// residuals of a line would only show that it is not straight.
func tendsOneWay(values []float64) bool {
	n := len(values)
	if n < trendParts {
		return false
	}
	means := make([]float64, trendParts)
	for i := range means {
		means[i] = stat.Mean(values[i*n/trendParts : (i+1)*n/trendParts])
	}
	change := means[trendParts-1] - means[0]
	if change < 0 {
		means, change = scale(means, -1), -change
	}
	top, back := means[0], noiseFloor
	for _, mean := range means {
		top, back = max(top, mean), max(back, top-mean)
	}
	if change >= trendFactor*back {
		return true
	}
	steps, count := differences(means), float64(trendParts-1)
	variance := max(squares(residuals(steps, []int{len(steps)}))/(count-1), noiseFloor*noiseFloor) * partVariance
	return 2*students(count-1).Survival(change/math.Sqrt(variance*count)) < trendSignificance
}

// straightRate is a straight line through the rates, told as one through their logarithms. One that
// reaches 0 has infinite cost.
func straightRate(bounded []float64, sigma float64) line {
	n := float64(len(bounded))
	rates, top := make([]float64, len(bounded)), bounded[0]
	for _, y := range bounded {
		top = max(top, y)
	}
	for i, y := range bounded {
		rates[i] = math.Exp(y - top)
	}
	sums := lineSumsOf(rates)
	first, last := sums.at(0, len(rates), 0), sums.at(0, len(rates), n-1)
	if !(min(first, last) > 0) {
		return line{p: 1, cost: math.Inf(1), half: math.Inf(1)}
	}
	rest := make([]float64, len(rates))
	for i, y := range bounded {
		rest[i] = y - top - math.Log(first+(last-first)*float64(i)/(n-1))
	}
	l := line{begin: top + math.Log(first), drift: math.Log(last / first), cost: squares(rest), rho: lagOne(rest, 2)}
	variance := max(longRunVariance(sigma, l.rho), l.cost/(n-2)*(1+l.rho)/(1-l.rho))
	// The slope's error is that of a line through the logarithms, at the middle of the series.
	deviation := math.Sqrt(12 * variance / n)
	student := students(effective(len(bounded), l.rho) - 2)
	l.half, l.p = student.Quantile(0.975)*deviation, 2*student.Survival(math.Abs(l.drift)/deviation)
	return l
}
