package stat

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The simulations say how often each method is wrong where the truth is known. By default a few dozen or hundred series
// check generous bounds, and that the same is said of each series as when testdata/simulation-short.json was written: a method that was changed
// shows. ASSAY_LONG=1 runs thousands and compares them with testdata/simulation.json, which docs/statistics.md prints.
var update = flag.Bool("update", false, "write testdata/simulation-short.json; with ASSAY_LONG=1, testdata/simulation.json and the tables in docs/statistics.md")

const (
	recordedTables = "testdata/simulation.json"
	recordedShort  = "testdata/simulation-short.json"
	document       = "../../docs/statistics.md"
)

// table is one simulated table, as docs/statistics.md prints it.
type table struct {
	Name    string     `json:"name"`
	Series  int        `json:"series"` // simulated for each row
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// simulation makes one table from so many series a row, and complains where a bound is broken.
type simulation struct {
	name string
	make func(t *testing.T, series int) table
	// costly ones draw an eighth of the series: they go through all that is said of a rate.
	costly bool
}

var simulations = []simulation{
	{"order", simulateOrder, false},
	{"coverage", simulateCoverage, false},
	{"power", simulatePower, false},
	{"holm", simulateHolm, false},
	{"false-changes", simulateFalseChanges, false},
	{"steps", simulateSteps, false},
	{"warm-up", simulateWarmup, false},
	{"steady", simulateSteady, false},
	{"shapes", simulateShapes, true},
	{"cliffs", simulateCliffs, true},
	{"declines", simulateDeclines, true},
	{"oscillations", simulateAlternations, true},
	{"coincidences", simulateCoincidences, true},
	{"pairs", simulatePairs, false},
}

func TestSimulations(t *testing.T) {
	long := os.Getenv("ASSAY_LONG") == "1"
	series := 200
	if long {
		series = 4000
	}
	tables := make([]table, len(simulations))
	t.Run("tables", func(t *testing.T) {
		for i, s := range simulations {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				drawn := series
				if s.costly {
					drawn /= 8
				}
				tables[i] = s.make(t, drawn)
				tables[i].Name, tables[i].Series = s.name, drawn
			})
		}
	})
	if t.Failed() {
		return
	}
	text, err := json.MarshalIndent(tables, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	path := recordedShort
	if long {
		path = recordedTables
	}
	switch {
	case *update && long:
		writeTables(t, text, tables)
	case *update:
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	case !long && runtime.GOARCH != "amd64":
		t.Skipf("%s was written where multiplications and additions are rounded apart", path)
	}
	if recorded, err := os.ReadFile(path); err != nil || !bytes.Equal(recorded, text) {
		t.Errorf("%s does not hold what was simulated (%v): a method was changed. Run both ways with -update, and read what changed in docs/statistics.md", path, err)
	}
}

// TestDocumentPrintsTheRecordedTables holds docs/statistics.md to what was simulated.
func TestDocumentPrintsTheRecordedTables(t *testing.T) {
	text, err := os.ReadFile(recordedTables)
	if err != nil {
		t.Fatal(err)
	}
	var tables []table
	if err := json.Unmarshal(text, &tables); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) != len(simulations) {
		t.Errorf("%d tables are recorded, %d are simulated", len(tables), len(simulations))
	}
	for _, recorded := range tables {
		begin, end, err := markers(string(page), recorded.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := string(page)[begin:end]; got != recorded.markdown() {
			t.Errorf("table %s in %s is not the recorded one:\n%s\nrecorded:\n%s", recorded.Name, document, got, recorded.markdown())
		}
	}
}

func writeTables(t *testing.T, text []byte, tables []table) {
	t.Helper()
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		begin, end, err := markers(string(page), table.Name)
		if err != nil {
			t.Fatal(err)
		}
		page = []byte(string(page)[:begin] + table.markdown() + string(page)[end:])
	}
	for path, content := range map[string][]byte{recordedTables: text, document: page} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// markers finds the text between <!-- table: name --> and <!-- end -->.
func markers(page, name string) (begin, end int, err error) {
	open := "<!-- table: " + name + " -->\n"
	at := strings.Index(page, open)
	if at < 0 {
		return 0, 0, fmt.Errorf("%s has no %q", document, strings.TrimSpace(open))
	}
	begin = at + len(open)
	length := strings.Index(page[begin:], "<!-- end -->")
	if length < 0 {
		return 0, 0, fmt.Errorf("%s: table %s has no end", document, name)
	}
	return begin, begin + length, nil
}

func (s table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(s.Columns)
	line(strings.Split(strings.Repeat("---,", len(s.Columns)-1)+"---", ","))
	for _, row := range s.Rows {
		line(row)
	}
	fmt.Fprintf(&b, "\n%d series a row.\n", s.Series)
	return b.String()
}

// source is a random source of its own for each table row and series, so that results do not depend on their order.
func source(name string, row, series int) *rand.Rand {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed^uint64(row)<<32, uint64(series)))
}

