package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// courses describes each series and returns the share for which each question is answered with yes.
func courses(name string, row, series int, draw func(r *rand.Rand) Series, questions ...func(c Course) bool) []float64 {
	yes := make([]float64, len(questions))
	for _, c := range each(name, row, series, func(r *rand.Rand) Course { return Describe(draw(r)) }) {
		for i, question := range questions {
			if question(c) {
				yes[i]++
			}
		}
	}
	for i := range yes {
		yes[i] /= float64(series)
	}
	return yes
}

func has(shape Shape) func(Course) bool { return func(c Course) bool { return c.Has(shape) } }

func periodic(c Course) bool {
	for _, a := range c.Alternations {
		if a.Period != nil {
			return true
		}
	}
	return c.StallPeriod != nil || c.Swing != nil || c.Dips != nil && c.Dips.Period != nil || c.Spikes != nil && c.Spikes.Period != nil
}

// randomWalk moves the log rate by so much a second.
func randomWalk(r *rand.Rand, n int, step float64) []float64 {
	values := make([]float64, n)
	for i := 1; i < n; i++ {
		values[i] = values[i-1] + step*r.NormFloat64()
	}
	return values
}

func simulateShapes(t *testing.T, series int) table {
	out := table{Columns: []string{"series", "samples", "cliff", "decline", "oscillation", "dips", "a period", "wandering", "steady", "spikes"}}
	steady := func(rho float64) func(r *rand.Rand, n int) []float64 {
		return func(r *rand.Rand, n int) []float64 { return ratesOf(autoregressive(r, n, rho, 0.1), constant) }
	}
	for i, shape := range []struct {
		name  string
		rates func(r *rand.Rand, n int) []float64
		// the most that may be said falsely: cliffs, declines, oscillations, dips, periods; above 1: nothing is promised
		most [5]float64
		// the least of 200 samples or more of which a period is told, and spikes; nil: nothing is promised
		least []float64
	}{
		{"steady, ρ = 0", steady(0), [5]float64{0.01, 0.01, 0.01, 0.01, 0.01}, nil},
		{"steady, ρ = 0.3", steady(0.3), [5]float64{0.01, 0.01, 0.01, 0.01, 0.01}, nil},
		{"steady, ρ = 0.6", steady(0.6), [5]float64{0.01, 0.02, 0.01, 0.01, 0.01}, nil},
		{"linear drift of −10 %, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			return ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 { return 1 - 0.1*float64(i)/float64(n-1) })
		}, [5]float64{0.01, 2, 0.01, 0.01, 0.01}, nil},
		{"linear drift of −50 %, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			return ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 { return 1 - 0.5*float64(i)/float64(n-1) })
		}, [5]float64{2, 2, 0.01, 0.01, 0.01}, nil},
		{"random walk, 5 % a second", func(r *rand.Rand, n int) []float64 { return ratesOf(randomWalk(r, n, 0.05), constant) }, [5]float64{2, 2, 2, 2, 0.02}, nil},
		{"noise of 5 %, then of 20 %, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			noise := autoregressive(r, n, 0.3, 0.05)
			for i := n / 2; i < n; i++ {
				noise[i] *= 4
			}
			return ratesOf(noise, constant)
		}, [5]float64{0.02, 0.02, 0.01, 0.02, 0.01}, nil},
		{"2 s in 30 at a thirtieth (compaction), ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			first := r.IntN(30)
			return ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 {
				if (i+first)%30 < 2 {
					return 1.0 / 30
				}
				return 1
			})
		}, [5]float64{0.01, 0.02, 0.01, 0.01, 2}, nil},
		{"as many stalls of 2 s, anywhere, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			rates := ratesOf(autoregressive(r, n, 0.3, 0.1), constant)
			for range n / 30 {
				at := r.IntN(n - 1)
				rates[at], rates[at+1] = rates[at]/30, rates[at+1]/30
			}
			return rates
		}, [5]float64{0.02, 0.02, 0.01, 0.02, 0.02}, nil},
		{"4 s in 30 at 40 %, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			first := r.IntN(30)
			return ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 {
				if (i+first)%30 < 4 {
					return 0.4
				}
				return 1
			})
		}, [5]float64{0.02, 0.02, 2, 2, 2}, nil},
		{"1 s in 20 at 60 %, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			first := r.IntN(20)
			return ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 {
				if (i+first)%20 == 0 {
					return 0.6
				}
				return 1
			})
		}, [5]float64{0.01, 0.02, 0.01, 2, 2}, nil},
		{"12 s in 90 at 60 %, drift of −30 %, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			first := r.IntN(90)
			return ratesOf(autoregressive(r, n, 0.3, 0.05), func(i int) float64 {
				line := 1 - 0.3*float64(i)/float64(n-1)
				if (i+first)%90 < 12 {
					return 0.6 * line
				}
				return line
			})
		}, [5]float64{2, 2, 0.01, 2, 2}, nil},
		{"sine of ±40 %, period 10 s, ρ = 0.3", sine(10), [5]float64{0.01, 0.01, 0.01, 0.02, 2}, nil},
		{"sine of ±40 %, period 20 s, ρ = 0.3", sine(20), [5]float64{0.01, 0.01, 0.01, 0.02, 2}, []float64{0.98, 0}},
		{"sine of ±40 %, period 30 s, ρ = 0.3", sine(30), [5]float64{0.01, 0.01, 0.01, 0.02, 2}, []float64{0.98, 0}},
		{"2 s in 30 at a hundred times, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			first := r.IntN(30)
			return ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 {
				if (i+first)%30 < 2 {
					return 100
				}
				return 1
			})
		}, [5]float64{0.01, 0.02, 0.01, 0.01, 2}, []float64{0.98, 0.98}},
		{"one burst of 5 s at double, ρ = 0.3", burst(5, 2), [5]float64{0.01, 0.02, 0.01, 0.02, 0.01}, nil},
		{"one burst of 8 s at five times, ρ = 0.3", burst(8, 5), [5]float64{0.01, 0.02, 0.01, 0.02, 0.01}, nil},
		{"a slope to 30 % in the middle third, ρ = 0.3", func(r *rand.Rand, n int) []float64 {
			return ratesOf(autoregressive(r, n, 0.3, 0.1), fallOver(n/3, n/3, 0.7))
		}, [5]float64{2, 2, 0.01, 0.02, 0.01}, nil},
		{"6 s at twenty times the rest, whose noise is 90 %, ρ = 0", func(r *rand.Rand, n int) []float64 {
			noise := autoregressive(r, n, 0, 0.9)
			for i := range 6 {
				noise[i] = 0.05*r.NormFloat64() + math.Log(20)
			}
			return ratesOf(noise, constant)
		}, [5]float64{2, 2, 0.05, 0.02, 0.02}, nil},
	} {
		for j, n := range []int{60, 200, 600} {
			said := courses("shapes", i*3+j, series, func(r *rand.Rand) Series { return everySecond(shape.rates(r, n)) },
				has(ShapeCliff), has(ShapeDecline), has(ShapeOscillation), has(ShapeDips), periodic, has(ShapeWandering), has(ShapeSteady), has(ShapeSpikes))
			row := []string{shape.name, fmt.Sprint(n)}
			for k, what := range []string{"cliffs", "declines", "oscillations", "dips", "periods"} {
				if shape.most[k] <= 1 {
					within(t, fmt.Sprintf("%s, %d samples: false %s", shape.name, n, what), said[k], 0, shape.most[k], series)
				}
			}
			if shape.least != nil && n >= 200 {
				within(t, fmt.Sprintf("%s, %d samples: periods", shape.name, n), said[4], shape.least[0], 1, series)
				within(t, fmt.Sprintf("%s, %d samples: spikes", shape.name, n), said[7], shape.least[1], 1, series)
			} else if i < 12 {
				within(t, fmt.Sprintf("%s, %d samples: false spikes", shape.name, n), said[7], 0, 0.02, series)
			}
			for _, share := range said {
				row = append(row, percent(share))
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

func sine(period float64) func(r *rand.Rand, n int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		phase := 2 * math.Pi * r.Float64()
		return ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 { return 1 + 0.4*math.Sin(phase+2*math.Pi*float64(i)/period) })
	}
}

// burst is a steady rate that is so many times as high for some seconds.
func burst(seconds int, times float64) func(r *rand.Rand, n int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		at := n/3 + r.IntN(n/3)
		return ratesOf(autoregressive(r, n, 0.3, 0.05), func(i int) float64 {
			if i >= at && i < at+seconds {
				return times
			}
			return 1
		})
	}
}

