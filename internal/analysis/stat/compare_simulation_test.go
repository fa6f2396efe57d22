package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// comparisonsSimulated says how often comparisons are wrong.
var comparisonsSimulated = simulated{
	"testdata/comparisons.json", "testdata/comparisons-short.json", 2000, []simulation{
		{"compare", simulateCompare, 1},
		{"detectable", simulateDetectable, 1},
		{"unpaired", simulateUnpaired, 1},
		{"looks", simulateLooks, 4},
		{"runs", simulateChanges, 4},
	}}

func TestComparisonErrorRates(t *testing.T) { comparisonsSimulated.run(t, 60) }

func TestErrorRatesPageHasTheRecordedTables(t *testing.T) { comparisonsSimulated.checkDocuments(t) }

// design says how simulated tables come about: every value is its arm's, times its block's, times
// noise.
type design struct {
	name         string
	arms, blocks int
	step         float64                              // every second arm is so many times faster; 0: all are equal
	noise        func(arm int) float64                // standard deviation of the logs
	draw         func(r *rand.Rand) float64           // standard noise; nil: normal
	spoil        func(r *rand.Rand, logs [][]float64) // what else happens
}

func alike(noise float64) func(int) float64 { return func(int) float64 { return noise } }

// noisy arms come first: so many of them have five times the noise of the rest.
func noisy(n int, noise float64) func(int) float64 {
	return func(arm int) float64 {
		if arm < n {
			return 5 * noise
		}
		return noise
	}
}

func of(noises ...float64) func(int) float64 { return func(arm int) float64 { return noises[arm] } }

// doubling is from 2 % to 23 % in eight arms.
func doubling(arm int) float64 { return 0.02 * math.Pow(2, float64(arm)/2) }

func student3(r *rand.Rand) float64 {
	var chi float64
	for range 3 {
		chi += square(r.NormFloat64())
	}
	return r.NormFloat64() / math.Sqrt(chi/3)
}

func (s design) truth(arm int) float64 {
	if s.step > 0 && arm%2 == 1 {
		return math.Log(s.step)
	}
	return 0
}

const simulatedBlocks = 0.10 // standard deviation of the logs of block effects

func (s design) values(r *rand.Rand) [][]float64 {
	draw := s.draw
	if draw == nil {
		draw = func(r *rand.Rand) float64 { return r.NormFloat64() }
	}
	block := make([]float64, s.blocks)
	for b := range block {
		block[b] = simulatedBlocks * r.NormFloat64()
	}
	logs := make([][]float64, s.arms)
	for a := range logs {
		for b := range block {
			logs[a] = append(logs[a], s.truth(a)+block[b]+s.noise(a)*draw(r))
		}
	}
	if s.spoil != nil {
		s.spoil(r, logs)
	}
	for a := range logs {
		for b, v := range logs[a] {
			logs[a][b] = simulatedRate * math.Exp(v)
		}
	}
	return logs
}

// drift slows every trial by 1 % of the one before; arms run in random order within blocks.
func drift(r *rand.Rand, logs [][]float64) {
	for b := range logs[0] {
		for place, a := range r.Perm(len(logs)) {
			logs[a][b] += float64(b*len(logs)+place) * math.Log(0.99)
		}
	}
}

// neighbours disturbs trials that ran one after the other alike.
func neighbours(r *rand.Rand, logs [][]float64) {
	for b := range logs[0] {
		waves := autoregressive(r, len(logs), 0.6, 0.10)
		for place, a := range r.Perm(len(logs)) {
			logs[a][b] += waves[place]
		}
	}
}

func lose(n int) func(r *rand.Rand, logs [][]float64) {
	return func(r *rand.Rand, logs [][]float64) {
		for range n {
			logs[r.IntN(len(logs))][r.IntN(len(logs[0]))] = math.NaN()
		}
	}
}

// slowTrials halves the rate of one trial in twenty.
func slowTrials(r *rand.Rand, logs [][]float64) {
	for a := range logs {
		for b := range logs[a] {
			if r.IntN(20) == 0 {
				logs[a][b] -= math.Ln2
			}
		}
	}
}

