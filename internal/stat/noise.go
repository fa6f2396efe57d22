package stat

import (
	"math"
	"slices"
)

const (
	// madPerSigma is the median absolute deviation of a standard normal distribution.
	madPerSigma = 0.6745
	// rhoMax bounds the autocorrelation: beyond it the long-run variance is a guess, and a few samples decide it.
	rhoMax = 0.9
	// noiseFloor is the least standard deviation of log rates that is believed, 0.1 %: a series of equal counts has no
	// visible noise, but a change below this is not a change of the store.
	noiseFloor = 0.001
)

// Median returns the median, the mean of the middle two for an even count; NaN for none. It leaves values as they are.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Mean returns the arithmetic mean; NaN for none.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// deviation is the sample standard deviation (n − 1); 0 for fewer than two values.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	mean, sum := Mean(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}

// medianDeviation is the median absolute deviation from the median.
func medianDeviation(values []float64) float64 {
	middle := Median(values)
	away := make([]float64, len(values))
	for i, v := range values {
		away[i] = math.Abs(v - middle)
	}
	return Median(away)
}

// LogRates returns the natural logarithms of rates (operations a second) that were sampled every sampleSeconds. A sample
// without any operation has no logarithm: it is taken as half an operation in the sample, the middle of what a count of
// zero can stand for. So a stall weighs by how far below one operation a sample it lies, and never as −∞.
func LogRates(rates []float64, sampleSeconds float64) []float64 {
	floor := 0.5
	if sampleSeconds > 0 {
		floor = 0.5 / sampleSeconds
	}
	logs := make([]float64, len(rates))
	for i, r := range rates {
		logs[i] = math.Log(max(r, floor))
	}
	return logs
}

// differenceDeviation is σ_d, the standard deviation of a white series with the same first differences: their median
// absolute deviation over 0.6745·√2. A change of level is one difference among many, so that it does not count.
func differenceDeviation(logs []float64) float64 {
	if len(logs) < 3 {
		return noiseFloor
	}
	differences := make([]float64, len(logs)-1)
	for i := range differences {
		differences[i] = logs[i+1] - logs[i]
	}
	return max(medianDeviation(differences)/(madPerSigma*math.Sqrt2), noiseFloor)
}

// lagOne is the lag-1 autocorrelation of residuals from which `fitted` parameters were taken (the means of segments, or a
// line), corrected for the bias that this brings: Kendall's −(1 + 3ρ)/n for each parameter (Biometrika 41, 1954). It lies
// between 0 and rhoMax: a negative one would only make intervals smaller, on thin evidence.
func lagOne(residuals []float64, fitted int) float64 {
	n, k := float64(len(residuals)), float64(fitted)
	var product, square float64
	for i, r := range residuals {
		square += r * r
		if i > 0 {
			product += r * residuals[i-1]
		}
	}
	if square == 0 || n <= 3*k+1 {
		return 0
	}
	raw := product / square
	return min(max((raw*n+k)/(n-3*k), 0), rhoMax)
}

// Autocorrelation is the lag-1 autocorrelation of values around their mean, corrected for its small-sample bias and cut
// to 0 … 0.9.
func Autocorrelation(values []float64) float64 {
	mean := Mean(values)
	residuals := make([]float64, len(values))
	for i, v := range values {
		residuals[i] = v - mean
	}
	return lagOne(residuals, 1)
}

// EffectiveSamples is how many independent samples tell as much about the mean as n samples with lag-1 autocorrelation
// rho: n·(1−ρ)/(1+ρ), for a first-order autoregressive series.
func EffectiveSamples(n int, rho float64) float64 { return float64(n) * (1 - rho) / (1 + rho) }

// longRunVariance is n times the variance of the mean of n samples, for large n, of a first-order autoregressive series:
// σ_d²/(1−ρ) is the variance of one sample (for differences have the variance 2σ²(1−ρ)), and (1+ρ)/(1−ρ) what neighbours'
// likeness adds.
func longRunVariance(sigmaD, rho float64) float64 {
	return sigmaD * sigmaD / (1 - rho) * (1 + rho) / (1 - rho)
}
