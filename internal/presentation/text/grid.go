package text

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

const columnGap = 2

// gridColumn is one column of a grid. Columns that do not fit are given up by keep: the highest first,
// 0 never.
type gridColumn struct {
	title string
	keep  int
	tight bool // one space follows, in place of columnGap
	extra bool // all extra columns of one keep go together, and are named by no title
	left  bool // aligned to the left; numbers are aligned at their units
	cells []string
	style func(row int) lipgloss.Style // nil: the row's
}

type paint struct{ plain, strong, faint, bad, care, best lipgloss.Style }

// paintOf uses the terminal's own sixteen colours, so that text reads on any background.
func paintOf(colour bool) paint {
	plain := lipgloss.NewStyle()
	if !colour {
		return paint{plain, plain, plain, plain, plain, plain}
	}
	return paint{plain, plain.Bold(true), plain.Faint(true), plain.Foreground(lipgloss.Red).Bold(true),
		plain.Foreground(lipgloss.Yellow), plain.Foreground(lipgloss.Green).Bold(true)}
}

// grid draws columns under a rule, with rows styled by style. Columns without any text are left
// out; it returns the titles of those that did not fit.
func grid(columns []gridColumn, width int, p paint, style func(row int) lipgloss.Style) (lines, dropped []string) {
	columns, dropped = fitting(prepared(columns), width)
	if len(columns) == 0 {
		return nil, dropped
	}
	heads := make([]string, len(columns))
	rows := make([][]string, len(columns[0].cells))
	for at, c := range columns {
		heads[at] = c.title
		for i, cell := range c.cells {
			rows[i] = append(rows[i], cell)
		}
	}
	styled := func(row, at int) lipgloss.Style {
		s := p.faint
		switch {
		case row != table.HeaderRow && columns[at].style != nil:
			s = columns[at].style(row)
		case row != table.HeaderRow:
			s = style(row)
		}
		if !columns[at].left {
			s = s.Align(lipgloss.Right)
		}
		if at < len(columns)-1 {
			s = s.PaddingRight(columns[at].gap())
		}
		return s
	}
	drawn := table.New().Headers(heads...).Rows(rows...).StyleFunc(styled).Border(lipgloss.HiddenBorder()).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		BorderHeader(false).Wrap(false).String()
	for _, line := range strings.Split(drawn, "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines, dropped
}

// prepared leaves out columns without any text, and aligns the units of the others.
func prepared(columns []gridColumn) []gridColumn {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c gridColumn) bool {
		return !slices.ContainsFunc(c.cells, func(cell string) bool { return cell != "" })
	})
	for i := range columns {
		if !columns[i].left {
			columns[i].cells = alignUnits(columns[i].cells)
		}
	}
	return columns
}

// fitting gives columns up until the others fit, and names those that it gave up.
func fitting(columns []gridColumn, width int) (kept []gridColumn, dropped []string) {
	kept = slices.Clone(columns)
	for gridWidth(kept) > width {
		at := -1
		for i, c := range kept {
			if c.keep > 0 && (at < 0 || c.keep >= kept[at].keep) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		if gone := kept[at]; gone.extra {
			kept = slices.DeleteFunc(kept, func(c gridColumn) bool { return c.extra && c.keep == gone.keep })
			continue
		}
		dropped = append([]string{kept[at].title}, dropped...)
		kept = slices.Delete(kept, at, at+1)
	}
	return kept, dropped
}

func (c gridColumn) width() int {
	widest := lipgloss.Width(c.title)
	for _, cell := range c.cells {
		widest = max(widest, lipgloss.Width(cell))
	}
	return widest
}

func gridWidth(columns []gridColumn) int {
	width := 0
	for i, c := range columns {
		width += c.width()
		if i < len(columns)-1 {
			width += c.gap()
		}
	}
	return width
}

func (c gridColumn) gap() int {
	if c.tight {
		return 1
	}
	return columnGap
}

// alignUnits pads numbers so that their units stand under each other. Other texts are set right.
func alignUnits(texts []string) []string {
	numbers, units := make([]string, len(texts)), make([]string, len(texts))
	var number, unit int
	for i, text := range texts {
		figure, rest, _ := strings.Cut(text, " ")
		if digits := strings.TrimLeft(figure, "±<"); digits != "" && strings.Trim(digits, "0123456789.,×%/s") == "" {
			numbers[i], units[i] = figure, rest
			number, unit = max(number, lipgloss.Width(figure)), max(unit, lipgloss.Width(rest))
		}
	}
	aligned := make([]string, len(texts))
	for i, text := range texts {
		switch {
		case numbers[i] == "":
			aligned[i] = text
		case unit == 0:
			aligned[i] = padLeft(numbers[i], number)
		default:
			aligned[i] = padLeft(numbers[i], number) + " " + padRight(units[i], unit)
		}
	}
	return aligned
}

func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-lipgloss.Width(s))) + s
}

func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}
