package column

import (
	"slices"
	"strings"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// Sorted stands in the heading of the column that rows are sorted by.
const Sorted = "↓"

// Part is one column of the one screen.
type Part struct {
	Heading  string
	Unit     string
	Table    string // that the figures are of; "": no one
	Left     bool
	Figure   bool // what a column of the section is about, with its signs and interval; else what stands beside it
	Sorted   bool // rows are sorted by it
	Interval bool // the column is worth an interval
	Low      bool // the lowest figure is the best
	Cells    []ScreenCell
}

// Title is the heading with the mark of the order.
func (p Part) Title() string {
	if p.Sorted {
		return p.Heading + " " + Sorted
	}
	return p.Heading
}

// ScreenCell is one figure of the one screen.
type ScreenCell struct {
	Cell
	Sign string // see [Legend]
	Best bool
	Of   model.SectionCell
}

// Parts returns the columns of a section: each of its own, and behind a rate what [All] has for the
// screen, where some row has it.
func Parts(r *model.Result, s *model.Section) (parts []Part) {
	for at := range s.Columns {
		c := &s.Columns[at]
		part := Part{Heading: c.Title, Sorted: c.Sorted, Table: c.Table, Left: c.Kind == "with", Figure: true,
			Interval: c.Kind == "rate", Low: c.Kind == "latency"}
		if (c.Kind == "rate" || c.Kind == "latency") && !strings.HasSuffix(c.Title, "/s") { // whose title names another unit
			part.Unit = s.Unit
		}
		shares := sharesLetters(s.Rows, at)
		for _, row := range s.Rows {
			part.Cells = append(part.Cells, screenCell(c.Kind, row.Cells[at], shares))
		}
		parts = append(parts, part)
		if c.Kind == "rate" {
			parts = append(parts, beside(r, s, c.Table)...)
		}
	}
	return parts
}

// beside are the columns of a table that the screen has beside its rates.
func beside(r *model.Result, s *model.Section, table string) (parts []Part) {
	at := slices.IndexFunc(r.Tables, func(t model.Table) bool { return t.ID == table })
	if at < 0 {
		return nil
	}
	t := &r.Tables[at]
	var lines []*Line
	for _, row := range s.Rows {
		found := slices.IndexFunc(t.Rows, func(of model.Row) bool {
			return of.Arm == row.Arm && of.Standing != model.Reference
		})
		line := &Line{Table: t, Row: &model.Row{}}
		if found >= 0 {
			line.Row = &t.Rows[found]
		}
		lines = append(lines, line)
	}
	for _, d := range Filled(t, Screen, lines) {
		part := Part{Heading: format.Uncapital(d.Heading), Unit: d.Unit, Table: table, Low: d.Low()}
		for _, c := range d.Cells {
			part.Cells = append(part.Cells, ScreenCell{Cell: c})
		}
		parts = append(parts, part)
	}
	return parts
}

func screenCell(kind string, c model.SectionCell, shares bool) ScreenCell {
	cell := ScreenCell{Best: c.Best, Of: c}
	switch {
	case c.Value == nil && c.Text != "":
		cell.Text = c.Text
	case c.Value == nil:
		cell.Text = format.Absent
	case kind == "ratio":
		cell.Cell = figure(c.Value, format.Factor)
	case kind == "latency":
		cell.Cell = figure(c.Value, format.Latency)
	default:
		cell.Cell = estimate(&model.Estimate{Value: *c.Value, Low: c.Low, High: c.High})
	}
	switch {
	case kind != "rate" && kind != "latency" || c.Value == nil:
	case c.Unsteady:
		cell.Sign = "~"
	case !c.Ranked:
		cell.Sign = "!"
	case shares:
		cell.Sign = c.Letters
	case c.Best:
		cell.Sign = "*"
	}
	return cell
}

// sharesLetters says whether two rows of a column share a letter: else letters say nothing.
func sharesLetters(rows []model.SectionRow, at int) bool {
	for i := range rows {
		for k := range i {
			if strings.ContainsAny(rows[i].Cells[at].Letters, rows[k].Cells[at].Letters) {
				return true
			}
		}
	}
	return false
}

// Meaning is a sign of the screen, and what it means.
type Meaning struct{ Sign, Text string }

// String is the line of a legend; letters are named in it.
func (m Meaning) String() string {
	if m.Sign == "a" {
		return m.Text
	}
	return m.Sign + "\u00a0" + m.Text
}

// Legend explains the signs that parts use, the same in every form.
func Legend(parts []Part) (legend []Meaning) {
	used := map[string]bool{}
	for _, p := range parts {
		used[Sorted] = used[Sorted] || p.Sorted
		for _, c := range p.Cells {
			if strings.Trim(c.Sign, "abcdefghijklmnopqrstuvwxyz") == "" && c.Sign != "" {
				used["a"] = true
			}
			used[c.Sign] = true
			used[format.Times] = used[format.Times] || strings.HasPrefix(c.Within, format.Times)
			used[format.Absent] = used[format.Absent] || p.Figure && c.Text == format.Absent
		}
	}
	for _, sign := range []struct {
		sign string
		says finding.Bare
	}{{Sorted, finding.SignSorted}, {"a", finding.SignLetter}, {"*", finding.SignFastest}, {"~", finding.SignUnsteady},
		{"!", finding.SignUnranked}, {format.Times, finding.SignFactor}, {format.Absent, finding.SignAbsent}} {
		if used[sign.sign] {
			legend = append(legend, Meaning{sign.sign, finding.Text(finding.New(sign.says))})
		}
	}
	return legend
}