func simulateCliffs(t *testing.T, series int) table {
	out := table{Columns: []string{"fall", "samples", "noise", "ρ", "40 % fall found within 2 s", "the time in its interval", "what is left in its interval", "60 % fall found within 2 s", "20 % fall called a cliff"}}
	row := 0
	simulate := func(kind string, n int, noise, rho float64, takes int, later float64) {
		type answer struct{ found, time, left bool }
		fallsBy := func(name string, fall float64) (found, time, left float64) {
			var hits float64
			for _, a := range each(name, row, series, func(r *rand.Rand) answer {
				at := n/3 + r.IntN(n/3)
				rates := ratesOf(autoregressive(r, n, rho, noise), fallOver(at, takes, fall))
				for i := at + takes + n/6; i < n; i++ {
					rates[i] *= 1 + later
				}
				c := Describe(everySecond(rates))
				for _, cliff := range c.Cliffs {
					if math.Abs(cliff.Seconds-float64(at)) <= 2 {
						return answer{true, cliff.SecondsInterval.Contains(float64(at)) && cliff.SecondsInterval.Contains(float64(at+takes)), cliff.LeftInterval.Contains(1 - fall)}
					}
				}
				return answer{len(c.Cliffs) > 0 && fall < CliffFallMin, false, false}
			}) {
				if a.found {
					hits++
				}
				if a.time {
					time++
				}
				if a.left {
					left++
				}
			}
			return hits / float64(series), time / max(hits, 1), left / max(hits, 1)
		}
		found, time, left := fallsBy("cliffs 40", 0.4)
		far, _, _ := fallsBy("cliffs 60", 0.6)
		small, _, _ := fallsBy("cliffs 20", 0.2)
		if noise <= 0.1 {
			what := fmt.Sprintf("%s, %d samples, noise %g, ρ = %g: ", kind, n, noise, rho)
			least := 0.95
			if noise == 0.1 && rho == 0.6 {
				least = 0.80
			}
			within(t, what+"40 % falls found", found, least, 1, series)
			within(t, what+"intervals that hold the time", time, 0.93, 1, series)
			if later == 0 || n > 60 { // in a minute's series, what comes back after ten seconds may not be told apart
				within(t, what+"intervals that hold what is left", left, 0.88, 1, series)
			}
		}
		out.Rows = append(out.Rows, []string{kind, fmt.Sprint(n), fmt.Sprintf("%.0f %%", 100*noise), fmt.Sprint(rho),
			percent(found), percent(time), percent(left), percent(far), percent(small)})
		row++
	}
	for _, n := range []int{60, 200, 600} {
		for _, noise := range []float64{0.05, 0.1, 0.2} {
			for _, rho := range []float64{0, 0.3, 0.6} {
				simulate("at once", n, noise, rho, 0, 0)
			}
		}
	}
	for _, n := range []int{60, 200, 600} {
		simulate("over 4 s", n, 0.05, 0.3, 4, 0)
		simulate("over 8 s", n, 0.05, 0.3, 8, 0)
		simulate("at once, later a fifth more", n, 0.05, 0.3, 0, 0.2)
	}
	return out
}

