package series

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"assay/internal/testkit/golden"
)

// The simulations say how often each kind is wrong where the truth is known. A few dozen series a
// row check the aims generously; ASSAY_LONG=1 draws 300, checks them, and compares the tables with
// those of docs/error-rates (-update: writes them there).
const (
	drawsLong  = 300
	drawsShort = 20
	documents  = "../../../docs/error-rates"
)

func long() bool { return os.Getenv("ASSAY_LONG") == "1" }

// autoregressive noise has the given lag-1 autocorrelation and standard deviation.
func autoregressive(r *rand.Rand, n int, rho, deviation float64) []float64 {
	noise := make([]float64, n)
	x := r.NormFloat64()
	for i := range noise {
		if i > 0 {
			x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
		}
		noise[i] = deviation * x
	}
	return noise
}

// seconds is a series of one sample a second: 100,000 a second times the level, times the noise.
func seconds(noise []float64, level func(i int) float64) (s Series) {
	for i, x := range noise {
		s.Ends, s.Rates = append(s.Ends, float64(i+1)), append(s.Rates, 1e5*level(i)*math.Exp(x))
	}
	return s
}

func constant(int) float64 { return 1 }

// fall is a level that falls to `left` at sample `at`, or by equal shares over so many samples.
func fall(at, takes int, left float64) func(int) float64 {
	return func(i int) float64 {
		return math.Pow(left, min(max(float64(i-at+1)/float64(takes+1), 0), 1))
	}
}

// turnsOfTwo is a level that is at 0.38 and 0.055 in turn, for 1 to 5 samples or for `regular`, and
// at 1 before sample `from`.
func turnsOfTwo(r *rand.Rand, n, from, regular int) func(int) float64 {
	levels, high := make([]float64, n), r.IntN(2) == 0
	for i := range min(from, n) {
		levels[i] = 1
	}
	for i := from; i < n; high = !high {
		stay := regular
		if stay == 0 {
			stay = 1 + r.IntN(5)
		}
		for ; stay > 0 && i < n; i, stay = i+1, stay-1 {
			if levels[i] = 0.055; high {
				levels[i] = 0.38
			}
		}
	}
	return func(i int) float64 { return levels[i] }
}

// answer is what is counted of one series.
type answer []bool

// table is one simulated table.
type table struct {
	name    string
	columns []string
	rows    [][]string
}

// row draws series and writes the share of each answer, which is held to its bounds. The short form
// allows for three standard errors and one series.
func (b *table) row(t *testing.T, head []string, bounds [][2]float64, draw func(r *rand.Rand) answer) {
	draws := drawsShort
	if long() {
		draws = drawsLong
	}
	r := rand.New(rand.NewPCG(uint64(len(b.rows)), 2026))
	counts := make([]float64, len(bounds))
	for range draws {
		for k, yes := range draw(r) {
			if yes {
				counts[k]++
			}
		}
	}
	for k, bound := range bounds {
		if bound == none {
			continue
		}
		share := counts[k] / float64(draws)
		slack := 0.0
		if !long() {
			slack = 3*math.Sqrt(0.05*0.95/float64(draws)) + 1/float64(draws)
		}
		if share < bound[0]-slack || share > bound[1]+slack {
			t.Errorf("%s: %s: %.1f %%, want %g to %g", strings.Join(head, ", "), b.columns[len(head)+k], 100*share, bound[0], bound[1])
		}
	}
	b.rows = append(b.rows, append(head, percents(counts, bounds, draws)...))
}

func percents(counts []float64, bounds [][2]float64, draws int) (cells []string) {
	for k, c := range counts {
		if bounds[k] == none {
			cells = append(cells, "–")
			continue
		}
		cells = append(cells, fmt.Sprintf("%.1f %%", 100*c/float64(draws)))
	}
	return cells
}

