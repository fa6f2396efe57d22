package verdict

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

const (
	// HarnessBoundShare: from this share of an operation on, more of it is harness than store, and
	// there is no rank.
	HarnessBoundShare = 0.50
	// quotaSamplesMin is how many samples a phase needs that its disk quota ended.
	quotaSamplesMin = 10
)

// rank says of each table who may be ranked, who is ahead, and by how much. Where the twins of all
// tables together differ by more than the residuals explain, all errors are that much wider.
//
// taken are the messages that take a row's rank, besides what its trials say.
func rank(tables []*table, taken map[*row][]finding.Message) {
	var twins []stat.Ratio
	for _, t := range tables {
		t.findStandings(taken)
		if twin, known := t.compare(); known {
			twins = append(twins, twin)
		}
	}
	pooled := stat.PoolTwins(twins)
	for _, t := range tables {
		t.twins = pooled
		if pooled.Differ() {
			t.compare()
		}
		for i := range t.Ceilings {
			t.Ceilings[i].Rate = *t.row(plan.Ceiling, t.Ceilings[i].Arm).Rate
		}
		t.decide()
	}
}

// findStandings sets the rates of the rows, the ceilings, and who may be ranked.
func (t *table) findStandings(taken map[*row][]finding.Message) {
	t.estimate()
	for _, r := range t.rows {
		if r.role == plan.Ceiling && r.hasGood() && r.Rate != nil && r.Rate.Value > 0 {
			t.Ceilings = append(t.Ceilings, facts.Ceiling{Arm: r.Arm, Rate: *r.Rate})
		}
	}
	slices.SortFunc(t.Ceilings, func(a, b facts.Ceiling) int {
		if own := earlier(a.Arm == experiment.NullDriver, b.Arm == experiment.NullDriver); own != 0 {
			return own
		}
		return strings.Compare(a.Arm, b.Arm)
	})
	for _, r := range t.rows {
		t.boundBy(r)
		r.Reasons = t.reasonsAgainst(r, taken[r])
		r.Standing = t.standing(r)
	}
}

// boundBy sets what share of an operation is the harness. The ceiling of one worker says nothing of
// another program's loop.
func (t *table) boundBy(r *row) {
	if r.role == plan.Ceiling || r.Rate == nil || t.Open {
		return
	}
	for _, ceiling := range t.Ceilings {
		if ceiling.Arm == r.ceilingArm {
			share := r.Rate.Value / ceiling.Rate.Value
			r.HarnessShare, r.Ceiling = &share, ceiling.Arm
		}
	}
}

// values are the good trials' figures of some rows by block, NaN where there is none.
func (t *table) values(rows []*row, of func(*observation) float64) [][]float64 {
	values := make([][]float64, len(rows))
	for i, r := range rows {
		values[i] = make([]float64, t.run.Blocks())
		for b := range values[i] {
			values[i][b] = math.NaN()
		}
		for _, o := range r.used() {
			for o.planned.Block > len(values[i]) {
				values[i] = append(values[i], math.NaN())
			}
			if o.planned.Block >= 1 {
				values[i][o.planned.Block-1] = of(o)
			}
		}
	}
	return values
}

func rateOfTrial(o *observation) float64 { return *o.rate }

// comparable lists the rows whose figures are of good trials: the others have estimates of their
// own.
func (t *table) comparable() (rows []*row) {
	for _, r := range t.rows {
		if r.hasGood() {
			rows = append(rows, r)
		}
	}
	return rows
}

// estimate sets the rates, with what the blocks had in common taken off: those of good trials until
// it is known which rows are compared.
func (t *table) estimate() {
	rows := t.comparable()
	for i, e := range stat.Estimates(t.values(rows, rateOfTrial), stat.Options{}) {
		rows[i].setRate(e)
	}
	for _, r := range t.rows {
		if !r.hasGood() && len(r.used()) > 0 {
			r.setRate(stat.Estimates(t.values([]*row{r}, rateOfTrial), stat.Options{})[0])
			t.averageLatencies([]*row{r})
		}
	}
	t.averageLatencies(rows)
}

func (r *row) setRate(e stat.Estimate) {
	rate := estimateOf(e)
	r.Rate = &rate
	var logs []float64
	for _, o := range r.used() {
		if o.perItem > 0 {
			logs = append(logs, math.Log(o.perItem))
		}
	}
	if len(logs) > 0 && len(logs) == len(r.used()) {
		records := inUnit(rate, math.Exp(stat.Mean(logs)))
		r.Records = &records
	}
}

func estimateOf(e stat.Estimate) facts.Estimate {
	m := facts.Estimate{Value: e.Value, Blocks: e.N}
	if e.Interval != nil {
		m.Low, m.High = &e.Interval.Low, &e.Interval.High
	}
	return m
}

