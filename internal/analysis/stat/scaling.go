package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Law is a law of how a rate grows with load or size.
type Law string

// The laws, each of which has one parameter more than the one before.
const (
	Linear    Law = "linear"    // X(N) = λN
	Amdahl    Law = "amdahl"    // X(N) = λN / (1 + σ(N−1))
	Universal Law = "universal" // X(N) = λN / (1 + σ(N−1) + κN(N−1)): Gunther, Guerrilla Capacity Planning, 2007
)

// Bounds within which a law is fitted.
const (
	scalingLevel     = 0.05 // of false statements: that a law does not explain the points, or of an interval
	scalingNoiseMax  = 0.10 // relative, of one trial: louder points would be explained by anything
	scalingLevelsMin = 3
)

// Scaling is the law that explains how a rate depends on load or size.
type Scaling struct {
	Law     Law      `json:"law"`
	Lambda  float64  `json:"lambda"` // rate at size 1, operations a second, by the law
	Sigma   float64  `json:"sigma"`  // share of the work that is done one after the other
	Kappa   float64  `json:"kappa"`  // cost of each pair that has to agree
	SigmaIn Interval `json:"sigma_interval"`
	KappaIn Interval `json:"kappa_interval"`
	// Peak is the size at which the rate is highest, with its interval, and PeakRate that rate; 0: the law
	// has none.
	Peak     float64  `json:"peak,omitempty"`
	PeakIn   Interval `json:"peak_interval,omitzero"`
	PeakRate float64  `json:"peak_rate,omitempty"`
	// Residuals are ln(measured ÷ law) of each size.
	Residuals []float64 `json:"residuals"`
	// Curve is the law between the smallest size and the largest, with the interval in which it lies.
	Curve []ScalingPoint `json:"curve"`
	Noise float64        `json:"noise"` // relative standard deviation of a trial
	P     float64        `json:"p"`     // of the test that the law explains the points: small where it does not
}

// ScalingPoint is what the law says of a size, in operations a second.
type ScalingPoint struct {
	Size float64 `json:"size"`
	Rate float64 `json:"rate"`
	Interval
}

// Scale fits the laws to rates of sizes: values[size][block], of trials that ran in the same blocks; what
// is missing in one size leaves the block out. It returns false where none is shown to explain the points:
// fewer than three sizes or two blocks, noise above 10 %, or a lack of fit that is significant.
//
// On logarithms, blocks are an effect of their own, so that the noise is what sizes and blocks leave over.
// The simplest law is taken that fits, and to which the next one adds nothing significant.
func Scale(sizes []float64, values [][]float64) (s Scaling, explained bool) {
	means, variance, blocks := sizeMeans(values)
	levels := len(sizes)
	if levels < scalingLevelsMin || blocks < 2 || variance < 0 || math.Sqrt(variance) > scalingNoiseMax {
		return s, false
	}
	freedom := float64((levels - 1) * (blocks - 1))
	variance = max(variance, relativeFloor*relativeFloor)
	ofMean := variance / float64(blocks)
	fits := []scalingFit{fitScaling(sizes, means, 0), fitScaling(sizes, means, 1)}
	if levels > scalingLevelsMin {
		fits = append(fits, fitScaling(sizes, means, 2))
	}
	f := func(numerator, free float64) float64 {
		return distuv.F{D1: free, D2: freedom}.Survival(numerator / free / ofMean)
	}
	at := len(fits) - 1
	for at > 0 && f(max(fits[at-1].squares-fits[at].squares, 0), 1) > scalingLevel {
		at--
	}
	for ; at < len(fits); at++ {
		fit := fits[at]
		if p := f(fit.squares, float64(levels-1-at)); p > scalingLevel {
			return fit.told(sizes, means, ofMean, freedom, math.Sqrt(variance), p), true
		}
	}
	return s, false
}

