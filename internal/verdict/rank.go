package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

const (
	// HarnessNoted: from this share on, a row says how much of each operation is the harness.
	HarnessNoted = 0.10
	// HarnessBound: from this share on, more of an operation is harness than store, and there is no rank.
	HarnessBound = 0.50
	// harnessAll: from this share on, a store can't be told from the null driver. Some are faster than it, by chance.
	harnessAll = 0.95
)

// rank says who may be ranked, who is ahead, and by how much.
func (t *Table) rank() {
	for i := range t.Rows {
		if null := &t.Rows[i]; null.Role == plan.Ceiling && null.hasGood() && rateOf(*null) > 0 {
			t.Ceilings = append(t.Ceilings, Ceiling{null.Arm, *null.Rate})
		}
	}
	slices.SortFunc(t.Ceilings, func(a, b Ceiling) int {
		switch spec.NullDriver {
		case a.Arm:
			return -1
		case b.Arm:
			return 1
		}
		return strings.Compare(a.Arm, b.Arm)
	})
	t.Ceiling = t.ceilingNamed(spec.NullDriver)
	if twin, baseline := t.rowOf(plan.AA, ""), t.rowOf(plan.Measured, t.Baseline); twin != nil && baseline != nil && !t.Open {
		if ratio, ok := pairedOn(*twin, *baseline, alike(*twin, *baseline)); ok {
			t.AA = &ratio
		}
	}
	t.Threshold = stat.Threshold(t.AA)
	for i := range t.Rows {
		r := &t.Rows[i]
		// A ceiling is that of one worker: of another program's loop it says nothing.
		if ceiling := t.ceilingNamed(r.Ceiling); ceiling != nil && r.Rate != nil && r.Role != plan.Ceiling && !t.Open {
			r.HarnessShare = pointer(r.Rate.Value / ceiling.Value)
		}
		r.Reasons = t.reasonsAgainst(r)
		r.Ranked = len(r.Reasons) == 0
	}
	effects := t.effects()
	slices.SortStableFunc(t.Rows, func(a, b Row) int {
		if d := standing(a) - standing(b); d != 0 {
			return d
		}
		x, y := rateOf(a), rateOf(b)
		if a.Ranked {
			x, y = effects[a.Arm], effects[b.Arm]
		}
		switch {
		case t.Open: // the experiment set the rate
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return strings.Compare(a.Arm, b.Arm)
	})
	baseline := t.rowOf(plan.Measured, t.Baseline)
	if baseline != nil && baseline.Ranked {
		t.relate(*baseline, func(r *Row) bool { return (r.Ranked || r.Role == plan.AA) && r.Arm != baseline.Arm },
			func(r *Row, ratio stat.Ratio, shown bool) { r.ToBaseline, r.ShownToBaseline = &ratio, shown })
	}
	t.crown()
}

// effects returns the log rates of the ranked arms with those of the blocks taken off: log rate = arm + block, by least squares (alternating means, which
// comes down to the arms' means where each has all blocks). An arm whose trials of slow blocks were lost is not the faster for it.
func (t *Table) effects() map[string]float64 {
	const rounds = 200
	arms, blocks := map[string]float64{}, map[int]float64{}
	each := func(visit func(arm string, block int, log float64)) {
		for _, r := range t.Rows {
			for _, o := range r.Trials {
				if r.Ranked && o.good() && *o.Rate > 0 {
					visit(r.Arm, o.Block, math.Log(*o.Rate))
				}
			}
		}
	}
	for range rounds {
		sums, counts := map[string]float64{}, map[string]float64{}
		each(func(arm string, block int, log float64) {
			sums[arm], counts[arm] = sums[arm]+log-blocks[block], counts[arm]+1
		})
		for arm := range sums {
			arms[arm] = sums[arm] / counts[arm]
		}
		total, blockSums, blockCounts := 0.0, map[int]float64{}, map[int]float64{}
		each(func(arm string, block int, log float64) {
			blockSums[block], blockCounts[block] = blockSums[block]+log-arms[arm], blockCounts[block]+1
		})
		for block := range blockSums {
			blocks[block] = blockSums[block] / blockCounts[block]
			total += blocks[block]
		}
		for block := range blocks {
			blocks[block] -= total / float64(len(blocks))
		}
	}
	return arms
}

// ceilingNamed returns the rate of a null driver; nil if it has none.
func (t *Table) ceilingNamed(arm string) *stat.Estimate {
	for i := range t.Ceilings {
		if t.Ceilings[i].Arm == arm {
			return &t.Ceilings[i].Rate
		}
	}
	return nil
}

func standing(r Row) int {
	switch {
	case r.Ranked:
		return 0
	case r.Role == plan.Measured:
		return 1
	case r.Role == plan.AA:
		return 2
	}
	return 3
}

func rateOf(r Row) float64 {
	if r.Rate == nil {
		return 0
	}
	return r.Rate.Value
}

// reasonsAgainst says why a row can't be ranked; none: it can.
func (t *Table) reasonsAgainst(r *Row) (reasons []string) {
	if len(r.used()) > 0 { // without a figure, what became of its trials is the reason
		switch r.Role {
		case plan.AA:
			return []string{"it is the baseline a second time: the measure of noise"}
		case plan.Ceiling:
			return []string{"it is no store: the rate that the harness allows"}
		}
	}
	for _, o := range r.Trials {
		switch {
		case o.State == record.Failed:
			reasons = append(reasons, fmt.Sprintf("%s failed: %s", o.Trial, o.Why))
		case o.State == record.Refused:
			reasons = append(reasons, o.Why)
		case o.State == record.Marked:
			reasons = append(reasons, storesFaults(o)...)
		}
	}
	if len(r.used()) == 0 && len(reasons) == 0 {
		reasons = append(reasons, "no trial of it ended")
	} else if len(reasons) == 0 && !r.hasGood() {
		if r.State == record.Interrupted {
			reasons = append(reasons, "its trials were stopped before they ended")
		} else {
			reasons = append(reasons, "none of its trials was free of marks: "+r.Why)
		}
	}
	if r.Rate != nil && r.Rate.N == 0 {
		reasons = append(reasons, "no operation ended well")
	}
	if idle := r.idle(); idle > 0 && !t.Open {
		reasons = append(reasons, fmt.Sprintf("it did nothing in %d of %s", idle, plural(len(r.used()), "block", "blocks")))
	}
	if short := r.cutByQuota(); short > 0 && !t.Open {
		reasons = append(reasons, fmt.Sprintf("its disk quota ended the phase before there were %d samples, in %d of %s", stat.SteadySamplesMin, short, plural(len(r.used()), "block", "blocks")))
	}
	if r.unsettled() && !r.FixedWork {
		reasons = append(reasons, fmt.Sprintf("no steady state in %d of %s", r.restless(), plural(len(r.used()), "block", "blocks")))
	}
	switch share := r.HarnessShare; {
	case share == nil || *share < HarnessBound:
	case *share >= harnessAll:
		reasons = append(reasons, "harness-bound: as fast as the null driver, all of it is harness")
	default:
		reasons = append(reasons, fmt.Sprintf("harness-bound: %s of each operation is the harness", percent(*share)))
	}
	if t.Open && len(r.used()) > 0 {
		reasons = append(reasons, "open load: the experiment set the rate; compare latencies")
	}
	reasons = append(reasons, r.lessWork...)
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

// storesFaults returns the faults of a marked trial that are the store's. Those of the machine only cost the block.
func storesFaults(o Observation) (texts []string) {
	for _, f := range o.faults {
		if !f.Machine() {
			texts = append(texts, fmt.Sprintf("%s: %s", o.Trial, finding.Text(f.Message)))
		}
	}
	if len(o.faults) == 0 {
		texts = append(texts, o.Trial+" is marked")
	}
	return texts
}

// paired returns the ratio of two rows' rates over the blocks that both have a good trial in.
func paired(a, b Row) (stat.Ratio, bool) {
	return pairedOn(a, b, func(o Observation) float64 { return *o.Rate })
}

// alike returns how the rates of two rows are to be taken so that they are of the same kind: of whole phases where one of the rows never settled.
func alike(a, b Row) func(Observation) float64 {
	if a.unsettled() || b.unsettled() {
		return func(o Observation) float64 { return o.whole }
	}
	return func(o Observation) float64 { return *o.Rate }
}

func pairedOn(a, b Row, rate func(Observation) float64) (stat.Ratio, bool) {
	var x, y []float64
	for _, oa := range a.Trials {
		for _, ob := range b.Trials {
			if oa.Block == ob.Block && oa.good() && ob.good() {
				x, y = append(x, rate(oa)), append(y, rate(ob))
			}
		}
	}
	if len(x) == 0 {
		return stat.Ratio{}, false
	}
	ratio := stat.PairedRatio(x, y)
	return ratio, ratio.N > 0
}

// relate sets the ratio of each chosen row to one row, with p-values adjusted over all of them. The A/A arm is not a
// question that the table asks, so that it does not count among them.
func (t *Table) relate(to Row, chosen func(*Row) bool, set func(r *Row, ratio stat.Ratio, shown bool)) {
	var rows []*Row
	var ratios []stat.Ratio
	var p []float64
	for i := range t.Rows {
		r := &t.Rows[i]
		if !chosen(r) {
			continue
		}
		ratio, ok := paired(*r, to)
		if !ok {
			continue
		}
		if r.Role == plan.AA {
			set(r, ratio, false)
			continue
		}
		rows, ratios = append(rows, r), append(ratios, ratio)
		if ratio.P != nil {
			p = append(p, *ratio.P)
		} else {
			p = append(p, 1)
		}
	}
	for i, adjusted := range stat.Holm(p) {
		set(rows[i], ratios[i], stat.Shown(ratios[i], adjusted, t.Threshold))
	}
}

// crown compares the ranked rows, which come first and in order, each with each. A row's rank is one more than the number of those that are shown to be faster, so that
// what was picked by the very figures that it is compared on is no exception, and ranks that differ say something.
func (t *Table) crown() {
	ranked := 0
	for ranked < len(t.Rows) && t.Rows[ranked].Ranked {
		ranked++
	}
	if ranked == 0 {
		t.Sentence = t.nobody()
		return
	}
	rows := t.Rows[:ranked]
	t.Best = rows[0].Arm
	for i := range rows {
		rows[i].Rank = 1
	}
	if ranked == 1 {
		t.Sentence = fmt.Sprintf("%s, with %s, is the only arm that can be ranked.", rows[0].Arm, rate(rows[0].Rate.Value)) + t.fasterWithout()
		return
	}
	type pair struct{ above, below *Row }
	var pairs []pair
	var ratios []stat.Ratio
	var p []float64
	for i := range rows {
		for k := i + 1; k < ranked; k++ {
			ratio, ok := paired(rows[k], rows[i])
			if ok && i == 0 {
				rows[k].ToBest = &ratio
			}
			pairs, ratios = append(pairs, pair{&rows[i], &rows[k]}), append(ratios, ratio)
			if ok && ratio.P != nil {
				p = append(p, *ratio.P)
			} else {
				p = append(p, 1)
			}
		}
	}
	for i, adjusted := range stat.HolmPairs(p, ranked) {
		above, below := pairs[i].above, pairs[i].below
		if !stat.Shown(ratios[i], adjusted, t.Threshold) || ratios[i].Value > 1 { // of blocks in common the second may be ahead: then nothing is shown
			continue
		}
		below.Rank++
		if above == &rows[0] {
			below.ShownToBest = true
		}
	}
	for _, r := range rows[1:] {
		if r.Rank == 1 {
			t.Tied = append(t.Tied, r.Arm)
		}
	}
	t.Sentence = t.whoIsAhead(rows, ratios) + t.fasterWithout()
}

// fasterWithout names the arms that did more than the best of those with a rank, and have none: being too fast for the harness is one reason.
func (t *Table) fasterWithout() string {
	best := t.rowOf(plan.Measured, t.Best)
	var names []string
	for _, r := range t.Rows {
		if r.Role == plan.Measured && !r.Ranked && r.hasGood() && rateOf(r) > best.Rate.Value {
			names = append(names, fmt.Sprintf("%s (%s)", r.Arm, rate(r.Rate.Value)))
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" %s did more, and has no rank: its row says why.", names[0])
	}
	return fmt.Sprintf(" %s did more, and have no rank: their rows say why.", list(names))
}

func (t *Table) nobody() string {
	if t.Open {
		return "Open load: the experiment set the rate, so that no arm is faster; compare the latencies from the due time."
	}
	return "No arm can be ranked: see the reasons in its row."
}

// whoIsAhead says what the ranks say; ratios are of all pairs of rows, those with the first one first.
func (t *Table) whoIsAhead(rows []Row, ratios []stat.Ratio) string {
	best, next := rows[0], rows[1]
	const ofCommon = " The ratio is of the blocks that both have, each rate of all its own."
	if len(t.Tied) == 0 {
		ahead, _ := paired(best, next)
		sentence := fmt.Sprintf("%s is the fastest with %s: %s times the next, %s (%s).",
			best.Arm, rate(best.Rate.Value), significant(ahead.Value), next.Arm, intervalText(*ahead.Interval))
		if best.Rate.Value < next.Rate.Value {
			sentence += ofCommon
		}
		return sentence
	}
	could, highest := 0.0, best.Rate.Value
	for i, r := range rows[1:] {
		if r.Rank == 1 {
			could = math.Max(could, stat.CouldHaveShown(ratios[i], t.Threshold, len(ratios)))
			highest = math.Max(highest, r.Rate.Value)
		}
	}
	among := "among " + list(append([]string{best.Arm}, t.Tied...))
	if len(t.Tied) == 1 {
		among = "between " + best.Arm + " and " + t.Tied[0]
	}
	if math.IsNaN(could) {
		return fmt.Sprintf("%s had the highest rate, %s, but no difference can be shown %s: there are too few blocks in common.",
			best.Arm, rate(best.Rate.Value), among)
	}
	smallest := "one of " + percent(could) + " or more would probably have been"
	switch {
	case could >= ratioMax:
		smallest = "even one of 1,000 times would perhaps not have been"
	case could >= 1:
		smallest = "only one of " + significant(1+could) + " times or more would probably have been"
	}
	sentence := fmt.Sprintf("No difference shown %s, from %s down; %s.", among, rate(highest), smallest)
	if best.Rate.Value < highest {
		sentence += " Differences are of the blocks that two arms have in common, each rate of all its own."
	}
	if slower := len(rows) - 1 - len(t.Tied); slower > 0 {
		than := best.Arm
		if slices.ContainsFunc(rows, func(r Row) bool { return r.Rank > 1 && !r.ShownToBest }) {
			than = "one of these"
		}
		sentence += fmt.Sprintf(" %s slower than %s.", plural(slower, "arm is", "arms are"), than)
	}
	return sentence
}
