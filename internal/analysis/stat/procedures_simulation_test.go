package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// proceduresSimulated says how often the procedures around a comparison are wrong: choosing the
// number of blocks by the noise, judging the rate before other metrics, testing all twins together.
var proceduresSimulated = simulated{
	"testdata/procedures.json", "testdata/procedures-short.json", 1000, []simulation{
		{"detect", simulateDetect, 2},
		{"families", simulateFamilies, 1},
		{"between", simulateBetween, 1},
		{"twins", simulateTwins, 4},
		{"trials", simulateTrials, 4},
		{"odd-trials", simulateOddTrials, 1},
	}}

func TestProcedureErrorRates(t *testing.T) { proceduresSimulated.run(t, 12) }

func TestErrorRatesPageHasTheRecordedProcedures(t *testing.T) { proceduresSimulated.checkDocuments(t) }

// simulateDetect adds blocks until their noise would show a difference.
func simulateDetect(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "noise", "difference", "blocks (mean)", "most reached", "shown at that difference",
		"tables with a false difference"}}
	const most = 40
	for row, c := range []struct {
		design
		difference, wrong float64
	}{
		{design{"3 %", 2, 0, 0, alike(0.03), nil, nil}, 0.05, 0.06},
		{design{"1.5 %", 2, 0, 0, alike(0.015), nil, nil}, 0.05, 0.06},
		{design{"5 %", 2, 0, 0, alike(0.05), nil, nil}, 0.10, 0.06},
		{design{"3 %", 4, 0, 0, alike(0.03), nil, nil}, 0.05, 0.05},
		{design{"3 %", 8, 0, 0, alike(0.03), nil, nil}, 0.05, 0.05},
		{design{"2 %, one arm 10 %", 4, 0, 0, noisy(1, 0.02), nil, nil}, 0.10, 0.06},
		{design{"3 %, t with 3 degrees", 4, 0, 0, alike(0.03), student3, nil}, 0.10, 0.05},
	} {
		c.blocks = most
		type result struct {
			blocks, shown      float64
			wrong, mostReached bool
		}
		var blocks, shown, wrong, reached float64
		for _, o := range each("detect", row, series, func(r *rand.Rand) (o result) {
			values := c.values(r)
			ran := 5
			for ; ran < most; ran++ {
				if blocksFor(Compare(first(values, ran), Options{Level: DetectLevel}), c.difference) <= ran {
					break
				}
			}
			seen := first(values, ran)
			o.blocks, o.mostReached = float64(ran), ran == most
			for i, pairs := range Compare(seen, Options{Level: DetectLevel}).pairs {
				for j := range i {
					o.wrong = o.wrong || pairs[j].Significant
				}
			}
			changed := first(values, ran)
			last := c.arms - 1
			for b := range changed[last] {
				changed[last][b] *= 1 + c.difference
			}
			if Compare(changed, Options{Level: DetectLevel}).Pair(last, last-1).Significant {
				o.shown = 1
			}
			return o
		}) {
			blocks, shown = blocks+o.blocks, shown+o.shown
			wrong, reached = wrong+float64(btoi(o.wrong)), reached+float64(btoi(o.mostReached))
		}
		n := float64(series)
		what := fmt.Sprintf("detect %g, %d arms, %s", c.difference, c.arms, c.name)
		within(t, what+": false", wrong/n, 0, c.wrong, series)
		if reached == 0 {
			within(t, what+": shown", shown/n, 0.78, 1, series)
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.arms), c.name, percent(c.difference), fmt.Sprintf("%.1f", blocks/n),
			percent(reached / n), percent(shown / n), percent(wrong / n)})
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// first is a copy of the first blocks of a table.
func first(values [][]float64, blocks int) [][]float64 {
	seen := make([][]float64, len(values))
	for a := range seen {
		seen[a] = append(seen[a], values[a][:blocks]...)
	}
	return seen
}

// blocksFor is how many blocks every pair needs for a difference to be shown.
func blocksFor(c *Comparison, difference float64) (blocks int) {
	for i := range c.pairs {
		for j := range i {
			blocks = max(blocks, c.Pair(i, j).Blocks(difference, 100))
		}
	}
	return blocks
}