// fallOver is a rate that falls by so much, by the same share each second, over so many seconds from `at` on.
func fallOver(at, takes int, by float64) func(i int) float64 {
	return func(i int) float64 {
		return math.Pow(1-by, min(max(float64(i-at+1)/float64(takes+1), 0), 1))
	}
}

func simulateDeclines(t *testing.T, series int) table {
	out := table{Columns: []string{"series", "samples", "ρ", "decline found", "a cliff beside it", "form right", "form wrong", "half in its interval"}}
	row := 0
	for _, shape := range []struct {
		name string
		form Form
		// rate after so many records, of 100,000 a second for all of the time
		rate func(records float64, all float64) float64
		half func(early, all float64) float64
	}{
		{"e^(−1.4 · records), to a quarter", LogLin, func(x, all float64) float64 { return math.Exp(-1.386 * x / all) }, func(early, all float64) float64 { return early + all*math.Ln2/1.386 }},
		{"records^(−0.4)", LogLog, func(x, all float64) float64 { return math.Pow(x/all*100+1e-9, -0.4) }, func(early, _ float64) float64 { return early * math.Pow(2, 1/0.4) }},
	} {
		for _, n := range []int{60, 200, 600} {
			for _, rho := range []float64{0, 0.6} {
				type answer struct{ found, cliff, right, wrong, half bool }
				var tally [5]float64
				for _, a := range each("declines", row, series, func(r *rand.Rand) answer {
					noise := autoregressive(r, n, rho, 0.1)
					// The data grows evenly, so that the truth is known whatever the noise.
					s := everySecond(make([]float64, n))
					for i := range noise {
						s.Records = append(s.Records, float64(i+1)*1e5)
					}
					all := s.Records[n-1]
					for i := range noise {
						s.Rates[i] = simulatedRate * shape.rate(s.Records[i], all) * math.Exp(noise[i])
					}
					c := Describe(s)
					a := answer{found: len(c.Declines) > 0, cliff: c.Has(ShapeCliff)}
					if a.found && len(c.Cliffs) == 0 {
						d := c.Declines[0]
						a.right, a.wrong = d.Form == shape.form, d.Form != shape.form && d.Form != Unclear
						a.half = d.HalfInterval != nil && d.HalfInterval.Contains(shape.half(s.Records[max(edgeSamples, n/10)/2], all))
					}
					return a
				}) {
					for k, yes := range []bool{a.found, a.cliff, a.right, a.wrong, a.half} {
						if yes {
							tally[k]++
						}
					}
				}
				for k := range tally {
					tally[k] /= float64(series)
				}
				if n >= 200 {
					within(t, fmt.Sprintf("%s, %d samples, ρ = %g: found", shape.name, n, rho), tally[0], 0.95, 1, series)
				}
				out.Rows = append(out.Rows, []string{shape.name, fmt.Sprint(n), fmt.Sprint(rho), percent(tally[0]), percent(tally[1]), percent(tally[2]), percent(tally[3]), percent(tally[4])})
				row++
			}
		}
	}
	return out
}