func (b *table) csv(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	if err := csv.NewWriter(&out).WriteAll(append([][]string{b.columns}, b.rows...)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	free  = [2]float64{0, 1}
	none  = [2]float64{-1, -1} // nothing is asked
	never = [2]float64{0, 0.01}
)

func TestErrorRates(t *testing.T) {
	makers := []func(*testing.T) table{steadyTable, foundTable, cleanTable, levelTable, dropTable, shortTable,
		pointsTable, kindsTable, resourceTable}
	tables := make([]table, len(makers))
	t.Run("tables", func(t *testing.T) {
		for i, makeTable := range makers {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				tables[i] = makeTable(t)
			})
		}
	})
	if !long() {
		return
	}
	for _, b := range tables {
		golden.Check(t, "../"+documents+"/"+b.name+".csv", b.csv(t))
	}
}

func steadyTable(t *testing.T) table {
	b := table{name: "series-steady", columns: []string{"series, noise 10 % unless stated", "samples", "cliff", "other step", "decline or rise", "oscillation", "drops", "steady", "inconclusive"}}
	for _, c := range []struct {
		name  string
		draw  func(r *rand.Rand, n int) Series
		cliff [2]float64
		other [2]float64
		drops [2]float64
	}{
		{"steady, ρ = 0", steady(0), never, [2]float64{0, 0.02}, never},
		{"steady, ρ = 0.3", steady(0.3), never, [2]float64{0, 0.02}, never},
		{"steady, ρ = 0.6", steady(0.6), never, [2]float64{0, 0.02}, never},
		{"noise of 5 %, then of 20 %, ρ = 0.3", func(r *rand.Rand, n int) Series {
			noise := autoregressive(r, n, 0.3, 0.05)
			for i := n / 2; i < n; i++ {
				noise[i] *= 4
			}
			return seconds(noise, constant)
		}, [2]float64{0, 0.02}, free, [2]float64{0, 0.05}},
		{"noise with heavy tails (t, 3 degrees), ρ = 0", func(r *rand.Rand, n int) Series {
			noise := make([]float64, n)
			for i := range noise {
				a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
				noise[i] = 0.06 * r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
			}
			return seconds(noise, constant)
		}, never, free, [2]float64{0, 0.08}},
		{"drift of −10 %, ρ = 0.3", func(r *rand.Rand, n int) Series {
			return seconds(autoregressive(r, n, 0.3, 0.1),
				func(i int) float64 { return 1 - 0.1*float64(i)/float64(n-1) })
		}, never, free, free},
		{"random walk, 5 % a second", func(r *rand.Rand, n int) Series {
			noise := make([]float64, n)
			for i := 1; i < n; i++ {
				noise[i] = noise[i-1] + 0.05*r.NormFloat64()
			}
			return seconds(noise, constant)
		}, free, free, free},
		{"wanders smoothly: mean of 20 s of noise", func(r *rand.Rand, n int) Series {
			noise, each := make([]float64, n), autoregressive(r, n+20, 0, 0.1*math.Sqrt(20))
			for i := range noise {
				for _, x := range each[i : i+20] {
					noise[i] += x / 20
				}
			}
			return seconds(noise, constant)
		}, free, free, free},
	} {
		for _, n := range []int{60, 200, 600} {
			b.row(t, []string{c.name, fmt.Sprint(n)}, [][2]float64{c.cliff, c.other, c.other, never, c.drops, free,
				free}, func(r *rand.Rand) answer {
				s := Analyze(c.draw(r, n))
				return answer{s.Cliff() != nil, s.Has(Step) && s.Cliff() == nil, s.Has(Decline) || s.Has(Rise),
					s.Has(Oscillation), s.Has(Drops), s.Has(Steady), s.Has(Inconclusive)}
			})
		}
	}
	return b
}

func steady(rho float64) func(r *rand.Rand, n int) Series {
	return func(r *rand.Rand, n int) Series { return seconds(autoregressive(r, n, rho, 0.1), constant) }
}

