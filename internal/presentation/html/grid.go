package html

import (
	"strconv"
	"strings"

	"assay/internal/base/format"
	"assay/internal/presentation/column"
	"assay/internal/presentation/model"
)

// grid is a table whose rows are arms. A column in which no row has a value is not there.
type grid struct {
	Columns []head
	Rows    []gridRow
}

type head struct {
	Title, Unit string
	Low         bool   // the lowest figure is the best
	Class       string // "wide": not where a screen is narrow; "word": not figures; "graph": drawn
}

type gridRow struct {
	Arm, How string
	Off      bool // without a rank
	Cells    []cell
}

// cell is one figure. The zero cell is "not measured" or "can't be".
type cell struct {
	Text, Unit, Sub string
	Sort            string // what the column is sorted by; "": the text
	Class           string
	Track           *track
}

// track is a bar from zero with an interval, and dots of the blocks that it is the mean of, in shares of the
// longest of its column.
type track struct {
	Bar, Low, High float64
	Ranged, Cut    bool // Cut: the interval goes on beyond the track
	Dots           []float64
}

// gridOf draws the columns of a grid that have figures.
func gridOf(t *model.Table, in column.Grid, lines []*column.Line) (g grid) {
	for _, l := range lines {
		g.Rows = append(g.Rows, gridRow{l.Arm, l.How, l.Standing != model.Ranked, nil})
	}
	longest := longestOf(ratesOf(lines))
	for _, c := range column.Filled(t, in, lines) {
		h := head{Title: c.Heading, Unit: c.Unit, Low: c.Low()}
		if !c.Narrow() {
			h.Class = "wide"
		}
		if c.Left {
			h.Class = strings.TrimSpace(h.Class + " word")
		}
		g.Columns = append(g.Columns, h)
		for i, shown := range c.Cells {
			g.Rows[i].Cells = append(g.Rows[i].Cells, cellOf(shown, h.Class))
		}
		if c.Name == column.Rate && longest > 0 {
			g.Columns = append(g.Columns, head{Class: "wide graph"})
			for i, l := range lines {
				drawn := cell{Class: "wide graph"}
				if l.Rate != nil && l.Standing != model.Reference {
					drawn.Track = trackOf(l.Rate.Value, l.Rate.Low, l.Rate.High, longest)
				}
				g.Rows[i].Cells = append(g.Rows[i].Cells, drawn)
			}
		}
	}
	if len(g.Columns) == 0 {
		return grid{}
	}
	return g
}

// ratesOf are the rates of stores that are drawn; none where there is nothing to hold one against.
// Next to a null driver every store would be a hair's breadth.
func ratesOf(lines []*column.Line) (rates []model.Estimate) {
	for _, l := range lines {
		if l.Rate != nil && l.Standing != model.Reference {
			rates = append(rates, *l.Rate)
		}
	}
	if len(rates) < 2 {
		return nil
	}
	return rates
}

func cellOf(c column.Cell, class string) cell {
	drawn := number(c.Text)
	drawn.Sub, drawn.Class = c.Within, class
	if c.Value != nil {
		drawn.Sort = strconv.FormatFloat(*c.Value, 'g', -1, 64)
	}
	switch {
	case c.Bad && c.Text != "":
		drawn.Class += " bad"
	case c.Tie:
		drawn.Class += " tie"
	}
	drawn.Class = strings.TrimSpace(drawn.Class)
	if strings.Contains(class, "word") {
		drawn.Text, drawn.Unit = c.Text, ""
	}
	return drawn
}

// number makes a cell of a figure and its unit, which stand apart so that figures align.
func number(text string) cell {
	if text == format.Absent {
		return cell{}
	}
	figure, unit, _ := strings.Cut(text, " ")
	return cell{Text: figure, Unit: unit}
}

// trackOf returns what draws an estimate; nil where that would say nothing.
func trackOf(value float64, low, high *float64, longest float64) *track {
	if longest <= 0 {
		return nil
	}
	t := track{Bar: min(1, value/longest)}
	if low != nil && high != nil {
		t.Ranged, t.Cut = true, *high > longest
		t.Low, t.High = max(0, min(1, *low/longest)), min(1, *high/longest)
	}
	return &t
}

// Across is the width of a track's interval.
func (t track) Across() float64 { return max(0, t.High-t.Low) }