func simulateAlternations(t *testing.T, series int) table {
	out := table{Columns: []string{"series", "samples", "oscillation", "levels within 10 %", "a period", "cliff within 2 s"}}
	toAndFro := func(r *rand.Rand, regular bool) int {
		if regular {
			return 5
		}
		return 1 + r.IntN(5)
	}
	draw := func(n, cliffAt int, regular bool) func(r *rand.Rand) Series {
		return func(r *rand.Rand) Series {
			level := make([]float64, n)
			high := r.IntN(2) == 0
			for i := cliffAt; i < n; {
				for range toAndFro(r, regular) {
					if i < n {
						level[i] = 0.055
						if high {
							level[i] = 0.38
						}
						i++
					}
				}
				high = !high
			}
			for i := range cliffAt {
				level[i] = 1
			}
			return everySecond(ratesOf(autoregressive(r, n, 0.3, 0.1), func(i int) float64 { return level[i] }))
		}
	}
	for i, shape := range []struct {
		name    string
		cliffAt int
		regular bool
	}{{"46k and 7k, 1 to 5 s each", 0, false}, {"46k and 7k, 5 s each", 0, true}, {"120k for 30 s, then 46k and 7k, 1 to 5 s each", 30, false}} {
		for j, n := range []int{60, 200, 600} {
			said := courses("oscillations", i*3+j, series, draw(n, shape.cliffAt, shape.regular), has(ShapeOscillation), func(c Course) bool {
				return len(c.Alternations) == 1 && near(c.Alternations[0].High/simulatedRate, 0.38, 0.038) && near(c.Alternations[0].Low/simulatedRate, 0.055, 0.0055)
			}, periodic, func(c Course) bool {
				return len(c.Cliffs) > 0 && near(c.Cliffs[0].Seconds, float64(shape.cliffAt), 2)
			})
			within(t, fmt.Sprintf("%s, %d samples: found", shape.name, n), said[0], 0.85, 1, series)
			out.Rows = append(out.Rows, []string{shape.name, fmt.Sprint(n), percent(said[0]), percent(said[1]), percent(said[2]), percent(said[3])})
		}
	}
	return out
}