// simulateFamilies compares two runs by a rate and five metrics that follow it or not, as compare
// does.
func simulateFamilies(t *testing.T, series int) table {
	out := table{Columns: []string{"arms", "blocks a run", "noise", "rate of one arm", "shown by its rate",
		"shown if all metrics were one family", "some rate falsely changed", "some other metric falsely changed"}}
	const others = 5 // latencies, memory, disk
	for row, c := range []struct {
		arms, blocks  int
		noise, change float64
	}{
		{1, 3, 0.03, 0.9}, {1, 5, 0.03, 0.9}, {2, 5, 0.03, 0.9}, {2, 10, 0.03, 0.9}, {2, 5, 0.05, 0.9},
		{2, 10, 0.05, 0.9}, {8, 5, 0.03, 0.9},
		{1, 5, 0.03, 1}, {2, 5, 0.03, 1}, {8, 5, 0.03, 1},
	} {
		d := design{"", c.arms, c.blocks, 0, alike(c.noise), nil, nil}
		type result struct{ shown, shownInOne, wrong, wrongOther bool }
		var shown, inOne, wrong, wrongOther float64
		quiet := simulatedRunBlocks
		for _, o := range each("families", row, series, func(r *rand.Rand) (o result) {
			var rates, rest, all []*Ratio
			for metric := range 1 + others {
				old, new := d.valuesWith(r, quiet), d.valuesWith(r, quiet)
				if metric == 0 {
					for b := range new[0] {
						new[0][b] *= c.change
					}
				}
				ratios := CompareUnpaired(old, new, Options{})
				for a := range ratios {
					one := ratios[a]
					all = append(all, &one)
					if metric == 0 {
						rates = append(rates, &ratios[a])
					} else {
						rest = append(rest, &ratios[a])
					}
				}
			}
			Correct(all, DifferenceMin, Options{})
			CorrectFirst(rates, rest, DifferenceMin, Options{})
			o.shown, o.shownInOne = rates[0].Significant && rates[0].Value < 1, all[0].Significant && all[0].Value < 1
			for a, ratio := range rates {
				o.wrong = o.wrong || ratio.Significant && (a > 0 || c.change == 1)
			}
			for _, ratio := range rest {
				o.wrongOther = o.wrongOther || ratio.Significant
			}
			return o
		}) {
			shown, inOne = shown+float64(btoi(o.shown)), inOne+float64(btoi(o.shownInOne))
			wrong, wrongOther = wrong+float64(btoi(o.wrong)), wrongOther+float64(btoi(o.wrongOther))
		}
		n := float64(series)
		what := fmt.Sprintf("families, %d arms, %d blocks, noise %g, change %g", c.arms, c.blocks, c.noise, c.change)
		within(t, what+": false rate", wrong/n, 0, 0.05, series)
		within(t, what+": false other metric", wrongOther/n, 0, 0.05, series)
		shownText, inOneText, change := percent(shown/n), percent(inOne/n), "−10 %"
		if c.change == 1 {
			shownText, inOneText, change = "–", "–", "unchanged"
		}
		wrongText := percent(wrong / n)
		if c.arms == 1 && c.change != 1 {
			wrongText = "–"
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.arms), fmt.Sprint(c.blocks), percent(c.noise), change,
			shownText, inOneText,
			wrongText, percent(wrongOther / n)})
	}
	return out
}

