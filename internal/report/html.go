package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"assay/internal/plan"
	"assay/internal/stat"
)

//go:embed page.html
var pageTemplate string

//go:embed assets/page.js
var pageScript string

//go:embed assets/page.css
var pageStyle string

// HTML writes the report as one page that needs nothing else: it opens without a network. Its links to raw data are
// relative, from Run.Base on.
func HTML(w io.Writer, v View) error {
	trials := make(map[string]Trial, len(v.Trials))
	for _, t := range v.Trials {
		trials[t.Key] = t
	}
	page, err := template.New("page").Funcs(pageFuncs).Funcs(template.FuncMap{
		"trial":    func(key string) Trial { return trials[key] },
		"trialsOf": func(t Table) []Trial { return trialsOf(t, trials) },
		"finding":  func(i int) Finding { return v.Findings[i] },
		"checked": func(keys []string) checked {
			var all sum
			for _, key := range keys {
				all.add(trials[key].Final)
			}
			return checked{all.text(), all.bad()}
		},
	}).Parse(pageTemplate)
	if err != nil {
		return fmt.Errorf("parsing the report's page: %w", err)
	}
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("writing the report's page: %w", err)
	}
	return nil
}

var pageFuncs = template.FuncMap{
	// The bundle is Assay's own, and its test holds it free of "</script" and "</style".
	"style":  func() template.CSS { return template.CSS(pageStyle) },
	"script": func() template.JS { return template.JS(pageScript) },
	"data":   pageData,

	"severity": func(s Severity) string {
		return map[Severity]string{Grave: "Grave", Warning: "With care", Notice: "Note"}[s]
	},
	"groups":      groupsOf,
	"glance":      glanceOf,
	"fellMeaning": func() string { return fellMeaning },
	"notes":       notesOf,
	"happened":    happenedIn,
	"rated":       ratedRows,
	"strip":       conditionsOf,
	"breakable":   breakable,
	"sentence":    func(s string) string { return capital(s) + "." },
	"capital":     capital,
	"plural":      plural,
	"rateOf":      Table.rateText,
	"rateTitle":   Table.rateTitle,
	"counted":     Table.counted,
	"worstTitle":  Table.worstTitle,
	"pooled":      Table.pooled,
	"missed":      Table.missed,
	"columns":     rowColumns,
	"footnotes":   footnotes,
	"cpuFootnote": cpuFootnote,
	"cpuOf":       Table.cpuOf,
	"kinds":       kindTableOf,
	"operation":   operationText,
	"recordsOf":   recordsOf,
	"noise":       noiseText,
	"count":       count,
	"before":      func(s string) string { head, _, _ := strings.Cut(s, ", "); return head },
	"after":       func(s string) string { _, tail, _ := strings.Cut(s, ", "); return tail },
	"troubled":    troubled,
	"trial":       func(string) Trial { return Trial{} },
	"trialsOf":    func(Table) []Trial { return nil },
	"finding":     func(int) Finding { return Finding{} },
	"checked":     func([]string) checked { return checked{} },

	"rateBars": rateBars, "diskBars": diskBars, "memoryBars": memoryBars,
	"ninesHeight": func(t Table) int { return min(420, max(230, 25*len(t.Rows))) },

	"share":      func(v float64) string { return fmt.Sprintf("%.1f %%", v*100) },
	"doubts":     doubtsOf,
	"drained":    drainText,
	"showsWhy":   func(r Row) bool { return r.Standing != Ranked && r.Standing != Reference && len(r.Reasons) > 0 },
	"offRow":     func(r Row) bool { return r.Standing != Ranked },
	"firstLine":  func(s string) string { line, _, _ := strings.Cut(s, "\n"); return line },
	"otherLines": func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return strings.TrimSpace(rest) },
	"estimate":   func(e *Estimate) template.HTML { return numberHTML(si(e.Value, "")) },
	"within":     func(e *Estimate) string { return e.within() },
	"ratio":      ratioHTML,
	"number":     func(v *float64) template.HTML { return maybeHTML(v, func(v float64) string { return si(v, "") }) },
	"bytes":      func(v *float64) template.HTML { return maybeHTML(v, bytesText) },
	"allocs":     func(v *float64) template.HTML { return maybeHTML(v, allocsText) },
	"allocated":  func(v *float64) template.HTML { return maybeHTML(v, allocBytesText) },
	"times":      func(v *float64) string { return maybe(v, ratioText) },
	"nanos":      func(v *float64) template.HTML { return maybeHTML(v, latencyText) },
	"portion":    func(v *float64) string { return maybe(v, portionText) },
	"latency": func(l Latencies, q float64) template.HTML {
		switch {
		case l.Refuses(q):
			return template.HTML(template.HTMLEscapeString(l.refusedText()))
		case slices.Contains(l.TooFew, q):
			return template.HTML(`<span title="too few operations">` + absent + `</span>`)
		}
		return maybeHTML(l.At(q), latencyText)
	},
	"factor": func(r Row) string {
		if r.DiskBytes == nil || r.LogicalBytes == nil || *r.LogicalBytes == 0 {
			return absent
		}
		return ratioText(*r.DiskBytes / *r.LogicalBytes)
	},
	"whyNot": func(r Row) string {
		what := map[Standing]string{NotRanked: "Not ranked: ", Refused: "Refused: ", Failed: "Failed: "}[r.Standing]
		return what + strings.Join(r.Reasons, "; ")
	},
}

