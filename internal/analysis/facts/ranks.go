package facts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

const (
	// HarnessBoundShare: from this share of an operation on, more of it is harness than store, and
	// there is no rank.
	HarnessBoundShare = 0.50
	// QuotaSamplesMin is how many samples a phase needs that its disk quota ended.
	QuotaSamplesMin = 10
)

// Rank says of each table who may be ranked, who is ahead, and by how much. Where the twins of all
// tables together differ by more than the residuals explain, all errors are that much wider.
//
// taken are the messages that take a row's rank, besides what its trials say.
func Rank(tables []*Table, taken map[*Row][]finding.Message) {
	var twins []stat.TwinTable
	for _, t := range tables {
		t.findStandings(taken)
		if twin, known := t.compare(); known {
			twins = append(twins, twin)
		}
	}
	pooled := stat.PoolTwins(twins)
	for _, t := range tables {
		t.Twins = pooled
		if pooled.Differ() {
			t.compare()
		}
		for i := range t.Ceilings {
			t.Ceilings[i].Rate = *t.Row(plan.Ceiling, t.Ceilings[i].Arm).Rate
		}
		t.decide()
	}
}

// findStandings sets the rates of the rows, the ceilings, and who may be ranked.
func (t *Table) findStandings(taken map[*Row][]finding.Message) {
	t.estimate()
	for _, r := range t.Rows {
		if r.isCeiling() {
			t.Ceilings = append(t.Ceilings, Ceiling{Arm: r.Arm, Rate: *r.Rate})
		}
	}
	slices.SortFunc(t.Ceilings, func(a, b Ceiling) int {
		if own := Earlier(a.Arm == experiment.NullDriver, b.Arm == experiment.NullDriver); own != 0 {
			return own
		}
		return strings.Compare(a.Arm, b.Arm)
	})
	for _, r := range t.Rows {
		t.boundBy(r)
		r.Reasons = t.reasonsAgainst(r, taken[r])
		r.Standing = t.standing(r)
		if r.Capacity != nil {
			r.Capacity.Choice = t.choiceOf(r)
		}
	}
}

// isCeiling reports whether a row tells how much the harness alone takes. Of a search that tried no rate too
// high for a null driver that is not known.
func (r *Row) isCeiling() bool {
	known := r.Capacity == nil || r.Capacity.Outcome != capacity.AtLeast
	return r.Role == plan.Ceiling && known && r.HasGood() && r.Rate != nil && r.Rate.Value > 0
}

// boundBy sets what share of an operation is the harness. The ceiling of one worker says nothing of
// another program's loop.
func (t *Table) boundBy(r *Row) {
	if r.Role == plan.Ceiling || r.Rate == nil || t.Open || t.Work.Think.Mean > 0 { // the null driver pauses as long
		return
	}
	for _, ceiling := range t.Ceilings {
		if ceiling.Arm == r.ceilingArm {
			share := r.Rate.Value / ceiling.Rate.Value
			r.HarnessShare, r.Ceiling = &share, ceiling.Arm
		}
	}
}

// Values are the good trials' figures of some rows by block, NaN where there is none.
func (t *Table) Values(rows []*Row, of func(*Observation) float64) [][]float64 {
	values := make([][]float64, len(rows))
	for i, r := range rows {
		values[i] = make([]float64, t.Run.Blocks())
		for b := range values[i] {
			values[i][b] = math.NaN()
		}
		for _, o := range r.Used() {
			for o.Planned.Block > len(values[i]) {
				values[i] = append(values[i], math.NaN())
			}
			if o.Planned.Block >= 1 {
				values[i][o.Planned.Block-1] = of(o)
			}
		}
	}
	return values
}

// RateOfTrial returns the rate of a trial that has one.
func RateOfTrial(o *Observation) float64 { return *o.Rate }

// Comparable lists the rows whose figures are of good trials: the others have estimates of their
// own.
func (t *Table) Comparable() (rows []*Row) {
	for _, r := range t.Rows {
		if r.HasGood() {
			rows = append(rows, r)
		}
	}
	return rows
}

// References are the positions of rows that are in no comparison of their own: A/A arms and null
// drivers.
func References(rows []*Row) (at []int) {
	for i, r := range rows {
		if r.Role != plan.Measured {
			at = append(at, i)
		}
	}
	return at
}

