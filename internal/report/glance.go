package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"assay/internal/plan"
	"assay/internal/spec"
)

// glance is every rate of a view in one grid: stores down, tables across. It is cut into parts that fit a page.
type glance struct {
	Parts   []glancePart
	Signs   glanceSigns
	several bool // runs: each head names its own
}

// glanceSigns says which signs the grid has, so that the legend explains no others.
type glanceSigns struct{ Ranked, Tied, Unranked, Fell, LeftOut, Refused bool }

// fellMeaning explains the sign ▾.
const fellMeaning = "fell, sank, declined, stalled or went to and fro in a block"

// BatchWords says of the heading what else the grid counts.
func (g glance) BatchWords() string {
	for _, part := range g.Parts {
		if slices.ContainsFunc(part.Columns, func(c glanceColumn) bool { return c.Unit != "" }) {
			return "; of batches, records a second"
		}
	}
	return ""
}

type glancePart struct {
	Heads   []glanceHead
	Columns []glanceColumn
	Rows    []glanceRow
}

// glanceHead stands above the columns of one class, and of one cell where a class has several.
type glanceHead struct {
	Class, Of string
	Span      int
}

type glanceColumn struct {
	Table, Phase string
	First        bool   // of its head
	Unit         string // of its rates, where it is not operations a second
}

type glanceRow struct {
	Arm     string
	Aside   bool
	Squares []glanceSquare
}

type glanceSquare struct {
	Table string
	First bool
	Rank  string // "1", "1="
	Best  bool
	Rate  string // or what stands for it
	Word  bool   // Rate is a word
	Mark  string // "†": it has no rank
	Fell  bool
	Width template.CSS // of the best one's rate
	Why   string
}

// glanceColumnsMax is how many columns fit a page 1,184 pixels wide.
const glanceColumnsMax = 12

func glanceOf(v View) glance {
	g := glance{several: len(v.Runs) > 1}
	var arms []string
	for _, t := range v.Tables {
		for _, r := range t.Rows {
			if r.Role == string(plan.Measured) && !slices.Contains(arms, r.Arm) {
				arms = append(arms, r.Arm)
			}
		}
	}
	order := map[string]int{}
	for i, s := range v.Stores {
		order[s.Arm] = i
	}
	slices.SortStableFunc(arms, func(a, b string) int { return order[a] - order[b] })
	var together []Table // tables of one head
	var part []Table
	flush := func() {
		if len(part) > 0 {
			g.add(part, arms)
			part = nil
		}
	}
	take := func() {
		if len(part)+len(together) > glanceColumnsMax {
			flush()
		}
		for len(together) > glanceColumnsMax {
			g.add(together[:glanceColumnsMax], arms)
			together = together[glanceColumnsMax:]
		}
		part = append(part, together...)
		together = nil
	}
	for _, t := range v.Tables {
		if len(together) > 0 && headOf(together[0]) != headOf(t) {
			take()
		}
		together = append(together, t)
	}
	take()
	flush()
	return g
}

func headOf(t Table) [3]string {
	return [3]string{t.Run, t.Class, strings.TrimPrefix(strings.TrimPrefix(t.Label, t.Phase), ", ")}
}

func (g *glance) add(tables []Table, arms []string) {
	var part glancePart
	var last [3]string
	for i, t := range tables {
		head := headOf(t)
		first := i == 0 || head != last
		if first {
			of := head[2]
			if g.several {
				of = strings.TrimSuffix("run "+t.Run+", "+of, ", ")
			}
			part.Heads = append(part.Heads, glanceHead{Class: t.Class, Of: of})
		}
		last = head
		part.Heads[len(part.Heads)-1].Span++
		part.Columns = append(part.Columns, glanceColumn{t.ID, t.Phase, first, t.glanceUnit()})
	}
	for _, arm := range arms {
		row := glanceRow{Arm: arm}
		for i, t := range tables {
			square := g.square(t, arm)
			square.First = part.Columns[i].First
			row.Squares = append(row.Squares, square)
		}
		part.Rows = append(part.Rows, row)
	}
	for _, null := range ceilingArms(tables) {
		row := glanceRow{Arm: "harness alone", Aside: true}
		if null != spec.NullDriver {
			row.Arm += " (" + null + ")"
		}
		for i, t := range tables {
			square := glanceSquare{Table: t.ID, First: part.Columns[i].First, Rate: absent, Word: true}
			for _, ceiling := range t.Ceilings {
				if ceiling.Arm != null {
					continue
				}
				if rate := t.glanceRate(&ceiling.Rate, ceiling.Records); rate != nil {
					square.Rate, square.Word = si(*rate, ""), false
				}
			}
			row.Squares = append(row.Squares, square)
		}
		part.Rows = append(part.Rows, row)
	}
	g.Parts = append(g.Parts, part)
}

func ceilingArms(tables []Table) (arms []string) {
	for _, t := range tables {
		for _, ceiling := range t.Ceilings {
			if !slices.Contains(arms, ceiling.Arm) {
				arms = append(arms, ceiling.Arm)
			}
		}
	}
	return arms
}

func (g *glance) square(t Table, arm string) glanceSquare {
	s := glanceSquare{Table: t.ID, Word: true}
	best := 0.0
	for _, r := range t.Rows {
		if rate := t.glanceOf(r); rate != nil && r.Role == string(plan.Measured) {
			best = max(best, *rate)
		}
	}
	at := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Arm == arm && r.Role == string(plan.Measured) })
	if at < 0 {
		return s
	}
	r := t.Rows[at]
	s.Why = strings.Join(r.Reasons, "; ")
	if r.Rate == nil {
		s.Rate = string(r.Standing)
		if r.Standing == NotRanked {
			s.Rate = "no figure"
		}
		g.Signs.Refused = g.Signs.Refused || r.Standing == Refused
		g.Signs.LeftOut = g.Signs.LeftOut || r.Standing == LeftOut
		return s
	}
	s.Rate = absent
	if rate := t.glanceOf(r); rate != nil {
		s.Rate, s.Word = si(*rate, ""), false
		if best > 0 {
			s.Width = percent(*rate / best)
		}
	}
	if r.Rank == 0 {
		s.Mark, g.Signs.Unranked = "†", true
	} else if len(leading(t)) > 0 { // who alone has a rank is not the fastest of anything
		g.Signs.Ranked = true
		s.Rank, s.Best = fmt.Sprint(r.Rank), r.Rank == 1
		if r.Tied {
			s.Rank += "="
			g.Signs.Tied = true
		}
	}
	if t.fell(arm) {
		s.Fell, g.Signs.Fell = true, true
	}
	return s
}

// glanceUnit names what the grid counts in a table, where it is not operations: a batch is one operation, and beside single ones its
// rate would make batching look slow.
func (t Table) glanceUnit() string {
	if t.Batch > 0 {
		return "records/s"
	}
	return ""
}

func (t Table) glanceRate(rate, records *float64) *float64 {
	if t.Batch > 0 {
		return records
	}
	return rate
}

func (t Table) glanceOf(r Row) *float64 {
	if r.Rate == nil {
		return nil
	}
	return t.glanceRate(&r.Rate.Value, recordsOf(r))
}

// fell says whether anything but a change of level is marked in any block of an arm.
func (t Table) fell(arm string) bool {
	return slices.ContainsFunc(t.Series, func(s Series) bool {
		return s.Arm == arm && slices.ContainsFunc(s.Marks, func(m Happened) bool { return m.Kind != "change" })
	})
}
