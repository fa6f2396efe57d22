package text

import (
	"io"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
)

// Full writes everything: the screen, each table with its conditions and all its columns, every
// finding with its evidence, settings, what was read back, and trials without a figure.
func Full(w io.Writer, r *model.Result, o Options) error {
	r = format.Shown(r)
	p := newPage(Options{Colour: o.Colour, Width: o.Width})
	p.screen(r, budget{rows: 1000, changes: 1000, missing: 1000, list: 1000, on: 9})
	p.width = max(o.Width, widthMin)
	class := ""
	for i := range r.Tables {
		t := &r.Tables[i]
		if t.Class != class {
			class = t.Class
			p.blank()
			p.add(p.strong.Render("── " + strings.ToUpper(t.Title[:1]) + t.Title[1:] + " ──"))
		}
		p.table(t)
	}
	p.effects(r.Effects)
	p.findings(r)
	p.trials(r)
	p.facts(r)
	if o.Report != "" {
		p.add(p.heading(headed(finding.HeadingReport)) + o.Report)
	}
	return write(w, p.lines)
}

func (p *page) table(t *model.Table) {
	p.blank()
	head := t.Phase
	if t.Label != "" {
		head += ", " + t.Label
	}
	p.wrapped(p.strong.Render(head+": "), p.plain, 2, finding.Text(t.Verdict))
	p.wrapped("  ", p.faint, 2, sentences(append([]finding.Message{t.Doing}, t.Conditions...)))
	p.columns(t, column.Speed, column.Lines(t, column.Speed))
	p.columns(t, column.Course, column.Lines(t, column.Course))
	p.columns(t, column.Resources, column.Lines(t, column.Resources))
	p.columns(t, column.Kinds, column.KindLines(t))
	p.columns(t, column.Nodes, column.NodeLines(t))
	p.columns(t, column.Ages, column.AgeLines(t))
	p.columns(t, column.Stretches, column.StretchLines(t))
	p.columns(t, column.Bands, column.BandLines(t))
	if len(t.Ceilings) > 0 {
		var alone []string
		for _, c := range t.Ceilings {
			alone = append(alone, c.Arm+" "+format.Rate(c.Rate.Value))
		}
		p.wrapped("  ", p.faint, 4, finding.Text(finding.New(finding.CeilingsParams{Rates: alone})))
	}
	for _, of := range reasonsOf(t.Rows) {
		p.wrapped(p.care.Render("  "+strings.Join(of.arms, ", ")+" "+of.standing+": "), p.plain, 4, of.text)
	}
	for _, absent := range t.Absence {
		p.wrapped(p.care.Render("  "+strings.Join(absent.Arms, ", ")+": "), p.plain, 4, finding.Text(absent.Why))
	}
	for _, note := range t.Notes {
		p.wrapped("  ", p.faint, 4, finding.Text(note))
	}
}

// reason is why arms have no rank, or stand beside the others.
type reason struct {
	standing, text string
	arms           []string
}

// reasonsOf gathers the rows that have the same reasons.
func reasonsOf(rows []model.Row) (all []reason) {
	for _, row := range rows {
		if len(row.Reasons) == 0 {
			continue
		}
		of := reason{string(row.Standing), sentences(row.Reasons), []string{row.Arm}}
		at := slices.IndexFunc(all, func(r reason) bool { return r.standing == of.standing && r.text == of.text })
		if at < 0 {
			all = append(all, of)
		} else {
			all[at].arms = append(all[at].arms, row.Arm)
		}
	}
	return all
}

