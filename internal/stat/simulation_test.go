package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// seriesSimulated says how often what is said of a series is wrong.
var seriesSimulated = simulated{"testdata/simulation.json", "testdata/simulation-short.json", "../../docs/statistics.md", 4000, []simulation{
	{"false-changes", simulateFalseChanges, 1},
	{"steps", simulateSteps, 1},
	{"warm-up", simulateWarmup, 1},
	{"steady", simulateSteady, 1},
	{"shapes", simulateShapes, 8},
	{"cliffs", simulateCliffs, 8},
	{"declines", simulateDeclines, 8},
	{"oscillations", simulateAlternations, 8},
	{"coincidences", simulateCoincidences, 8},
}}

func TestSimulations(t *testing.T) { seriesSimulated.run(t, 200) }

func TestDocumentPrintsTheRecordedTables(t *testing.T) { seriesSimulated.checkDocument(t) }

// autoregressive returns n values of a stationary AR(1) process with lag-1 autocorrelation rho and standard deviation sigma.
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

const (
	simulatedRate  = 100_000.0 // operations a second
	simulatedSigma = 0.05      // standard deviation of log rate from second to second
)

// ratesOf turns log noise around a level that may change with the sample into rates.
func ratesOf(noise []float64, level func(i int) float64) []float64 {
	rates := make([]float64, len(noise))
	for i, e := range noise {
		rates[i] = simulatedRate * level(i) * math.Exp(e)
	}
	return rates
}

func constant(int) float64 { return 1 }