// simulateBetween compares two runs of stores that did not change, or of which one is 10 % slower, where
// all arms of a run share a luck of their own, and drift from trial to trial, also through both runs.
func simulateBetween(t *testing.T, series int) table {
	out := table{Columns: []string{"what differs between the runs", "the null driver shares it", "noise", "blocks a run", "falsely changed",
		"the same by the blocks alone", "−10 % shown", "the same by the blocks alone"}}
	const stores = 2 // the null driver and the A/A arm beside them
	for row, c := range []struct {
		what          string
		offset, drift float64 // of a run: the ratio's standard deviation; of a trial
		fixed         float64 // by which the second run is slower
		shared        bool
		noise         float64
		blocks        int
		most, least   float64
		earlier       int // pairs of earlier runs that a history has
	}{
		{"nothing", 0, 0, 0, true, 0.03, 5, 0.05, 0.8, 0},
		{"a drift of 0.1 % a trial", 0, 0.001, 0, true, 0.03, 5, 0.05, 0.8, 0},
		{"3 % slower", 0, 0, 0.03, true, 0.03, 5, 0.05, 0.8, 0},
		{"3 % slower", 0, 0, 0.03, false, 0.03, 5, 0.05, 0.8, 0},
		{"3 % (standard deviation)", 0.03, 0, 0, true, 0.03, 5, 0.05, 0.7, 0},
		{"3 % (standard deviation)", 0.03, 0, 0, false, 0.03, 5, 0.08, 0.7, 0},
		{"8 % slower", 0, 0, 0.08, true, 0.03, 5, 0.3, 0, 0},
		{"3 % slower, and a drift of 0.1 % a trial", 0, 0.001, 0.03, true, 0.03, 5, 0.1, 0.8, 0},
		{"3 % slower", 0, 0, 0.03, true, 0.03, 10, 0.05, 0.8, 0},
		{"3 % (standard deviation), 10 earlier pairs", 0.03, 0, 0, false, 0.03, 5, 0.055, 0.6, 10},
		{"nothing, 10 earlier pairs", 0, 0, 0, true, 0.03, 5, 0.05, 0.9, 10},
	} {
		arms := stores + 2
		run := func(r *rand.Rand, offset float64, first int) [][]float64 {
			values := make([][]float64, arms)
			for block := range c.blocks {
				luck := simulatedRunBlocks * r.NormFloat64()
				for place, arm := range r.Perm(arms) {
					log := luck - c.drift*float64(first+block*arms+place) + c.noise*r.NormFloat64()
					if arm < stores+1 || c.shared {
						log += offset
					}
					values[arm] = append(values[arm], math.Exp(log))
				}
			}
			return values
		}
		twin := func(values [][]float64) (ratios []float64) {
			for b := range values[0] {
				ratios = append(ratios, values[stores][b]/values[0][b])
			}
			return ratios
		}
		type result struct{ wrong, wrongAlone, shown, shownAlone bool }
		var sum [4]float64
		for _, o := range each("between", row, series, func(r *rand.Rand) (o result) {
			offset := c.offset*r.NormFloat64() + math.Log(1-c.fixed)
			old, new := run(r, 0, 0), run(r, offset, c.blocks*arms)
			judge := func(between Between, change float64) (changed, any bool) {
				slower := make([][]float64, stores)
				for a := range slower {
					slower[a] = append([]float64(nil), new[a]...)
					for b := range slower[a] {
						if a == 0 {
							slower[a][b] *= change
						}
					}
				}
				ratios := CompareUnpaired(old[:stores], slower, Options{Between: between})
				for _, ratio := range ratios {
					any = any || ratio.Significant
				}
				return ratios[0].Significant && ratios[0].Value < 1, any
			}
			var earlier []float64
			for range c.earlier {
				earlier = append(earlier, square(c.offset*r.NormFloat64()))
			}
			between := BetweenRuns(earlier, Control{old[stores+1], new[stores+1]}, Control{twin(old), twin(new)})
			_, o.wrong = judge(between, 1)
			_, o.wrongAlone = judge(Between{}, 1)
			o.shown, _ = judge(between, 0.9)
			o.shownAlone, _ = judge(Between{}, 0.9)
			return o
		}) {
			for i, is := range []bool{o.wrong, o.wrongAlone, o.shown, o.shownAlone} {
				sum[i] += float64(btoi(is))
			}
		}
		n := float64(series)
		within(t, fmt.Sprintf("between, %s, shared %v: false", c.what, c.shared), sum[0]/n, 0, c.most, series)
		within(t, fmt.Sprintf("between, %s, shared %v: shown", c.what, c.shared), sum[2]/n, c.least, 1, series)
		shares := map[bool]string{true: "yes", false: "no"}
		out.Rows = append(out.Rows, []string{c.what, shares[c.shared], percent(c.noise), fmt.Sprint(c.blocks),
			percent(sum[0] / n), percent(sum[1] / n),
			percent(sum[2] / n), percent(sum[3] / n)})
	}
	return out
}

// simulatedRunBlocks is the standard deviation of block effects in the runs that compare is for: a
// machine that repeats.
const simulatedRunBlocks = 0.02

// valuesWith is values with blocks that scatter by so much.
func (s design) valuesWith(r *rand.Rand, blocks float64) [][]float64 {
	values := make([][]float64, s.arms)
	for a := range values {
		values[a] = make([]float64, s.blocks)
	}
	for b := range s.blocks {
		block := blocks * r.NormFloat64()
		for a := range values {
			values[a][b] = simulatedRate * math.Exp(s.truth(a)+block+s.noise(a)*r.NormFloat64())
		}
	}
	return values
}

