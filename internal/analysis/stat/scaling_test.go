package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

var scalingSizes = []float64{1, 2, 4, 8, 16, 32}

// scalingRates are rates of trials: of a curve, with noise of trials and of blocks.
func scalingRates(r *rand.Rand, sizes []float64, blocks int, noise, ofBlocks float64,
	curve func(n float64) float64) [][]float64 {
	values := make([][]float64, len(sizes))
	for range blocks {
		block := ofBlocks * r.NormFloat64()
		for i, n := range sizes {
			values[i] = append(values[i], curve(n)*math.Exp(block+noise*r.NormFloat64()))
		}
	}
	return values
}

func byLaw(sigma, kappa float64) func(float64) float64 {
	return func(n float64) float64 { return 10_000 * math.Exp(law(n, sigma, kappa)) }
}

// What is simulated by a law is explained by it in about 95 %, and its intervals cover.
func TestScale_recovers_a_law(t *testing.T) {
	for _, c := range []struct {
		name         string
		sigma, kappa float64
		blocks       int
		noise        float64
		law          Law
	}{
		{"universal, five blocks", 0.05, 0.002, 5, 0.03, Universal},
		{"universal, three blocks", 0.05, 0.002, 3, 0.02, Universal},
		{"universal without a serial share", 0, 0.003, 5, 0.03, Universal},
		{"Amdahl", 0.08, 0, 5, 0.03, Amdahl},
		{"linear", 0, 0, 5, 0.03, Linear},
	} {
		t.Run(c.name, func(t *testing.T) {
			const series = 400
			r := rand.New(rand.NewPCG(1, 7))
			explained, named, sigma, kappa, peak := 0, 0, 0, 0, 0
			for range series {
				s, ok := Scale(scalingSizes, scalingRates(r, scalingSizes, c.blocks, c.noise, 0.05, byLaw(c.sigma,
					c.kappa)))
				if !ok {
					continue
				}
				explained++
				if s.Law != c.law {
					continue
				}
				named++
				if s.SigmaIn.Contains(c.sigma) {
					sigma++
				}
				if s.KappaIn.Contains(c.kappa) {
					kappa++
				}
				if c.kappa > 0 && s.PeakIn.Contains(math.Sqrt((1-c.sigma)/c.kappa)) {
					peak++
				}
			}
			share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
			if got := share(explained, series); got < 0.92 {
				t.Errorf("explained in %.3f", got)
			}
			if got := share(named, explained); got < 0.9 {
				t.Errorf("%s in %.3f", c.law, got)
			}
			for what, n := range map[string]int{"sigma": sigma, "kappa": kappa, "peak": peak} {
				if got := share(n, named); (c.law == Universal || what == "sigma" && c.law == Amdahl) && (got < 0.92 || got > 0.995) {
					t.Errorf("intervals of %s cover in %.3f", what, got)
				}
			}
		})
	}
}

// Curves of another form give points alone.
func TestScale_leaves_other_curves_alone(t *testing.T) {
	for name, curve := range map[string]func(float64) float64{
		"proportional, and then flat": func(n float64) float64 { return 10_000 * min(n, 4) },
		"a step down":                 func(n float64) float64 { return map[bool]float64{true: 10_000 * n, false: 12_000}[n <= 4] },
		"up and down by turns":        func(n float64) float64 { return 10_000 * (1.5 + math.Sin(3*math.Log(n))) },
		"faster than proportional":    func(n float64) float64 { return 10_000 * math.Pow(n, 1.3) },
	} {
		t.Run(name, func(t *testing.T) {
			const series = 200
			r := rand.New(rand.NewPCG(2, 7))
			explained := 0
			for range series {
				if _, ok := Scale(scalingSizes, scalingRates(r, scalingSizes, 3, 0.03, 0.05, curve)); ok {
					explained++
				}
			}
			if explained > series/50 {
				t.Errorf("a law explains %d of %d", explained, series)
			}
		})
	}
}

func TestScale_needs_enough(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for name, values := range map[string][][]float64{
		"one block":               scalingRates(r, scalingSizes, 1, 0.01, 0, byLaw(0.05, 0.002)),
		"noise":                   scalingRates(r, scalingSizes, 5, 0.4, 0, byLaw(0.05, 0.002)),
		"no block with all sizes": {{1, math.NaN()}, {math.NaN(), 2}, {3, math.NaN()}, {4, math.NaN()}, {5, math.NaN()}, {6, math.NaN()}},
	} {
		if s, ok := Scale(scalingSizes, values); ok {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, ok := Scale(scalingSizes[:2], scalingRates(r, scalingSizes[:2], 5, 0.01, 0, byLaw(0, 0))); ok {
		t.Error("two sizes are explained by any law")
	}
}

func TestScaling_is_what_it_was_made_of(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 7))
	s, ok := Scale(scalingSizes, scalingRates(r, scalingSizes, 3, 1e-6, 0, byLaw(0.05, 0.002)))
	if !ok || math.Abs(s.Sigma-0.05) > 1e-4 || math.Abs(s.Kappa-0.002) > 1e-5 || math.Abs(s.Lambda/10_000-1) > 1e-3 {
		t.Fatalf("%+v, %v", s, ok)
	}
	if peak := math.Sqrt(0.95 / 0.002); math.Abs(s.Peak/peak-1) > 0.01 || math.Abs(s.PeakRate/s.At(peak)-1) > 1e-3 {
		t.Errorf("peak %v, %v/s", s.Peak, s.PeakRate)
	}
}

// The band holds what trials of these blocks have: of blocks that differ, all sizes move together.
func TestScaling_band_covers_the_law(t *testing.T) {
	for _, c := range []struct {
		name         string
		sigma, kappa float64
		law          Law
	}{{"universal", 0.05, 0.002, Universal}, {"Amdahl", 0.08, 0, Amdahl}, {"linear", 0, 0, Linear}} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 7))
			covered, told := 0, 0
			for range 400 {
				s, ok := Scale(scalingSizes, scalingRates(r, scalingSizes, 5, 0.03, 0, byLaw(c.sigma, c.kappa)))
				if !ok || s.Law != c.law {
					continue
				}
				if n := len(s.Curve); n != curvePoints || s.Curve[0].Size != 1 || s.Curve[n-1].Size != 32 {
					t.Fatalf("the curve has %d points, from %v to %v", n, s.Curve[0].Size, s.Curve[n-1].Size)
				}
				for _, at := range s.Curve {
					told++
					if at.Contains(byLaw(c.sigma, c.kappa)(at.Size)) {
						covered++
					}
				}
			}
			if share := float64(covered) / float64(max(told, 1)); share < 0.92 || share > 0.985 {
				t.Errorf("covers %.3f of %d points", share, told)
			}
		})
	}
}