func simulateFalseChanges(t *testing.T, series int) table {
	out := table{Columns: []string{"ρ", "20 samples", "60 samples", "200 samples", "200 samples, three of them stalls"}}
	for i, rho := range []float64{0, 0.3, 0.6} {
		row := []string{fmt.Sprint(rho)}
		for j, n := range []int{20, 60, 200, 200} {
			rate := share("false-changes", i*4+j, series, func(r *rand.Rand) bool {
				rates := ratesOf(autoregressive(r, n, rho, simulatedSigma), constant)
				if j == 3 {
					for range 3 {
						rates[r.IntN(n)] = 0
					}
				}
				return len(ChangePoints(rates, 1).Segments) > 1
			})
			within(t, fmt.Sprintf("false changes in %d samples, ρ = %g", n, rho), rate, 0, 0.05, series)
			row = append(row, percent(rate))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func simulateSteps(t *testing.T, series int) table {
	out := table{Columns: []string{"samples", "ρ", "fall of 10 %", "20 %", "40 %"}}
	for i, n := range []int{20, 60, 200} {
		for j, rho := range []float64{0, 0.3, 0.6} {
			row := []string{fmt.Sprint(n), fmt.Sprint(rho)}
			for k, fall := range []float64{0.1, 0.2, 0.4} {
				found := share("steps", (i*3+j)*3+k, series, func(r *rand.Rand) bool {
					at := n/3 + r.IntN(n/3)
					rates := ratesOf(autoregressive(r, n, rho, simulatedSigma), func(i int) float64 {
						if i < at {
							return 1
						}
						return 1 - fall
					})
					for _, s := range ChangePoints(rates, 1).Segments[1:] {
						if s.From >= at-5 && s.From <= at+5 {
							return true
						}
					}
					return false
				})
				if n == 200 && fall >= 0.2 {
					within(t, fmt.Sprintf("falls of %g found in %d samples, ρ = %g", fall, n, rho), found, 0.85, 1, series)
				}
				row = append(row, percent(found))
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

func simulateWarmup(t *testing.T, series int) table {
	out := table{Columns: []string{"series", "samples", "cut, samples (mean)", "refused", "bias of the mean before", "after"}}
	shapes := []struct {
		name  string
		level func(i int) float64
	}{
		{"steady", constant},
		{"starts at half, time constant 5", func(i int) float64 { return 1 - 0.5*math.Exp(-float64(i)/5) }},
		{"starts at double, time constant 10", func(i int) float64 { return 1 + math.Exp(-float64(i)/10) }},
		{"starts at double, time constant 60", func(i int) float64 { return 1 + math.Exp(-float64(i)/60) }},
	}
	for i, shape := range shapes {
		for j, n := range []int{20, 60, 200} {
			row := i*3 + j
			run := func(r *rand.Rand) []float64 { return ratesOf(autoregressive(r, n, 0.3, simulatedSigma), shape.level) }
			// The mean of a lognormal rate is exp(σ²/2) above its median.
			truth := simulatedRate * math.Exp(simulatedSigma*simulatedSigma/2)
			cut := means("warm-up", row, series, func(r *rand.Rand) float64 { at, _, _ := Warmup(run(r)); return float64(at) })
			refused := share("warm-up", row, series, func(r *rand.Rand) bool { _, ok, _ := Warmup(run(r)); return !ok })
			before := means("warm-up", row, series, func(r *rand.Rand) float64 { return Mean(run(r))/truth - 1 })
			after := means("warm-up", row, series, func(r *rand.Rand) float64 {
				rates := run(r)
				at, _, _ := Warmup(rates)
				return Mean(rates[at:])/truth - 1
			})
			if shape.name == "steady" {
				within(t, fmt.Sprintf("share of a steady series of %d cut", n), cut/float64(n), 0, 0.20, series)
			}
			if i == 1 && n == 200 && math.Abs(after) > max(math.Abs(before)/2, 0.004) {
				t.Errorf("%s, %d samples: the cut left a bias of %.4f of %.4f", shape.name, n, after, before)
			}
			if i == 2 { // what begins far faster is no warm-up
				within(t, fmt.Sprintf("%s, %d samples: share cut", shape.name, n), cut/float64(n), 0, 0.02, series)
			}
			out.Rows = append(out.Rows, []string{shape.name, fmt.Sprint(n), fmt.Sprintf("%.1f", cut), percent(refused),
				fmt.Sprintf("%+.1f %%", 100*before), fmt.Sprintf("%+.1f %%", 100*after)})
		}
	}
	return out
}

func simulateSteady(t *testing.T, series int) table {
	out := table{Columns: []string{"series", "samples", "ρ", "steady", "stepped", "drifting", "too short"}}
	shapes := []struct {
		name  string
		level func(n int) func(i int) float64
		truth SteadyKind
	}{
		{"constant", func(int) func(int) float64 { return constant }, Steady},
		{"warm-up of a tenth, from half", func(n int) func(int) float64 {
			return func(i int) float64 { return 1 - 0.5*math.Exp(-30*float64(i)/float64(n)) }
		}, Steady},
		{"drift of −20 %", func(n int) func(int) float64 {
			return func(i int) float64 { return math.Pow(0.8, float64(i)/float64(n-1)) }
		}, Drifting},
		{"drift of −50 %", func(n int) func(int) float64 {
			return func(i int) float64 { return math.Pow(0.5, float64(i)/float64(n-1)) }
		}, Drifting},
		{"fall of 20 % at two thirds", func(n int) func(int) float64 { return fallAt(n*2/3, 0.2) }, Stepped},
		{"fall of 40 % at two thirds", func(n int) func(int) float64 { return fallAt(n*2/3, 0.4) }, Stepped},
		{"outage at 40 %, from 8 to 20 % of the time", func(n int) func(int) float64 {
			return func(i int) float64 { return fallAt(n*8/100, 0.6)(i) / fallAt(n/5, 0.6)(i) }
		}, Stepped},
		{"double for the first twelfth", func(n int) func(int) float64 { return fallAt(n/12, 0.5) }, Stepped},
	}
	for i, shape := range shapes {
		for j, n := range []int{20, 60, 200} {
			for k, rho := range []float64{0, 0.6} {
				kinds := map[SteadyKind]float64{}
				for _, kind := range each("steady", (i*3+j)*2+k, series, func(r *rand.Rand) SteadyKind {
					return Decide(ratesOf(autoregressive(r, n, rho, simulatedSigma), shape.level(n)), 1).Kind
				}) {
					kinds[kind]++
				}
				for kind := range kinds {
					kinds[kind] /= float64(series)
				}
				switch {
				case shape.truth == Steady && n >= 60:
					within(t, fmt.Sprintf("%s of %d, ρ = %g: steady", shape.name, n, rho), kinds[Steady], 0.9, 1, series)
				case i >= 6 && n == 200 || i == 7 && n == 60:
					within(t, fmt.Sprintf("%s of %d, ρ = %g: stepped", shape.name, n, rho), kinds[Stepped], 0.98, 1, series)
				case shape.truth != Steady && n == 200:
					within(t, fmt.Sprintf("%s of %d, ρ = %g: steady", shape.name, n, rho), kinds[Steady], 0, 0.35, series)
				}
				out.Rows = append(out.Rows, []string{shape.name, fmt.Sprint(n), fmt.Sprint(rho),
					percent(kinds[Steady]), percent(kinds[Stepped]), percent(kinds[Drifting]), percent(kinds[TooShort])})
			}
		}
	}
	return out
}

func fallAt(at int, fall float64) func(i int) float64 {
	return func(i int) float64 {
		if i < at {
			return 1
		}
		return 1 - fall
	}
}
