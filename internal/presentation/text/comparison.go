package text

import (
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"assay/internal/analysis/compare"
	"assay/internal/base/finding"
	"assay/internal/presentation/column"
)

// Comparison writes what a comparison comes to.
func Comparison(w io.Writer, c *column.Comparison, o Options) error {
	p := newPage(o)
	p.wrapped("", p.strong, 0, c.Verdict)
	if c.Remedy != "" {
		p.wrapped("→ ", p.plain, 2, c.Remedy)
	}
	for _, criterion := range c.Criteria {
		p.wrapped("  ", p.plain, 4, criterion.String())
	}
	p.blank()
	p.compared(c)
	if c.More != "" {
		p.wrapped("", p.faint, 0, c.More)
	}
	for _, line := range c.Changes {
		p.wrapped("  ", p.plain, 4, line)
	}
	for _, line := range c.Skipped {
		p.wrapped(p.care.Render("not compared: "), p.plain, 2, line)
	}
	for _, line := range c.Notes {
		p.wrapped(p.faint.Render("note: "), p.faint, 2, line)
	}
	return write(w, p.lines)
}

func (p *page) compared(c *column.Comparison) {
	if len(c.Rows) == 0 {
		return
	}
	columns := make([]gridColumn, len(c.Heads))
	for i, title := range c.Heads {
		columns[i] = gridColumn{title: title, left: i < column.ComparisonWords || i == column.ComparisonWhy}
		for _, row := range c.Rows {
			columns[i].cells = append(columns[i].cells, row.Cells[i])
		}
	}
	columns[column.ComparisonOld].keep, columns[column.ComparisonNew].keep, columns[column.ComparisonRange].keep =
		2, 2, 1
	// Of two stores of one run, the second is every row's, and stands over its figures.
	needsStore := func(r column.ComparisonRow) bool {
		return r.Cells[column.ComparisonStore] != c.Heads[column.ComparisonNew]
	}
	if !slices.ContainsFunc(c.Rows, needsStore) {
		columns[column.ComparisonStore].keep = 3
	}
	lines, dropped := grid(columns, p.width, p.paint, func(i int) lipgloss.Style {
		switch c.Rows[i].Outcome {
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
	dropped = slices.DeleteFunc(dropped, func(title string) bool { return title == c.Heads[column.ComparisonStore] })
	if len(dropped) > 0 {
		p.wrapped("", p.faint, 0, finding.Text(finding.New(finding.NotShownParams{Columns: dropped})))
	}
}

// ComparisonMarkdown writes a comparison for a pull request.
func ComparisonMarkdown(w io.Writer, c *column.Comparison) error {
	lines := []string{"**" + escape(c.Verdict) + "**", ""}
	for _, criterion := range c.Criteria {
		lines = append(lines, "- "+escape(criterion.String()))
	}
	for _, line := range nonEmptyLine(c.Remedy) {
		lines = append(lines, "- "+escape(line))
	}
	if len(c.Rows) > 0 {
		head, rule := "|", "|"
		for i, title := range c.Heads {
			head += " " + escape(title) + " |"
			if i < column.ComparisonWords || i == column.ComparisonWhy {
				rule += ":--|"
			} else {
				rule += "--:|"
			}
		}
		lines = append(lines, "", head, rule)
		for _, row := range c.Rows {
			line := "|"
			for i, cell := range row.Cells {
				if cell = escape(cell); i == column.ComparisonWhy && row.Outcome == compare.Regression {
					cell = "**" + cell + "**"
				}
				line += " " + cell + " |"
			}
			lines = append(lines, line)
		}
		lines = append(lines, "")
	}
	for _, line := range append(nonEmptyLine(c.More), c.Changes...) {
		lines = append(lines, "- "+escape(line))
	}
	for _, line := range c.Skipped {
		lines = append(lines, "- **not compared:** "+escape(line))
	}
	for _, line := range c.Notes {
		lines = append(lines, "- "+escape(line))
	}
	return write(w, lines)
}

func nonEmptyLine(line string) []string {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	return []string{line}
}
