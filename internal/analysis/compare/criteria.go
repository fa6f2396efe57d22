package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/store"
)

var (
	criterionForm = regexp.MustCompile(`^\s*([a-z0-9.]+)\s*([<>])=?\s*([0-9.]+\s*\S*)\s*$`)
	factorForm    = regexp.MustCompile(`^([0-9]*\.?[0-9]+)\s*[x×]$`)
)

// ParseCriterion reads one threshold of --fail-if. "rate < 0.95x" and "p99 > 1.10x" fail where the
// metric's ratio, new to old, is surely beyond the factor; "p99 > 10ms" and "rate < 20k/s" where the
// new figure itself is surely beyond the limit.
func ParseCriterion(text string) (Criterion, error) {
	var names []string
	for _, m := range metrics {
		names = append(names, m.name)
	}
	parts := criterionForm.FindStringSubmatch(text)
	if parts == nil {
		return Criterion{}, wrongForm(text)
	}
	if !slices.Contains(names, parts[1]) {
		return Criterion{}, fmt.Errorf("threshold %q has no metric %s: expected one of %s", text,
			parts[1], format.List(names))
	}
	made := Criterion{Text: text, Metric: parts[1], Below: parts[2] == "<"}
	known := false
	if factor := factorForm.FindStringSubmatch(parts[3]); factor != nil {
		made.Limit, known = number(factor[1])
	} else {
		made.Absolute = true
		made.Limit, known = limitOf(made.Metric, strings.ReplaceAll(parts[3], " ", ""))
	}
	switch {
	case !known:
		return Criterion{}, wrongForm(text)
	case made.Limit <= 0:
		return Criterion{}, fmt.Errorf("threshold %q needs a number above 0", text)
	}
	return made, nil
}

func wrongForm(text string) error {
	return fmt.Errorf("threshold %q has not the form METRIC < FACTORx, as in 'rate < 0.95x' or 'p99 > 1.10x', "+
		"nor METRIC > LIMIT, as in 'p99 > 10ms', 'rate < 20k' or 'memory > 1GiB'", text)
}

// limitOf reads an absolute limit in the metric's own unit: operations a second, nanoseconds, bytes.
func limitOf(metric, text string) (limit float64, known bool) {
	switch metric {
	case "rate":
		text = strings.TrimSuffix(text, "/s")
		for letter, factor := range map[string]float64{"k": 1e3, "M": 1e6} {
			if digits, is := strings.CutSuffix(text, letter); is {
				limit, known = number(digits)
				return limit * factor, known
			}
		}
		return number(text)
	case "memory", "disk":
		bytes, err := store.ParseBytes(text)
		return float64(bytes), err == nil && strings.HasSuffix(text, "B")
	}
	duration, err := time.ParseDuration(text)
	return float64(duration), err == nil
}

func number(text string) (value float64, known bool) {
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// heldAgainst is what a row has for the criterion: its last figure, or its ratio; nil: none.
func (c Criterion) heldAgainst(row ComparisonRow) *facts.Estimate {
	if c.Absolute {
		return &row.Values[len(row.Values)-1]
	}
	if row.Ratio == nil {
		return nil
	}
	return &row.Ratio.Estimate
}

// blocksFor is about how many blocks would decide a row, which has held for a threshold: an interval
// narrows with the root of their number.
func (c *comparer) blocksFor(of Criterion, held *facts.Estimate, row int) int {
	switch {
	case held == nil || held.Low == nil || held.Blocks < decidingMin: // of two blocks any interval is wide
		return decidingMin
	case !of.Absolute:
		return c.ratios[row].Blocks(stat.Distance(held.Value/of.Limit), decidingMost)
	}
	widths := math.Log(*held.High / *held.Low) / 2 / math.Abs(math.Log(held.Value/of.Limit))
	return int(min(math.Ceil(float64(held.Blocks)*widths*widths)+1, decidingMost))
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
			held := criterion.heldAgainst(row)
			switch criterion.outcomeOf(&m.Rows[at]) {
			case Regression:
				criterion.Failed++
			case Inconclusive:
				criterion.Open++
				blocks = max(blocks, c.blocksFor(*criterion, held, at))
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
		m.Outcome, m.Verdict = Regression, finding.New(finding.CompareCriteriaFailedParams{Failed: failed,
			Criteria: texts})
	case open > 0 || len(m.Skipped) > 0:
		m.Outcome, m.Verdict = Inconclusive, finding.New(finding.CompareCriteriaOpenParams{Open: open,
			Deciding: c.deciding(blocks)})
	default:
		m.Outcome, m.Verdict = NoRegression, finding.New(finding.CompareCriteriaMetParams{Criteria: len(m.Criteria)})
	}
}