// longestOf is the length of a scale on which every value has a place, and intervals most of
// theirs.
func longestOf(estimates []model.Estimate) (longest float64) {
	for _, e := range estimates {
		longest = max(longest, e.Value)
		if e.High != nil {
			longest = max(longest, min(*e.High, 1.3*e.Value))
		}
	}
	return longest
}

// Ranked is a table's main grid: who is how fast, with which latency.
func (p page) Ranked(t model.Table) grid {
	return gridOf(&t, column.Speed, column.Lines(&t, column.Speed))
}

// Course is a table's grid of rates that were not held; none where all were.
func (p page) Course(t model.Table) grid {
	return gridOf(&t, column.Course, column.Lines(&t, column.Course))
}

// Took is a table's grid of what the work took.
func (p page) Took(t model.Table) grid {
	return gridOf(&t, column.Resources, column.Lines(&t, column.Resources))
}

// operation is the rows of one kind of operation.
type operation struct {
	Name string
	Grid grid
}

// Operations returns each kind of operation by itself, where a phase mixes several.
func (p page) Operations(t model.Table) (operations []operation) {
	var names []string
	lines := map[string][]*column.Line{}
	for _, l := range column.KindLines(&t) {
		if l.Standing == model.Reference {
			continue
		}
		if lines[l.Kind.Operation] == nil {
			names = append(names, l.Kind.Operation)
		}
		lines[l.Kind.Operation] = append(lines[l.Kind.Operation], l)
	}
	for _, name := range names {
		operations = append(operations, operation{name, gridOf(&t, column.Kinds, lines[name])})
	}
	return operations
}

// Segments returns what became of each segment of a rate that changes over time, store by store.
func (p page) Segments(t model.Table) []operation {
	return byArm(&t, column.Stretches, column.StretchLines(&t))
}

// AskedRates returns what became of the rates that were asked for, store by store.
func (p page) AskedRates(t model.Table) []operation {
	return byArm(&t, column.Bands, column.BandLines(&t))
}

// byArm makes a grid of each arm's lines, which are named by what they are of.
func byArm(t *model.Table, in column.Grid, lines []*column.Line) (stores []operation) {
	for len(lines) > 0 {
		arm, n := lines[0].Arm, 1
		for n < len(lines) && lines[n].Arm == arm {
			n++
		}
		g := gridOf(t, in, lines[:n])
		for i := range g.Rows {
			g.Rows[i].Arm, g.Rows[i].How = lines[i].PartName(), ""
		}
		stores, lines = append(stores, operation{arm, g}), lines[n:]
	}
	return stores
}

// Servers returns the servers of each store that is several.
func (p page) Servers(t model.Table) []operation {
	return byArm(&t, column.Nodes, column.NodeLines(&t))
}

// ReadAges returns the reads of each store that may be old, by how long after a write they were answered.
func (p page) ReadAges(t model.Table) []operation {
	return byArm(&t, column.Ages, column.AgeLines(&t))
}

// plan is a row's plan of a query.
type plan struct {
	Arm string
	model.Plan
}

// UseText says what indexes do for the query.
func (p plan) UseText() string { return model.UseText(p.Plan) }

// Plans returns how the stores of a table said that they answer its queries.
func (p page) Plans(t model.Table) (plans []plan) {
	for _, r := range t.Rows {
		for _, told := range r.Plans {
			plans = append(plans, plan{r.Arm, told})
		}
	}
	return plans
}

// Parts returns the columns of a section of the summary.
func (p page) Parts(s model.Section) []column.Part { return column.Parts(p.Result, &s) }

// Legend explains the signs of all sections.
func (p page) Legend() []column.Meaning {
	var parts []column.Part
	for _, s := range p.Summary.Sections {
		parts = append(parts, p.Parts(s)...)
	}
	return column.Legend(parts)
}

// screenCell makes a cell of the summary: words stay together.
func screenCell(c column.ScreenCell, left bool) cell {
	drawn := cellOf(c.Cell, "")
	if c.Value == nil {
		drawn.Text, drawn.Unit, drawn.Class = c.Text, "", "none"
	}
	if left {
		drawn.Class = "word"
	}
	if c.Best {
		drawn.Class = strings.TrimSpace(drawn.Class + " best")
	}
	return drawn
}
