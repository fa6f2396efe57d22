package text

import (
	"io"
	"strings"

	"charm.land/lipgloss/v2"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// Full writes everything: the screen, each table with its conditions and all its columns, every
// finding with its evidence, settings, what was read back, and trials without a figure.
func Full(w io.Writer, r *model.Result, o Options) error {
	r = format.Shown(r)
	p := newPage(Options{Colour: o.Colour, Width: o.Width})
	p.screen(r, budget{rows: 1000, changes: 1000, missing: 1000, list: 1000})
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
		p.add(p.heading("Report") + o.Report)
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
	var rows []model.Row
	for _, row := range t.Rows {
		if row.Rate != nil {
			rows = append(rows, row)
		}
	}
	style := func(i int) lipgloss.Style {
		switch {
		case rows[i].Standing != model.Ranked:
			return p.faint
		case rows[i].Rank == 1:
			return p.best
		}
		return p.plain
	}
	names, speed, resources := columnsOf(t, rows)
	for i := range speed {
		if speed[i].title == "bad" {
			speed[i].style = func(row int) lipgloss.Style {
				if rows[row].Bad() > 0 {
					return p.bad
				}
				return style(row)
			}
		}
	}
	for _, set := range [][]column{append(names, speed...), append(names[1:2:2], resources...)} {
		lines, dropped := grid(set, p.width-2, p.paint, style)
		for _, line := range lines {
			p.add("  " + line)
		}
		for _, text := range notShown(dropped) {
			p.wrapped("  ", p.faint, 2, text)
		}
	}
	p.kinds(rows)
	if len(t.Ceilings) > 0 {
		var alone []string
		for _, c := range t.Ceilings {
			alone = append(alone, c.Arm+" "+format.Rate(c.Rate.Value))
		}
		p.wrapped("  ", p.faint, 4, "Harness alone: "+strings.Join(alone, ", ")+".")
	}
	for _, row := range t.Rows {
		if len(row.Reasons) > 0 {
			p.wrapped(p.care.Render("  "+row.Arm+" "+string(row.Standing)+": "), p.plain, 4, sentences(row.Reasons))
		}
	}
	for _, absent := range t.Absence {
		p.wrapped("  ", p.faint, 4, finding.Text(absent.Why))
	}
	for _, note := range t.Notes {
		p.wrapped("  ", p.faint, 4, finding.Text(note))
	}
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

func filled(rows []model.Row, title string, keep int, cell func(model.Row) string) column {
	c := column{title: title, keep: keep}
	for _, row := range rows {
		c.cells = append(c.cells, cell(row))
	}
	return c
}

func columnsOf(t *model.Table, rows []model.Row) (names, speed, resources []column) {
	add := func(to *[]column, title string, keep int, cell func(model.Row) string) {
		*to = append(*to, filled(rows, title, keep, cell))
	}
	add(&names, "", 0, func(r model.Row) string { return r.Letters })
	add(&names, "store", 0, func(r model.Row) string { return format.CleanMax(r.Arm, 60) })
	names[0].left, names[1].left = true, true
	add(&speed, t.Unit(), 0, func(r model.Row) string { return format.Number(r.Rate.Value) })
	add(&speed, "95 %", 3, func(r model.Row) string { return within(r.Rate) })
	if t.BatchItems > 0 {
		add(&speed, "records/s", 0, func(r model.Row) string {
			if r.Records == nil {
				return format.Absent
			}
			return format.Number(r.Records.Value)
		})
	}
	add(&speed, "of the best", 1, func(r model.Row) string { return ratioText(r.ToBest) })
	for _, q := range []float64{0.5, 0.99, 0.999, 1} {
		add(&speed, format.Quantile(q), 1, func(r model.Row) string { return Latency(r.Latencies, q) })
	}
	add(&speed, "worst", 2, func(r model.Row) string { return optional(r.WorstSample, format.Number) })
	add(&speed, "wait", 1, func(r model.Row) string { return known(r.WaitNS, format.Latency) })
	add(&speed, "misses", 1, func(r model.Row) string { return counted(r.Miss) })
	add(&speed, "bad", 0, func(r model.Row) string { return counted(r.Bad()) })
	add(&resources, "disk", 1, func(r model.Row) string { return known(r.DiskBytes, format.Bytes) })
	add(&resources, "logical", 2, func(r model.Row) string { return known(r.LogicalBytes, format.Bytes) })
	add(&resources, "host writes", 3, func(r model.Row) string { return known(r.HostWriteBytes, format.Bytes) })
	add(&resources, "write ampl.", 3, func(r model.Row) string { return known(r.WriteAmplification, format.Factor) })
	add(&resources, "memory", 1, func(r model.Row) string { return known(r.MemoryBytes, format.Bytes) })
	add(&resources, "data/memory", 3, func(r model.Row) string { return known(r.DataToMemory, format.Factor) })
	if !t.Open { // under open load it is mostly the worker's waiting
		add(&resources, "CPU/op", 3, func(r model.Row) string { return known(r.CPUNS, format.Latency) })
	}
	add(&resources, "harness", 2, func(r model.Row) string { return known(r.HarnessShare, format.Percent) })
	add(&resources, "alloc/op", 2, func(r model.Row) string { return known(r.AllocBytes, perOperation("B")) })
	add(&resources, "allocs/op", 2, func(r model.Row) string { return known(r.Allocs, perOperation("")) })
	return names, speed, resources
}

// known writes a figure; one that was not measured is empty, so that a column without any is left
// out.
func known(v *float64, text func(float64) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

func perOperation(unit string) func(float64) string {
	return func(v float64) string { return format.PerOperation(v, unit) }
}

func optional(v *float64, text func(float64) string) string {
	if v == nil {
		return format.Absent
	}
	return text(*v)
}

func counted(n uint64) string {
	if n == 0 {
		return ""
	}
	return format.Count(n)
}

func within(e *model.Estimate) string {
	if e == nil || e.Low == nil || e.High == nil {
		return format.Absent
	}
	return format.Within(e.Value, *e.Low, *e.High)
}

func ratioText(r *model.Ratio) string {
	if r == nil {
		return ""
	}
	if !r.Significant {
		return "n.s."
	}
	return format.Factor(r.Value)
}

// Latency writes a quantile in a cell: "refused" where it must not be shown, "–" where there is
// none.
func Latency(l model.Latencies, q float64) string {
	for _, refused := range l.Refused {
		if refused == q {
			return "refused"
		}
	}
	return optional(l.At(q), format.Latency)
}

// kinds draws what each kind of operation of a mix did.
func (p *page) kinds(rows []model.Row) {
	var of []model.Row
	operations := column{title: "operation", left: true}
	counts := column{title: "count", keep: 1}
	items := column{title: "items/op", keep: 2}
	for _, row := range rows {
		for _, kind := range row.Apart() {
			if len(row.Steps) > 0 {
				operations.title = "step"
			}
			of = append(of, model.Row{Arm: row.Arm, Ranking: model.Ranking{Standing: row.Standing},
				Latencies: kind.Latencies,
				Figures:   model.Figures{Outcomes: kind.Outcomes}})
			operations.cells = append(operations.cells, kind.Operation)
			counts.cells = append(counts.cells, format.Count(kind.Done))
			items.cells = append(items.cells, known(kind.Items, format.Number))
		}
	}
	if len(of) == 0 {
		return
	}
	stores := filled(of, "store", 0, func(r model.Row) string { return r.Arm })
	stores.left = true
	columns := []column{stores, operations, counts, items}
	for _, q := range []float64{0.5, 0.99, 0.999, 1} {
		columns = append(columns, filled(of, format.Quantile(q), 1, func(r model.Row) string { return Latency(r.Latencies, q) }))
	}
	columns = append(columns, filled(of, "misses", 1, func(r model.Row) string { return counted(r.Miss) }),
		filled(of, "bad", 0, func(r model.Row) string { return counted(r.Bad()) }))
	lines, _ := grid(columns, p.width-2, p.paint, func(int) lipgloss.Style { return p.plain })
	for _, line := range lines {
		p.add("  " + line)
	}
}

// effectsMax is how many findings are written beneath the one that explains them.
const effectsMax = 6

// findings writes one cause at a time, with its first pieces of evidence.
func (p *page) findings(r *model.Result) {
	if len(r.Groups) == 0 {
		return
	}
	p.blank()
	p.add(p.strong.Render("── Findings ──"))
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
			point(format.Plural(more, "more effect", "") + ".")
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
			p.blank()
			p.add(p.strong.Render("── Trials without a figure ──"))
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
	p.blank()
	p.add(p.strong.Render("── Settings ──"))
	for _, s := range r.Stores {
		p.wrapped(s.Arm+": ", p.plain, 2, s.Changed)
	}
	if len(r.Gaps) > 0 {
		p.blank()
		p.add(p.strong.Render("── Missing ──"))
		for _, gap := range r.Gaps {
			p.wrapped("", p.plain, 2, finding.Text(gap))
		}
	}
}