// estimate sets the rates, with what the blocks had in common taken off: those of good trials until
// it is known which rows are compared.
func (t *Table) estimate() {
	rows := t.Comparable()
	for i, e := range stat.Estimates(t.Values(rows, RateOfTrial), stat.Options{Resolution: t.resolution()}) {
		rows[i].setRate(e)
	}
	for _, r := range t.Rows {
		if !r.HasGood() && len(r.Used()) > 0 {
			r.setRate(stat.Estimates(t.Values([]*Row{r}, RateOfTrial), stat.Options{Resolution: t.resolution()})[0])
			t.averageLatencies([]*Row{r})
		}
	}
	t.averageLatencies(rows)
}

// resolution is the relative step of rates that the table can tell; 0: they are exact.
func (t *Table) resolution() float64 {
	if t.Work.Capacity != nil {
		return capacity.Resolution
	}
	return 0
}

func (r *Row) setRate(e stat.Estimate) {
	rate := EstimateOf(e)
	if r.Capacity != nil && r.Capacity.Outcome != capacity.Found {
		rate.Low, rate.High = nil, nil // what was tried has no interval: it is no capacity
	}
	r.Rate = &rate
	var logs []float64
	for _, o := range r.Used() {
		if o.perItem > 0 {
			logs = append(logs, math.Log(o.perItem))
		}
	}
	if len(logs) > 0 && len(logs) == len(r.Used()) {
		records := inUnit(rate, math.Exp(stat.Mean(logs)))
		r.Records = &records
	}
}

// EstimateOf returns an estimate as results have it.
func EstimateOf(e stat.Estimate) Estimate {
	m := Estimate{Value: e.Value, Blocks: e.N}
	if e.Interval != nil {
		m.Low, m.High = &e.Interval.Low, &e.Interval.High
	}
	return m
}

// inUnit is an estimate in another unit.
func inUnit(e Estimate, factor float64) Estimate {
	e.Value *= factor
	if e.Low != nil {
		low, high := *e.Low*factor, *e.High*factor
		e.Low, e.High = &low, &high
	}
	return e
}

// RatioOf returns a ratio as results have it.
func RatioOf(r stat.Ratio) *Ratio {
	if r.Value == 0 {
		return nil
	}
	m := Ratio{Estimate: Estimate{Value: r.Value, Blocks: r.N}, P: r.P, Significant: r.Significant, Equal: r.Equal}
	if r.Interval != nil {
		m.Low, m.High = &r.Interval.Low, &r.Interval.High
	}
	if r.Detectable != nil {
		factor := 1 + *r.Detectable
		m.Detectable = &factor
	}
	return &m
}

// trials names the trials that a table is of: its phases share them.
func (t *Table) trials() string {
	return fmt.Sprintf("%s %v %d", t.Run.Header.ID, t.Class, t.Cell)
}

// compare ranks the rows that may be ranked, and relates them to the best and to the baseline.
// Rates and ratios are of one fit. It returns the ratio of the A/A twin to its baseline as the
// residuals have it; false: there is none.
func (t *Table) compare() (ofTwin stat.TwinTable, known bool) {
	rows := t.Comparable()
	t.Best, t.Group, t.undecided = nil, nil, nil
	position := map[*Row]int{}
	options := LookOptions(t.Run)
	options.Twins, options.Resolution = t.Twins, t.resolution()
	for i, r := range rows {
		position[r] = i
		if r.Standing != Ranked {
			options.References = append(options.References, i)
		}
	}
	twin, baseline := t.Row(plan.AA, ""), t.Row(plan.Measured, t.Baseline)
	twinAt, hasTwin := position[twin]
	baseAt, hasBaseline := position[baseline]
	c := stat.Compare(t.Values(rows, RateOfTrial), options)
	for i, r := range rows {
		r.setRate(c.Arms[i])
	}
	t.Threshold, t.Margin = c.Smallest, c.Tie
	if hasTwin && hasBaseline && !t.Open && t.AA == nil {
		ofTwin, known = stat.TwinTable{Pair: c.Pair(twinAt, baseAt), Trials: t.trials(),
			Residuals: map[string][]float64{}}, true
		for i, rest := range c.Residuals() {
			ofTwin.Residuals[string(rows[i].Role)+" "+rows[i].Arm] = rest
		}
		t.AA = RatioOf(ofTwin.Pair)
	}
	for k, i := range c.Order {
		r := rows[i]
		r.Rank = c.Ranks[i]
		if slices.ContainsFunc(c.Order, func(j int) bool { return j != i && c.Pair(i, j).Detectable != nil }) {
			r.Letters = c.Letters[i] // a letter says what was compared
		}
		if k > 0 {
			r.ToBest = RatioOf(c.Pair(i, c.Order[0]))
		}
	}
	for _, i := range c.Best {
		t.Best = append(t.Best, rows[i].Arm)
	}
	t.Group = groupOf(c, rows)
	for _, pair := range c.UndecidedBest() {
		t.undecided = append(t.undecided, rows[pair[1]].Arm)
	}
	if hasBaseline && baseline.Standing == Ranked {
		for i, r := range rows {
			if i != baseAt && (r.Standing == Ranked || r.Role == plan.AA) {
				r.ToBaseline = RatioOf(c.Pair(i, baseAt))
			}
		}
	}
	t.order()
	return ofTwin, known
}

