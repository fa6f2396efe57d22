// Package html writes a result as one page that needs nothing else: it opens without a network, and
// every figure in it is readable without its script, which only draws the charts.
//
//  1. html.go   the page as the template takes it: classes, summary, findings, trials
//  2. grid.go   tables whose columns are there only where some row has a value
//  3. chart.go  what the script draws, and the look of each arm
//  4. picture.go  plots of few points, which need no script: choice.go, scaling.go, replay.go; powercuts.go: what
//     cuts took against the rate; locate.go: links to raw data
//  5. comparison.go, comparison.html  the page of assay compare, without a script
//  6. page.html the template; its style sheet and script are bundled from web/ into assets/
//
// Sentences are finding's. The page itself has labels and headings.
package html

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

//go:embed page.html
var pageTemplate string

//go:embed assets
var assets embed.FS

// parsed is the page's template. Every start of the command, and of a worker, would take the time to
// parse it.
var parsed = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(functions).Parse(pageTemplate))
})

// Write writes the page. Its links to raw data are those of the result: see [Locate].
func Write(w io.Writer, r *model.Result) error {
	p, err := newPage(format.Shown(r))
	if err != nil {
		return fmt.Errorf("preparing the report's page: %w", err)
	}
	if err := parsed().Execute(w, p); err != nil {
		return fmt.Errorf("writing the report's page: %w", err)
	}
	return nil
}

// Style returns the style sheet of the page, for others that look like it.
func Style() []byte {
	style, err := assets.ReadFile("assets/page.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return style
}

// page is a result as the template takes it.
type page struct {
	*model.Result
	Style   template.CSS
	Script  template.JS
	Data    template.JS // of the charts
	Policy  string      // what the page may load and run: its own script, and nothing else
	Classes []class
	Looks   map[string]look
	Lead    lead
	trials  map[string]model.Trial
}

// class is the tables of one durability class of one run.
type class struct {
	ID, Title, Code, Run string
	Tables               []model.Table
}

func newPage(r *model.Result) (page, error) {
	p := page{Result: r, trials: map[string]model.Trial{}, Looks: looksOf(r)}
	for _, t := range r.Trials {
		p.trials[t.Key] = t
	}
	for _, t := range r.Tables {
		last := len(p.Classes) - 1
		if last < 0 || p.Classes[last].Code != t.Class || p.Classes[last].Run != t.Run {
			id := fmt.Sprintf("class-%d", len(p.Classes)+1)
			p.Classes = append(p.Classes, class{ID: id, Title: t.Title, Code: t.Class, Run: t.Run})
			last++
		}
		p.Classes[last].Tables = append(p.Classes[last].Tables, t)
	}
	p.Lead = p.leadOf()
	script, err := assets.ReadFile("assets/page.js")
	if err != nil {
		return p, err
	}
	data, err := p.chartData()
	// The bundle is Assay's own, and its test holds it free of "</script" and "</style";
	// encoding/json writes <, > and & as escapes.
	p.Style, p.Script, p.Data = template.CSS(Style()), template.JS(script), template.JS(data)
	digest := sha256.Sum256(script)
	p.Policy = "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) +
		"'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
	return p, err
}

// RunOf returns a run's ID where there are several, and "" where there is one.
func (p page) RunOf(id string) string {
	if len(p.Runs) < 2 {
		return ""
	}
	return id
}

// Trial returns a planned trial by its key.
func (p page) Trial(key string) model.Trial { return p.trials[key] }

var functions = template.FuncMap{
	"text":      finding.Text,
	"heading":   func(name string) string { return finding.HeadOf(finding.Bare("heading " + name)).Heading },
	"column":    func(name string) string { return finding.HeadOf(finding.Bare("column " + name)).Heading },
	"texts":     texts,
	"count":     func(n int) string { return format.Count(uint64(max(n, 0))) },
	"rate":      format.Rate,
	"quantile":  format.Quantile,
	"factor":    format.Factor,
	"interval":  intervalText,
	"plural":    func(n int, one, many string) string { return format.Plural(n, one, many) },
	"severity":  func(s finding.Severity) string { return strings.ToUpper(string(s[:1])) + string(s[1:]) },
	"meaning":   meaning,
	"breakable": breakable,
	"width":     func(share float64) template.CSS { return template.CSS(fmt.Sprintf("%.2f%%", 100*share)) },
	"dict":      dict,
	"cell":      screenCell,
}

// meaning is what a resource means, without the title that stands before it, and its unit where the
// figures have none.
func meaning(r model.Resource) string {
	text := strings.TrimPrefix(r.Meaning, r.Title+" ")
	if r.Unit == "cores" {
		text += " (1: one core)"
	}
	return text
}

// dict makes the data of a part of the template from pairs of name and value.
func dict(pairs ...any) map[string]any {
	data := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		data[pairs[i].(string)] = pairs[i+1]
	}
	return data
}