// simulateTwins tests the twins of all tables of a run together, and widens its tables' errors where
// they differ.
func simulateTwins(t *testing.T, series int) table {
	out := table{Columns: []string{"tables", "arms", "blocks", "noise", "all blocks share", "the baseline differs from itself",
		"tables with a false difference", "the same without twins",
		"1.3 times shown", "the same without twins"}}
	for row, c := range []struct {
		tables, arms, blocks int
		noise                float64
		// standard deviation of what all blocks of a trial's arm share: a place in memory, on the
		// disk
		shared    float64
		low, high float64 // aims for the share of runs whose twins differ
	}{
		{1, 4, 3, 0.05, 0, 0, 0.08}, {4, 4, 3, 0.05, 0, 0, 0.08}, {12, 4, 3, 0.05, 0, 0, 0.08}, {4, 8, 3, 0.10, 0,
			0, 0.08}, {4, 8, 5, 0.10, 0, 0, 0.08},
		{4, 4, 3, 0.05, 0.10, 0.5, 1}, {4, 4, 10, 0.05, 0.10, 0.8, 1}, {12, 4, 3, 0.05, 0.10, 0.9, 1},
		{1, 4, 3, 0.05, 0.10, 0.1, 1}, {2, 4, 3, 0.05, 0.10, 0.3, 1}, {4, 4, 5, 0.05, 0.05, 0.2, 1},
		{12, 4, 5, 0.05, 0.05, 0.5, 1},
	} {
		type result struct{ differ, wrong, wrongWithout, shown, shownWithout float64 }
		var sum result
		d := design{"", c.arms + 1, c.blocks, 0, alike(c.noise), nil, nil} // the last one is the first one's twin
		for _, o := range each("twins", row, series, func(r *rand.Rand) (o result) {
			options := Options{References: []int{c.arms}}
			var pairs []TwinTable
			var tables [][][]float64
			for range c.tables {
				values := d.values(r)
				for a := range values {
					shift := math.Exp(c.shared * r.NormFloat64())
					for b := range values[a] {
						values[a][b] *= shift
					}
				}
				tables = append(tables, values)
				pairs = append(pairs, TwinTable{Pair: Compare(values, options).Pair(c.arms, 0)})
			}
			twins := PoolTwins(pairs)
			o.differ = float64(btoi(twins.Differ()))
			// The second arm may be faster: whether that is shown is no matter of the others.
			faster := func(values [][]float64) [][]float64 {
				made := slices.Clone(values)
				made[1] = slices.Clone(values[1])
				for b := range made[1] {
					made[1][b] *= 1.3
				}
				return made
			}
			judge := func(o Options) (wrong, shown float64) {
				for _, values := range tables {
					compared, is := Compare(values, o), false
					for i := range c.arms {
						for j := range i {
							is = is || compared.Pair(i, j).Significant
						}
					}
					wrong += float64(btoi(is)) / float64(c.tables)
					pair := Compare(faster(values), o).Pair(1, 0)
					shown += float64(btoi(pair.Significant && pair.Value > 1)) / float64(c.tables)
				}
				return wrong, shown
			}
			o.wrongWithout, o.shownWithout = judge(options)
			options.Twins = twins
			o.wrong, o.shown = judge(options)
			return o
		}) {
			sum.differ, sum.wrong, sum.wrongWithout = sum.differ+o.differ, sum.wrong+o.wrong,
				sum.wrongWithout+o.wrongWithout
			sum.shown, sum.shownWithout = sum.shown+o.shown, sum.shownWithout+o.shownWithout
		}
		n := float64(series)
		what := fmt.Sprintf("twins, %d tables, %d arms, %d blocks, shared %g", c.tables, c.arms, c.blocks, c.shared)
		within(t, what+": differ", sum.differ/n, c.low, c.high, series)
		if c.shared == 0 || c.shared == 0.10 && c.tables >= 4 {
			within(t, what+": false", sum.wrong/n, 0, 0.05, series)
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.tables), fmt.Sprint(c.arms), fmt.Sprint(c.blocks),
			percent(c.noise),
			percent(c.shared), percent(sum.differ / n), percent(sum.wrong / n), percent(sum.wrongWithout / n),
			percent(sum.shown / n), percent(sum.shownWithout / n)})
	}
	return out
}