// stepAt returns the step that is within 2 s of a time. Nil: there is none.
func stepAt(s Shape, at float64) *Event {
	for i, e := range s.Events {
		if e.Kind == Step && math.Abs(e.From-at) <= 2 {
			return &s.Events[i]
		}
	}
	return nil
}

// foundTable: falls, collapses, oscillations and declines.
func foundTable(t *testing.T) table {
	b := table{name: "series-found", columns: []string{"series", "samples", "noise", "ρ", "found", "called a cliff", "its time in the interval", "what is left in the interval", "something else besides"}}
	falls := func(name string, n int, noise, rho float64, takes int, left float64, bounds [][2]float64) {
		b.row(t, []string{name, fmt.Sprint(n), fmt.Sprintf("%g %%", 100*noise), fmt.Sprint(rho)}, bounds, func(r *rand.Rand) answer {
			at := n/3 + r.IntN(n/3)
			s := Analyze(seconds(autoregressive(r, n, rho, noise), fall(at, takes, left)))
			e := stepAt(s, float64(at))
			if e == nil {
				return answer{false, s.Cliff() != nil, false, false, true}
			}
			return answer{true, e.Cliff, e.Interval.Contains(float64(at)), e.Left.Contains(left), len(s.Events) > 1}
		})
	}
	for _, n := range []int{60, 200, 600} {
		for _, noise := range []float64{0.05, 0.1, 0.2} {
			for _, rho := range []float64{0, 0.6} {
				bounds := [][2]float64{{0.95, 1}, free, {0.93, 1}, {0.85, 1}, {0, 0.1}}
				if noise > 0.1 {
					bounds = [][2]float64{free, free, free, free, free}
				}
				falls("fall by 40 %, at once", n, noise, rho, 0, 0.6, bounds)
			}
		}
		falls("fall by 40 %, over 4 s", n, 0.05, 0.3, 4, 0.6, [][2]float64{{0.9, 1}, free, free, free, free})
		falls("fall by 40 %, over 8 s", n, 0.05, 0.3, 8, 0.6, [][2]float64{{0.9, 1}, free, free, free, free})
		falls("fall by 20 %, at once", n, 0.05, 0.3, 0, 0.8, [][2]float64{free, {0, 0.1}, free, free, free})
	}
	of := func(name string, n int, rho float64, found [2]float64, draw func(r *rand.Rand) Series,
		is func(s Shape) (found, besides bool)) {
		b.row(t, []string{name, fmt.Sprint(n), "10 %", fmt.Sprint(rho)}, [][2]float64{found, free, none, none, free}, func(r *rand.Rand) answer {
			s := Analyze(draw(r))
			found, besides := is(s)
			return answer{found, s.Cliff() != nil, false, false, besides}
		})
	}
	for _, n := range []int{60, 200, 600} {
		of("at 30 s down to 38 % and 5.5 % in turn, 1 to 5 s each", n, 0.3, [2]float64{0.9, 1}, func(r *rand.Rand) Series {
			return seconds(autoregressive(r, n, 0.3, 0.1), turnsOfTwo(r, n, 30, 0))
		}, func(s Shape) (bool, bool) {
			return stepAt(s, 30) != nil && stepAt(s, 30).Cliff && s.Has(Oscillation), len(s.Events) > 2
		})
		of("38 % and 5.5 % in turn, 1 to 5 s each", n, 0.3, [2]float64{0.95, 1}, func(r *rand.Rand) Series {
			return seconds(autoregressive(r, n, 0.3, 0.1), turnsOfTwo(r, n, 0, 0))
		}, func(s Shape) (bool, bool) {
			turns := s.Of(Oscillation)
			return len(turns) == 1 && math.Abs(turns[0].Turns.High/38e3-1) < 0.1 &&
				math.Abs(turns[0].Turns.Low/5.5e3-1) < 0.1, len(s.Events) > 1
		})
		of("decline to 40 % in half of the time, then down to 10 % within 9 s", n, 0.3, [2]float64{0.8, 1}, func(r *rand.Rand) Series {
			return seconds(autoregressive(r, n, 0.3, 0.1), func(i int) float64 {
				return math.Pow(0.4, min(float64(i)/float64(n/2), 1)) * fall(n/2, 8, 0.25)(i)
			})
		}, func(s Shape) (bool, bool) {
			c := s.Cliff()
			return c != nil && c.From >= float64(n/2)-5 && c.To <= float64(n/2)+14, len(s.Events) > 2
		})
		for _, rho := range []float64{0, 0.6} {
			of("decline to half", n, rho, free, func(r *rand.Rand) Series {
				return seconds(autoregressive(r, n, rho, 0.1), func(i int) float64 {
					return math.Pow(0.5, float64(i)/float64(n-1))
				})
			}, func(s Shape) (bool, bool) { return s.Kind == Decline, s.Has(Step) })
			of("decline to a quarter", n, rho, [2]float64{0.95, 1}, func(r *rand.Rand) Series {
				return seconds(autoregressive(r, n, rho, 0.1), func(i int) float64 {
					return math.Pow(0.25, float64(i)/float64(n-1))
				})
			}, func(s Shape) (bool, bool) { return s.Kind == Decline, s.Has(Step) })
		}
		of("a slope to 30 % in the middle third", n, 0.3, free, func(r *rand.Rand) Series {
			return seconds(autoregressive(r, n, 0.3, 0.1), fall(n/3, n/3, 0.3))
		}, func(s Shape) (bool, bool) { return s.Has(Decline), s.Has(Step) })
	}
	return b
}

