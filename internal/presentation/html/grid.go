package html

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/format"
	"assay/internal/presentation/model"
)

// grid is a table whose rows are arms. A column in which no row has a value is not there.
type grid struct {
	Columns []column
	Rows    []gridRow
}

type column struct {
	Title, Unit string
	Class       string // "wide": not where a screen is narrow; "word": not figures
	of          func(model.Row) cell
}

// Classes of columns.
const (
	narrow = ""
	wide   = "wide"
)

type gridRow struct {
	Arm, How string
	Off      bool // without a rank
	Cells    []cell
}

// cell is one figure. The zero cell is "not measured" or "can't be".
type cell struct {
	Text, Unit, Sub string
	Class           string
	Track           *track
}

// track is a bar from zero with an interval, in shares of the longest of its column.
type track struct {
	Bar, Low, High float64
	Ranged, Cut    bool // Cut: the interval goes on beyond the track
}

func (c cell) empty() bool { return c.Text == "" && c.Track == nil }

func gridOf(rows []model.Row, columns []column) (g grid) {
	cells := make([][]cell, len(rows))
	for i := range columns {
		column := columns[i]
		values := make([]cell, len(rows))
		for j, row := range rows {
			values[j] = column.of(row)
			values[j].Class = strings.TrimSpace(column.Class + " " + values[j].Class)
		}
		if !slices.ContainsFunc(values, func(c cell) bool { return !c.empty() }) {
			continue
		}
		g.Columns = append(g.Columns, column)
		for j := range rows {
			cells[j] = append(cells[j], values[j])
		}
	}
	if len(g.Columns) == 0 {
		return grid{}
	}
	for i, row := range rows {
		g.Rows = append(g.Rows, gridRow{row.Arm, row.How, row.Standing != model.Ranked, cells[i]})
	}
	return g
}

// number makes a cell of a figure and its unit, which stand apart so that figures align.
func number(text string) cell {
	if text == format.Absent {
		return cell{}
	}
	figure, unit, _ := strings.Cut(text, " ")
	return cell{Text: figure, Unit: unit}
}

func maybe(v *float64, write func(float64) string) cell {
	if v == nil {
		return cell{}
	}
	return number(write(*v))
}

func estimate(e *model.Estimate, write func(float64) string) cell {
	if e == nil {
		return cell{}
	}
	c := number(write(e.Value))
	if e.Low != nil && e.High != nil {
		c.Sub = format.Within(e.Value, *e.Low, *e.High)
	}
	return c
}

// count makes a cell of a number that is worth a look only where it is not zero.
func count(n uint64, class string) cell {
	if n == 0 {
		return cell{}
	}
	return cell{Text: format.Count(n), Class: class}
}

// ratedRows are the rows that have figures, or at least a place in no list of absent arms.
func ratedRows(t model.Table) []model.Row {
	var absent []string
	for _, a := range t.Absence {
		absent = append(absent, a.Arms...)
	}
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r model.Row) bool {
		return r.Rate == nil && (slices.Contains(absent, r.Arm) || r.Standing == model.Reference)
	})
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
	rows := ratedRows(t)
	var rates []model.Estimate
	for _, r := range rows {
		// Next to a null driver every store would be a hair's breadth.
		if r.Rate != nil && r.Standing != model.Reference {
			rates = append(rates, *r.Rate)
		}
	}
	longest := longestOf(rates)
	columns := []column{
		{"Rank", "", narrow, rankCell},
		{"Rate", t.Unit(), narrow, func(r model.Row) cell { return estimate(r.Rate, format.Number) }},
		{"", "", "wide graph", func(r model.Row) cell {
			if r.Rate == nil || len(rates) < 2 || r.Standing == model.Reference {
				return cell{}
			}
			return cell{Track: trackOf(r.Rate.Value, r.Rate.Low, r.Rate.High, longest)}
		}},
		{"Records", "per s", wide, func(r model.Row) cell {
			if r.Records == nil || r.Rate != nil && r.Records.Value == r.Rate.Value {
				return cell{}
			}
			return number(format.Number(r.Records.Value))
		}},
		{"Of the best", "95 % interval", wide, func(r model.Row) cell { return ratioCell(r.ToBest) }},
		{"Of the baseline", "95 % interval", wide, func(r model.Row) cell {
			if len(rates) < 3 || len(t.Best) == 1 && t.Best[0] == t.Baseline {
				return cell{} // the ratio to the best says as much
			}
			return ratioCell(r.ToBaseline)
		}},
		{"Worst sample", t.Unit(), wide, func(r model.Row) cell { return maybe(r.WorstSample, format.Number) }},
	}
	columns = append(columns, latencyColumns()...)
	return gridOf(rows, append(columns,
		column{"Wait", "for a handle", wide, func(r model.Row) cell { return maybe(r.WaitNS, format.Latency) }},
		column{"Misses", "operations", wide, func(r model.Row) cell { return count(r.Miss, "") }},
		column{"Conflicts", "operations", wide, func(r model.Row) cell { return count(r.Conflict, "") }},
		column{"Bad", "operations", narrow, func(r model.Row) cell { return count(r.Bad(), "bad") }},
		column{"Harness", "share", wide, func(r model.Row) cell { return maybe(r.HarnessShare, format.Percent) }},
	))
}