// stolen takes up to half of a trial's CPU, in waves: what a hypervisor does whose other guests are
// busy for a minute. A trial loses a tenth in the median, a quarter or more in one of ten.
func stolen(r *rand.Rand, logs [][]float64) {
	waves := autoregressive(r, len(logs)*len(logs[0]), 0.8, 0.15)
	for b := range logs[0] {
		for place, a := range r.Perm(len(logs)) {
			logs[a][b] += math.Log(1 - min(0.5, math.Abs(waves[b*len(logs)+place])))
		}
	}
}

func rising(arm int) float64 { return 0.03 + 0.12*float64(arm)/7 }

// outcome counts what one table got right and wrong.
type outcome struct {
	different, shown, pairs, covered, means, meansCovered float64
	wrong                                                 bool
}

func (s design) outcome(r *rand.Rand, o Options, drift float64) outcome {
	var out outcome
	c := Compare(s.values(r), o)
	for i := range s.arms - len(o.References) {
		if e := c.Arms[i]; e.Interval != nil {
			out.means++
			if e.Interval.Contains(simulatedRate * math.Exp(s.truth(i)+drift)) {
				out.meansCovered++
			}
		}
		for j := i + 1; j < s.arms-len(o.References); j++ {
			ratio, truth := c.Pair(i, j), s.truth(i)-s.truth(j)
			if ratio.Interval != nil {
				out.pairs++
				if ratio.Interval.Contains(math.Exp(truth)) {
					out.covered++
				}
			}
			switch {
			case truth != 0:
				out.different++
				if ratio.Significant && (ratio.Value > 1) == (truth > 0) {
					out.shown++
				}
			case ratio.Significant:
				out.wrong = true
			}
		}
	}
	return out
}

func shareOf(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return percent(a / b)
}

