package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
)

var criterionForm = regexp.MustCompile(`^\s*([a-z0-9.]+)\s*([<>])=?\s*([0-9]*\.?[0-9]+)\s*[x×]\s*$`)

// ParseCriterion reads one threshold of --fail-if, as in "rate < 0.95x" or "p99 > 1.10x": the
// comparison fails where the metric's ratio, new to old, is surely beyond it.
func ParseCriterion(text string) (Criterion, error) {
	var names []string
	for _, m := range metrics {
		names = append(names, m.name)
	}
	parts := criterionForm.FindStringSubmatch(text)
	if parts == nil {
		return Criterion{}, fmt.Errorf("threshold %q has not the form METRIC < FACTORx, as in 'rate < 0.95x' or 'p99 > 1.10x'", text)
	}
	if !slices.Contains(names, parts[1]) {
		return Criterion{}, fmt.Errorf("threshold %q has no metric %s: expected one of %s", text,
			parts[1], format.List(names))
	}
	limit, err := strconv.ParseFloat(parts[3], 64)
	if err != nil || limit <= 0 {
		return Criterion{}, fmt.Errorf("threshold %q needs a factor above 0", text)
	}
	return Criterion{Text: text, Metric: parts[1], Below: parts[2] == "<", Limit: limit}, nil
}

// judgeCriteria decides by the thresholds alone: a row fails one for sure where its whole interval
// is beyond the limit, and leaves it open where the interval holds the limit or there is none.
func (c *comparer) judgeCriteria() {
	m := c.made
	failed, open, blocks := 0, 0, 0
	var texts []string
	for i := range m.Criteria {
		criterion := &m.Criteria[i]
		rows := 0
		for at, row := range m.Rows {
			if row.Metric != criterion.Metric {
				continue
			}
			rows++
			switch r := row.Ratio; {
			case r == nil || r.Low == nil:
				criterion.Open++
				blocks = max(blocks, decidingMin)
			case criterion.Below && *r.High < criterion.Limit, !criterion.Below && *r.Low > criterion.Limit:
				criterion.Failed++
			case criterion.Limit >= *r.Low && criterion.Limit <= *r.High:
				criterion.Open++
				blocks = max(blocks, c.ratios[at].Blocks(stat.Distance(r.Value/criterion.Limit), decidingMost))
			}
		}
		if rows == 0 {
			criterion.Open++
		}
		failed, open = failed+criterion.Failed, open+criterion.Open
		if criterion.Failed > 0 {
			texts = append(texts, criterion.Text)
		}
	}
	switch {
	case failed > 0:
		m.Outcome, m.Verdict = Regression, finding.New(finding.CompareCriteriaFailedParams{Failed: failed, Criteria: texts})
	case open > 0 || len(m.Skipped) > 0:
		m.Outcome, m.Verdict = Inconclusive, finding.New(finding.CompareCriteriaOpenParams{Open: open,
			Deciding: c.deciding(blocks)})
	default:
		m.Outcome, m.Verdict = NoRegression, finding.New(finding.CompareCriteriaMetParams{Criteria: len(m.Criteria)})
	}
}