func texts(messages []finding.Message) (sentences []string) {
	for _, m := range messages {
		sentences = append(sentences, finding.Text(m))
	}
	return sentences
}

func intervalText(low, high *float64) string {
	if low == nil || high == nil {
		return ""
	}
	return format.Interval(*low, *high)
}

// breakable lets a long value be broken where its parts end.
func breakable(s string) template.HTML {
	return template.HTML(strings.ReplaceAll(template.HTMLEscapeString(s), ";", ";<wbr>"))
}

// placeOf names the place of a finding for the lists in which several stand.
func placeOf(w finding.Where) string {
	parts := slices.DeleteFunc([]string{w.Arm, w.Phase, w.Class}, func(s string) bool { return s == "" })
	return strings.Join(parts, " · ")
}

// badge is what was verified; Bad: some of it was not as it should be.
type badge struct {
	Text string
	Bad  bool
}

// Badges returns what of the data was verified, for the head of the page.
func (p page) Badges() (badges []badge) {
	for _, m := range p.Summary.Badges {
		bad := slices.ContainsFunc([]string{"lost", "wrong", "stale"}, func(name string) bool { return fmt.Sprint(m.Params[name]) != "0" })
		badges = append(badges, badge{finding.Text(m), bad})
	}
	return badges
}

// list is a labelled list of the summary.
type list struct {
	Name  string
	Lines []string
}

// Lists returns what the summary says beneath its tables.
func (p page) Lists() (lists []list) {
	for _, l := range p.Summary.Lists() {
		if len(l.Messages) > 0 {
			lists = append(lists, list{l.Title(), texts(l.Messages)})
		}
	}
	return lists
}

// link is an entry of the navigation.
type link struct{ ID, Name string }

// Links returns the entries of the navigation.
func (p page) Links() []link {
	to := func(heading finding.Bare) link {
		_, id, _ := strings.Cut(string(heading), " ") // the part of the page has the heading's name
		return link{id, finding.HeadOf(heading).Heading}
	}
	links := []link{to(finding.HeadingSummary), to(finding.HeadingFindings)}
	for _, c := range p.Classes {
		links = append(links, link{c.ID, strings.TrimSpace(c.Code + " " + p.RunOf(c.Run))})
	}
	for _, part := range []struct {
		heading finding.Bare
		there   bool
	}{{finding.HeadingScaling, len(p.Scaling) > 0}, {finding.HeadingLoss, len(p.lossPoints()) > 0},
		{finding.HeadingStores, len(p.Stores) > 0}, {finding.HeadingTrials, len(p.Matrix.Rows) > 0},
		{finding.HeadingMachine, len(p.Environment) > 0}, {finding.HeadingReading, true}} {
		if part.there {
			links = append(links, to(part.heading))
		}
	}
	return links
}

// finding is one finding with its words, for the template.
type oneFinding struct {
	Place, Text, Table string
	Evidence           []string
	More               int
}

// Of returns the findings of a group, then those that they explain.
func (p page) Of(g model.Group) (of []oneFinding) {
	for _, i := range slices.Concat(g.Of, g.Effects) {
		f := p.Findings[i]
		one := oneFinding{Place: placeOf(f.Where), Text: finding.Text(f.Message), More: f.More}
		if slices.ContainsFunc(p.Tables, func(t model.Table) bool { return t.ID == f.Where.Table }) {
			one.Table = f.Where.Table
		}
		for _, e := range f.Evidence {
			line := finding.Text(e.Message)
			if e.Trial != "" {
				line = e.Trial + ": " + line
			}
			one.Evidence = append(one.Evidence, line)
		}
		of = append(of, one)
	}
	return of
}

// note is something that holds for the figures of some arms.
type note struct {
	Arms []string
	Text string
}

// notesArmsMax is how many arms a note names.
const notesArmsMax = 12

// Who returns the names of a note's arms.
func (n note) Who() string { return format.ListMax(n.Arms, notesArmsMax) }

// notes gathers notes: the same text stands once, with all arms that it holds for.
type notes []note

func (n *notes) add(text string, arms ...string) {
	at := slices.IndexFunc(*n, func(have note) bool { return have.Text == text })
	if at < 0 {
		at = len(*n)
		*n = append(*n, note{Text: text})
	}
	for _, arm := range arms {
		if !slices.Contains((*n)[at].Arms, arm) {
			(*n)[at].Arms = append((*n)[at].Arms, arm)
		}
	}
}