// groupOf is the smallest group of several arms that lead a comparison, all of the best among them; nil:
// one arm leads alone, or none is significantly slower than all of the best.
func groupOf(c *stat.Comparison, rows []*Row) *Group {
	for size := len(c.Best); len(c.Best) > 1 && size < len(c.Order); size++ {
		g := Group{Low: math.Inf(1), Least: math.Inf(1)}
		apart := true
		for _, i := range c.Order[:size] {
			g.Arms = append(g.Arms, rows[i].Arm)
			for _, j := range c.Order[size:] {
				pair := c.Pair(i, j)
				if apart = apart && pair.Significant && pair.Value > 1 && pair.Interval != nil; !apart {
					break
				}
				g.Least, g.Most, g.Low = min(g.Least, pair.Value), max(g.Most, pair.Value), min(g.Low,
					pair.Interval.Low)
			}
		}
		if apart {
			return &g
		}
	}
	return nil
}

var standings = []Standing{Ranked, NotRanked, Failed, LeftOut, Refused, Reference}

// order puts the ranked rows first, best first, then the others, then the A/A arm and the null
// drivers.
func (t *Table) order() {
	slices.SortStableFunc(t.Rows, func(a, b *Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(standings, a.Standing), slices.Index(standings, b.Standing)),
			Earlier(a.Role != plan.Ceiling, b.Role != plan.Ceiling),
			t.faster(a, b),
			strings.Compare(a.Arm, b.Arm))
	})
}

// faster compares rates, the highest first; under open load the experiment set them.
func (t *Table) faster(a, b *Row) int {
	if t.Open {
		return 0
	}
	return cmp.Compare(RateOrZero(b), RateOrZero(a))
}

// RateOrZero returns the rate of a row; 0: it has none.
func RateOrZero(r *Row) float64 {
	if r.Rate == nil {
		return 0
	}
	return r.Rate.Value
}

func (t *Table) standing(r *Row) Standing {
	switch {
	case r.Role != plan.Measured && r.Rate != nil:
		return Reference
	case len(r.Reasons) == 0:
		return Ranked
	case r.leftOut(t.Phase) != "":
		return LeftOut
	case r.State == record.Refused:
		return Refused
	case r.State == record.Failed && r.Rate == nil:
		return Failed
	}
	return NotRanked
}

// reasonsAgainst says why a row can't be ranked; none: it can. taken are grave findings about it.
func (t *Table) reasonsAgainst(r *Row, taken []finding.Message) (reasons []Reason) {
	used := len(r.Used())
	if why := r.leftOut(t.Phase); why != "" {
		return []Reason{{Kind: ReasonLeftOut, Why: why}}
	}
	add := func(why Reason) { reasons = append(reasons, why) }
	for _, o := range r.latest() {
		switch o.State {
		case record.Failed, record.Refused:
			add(Reason{Kind: ReasonEnded, Cause: o.Trial.Cause, Message: o.Why()})
		case record.Marked:
			for _, m := range o.Marks {
				if !m.Machine() {
					add(Reason{Kind: ReasonMarked, Message: m.Message})
				}
			}
		}
	}
	switch {
	case used == 0 && len(reasons) == 0:
		add(Reason{Kind: ReasonNoTrialEnded})
	case len(reasons) == 0 && !r.HasGood() && r.State == record.Interrupted:
		add(Reason{Kind: ReasonInterrupted})
	case len(reasons) == 0 && !r.HasGood():
		add(Reason{Kind: ReasonMachine})
	}
	if r.Rate != nil && r.Rate.Blocks == 0 {
		add(Reason{Kind: ReasonNothingDone})
	}
	if idle := r.Count(func(o *Observation) bool { return *o.Rate <= 0 }); idle > 0 && idle < used && !t.Open {
		add(Reason{Kind: ReasonIdle, Blocks: idle, Of: used})
	}
	if short := r.Count((*Observation).quotaTooSoon); short > 0 && !t.Open {
		add(Reason{Kind: ReasonQuota, Blocks: short, Of: used})
	}
	if r.Unsettled() && !r.WholeWork {
		restless := r.Count((*Observation).Restless)
		add(Reason{Kind: ReasonUnsteady, Blocks: restless, Of: used, Course: series.Kind(r.Course.Kind)})
	}
	if faulty := r.Count((*Observation).Faulty); faulty > 0 {
		add(Reason{Kind: ReasonFaults, Blocks: faulty, Of: used})
	}
	if used > 0 && !t.FixedWork && t.RanOut() > VainShareMax {
		add(Reason{Kind: ReasonVain, Share: r.VainShare()})
	}
	if r.HarnessShare != nil && *r.HarnessShare >= HarnessBoundShare {
		add(Reason{Kind: ReasonHarness, Share: min(*r.HarnessShare, 1)})
	}
	if t.Open && used > 0 {
		add(Reason{Kind: ReasonOpenLoad})
	}
	if c := r.Capacity; c != nil && c.Outcome != capacity.Found {
		add(Reason{Kind: ReasonCapacity, Found: c.Outcome, Blocks: c.Blocks, Of: c.Of})
	}
	for _, m := range taken {
		add(Reason{Kind: ReasonGrave, Message: m})
	}
	return reasons
}

