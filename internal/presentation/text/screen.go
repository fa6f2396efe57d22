// Package text writes a result for a terminal: [Screen] answers the question in at most 40 lines of
// 80 columns, [Brief] is the answer alone, [Full] is everything, and [Markdown] is the screen for a
// pull request. It formats a model.Result and judges nothing.
package text

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
)

// LinesMax is how many lines [Screen] takes at most.
const LinesMax = 40

const (
	widthMin  = 40
	screenMax = 100 // a screen wider than this reads worse, not better
	labelCols = 11  // of the headings beside which the closing lines stand
)

// Options say how text is written.
type Options struct {
	Colour bool // escape sequences for colour; without it there are none at all
	Width  int  // columns
	Report string
}

// Screen writes the one screen: question, what was run, a small table for each durability class,
// then what is clear, what is not, what disturbs the figures, and what to do next. Report, where it
// is set, is the path of the page.
func Screen(w io.Writer, r *model.Result, o Options) error {
	r = format.Shown(r)
	var lines []string
	var b budget
	for _, b = range budgets {
		if lines = newPage(o).screen(r, b); len(lines) <= LinesMax {
			break
		}
	}
	b.longer = map[finding.Bare]int{}
	for grown := len(lines) <= LinesMax; grown; { // no answer waits while a line is free
		grown = false
		for _, l := range r.Summary.Lists() {
			if b.most(l.Heading) >= len(l.Messages) {
				continue
			}
			b.longer[l.Heading]++
			if longer := newPage(o).screen(r, b); len(longer) <= LinesMax {
				lines, grown = longer, true
			} else {
				b.longer[l.Heading]--
			}
		}
	}
	return write(w, lines)
}

// Brief writes what is clear and what is not: some lines for a script's log.
func Brief(w io.Writer, r *model.Result, o Options) error {
	p := newPage(o)
	p.closing(format.Shown(r).Summary, budget{list: 4})
	return write(w, p.lines)
}

func write(w io.Writer, lines []string) error {
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// budget is how much of each part the screen shows, and whether narrow tables stand side by side.
// The first one with which it fits is taken: stores are the last to go.
type budget struct {
	rows, changes, missing, list int
	on                           int                  // sentences of machine and versions
	beside                       bool                 // narrow tables stand side by side
	longer                       map[finding.Bare]int // messages more of the lists of a heading
}

// most is how many messages of a list are shown.
func (b budget) most(heading finding.Bare) int {
	switch heading {
	case finding.HeadingAnswer:
		return 2*b.list + b.longer[heading]
	case finding.HeadingChecked:
		return max(b.list, 2) + b.longer[heading]
	}
	return b.list + b.longer[heading]
}

var budgets = []budget{
	{16, 4, 4, 5, 9, false, nil}, {16, 2, 2, 3, 9, false, nil}, {16, 2, 2, 3, 9, true, nil}, {16, 1, 1, 2, 1, true,
		nil},
	{16, 0, 1, 2, 1, true, nil}, {16, 0, 1, 1, 1, true, nil}, {16, 0, 1, 1, 0, true, nil}, {16, 0, 0, 1, 0, true, nil},
	{12, 0, 1, 1, 0, true, nil}, {9, 0, 0, 1, 0, true, nil}, {8, 0, 0, 1, 0, true, nil}, {6, 0, 0, 1, 0, true, nil},
	{4, 0, 0, 1, 0, true, nil}, {3, 0, 0, 1, 0, true, nil},
}

// page gathers lines.
type page struct {
	paint
	width   int
	o       Options
	lines   []string
	dropped bool // a column did not fit
}

func newPage(o Options) *page {
	return &page{paint: paintOf(o.Colour), width: max(o.Width, widthMin), o: o}
}

func (p *page) add(lines ...string) { p.lines = append(p.lines, lines...) }

// blank adds an empty line, unless one is there or nothing is.
func (p *page) blank() {
	if n := len(p.lines); n > 0 && p.lines[n-1] != "" {
		p.add("")
	}
}

// wrapped adds a text in lines of at most the width: the first begins with lead, which is painted
// already, the others with as many spaces as indent says.
func (p *page) wrapped(lead string, style lipgloss.Style, indent int, text string) {
	room := max(min(p.width, screenMax)-indent, 20)
	for i, line := range wrap(text, room-max(0, lipgloss.Width(lead)-indent), room) {
		if i == 0 {
			p.add(lead + style.Render(line))
			continue
		}
		p.add(strings.Repeat(" ", indent) + style.Render(line))
	}
}

// wrap breaks a text at spaces alone, so that names with hyphens stay whole, and never before "%";
// a word that is longer than a line is cut. The first line has a width of its own.
func wrap(text string, room, rest int) (lines []string) {
	line, width := "", 0
	for word := range strings.SplitSeq(strings.ReplaceAll(text, " %", "\u00a0%"), " ") {
		for {
			wide := lipgloss.Width(word)
			switch {
			case line != "" && width+1+wide <= room:
				line, width = line+" "+word, width+1+wide
			case line != "":
				lines, line, room = append(lines, line), "", rest
				continue
			case wide > room && room > 0:
				cut := 0
				for i, c := range word {
					if lipgloss.Width(word[:i]+string(c)) > room {
						break
					}
					cut = i + utf8.RuneLen(c)
				}
				lines, word, room = append(lines, word[:max(cut, 1)]), word[max(cut, 1):], rest
				continue
			case wide > room:
				lines, room = append(lines, ""), rest
				continue
			default:
				line, width = word, wide
			}
			break
		}
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], "\u00a0", " ")
	}
	return append(lines, strings.ReplaceAll(line, "\u00a0", " "))
}