// simulateTrials is simulateTwins for phases of the same trials, whose noise is alike: so many cells,
// each of trials with so many phases.
func simulateTrials(t *testing.T, series int) table {
	out := table{Columns: []string{"cells", "phases", "arms", "blocks", "noise", "of it the trial's (ρ)", "all blocks share",
		"the baseline differs from itself", "tables with a false difference", "difference", "shown", "shown where the baseline differs"}}
	for row, c := range []struct {
		cells, phases, arms, blocks int
		noise, alike                float64
		draw                        func(*rand.Rand) float64
		shared                      float64
		times, shown                float64 // a difference, and the aim for how often it is shown
		wrong                       float64 // aim
	}{
		{1, 4, 7, 3, 0.10, 0, nil, 0, 2, 0.95, 0.05}, {1, 4, 7, 3, 0.10, 0.4, nil, 0, 2, 0.95, 0.05},
		{1, 4, 7, 3, 0.10, 0.8, nil, 0, 2, 0.95, 0.05}, {1, 4, 7, 3, 0.10, 0.95, nil, 0, 2, 0.95, 0.05},
		{2, 3, 7, 3, 0.10, 0.8, nil, 0, 2, 0.95, 0.05},
		{1, 4, 7, 3, 0.15, 0.8, nil, 0, 3, 0.98, 0.05}, {1, 2, 7, 3, 0.15, 0.8, nil, 0, 3, 0.98, 0.05},
		{1, 4, 7, 3, 0.10, 0.8, student3, 0, 2, 0.70, 0.05},
		{4, 3, 7, 3, 0.05, 0.8, nil, 0.10, 2, 0, 0.08}, {8, 2, 7, 3, 0.05, 0.8, nil, 0.10, 2, 0, 0.05},
		{4, 3, 4, 5, 0.05, 0.8, nil, 0.10, 2, 0, 0.08},
	} {
		type result struct{ differ, wrong, shown, alarmed float64 }
		var sum result
		draw := c.draw
		if draw == nil {
			draw = func(r *rand.Rand) float64 { return r.NormFloat64() }
		}
		for _, o := range each("trials", row, series, func(r *rand.Rand) (o result) {
			options := Options{References: []int{c.arms}}
			var pairs []TwinTable
			var tables [][][]float64
			for cell := range c.cells {
				own := make([][]float64, c.arms+1) // of each trial
				place := make([]float64, c.arms+1) // of each arm in all blocks of a cell
				for a := range own {
					place[a] = c.shared * r.NormFloat64()
					for range c.blocks {
						own[a] = append(own[a], draw(r))
					}
				}
				for range c.phases {
					values := make([][]float64, c.arms+1)
					block := make([]float64, c.blocks)
					for b := range block {
						block[b] = simulatedBlocks * r.NormFloat64()
					}
					for a := range values {
						for b := range c.blocks {
							noise := math.Sqrt(c.alike)*own[a][b] + math.Sqrt(1-c.alike)*draw(r)
							values[a] = append(values[a], math.Exp(block[b]+place[a]+c.noise*noise))
						}
					}
					compared := Compare(values, options)
					pair := TwinTable{Pair: compared.Pair(c.arms, 0), Trials: fmt.Sprint(cell),
						Residuals: map[string][]float64{}}
					for a, rest := range compared.Residuals() {
						pair.Residuals[fmt.Sprint(a)] = rest
					}
					tables, pairs = append(tables, values), append(pairs, pair)
				}
			}
			options.Twins = PoolTwins(pairs)
			o.differ = float64(btoi(options.Twins.Differ()))
			for _, values := range tables {
				compared, is := Compare(values, options), false
				for i := range c.arms {
					for j := range i {
						is = is || compared.Pair(i, j).Significant
					}
				}
				o.wrong += float64(btoi(is)) / float64(len(tables))
				faster := slices.Clone(values)
				faster[1] = slices.Clone(values[1])
				for b := range faster[1] {
					faster[1][b] *= c.times
				}
				pair := Compare(faster, options).Pair(1, 0)
				o.shown += float64(btoi(pair.Significant && pair.Value > 1)) / float64(len(tables))
			}
			o.alarmed = o.shown * o.differ
			return o
		}) {
			sum.differ, sum.wrong = sum.differ+o.differ, sum.wrong+o.wrong
			sum.shown, sum.alarmed = sum.shown+o.shown, sum.alarmed+o.alarmed
		}
		n := float64(series)
		what := fmt.Sprintf("trials, %d cells, %d phases, %d arms, noise %g, alike %g, shared %g", c.cells, c.phases, c.arms, c.noise, c.alike, c.shared)
		if runs := 100; series >= runs { // tables of one run are alike: a handful of runs say nothing of the aims
			within(t, what+": false", sum.wrong/n, 0, c.wrong, series)
			within(t, what+": shown", sum.shown/n, c.shown, 1, series)
		}
		noise, alarmed := percent(c.noise), "–"
		if c.draw != nil {
			noise += ", t with 3 degrees"
		}
		if sum.differ > 0 {
			alarmed = percent(sum.alarmed / sum.differ)
		}
		out.Rows = append(out.Rows, []string{fmt.Sprint(c.cells), fmt.Sprint(c.phases), fmt.Sprint(c.arms),
			fmt.Sprint(c.blocks), noise,
			fmt.Sprint(c.alike), percent(c.shared), percent(sum.differ / n), percent(sum.wrong / n),
			fmt.Sprintf("%g times", c.times), percent(sum.shown / n), alarmed})
	}
	return out
}