// quotaTooSoon reports whether the disk quota ended the phase so soon that it is only a beginning.
func (o *Observation) quotaTooSoon() bool {
	return o.Phase.EndedBy == record.EndedQuota && (o.Course == nil || len(o.Course.Seconds) < QuotaSamplesMin)
}

// Lead is what the ranks of a table come to.
type Lead int

const (
	leadNone      Lead = iota // no store has a rank
	LeadOpen                  // the experiment set the rate
	LeadOnly                  // one store has a rank
	LeadFastest               // one is significantly faster than all others
	LeadEqual                 // the best are shown to be tied
	LeadTied                  // the best are not significantly different
	LeadNoisy                 // nor would any difference of use to a reader have been
	LeadFewBlocks             // too few blocks to compare the best
)

// decide sets the table's lead, and of a tie the smallest factor that would have been found and the
// blocks that the best have in common.
func (t *Table) decide() {
	ranked := t.Ranked()
	t.Common = t.Run.Blocks()
	switch {
	case t.Open:
		t.Lead = LeadOpen
	case len(ranked) == 0:
		t.Lead = leadNone
	case len(ranked) == 1:
		t.Lead = LeadOnly
	case len(t.Best) == 1:
		t.Lead = LeadFastest
	default:
		t.decideTie(ranked)
	}
}

// decideTie says of arms that are not significantly different whether they are shown to be equal, and
// otherwise which difference would have been found.
func (t *Table) decideTie(ranked []*Row) {
	equal := true
	for _, r := range ranked[1:] {
		if !slices.Contains(t.Best, r.Arm) {
			continue
		}
		if r.ToBest == nil || r.ToBest.Detectable == nil {
			t.Lead, t.Common = LeadFewBlocks, 0
			if r.ToBest != nil {
				t.Common = r.ToBest.Blocks
			}
			return
		}
		equal = equal && r.ToBest.Equal
		t.Common = min(t.Common, r.ToBest.Blocks)
		t.Detectable = max(t.Detectable, *r.ToBest.Detectable)
	}
	switch {
	case equal:
		t.Lead = LeadEqual
	case t.Detectable > UselessDetectable:
		t.Lead = LeadNoisy
	default:
		t.Lead = LeadTied
	}
}

// UndecidedTie reports whether more or quieter blocks may tell the best apart.
func (t *Table) UndecidedTie() bool { return t.Lead == LeadTied || t.Lead == LeadNoisy }

// Inverse is the ratio the other way round.
func Inverse(r *Ratio) *Ratio {
	i := *r
	i.Value = 1 / r.Value
	if r.Low != nil {
		low, high := 1 / *r.High, 1 / *r.Low
		i.Low, i.High = &low, &high
	}
	return &i
}

// UselessDetectable is the factor from which on "differences above it" tells a reader nothing.
const UselessDetectable = 5

// LookOptions are those of a comparison whose outcome may have decided how many blocks there are:
// it was looked at after every block, so that each look has a level of its own.
func LookOptions(run *record.Run) stat.Options {
	s := run.Experiment.Schedule
	switch {
	case s.Detect > 0:
		return stat.Options{Level: stat.DetectLevel}
	case s.Smallest == 0:
		return stat.Options{}
	}
	return stat.Options{Tie: s.Smallest, Level: stat.LookLevel(s.Blocks, s.BlocksMax)}
}