// command adds a line for a shell, which can be pasted as it stands: it is broken between words,
// with a backslash, and never in them.
func (p *page) command(lead string, text string) {
	room := max(min(p.width, screenMax)-labelCols, 20)
	var lines []string
	line := ""
	for _, word := range shellWords(text) {
		switch {
		case line == "":
			line = word
		case lipgloss.Width(line)+1+lipgloss.Width(word) <= room-len(` \`):
			line += " " + word
		default:
			lines, line = append(lines, line+` \`), "  "+word
		}
	}
	if lipgloss.Width(text) <= room {
		lines, line = nil, text
	}
	for i, line := range append(lines, line) {
		if i > 0 {
			lead = strings.Repeat(" ", labelCols)
		}
		p.add(lead + p.strong.Render(line))
	}
}

// shellWords splits a command at the spaces that are not quoted, and keeps a flag's value with it.
func shellWords(command string) (words []string) {
	quoted, escaped, from := false, false, 0
	for i := range len(command) {
		switch c := command[i]; {
		case escaped:
			escaped = false
		case c == '\'':
			quoted = !quoted
		case c == '\\' && !quoted:
			escaped = true
		case c == ' ' && !quoted:
			words, from = append(words, command[from:i]), i+1
		}
	}
	words = append(words, command[from:])
	for i := len(words) - 2; i >= 0; i-- {
		if words[i] == "--set" {
			words[i] += " " + words[i+1]
			words = slices.Delete(words, i+1, i+2)
		}
	}
	return words
}

func (p *page) screen(r *model.Result, b budget) []string {
	p.width = min(p.width, screenMax)
	if r.Summary.Question != "" {
		p.wrapped("", p.strong, 0, r.Summary.Question)
	}
	ran := append([]finding.Message{r.Summary.Ran}, first(r.Summary.On, b.on)...)
	if b.on < len(r.Summary.On) {
		ran = append(ran, finding.New(finding.OnFoldedParams{Machine: b.on == 0}))
	}
	p.wrapped("", p.faint, 0, sentences(ran))
	if len(r.Runs) > 1 {
		for _, run := range r.Runs {
			p.wrapped(run.Name+" "+run.ID+": ", p.strong, 2, run.Question)
		}
	}
	used := &drawn{result: r}
	sections := r.Summary.Sections
	for len(sections) > 0 {
		p.blank()
		if b.beside && len(sections) > 1 && p.pair(sections[0], sections[1], b, used) {
			sections = sections[2:]
			continue
		}
		p.section(sections[0], b, used)
		sections = sections[1:]
	}
	if text := used.text(); text != "" {
		p.wrapped("", p.faint, 0, text)
	}
	p.blank()
	p.closing(r.Summary, b)
	if p.o.Report != "" {
		p.add(p.heading(headed(finding.HeadingReport)) + p.o.Report)
	}
	return p.lines
}

// pair draws two durability classes side by side; false: they are too wide.
func (p *page) pair(left, right model.Section, b budget, used *drawn) bool {
	half := (p.width - len(between)) / 2
	var sides [2]*page
	for i, s := range []model.Section{left, right} {
		sides[i] = &page{paint: p.paint, width: half, o: p.o}
		sides[i].section(s, b, used)
		if sides[i].dropped {
			return false
		}
	}
	for i := range max(len(sides[0].lines), len(sides[1].lines)) {
		var line [2]string
		for k, side := range sides {
			if i < len(side.lines) {
				line[k] = side.lines[i]
			}
		}
		line[0] += strings.Repeat(" ", max(half-lipgloss.Width(line[0]), 0))
		p.add(strings.TrimRight(line[0]+between+line[1], " "))
	}
	return true
}

// between stands between tables that are side by side.
const between = "   "

// section draws one durability class.
func (p *page) section(s model.Section, b budget, used *drawn) {
	title := strings.ToUpper(s.Title[:min(1, len(s.Title))]) + s.Title[min(1, len(s.Title)):]
	// Behind the class stands how far it was shown, which may go on in the next line.
	rest := ""
	if class := strings.LastIndexByte(title, ')') + 1; class > 0 {
		title, rest = title[:class], title[class:]
	}
	if s.Unit != "" {
		rest += ", " + s.Unit
	}
	if of := s.Of(); of != "" {
		rest += ", " + of
	}
	p.wrapped(p.strong.Render(title), p.faint, 2, rest)
	for _, left := range p.sectionGrid(s, b, used) {
		p.wrapped("  ", p.faint, 2, left)
	}
	for _, text := range texts(s.Changes, b.changes) {
		p.wrapped("  ", p.plain, 2, text)
	}
	for _, text := range texts(s.Missing, b.missing) {
		p.wrapped("  ", p.faint, 2, text)
	}
}

// drawn is what grids showed: the meaning of its signs is written once, below the last.
type drawn struct {
	result *model.Result
	parts  []column.Part
	left   []string // intervals, or what stands beside rates, that did not fit in some grid
}

func (d *drawn) text() string {
	var meanings []string
	for _, m := range column.Legend(d.parts) {
		if m.Sign != format.Absent {
			meanings = append(meanings, m.String())
		}
	}
	text := strings.Join(meanings, "; ")
	if text != "" {
		text += "."
	}
	if len(d.left) > 0 {
		text = strings.TrimSpace(text + " " + format.Capital(strings.Join(d.left, ", ")) + ": --full.")
	}
	return text
}

// What of a section's grid goes first where there is no room: columns go before that.
const (
	keepInterval = 100
	keepBeside   = 200
)

// hideIntervals removes the intervals of parts whose interval columns did not fit: the legend explains
// only signs that are shown.
func hideIntervals(parts []column.Part) {
	for _, part := range parts {
		for i := range part.Cells {
			part.Cells[i].Within = ""
		}
	}
}

// sectionGrid draws the grid of a section and returns what it leaves out.
func (p *page) sectionGrid(s model.Section, b budget, used *drawn) (left []string) {
	more := len(s.Rows)
	s.Rows = leading(s, b.rows)
	if more -= len(s.Rows); len(s.Rows) == 0 {
		return nil
	}
	stores := gridColumn{title: "", left: true}
	for _, row := range s.Rows {
		stores.cells = append(stores.cells, "  "+format.CleanMax(row.Arm, 60))
	}
	columns := []gridColumn{stores}
	parts := column.Parts(used.result, &s)
	at := -1
	for _, part := range parts {
		if part.Figure {
			at++
		}
		figures := gridColumn{title: part.Title(), keep: at, left: part.Left, tight: true}
		if !part.Figure {
			figures.keep, figures.extra, figures.tight = keepBeside, true, false
		}
		signs := gridColumn{keep: at, left: true}
		within := gridColumn{title: finding.HeadOf(finding.ColumnInterval).Short, keep: keepInterval, extra: true}
		for _, cell := range part.Cells {
			figures.cells = append(figures.cells, cell.Text)
			signs.cells = append(signs.cells, cell.Sign)
			within.cells = append(within.cells, cell.Within)
		}
		figures.style = func(row int) lipgloss.Style {
			switch cell := part.Cells[row]; {
			case cell.Best:
				return p.best
			case cell.Value == nil:
				return p.faint
			}
			return p.plain
		}
		columns = append(columns, figures)
		if part.Figure {
			columns = append(columns, signs)
		}
		if part.Interval && slices.ContainsFunc(within.cells, func(cell string) bool { return cell != "" }) {
			columns = append(columns, within)
		}
	}
	kept, _ := fitting(prepared(columns), p.width)
	for _, c := range columns {
		name := c.title
		if c.keep == keepInterval {
			name = "intervals"
		}
		fits := slices.ContainsFunc(kept, func(k gridColumn) bool { return k.keep == c.keep })
		if c.extra && !fits && !slices.Contains(used.left, name) {
			used.left = append(used.left, name)
		}
	}
	if !slices.ContainsFunc(kept, func(c gridColumn) bool { return c.keep == keepInterval }) {
		hideIntervals(parts)
	}
	used.parts = append(used.parts, parts...)
	lines, dropped := grid(columns, p.width, p.paint, func(int) lipgloss.Style { return p.plain })
	p.dropped = p.dropped || len(dropped) > 0 || slices.ContainsFunc(lines,
		func(line string) bool { return lipgloss.Width(line) > p.width })
	p.add(lines...)
	if more > 0 {
		left = append(left, finding.Text(finding.New(finding.FooterParams{Code: finding.MoreStores, More: more})))
	}
	return append(left, notShown(dropped)...)
}

// leading keeps so many rows: those that are first at anything, and of the others the first.
func leading(s model.Section, most int) (kept []model.SectionRow) {
	rows, leads := s.Rows, map[int]float64{} // the best figure by column
	for i, column := range s.Columns {
		for _, row := range rows {
			v, lead := row.Cells[i].Value, leads[i]
			switch {
			case v == nil:
			case lead == 0, column.Kind == "latency" && *v < lead, column.Kind != "latency" && *v > lead:
				leads[i] = *v
			}
		}
	}
	best := func(row model.SectionRow) bool {
		for i, c := range row.Cells {
			if c.Best || c.Value != nil && *c.Value == leads[i] {
				return true
			}
		}
		return false
	}
	others := max(most, 0)
	for _, row := range rows {
		if best(row) {
			others--
		}
	}
	for _, row := range rows {
		if len(kept) >= most {
			break
		}
		if !best(row) {
			if others--; others < 0 {
				continue
			}
		}
		kept = append(kept, row)
	}
	return kept
}

// notShown names the columns that did not fit.
func notShown(dropped []string) []string {
	dropped = slices.DeleteFunc(dropped, func(title string) bool { return title == "" })
	if len(dropped) == 0 {
		return nil
	}
	return []string{finding.Text(finding.New(finding.NotShownParams{Columns: dropped}))}
}

// headed is the sentence of a code without parameters.
func headed(code finding.Bare) string { return finding.Text(finding.New(code)) }

// part begins a part of the full text.
func (p *page) part(heading finding.Bare) {
	p.blank()
	p.add(p.strong.Render("── " + headed(heading) + " ──"))
}

func (p *page) heading(title string) string { return p.strong.Render(padRight(title, labelCols)) }

// closing writes what the reader takes away.
func (p *page) closing(s model.Summary, b budget) {
	for _, l := range s.Lists() {
		style := p.plain
		if l.Heading == finding.HeadingTrust {
			style = p.care
		}
		p.list(l.Title(), style, l.Messages, b.most(l.Heading))
	}
	for i, next := range first(s.Next, b.list) {
		title := ""
		if i == 0 {
			title = headed(finding.HeadingNext)
		}
		p.command(p.heading(title), next.Command)
		p.wrapped(strings.Repeat(" ", labelCols), p.faint, labelCols, finding.Text(next.Why))
	}
}

// list writes messages beside a heading.
func (p *page) list(title string, style lipgloss.Style, messages []finding.Message, most int) {
	for _, text := range texts(messages, most) {
		p.wrapped(p.heading(title), style, labelCols, text)
		title = ""
	}
}

// texts are the first messages in words; behind the last stands how many there are beyond most.
func texts(messages []finding.Message, most int) (told []string) {
	for _, m := range first(messages, most) {
		told = append(told, finding.Text(m))
	}
	if more := len(messages) - len(told); more > 0 && len(told) > 0 {
		told[len(told)-1] += fmt.Sprintf(" (%d more: --full)", more)
	}
	return told
}

func first[T any](list []T, most int) []T { return list[:min(len(list), max(most, 0))] }