// simulateOddTrials asks what three values an arm can say at best of a pair of which one arm has an
// odd trial, or is noisy. The test is of the likelihood ratio, with what no comparison knows: the
// scale of the noise, that of the noisy arm, and that there are no blocks. Unknown is how far the
// arms are apart, and where they are. It is best among tests that are wrong as often beside a noisy
// arm (Neyman and Pearson), the difference drawn as it assumes.
func simulateOddTrials(t *testing.T, series int) table {
	out := table{Columns: []string{"blocks", "wrong beside an arm five times as noisy", "twofold shown under heavy tails, at best"}}
	const noise, noisy = 0.10, 0.50
	places := grid(-0.3, 0.3, 0.05)
	differences := append(grid(-1.5, -0.1, 0.05), grid(0.1, 1.5, 0.05)...)
	heavy := func(x float64) float64 { return -2*math.Log1p(square(x/noise)/3) + math.Log(0.3675525969/noise) }
	normal := func(sigma float64) func(float64) float64 {
		return func(x float64) float64 { return -square(x/sigma)/2 - math.Log(sigma) - math.Log(2*math.Pi)/2 }
	}
	at := func(values []float64, density func(float64) float64, place float64) (sum float64) {
		for _, v := range values {
			sum += density(v - place)
		}
		return sum
	}
	ratio := func(a, b []float64) float64 {
		var apart, together []float64
		for _, place := range places {
			for _, d := range differences {
				apart = append(apart, at(a, heavy, place-d/2)+at(b, heavy, place+d/2))
			}
			together = append(together, at(a, normal(noisy), place)+at(b, normal(noise), place),
				at(b, normal(noisy), place)+at(a, normal(noise), place))
		}
		return logSum(apart) - logSum(together)
	}
	draw := func(n int, place, sigma float64, standard func(*rand.Rand) float64, r *rand.Rand) (values []float64) {
		for range n {
			values = append(values, place+sigma*standard(r))
		}
		return values
	}
	gauss := func(r *rand.Rand) float64 { return r.NormFloat64() }
	for _, blocks := range []int{3, 4, 5} {
		none := each("odd trials, none", blocks, series, func(r *rand.Rand) float64 {
			return ratio(draw(blocks, 0, noisy, gauss, r), draw(blocks, 0, noise, gauss, r))
		})
		twofold := each("odd trials, twofold", blocks, series, func(r *rand.Rand) float64 {
			return ratio(draw(blocks, -math.Ln2/2, noise, student3, r), draw(blocks, math.Ln2/2, noise, student3, r))
		})
		slices.Sort(none)
		for _, wrong := range []float64{0.01, 0.02, 0.03, 0.05} {
			bound, shown := none[int(float64(series)*(1-wrong))], 0.0
			for _, r := range twofold {
				shown += float64(btoi(r > bound)) / float64(series)
			}
			out.Rows = append(out.Rows, []string{fmt.Sprint(blocks), percent(wrong), percent(shown)})
		}
	}
	return out
}

func grid(from, to, step float64) (at []float64) {
	for x := from; x <= to+step/2; x += step {
		at = append(at, x)
	}
	return at
}

// logSum is the log of the sum of exponentials.
func logSum(logs []float64) float64 {
	most, sum := slices.Max(logs), 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum)
}
