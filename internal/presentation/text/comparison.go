package text

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"charm.land/lipgloss/v2"

	"assay/internal/analysis/compare"
	"assay/internal/base/finding"
	"assay/internal/base/format"
)

// Comparison writes what a comparison comes to. Without all, figures other than rates are shown
// only where they changed.
func Comparison(w io.Writer, c *compare.Comparison, o Options, all bool) error {
	c = format.Shown(c)
	p := newPage(o)
	p.wrapped("", p.strong, 0, finding.Text(c.Verdict))
	if remedy := finding.Remedy(c.Verdict); remedy != "" {
		p.wrapped("→ ", p.plain, 2, remedy)
	}
	for _, criterion := range c.Criteria {
		state := "met"
		switch {
		case criterion.Failed > 0:
			state = "failed in " + format.Plural(criterion.Failed, "figure", "")
		case criterion.Open > 0:
			state = "open in " + format.Plural(criterion.Open, "figure", "")
		}
		p.wrapped("  ", p.plain, 4, criterion.Text+": "+state)
	}
	var rows []compare.ComparisonRow
	for _, r := range c.Rows {
		if all || r.Metric == "rate" || r.Outcome == compare.Regression || r.Outcome == compare.Improvement || len(r.Changes) > 0 {
			rows = append(rows, r)
		}
	}
	p.blank()
	p.compared(c, rows)
	if more := len(c.Rows) - len(rows); more > 0 {
		p.wrapped("", p.faint, 0, format.Plural(more, "more figure", "")+" without a significant change: --full.")
	}
	for _, r := range rows {
		for _, change := range r.Changes {
			p.wrapped("  ", p.plain, 4, fmt.Sprintf("%s of %s in %s: %s before %s, %s from there on", r.Metric, r.Arm, r.Phase,
				figureOf(r.Metric, change.Before), side(c, change.Side), figureOf(r.Metric, change.After)))
		}
	}
	for _, s := range c.Skipped {
		place := strings.Join(nonEmpty(s.Arm, s.Phase, s.Cell), ", ")
		p.wrapped(p.care.Render("not compared: "), p.plain, 2, place+": "+finding.Text(s.Why))
	}
	for _, note := range c.Notes {
		p.wrapped(p.faint.Render("note: "), p.faint, 2, finding.Text(note))
	}
	return write(w, p.lines)
}

func nonEmpty(words ...string) (kept []string) {
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

// side names one side by the last part of its path.
func side(c *compare.Comparison, at int) string {
	return format.CleanMax(filepath.Base(c.Sides[at]), 40)
}

func (p *page) compared(c *compare.Comparison, rows []compare.ComparisonRow) {
	if len(rows) == 0 {
		return
	}
	last := len(c.Sides) - 1
	columns := make([]gridColumn, 8)
	for i, title := range []string{"where", "store", "", side(c, 0), side(c, last), "ratio", "95 %", ""} {
		columns[i] = gridColumn{title: title, left: i < 3 || i == 7}
	}
	columns[3].keep, columns[4].keep, columns[6].keep = 2, 2, 1
	for _, r := range rows {
		ratio, interval := format.Absent, format.Absent
		if r.Ratio != nil {
			ratio = format.Factor(r.Ratio.Value)
			if r.Ratio.Low != nil {
				interval = format.Interval(*r.Ratio.Low, *r.Ratio.High)
			}
		}
		for i, text := range []string{r.Phase + " " + r.Cell, format.CleanMax(r.Arm, 40), r.Metric, figureOf(r.Metric, r.Values[0].Value),
			figureOf(r.Metric, r.Values[last].Value), ratio, interval, finding.Text(r.Why)} {
			columns[i].cells = append(columns[i].cells, text)
		}
	}
	lines, _ := grid(columns, p.width, p.paint, func(i int) lipgloss.Style {
		switch rows[i].Outcome {
		case compare.Regression:
			return p.bad
		case compare.Improvement:
			return p.best
		case compare.Inconclusive:
			return p.care
		}
		return p.plain
	})
	p.add(lines...)
}

// figureOf writes a value of a metric with its unit.
func figureOf(metric string, v float64) string {
	switch {
	case v == 0:
		return format.Absent
	case metric == "rate":
		return format.Rate(v)
	case strings.HasPrefix(metric, "p"):
		return format.Latency(v)
	}
	return format.Bytes(v)
}