func latencyColumns() (columns []column) {
	for _, q := range []float64{0.5, 0.99, 0.999, 1} {
		class := wide
		if q == 0.99 {
			class = narrow
		}
		columns = append(columns, column{format.Quantile(q), "latency", class, func(r model.Row) cell {
			return maybe(r.At(q), format.Latency)
		}})
	}
	return columns
}

func rankCell(r model.Row) cell {
	if r.Rank == 0 {
		return cell{}
	}
	return cell{Text: strconv.Itoa(r.Rank), Unit: r.Letters, Class: "rank"}
}

func ratioCell(r *model.Ratio) cell {
	if r == nil {
		return cell{}
	}
	c := cell{Text: format.Factor(r.Value), Sub: intervalText(r.Low, r.High)}
	if !r.Significant {
		c.Class = "tie"
	}
	return c
}

// Course is a table's grid of rates that were not held; none where all were.
func (p page) Course(t model.Table) grid {
	rows := slices.DeleteFunc(ratedRows(t), func(r model.Row) bool {
		return r.Standing == model.Reference || slices.Contains([]string{"", "steady", "inconclusive"}, r.Course.Kind)
	})
	return gridOf(rows, []column{
		{"Course", "of the rate", "word", func(r model.Row) cell { return cell{Text: r.Course.Kind} }},
		{"Early", t.Unit(), narrow, func(r model.Row) cell { return maybe(r.Course.Early, format.Number) }},
		{"Late", t.Unit(), narrow, func(r model.Row) cell { return maybe(r.Course.Late, format.Number) }},
		{"Broke at", "records", narrow, func(r model.Row) cell { return maybe(r.Course.BrokeAt, format.Number) }},
		{"Broke at", "time", wide, func(r model.Row) cell { return maybe(r.Course.BrokeAtS, format.Seconds) }},
		{"Reached", "records", wide, func(r model.Row) cell { return maybe(r.Course.Reached, format.Number) }},
		{"With", "resources", "wide word", func(r model.Row) cell {
			return cell{Text: strings.Join(format.ResourceWords(r.Course.With), ", ")}
		}},
		{"Blocks", "", wide, func(r model.Row) cell { return count(uint64(r.Course.Blocks), "") }},
	})
}

// Took is a table's grid of what the work took.
func (p page) Took(t model.Table) grid {
	rows := slices.DeleteFunc(ratedRows(t), func(r model.Row) bool {
		return r.Rate == nil || r.Standing == model.Reference
	})
	return gridOf(rows, []column{
		{"Memory", "peak RSS", narrow, func(r model.Row) cell { return maybe(r.MemoryBytes, format.Bytes) }},
		{"Data", "÷ memory", wide, func(r model.Row) cell { return maybe(r.DataToMemory, format.Factor) }},
		{"Disk", "after the drain", narrow, func(r model.Row) cell { return maybe(r.DiskBytes, format.Bytes) }},
		{"Space", "disk ÷ logical", wide, func(r model.Row) cell {
			if r.DiskBytes == nil || r.LogicalBytes == nil || *r.LogicalBytes == 0 {
				return cell{}
			}
			return number(format.Factor(*r.DiskBytes / *r.LogicalBytes))
		}},
		{"Logical", "bytes", wide, func(r model.Row) cell { return maybe(r.LogicalBytes, format.Bytes) }},
		{"Host writes", "bytes", wide, func(r model.Row) cell { return maybe(r.HostWriteBytes, format.Bytes) }},
		{"Write", "amplification", wide, func(r model.Row) cell { return maybe(r.WriteAmplification, format.Factor) }},
		{"Drained", "in", wide, func(r model.Row) cell {
			if r.Drained != nil && !*r.Drained {
				return cell{Text: "no", Class: "bad"}
			}
			return maybe(r.DrainSeconds, format.Seconds)
		}},
		{"CPU", "per op", wide, func(r model.Row) cell { return maybe(r.CPUNS, format.Latency) }},
		{"Alloc", "bytes/op", wide, func(r model.Row) cell { return maybe(r.AllocBytes, format.Bytes) }},
		{"Allocs", "per op", wide, func(r model.Row) cell { return maybe(r.Allocs, format.Number) }},
	})
}