// share runs try for each series, on all CPUs, and returns in which share of them it was true.
func share(name string, row, series int, try func(r *rand.Rand) bool) float64 {
	return means(name, row, series, func(r *rand.Rand) float64 {
		if try(r) {
			return 1
		}
		return 0
	})
}

// means returns the mean of what try returns over all series.
func means(name string, row, series int, try func(r *rand.Rand) float64) float64 {
	return Mean(each(name, row, series, try))
}

// each returns what try returns for each series.
func each[T any](name string, row, series int, try func(r *rand.Rand) T) []T {
	results := make([]T, series)
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < series; i += workers {
				results[i] = try(source(name, row, i))
			}
		})
	}
	group.Wait()
	return results
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// within fails the test if a share lies outside its bounds, widened by three standard errors of the simulation itself.
func within(t *testing.T, what string, got, low, high float64, series int) {
	t.Helper()
	slack := func(p float64) float64 { return 3 * math.Sqrt(max(p*(1-p), 0.001)/float64(series)) }
	if got < low-slack(low) || got > high+slack(high) {
		t.Errorf("%s: %.3f, expected %.3f to %.3f", what, got, low, high)
	}
}

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

func simulateOrder(t *testing.T, series int) table {
	out := table{Columns: []string{"blocks", "order", "no drift", "1 % a run", "1 % a run, ρ = 0.6 from run to run"}}
	for row, blocks := range []int{3, 5, 10, 20} {
		var paired, apart [3]float64
		for c, shape := range []struct{ drift, rho float64 }{{0, 0}, {0.01, 0}, {0.01, 0.6}} {
			runs := func(r *rand.Rand) []float64 {
				return ratesOf(autoregressive(r, 2*blocks, shape.rho, 0.03), func(i int) float64 { return math.Pow(1-shape.drift, float64(i)) })
			}
			paired[c] = share("order paired", row*3+c, series, func(r *rand.Rand) bool {
				rates := runs(r)
				var a, b []float64
				for i := 0; i < len(rates); i += 2 {
					first := r.IntN(2)
					a, b = append(a, rates[i+first]), append(b, rates[i+1-first])
				}
				return *PairedRatio(a, b).P < Significance
			})
			apart[c] = share("order apart", row*3+c, series, func(r *rand.Rand) bool {
				rates := runs(r)
				return *UnpairedRatio(rates[:blocks], rates[blocks:]).P < Significance
			})
			within(t, fmt.Sprintf("false differences of %d interleaved blocks, case %d", blocks, c), paired[c], 0.02, 0.07, series)
		}
		within(t, fmt.Sprintf("false differences of %d blocks in the order A…A B…B under drift", blocks), apart[1], 0.10, 1, series)
		out.Rows = append(out.Rows,
			[]string{fmt.Sprint(blocks), "shuffled blocks, paired log-ratio", percent(paired[0]), percent(paired[1]), percent(paired[2])},
			[]string{fmt.Sprint(blocks), "A…A B…B, Welch", percent(apart[0]), percent(apart[1]), percent(apart[2])})
	}
	return out
}

func simulateCoverage(t *testing.T, series int) table {
	out := table{Columns: []string{"blocks", "normal noise of log rates", "skewed noise (exponential, slow runs)", "normal, half width in standard deviations (mean)"}}
	for row, blocks := range []int{2, 3, 4, 5, 6, 8, 10} {
		covers := func(name string, noise func(r *rand.Rand) float64, truth float64) float64 {
			return share(name, row, series, func(r *rand.Rand) bool {
				rates := make([]float64, blocks)
				for i := range rates {
					rates[i] = simulatedRate * math.Exp(0.05*noise(r))
				}
				return MeanRate(rates).Interval.Contains(simulatedRate * math.Exp(0.05*truth))
			})
		}
		normal := covers("coverage normal", func(r *rand.Rand) float64 { return r.NormFloat64() }, 0)
		skewed := covers("coverage skewed", func(r *rand.Rand) float64 { return -r.ExpFloat64() }, -1)
		width := means("coverage width", row, series, func(r *rand.Rand) float64 {
			return meanOf(autoregressive(r, blocks, 0, 1)).half
		})
		within(t, fmt.Sprintf("coverage of %d blocks", blocks), normal, 0.935, 0.965, series)
		within(t, fmt.Sprintf("coverage of %d skewed blocks", blocks), skewed, 0.84, 0.97, series)
		out.Rows = append(out.Rows, []string{fmt.Sprint(blocks), percent(normal), percent(skewed), fmt.Sprintf("%.2f", width)})
	}
	return out
}

