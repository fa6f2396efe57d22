package trace

import "assay/internal/experiment/keyval"

// zipf draws ranks 0 … n−1, rank r with probability ∝ 1/(r+1)^theta, for any theta > 0:
// rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
// monotone discrete distributions", ACM TOMACS 6, 1996). Setting it up takes no sum over n, and it
// draws 1.0 to 1.3 uniform numbers a rank.
type zipf struct {
	n        uint64
	theta    float64
	integral float64 // H(n + 1/2)
	range_   float64 // H(3/2) − h(1) − H(n + 1/2)
	squeeze  float64
}

func newZipf(n uint64, theta float64) *zipf {
	z := &zipf{n: n, theta: theta}
	z.integral = z.h(float64(n) + 0.5)
	z.range_ = z.h(1.5) - 1 - z.integral
	z.squeeze = 2 - z.inverse(z.h(2.5)-z.density(2))
	return z
}

func (z *zipf) density(x float64) float64 { return power(x, -z.theta) }

// h is the integral of density: (x^(1−θ) − 1) / (1−θ), which goes to ln x where θ goes to 1.
func (z *zipf) h(x float64) float64 {
	l := ln(x)
	return float64(expm1Ratio(float64((1-z.theta)*l)) * l)
}

// inverse is the inverse of h.
func (z *zipf) inverse(y float64) float64 {
	t := max(float64(y*(1-z.theta)), -1+0x1p-52)
	return exp(float64(ln1pRatio(t) * y))
}

// rank draws one rank.
func (z *zipf) rank(r random) uint64 {
	for {
		u := z.integral + float64(r.unit()*z.range_)
		x := z.inverse(u)
		k := uint64(max(x+0.5, 1))
		k = min(k, z.n)
		if float64(k)-x <= z.squeeze || u >= z.h(float64(k)+0.5)-z.density(float64(k)) {
			return k - 1
		}
	}
}

// expm1Ratio is (eˣ − 1)/x, and ln1pRatio ln(1 + x)/x: the series where the quotient would lose its
// digits.
func expm1Ratio(x float64) float64 {
	if x > 1e-4 || x < -1e-4 {
		return (exp(x) - 1) / x
	}
	return 1 + float64(x/2*(1+float64(x/3*(1+float64(x/4)))))
}

func ln1pRatio(x float64) float64 {
	if x > 1e-4 || x < -1e-4 {
		return ln(1+x) / x
	}
	return 1 - float64(x*(0.5-float64(x*(1.0/3-float64(x/4)))))
}

// ycsbZipf draws as site.ycsb.generator.ScrambledZipfianGenerator does: Gray's approximation of a
// zipfian over 10¹⁰ + 1 items with the constant that YCSB ships, hashed onto the records. Its head
// is flatter than that of a zipfian over the records themselves, and several ranks meet in one
// record.
type ycsbZipf struct {
	records     uint64
	eta, second float64
}

// The constants of ScrambledZipfianGenerator: theta can't be another, because zetaN belongs to it.
const (
	YCSBTheta = 0.99
	ycsbItems = 10_000_000_000 + 1 // the class is made for 0 to ITEM_COUNT, both included
	ycsbZetaN = 26.46902820178302
	ycsbAlpha = 1 / (1 - YCSBTheta)
)

func newYCSBZipf(records uint64) *ycsbZipf {
	second := 1 + power(0.5, YCSBTheta)
	eta := (1 - power(2.0/ycsbItems, 1-YCSBTheta)) / (1 - second/ycsbZetaN)
	return &ycsbZipf{records: records, eta: eta, second: second}
}

func (z *ycsbZipf) index(r random) uint64 { return keyval.YCSBHash(z.item(r)) % z.records }

func (z *ycsbZipf) item(r random) uint64 {
	u := float64(r.Uint64()>>11) * 0x1p-53
	switch uz := float64(u * ycsbZetaN); {
	case uz < 1:
		return 0
	case uz < z.second:
		return 1
	}
	return uint64(float64(ycsbItems * power(float64(z.eta*u)-z.eta+1, ycsbAlpha)))
}