// operation is the rows of one kind of operation.
type operation struct {
	Name string
	Grid grid
}

// Operations returns each kind of operation by itself, where a phase mixes several.
func (p page) Operations(t model.Table) (operations []operation) {
	var names []string
	for _, r := range t.Rows {
		for _, k := range r.Apart() {
			if !slices.Contains(names, k.Operation) {
				names = append(names, k.Operation)
			}
		}
	}
	for _, name := range names {
		var rows []model.Row
		items := map[string]*float64{}
		for _, r := range t.Rows {
			for _, k := range r.Apart() {
				if k.Operation == name && r.Standing != model.Reference {
					r.Latencies, r.Outcomes, items[r.Arm] = k.Latencies, k.Outcomes, k.Items
					r.Attempted = k.Done
					rows = append(rows, r)
				}
			}
		}
		columns := []column{{"Done", "operations", narrow, func(r model.Row) cell { return count(r.Attempted, "") }},
			{"Items", "per op", wide, func(r model.Row) cell { return maybe(items[r.Arm], format.Number) }}}
		columns = append(append(columns, latencyColumns()...),
			column{"Misses", "operations", wide, func(r model.Row) cell { return count(r.Miss, "") }},
			column{"Bad", "operations", narrow, func(r model.Row) cell { return count(r.Bad(), "bad") }})
		operations = append(operations, operation{name, gridOf(rows, columns)})
	}
	return operations
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

// summaryCell is one figure of the summary's table.
type summaryCell struct {
	Of model.SectionCell
	cell
	Off bool
}

// signs say which signs the summary's tables use, so that their legend explains no others.
type signs struct{ Letters, Unranked, Unsteady, Absent bool }

// Signs returns the signs in all sections.
func (p page) Signs() (signs signs) {
	for _, s := range p.Summary.Sections {
		for _, row := range p.Grid(s) {
			for _, c := range row {
				signs.Letters = signs.Letters || c.Of.Letters != ""
				signs.Unranked = signs.Unranked || c.Off
				signs.Unsteady = signs.Unsteady || c.Of.Unsteady
				signs.Absent = signs.Absent || c.Text == format.Absent
			}
		}
	}
	return signs
}

// Grid returns the cells of a section by row.
func (p page) Grid(s model.Section) (rows [][]summaryCell) {
	for _, row := range s.Rows {
		var cells []summaryCell
		for i, c := range row.Cells {
			kind := s.Columns[i].Kind
			shown := summaryCell{Of: c}
			switch {
			case c.Text != "":
				shown.cell = cell{Text: c.Text, Class: "word"}
			case c.Value == nil:
				shown.cell = cell{Text: format.Absent}
			case kind == "ratio":
				shown.cell = number(format.Factor(*c.Value))
			default:
				shown.cell = number(format.Number(*c.Value))
				shown.Off = kind == "rate" && !c.Ranked
				if kind == "rate" || kind == "early" {
					shown.Track = trackOf(*c.Value, nil, nil, longestOf(columnOf(s, i)))
				}
			}
			cells = append(cells, shown)
		}
		rows = append(rows, cells)
	}
	return rows
}

func columnOf(s model.Section, column int) (values []model.Estimate) {
	for _, row := range s.Rows {
		if c := row.Cells[column]; c.Value != nil && c.Text == "" {
			values = append(values, model.Estimate{Value: *c.Value, Low: c.Low, High: c.High})
		}
	}
	return values
}