// sizeMeans are the means of the logarithms over blocks that have all sizes, and the variance that sizes and
// blocks leave over; below 0: too few.
func sizeMeans(values [][]float64) (means []float64, variance float64, blocks int) {
	var rows [][]float64 // of blocks
	for b := 0; ; b++ {
		row, any := make([]float64, 0, len(values)), false
		for _, of := range values {
			if b < len(of) {
				any = true
				if of[b] > 0 && !math.IsNaN(of[b]) {
					row = append(row, math.Log(of[b]))
				}
			}
		}
		if !any {
			break
		}
		if len(row) == len(values) {
			rows = append(rows, row)
		}
	}
	means = make([]float64, len(values))
	for _, row := range rows {
		for i, v := range row {
			means[i] += v / float64(len(rows))
		}
	}
	if len(rows) < 2 || len(values) < 2 {
		return means, -1, len(rows)
	}
	all, squares := Mean(means), 0.0
	for _, row := range rows {
		of := Mean(row)
		for i, v := range row {
			squares += square(v - of - means[i] + all)
		}
	}
	return means, squares / float64((len(rows)-1)*(len(values)-1)), len(rows)
}

// scalingFit is a law that was fitted: how many of σ and κ are free, and the sum of squares that is left.
type scalingFit struct {
	free         int
	sigma, kappa float64
	squares      float64
}

const scalingSteps = 200 // of Gauss and Newton

// fitScaling fits a law by least squares of logarithms: λ is what is left by the others, and σ and κ are
// not below 0.
func fitScaling(sizes, means []float64, free int) scalingFit {
	best := scalingFit{free: free, squares: squaresOf(sizes, means, 0, 0)}
	if free == 0 {
		return best
	}
	starts := [][2]float64{{0.01, 0}, {0.1, 0}, {0.5, 0}}
	if free > 1 {
		starts = [][2]float64{{0.01, 0.001}, {0.1, 0.001}, {0.1, 0.05}, {0.5, 0.01}, {0.001, 0.0001}}
	}
	for _, at := range starts {
		sigma, kappa := at[0], at[1]
		left := squaresOf(sizes, means, sigma, kappa)
		for range scalingSteps {
			ds, dk := newton(sizes, means, sigma, kappa, free)
			shorter, moved := 1.0, false
			for range 40 {
				s, k := max(sigma+shorter*ds, 0), max(kappa+shorter*dk, 0)
				if now := squaresOf(sizes, means, s, k); now < left {
					moved = left-now > 1e-15*(1+left)
					sigma, kappa, left = s, k, now
					break
				}
				shorter /= 2
			}
			if !moved {
				break
			}
		}
		if left < best.squares {
			best.sigma, best.kappa, best.squares = sigma, kappa, left
		}
	}
	return best
}

// law is ln(X(n)/λ).
func law(n, sigma, kappa float64) float64 { return math.Log(n) - math.Log(1+sigma*(n-1)+kappa*n*(n-1)) }

// residualsOf are what the law leaves over, once λ is such that they sum up to 0.
func residualsOf(sizes, means []float64, sigma, kappa float64) (left []float64, lambda float64) {
	for i, n := range sizes {
		left = append(left, means[i]-law(n, sigma, kappa))
	}
	lambda = Mean(left)
	for i := range left {
		left[i] -= lambda
	}
	return left, lambda
}

func squaresOf(sizes, means []float64, sigma, kappa float64) (sum float64) {
	left, _ := residualsOf(sizes, means, sigma, kappa)
	for _, r := range left {
		sum += r * r
	}
	return sum
}

// slopes are the derivatives of the law by σ and κ, each less its mean: λ follows.
func slopes(sizes []float64, sigma, kappa float64) (bySigma, byKappa []float64) {
	ms, mk := meanSlopes(sizes, sigma, kappa)
	for _, n := range sizes {
		s, k := slopesAt(n, sigma, kappa)
		bySigma, byKappa = append(bySigma, s-ms), append(byKappa, k-mk)
	}
	return bySigma, byKappa
}

// slopesAt are those at a size.
func slopesAt(n, sigma, kappa float64) (bySigma, byKappa float64) {
	d := 1 + sigma*(n-1) + kappa*n*(n-1)
	return -(n - 1) / d, -n * (n - 1) / d
}

func meanSlopes(sizes []float64, sigma, kappa float64) (bySigma, byKappa float64) {
	for _, n := range sizes {
		s, k := slopesAt(n, sigma, kappa)
		bySigma, byKappa = bySigma+s/float64(len(sizes)), byKappa+k/float64(len(sizes))
	}
	return bySigma, byKappa
}

// normal are the sums of squares and products of the slopes.
func normal(s, k []float64) (ss, sk, kk float64) {
	for i := range s {
		ss, sk, kk = ss+s[i]*s[i], sk+s[i]*k[i], kk+k[i]*k[i]
	}
	return ss, sk, kk
}