// cleanTable: declines with little noise, of shapes that no line fits.
func cleanTable(t *testing.T) table {
	b := table{name: "series-clean", columns: []string{"decline", "samples", "noise", "ρ", "found", "its size within 3 points", "step besides", "inconclusive"}}
	for _, c := range []struct {
		name string
		left float64
		at   func(x float64) float64
	}{
		{"straight, to half", 0.5, func(x float64) float64 { return 1 - x/2 }},
		{"straight, to a fifth", 0.2, func(x float64) float64 { return 1 - 0.8*x }},
		{"as 1/(1 + 3t)", 0.25, func(x float64) float64 { return 1 / (1 + 3*x) }},
		{"ever faster, as 1 − t³/2", 0.5, func(x float64) float64 { return 1 - x*x*x/2 }},
		{"in twelve stairs, to 30 %", 0.3, func(x float64) float64 { return math.Pow(0.3, math.Floor(min(12*x, 11))/11) }},
	} {
		for _, n := range []int{60, 300} {
			for _, noise := range []float64{0.002, 0.02} {
				for _, rho := range []float64{0, 0.6} {
					bounds := [][2]float64{{0.95, 1}, free, free, {0, 0.05}}
					if n == 60 && noise == 0.02 {
						bounds = [][2]float64{free, free, free, free}
					}
					b.row(t, []string{c.name, fmt.Sprint(n), fmt.Sprintf("%g %%", 100*noise), fmt.Sprint(rho)},
						bounds, func(r *rand.Rand) answer {
							s := Analyze(seconds(autoregressive(r, n, rho, noise),
								func(i int) float64 { return c.at(float64(i) / float64(n-1)) }))
							near := false
							if d := s.Of(Decline); len(d) == 1 {
								near = math.Abs(d[0].After/d[0].Before-c.left) <= 0.03
							}
							// Each of twelve stairs is a step by 10.4 %.
							found := s.Has(Decline) || s.Has(Step) && c.left == 0.3
							return answer{found, near, s.Has(Step), s.Has(Inconclusive)}
						})
				}
			}
		}
	}
	return b
}