// pageData is the view as JSON, for the script and for saving. encoding/json writes <, > and & as escapes, so that no
// text can end the script element.
func pageData(v View) (template.JS, error) {
	data, err := json.Marshal(v)
	return template.JS(data), err
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func noiseText(ratio float64) string {
	return fmt.Sprintf("%.1f %%", stat.Distance(ratio)*100)
}

// rowColumns is how many columns the table of rates has beside the rank.
func rowColumns(t Table) int {
	columns := 11
	for _, more := range []bool{t.Batch > 0, t.pooled(), t.missed()} {
		if more {
			columns++
		}
	}
	return columns
}

// footnotes explains what a reader of a table's rates may stumble over; "" if nothing.
func footnotes(t Table) string {
	var notes []string
	if t.pooled() {
		notes = append(notes, capital(waitMeaning))
	}
	rows := ratedRows(t)
	for _, k := range kindRows(t) {
		rows = append(rows, Row{Latencies: k.Latencies})
	}
	if text := tooFewText(rows); text != "" {
		notes = append(notes, text)
	}
	return strings.Join(notes, " ")
}

// group is the tables of one durability class.
type group struct {
	ID, Class, Meaning string
	Tables             []Table
}

func groupsOf(v View) []group {
	var groups []group
	for _, t := range v.Tables {
		at := -1
		for i := range groups {
			if groups[i].Class == t.Class {
				at = i
			}
		}
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{ID: fmt.Sprintf("class-%d", at+1), Class: t.Class, Meaning: t.Meaning})
		}
		groups[at].Tables = append(groups[at].Tables, t)
	}
	return groups
}

func trialsOf(t Table, trials map[string]Trial) []Trial {
	var list []Trial
	for _, row := range t.Rows {
		for _, key := range row.Trials {
			list = append(list, trials[key])
		}
	}
	return list
}

// trouble is one reason, with every trial that it holds for.
type trouble struct{ Who, State, Why string }

func troubled(v View) []trouble {
	type reason struct{ arm, class, state, why string }
	blocks := map[reason][]string{}
	var order []reason
	for _, t := range v.Trials {
		for _, why := range t.Reasons {
			r := reason{t.Arm, t.Class, t.State, why}
			if blocks[r] == nil {
				order = append(order, r)
			}
			blocks[r] = append(blocks[r], fmt.Sprint(t.Block))
		}
	}
	var list []trouble
	for _, r := range order {
		noun := "block "
		if len(blocks[r]) > 1 {
			noun = "blocks "
		}
		list = append(list, trouble{r.arm + ", " + r.class + ", " + noun + strings.Join(blocks[r], ", ") + ":", r.state, r.why})
	}
	return list
}

// checked is what final checks found, for the page.
type checked struct {
	Text string
	Bad  bool
}

// event is something that happened to an arm, with the sentence that the plot's mark stands for.
type event struct{ Who, Text string }