// inUnit is an estimate in another unit.
func inUnit(e facts.Estimate, factor float64) facts.Estimate {
	e.Value *= factor
	if e.Low != nil {
		low, high := *e.Low*factor, *e.High*factor
		e.Low, e.High = &low, &high
	}
	return e
}

func ratioOf(r stat.Ratio) *facts.Ratio {
	if r.Value == 0 {
		return nil
	}
	m := facts.Ratio{Estimate: facts.Estimate{Value: r.Value, Blocks: r.N}, P: r.P, Significant: r.Significant, Equal: r.Equal}
	if r.Interval != nil {
		m.Low, m.High = &r.Interval.Low, &r.Interval.High
	}
	if r.Detectable != nil {
		factor := 1 + *r.Detectable
		m.Detectable = &factor
	}
	return &m
}

// compare ranks the rows that may be ranked, and relates them to the best and to the baseline.
// Rates and ratios are of one fit. It returns the ratio of the A/A twin to its baseline as the
// residuals have it; false: there is none.
func (t *table) compare() (ofTwin stat.Ratio, known bool) {
	rows := t.comparable()
	t.Best, t.undecided = nil, nil
	position := map[*row]int{}
	options := lookOptions(t.run)
	options.Widen = t.twins.Widen()
	for i, r := range rows {
		position[r] = i
		if r.Standing != facts.Ranked {
			options.References = append(options.References, i)
		}
	}
	twin, baseline := t.row(plan.AA, ""), t.row(plan.Measured, t.Baseline)
	twinAt, hasTwin := position[twin]
	baseAt, hasBaseline := position[baseline]
	c := stat.Compare(t.values(rows, rateOfTrial), options)
	for i, r := range rows {
		r.setRate(c.Arms[i])
	}
	t.Threshold, t.margin = c.Smallest, c.Tie
	if hasTwin && hasBaseline && !t.Open && t.AA == nil {
		ofTwin, known = c.Pair(twinAt, baseAt), true
		t.AA = ratioOf(ofTwin)
	}
	for k, i := range c.Order {
		r := rows[i]
		r.Rank = c.Ranks[i]
		if slices.ContainsFunc(c.Order, func(j int) bool { return j != i && c.Pair(i, j).Detectable != nil }) {
			r.Letters = c.Letters[i] // a letter says what was compared
		}
		if k > 0 {
			r.ToBest = ratioOf(c.Pair(i, c.Order[0]))
		}
	}
	for _, i := range c.Best {
		t.Best = append(t.Best, rows[i].Arm)
	}
	for _, pair := range c.UndecidedBest() {
		t.undecided = append(t.undecided, rows[pair[1]].Arm)
	}
	if hasBaseline && baseline.Standing == facts.Ranked {
		for i, r := range rows {
			if i != baseAt && (r.Standing == facts.Ranked || r.role == plan.AA) {
				r.ToBaseline = ratioOf(c.Pair(i, baseAt))
			}
		}
	}
	t.order()
	return ofTwin, known
}

var standings = []facts.Standing{facts.Ranked, facts.NotRanked, facts.Failed, facts.LeftOut, facts.Refused, facts.Reference}

// order puts the ranked rows first, best first, then the others, then the A/A arm and the null
// drivers.
func (t *table) order() {
	slices.SortStableFunc(t.rows, func(a, b *row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(standings, a.Standing), slices.Index(standings, b.Standing)),
			earlier(a.role != plan.Ceiling, b.role != plan.Ceiling),
			t.faster(a, b),
			strings.Compare(a.Arm, b.Arm))
	})
}

// faster compares rates, the highest first; under open load the experiment set them.
func (t *table) faster(a, b *row) int {
	if t.Open {
		return 0
	}
	return cmp.Compare(rateOrZero(b), rateOrZero(a))
}

func rateOrZero(r *row) float64 {
	if r.Rate == nil {
		return 0
	}
	return r.Rate.Value
}

func (t *table) standing(r *row) facts.Standing {
	switch {
	case r.role != plan.Measured && r.Rate != nil:
		return facts.Reference
	case len(r.Reasons) == 0:
		return facts.Ranked
	case r.leftOut(t.Phase) != "":
		return facts.LeftOut
	case r.state == record.Refused:
		return facts.Refused
	case r.state == record.Failed && r.Rate == nil:
		return facts.Failed
	}
	return facts.NotRanked
}