// kinds are noises of shapes for which nothing here was chosen.
var kinds = []struct {
	name string
	draw func(r *rand.Rand, n int) []float64 // factors
}{
	{"gamma, 14 %", func(r *rand.Rand, n int) []float64 {
		factors := make([]float64, n)
		for i := range factors {
			for range 50 { // the sum of 50 exponential waits
				factors[i] += r.ExpFloat64() / 50
			}
		}
		return factors
	}},
	{"two levels at random, ±10 %", func(r *rand.Rand, n int) []float64 {
		factors := make([]float64, n)
		for i := range factors {
			factors[i] = 0.9 + 0.2*float64(r.IntN(2)) + 0.005*r.NormFloat64()
		}
		return factors
	}},
	{"sawtooth of 7 to 13 s, ±10 %", func(r *rand.Rand, n int) []float64 {
		period := 7 + r.IntN(7)
		factors := make([]float64, n)
		for i := range factors {
			factors[i] = 0.9 + 0.2*float64(i%period)/float64(period-1) + 0.02*r.NormFloat64()
		}
		return factors
	}},
	{"whole counts, 40 a sample", func(r *rand.Rand, n int) []float64 {
		factors := make([]float64, n)
		for i := range factors {
			count := 0
			for at := r.ExpFloat64(); at < 40; at += r.ExpFloat64() {
				count++
			}
			factors[i] = float64(count) / 40
		}
		return factors
	}},
}

// kindsTable: steady and changed series of noise of other shapes, and short ones with little noise.
func kindsTable(t *testing.T) table {
	b := table{name: "series-kinds", columns: []string{"noise", "samples", "steady: a change, drops or oscillation told", "steady: inconclusive", "fall by half at once, anywhere in the middle third: told in its place", "outage to 0 in its last half: told at its place", "a sample 1,000 times as high: no level, or one among 90 % of the samples"}}
	for _, kind := range kinds {
		for _, n := range []int{60, 200, 600} {
			b.row(t, []string{kind.name, fmt.Sprint(n)}, [][2]float64{never, free, {0.9, 1}, {0.97, 1}, {1, 1}},
				func(r *rand.Rand) answer {
					counted := func(level func(i int) float64) (s Series) {
						for i, factor := range kind.draw(r, n) {
							s.Ends, s.Rates = append(s.Ends, float64(i+1)), append(s.Rates,
								math.Round(40*level(i)*factor))
							if kind.name[:5] != "whole" {
								s.Rates[i] = 1e5 * level(i) * factor
							}
						}
						return s
					}
					steady := Analyze(counted(constant))
					at := n/3 + r.IntN(n/3)
					fell := stepAt(Analyze(counted(fall(at, 0, 0.5))), float64(at))
					out := stepAt(Analyze(counted(fall(n/2, 0, 0))), float64(n/2))
					s := counted(constant)
					s.Rates[r.IntN(n)] *= 1000
					poisoned := Analyze(s)
					return answer{len(steady.Events) > 0, steady.Has(Inconclusive), fell != nil && fell.Cliff,
						out != nil && out.Cliff,
						poisoned.Rate == nil || poisoned.Rate.Low <= poisoned.Rate.Value &&
							poisoned.Rate.Value <= poisoned.Rate.High && poisoned.Rate.High < 2*steady.Mean}
				})
		}
	}
	return b
}