func simulateCompare(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "blocks", "noise", "difference", "different pairs shown",
		"tables with a false difference", "intervals of ratios that cover", "intervals of arms that cover"}}
	type bounded struct {
		design
		shown, wrong, low, high float64 // aims
	}
	// The references of the rows with two arms are a twin and a null driver.
	helped := Options{References: []int{2, 3}}
	exponential := func(r *rand.Rand) float64 { return 1 - r.ExpFloat64() }
	for row, c := range []bounded{
		{design{"10 %", 8, 3, 2, alike(0.10), nil, nil}, 0.95, 0.05, 0.93, 0.97},
		{design{"5 %", 8, 3, 1.3, alike(0.05), nil, nil}, 0.90, 0.05, 0.93, 0.97},
		{design{"10 %", 8, 3, 0, alike(0.10), nil, nil}, 0, 0.05, 0.93, 0.97},
		{design{"10 %, one arm 50 %", 8, 3, 0, noisy(1, 0.10), nil, nil}, 0, 0.07, 0.93, 0.97},
		{design{"10 %, one arm 50 %", 8, 5, 0, noisy(1, 0.10), nil, nil}, 0, 0.07, 0.93, 0.98},
		{design{"3 to 15 %", 8, 3, 2, rising, nil, nil}, 0.95, 0.07, 0.93, 0.97},
		{design{"10 %", 2, 3, 2, alike(0.10), nil, nil}, 0.95, 0.05, 0.93, 0.97},
		{design{"5 %", 2, 3, 1.3, alike(0.05), nil, nil}, 0.85, 0.05, 0.93, 0.97},
		{design{"10 %", 2, 3, 0, alike(0.10), nil, nil}, 0, 0.05, 0.93, 0.97},
		{design{"10 %, one arm 50 %", 2, 3, 0, noisy(1, 0.10), nil, nil}, 0, 0.07, 0.93, 0.97},
		{design{"5 %, twin, null driver", 4, 3, 1.3, alike(0.05), nil, nil}, 0.90, 0.05, 0.93, 0.97},
		{design{"10 %, twin, null driver", 4, 3, 0, alike(0.10), nil, nil}, 0, 0.05, 0.93, 0.97},
		{design{"10 %, twin, noisy null driver (50 %)", 4, 3, 0, of(0.10, 0.10, 0.10, 0.50), nil, nil}, 0, 0.05, 0.93, 1},
		{design{"5 %, twin, noisy null driver (25 %)", 4, 3, 1.3, of(0.05, 0.05, 0.05, 0.25), nil, nil}, 0.60, 0.05, 0.93, 1},
		{design{"10 %, twin, quiet null driver (1 %)", 4, 3, 0, of(0.10, 0.10, 0.10, 0.01), nil, nil}, 0, 0.07, 0.92, 0.98},
		{design{"10 %, one arm 50 %, twin, null driver", 4, 3, 0, of(0.10, 0.50, 0.10, 0.10), nil, nil}, 0, 0.07, 0.92, 0.98},
		{design{"10 %, baseline and its twin 50 %, null driver", 4, 3, 0, of(0.50, 0.10, 0.50, 0.10), nil, nil}, 0, 0.07, 0.92, 0.98},
		{design{"2 to 23 %", 8, 3, 0, doubling, nil, nil}, 0, 0.07, 0.92, 0.98},
		{design{"5 %", 3, 3, 1.3, alike(0.05), nil, nil}, 0.90, 0.06, 0.93, 0.98},
		{design{"10 %, one arm 50 %", 3, 3, 0, noisy(1, 0.10), nil, nil}, 0, 0.07, 0.91, 0.97},
		{design{"5 %", 4, 3, 1.3, alike(0.05), nil, nil}, 0.90, 0.06, 0.93, 0.97},
		{design{"10 %, one arm 50 %", 4, 3, 0, noisy(1, 0.10), nil, nil}, 0, 0.07, 0.91, 0.97},
		{design{"10 %, two arms 50 %", 8, 3, 0, noisy(2, 0.10), nil, nil}, 0, 0.07, 0.92, 0.97},
		{design{"10 %, 1 % drift a trial", 8, 3, 2, alike(0.10), nil, drift}, 0.95, 0.05, 0.93, 0.97},
		{design{"10 %, 1 % drift a trial", 2, 3, 0, alike(0.10), nil, drift}, 0, 0.05, 0.93, 0.97},
		{design{"10 %, a lost trial", 8, 3, 2, alike(0.10), nil, lose(1)}, 0.93, 0.05, 0.93, 0.97},
		{design{"10 %, six lost trials", 8, 5, 2, alike(0.10), nil, lose(6)}, 0.93, 0.05, 0.93, 0.97},
		{design{"10 %, t with 3 degrees", 8, 3, 2, alike(0.10), student3, nil}, 0.70, 0.05, 0.93, 0.99},
		{design{"10 %, skewed (exponential)", 8, 3, 2, alike(0.10), exponential, nil}, 0.90, 0.05, 0.93, 0.99},
		{design{"5 %, one trial in 20 halved", 8, 3, 2, alike(0.05), nil, slowTrials}, 0.5, 0.07, 0.90, 0.99},
		{design{"5 %, neighbours alike (ρ = 0.6)", 8, 3, 2, alike(0.05), nil, neighbours}, 0.90, 0.05, 0.93, 0.97},
		{design{"5 %, hypervisor takes 0 to 50 %", 8, 3, 2, alike(0.05), nil, stolen}, 0.90, 0.05, 0.93, 0.98},
		{design{"5 %, hypervisor takes 0 to 50 %", 8, 3, 0, alike(0.05), nil, stolen}, 0, 0.05, 0.93, 0.98},
		{design{"5 %, hypervisor takes 0 to 50 %", 2, 3, 0, alike(0.05), nil, stolen}, 0, 0.05, 0.93, 0.98},
		{design{"10 %, t with 3 degrees", 8, 4, 2, alike(0.10), student3, nil}, 0.85, 0.05, 0.93, 0.99},
		{design{"10 %, t with 3 degrees", 8, 5, 2, alike(0.10), student3, nil}, 0.90, 0.05, 0.93, 0.99},
	} {
		var sum outcome
		var wrong float64
		var options Options
		var slowed float64 // what the drift takes from the mean of the logs
		arms := c.arms
		if strings.Contains(c.name, "twin") {
			options, arms = helped, 2
		}
		if strings.Contains(c.name, "drift") {
			slowed = float64(c.arms*c.blocks-1) / 2 * math.Log(0.99)
		}
		draw := func(r *rand.Rand) outcome { return c.outcome(r, options, slowed) }
		for _, o := range each("compare", row, series, draw) {
			sum.different, sum.shown = sum.different+o.different, sum.shown+o.shown
			sum.pairs, sum.covered = sum.pairs+o.pairs, sum.covered+o.covered
			sum.means, sum.meansCovered = sum.means+o.means, sum.meansCovered+o.meansCovered
			if o.wrong {
				wrong++
			}
		}
		what := fmt.Sprintf("%d arms, %d blocks, noise %s, difference %g", c.arms, c.blocks, c.name, c.step)
		if c.step > 0 {
			within(t, what+": shown", sum.shown/sum.different, c.shown, 1, series)
		}
		within(t, what+": tables with a false difference", wrong/float64(series), 0, c.wrong, series)
		within(t, what+": ratios covered", sum.covered/sum.pairs, c.low, c.high, series)
		difference := "none"
		if c.step > 0 {
			difference = fmt.Sprintf("%g times", c.step)
		}
		wrongShare := percent(wrong / float64(series))
		if arms == 2 && c.step > 0 {
			wrongShare = "–"
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(arms), fmt.Sprint(c.blocks), c.name, difference,
			shareOf(sum.shown, sum.different),
			wrongShare, shareOf(sum.covered, sum.pairs), shareOf(sum.meansCovered, sum.means)})
	}
	return out
}