// reasonsAgainst says why a row can't be ranked; none: it can. taken are grave findings about it.
func (t *table) reasonsAgainst(r *row, taken []finding.Message) (reasons []reason) {
	used := len(r.used())
	if why := r.leftOut(t.Phase); why != "" {
		return []reason{{kind: reasonLeftOut, why: why}}
	}
	add := func(why reason) { reasons = append(reasons, why) }
	for _, o := range r.latest() {
		switch o.state {
		case record.Failed, record.Refused:
			add(reason{kind: reasonTold, told: o.why()})
		case record.Marked:
			for _, m := range o.marks {
				if !m.Machine() {
					add(reason{kind: reasonTold, told: m.Message})
				}
			}
		}
	}
	switch {
	case used == 0 && len(reasons) == 0:
		add(reason{kind: reasonNoTrialEnded})
	case len(reasons) == 0 && !r.hasGood() && r.state == record.Interrupted:
		add(reason{kind: reasonInterrupted})
	case len(reasons) == 0 && !r.hasGood():
		add(reason{kind: reasonMachine})
	}
	if r.Rate != nil && r.Rate.Blocks == 0 {
		add(reason{kind: reasonNothingDone})
	}
	if idle := r.count(func(o *observation) bool { return *o.rate <= 0 }); idle > 0 && idle < used && !t.Open {
		add(reason{kind: reasonIdle, blocks: idle, of: used})
	}
	if short := r.count((*observation).quotaTooSoon); short > 0 && !t.Open {
		add(reason{kind: reasonQuota, blocks: short, of: used})
	}
	if r.unsettled() && !r.wholeWork {
		restless := r.count((*observation).restless)
		add(reason{kind: reasonUnsteady, blocks: restless, of: used, course: series.Kind(r.Course.Kind)})
	}
	if r.HarnessShare != nil && *r.HarnessShare >= HarnessBoundShare {
		add(reason{kind: reasonHarness, share: min(*r.HarnessShare, 1)})
	}
	if t.Open && used > 0 {
		add(reason{kind: reasonOpenLoad})
	}
	for _, m := range taken {
		add(reason{kind: reasonTold, told: m})
	}
	return reasons
}

// why is what a trial that failed or was refused says of that.
func (o *observation) why() finding.Message {
	if reasons := o.trial.Reasons(); len(reasons) > 0 {
		return reasons[0]
	}
	return finding.Message{}
}

// quotaTooSoon reports whether the disk quota ended the phase so soon that it is only a beginning.
func (o *observation) quotaTooSoon() bool {
	return o.phase.EndedBy == record.EndedQuota && (o.course == nil || len(o.course.samples) < quotaSamplesMin)
}

// lead is what the ranks of a table come to.
type lead int

const (
	leadNone      lead = iota // no store has a rank
	leadOpen                  // the experiment set the rate
	leadOnly                  // one store has a rank
	leadFastest               // one is significantly faster than all others
	leadEqual                 // the best are shown to be tied
	leadTied                  // the best are not significantly different
	leadNoisy                 // nor would any difference of use to a reader have been
	leadFewBlocks             // too few blocks to compare the best
)

// decide sets the table's lead, and of a tie the smallest factor that would have been found and the
// blocks that the best have in common.
func (t *table) decide() {
	ranked := t.ranked()
	t.common = t.run.Blocks()
	switch {
	case t.Open:
		t.lead = leadOpen
	case len(ranked) == 0:
		t.lead = leadNone
	case len(ranked) == 1:
		t.lead = leadOnly
	case len(t.Best) == 1:
		t.lead = leadFastest
	default:
		t.decideTie(ranked)
	}
}

// decideTie says of arms that are not significantly different whether they are shown to be equal, and
// otherwise which difference would have been found.
func (t *table) decideTie(ranked []*row) {
	equal := true
	for _, r := range ranked[1:] {
		if !slices.Contains(t.Best, r.Arm) {
			continue
		}
		if r.ToBest == nil || r.ToBest.Detectable == nil {
			t.lead, t.common = leadFewBlocks, 0
			if r.ToBest != nil {
				t.common = r.ToBest.Blocks
			}
			return
		}
		equal = equal && r.ToBest.Equal
		t.detectable = max(t.detectable, *r.ToBest.Detectable)
	}
	switch {
	case equal:
		t.lead = leadEqual
	case t.detectable > uselessDetectable:
		t.lead = leadNoisy
	default:
		t.lead = leadTied
	}
}

// undecidedTie reports whether more or quieter blocks may tell the best apart.
func (t *table) undecidedTie() bool { return t.lead == leadTied || t.lead == leadNoisy }

// inverse is the ratio the other way round.
func inverse(r *facts.Ratio) *facts.Ratio {
	i := *r
	i.Value = 1 / r.Value
	if r.Low != nil {
		low, high := 1 / *r.High, 1 / *r.Low
		i.Low, i.High = &low, &high
	}
	return &i
}

// uselessDetectable is the factor from which on "differences above it" tells a reader nothing.
const uselessDetectable = 5