// levelTable: levels that last, and drops within the first fifth.
func levelTable(t *testing.T) table {
	b := table{name: "series-levels", columns: []string{"series, noise 10 %, ρ = 0.3", "samples", "found in its place", "called steady", "something else besides"}}
	of := func(name string, n int, left float64, begin func(r *rand.Rand) (at, lasts int), found func(s Shape, at,
		lasts int) (found, besides bool)) {
		b.row(t, []string{name, fmt.Sprint(n)}, [][2]float64{{0.88, 1}, free, {0, 0.12}}, func(r *rand.Rand) answer {
			at, lasts := begin(r)
			s := Analyze(seconds(autoregressive(r, n, 0.3, 0.1), func(i int) float64 {
				if i >= at && i < at+lasts {
					return left
				}
				return 1
			}))
			is, besides := found(s, at, lasts)
			return answer{is, s.Has(Steady), besides}
		})
	}
	stairs := func(s Shape, at, lasts int) (bool, bool) {
		return stepAt(s, float64(at)) != nil && stepAt(s, float64(at+lasts)) != nil, len(s.Events) > 2
	}
	for _, n := range []int{100, 300} {
		for _, left := range []float64{0.5, 0.1, 0} {
			for _, part := range []int{3, 5} {
				of(fmt.Sprintf("%g %% for 1/%d of the time, anywhere", 100*left, part), n, left, func(r *rand.Rand) (int, int) {
					return 8 + r.IntN(n-n/part-16), n / part
				}, stairs)
			}
		}
		early := func(lasts int) func(r *rand.Rand) (int, int) {
			return func(r *rand.Rand) (int, int) { return 3 + r.IntN(n/5-3), lasts }
		}
		dropAt := func(s Shape, at, _ int) (bool, bool) {
			d := s.Of(Drops)
			return len(d) == 1 && math.Abs(d[0].From-float64(at)) <= 1, len(s.Events) > 1
		}
		of("2 s at 3 %, in the first fifth", n, 0.03, early(2), dropAt)
		of("6 s at 30 %, in the first fifth", n, 0.3, early(6), dropAt)
	}
	return b
}

// pointsTable: 8 to 20 points that may be independent, as published tables have them.
func pointsTable(t *testing.T) table {
	b := table{name: "series-points", columns: []string{"points", "false step or slope, ρ = 0", "ρ = 0.3", "ρ = 0.6", "false cliff, ρ = 0.6",
		"fall to an eighth, noise 50 %: found", "fall to a quarter along a line, noise 20 %: found"}}
	changed := func(s Shape) bool { return s.Has(Step) || s.Has(Decline) || s.Has(Rise) }
	points := func(noise []float64, level func(i int) float64) Shape {
		s := seconds(noise, level)
		s.Points = true
		return Analyze(s)
	}
	for _, n := range []int{8, 10, 12, 15, 20} {
		b.row(t, []string{fmt.Sprint(n)}, [][2]float64{{0, 0.02}, free, free, {0, 0.015}, free, free},
			func(r *rand.Rand) answer {
				line := func(left float64) func(i int) float64 {
					return func(i int) float64 { return math.Pow(left, float64(i)/float64(n-1)) }
				}
				alike := points(autoregressive(r, n, 0.6, 0.1), constant)
				return answer{changed(points(autoregressive(r, n, 0, 0.1), constant)),
					changed(points(autoregressive(r, n, 0.3, 0.1), constant)),
					changed(alike), alike.Cliff() != nil,
					changed(points(autoregressive(r, n, 0, 0.5), line(0.125))), changed(points(autoregressive(r, n, 0,
						0.2), line(0.25)))}
			})
	}
	return b
}

