package trace

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"assay/internal/experiment/keyval"
)

// random is a stream of random numbers that is the same on every machine and with every release of
// Go: of math/rand/v2 it takes only the words of PCG-DXSM, which are specified, and derives numbers
// from them by itself. Floating point below goes through float64(…) after each multiplication,
// which forbids the compiler to fuse it with an addition, and through exp and ln of this file,
// because those of package math differ between architectures in the last bit.
type random struct{ *rand.PCG }

// newRandom returns a stream of its own for each seed, thread and purpose.
func newRandom(seed uint64, thread int, purpose uint64) random {
	return random{rand.NewPCG(keyval.Mix(seed^purpose<<56), keyval.Mix(uint64(thread)<<8|purpose))}
}

// The purposes of streams.
const (
	purposeOperations = 1 + iota
	purposeKeys
	purposeSizes
	purposeArrivals
	purposePermutation
	purposeHistory
	purposeFinds
)

// below returns a uniform number in [0, n), n > 0 (Lemire 2019, nearly divisionless).
func (r random) below(n uint64) uint64 {
	high, low := bits.Mul64(r.Uint64(), n)
	if low < n {
		for reject := -n % n; low < reject; {
			high, low = bits.Mul64(r.Uint64(), n)
		}
	}
	return high
}

// unit returns a uniform number in (0, 1]: its logarithm is finite.
func (r random) unit() float64 { return float64(r.Uint64()>>11+1) * 0x1p-53 }

const (
	ln2High = 0x1.62e42fee00000p-1 // its low bits are 0, so that k × ln2High is exact
	ln2Low  = 0x1.a39ef35793c76p-33
)

// exp returns e^x within about 2 units of the last place, for |x| < 700.
func exp(x float64) float64 {
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	sum := 0.0
	for i := len(expTerms) - 1; i >= 0; i-- {
		sum = float64(sum*r) + expTerms[i]
	}
	return scale(sum, int(k))
}

// Bits of a float64: of its fraction, and what its exponent is counted from.
const (
	fractionBits = 52
	exponentBias = 1023
)

// scale returns x × 2^k for x near 1, and split m in [1/2, 1) and e with x = m × 2^e, as math.Ldexp
// and math.Frexp do, which take most of an exp for the numbers that never come here.
func scale(x float64, k int) float64 {
	if k < 2-exponentBias || k >= exponentBias {
		return math.Ldexp(x, k)
	}
	return x * math.Float64frombits(uint64(k+exponentBias)<<fractionBits)
}

func split(x float64) (m float64, e int) {
	if x < 0x1p-1022 || x > math.MaxFloat64 {
		return math.Frexp(x)
	}
	const half = (exponentBias - 1) << fractionBits
	bits := math.Float64bits(x)
	return math.Float64frombits(bits&(1<<fractionBits-1) | half), int(bits>>fractionBits) - (exponentBias - 1)
}

// expTerms are 1/i!, the coefficients of eˣ: for |x| ≤ ln 2 ÷ 2 the next one adds less than 2⁻⁵³.
var expTerms = [...]float64{1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
	1.0 / 362880,
	1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200}

// atanhTerms are 1/(2i+1), the coefficients of atanh(s)/s in s².
var atanhTerms = [...]float64{1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17,
	1.0 / 19, 1.0 / 21}

// ln returns the natural logarithm of x > 0, within about 2 units of the last place of the larger
// of its parts.
func ln(x float64) float64 {
	m, e := split(x)
	if m < math.Sqrt2/2 {
		m, e = m*2, e-1
	}
	s := (m - 1) / (m + 1)
	square := float64(s * s)
	sum := 0.0
	for i := len(atanhTerms) - 1; i >= 0; i-- {
		sum = float64(sum*square) + atanhTerms[i]
	}
	k := float64(e)
	return float64(k*ln2High) + (float64(2*s*sum) + float64(k*ln2Low))
}

// power returns x^y for x > 0.
func power(x, y float64) float64 { return exp(float64(y * ln(x))) }
