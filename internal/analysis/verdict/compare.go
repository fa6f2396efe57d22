package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"assay/internal/analysis/compare"
	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// metric is something that is compared.
type metric struct {
	name          string
	lowerIsBetter bool
	resolution    float64
	of            func(*observation) float64 // NaN: not measured
	quantile      float64                    // of a latency; 0: another metric
}

// metrics are compared in this order. A comparison is inconclusive where the rate is; the others
// can show a regression, but their noise leaves nothing open.
var metrics = []metric{
	{name: "rate", of: rateOfTrial},
	latencyAt("p50", 0.5),
	latencyAt("p99", 0.99),
	latencyAt("p99.9", 0.999),
	{name: "memory", lowerIsBetter: true, of: func(o *observation) float64 { return known(o.phase.Process.MemoryBytes()) }},
	{name: "disk", lowerIsBetter: true, of: func(o *observation) float64 { return known(o.phase.Sizes.DiskBytes) }},
}

func latencyAt(name string, q float64) metric {
	return metric{name, true, bucketWidth, func(o *observation) float64 { return o.latency(q) }, q}
}

// shownOf reports whether a row shows the metric: what its trials together refuse is not compared.
func (m metric) shownOf(r *row) bool { return m.quantile == 0 || r.At(m.quantile) != nil }

func known(v *uint64) float64 {
	if v == nil {
		return math.NaN()
	}
	return float64(*v)
}

// comparer gathers the rows of a comparison and judges them together.
type comparer struct {
	made   *compare.Comparison
	ratios []*stat.Ratio // of the rows; nil: a series of runs
	lower  []bool        // of the rows: lower is better
	arms   bool          // the sides are two arms of one run
}

// CompareArms compares two arms of one run, table by table, over the blocks that both ran in.
func CompareArms(run *record.Run, old, new string, criteria ...compare.Criterion) (*compare.Comparison, error) {
	if err := check(run); err != nil {
		return nil, fmt.Errorf("run %s: %w", run.Directory, err)
	}
	tables, _ := judged(run.ByGroup())
	c := newComparer([]string{old, new}, criteria)
	c.arms = true
	both := false
	for _, t := range tables {
		a, b := t.row(plan.Measured, old), t.row(plan.Measured, new)
		if a == nil || b == nil {
			continue
		}
		both = true
		where := compare.Skipped{Arm: new, Cell: t.name(), Phase: t.Phase}
		if !c.canCompare(t, []*row{a, b}, where) {
			continue
		}
		rows := t.comparable()
		i, j := slices.Index(rows, b), slices.Index(rows, a)
		for _, m := range metrics {
			if m.name == "rate" && t.Open || !m.shownOf(a) || !m.shownOf(b) {
				continue
			}
			table := stat.Compare(t.values(rows, m.of), t.optionsFor(m, rows))
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
		return nil, fmt.Errorf("the run has no cell with both arms %q and %q: expected two of %s", old, new, format.List(names))
	}
	return c.judge(), nil
}

// optionsFor are those under which a metric of some rows of the table is compared.
func (t *table) optionsFor(m metric, rows []*row) stat.Options {
	o := stat.Options{LowerIsBetter: m.lowerIsBetter, Resolution: m.resolution}
	for i, r := range rows {
		if r.role != plan.Measured {
			o.References = append(o.References, i)
		}
	}
	if m.name == "rate" {
		o.Widen = t.twins.Widen()
	}
	return o
}

// name is the cell's label in a comparison.
func (t *table) name() string { return t.parameters.Label(&t.run.Experiment) }

// CompareRuns compares runs, oldest first, table by table and arm by arm, where cell, phase and arm
// are the same; more than two are taken as a series, in which changes are found. Their blocks did
// not run side by side, so that what changed on the machine in between is in every ratio.
func CompareRuns(runs []*record.Run, criteria ...compare.Criterion) (*compare.Comparison, error) {
	if len(runs) < 2 {
		return nil, errors.New("a comparison needs at least two runs")
	}
	if len(runs) > 2 {
		runs = slices.SortedStableFunc(slices.Values(runs), func(a, b *record.Run) int { return a.Header.Created.Compare(b.Header.Created) })
	}
	var sides []string
	var tables [][]*table
	for i, run := range runs {
		if err := check(run); err != nil {
			return nil, fmt.Errorf("run %s: %w", run.Directory, err)
		}
		for _, other := range runs[:i] {
			if other.Header.ID == run.Header.ID && other.Directory == run.Directory && run.Directory != "" {
				return nil, fmt.Errorf("%s is given twice: expected different runs", run.Directory)
			}
		}
		ranked, _ := judged(run.ByGroup())
		sides, tables = append(sides, cmp.Or(run.Directory, run.Header.ID)), append(tables, ranked)
	}
	c := newComparer(sides, criteria)
	c.noteDifferences(runs)
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
			c.skip(compare.Skipped{Cell: t.name(), Phase: t.Phase, Why: finding.New(finding.CompareOnlyNew)})
		}
	}
	if !common {
		return nil, errors.New("the runs have no cell and phase in common: nothing can be compared")
	}
	return c.judge(), nil
}