func simulatePower(t *testing.T, series int) table {
	out := table{Columns: []string{"blocks", "smallest detectable difference, in standard deviations of a block's log ratio", "found at that difference"}}
	for row, blocks := range []int{2, 3, 5, 10, 20} {
		known := mean{standardError: 1 / math.Sqrt(float64(blocks)), freedom: float64(blocks - 1)}
		shift := math.Log1p(*known.ratio(blocks, 1, nil).Detectable)
		found := share("power", row, series, func(r *rand.Rand) bool {
			a, b := make([]float64, blocks), make([]float64, blocks)
			for i := range a {
				a[i], b[i] = math.Exp(shift+r.NormFloat64()), 1
			}
			return *PairedRatio(a, b).P < Significance
		})
		within(t, fmt.Sprintf("power of %d blocks", blocks), found, 0.70, 0.85, series)
		out.Rows = append(out.Rows, []string{fmt.Sprint(blocks), fmt.Sprintf("%.2f", shift), percent(found)})
	}
	return out
}

func simulateHolm(t *testing.T, series int) table {
	out := table{Columns: []string{"stores against the baseline", "at least one false difference, uncorrected", "with Holm"}}
	for row, stores := range []int{2, 5, 10} {
		familyWise := func(name string, adjust func([]float64) []float64) float64 {
			return share(name, row, series, func(r *rand.Rand) bool {
				baseline := ratesOf(autoregressive(r, 6, 0, 0.03), constant)
				var p []float64
				for range stores {
					p = append(p, *PairedRatio(ratesOf(autoregressive(r, 6, 0, 0.03), constant), baseline).P)
				}
				for _, v := range adjust(p) {
					if v < Significance {
						return true
					}
				}
				return false
			})
		}
		plain := familyWise("holm", func(p []float64) []float64 { return p })
		holm := familyWise("holm", Holm)
		within(t, fmt.Sprintf("family-wise error of %d stores", stores), holm, 0, 0.055, series)
		if stores > 2 {
			within(t, fmt.Sprintf("uncorrected error of %d stores", stores), plain, 0.10, 0.5, series)
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(stores), percent(plain), percent(holm)})
	}
	return out
}

// simulatePairs ranks arms by comparing each with each, on blocks that share a drift. The best is picked by the same figures.
func simulatePairs(t *testing.T, series int) table {
	const noise = 0.05
	out := table{Columns: []string{"arms", "blocks", "all equal: some pair told apart, uncorrected", "as it is done", "each 10 % slower than the one before: the fastest told from all others",
		"one 10 % slower than the rest: told from one at least", "a difference of the size that \"would probably have been shown\": shown"}}
	for row, c := range []struct{ arms, blocks int }{{2, 5}, {3, 5}, {5, 5}, {7, 3}, {7, 5}, {7, 10}} {
		ratiosOf := func(r *rand.Rand, slower func(arm int) float64) (ratios []Ratio, p []float64) {
			rates := make([][]float64, c.arms)
			drift := autoregressive(r, c.blocks, 0.6, 0.15)
			for arm := range rates {
				for block := range c.blocks {
					rates[arm] = append(rates[arm], 1e5*math.Exp(drift[block]+noise*r.NormFloat64())*slower(arm))
				}
			}
			for i := range rates {
				for k := i + 1; k < c.arms; k++ {
					ratio := PairedRatio(rates[k], rates[i])
					ratios, p = append(ratios, ratio), append(p, *ratio.P)
				}
			}
			return ratios, p
		}
		asked := func(name string, slower func(arm int) float64, question func(p []float64, ratios []Ratio) bool) float64 {
			return share(name, row, series, func(r *rand.Rand) bool {
				ratios, p := ratiosOf(r, slower)
				return question(p, ratios)
			})
		}
		some := func(p []float64) bool { return slices.Min(p) < Significance }
		equal := func(int) float64 { return 1 }
		plain := asked("pairs", equal, func(p []float64, _ []Ratio) bool { return some(p) })
		adjusted := asked("pairs", equal, func(p []float64, _ []Ratio) bool { return some(HolmPairs(p, c.arms)) })
		within(t, fmt.Sprintf("%d arms in %d blocks: false differences", c.arms, c.blocks), adjusted, 0, 0.055, series)
		ladder := asked("pairs ladder", func(arm int) float64 { return math.Pow(1.1, -float64(arm)) }, func(p []float64, _ []Ratio) bool {
			return slices.Max(HolmPairs(p, c.arms)[:c.arms-1]) < Significance
		})
		last := func(by float64) func(arm int) float64 {
			return func(arm int) float64 {
				if arm == c.arms-1 {
					return 1 / (1 + by)
				}
				return 1
			}
		}
		one := asked("pairs one", last(0.1), func(p []float64, _ []Ratio) bool { return some(HolmPairs(p, c.arms)) })
		// The spread is the true one here, as the definition has it.
		known := Ratio{N: c.blocks, Spread: noise * math.Sqrt2}
		could := CouldHaveShown(known, DifferenceMin, c.arms*(c.arms-1)/2)
		shown := asked("pairs could", last(could), func(p []float64, ratios []Ratio) bool {
			return Shown(ratios[c.arms-2], HolmPairs(p, c.arms)[c.arms-2], DifferenceMin)
		})
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.arms), fmt.Sprint(c.blocks), percent(plain), percent(adjusted), percent(ladder), percent(one), percent(shown)})
	}
	return out
}

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
