package stat

import (
	"math"
	"math/rand/v2"
)

// autoregressive returns n values of a stationary AR(1) process with lag-1 autocorrelation rho and
// standard deviation sigma.
func autoregressive(r *rand.Rand, n int, rho, sigma float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		if i == 0 {
			values[i] = sigma * r.NormFloat64()
			continue
		}
		values[i] = rho*values[i-1] + math.Sqrt(1-rho*rho)*sigma*r.NormFloat64()
	}
	return values
}

const simulatedRate = 100_000.0 // operations a second