// sentences writes messages after one another.
func sentences(messages []finding.Message) string {
	var texts []string
	for _, m := range messages {
		if m.Code == "" {
			continue
		}
		text := finding.Text(m)
		if !strings.HasSuffix(text, ".") {
			text += "."
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// columns draws a grid of a table: what its list of columns has for it.
func (p *page) columns(t *model.Table, in column.Grid, lines []*column.Line) {
	drawn := column.Filled(t, in, lines)
	if len(drawn) == 0 {
		return
	}
	style := func(i int) lipgloss.Style {
		switch {
		case lines[i].Standing != model.Ranked:
			return p.faint
		case lines[i].Rank == 1:
			return p.best
		}
		return p.plain
	}
	stores := gridColumn{title: finding.HeadOf(finding.ColumnStore).Short, left: true}
	operations := gridColumn{title: finding.HeadOf(finding.ColumnOperation).Short, left: true}
	for _, l := range lines {
		stores.cells = append(stores.cells, format.CleanMax(l.Arm, 60))
		switch {
		case l.Kind != nil && t.Requests:
			operations.title = finding.HeadOf(finding.ColumnStep).Short
		case l.Node != nil:
			operations.title = finding.HeadOf(finding.ColumnServer).Short
		case l.Age != nil:
			operations.title = finding.HeadOf(finding.ColumnSinceWrite).Short
		case l.Stretch != nil:
			operations.title = finding.HeadOf(finding.ColumnSegment).Short
		case l.Band != nil:
			operations.title = finding.HeadOf(finding.ColumnAskedRate).Short
		}
		operations.cells = append(operations.cells, l.PartName())
	}
	all := []gridColumn{stores, operations}
	for _, d := range drawn {
		figures := gridColumn{title: d.Short, keep: d.Drop, left: d.Left}
		within := gridColumn{title: finding.HeadOf(finding.ColumnInterval).Short, keep: d.Ranged}
		for _, c := range d.Cells {
			figures.cells = append(figures.cells, c.Text)
			within.cells = append(within.cells, c.Within)
		}
		figures.style = func(row int) lipgloss.Style {
			if d.Cells[row].Bad && !d.Cells[row].Empty() {
				return p.bad
			}
			return style(row)
		}
		all = append(all, figures)
		if d.Ranged > 0 {
			all = append(all, within)
		}
	}
	rows, dropped := grid(all, p.width-2, p.paint, style)
	for _, row := range rows {
		p.add("  " + row)
	}
	for _, text := range notShown(dropped) {
		p.wrapped("  ", p.faint, 2, text)
	}
}

// effectsMax is how many findings are written beneath the one that explains them.
const effectsMax = 6

// findings writes one cause at a time, with its first pieces of evidence.
func (p *page) findings(r *model.Result) {
	if len(r.Groups) == 0 {
		return
	}
	p.part(finding.HeadingFindings)
	styles := map[finding.Severity]lipgloss.Style{finding.Grave: p.bad, finding.Warning: p.care,
		finding.Notice: p.faint}
	for _, g := range r.Groups {
		p.wrapped(styles[g.Severity].Render(padRight(string(g.Severity), labelCols-2)), p.plain, labelCols-2, g.Text)
		point := func(text string) { p.wrapped(strings.Repeat(" ", labelCols-2)+"· ", p.faint, labelCols, text) }
		for _, at := range first(g.Of, 3) {
			f := r.Findings[at]
			if len(g.Of) > 1 {
				point(finding.Text(f.Message))
				continue
			}
			for _, e := range first(f.Evidence, 3) {
				point(strings.TrimPrefix(e.Trial+": ", ": ") + finding.Text(e.Message))
			}
		}
		for _, at := range first(g.Effects, effectsMax) {
			f := r.Findings[at]
			point(finding.Text(f.Message))
			for _, e := range first(f.Evidence, 1) {
				point(strings.TrimPrefix(e.Trial+": ", ": ") + finding.Text(e.Message))
			}
		}
		if more := len(g.Effects) - effectsMax; more > 0 {
			point(finding.Text(finding.New(finding.FooterParams{Code: finding.MoreEffects, More: more})))
		}
		if g.Remedy != "" {
			p.wrapped(strings.Repeat(" ", labelCols-2)+"→ ", p.plain, labelCols, g.Remedy)
		}
	}
}

// trials names the trials that failed or were interrupted.
func (p *page) trials(r *model.Result) {
	titled := false
	for _, t := range r.Trials {
		if t.State != "failed" && t.State != "interrupted" {
			continue
		}
		if !titled {
			p.part(finding.HeadingFailed)
			titled = true
		}
		p.wrapped(t.ID+" "+t.State+": ", p.plain, 2, sentences(t.Reasons))
		for _, reason := range t.Reasons {
			if detail, is := reason.Params["text"].(string); is {
				p.wrapped("  ", p.faint, 2, detail)
			}
		}
	}
}

func (p *page) facts(r *model.Result) {
	p.part(finding.HeadingSettings)
	for _, s := range r.Stores {
		p.wrapped(s.Arm+": ", p.plain, 2, s.Changed)
	}
	if len(r.Gaps) > 0 {
		p.part(finding.HeadingMissing)
		for _, gap := range r.Gaps {
			p.wrapped("", p.plain, 2, finding.Text(gap))
		}
	}
}