// happenedIn lists the stalls, cliffs and the like that are marked in a table's plot; changes of level are left to the plot.
func happenedIn(t Table) []event {
	var events []event
	for _, s := range t.Series {
		for _, m := range s.Marks {
			if m.Kind == "change" {
				continue
			}
			who := fmt.Sprintf("%s, block %d", s.Arm, s.Block)
			if m.Kind == "stall" { // the other kinds' sentences say when
				who += fmt.Sprintf(", from %s to %s", si(m.At, "s"), si(m.Until, "s"))
			}
			events = append(events, event{who, m.Text + "."})
		}
	}
	return events
}

// ratedRows are the rows that have figures.
func ratedRows(t Table) []Row {
	var rows []Row
	for _, r := range t.Rows {
		if r.Rate != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// condition is one thing that a reader must know of the machine before any figure. What differs among several runs is listed within it.
type condition struct {
	before, after string
	values        []string
}

// conditionsOf is what a reader must know of the machine before any figure, in a line.
func conditionsOf(v View) string {
	var conditions []condition
	add := func(before, value, after string) {
		at := slices.IndexFunc(conditions, func(c condition) bool { return c.before == before && c.after == after })
		if at < 0 {
			at = len(conditions)
			conditions = append(conditions, condition{before: before, after: after})
		}
		if c := &conditions[at]; !slices.Contains(c.values, value) {
			c.values = append(c.values, value)
		}
	}
	for _, f := range v.Environment {
		name, of := f.Name, ""
		if run, own, found := strings.Cut(name, ": "); found {
			name, of = own, " of "+run
		}
		compressor, compresses := strings.CutPrefix(name, "Values under ")
		switch {
		case name == "CPU":
			add("", f.Value, "")
		case name == "Memory":
			add("", f.Value, " of memory")
		case name == "File system":
			kind, _, _ := strings.Cut(f.Value, " ")
			add("file system ", kind, "")
		case name == quotaFactName:
			kind, _, _ := strings.Cut(f.Value, ",")
			add("each trial"+of+" on ", kind, " of its own")
		case name == "fdatasync of 4 KiB":
			add("fdatasync ", strings.TrimSuffix(f.Value, " (median)"), "")
		case compresses:
			add("values compress to ", strings.TrimSuffix(f.Value, " of their size"), " with "+compressor)
		}
	}
	parts := make([]string, len(conditions))
	for i, c := range conditions {
		parts[i] = c.before + strings.Join(c.values, " or ") + c.after
	}
	return strings.Join(parts, " · ")
}

// breakable lets a long value be broken where its parts end.
func breakable(s string) template.HTML {
	parts := strings.Split(s, ";")
	for i, part := range parts {
		parts[i] = template.HTMLEscapeString(part)
	}
	return template.HTML(strings.Join(parts, ";<wbr>"))
}

func drainText(r Row) string {
	switch {
	case r.Drained == nil || r.DrainSeconds == nil:
		return absent
	case !*r.Drained:
		return "not drained"
	}
	return latencyText(*r.DrainSeconds * 1e9)
}

func portionText(v float64) string {
	if v < 0.001 {
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", v*100)
}

// numberHTML splits a number at its point and unit, so that the style sheet can align a column on both.
func numberHTML(text string) template.HTML {
	number, unit, _ := strings.Cut(text, " ")
	// Times and sizes change their prefix from row to row: there is no common point to align on.
	if strings.HasSuffix(unit, "s") || strings.HasSuffix(unit, "B") || strings.HasPrefix(number, "<") {
		return template.HTML(template.HTMLEscapeString(number) + `<span class="n-u unit">` + template.HTMLEscapeString(unit) + `</span>`)
	}
	whole, fraction, found := strings.Cut(number, ".")
	if found {
		fraction = "." + fraction
	}
	return template.HTML(template.HTMLEscapeString(whole) + `<span class="n-f">` + template.HTMLEscapeString(fraction) +
		`</span><span class="n-u">` + template.HTMLEscapeString(unit) + `</span>`)
}

func maybeHTML(v *float64, text func(float64) string) template.HTML {
	if v == nil {
		return template.HTML(absent)
	}
	return numberHTML(text(*v))
}

func ratioHTML(r Row) template.HTML {
	switch {
	case r.Ratio == nil:
		return ""
	case r.NoneShown:
		return template.HTML(`<span class="tie">no difference shown</span>`)
	}
	text := template.HTMLEscapeString(ratioText(r.Ratio.Value))
	if interval := r.Ratio.ratioRange(); interval != "" {
		text += ` <span class="pm">` + template.HTMLEscapeString(interval) + `</span>`
	}
	return template.HTML(text)
}

// bars is one figure of bars that begin at zero.
type bars struct {
	Title, Caption string
	Bars           []bar
}

// bar is one arm's. Lengths are CSS percentages.
type bar struct {
	Arm          string
	Off          bool
	None         string // why there is no bar
	Width        template.CSS
	Ranged       bool
	Cut          bool // the range goes on beyond the figure
	From, Across template.CSS
	Tick         template.CSS
	Text         string
}

func percent(share float64) template.CSS {
	return template.CSS(fmt.Sprintf("%.2f%%", math.Max(0, math.Min(1, share))*100))
}

// rateBars leaves the null driver out: next to it every store would be a hair's breadth.
func rateBars(t Table) bars {
	figure := bars{Title: "Rate", Caption: ", " + t.counted() + " a second after the warm-up, or of the whole phase where it never settled"}
	if t.WholePhase {
		figure.Caption = ", " + t.counted() + " a second over the whole phase"
	}
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Rate != nil && r.Rate.Low != nil }) {
		figure.Caption += ": mean of the blocks with its 95 % interval"
	}
	longest := 0.0
	for _, r := range t.Rows {
		if r.Rate != nil && r.Role != string(plan.Ceiling) {
			longest = max(longest, r.Rate.Value)
			if r.Rate.High != nil {
				longest = max(longest, min(*r.Rate.High, 1.5*r.Rate.Value))
			}
		}
	}
	if longest == 0 {
		longest = 1 // nothing ended well: every bar is empty
	}
	for _, r := range t.Rows {
		switch {
		case r.Role == string(plan.Ceiling):
		case r.Rate == nil: // the notes beneath the table name it
		default:
			b := bar{Arm: r.Arm, Off: r.Standing != Ranked, Width: percent(r.Rate.Value / longest), Text: t.rateText(r.Rate.Value)}
			if r.Rate.Low != nil && r.Rate.High != nil {
				from, to := max(0, *r.Rate.Low/longest), min(1, *r.Rate.High/longest)
				b.Ranged, b.From, b.Across, b.Cut = true, percent(from), percent(to-from), *r.Rate.High > longest
			}
			figure.Bars = append(figure.Bars, b)
		}
	}
	return figure
}

func diskBars(t Table) bars {
	figure := bars{Title: "Disk", Caption: " after the phase and its drain; the line marks the logical bytes"}
	longest := 0.0
	for _, r := range t.Rows {
		for _, v := range []*float64{r.DiskBytes, r.LogicalBytes} {
			if v != nil && r.Role == string(plan.Measured) {
				longest = max(longest, *v)
			}
		}
	}
	for _, r := range t.Rows {
		if r.Role != string(plan.Measured) || r.Rate == nil {
			continue
		}
		b := bar{Arm: r.Arm, Off: r.Standing != Ranked, None: "not measured"}
		if r.DiskBytes != nil && longest > 0 {
			b.None, b.Width, b.Text = "", percent(*r.DiskBytes/longest), bytesText(*r.DiskBytes)
			if r.LogicalBytes != nil {
				b.Tick = percent(*r.LogicalBytes / longest)
			}
		}
		figure.Bars = append(figure.Bars, b)
	}
	return figure
}

func memoryBars(t Table) bars {
	figure := bars{Title: "Memory", Caption: " of the worker process and of the server, where there is one: the largest resident set of each in the phase, mean over blocks"}
	longest := 0.0
	for _, r := range t.Rows {
		if r.MemoryBytes != nil && r.Role == string(plan.Measured) {
			longest = max(longest, *r.MemoryBytes)
		}
	}
	for _, r := range t.Rows {
		if r.Role != string(plan.Measured) || r.Rate == nil {
			continue
		}
		b := bar{Arm: r.Arm, Off: r.Standing != Ranked, None: "not measured"}
		if r.MemoryBytes != nil && longest > 0 {
			b.None, b.Width, b.Text = "", percent(*r.MemoryBytes/longest), bytesText(*r.MemoryBytes)
		}
		figure.Bars = append(figure.Bars, b)
	}
	return figure
}