// simulateDetectable makes differences of the size that is called detectable where there are none.
func simulateDetectable(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "blocks", "noise", "detectable (median)", "shown at that difference"}}
	for row, c := range []design{
		{"5 %", 2, 3, 0, alike(0.05), nil, nil},
		{"5 %", 2, 5, 0, alike(0.05), nil, nil},
		{"5 %", 4, 3, 0, alike(0.05), nil, nil},
		{"5 %", 8, 3, 0, alike(0.05), nil, nil},
		{"10 %", 8, 3, 0, alike(0.10), nil, nil},
		{"5 %", 8, 5, 0, alike(0.05), nil, nil},
		{"5 %", 8, 10, 0, alike(0.05), nil, nil},
	} {
		detectable := Median(each("detectable", row, series, func(r *rand.Rand) float64 {
			return *Compare(c.values(r), Options{}).Pair(0, 1).Detectable
		}))
		c.step = 1 + detectable
		shown := share("detectable shown", row, series, func(r *rand.Rand) bool {
			return Compare(c.values(r), Options{}).Pair(1, 0).Significant
		})
		within(t, fmt.Sprintf("detectable, %d arms, %d blocks", c.arms, c.blocks), shown, 0.65, 0.92, series)
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.arms), fmt.Sprint(c.blocks), c.name,
			fmt.Sprintf("%.0f %%", 100*detectable), percent(shown)})
	}
	return out
}

func simulateUnpaired(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "blocks a run", "noise", "change", "changed arms shown",
		"comparisons with a false change", "intervals that cover"}}
	for row, c := range []struct {
		design
		change float64
	}{
		{design{"5 %", 2, 3, 1.3, alike(0.05), nil, nil}, 0.5},
		{design{"5 %", 8, 3, 1.3, alike(0.05), nil, nil}, 0.5},
		{design{"5 %", 8, 5, 1.3, alike(0.05), nil, nil}, 0.5},
		{design{"5 %", 8, 10, 1.3, alike(0.05), nil, nil}, 0.8},
		{design{"5 %, one arm 25 %", 8, 3, 1.3, noisy(1, 0.05), nil, nil}, 0.5},
	} {
		type result struct {
			shown, covered float64
			wrong          bool
		}
		var shown, covered, wrong float64
		for _, o := range each("unpaired", row, series, func(r *rand.Rand) (o result) {
			old, new := c.values(r), c.values(r)
			last := c.arms - 1
			for b := range new[last] {
				new[last][b] *= c.change
			}
			for a, ratio := range CompareUnpaired(old, new, Options{}) {
				truth := 1.0
				if a == last {
					truth = c.change
					if ratio.Significant && ratio.Value < 1 {
						o.shown++
					}
				} else if ratio.Significant {
					o.wrong = true
				}
				if ratio.Interval.Contains(truth) {
					o.covered += 1 / float64(c.arms)
				}
			}
			return o
		}) {
			shown, covered = shown+o.shown, covered+o.covered
			if o.wrong {
				wrong++
			}
		}
		n := float64(series)
		what := fmt.Sprintf("unpaired, %d arms, %d blocks, %s", c.arms, c.blocks, c.name)
		within(t, what+": false", wrong/n, 0, 0.07, series)
		within(t, what+": covered", covered/n, 0.92, 0.98, series)
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.arms), fmt.Sprint(c.blocks), c.name,
			fmt.Sprintf("%g times", c.change), percent(shown / n), percent(wrong / n), percent(covered / n)})
	}
	return out
}

