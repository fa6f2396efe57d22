package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// metric is something that is compared.
type metric struct {
	name          string
	lowerIsBetter bool
	resolution    float64
	of            func(*facts.Observation) float64 // NaN: not measured
	quantile      float64                          // of a latency; 0: another metric
}

// metrics are compared in this order. A comparison is inconclusive where the rate is; the others
// can show a regression, but their noise leaves nothing open.
var metrics = []metric{
	{name: "rate", of: facts.RateOfTrial},
	latencyAt("p50", 0.5),
	latencyAt("p99", 0.99),
	latencyAt("p99.9", 0.999),
	{name: "memory", lowerIsBetter: true, of: func(o *facts.Observation) float64 { return known(o.Phase.Process.MemoryBytes()) }},
	{name: "disk", lowerIsBetter: true, of: func(o *facts.Observation) float64 { return known(o.Phase.Sizes.DiskBytes) }},
}

func latencyAt(name string, q float64) metric {
	return metric{name, true, facts.BucketWidth, func(o *facts.Observation) float64 { return o.Latency(q) }, q}
}

// shownOf reports whether a row shows the metric: what its trials together refuse is not compared.
func (m metric) shownOf(r *facts.Row) bool { return m.quantile == 0 || r.At(m.quantile) != nil }

// atMost is the metric by what it is at most, for a row that does not show it because the harness began its
// operations late; ok is false where nothing is known of it.
func (m metric) atMost(r *facts.Row) (bound metric, ok bool) {
	if m.quantile == 0 || r.AtMostAt(m.quantile) == nil {
		return m, false
	}
	m.of = func(o *facts.Observation) float64 { return o.LatencyAtMost(m.quantile) }
	return m, true
}

func known(v *uint64) float64 {
	if v == nil {
		return math.NaN()
	}
	return float64(*v)
}

// comparer gathers the rows of a comparison and judges them together.
type comparer struct {
	made   *Comparison
	ratios []*stat.Ratio // of the rows; nil: a series of runs
	lower  []bool        // of the rows: lower is better
	arms   bool          // the sides are two arms of one run

	earlier []float64 // of [stat.BetweenRuns]
	apart   []string  // in what two machines differ, so that their runs can't be compared
}