func newComparer(sides []string, criteria []compare.Criterion) *comparer {
	return &comparer{made: &compare.Comparison{Version: compare.Version, Sides: sides, Criteria: slices.Clone(criteria)}}
}

// skip notes what is not compared: phases of a cell that have the same reason are one line.
func (c *comparer) skip(s compare.Skipped) {
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
func alikeIn(t *table, tables []*table) (*table, bool) {
	alike := func(o *table) bool { return o.parameters == t.parameters && o.Phase == t.Phase && o.Open == t.Open }
	at := slices.IndexFunc(tables, func(o *table) bool { return alike(o) && o.Class == t.Class })
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
func (c *comparer) likeTables(t *table, tables [][]*table) (like []*table, ok bool) {
	where := compare.Skipped{Cell: t.name(), Phase: t.Phase}
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
func (c *comparer) addTables(tables []*table) {
	if len(tables) == 0 {
		return
	}
	first := tables[0]
	var arms []string
	for _, t := range tables {
		for _, r := range t.rows {
			if r.role == plan.Measured && !slices.Contains(arms, r.Arm) {
				arms = append(arms, r.Arm)
			}
		}
	}
	var compared []string
	for _, arm := range arms {
		var rows []*row
		for _, t := range tables {
			rows = append(rows, t.row(plan.Measured, arm))
		}
		if c.canCompare(first, rows, compare.Skipped{Arm: arm, Cell: first.name(), Phase: first.Phase}) {
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
func (c *comparer) addMetric(tables []*table, arms []string, m metric) {
	if len(arms) == 0 {
		return
	}
	var values [][][]float64 // [side][arm][block]
	options := stat.Options{LowerIsBetter: m.lowerIsBetter, Resolution: m.resolution}
	for _, t := range tables {
		var rows []*row
		for _, arm := range arms {
			rows = append(rows, t.row(plan.Measured, arm))
		}
		values = append(values, t.values(rows, m.of))
		options.Widen = max(options.Widen, t.optionsFor(m, rows).Widen)
	}
	estimates := make([][]stat.Estimate, len(arms))
	shown := make([]bool, len(arms))
	for _, t := range tables {
		rows := t.comparable() // those not compared too, as in the report: their blocks count
		of := stat.Estimates(t.values(rows, m.of), t.optionsFor(m, rows))
		for i, arm := range arms {
			r := t.row(plan.Measured, arm)
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

// add adds a row; it is judged with all others.
func (c *comparer) add(t *table, arm string, m metric, of []stat.Estimate, r stat.Ratio) {
	row := compare.ComparisonRow{Arm: arm, Cell: t.name(), Class: t.Class, Phase: t.Phase, Metric: m.name}
	for _, e := range of {
		row.Values = append(row.Values, estimateOf(e))
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
		row.Changes = append(row.Changes, compare.Change{Side: change.At, Before: geometricMean(values[from:change.At]), After: geometricMean(values[change.At:to])})
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
func (c *comparer) canCompare(t *table, rows []*row, where compare.Skipped) bool {
	lacking := 0
	for i, r := range rows {
		var why finding.Message
		switch {
		case r == nil:
			why = finding.New(finding.CompareNoArm)
		case r.Standing == facts.Ranked || t.Open && r.hasGood():
			continue
		case r.hasGood() && t.work.Operations > 0 && len(r.Reasons) == 1 && r.lacks(reasonUnsteady):
			continue // a rate of all the work needs no steady state
		case len(r.Reasons) > 0:
			why = reasonMessage(r.Reasons[0])
		}
		lacking++
		if where.Why.Code == "" {
			where.Why = finding.New(finding.CompareNoFigureParams{Side: c.made.Sides[i], Why: finding.Text(why)})
		}
	}
	if lacking == 0 {
		return true
	}
	refused := func(r *row) bool {
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
	return slices.ContainsFunc(c.made.Criteria, func(m compare.Criterion) bool { return m.Metric == metric })
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
// decide it; 0: nothing is open for want of blocks.
func (c *comparer) deciding(blocks int) finding.Deciding {
	runs := 2
	if c.arms {
		runs = 1
	}
	return finding.Deciding{Skipped: len(c.made.Skipped), Blocks: blocks, TooMany: blocks == decidingMost, Runs: runs}
}

// judge decides each row, and then the whole.
func (c *comparer) judge() *compare.Comparison {
	c.correct()
	blocks := 0 // that would decide the open rates
	var worse, better, open, rates int
	for i := range c.made.Rows {
		row := &c.made.Rows[i]
		row.Ratio = ratioOf(*c.ratios[i])
		row.Outcome, row.Why = c.outcome(i)
		rate := row.Metric == "rate"
		if rate {
			rates++
		}
		switch row.Outcome {
		case compare.Regression:
			worse++
		case compare.Improvement:
			better++
		case compare.Inconclusive:
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
	case len(m.Criteria) > 0:
		c.judgeCriteria()
	case worse > 0 && c.arms:
		m.Outcome, m.Verdict = compare.Regression, finding.New(c.between("compare-slower", compare.Regression, compare.Improvement))
	case worse > 0:
		m.Outcome, m.Verdict = compare.Regression, finding.New(finding.CompareRegressionParams{Worse: worse, Of: rows, Places: c.placesWith(compare.Regression)})
	case rows == 0:
		m.Outcome, m.Verdict = compare.Inconclusive, finding.New(finding.CompareNothing)
	case open > 0 || len(m.Skipped) > 0:
		m.Outcome, m.Verdict = compare.Inconclusive, finding.New(finding.CompareInconclusiveParams{Open: open, Of: rates, Deciding: c.deciding(blocks)})
	case better > 0 && c.arms:
		m.Outcome, m.Verdict = compare.Improvement, finding.New(c.between("compare-faster", compare.Improvement, compare.Regression))
	case better > 0:
		m.Outcome, m.Verdict = compare.Improvement, finding.New(finding.CompareImprovementParams{Better: better, Of: rows, Places: c.placesWith(compare.Improvement)})
	case c.arms:
		p := c.between("compare-not-slower", compare.Regression, compare.Improvement)
		p.Margin = stat.TieMargin
		m.Outcome, m.Verdict = compare.NoRegression, finding.New(p)
	default:
		m.Outcome, m.Verdict = compare.NoRegression, finding.New(finding.CompareNoneParams{Of: rows, Margin: stat.TieMargin})
	}
	return m
}

// outcome decides one row. A regression must be significant among all rows. No regression is shown
// by an interval that leaves no room for one of the margin of equivalence.
func (c *comparer) outcome(i int) (compare.Outcome, finding.Message) {
	r, lower := c.ratios[i], c.lower[i]
	if r.Interval == nil {
		return compare.Inconclusive, finding.New(finding.CompareOneBlock)
	}
	worst := r.Interval.Low
	if lower {
		worst = 1 / r.Interval.High
	}
	worse := (r.Value < 1) != lower
	switch {
	case r.Significant && worse:
		return compare.Regression, finding.New(finding.OutcomeParams{Code: "compare-worse", Ratio: r.Value})
	case r.Significant:
		return compare.Improvement, finding.New(finding.OutcomeParams{Code: "compare-better", Ratio: r.Value})
	case worst > 1/(1+stat.TieMargin):
		return compare.NoRegression, finding.New(finding.CompareNotWorseParams{Margin: stat.TieMargin})
	}
	return compare.Inconclusive, finding.New(finding.CompareWideParams{Low: r.Interval.Low, High: r.Interval.High})
}

// between says how the second of two arms of a run stands to the first: two stores are slower or
// faster than each other, and no regression.
func (c *comparer) between(code finding.Code, outcome, other compare.Outcome) finding.CompareArmsParams {
	larger := false
	for _, row := range c.made.Rows {
		larger = larger || row.Outcome == outcome && (row.Metric == "memory" || row.Metric == "disk")
	}
	return finding.CompareArmsParams{Code: code, Old: c.made.Sides[0], New: c.made.Sides[1], Larger: larger,
		Places: c.placesWith(outcome), Others: c.placesWith(other)}
}

// placesWith names the rows of an outcome.
func (c *comparer) placesWith(outcome compare.Outcome) (places []string) {
	for _, row := range c.made.Rows {
		if row.Outcome == outcome {
			place := fmt.Sprintf("%s of %s in %s (%s)", row.Metric, row.Arm, row.Phase, row.Class)
			if c.arms {
				place = fmt.Sprintf("%s in %s (%s) %s", row.Metric, row.Phase, row.Class, format.Factor(row.Ratio.Value))
			}
			places = append(places, place)
		}
	}
	return places
}

// noteDifferences says what else than the stores is not the same in the first and the last run.
func (c *comparer) noteDifferences(runs []*record.Run) {
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
		}
	}
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
}