// dropTable: stalls and dips.
func dropTable(t *testing.T) table {
	b := table{name: "series-drops", columns: []string{"series, noise 10 %, ρ = 0.3", "samples", "drops found", "all, and no others", "the period within 2 %", "step or slope besides"}}
	of := func(name string, n int, found, all, period [2]float64, level func(r *rand.Rand) (func(int) float64, int,
		float64)) {
		b.row(t, []string{name, fmt.Sprint(n)}, [][2]float64{found, all, period, {0, 0.05}}, func(r *rand.Rand) answer {
			at, count, every := level(r)
			s := Analyze(seconds(autoregressive(r, n, 0.3, 0.1), at))
			besides := s.Has(Step) || s.Has(Decline) || s.Has(Rise)
			drops := s.Of(Drops)
			if len(drops) == 0 {
				return answer{false, false, false, besides}
			}
			g := drops[0].Drops
			return answer{true, len(g.All) == count, g.Period != nil && math.Abs(g.Period.Seconds/every-1) < 0.02,
				besides}
		})
	}
	periodic := func(n int, every, lasts, left float64) func(r *rand.Rand) (func(int) float64, int, float64) {
		return func(r *rand.Rand) (func(int) float64, int, float64) {
			first := r.Float64()*(every-lasts-1) + 1
			low := func(i int) bool { return math.Mod(float64(i)+every-first, every) < lasts && float64(i) >= first }
			count := 0
			for i := 1; i < n; i++ {
				if low(i) && !low(i-1) {
					count++
				}
			}
			return func(i int) float64 {
				if low(i) {
					return left
				}
				return 1
			}, count, every
		}
	}
	yes := [2]float64{0.95, 1}
	for _, n := range []int{200, 600} {
		of("5 s of every 29.1 s at 29 %", n, yes, free, yes, periodic(n, 29.1, 5, 0.29))
		of("2 s of every 30 s at 3 %", n, yes, yes, yes, periodic(n, 30, 2, 0.03))
		of("1 s of every 20 s at 60 %", n, free, free, free, periodic(n, 20, 1, 0.6))
		of("2 s at 3 %, n/30 times at random", n, yes, none, none, func(r *rand.Rand) (func(int) float64, int, float64) {
			low := map[int]bool{}
			for range n / 30 {
				at := 1 + r.IntN(n-3)
				low[at], low[at+1] = true, true
			}
			return func(i int) float64 {
				if low[i] {
					return 0.03
				}
				return 1
			}, -1, -1
		})
		deep := func(i int) float64 {
			if at := n / 3; i >= at && i < at+n/5 {
				return 0.05 + 0.95*float64(i-at)/float64(n/5)
			}
			return 1
		}
		b.row(t, []string{"down to 5 % at once, back along a line in a fifth of the time: place, depth and end right", fmt.Sprint(n)},
			[][2]float64{yes, {0.85, 1}, none, {0, 0.05}}, func(r *rand.Rand) answer {
				s := Analyze(seconds(autoregressive(r, n, 0.3, 0.1), deep))
				besides := s.Has(Step) || s.Has(Decline) || s.Has(Rise)
				for _, e := range s.Of(Drops) {
					d := e.Drops.All[0]
					right := math.Abs(d.From-float64(n/3)) <= 2 && d.Lowest < 8e3 &&
						math.Abs(d.To-float64(n/3+n/5)) <= float64(n)/20
					return answer{true, right, false, besides}
				}
				return answer{false, false, false, besides}
			})
	}
	return b
}

// shortTable: 8 to 20 samples.
func shortTable(t *testing.T) table {
	b := table{name: "series-short", columns: []string{"samples", "false step or slope, ρ = 0", "ρ = 0.3", "ρ = 0.6", "fall to a quarter along a line, noise 5 %: found", "fall by 60 % in the middle, noise 5 %: found", "its place exact"}}
	changed := func(s Shape) bool { return s.Has(Step) || s.Has(Decline) || s.Has(Rise) }
	for _, n := range []int{8, 9, 10, 12, 15, 20} {
		found := free
		if n >= 10 {
			found = [2]float64{0.95, 1}
		}
		bound := [2]float64{0, 0.015}
		b.row(t, []string{fmt.Sprint(n)}, [][2]float64{bound, bound, bound, found, found, free},
			func(r *rand.Rand) answer {
				var a answer
				for _, rho := range []float64{0, 0.3, 0.6} {
					a = append(a, changed(Analyze(seconds(autoregressive(r, n, rho, 0.1), constant))))
				}
				slope := Analyze(seconds(autoregressive(r, n, 0, 0.05), func(i int) float64 {
					return math.Pow(0.25, float64(i)/float64(n-1))
				}))
				step := Analyze(seconds(autoregressive(r, n, 0, 0.05), fall(n/2, 0, 0.4)))
				return append(a, slope.Has(Decline) || slope.Has(Step), step.Has(Step), step.Cliff() != nil &&
					step.Cliff().From == float64(n/2))
			})
	}
	return b
}

