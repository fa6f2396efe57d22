package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
)

// Limits holds the figures of one run against absolute thresholds: of each store in each table those
// that a threshold names. The comparison has one side and no ratios.
func Limits(run *record.Run, criteria ...Criterion) (*Comparison, error) {
	for _, criterion := range criteria {
		if !criterion.Absolute {
			return nil, fmt.Errorf("threshold %q is of a ratio, and one run has none: expected a limit, as in 'p99 > 10ms' or 'rate < 20k'",
				criterion.Text)
		}
	}
	if len(criteria) == 0 {
		return nil, errors.New("one run is held against thresholds: expected --fail-if, as in 'p99 > 10ms'")
	}
	if err := facts.Check(run); err != nil {
		return nil, fmt.Errorf("run %s: %w", run.Directory, err)
	}
	tables, _ := detect.Judge(run.ByGroup())
	c := newComparer([]string{cmp.Or(run.Directory, run.Header.ID)}, criteria)
	for _, t := range tables {
		for _, r := range t.Rows {
			if r.Role == plan.Measured && c.canCompare(t, []*facts.Row{r}, Skipped{Arm: r.Arm, Cell: cellName(t),
				Phase: t.Phase}) {
				c.addLimited(t, r)
			}
		}
	}
	c.judgeCriteria()
	return c.made, nil
}

// addLimited adds the figures of a row that thresholds name.
func (c *comparer) addLimited(t *facts.Table, r *facts.Row) {
	rows := t.Comparable()
	at := slices.Index(rows, r)
	for _, m := range metrics {
		if !c.first(m.name) {
			continue
		}
		bounded := false
		if !m.shownOf(r) {
			if m, bounded = m.atMost(r); !bounded {
				continue
			}
		}
		e := facts.EstimateOf(stat.Estimates(t.Values(rows, m.of), optionsFor(t, m, rows))[at])
		if e.Value == 0 {
			continue
		}
		row := ComparisonRow{Arm: r.Arm, Cell: cellName(t), Class: t.Class, Phase: t.Phase, Metric: m.name,
			Values: []facts.Estimate{e}, AtMost: bounded, Outcome: NoRegression}
		for _, criterion := range c.made.Criteria {
			if criterion.Metric == m.name {
				row.Outcome = worseOf(row.Outcome, criterion.outcomeOf(&row))
			}
		}
		switch row.Outcome {
		case Regression:
			row.Why = finding.New(finding.CompareBeyond)
		case Inconclusive:
			row.Why = finding.New(finding.CompareUndecided)
		}
		c.made.Rows = append(c.made.Rows, row)
	}
}

// outcome is what a threshold says of one figure or ratio; nil: there is none.
func (c Criterion) outcome(e *facts.Estimate) Outcome {
	switch {
	case e == nil || e.Low == nil:
		return Inconclusive
	case c.Below && *e.High < c.Limit, !c.Below && *e.Low > c.Limit:
		return Regression
	case c.Limit >= *e.Low && c.Limit <= *e.High:
		return Inconclusive
	}
	return NoRegression
}

// outcomeOf is outcome for what a row has for the threshold. A figure that is at most so much, since the
// harness's delay is in it, can only meet an upper limit.
func (c Criterion) outcomeOf(row *ComparisonRow) Outcome {
	outcome := c.outcome(c.heldAgainst(*row))
	if row.AtMost && (c.Below || outcome != NoRegression) {
		return Inconclusive
	}
	return outcome
}

func worseOf(a, b Outcome) Outcome {
	for _, worst := range []Outcome{Regression, Inconclusive} {
		if a == worst || b == worst {
			return worst
		}
	}
	return NoRegression
}