// newton is a step of Gauss and Newton.
func newton(sizes, means []float64, sigma, kappa float64, free int) (ds, dk float64) {
	left, _ := residualsOf(sizes, means, sigma, kappa)
	s, k := slopes(sizes, sigma, kappa)
	ss, sk, kk := normal(s, k)
	var rs, rk float64
	for i := range left {
		rs, rk = rs+left[i]*s[i], rk+left[i]*k[i]
	}
	determinant := ss*kk - sk*sk
	switch {
	case free == 1 && ss > 0, free > 1 && kappa == 0 && rk < 0 && ss > 0:
		return rs / ss, 0
	case free > 1 && sigma == 0 && kk > 0 && (kk*rs-sk*rk) < 0:
		return 0, rk / kk
	case determinant > 0:
		return (kk*rs - sk*rk) / determinant, (ss*rk - sk*rs) / determinant
	}
	return 0, 0
}

// told is the law with intervals: of least squares, by the noise that blocks show. That of the peak is of
// its logarithm.
func (f scalingFit) told(sizes, means []float64, variance, freedom, noise, p float64) Scaling {
	left, lambda := residualsOf(sizes, means, f.sigma, f.kappa)
	t := students(freedom).Quantile(1 - scalingLevel/2)
	out := Scaling{Law: []Law{Linear, Amdahl, Universal}[f.free], Lambda: math.Exp(lambda), Sigma: f.sigma,
		Kappa:     f.kappa,
		Residuals: left, Noise: noise, P: p}
	s, k := slopes(sizes, f.sigma, f.kappa)
	ss, sk, kk := normal(s, k)
	around := func(v, of float64) Interval {
		half := t * math.Sqrt(max(of, 0))
		return Interval{Low: max(v-half, 0), High: v + half}
	}
	var vs, vk, c float64
	switch f.free {
	case 1:
		vs = variance / ss
		out.SigmaIn = around(f.sigma, vs)
	case 2:
		determinant := ss*kk - sk*sk
		vs, vk, c = variance*kk/determinant, variance*ss/determinant, -variance*sk/determinant
		if f.sigma == 0 { // at its bound: κ alone is free
			vs, vk, c = 0, variance/kk, 0
		}
		out.SigmaIn, out.KappaIn = around(f.sigma, vs), around(f.kappa, vk)
		if f.kappa > 0 && f.sigma < 1 {
			out.Peak = math.Sqrt((1 - f.sigma) / f.kappa)
			bySigma, byKappa := -0.5/(1-f.sigma), -0.5/f.kappa
			half := t * math.Sqrt(max(bySigma*bySigma*vs+byKappa*byKappa*vk+2*bySigma*byKappa*c, 0))
			out.PeakIn = Interval{Low: out.Peak * math.Exp(-half), High: out.Peak * math.Exp(half)}
			out.PeakRate = out.Lambda * math.Exp(law(out.Peak, f.sigma, f.kappa))
		}
	}
	for _, n := range curveSizes(sizes) {
		// ln λ is a mean, which no slope is correlated with: each has its own mean taken off
		ds, dk := slopesAt(n, f.sigma, f.kappa)
		ms, mk := meanSlopes(sizes, f.sigma, f.kappa)
		ds, dk = ds-ms, dk-mk
		half := t * math.Sqrt(max(variance/float64(len(sizes))+ds*ds*vs+dk*dk*vk+2*ds*dk*c, 0))
		rate := out.At(n)
		band := Interval{Low: rate * math.Exp(-half), High: rate * math.Exp(half)}
		out.Curve = append(out.Curve, ScalingPoint{n, rate, band})
	}
	return out
}

// curvePoints is at how many sizes a law's curve is given.
const curvePoints = 25

// curveSizes are even between the smallest size and the largest.
func curveSizes(sizes []float64) (at []float64) {
	low, high := slices.Min(sizes), slices.Max(sizes)
	for i := range curvePoints {
		at = append(at, low+(high-low)*float64(i)/(curvePoints-1))
	}
	return at
}

// At is the rate at a size, by the law.
func (s *Scaling) At(size float64) float64 { return s.Lambda * math.Exp(law(size, s.Sigma, s.Kappa)) }