// simulateLooks adds blocks until all is decided.
func simulateLooks(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "noise", "difference", "at most", "a false difference at some look",
		"a false tie at some look", "all pairs decided", "blocks (mean)"}}
	for row, c := range []design{
		{"5 %", 2, 10, 0, alike(0.05), nil, nil},
		{"5 %", 2, 10, 1.3, alike(0.05), nil, nil},
		{"5 %", 2, 10, 1 + TieMargin, alike(0.05), nil, nil},
		{"5 %", 4, 10, 0, alike(0.05), nil, nil},
		{"5 %", 8, 10, 0, alike(0.05), nil, nil},
		{"3 %", 8, 10, 0, alike(0.03), nil, nil},
		{"5 %", 8, 10, 1.3, alike(0.05), nil, nil},
		{"5 %, one arm 25 %", 8, 10, 0, noisy(1, 0.05), nil, nil},
		{"5 %", 8, 20, 1 + TieMargin, alike(0.05), nil, nil},
	} {
		level := LookLevel(3, c.blocks)
		type result struct {
			wrong, tied, decided bool
			blocks               float64
		}
		var wrong, tied, decided, blocks float64
		for _, o := range each("looks", row, series, func(r *rand.Rand) (o result) {
			values := c.values(r)
			for n := 3; n <= c.blocks && !o.decided; n++ {
				seen := make([][]float64, c.arms)
				for a := range seen {
					seen[a] = values[a][:n]
				}
				table := Compare(seen, Options{Level: level})
				for i := range c.arms {
					for j := range i {
						ratio := table.Pair(i, j)
						o.wrong = o.wrong || c.truth(i) == c.truth(j) && ratio.Significant
						o.tied = o.tied || c.truth(i) != c.truth(j) && ratio.Equal
					}
				}
				o.decided, o.blocks = len(table.Undecided()) == 0, float64(n)
			}
			return o
		}) {
			for sum, is := range map[*float64]bool{&wrong: o.wrong, &tied: o.tied, &decided: o.decided} {
				if is {
					*sum++
				}
			}
			blocks += o.blocks
		}
		n := float64(series)
		what := fmt.Sprintf("looks, %d arms, %s, difference %g", c.arms, c.name, c.step)
		within(t, what+": false difference", wrong/n, 0, 0.05, series)
		within(t, what+": false tie", tied/n, 0, 0.05, series)
		difference := "none"
		if c.step > 0 {
			difference = fmt.Sprintf("%g times", c.step)
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.arms), c.name, difference, fmt.Sprint(c.blocks),
			percent(wrong / n), percent(tied / n), percent(decided / n), fmt.Sprintf("%.1f", blocks/n)})
	}
	return out
}

func simulateChanges(t *testing.T, series int) table {
	out := table{Columns: []string{"runs", "noise from run to run", "some change found where there is none",
		"a fall of 10 % found within one run"}}
	for row, runs := range []int{8, 12, 20, 40} {
		values := func(r *rand.Rand, at int) []float64 {
			v := make([]float64, runs)
			for i := range v {
				v[i] = math.Exp(0.03 * r.NormFloat64())
				if i >= at {
					v[i] *= 0.9
				}
			}
			return v
		}
		wrong := share("runs", row, series, func(r *rand.Rand) bool { return len(Changes(values(r, runs), 0)) > 0 })
		found := share("runs fall", row, series, func(r *rand.Rand) bool {
			at := runs/3 + r.IntN(runs/3)
			for _, c := range Changes(values(r, at), DifferenceMin) {
				if c.At >= at-1 && c.At <= at+1 && c.Ratio < 1 {
					return true
				}
			}
			return false
		})
		within(t, fmt.Sprintf("changes in %d runs", runs), wrong, 0, 0.06, series)
		out.Rows = append(out.Rows, []string{fmt.Sprint(runs), "3 %", percent(wrong), percent(found)})
	}
	return out
}