// Arms compares two arms of one run, table by table, over the blocks that both ran in.
func Arms(run *record.Run, old, new string, criteria ...Criterion) (*Comparison, error) {
	if err := facts.Check(run); err != nil {
		return nil, fmt.Errorf("run %s: %w", run.Directory, err)
	}
	tables, _ := detect.Judge(run.ByGroup())
	c := newComparer([]string{old, new}, criteria)
	c.arms = true
	both := false
	for _, t := range tables {
		a, b := t.Row(plan.Measured, old), t.Row(plan.Measured, new)
		if a == nil || b == nil {
			continue
		}
		both = true
		where := Skipped{Arm: new, Cell: cellName(t), Phase: t.Phase}
		if !c.canCompare(t, []*facts.Row{a, b}, where) {
			continue
		}
		rows := t.Comparable()
		i, j := slices.Index(rows, b), slices.Index(rows, a)
		for _, m := range metrics {
			if m.name == "rate" && t.Open || !m.shownOf(a) || !m.shownOf(b) {
				continue
			}
			table := stat.Compare(t.Values(rows, m.of), optionsFor(t, m, rows))
			if r := table.Pair(i, j); r.Value > 0 {
				c.add(t, b.Arm, m, []stat.Estimate{table.Arms[j], table.Arms[i]}, r)
			} else if m.name == "rate" {
				where.Why = finding.New(finding.CompareNoCommonBlock)
				c.skip(where)
			}
		}
	}
	if !both {
		var names []string
		for _, s := range run.Experiment.Stores {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("the run has no cell with both arms %q and %q: expected two of %s", old,
			new, format.List(names))
	}
	return c.judge(), nil
}

// optionsFor are those under which a metric of some rows of the table is compared.
func optionsFor(t *facts.Table, m metric, rows []*facts.Row) stat.Options {
	o := stat.Options{LowerIsBetter: m.lowerIsBetter, Resolution: m.resolution, References: facts.References(rows)}
	if m.name == "rate" {
		o.Twins = t.Twins
	}
	return o
}

// cellName is the cell's label in a comparison.
func cellName(t *facts.Table) string { return t.Parameters.Label(&t.Run.Experiment) }

// Options are how runs are compared. The zero value is of runs of one machine, without a history.
type Options struct {
	AcrossMachines bool // runs of two machines are compared as they are: ratios are those of the machines as well
	// Earlier is what earlier pairs of runs of this machine moved by, as [stat.BetweenRuns] takes it.
	Earlier []float64
}

// Runs compares runs, oldest first, table by table and arm by arm, where cell, phase and arm
// are the same; more than two are taken as a series, in which changes are found. Their blocks did
// not run side by side, so that what changed on the machine in between is in every ratio. Those of
// another machine decide nothing.
func Runs(runs []*record.Run, o Options, criteria ...Criterion) (*Comparison, error) {
	if len(runs) < 2 {
		return nil, errors.New("a comparison needs at least two runs")
	}
	if len(runs) > 2 {
		runs = slices.SortedStableFunc(slices.Values(runs),
			func(a, b *record.Run) int { return a.Header.Created.Compare(b.Header.Created) })
	}
	var sides []string
	var tables [][]*facts.Table
	for i, run := range runs {
		if err := facts.Check(run); err != nil {
			return nil, fmt.Errorf("run %s: %w", run.Directory, err)
		}
		for _, other := range runs[:i] {
			if other.Header.ID == run.Header.ID && other.Directory == run.Directory && run.Directory != "" {
				return nil, fmt.Errorf("%s is given twice: expected different runs", run.Directory)
			}
		}
		ranked, _ := detect.Judge(run.ByGroup())
		sides, tables = append(sides, cmp.Or(run.Directory, run.Header.ID)), append(tables, ranked)
	}
	c := newComparer(sides, criteria)
	c.earlier = o.Earlier
	if len(o.Earlier) > 0 {
		c.made.Notes = append(c.made.Notes, finding.New(finding.CompareEarlierParams{Pairs: len(o.Earlier),
			Spread: rootMean(o.Earlier)}))
	}
	if differ := c.noteDifferences(runs); !o.AcrossMachines {
		c.apart = differ
	}
	common := false
	for _, t := range tables[0] {
		like, ok := c.likeTables(t, tables)
		if ok {
			common = true
			c.addTables(like)
		}
	}
	last := tables[len(tables)-1]
	for _, t := range last {
		if _, ok := alikeIn(t, tables[0]); !ok {
			c.skip(Skipped{Cell: cellName(t), Phase: t.Phase, Why: finding.New(finding.CompareOnlyNew)})
		}
	}
	if !common {
		return nil, nothingInCommon(&runs[0].Experiment, &runs[len(runs)-1].Experiment)
	}
	return c.judge(), nil
}

// nothingInCommon says in what two experiments differ so that no figure of one has its like in the
// other. Cells that share each value, but no combination of them, have no single difference to name.
func nothingInCommon(a, b *experiment.Experiment) error {
	var ways []string
	unlike := func(what string, of, with []string) {
		shared := slices.ContainsFunc(of, func(value string) bool { return slices.Contains(with, value) })
		if !shared && len(of) > 0 && len(with) > 0 {
			ways = append(ways, what+format.ListMax(of, 3)+" against "+format.ListMax(with, 3))
		}
	}
	for _, axis := range experiment.Axes() {
		unlike("", valuesOf(axis, a), valuesOf(axis, b))
	}
	unlike("phases ", measuredPhases(a), measuredPhases(b))
	where := ""
	if len(ways) > 0 {
		where = " (" + strings.Join(ways, "; ") + ")"
	}
	return fmt.Errorf("the runs have no cell and phase in common%s: nothing can be compared", where)
}

// valuesOf returns the values that an axis has in an experiment, each once, in the order of its cells.
func valuesOf(axis experiment.Axis, e *experiment.Experiment) (values []string) {
	for _, cell := range e.Cells {
		if value := axis.Text(cell); !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

func measuredPhases(e *experiment.Experiment) (names []string) {
	for _, p := range e.Phases {
		if !p.Load {
			names = append(names, p.Name)
		}
	}
	return names
}

func newComparer(sides []string, criteria []Criterion) *comparer {
	return &comparer{made: &Comparison{Version: Version, Sides: sides, Criteria: slices.Clone(criteria)}}
}

// skip notes what is not compared: phases of a cell that have the same reason are one line.
func (c *comparer) skip(s Skipped) {
	for i := range c.made.Skipped {
		o := &c.made.Skipped[i]
		if o.Arm == s.Arm && o.Cell == s.Cell && finding.Text(o.Why) == finding.Text(s.Why) {
			o.Phase += ", " + s.Phase
			return
		}
	}
	c.made.Skipped = append(c.made.Skipped, s)
}

// alikeIn finds the table of the same parameters and phase.
func alikeIn(t *facts.Table, tables []*facts.Table) (*facts.Table, bool) {
	alike := func(o *facts.Table) bool {
		return o.Parameters.Same(t.Parameters) && o.Phase == t.Phase && o.Open == t.Open
	}
	at := slices.IndexFunc(tables, func(o *facts.Table) bool { return alike(o) && o.Class == t.Class })
	if at < 0 { // an arm is compared with itself, whether its class was checked or not
		at = slices.IndexFunc(tables, alike)
	}
	if at < 0 {
		return nil, false
	}
	return tables[at], true
}

// likeTables finds the table of each run that is like one of the first; false: one run has none, or
// did other work in it.
func (c *comparer) likeTables(t *facts.Table, tables [][]*facts.Table) (like []*facts.Table, ok bool) {
	where := Skipped{Cell: cellName(t), Phase: t.Phase}
	for i, of := range tables {
		other, found := alikeIn(t, of)
		if !found {
			where.Why = finding.New(finding.CompareOnlyOld)
			if len(tables) > 2 {
				where.Why = finding.New(finding.CompareNotInParams{Side: c.made.Sides[i]})
			}
			c.skip(where)
			return nil, false
		}
		if differ := otherWorkIn(t, other); len(differ) > 0 {
			where.Why = finding.New(finding.CompareOtherWorkParams{Differences: differ})
			c.skip(where)
			return nil, true
		}
		like = append(like, other)
	}
	return like, true
}

// addTables compares the arms of like tables, the oldest first.
func (c *comparer) addTables(tables []*facts.Table) {
	if len(tables) == 0 {
		return
	}
	first := tables[0]
	var arms []string
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role == plan.Measured && !slices.Contains(arms, r.Arm) {
				arms = append(arms, r.Arm)
			}
		}
	}
	var compared []string
	for _, arm := range arms {
		var rows []*facts.Row
		for _, t := range tables {
			rows = append(rows, t.Row(plan.Measured, arm))
		}
		if c.canCompare(first, rows, Skipped{Arm: arm, Cell: cellName(first), Phase: first.Phase}) {
			compared = append(compared, arm)
		}
	}
	for _, m := range metrics {
		if m.name == "rate" && first.Open {
			continue
		}
		c.addMetric(tables, compared, m)
	}
}

// addMetric compares one metric of some arms of like tables.
func (c *comparer) addMetric(tables []*facts.Table, arms []string, m metric) {
	if len(arms) == 0 {
		return
	}
	var values [][][]float64 // [side][arm][block]
	options := stat.Options{LowerIsBetter: m.lowerIsBetter, Resolution: m.resolution}
	for _, t := range tables {
		var rows []*facts.Row
		for _, arm := range arms {
			rows = append(rows, t.Row(plan.Measured, arm))
		}
		values = append(values, t.Values(rows, m.of))
		if twins := optionsFor(t, m, rows).Twins; twins.Widen() > options.Twins.Widen() {
			options.Twins = twins
		}
	}
	if m.name == "rate" || m.quantile > 0 { // bytes do not follow what the machine does meanwhile
		options.Between = c.betweenRuns(tables[0], tables[len(tables)-1])
	}
	estimates := make([][]stat.Estimate, len(arms))
	shown := make([]bool, len(arms))
	for _, t := range tables {
		rows := t.Comparable() // those not compared too, as in the report: their blocks count
		of := stat.Estimates(t.Values(rows, m.of), optionsFor(t, m, rows))
		for i, arm := range arms {
			r := t.Row(plan.Measured, arm)
			estimates[i] = append(estimates[i], of[slices.Index(rows, r)])
			shown[i] = m.shownOf(r) && (t == tables[0] || shown[i])
		}
	}
	for i, r := range stat.CompareUnpaired(values[0], values[len(values)-1], options) {
		if r.Value == 0 || !shown[i] {
			continue
		}
		c.add(tables[0], arms[i], m, estimates[i], r)
		if len(tables) > 2 {
			c.addChanges(estimates[i])
		}
	}
}

// rootMean is the root of the mean of squares.
func rootMean(squares []float64) float64 { return math.Sqrt(stat.Mean(squares)) }

// betweenRuns is how far two runs differ beyond what their blocks show: by earlier pairs of runs, and by what is
// the same in both, which is the null drivers, and how far the A/A arm is from its baseline.
func (c *comparer) betweenRuns(old, new *facts.Table) stat.Between {
	var controls []stat.Control
	for _, ceiling := range old.Ceilings {
		if a, b := old.Row(plan.Ceiling, ceiling.Arm), new.Row(plan.Ceiling, ceiling.Arm); a != nil && b != nil {
			controls = append(controls, stat.Control{Old: ratesOf(old, a), New: ratesOf(new, b)})
		}
	}
	return stat.BetweenRuns(c.earlier, append(controls, stat.Control{Old: twinRatios(old), New: twinRatios(new)})...)
}

func ratesOf(t *facts.Table, r *facts.Row) []float64 {
	return t.Values([]*facts.Row{r}, facts.RateOfTrial)[0]
}

// twinRatios are the rates of the A/A arm ÷ those of its baseline, by block; none without one.
func twinRatios(t *facts.Table) (ratios []float64) {
	twin, baseline := t.Row(plan.AA, ""), t.Row(plan.Measured, t.Baseline)
	if twin == nil || baseline == nil {
		return nil
	}
	of := ratesOf(t, baseline)
	for block, rate := range ratesOf(t, twin) {
		if block < len(of) {
			ratios = append(ratios, rate/of[block])
		}
	}
	return ratios
}

// add adds a row; it is judged with all others.
func (c *comparer) add(t *facts.Table, arm string, m metric, of []stat.Estimate, r stat.Ratio) {
	row := ComparisonRow{Arm: arm, Cell: cellName(t), Class: t.Class, Phase: t.Phase, Metric: m.name}
	for _, e := range of {
		row.Values = append(row.Values, facts.EstimateOf(e))
	}
	c.made.Rows = append(c.made.Rows, row)
	c.ratios, c.lower = append(c.ratios, &r), append(c.lower, m.lowerIsBetter)
}

// addChanges finds the change points of the last row's series of runs.
func (c *comparer) addChanges(of []stat.Estimate) {
	var values []float64
	for _, e := range of {
		values = append(values, e.Value)
	}
	row := &c.made.Rows[len(c.made.Rows)-1]
	changes := stat.Changes(values, stat.DifferenceMin)
	for i, change := range changes {
		from, to := 0, len(values)
		if i > 0 {
			from = changes[i-1].At
		}
		if i+1 < len(changes) {
			to = changes[i+1].At
		}
		row.Changes = append(row.Changes, Change{Side: change.At,
			Before: geometricMean(values[from:change.At]), After: geometricMean(values[change.At:to])})
	}
}

func geometricMean(values []float64) float64 {
	var logs []float64
	for _, v := range values {
		if v > 0 {
			logs = append(logs, math.Log(v))
		}
	}
	return math.Exp(stat.Mean(logs))
}

// canCompare reports whether all sides have a figure. What no side supports is no part of a
// comparison; what one side lacks is skipped, with the reason that its row has.
func (c *comparer) canCompare(t *facts.Table, rows []*facts.Row, where Skipped) bool {
	lacking := 0
	for i, r := range rows {
		var why finding.Message
		switch {
		case r == nil:
			why = finding.New(finding.CompareNoArm)
		case r.Standing == facts.Ranked || t.Open && r.HasGood():
			continue
		case r.HasGood() && t.Work.Operations > 0 && len(r.Reasons) == 1 && r.Lacks(facts.ReasonUnsteady):
			continue // a rate of all the work needs no steady state
		case len(r.Reasons) > 0:
			why = detect.ReasonMessage(r.Reasons[0])
		}
		lacking++
		if where.Why.Code == "" {
			where.Why = finding.New(finding.CompareNoFigureParams{Side: c.made.Sides[i], Why: finding.Text(why)})
		}
	}
	if lacking == 0 {
		return true
	}
	refused := func(r *facts.Row) bool {
		return r != nil && (r.Standing == facts.Refused || r.Standing == facts.LeftOut)
	}
	if lacking < len(rows) || !refused(rows[0]) || !refused(rows[len(rows)-1]) {
		c.skip(where)
	}
	return false
}

// first says whether a metric is what the comparison is for: one that --fail-if names, else the rate.
func (c *comparer) first(metric string) bool {
	if len(c.made.Criteria) == 0 {
		return metric == "rate"
	}
	return slices.ContainsFunc(c.made.Criteria, func(m Criterion) bool { return m.Metric == metric })
}

// correct judges what the comparison is for at the full level, the other figures in a family of
// their own: five more figures an arm would otherwise cost the rate its power.
func (c *comparer) correct() {
	var first, others []*stat.Ratio
	for i, r := range c.ratios {
		if c.first(c.made.Rows[i].Metric) {
			first = append(first, r)
		} else {
			others = append(others, r)
		}
	}
	stat.CorrectFirst(first, others, stat.DifferenceMin, stat.Options{})
}

const (
	// decidingMin is the fewest blocks that can decide anything.
	decidingMin = 3
	// decidingMost is how many blocks are proposed at most: where these would not do, the noise must
	// go first.
	decidingMost = 100
)

// undecided is a message of a comparison that is not decided, with the number of blocks that would
// decide it; 0: nothing is open for lack of blocks.
func (c *comparer) deciding(blocks int) finding.Deciding {
	runs := 2
	if c.arms || len(c.made.Sides) == 1 {
		runs = 1
	}
	return finding.Deciding{Skipped: len(c.made.Skipped), Blocks: blocks, TooMany: blocks == decidingMost, Runs: runs}
}

// judge decides each row, and then the whole.
func (c *comparer) judge() *Comparison {
	c.correct()
	blocks := 0 // that would decide the open rates
	var worse, better, open, rates int
	for i := range c.made.Rows {
		row := &c.made.Rows[i]
		row.Ratio = facts.RatioOf(*c.ratios[i])
		row.Outcome, row.Why = c.outcome(i)
		rate := row.Metric == "rate"
		if rate {
			rates++
		}
		switch row.Outcome {
		case Regression:
			worse++
		case Improvement:
			better++
		case Inconclusive:
			if rate {
				open++
			}
			if rate {
				blocks = max(blocks, decidingMin, c.ratios[i].Blocks(stat.TieMargin, decidingMost))
			}
		}
	}
	m := c.made
	rows := len(m.Rows)
	switch {
	case len(c.apart) > 0:
		for i := range m.Rows {
			m.Rows[i].Outcome, m.Rows[i].Why = Inconclusive, finding.New(finding.CompareUndecided)
		}
		m.Outcome, m.Verdict = Inconclusive, finding.New(finding.CompareOtherMachineParams{What: c.apart})
	case len(m.Criteria) > 0:
		c.judgeCriteria()
	case worse > 0 && c.arms:
		m.Outcome, m.Verdict = Regression, finding.New(c.between("compare-result slower", Regression, Improvement))
	case worse > 0:
		m.Outcome, m.Verdict = Regression, finding.New(finding.CompareRegressionParams{Worse: worse,
			Of: rows, Places: c.placesWith(Regression)})
	case rows == 0:
		m.Outcome, m.Verdict = Inconclusive, finding.New(finding.CompareNothing)
	case open > 0 || len(m.Skipped) > 0:
		m.Outcome, m.Verdict = Inconclusive, finding.New(finding.CompareInconclusiveParams{Open: open,
			Of: rates, Deciding: c.deciding(blocks)})
	case better > 0 && c.arms:
		m.Outcome, m.Verdict = Improvement, finding.New(c.between("compare-result faster", Improvement, Regression))
	case better > 0:
		m.Outcome, m.Verdict = Improvement, finding.New(finding.CompareImprovementParams{Better: better,
			Of: rows, Places: c.placesWith(Improvement)})
	case c.arms:
		p := c.between("compare-result not-slower", Regression, Improvement)
		p.Margin = stat.TieMargin
		m.Outcome, m.Verdict = NoRegression, finding.New(p)
	default:
		m.Outcome, m.Verdict = NoRegression, finding.New(finding.CompareNoneParams{Margin: stat.TieMargin})
	}
	return m
}

// outcome decides one row. A regression must be significant among all rows. No regression is shown
// by an interval that leaves no room for one of the margin of equivalence.
func (c *comparer) outcome(i int) (Outcome, finding.Message) {
	r, lower := c.ratios[i], c.lower[i]
	if r.Interval == nil {
		return Inconclusive, finding.New(finding.CompareOneBlock)
	}
	worst := r.Interval.Low
	if lower {
		worst = 1 / r.Interval.High
	}
	worse := (r.Value < 1) != lower
	switch {
	case r.Significant && worse:
		return Regression, finding.New(finding.CompareWorse)
	case r.Significant:
		return Improvement, finding.New(finding.CompareBetter)
	case worst > 1/(1+stat.TieMargin):
		return NoRegression, finding.New(finding.CompareNotWorse)
	}
	return Inconclusive, finding.New(finding.CompareUndecided)
}

// between says how the second of two arms of a run stands to the first: two stores are slower or
// faster than each other, and no regression.
func (c *comparer) between(code finding.Code, outcome, other Outcome) finding.CompareArmsParams {
	larger := false
	for _, row := range c.made.Rows {
		larger = larger || row.Outcome == outcome && (row.Metric == "memory" || row.Metric == "disk")
	}
	return finding.CompareArmsParams{Code: code, Old: c.made.Sides[0], New: c.made.Sides[1], Larger: larger,
		Places: c.placesWith(outcome), Others: c.placesWith(other)}
}

// placesWith names the rows of an outcome.
func (c *comparer) placesWith(outcome Outcome) (places []string) {
	for _, row := range c.made.Rows {
		if row.Outcome == outcome {
			place := finding.ComparePlaceParams{Metric: row.Metric, Phase: row.Phase, Class: row.Class}
			if c.arms {
				place.Ratio = row.Ratio.Value
			} else {
				place.Arm = row.Arm
			}
			places = append(places, finding.Text(finding.New(place)))
		}
	}
	return places
}

// noteDifferences says what else than the stores is not the same in the first and the last run, and
// returns what makes them runs of two machines: the processor, their number and the memory. Kernels,
// devices and file systems are changed on one machine.
func (c *comparer) noteDifferences(runs []*record.Run) (apart []string) {
	note := func(p finding.Parameters) {
		c.made.Notes = append(c.made.Notes, finding.New(p))
	}
	old, new := runs[0], runs[len(runs)-1]
	if old.Header.Hash != new.Header.Hash {
		note(finding.CompareExperimentsDiffer)
	}
	a, b := old.Environment, new.Environment
	var differ []string
	for _, part := range []struct {
		what string
		same bool
	}{
		{"processor", a.CPU == b.CPU && a.CPUs == b.CPUs}, {"memory", a.MemoryBytes == b.MemoryBytes}, {"kernel", a.Kernel == b.Kernel},
		{"device", a.Device == b.Device}, {"file system", a.Filesystem == b.Filesystem && a.Mount == b.Mount},
	} {
		if !part.same {
			differ = append(differ, part.what)
			if part.what == "processor" || part.what == "memory" {
				apart = append(apart, part.what)
			}
		}
	}
	differ = append(differ, host.MachineChanges(a, b)...)
	if len(differ) > 0 {
		note(finding.CompareMachinesDifferParams{What: differ})
	}
	if a.Assay != b.Assay {
		note(finding.CompareAssayDiffersParams{Old: a.Assay, New: b.Assay})
	}
	for _, x := range old.Experiment.Stores {
		for _, y := range new.Experiment.Stores {
			if x.Name == y.Name && (x.Driver != y.Driver || !maps.Equal(x.AllOptions(), y.AllOptions())) {
				note(finding.CompareArmDiffersParams{Arm: x.Name, Driver: x.Driver != y.Driver})
			}
		}
	}
	note(finding.CompareUnpaired)
	return apart
}
