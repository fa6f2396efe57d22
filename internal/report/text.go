package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/internal/plan"
	"assay/internal/spec"
	"assay/internal/verdict"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

const (
	textWidthMin = 40
	columnGap    = 2
)

// Text writes the report for a terminal of so many columns: each table with the sentence that it supports, then what
// could not be shown, then the findings, gravest first, so that they stand above the prompt. Columns that do not fit are
// left out, the least telling first, and named. Without colour the text has no escape sequences at all.
func Text(w io.Writer, v View, colour bool, width int) error {
	t := &terminal{view: v, width: max(width, textWidthMin), paint: paintOf(colour)}
	t.head()
	class := ""
	for _, table := range v.Tables {
		if table.Class != class {
			class = table.Class
			t.wrapped(t.paint.strong.Render("Durability "+class+", claimed  "), t.paint.faint, "", table.Meaning)
			t.line("")
		}
		t.table(table)
	}
	t.glance()
	t.list("Trials without a figure", troubledLines(v))
	t.list("Settings", settingLines(v))
	t.list("Read back at the end", checkLines(v))
	t.findings()
	t.list("What is not here", v.Gaps)
	if _, err := io.WriteString(w, strings.TrimRight(t.out.String(), "\n")+"\n"); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

type terminal struct {
	view  View
	width int
	paint paint
	out   strings.Builder
	said  map[string]bool // by once
}

type paint struct{ plain, strong, faint, bad, care, best lipgloss.Style }

// paintOf uses the terminal's own sixteen colours, so that the report reads on any background.
func paintOf(colour bool) paint {
	plain := lipgloss.NewStyle()
	if !colour {
		return paint{plain, plain, plain, plain, plain, plain}
	}
	return paint{plain, plain.Bold(true), plain.Faint(true), plain.Foreground(lipgloss.Red).Bold(true), plain.Foreground(lipgloss.Yellow), plain.Foreground(lipgloss.Green).Bold(true)}
}

func (t *terminal) line(format string, arguments ...any) {
	fmt.Fprintf(&t.out, format+"\n", arguments...)
}

// wrapped writes a text in lines of at most the width. The first begins with lead, as it is painted already; the others
// begin with indent.
func (t *terminal) wrapped(lead string, style lipgloss.Style, indent, text string) {
	// The lead's place is taken by characters that no line is broken at.
	placed := strings.Repeat("\u00a0", max(0, lipgloss.Width(lead)-lipgloss.Width(indent))) + text
	room := max(t.width-lipgloss.Width(indent), 20)
	for i, line := range strings.Split(lipgloss.Wrap(placed, room, " "), "\n") {
		line = strings.TrimRight(line, " ")
		if i == 0 {
			t.line("%s%s", lead, style.Render(strings.TrimLeft(line, "\u00a0")))
			continue
		}
		t.line("%s%s", indent, style.Render(line))
	}
}

func (t *terminal) head() {
	t.wrapped("", t.paint.strong, "", t.view.Title)
	if t.view.About != "" {
		t.wrapped("", t.paint.plain, "", t.view.About)
	}
	for _, run := range t.view.Runs {
		t.wrapped("", t.paint.faint, "", fmt.Sprintf("run %s, %s UTC, %s, seed %d", run.ID, run.Created.UTC().Format("2006-01-02 15:04"), plural(run.Blocks, "block"), run.Seed))
	}
	t.line("")
}

// column is one column of a table; keep is the order in which columns are given up: the highest first, 0 never.
type column struct {
	title string
	keep  int
	left  bool
	cells []string
	foot  string // a sentence beneath the table, where the column is shown
}

// once writes what is true of several tables beneath the first of them.
func (t *terminal) once(text string) {
	if text == "" || t.said[text] {
		return
	}
	if t.said == nil {
		t.said = map[string]bool{}
	}
	t.said[text] = true
	t.wrapped("", t.paint.faint, "", text)
}

func (t *terminal) table(table Table) {
	t.wrapped("", t.paint.strong, "", table.Label+": "+table.Sentence)
	conditions := capital(table.Doing) + ". " + table.Cell + ". Page cache " + table.Cache + "."
	if least, most := dataToMemoryRange(table); most > 0 {
		conditions += " Data to memory: " + rangeText(least, most) + "."
	}
	if ceilings := ceilingText(table); ceilings != "" {
		conditions += " Harness alone: " + ceilings + "."
	}
	if table.NoiseRatio != nil {
		conditions += " A/A: " + noiseText(*table.NoiseRatio) + "."
	}
	if table.Quota != nil {
		conditions += " " + table.Quota.Sentence
	}
	t.wrapped("", t.paint.faint, "", conditions)
	if table.Quota != nil && table.Quota.Caution != "" {
		t.wrapped("", t.paint.care, "", table.Quota.Caution)
	}
	t.line("")
	var shown []Row
	for _, row := range table.Rows {
		if row.Rate != nil {
			shown = append(shown, row)
		}
	}
	if len(shown) > 0 {
		t.grids(table, shown)
		t.kinds(table)
	}
	t.once(table.Writes)
	t.once(table.Servers)
	t.once(table.OverLimit)
	t.without(table)
	t.doubts(table)
	t.line("")
}

// doubts says, in a line each, why figures are less sure than they look.
func (t *terminal) doubts(table Table) {
	for i, doubt := range doubtKinds(table) {
		lead := "Doubts: "
		if i > 0 {
			lead = "        "
		}
		t.wrapped(t.paint.care.Render(lead), t.paint.faint, "        ", doubt)
	}
}

// ceilingText names the null drivers where there are several, or where the only one is not Assay's own.
func ceilingText(table Table) string {
	var parts []string
	for _, null := range table.Ceilings {
		part := table.rateText(null.Rate)
		if len(table.Ceilings) > 1 || null.Arm != spec.NullDriver {
			part += " (" + null.Arm + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// grids draws one grid where all columns fit, and otherwise what the arms did above what it took.
func (t *terminal) grids(table Table, rows []Row) {
	names, speed, resources := columnsOf(table, rows)
	fell := fellColumn(table, rows)
	speed = slices.Insert(speed, 1, fell...)
	sets := [][]column{slices.Concat(names, speed, resources)}
	if tableWidth(sets[0]) > t.width {
		sets = [][]column{slices.Concat(names, speed), slices.Concat(names, resources)}
	}
	for i, columns := range sets {
		columns, dropped := fitting(columns, t.width)
		t.out.WriteString(t.grid(columns, rows))
		if len(dropped) > 0 {
			t.wrapped("", t.paint.faint, "", "Not shown at this width: "+strings.Join(dropped, ", ")+".")
		}
		var feet []string
		if i == 0 && len(fell) > 0 {
			feet = append(feet, "▾ "+fellMeaning+".")
		}
		for _, c := range columns {
			if c.foot != "" {
				feet = append(feet, c.foot)
			}
		}
		t.once(strings.Join(feet, " "))
		t.line("")
	}
}

// kinds draws what each kind of operation of a mix did, like beside like.
func (t *terminal) kinds(table Table) {
	kinds := kindRows(table)
	if len(kinds) == 0 {
		return
	}
	rows := make([]Row, len(kinds))
	operations := column{title: "operation", left: true}
	for i, k := range kinds {
		rows[i] = Row{Arm: k.Row.Arm, Standing: k.Row.Standing, Rank: k.Row.Rank, Bad: k.Bad, Misses: k.Misses, Latencies: k.Latencies}
		name := ""
		if k.First {
			name = operationText(k.Operation)
		}
		operations.cells = append(operations.cells, name)
	}
	filled := func(title string, keep int, cell func(kindRow) string) column {
		c := column{title: title, keep: keep}
		for _, k := range kinds {
			c.cells = append(c.cells, cell(k))
		}
		return c
	}
	stores := filled("store", 0, func(k kindRow) string { return k.Row.Arm })
	stores.left = true
	columns := []column{operations, stores, filled("count", 1, func(k kindRow) string { return count(k.Done) })}
	if slices.ContainsFunc(kinds, func(k kindRow) bool { return k.Misses > 0 }) {
		columns = append(columns, filled("misses", 1, func(k kindRow) string { return count(k.Misses) }))
	}
	if slices.ContainsFunc(kinds, func(k kindRow) bool { return k.Items != nil }) {
		columns = append(columns, filled("items/op", 2, func(k kindRow) string { return maybe(k.Items, func(v float64) string { return si(v, "") }) }))
	}
	if slices.ContainsFunc(kinds, func(k kindRow) bool { return k.Bad > 0 }) {
		columns = append(columns, filled("bad", 1, func(k kindRow) string { return count(k.Bad) }))
	}
	columns = append(columns, latencyColumns(rows)...)
	columns, dropped := fitting(columns, t.width)
	t.out.WriteString(t.grid(columns, rows))
	if len(dropped) > 0 {
		t.wrapped("", t.paint.faint, "", "Not shown at this width: "+strings.Join(dropped, ", ")+".")
	}
	if foot := tooFewText(rows); foot != "" {
		t.wrapped("", t.paint.faint, "", foot)
	}
	t.line("")
}

// fellColumn is the sign ▾ beside the rates of a table, where any arm has it.
func fellColumn(table Table, rows []Row) []column {
	var c column
	marked := false
	for _, row := range rows {
		sign := ""
		if table.fell(row.Arm) {
			sign, marked = "▾", true
		}
		c.cells = append(c.cells, sign)
	}
	if !marked {
		return nil
	}
	return []column{c}
}

// without says why rows have no rank or no figures: the latter in a line for all of one kind.
func (t *terminal) without(table Table) {
	for _, row := range table.Rows {
		if row.Standing == Ranked || row.Standing == Reference || row.Rate == nil {
			continue
		}
		lead := row.Arm + " " + string(row.Standing) + ": "
		t.wrapped(t.paint.care.Render(lead), t.paint.plain, "  ", reasonText(row))
	}
	for _, n := range notesOf(table) {
		t.wrapped(t.paint.care.Render(n.Lead()), t.paint.plain, "  ", n.Text())
	}
}

func reasonText(row Row) string {
	if len(row.Reasons) == 0 {
		return "no reason is known"
	}
	if more := len(row.Reasons) - 1; more > 0 {
		return row.Reasons[0] + fmt.Sprintf("; and %d more", more)
	}
	return row.Reasons[0]
}

func columnOf(rows []Row, title string, keep int, cell func(Row) string) column {
	c := column{title: title, keep: keep}
	for _, row := range rows {
		c.cells = append(c.cells, cell(row))
	}
	return c
}

// latencyColumns are the percentiles that are shown in text.
func latencyColumns(rows []Row) []column {
	latency := func(title string, q float64) column {
		return columnOf(rows, title, 1, func(r Row) string {
			if r.Refuses(q) {
				return "refused" // the finding says why
			}
			return maybe(r.At(q), latencyText)
		})
	}
	return []column{latency("p50", 0.5), latency("p99", 0.99), latency("p99.9", 0.999), latency("max", 1)}
}

// shownQuantiles are those that tables have columns for.
var shownQuantiles = []float64{0.5, 0.99, 0.999}

// tooFewText says which percentiles rows lack because they have too few operations; "" if none.
func tooFewText(rows []Row) string {
	var lacking []float64
	for _, q := range shownQuantiles {
		if slices.ContainsFunc(rows, func(r Row) bool { return slices.Contains(r.TooFew, q) }) {
			lacking = append(lacking, q)
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	return absent + " under " + percentileNames(lacking) + ": too few operations; it would be the maximum under another name."
}

// cpuFootnote says why a table shows no CPU time of an operation; "" if it shows all.
func cpuFootnote(t Table) string {
	switch {
	case !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.CPUTooShort || r.CPUNS != nil }):
		return ""
	case t.Open:
		return cpuOpenText
	case slices.ContainsFunc(t.Rows, func(r Row) bool { return r.CPUTooShort }):
		return cpuTooShortText
	}
	return ""
}

const cpuOpenText = absent + " under CPU/op: under open load, a worker also uses CPU time to wait until operations are due; how much of it is the store's is not known."

const cpuTooShortText = absent + " under CPU/op: less than 0.1 s of CPU time in a block, too little to be told from the ticks of 10 ms that it is counted in."

const waitMeaning = "wait: mean time that an operation waited for a handle of the pool; not part of its service time."

func columnsOf(table Table, rows []Row) (names, speed, resources []column) {
	filled := func(title string, keep int, cell func(Row) string) column { return columnOf(rows, title, keep, cell) }
	aligned := func(c column) column {
		c.cells = alignDecimals(c.cells)
		return c
	}
	number := func(v *float64) string { return maybe(v, func(v float64) string { return si(v, "") }) }
	names = []column{
		filled("", 0, rankText),
		filled("store", 0, func(r Row) string { return r.Arm }),
	}
	names[1].left = true
	told := func(c column) bool { return slices.ContainsFunc(c.cells, func(cell string) bool { return cell != "" }) }
	speed = []column{
		aligned(filled(table.rateTitle(), 0, func(r Row) string { return si(r.Rate.Value, "") })),
		filled("95 %", 3, func(r Row) string { return strings.ReplaceAll(r.Rate.within(), " ", "") }),
		filled("of the best", 1, ratioCell),
	}
	if table.Batch > 0 {
		records := filled("records/s", 0, func(r Row) string { return maybe(recordsOf(r), func(v float64) string { return si(v, "") }) })
		speed = slices.Insert(speed, 1, aligned(records))
	}
	latencies := latencyColumns(rows)
	latencies[0].foot = tooFewText(rows)
	speed = append(speed, latencies...)
	if table.pooled() {
		wait := filled("wait", 1, func(r Row) string { return maybe(r.WaitNS, latencyText) })
		wait.foot = capital(waitMeaning)
		speed = append(speed, wait)
	}
	worst := filled("worst", 2, func(r Row) string { return number(r.WorstSecond) })
	if table.SampleS > 0 {
		worst.foot = "Worst: the lowest rate of any " + table.sampleText() + " after the warm-up."
	}
	speed = append(speed, worst)
	if table.missed() {
		speed = append(speed, filled("misses", 1, func(r Row) string { return count(r.Misses) }))
	}
	speed = append(speed, filled("bad", 0, func(r Row) string { return count(r.Bad) }))
	speed = slices.DeleteFunc(speed, func(c column) bool { return !told(c) }) // of one ranked arm nothing is of the best
	resources = []column{
		filled("disk", 1, func(r Row) string { return maybe(r.DiskBytes, bytesText) }),
		filled("logical", 2, func(r Row) string { return maybe(r.LogicalBytes, bytesText) }),
		filled("host writes", 3, func(r Row) string { return maybe(r.HostWriteBytes, bytesText) }),
		filled("write ampl.", 3, func(r Row) string { return maybe(r.WriteAmplification, ratioText) }),
		filled("memory", 1, func(r Row) string { return maybe(r.MemoryBytes, bytesText) }),
		filled("CPU/op", 3, func(r Row) string { return maybe(table.cpuOf(r), latencyText) }),
		filled("alloc/op", 2, func(r Row) string { return maybe(r.AllocBytes, allocBytesText) }),
		aligned(filled("allocs/op", 2, func(r Row) string { return maybe(r.Allocs, allocsText) })),
	}
	resources[5].foot = cpuFootnote(table)
	return names, speed, resources
}

func rankText(r Row) string {
	switch {
	case r.Rank > 0 && r.Tied:
		return strconv.Itoa(r.Rank) + "="
	case r.Rank > 0:
		return strconv.Itoa(r.Rank) + " "
	}
	return "· "
}

func ratioCell(r Row) string {
	switch {
	case r.Ratio == nil:
		return ""
	case r.NoneShown:
		return "no diff. shown"
	}
	return strings.TrimSpace(strings.TrimSuffix(ratioText(r.Ratio.Value), "×") + " " + r.Ratio.ratioRange())
}

// fitting gives columns up until the others fit, and names those that it gave up in the order of the table.
func fitting(columns []column, width int) (kept []column, dropped []string) {
	kept = slices.Clone(columns)
	for tableWidth(kept) > width {
		at, worst := -1, 0
		for i, c := range kept {
			if c.keep > 0 && c.keep >= worst {
				at, worst = i, c.keep
			}
		}
		if at < 0 {
			break
		}
		kept = slices.Delete(kept, at, at+1)
	}
	for _, c := range columns {
		if !slices.ContainsFunc(kept, func(k column) bool { return k.title == c.title }) {
			dropped = append(dropped, c.title)
		}
	}
	return kept, dropped
}

func (c column) width() int {
	widest := lipgloss.Width(c.title)
	for _, cell := range c.cells {
		widest = max(widest, lipgloss.Width(cell))
	}
	return widest
}

func tableWidth(columns []column) int {
	width := columnGap * (len(columns) - 1)
	for _, c := range columns {
		width += c.width()
	}
	return width
}

// grid draws the table: a rule under the heads and nothing else.
func (t *terminal) grid(columns []column, rows []Row) string {
	var heads []string
	cells := make([][]string, len(rows))
	for _, c := range columns {
		heads = append(heads, c.title)
		for i, cell := range c.cells {
			cells[i] = append(cells[i], cell)
		}
	}
	style := func(row, at int) lipgloss.Style {
		style := t.paint.plain
		switch {
		case row == table.HeaderRow:
			style = t.paint.faint
		case columns[at].title == "bad" && rows[row].Bad > 0:
			style = t.paint.bad
		case rows[row].Standing != Ranked:
			style = t.paint.faint
		case at <= 1 && rows[row].Rank == 1:
			style = t.paint.best
		}
		if !columns[at].left {
			style = style.Align(lipgloss.Right)
		}
		if at < len(columns)-1 {
			style = style.PaddingRight(columnGap)
		}
		return style
	}
	return table.New().Headers(heads...).Rows(cells...).StyleFunc(style).
		Border(lipgloss.NormalBorder()).BorderStyle(t.paint.faint).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		Wrap(false).String() + "\n"
}

func troubledLines(v View) (lines []string) {
	for _, trouble := range troubled(v) {
		if trouble.State == "failed" || trouble.State == "interrupted" {
			lines = append(lines, trouble.Who+" "+trouble.State+": "+trouble.Why)
		}
	}
	return lines
}

func (t *terminal) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	t.line("%s", t.paint.strong.Render(title))
	for _, line := range lines {
		t.wrapped("  ", t.paint.plain, "  ", line)
	}
	t.line("")
}

// findings writes a group at a time: several of one kind are counted in a sentence, with one of them as the example.
func (t *terminal) findings() {
	if len(t.view.Groups) == 0 {
		return
	}
	t.line("%s", t.paint.strong.Render("Findings"))
	for _, g := range t.view.Groups {
		style := map[Severity]lipgloss.Style{Grave: t.paint.bad, Warning: t.paint.care, Notice: t.paint.faint}[g.Severity]
		const indent = "           "
		t.wrapped(style.Render(fmt.Sprintf("  %-9s", g.Severity)), t.paint.plain, indent, g.Sentence)
		first := t.view.Findings[g.Of[0]]
		switch {
		case len(g.Of) > 1 && g.Code != verdict.FindRefused && !telling[g.Code]:
			t.wrapped(indent, t.paint.faint, indent, fmt.Sprintf("for one: %s (1 of %d)", first.Sentence, len(g.Of)))
		case len(g.Of) == 1 && len(first.Evidence) > 0:
			evidence := first.Evidence[0]
			if more := len(first.Evidence) - 1 + first.More; more > 0 {
				evidence += fmt.Sprintf(" (and %d more)", more)
			}
			t.wrapped(indent, t.paint.faint, indent, evidence)
		}
		if g.Remedy != "" {
			t.wrapped(indent, t.paint.faint, indent, "→ "+g.Remedy)
		}
	}
	t.line("")
}

// glance draws every rate in one grid, where there are several tables to look over.
func (t *terminal) glance() {
	if len(t.view.Tables) < 2 {
		return
	}
	g := glanceOf(t.view)
	t.line("%s", t.paint.strong.Render("At a glance, operations a second"+g.BatchWords()))
	for _, part := range g.Parts {
		from := 0
		for _, head := range part.Heads {
			t.glanceOf(part, head, from)
			from += head.Span
		}
	}
	var signs []string
	if g.Signs.Tied {
		signs = append(signs, "* the fastest, and what is not shown to be slower")
	} else if g.Signs.Ranked {
		signs = append(signs, "* the fastest")
	}
	if g.Signs.Unranked {
		signs = append(signs, "† no rank")
	}
	if g.Signs.Fell {
		signs = append(signs, "▾ "+fellMeaning)
	}
	if len(signs) > 0 {
		t.wrapped("", t.paint.faint, "", strings.Join(signs, "; ")+".")
		t.line("")
	}
}

func (t *terminal) glanceOf(part glancePart, head glanceHead, from int) {
	columns := []column{{title: strings.TrimSuffix(head.Class+", "+head.Of, ", "), left: true}}
	var rows []Row
	for _, row := range part.Rows {
		columns[0].cells = append(columns[0].cells, row.Arm)
		standing := Ranked
		if row.Aside {
			standing = Reference
		}
		rows = append(rows, Row{Arm: row.Arm, Standing: standing})
	}
	for i := range head.Span {
		c := column{title: strings.TrimSuffix(part.Columns[from+i].Phase+", "+part.Columns[from+i].Unit, ", "), keep: 1}
		for _, row := range part.Rows {
			square := row.Squares[from+i]
			text := square.Rate + square.Mark
			if square.Best {
				text += "*"
			}
			if square.Fell {
				text += "▾"
			}
			c.cells = append(c.cells, text)
		}
		columns = append(columns, c)
	}
	columns, dropped := fitting(columns, t.width)
	t.out.WriteString(t.grid(columns, rows))
	if len(dropped) > 0 {
		t.wrapped("", t.paint.faint, "", "Not shown at this width: "+strings.Join(dropped, ", ")+".")
	}
	t.line("")
}

// settingLines says of each arm what differs from its driver's defaults.
func settingLines(v View) (lines []string) {
	for _, s := range v.Stores {
		lines = append(lines, s.Arm+": "+s.Changed)
	}
	return lines
}

// dataToMemoryRange returns the least and most that the arms' data was of the memory that they might use; 0: not measured.
func dataToMemoryRange(table Table) (least, most float64) {
	for _, row := range table.Rows {
		if v := row.DataToMemory; v != nil && row.Role == string(plan.Measured) {
			if most == 0 || *v < least {
				least = *v
			}
			most = max(most, *v)
		}
	}
	return least, most
}

func rangeText(least, most float64) string {
	if a, b := ratioText(least), ratioText(most); a != b {
		return a + " to " + b
	}
	return ratioText(most)
}