// resourceTable: what is stated of resources, unrelated to the rate or not.
func resourceTable(t *testing.T) table {
	b := table{name: "series-resources", columns: []string{"rate", "resources", "samples", "one or more changed near the step", "one or more moves with the rate"}}
	for _, c := range []struct {
		name   string
		count  int
		make   func(r *rand.Rand, n, at int) []float64
		near   [2]float64
		moving [2]float64
	}{
		{"10 unrelated, ρ = 0.6", 10, func(r *rand.Rand, n, _ int) []float64 { return autoregressive(r, n, 0.6, 1) }, [2]float64{0, 0.05}, [2]float64{0, 0.07}},
		{"10 unrelated, ρ = 0.9", 10, func(r *rand.Rand, n, _ int) []float64 { return autoregressive(r, n, 0.9, 1) }, [2]float64{0, 0.1}, [2]float64{0, 0.07}},
		{"10 unrelated with trends, ρ = 0.6", 10, func(r *rand.Rand, n, _ int) []float64 {
			values := autoregressive(r, n, 0.6, 1)
			for i := range values {
				values[i] += 10 * float64(i) / float64(n)
			}
			return values
		}, [2]float64{0, 0.1}, [2]float64{0, 0.07}},
		{"1 that steps once, anywhere", 1, func(r *rand.Rand, n, _ int) []float64 {
			return addStep(autoregressive(r, n, 0.3, 1), r.IntN(n), 10)
		}, free, free},
		{"1 gauge that steps from 0 to 1 at the cliff", 1, func(r *rand.Rand, n, at int) []float64 {
			return addStep(make([]float64, n), at, 1)
		}, [2]float64{0.98, 1}, free},
		{"1 that steps by 5 deviations at the cliff", 1, func(r *rand.Rand, n, at int) []float64 {
			return addStep(autoregressive(r, n, 0.3, 1), at, 5)
		}, [2]float64{0.85, 1}, free},
		{"1 that begins at the cliff, restless from then on", 1, func(r *rand.Rand, n, at int) []float64 {
			values := make([]float64, n)
			for i, x := range autoregressive(r, n, 0.8, 0.3) {
				if i >= at {
					values[i] = 100 * math.Exp(x)
				}
			}
			return values
		}, [2]float64{0.9, 1}, free},
	} {
		for _, n := range []int{60, 200} {
			b.row(t, []string{"one cliff of 60 %", c.name, fmt.Sprint(n)}, [][2]float64{c.near, c.moving}, func(r *rand.Rand) answer {
				at := n/3 + r.IntN(n/3)
				s := seconds(autoregressive(r, n, 0.6, 0.1), fall(at, 0, 0.4))
				for i := range c.count {
					s.Resources = append(s.Resources, Resource{Name: fmt.Sprint(i), Values: c.make(r, n, at)})
				}
				a := answer{false, false}
				for _, found := range Analyze(s).Coincidences {
					a[0], a[1] = a[0] || found.Event != nil, a[1] || found.Event == nil
				}
				return a
			})
		}
	}
	return b
}

func addStep(values []float64, at int, by float64) []float64 {
	for i := at; i < len(values); i++ {
		values[i] += by
	}
	return values
}

// TestShortBounds draws what shortSlopeMin and shortStepMin are.
func TestShortBounds(t *testing.T) {
	draws := 2000
	if long() {
		draws = 100_000
	}
	r := rand.New(rand.NewPCG(5, 6))
	for n := shortSamplesMin; n <= shortSamplesMax; n++ {
		slopes, steps := 0, 0
		for range draws {
			logs := autoregressive(r, n, 0.6, 0.1)
			if score := kendallScore(logs); score >= shortSlopeMin[n-shortSamplesMin] {
				slopes++
			}
			if _, _, gain := bestStep(logs); gain >= shortStepMin[n-shortSamplesMin] {
				steps++
			}
		}
		for name, count := range map[string]int{"slopes": slopes, "steps": steps} {
			if share, slack := float64(count)/float64(draws), 4*math.Sqrt(0.005/float64(draws)); share > 0.005+slack {
				t.Errorf("%d samples: %.2f %% false %s", n, 100*share, name)
			}
		}
	}
}