func simulateCoincidences(t *testing.T, series int) table {
	out := table{Columns: []string{"rate", "resources, unrelated", "samples", "said to move with the rate", "said to change with the cliff"}}
	row := 0
	for _, shape := range []struct {
		name  string
		level func(n int) func(i int) float64
	}{
		{"steady", func(int) func(int) float64 { return constant }},
		{"one cliff of 60 %", func(n int) func(int) float64 { return fallAt(n/2, 0.6) }},
	} {
		for _, with := range []struct {
			name  string
			count int
			most  float64
			make  func(r *rand.Rand, n int) []float64
		}{
			{"1, ρ = 0.6", 1, 0.06, func(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0.6, 1) }},
			{"10, ρ = 0.6", 10, 0.06, func(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0.6, 1) }},
			{"10, ρ = 0.9", 10, 0.08, func(r *rand.Rand, n int) []float64 { return autoregressive(r, n, 0.9, 1) }},
			{"10 with trends, ρ = 0.6", 10, 0.06, func(r *rand.Rand, n int) []float64 {
				values := autoregressive(r, n, 0.6, 1)
				for i := range values {
					values[i] += 10 * float64(i) / float64(n)
				}
				return values
			}},
			{"1 that changes once, anywhere", 1, 2, func(r *rand.Rand, n int) []float64 {
				values, at := autoregressive(r, n, 0.3, 1), r.IntN(n)
				for i := at; i < n; i++ {
					values[i] += 10
				}
				return values
			}},
			{"1 that begins once, anywhere, and is restless from then on", 1, 2, func(r *rand.Rand, n int) []float64 {
				values, at := make([]float64, n), r.IntN(n)
				for i, noise := range autoregressive(r, n, 0.8, 0.3) {
					if i >= at {
						values[i] = 100 * math.Exp(noise)
					}
				}
				return values
			}},
		} {
			for _, n := range []int{60, 200} {
				said := courses("coincidences", row, series, func(r *rand.Rand) Series {
					s := everySecond(ratesOf(autoregressive(r, n, 0.6, 0.1), shape.level(n)))
					for i := range with.count {
						s.Resources = append(s.Resources, Resource{Name: fmt.Sprint(i), Values: with.make(r, n)})
					}
					return s
				}, func(c Course) bool { return coincides(c, WithRate) }, func(c Course) bool { return coincides(c, WithCliff) })
				if with.most <= 1 {
					within(t, fmt.Sprintf("%s, %s, %d samples: false moves", shape.name, with.name, n), said[0], 0, with.most, series)
					within(t, fmt.Sprintf("%s, %s, %d samples: false changes", shape.name, with.name, n), said[1], 0, 0.25, series)
				}
				out.Rows = append(out.Rows, []string{shape.name, with.name, fmt.Sprint(n), percent(said[0]), percent(said[1])})
				row++
			}
		}
	}
	return out
}

func coincides(c Course, kind string) bool {
	for _, found := range c.Coincidences {
		if found.Kind == kind {
			return true
		}
	}
	return false
}
