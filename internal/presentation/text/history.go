package text

import (
	"io"
	"math"
	"slices"

	"charm.land/lipgloss/v2"

	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/archive"
)

// sparkCols is how many of the last values a series shows as bars.
const sparkCols = 20

// History writes the series of an archive. Without all, figures other than rates are shown only
// where they changed.
func History(w io.Writer, groups []archive.Group, o Options, all bool) error {
	p := newPage(o)
	for i := range groups {
		p.blank()
		p.group(format.Shown(&groups[i]), all)
	}
	return write(w, p.lines)
}

func (p *page) group(g *archive.Group, all bool) {
	p.wrapped("", p.strong, 0, g.Name)
	p.wrapped("", p.plain, 0, archive.SpanText(g))
	var shown []archive.Series
	for _, s := range g.Series {
		if all || s.Metric == "rate" || len(s.Changes) > 0 {
			shown = append(shown, s)
		}
	}
	p.blank()
	p.seriesOf(g, shown)
	p.blank()
	for _, told := range archive.Sentences(g, shown) {
		style := p.bad
		if told.Better {
			style = p.best
		}
		p.wrapped("  ", style, 4, told.Text)
	}
	if more := len(g.Series) - len(shown); more > 0 {
		p.wrapped("", p.faint, 0, finding.Text(finding.New(finding.FooterParams{Code: finding.MoreSeries, More: more})))
	}
	if slices.ContainsFunc(shown, func(s archive.Series) bool { return s.TooShort }) {
		p.wrapped("", p.faint, 0, finding.Text(finding.New(finding.CommitsMinParams{Commits: stat.RunsMin})))
	}
}

func (p *page) seriesOf(g *archive.Group, shown []archive.Series) {
	heads := []finding.Bare{finding.ColumnWhere, finding.ColumnStore, "", finding.ColumnFirst, finding.ColumnLast, finding.ColumnInterval, finding.ColumnTrend,
		finding.ColumnChangedAt}
	columns := make([]gridColumn, len(heads))
	for i, head := range heads {
		columns[i] = gridColumn{title: finding.HeadOf(head).Short, left: i < 3 || i > 5}
	}
	columns[5].keep, columns[3].keep, columns[6].keep = 3, 2, 1
	for _, s := range shown {
		first, last, interval, changed := format.Absent, format.Absent, format.Absent, ""
		for _, v := range s.Values {
			if v == nil {
				continue
			}
			if last, interval = format.Figure(s.Metric, v.Value), format.Absent; v.Low != nil {
				interval = format.Figure(s.Metric, *v.Low) + " to " + format.Figure(s.Metric, *v.High)
			}
			if first == format.Absent {
				first = last
			}
		}
		if n := len(s.Changes); n > 0 {
			changed = archive.Short(g.Points[s.Changes[n-1].At].Code)
		}
		where := s.Phase + " " + s.Class
		if s.Cell != "" {
			where += " " + s.Cell
		}
		for i, text := range []string{where, format.CleanMax(s.Arm, 40), s.Metric, first, last, interval,
			trend(s.Values), changed} {
			columns[i].cells = append(columns[i].cells, text)
		}
	}
	lines, _ := grid(columns, p.width, p.paint, func(i int) lipgloss.Style {
		if n := len(shown[i].Changes); n > 0 && !shown[i].Better(shown[i].Changes[n-1]) {
			return p.bad
		}
		return p.plain
	})
	p.add(lines...)
}

// trend draws the last values. The lowest bar is a fifth below the least, or a tenth of the range:
// noise of some per cent stays flat.
func trend(values []*archive.Value) string {
	values = values[max(0, len(values)-sparkCols):]
	bars := make([]float64, len(values))
	least, most := math.Inf(1), 0.0
	for i, v := range values {
		bars[i] = math.NaN()
		if v != nil {
			bars[i] = v.Value
			least, most = min(least, v.Value), max(most, v.Value)
		}
	}
	return format.Spark(bars, 0.8*least, 1.05*most)
}