// NotesOf returns what must be known of a table's figures, beneath it.
func (p page) NotesOf(t model.Table) notes {
	var n notes
	for _, row := range t.Rows {
		for _, why := range row.Reasons {
			n.add(string(row.Standing)+": "+finding.Text(why), row.Arm)
		}
	}
	for _, a := range t.Absence {
		n.add(finding.Text(a.Why), a.Arms...)
	}
	for _, row := range t.Rows {
		if len(row.Refused) > 0 && row.Latencies.Why.Code != "" {
			n.add(finding.Text(row.Latencies.Why), row.Arm)
		}
		if len(row.TooFew) > 0 {
			n.add(finding.Text(finding.New(finding.LatencyTooFewParams{Quantiles: quantiles(row.TooFew)})), row.Arm)
		}
	}
	for _, m := range t.Notes {
		n.add(finding.Text(m))
	}
	return n
}

func quantiles(qs []float64) (names []string) {
	for _, q := range qs {
		names = append(names, format.Quantile(q))
	}
	return names
}

// TrialNotes returns why trials were marked, failed or refused: each reason once, with its trials.
func (p page) TrialNotes() notes {
	var n notes
	for _, t := range p.Trials {
		for _, why := range t.Reasons {
			n.add(t.State+": "+finding.Text(why), strings.TrimSpace(t.Arm+" "+t.Class))
		}
	}
	return n
}

// readBack is what the last phases of an arm's trials found when they read records back.
type readBack struct {
	Text string
	Bad  bool
}

// ReadBack sums up the final checks of an arm.
func (p page) ReadBack(row model.MatrixRow) readBack {
	var all model.Final
	for _, square := range row.Squares {
		for _, key := range square {
			if f := p.trials[key].Final; f != nil {
				all.Records, all.Right = all.Records+f.Records, all.Right+f.Right
				all.Lost, all.Stale = all.Lost+f.Lost, all.Stale+f.Stale
				all.Wrong, all.Errors = all.Wrong+f.Wrong, all.Errors+f.Errors
				all.Unknown += f.Unknown
			}
		}
	}
	if all.Records+all.Lost+all.Errors == 0 {
		return readBack{Text: format.Absent}
	}
	parts := []string{format.Count(all.Right) + " correct"}
	for _, count := range []struct {
		n    uint64
		name string
	}{{all.Lost, "lost"}, {all.Stale, "stale"}, {all.Wrong, "wrong"}, {all.Errors, "errors"}, {all.Unknown, "unknown"}} {
		if count.n > 0 {
			parts = append(parts, format.Count(count.n)+" "+count.name)
		}
	}
	return readBack{strings.Join(parts, ", "), all.Lost+all.Stale+all.Wrong+all.Errors > 0}
}

// beside is the resources of a group that were measured in a table.
type beside struct {
	Group     string // "": those that are shown at once
	Resources []model.Resource
}

// BesideOf returns what was measured beside a table's rates: first what is shown at once, then the
// others by group.
func (p page) BesideOf(t model.Table) []beside {
	groups := []beside{{}}
	for _, r := range p.Resources {
		if !slices.ContainsFunc(t.Series, func(s model.Series) bool {
			return s.Beside != nil && s.Beside.Values[r.Name] != nil
		}) {
			continue
		}
		group := r.Group
		if r.Shown {
			group = ""
		}
		at := slices.IndexFunc(groups, func(b beside) bool { return b.Group == group })
		if at < 0 {
			at = len(groups)
			groups = append(groups, beside{Group: group})
		}
		groups[at].Resources = append(groups[at].Resources, r)
	}
	return groups
}

// event is what is marked in an arm's charts: the same words stand once, with all times.
type event struct {
	Arm, Text string
	times     []string
}

// eventTimesMax is how many times an event names.
const eventTimesMax = 3

// When names an event's times.
func (e event) When() string { return format.ListMax(e.times, eventTimesMax) }

// EventsOf lists what is marked in a table's charts.
func (p page) EventsOf(t model.Table) (events []*event) {
	for _, s := range t.Series {
		for _, e := range s.Events {
			text := finding.Text(e.What)
			at := slices.IndexFunc(events, func(have *event) bool { return have.Arm == s.Arm && have.Text == text })
			if at < 0 {
				at = len(events)
				events = append(events, &event{Arm: s.Arm, Text: text})
			}
			when := "at " + format.Seconds(e.At)
			if e.Until > e.At {
				when = "from " + format.Seconds(e.At) + " to " + format.Seconds(e.Until)
			}
			events[at].times = append(events[at].times, fmt.Sprintf("block %d %s", s.Block, when))
		}
	}
	slices.SortStableFunc(events, func(a, b *event) int { return cmp.Compare(a.Arm, b.Arm) })
	return events
}
