package tell

import (
	"cmp"
	"slices"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/model"
)

const (
	changesMax = 3
	leadersMax = 4
)

// sectionsOf makes the small tables of a run, one for each durability class, and returns the tables
// that they show.
func sectionsOf(run *record.Run, tables []*facts.Table, several bool) (sections []model.Section, shown shownTables) {
	for len(tables) > 0 {
		n := slices.IndexFunc(tables, func(t *facts.Table) bool { return t.Class != tables[0].Class })
		if n < 0 {
			n = len(tables)
		}
		class := tables[:n]
		tables = tables[n:]
		if alongAxis(class) {
			section := RateSection(class, class, false)
			if class[0].Open {
				inLatency(&section, class)
			}
			sections, shown.all = append(sections, section), append(shown.all, class...)
			continue
		}
		cells := cellsShown(run, class)
		for _, cell := range cells {
			here := slices.DeleteFunc(slices.Clone(class), func(t *facts.Table) bool { return t.Cell != cell })
			breaking, holding := parted(here, run.Experiment.Cells[cell].MemoryLimit > 0)
			for _, t := range breaking {
				sections = append(sections, courseSection(t))
			}
			if len(holding) > 0 {
				sections = append(sections, RateSection(holding, class, len(cells) == 1))
			} else if others := len(measuredCells(class)) - 1; len(cells) == 1 && others > 0 {
				last := &sections[len(sections)-1]
				last.Changes = append(last.Changes,
					finding.New(finding.SectionParams{Code: finding.SectionOtherCells, Cells: others}))
			}
			shown.all, shown.breaking = append(shown.all, here...), append(shown.breaking, breaking...)
		}
	}
	if several {
		for i := range sections {
			sections[i].Title += ": " + run.Header.Name + " " + run.Header.ID // a name keeps its small letters where a title begins with a capital
		}
	}
	return sections, shown
}

// A screen's columns are the cells of a class where they are so many: both of two have a section each.
const columnCellsMin, columnCellsMax = 3, 12

// alongAxis reports whether the screen shows a class as stores × cells: one phase whose cells differ in one
// parameter. Rates that did not hold say less than another form does.
func alongAxis(class []*facts.Table) bool {
	n := len(measuredCells(class))
	return n >= columnCellsMin && n <= columnCellsMax && !slices.ContainsFunc(class, func(t *facts.Table) bool {
		return t.Phase != class[0].Phase || t.Open != class[0].Open || breaks(t)
	}) && len(axesOf(class)) == 1
}

// inLatency puts p99 in place of rates that the experiment set, in the order of the first column: a store
// without one there comes last.
func inLatency(s *model.Section, tables []*facts.Table) {
	const quantile = 0.99
	s.Unit = finding.Text(finding.New(finding.UnitLatency))
	for at, t := range tables {
		s.Columns[at].Kind, s.Columns[at].Sorted = "latency", false
		for i := range s.Rows {
			cell, row := &s.Rows[i].Cells[at], t.Row(plan.Measured, s.Rows[i].Arm)
			if cell.Value == nil {
				continue
			}
			*cell = model.SectionCell{Value: row.At(quantile), Ranked: cell.Ranked, Unsteady: cell.Unsteady}
			switch most := row.AtMostAt(quantile); {
			case most != nil:
				cell.Value, cell.Text = nil, format.AtMost(format.Latency(*most))
			case slices.Contains(row.Refused, quantile):
				cell.Value, cell.Text = nil, finding.Text(finding.New(finding.NoFigureParams{}))
			}
		}
	}
	slices.SortStableFunc(s.Rows, func(a, b model.SectionRow) int {
		return cmp.Or(facts.Earlier(a.Cells[0].Value != nil, b.Cells[0].Value != nil),
			cmp.Compare(valueOr0(a.Cells[0].Value), valueOr0(b.Cells[0].Value)))
	})
}

// axesOf are the parameters, a case among them, in which the cells of a class differ.
func axesOf(class []*facts.Table) (names []string) {
	first := class[0].Parameters
	differs := func(same func(experiment.Cell) bool) bool {
		return slices.ContainsFunc(class, func(t *facts.Table) bool { return !same(t.Parameters) })
	}
	if differs(func(c experiment.Cell) bool { return c.Case == first.Case }) {
		return []string{"case"}
	}
	for _, a := range experiment.Axes() {
		if a.Path != "durability" && differs(func(c experiment.Cell) bool { return a.Same(c, first) }) {
			names = append(names, a.Path)
		}
	}
	return names
}

// cellsOf names the cells of tables: "1, 2 and 4 threads".
func cellsOf(tables []*facts.Table) string {
	return format.Labels(labelsOf(tables))
}

func labelsOf(tables []*facts.Table) (labels []string) {
	for _, t := range tables {
		labels = append(labels, t.Label)
	}
	return labels
}

// parted returns the tables that are about where stores break, and those about who is fastest. Without
// a memory limit all are of the latter, if one is.
func parted(tables []*facts.Table, limited bool) (breaking, holding []*facts.Table) {
	for _, t := range tables {
		if breaks(t) {
			breaking = append(breaking, t)
		} else {
			holding = append(holding, t)
		}
	}
	if len(holding) > 0 && !limited {
		return nil, tables
	}
	return breaking, holding
}

// cellsShown are the cells of a class that the screen has: both levels of an axis that has two,
// otherwise the largest.
func cellsShown(run *record.Run, class []*facts.Table) []int {
	if cells := measuredCells(class); len(cells) == 2 {
		return cells
	}
	return []int{largestCell(run, class)}
}

// measuredCells are those of a class with a figure.
func measuredCells(class []*facts.Table) (cells []int) {
	for _, t := range class {
		if t.Measured() > 0 && !slices.Contains(cells, t.Cell) {
			cells = append(cells, t.Cell)
		}
	}
	return cells
}

// shownTables are those that the screen has in its sections.
type shownTables struct {
	all      []*facts.Table
	breaking []*facts.Table // shown as where their stores broke, rather than who is fastest
}

// racing returns those that are about who is fastest.
func (s shownTables) racing() []*facts.Table {
	return slices.DeleteFunc(slices.Clone(s.all), func(t *facts.Table) bool { return slices.Contains(s.breaking, t) })
}

// largestCell is the one that has the most records, of several the last of the file. Where some cells
// have no figure, it is one of the others.
func largestCell(run *record.Run, tables []*facts.Table) int {
	measured := slices.DeleteFunc(slices.Clone(tables), func(t *facts.Table) bool { return t.Measured() == 0 })
	if len(measured) > 0 {
		tables = measured
	}
	largest := tables[0].Cell
	for _, t := range tables {
		if run.Experiment.Cells[t.Cell].Records >= run.Experiment.Cells[largest].Records && t.Cell >= largest {
			largest = t.Cell
		}
	}
	return largest
}

// breaks reports whether the table is about where stores break rather than who is fastest: its data
// grows, and half of its stores don't hold their rate, or one broke.
func breaks(t *facts.Table) bool {
	if t.Open || !facts.Grows(t.Work) {
		return false
	}
	restless, broke := 0, false
	for _, r := range t.Rows {
		if r.Role == plan.Measured && r.Rate != nil {
			if r.Unsettled() {
				restless++
			}
			broke = broke || r.Course.BrokeAtS != nil
		}
	}
	return broke || restless > 0 && 2*restless >= t.Measured()
}

func sectionOf(t *facts.Table) model.Section {
	return model.Section{Run: t.Run.Header.ID, Class: t.Class, Title: titleOf(t), Cell: t.Label}
}

// courseSection shows how far the rate of each store held.
func courseSection(t *facts.Table) model.Section {
	s := sectionOf(t)
	for _, c := range []struct {
		kind    string
		heading finding.Bare
	}{{"early", finding.ColumnScreenEarly}, {"late", finding.ColumnScreenLate}, {"broke", finding.ColumnBrokeRecords}, {"with", finding.ColumnScreenWith}} {
		s.Columns = append(s.Columns, model.SectionColumn{Kind: c.kind, Phase: t.Phase, Title: finding.HeadOf(c.heading).Short, Table: t.ID, Sorted: c.kind == "late"})
	}
	rows := t.ByRate()
	slices.SortStableFunc(rows, func(a, b *facts.Row) int { // what is not known of some comes last
		return cmp.Or(facts.Earlier(fateOf(a) != finding.FateUnknown, fateOf(b) != finding.FateUnknown),
			cmp.Compare(valueOr0(b.Course.Late), valueOr0(a.Course.Late)))
	})
	for _, r := range rows {
		if r.Rate == nil || r.Role != plan.Measured {
			continue
		}
		c := r.Course
		cells := []model.SectionCell{{Value: c.Early}, {Value: c.Late}, brokeCell(r),
			{Text: withText(r)}}
		for i := range cells {
			cells[i].Ranked = r.Standing == facts.Ranked
		}
		s.Rows = append(s.Rows, model.SectionRow{Arm: r.Arm, Cells: cells})
	}
	s.Missing = missingIn(t)
	return s
}

// withText names what may be the cause of a row's fall, or says that none is known.
func withText(r *facts.Row) string {
	causes := causesOf(r)
	if len(causes) == 0 && (r.Course.BrokeAt != nil || r.Course.BrokeAtS != nil) {
		return finding.Text(finding.New(finding.CauseUnknown))
	}
	return format.ListMax(format.ResourceWords(causes), withMax)
}

// withMax is how many resources a line names of those that changed with a rate.
const withMax = 3

func valueOr0(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// brokeCell says where a rate broke, or that it did not.
func brokeCell(r *facts.Row) model.SectionCell {
	c := r.Course
	word := func(p finding.Parameters) model.SectionCell {
		return model.SectionCell{Text: finding.Text(finding.New(p))}
	}
	switch {
	case c.BrokeAt != nil:
		return model.SectionCell{Value: c.BrokeAt}
	case c.BrokeAtS != nil:
		return word(finding.RateFateParams{Brief: true, Fate: finding.FateFell, Low: c.BrokeAtS})
	case c.Kind == string(series.Inconclusive) || c.Kind == "":
		return word(finding.RateFateParams{Brief: true, Fate: finding.FateUnknown})
	case r.Unsettled() && c.Kind != string(series.Rise):
		return word(finding.RateFateParams{Brief: true, Fate: finding.FateVaried, Kind: c.Kind})
	}
	return word(finding.RateFateParams{Brief: true, Fate: finding.FateHeld, Low: c.Reached})
}

// rateUnitOf is the unit in which a section shows a table's rates: batches as the records in them.
func rateUnitOf(t *facts.Table) finding.Bare {
	switch {
	case t.Requests:
		return finding.UnitRequests
	case t.BatchItems > 0:
		return finding.UnitRecords
	}
	return finding.UnitOperations
}

// unitOf is the unit that tables have in common, or that of most phases.
func unitOf(tables []*facts.Table) finding.Bare {
	unit := rateUnitOf(tables[0])
	if slices.ContainsFunc(tables, func(t *facts.Table) bool { return rateUnitOf(t) != unit }) {
		return finding.UnitOperations
	}
	return unit
}

// RateSection shows the rates of one cell: stores × phases; or of one phase: stores × cells. class are all
// tables of the class; alone says that no other cell of it is shown. Rows are sorted by the first column.
func RateSection(here, class []*facts.Table, alone bool) model.Section {
	s := sectionOf(here[0])
	unit := unitOf(here)
	s.Unit = finding.Text(finding.New(unit))
	rows := map[string]*model.SectionRow{}
	var arms []string
	for _, t := range here {
		for _, r := range t.Rows {
			if r.Role == plan.Measured && r.Rate != nil && rows[r.Arm] == nil {
				rows[r.Arm] = &model.SectionRow{Arm: r.Arm}
				arms = append(arms, r.Arm)
			}
		}
	}
	var cells []string
	if here[0].Cell != here[len(here)-1].Cell {
		cells, s.Cell, s.Phase = format.WithOneWord(labelsOf(here), 0), "", here[0].Phase
	}
	for i, t := range here {
		title := t.Phase
		if cells != nil {
			title = cells[i]
		}
		if of := rateUnitOf(t); of != unit {
			title += " " + finding.Text(finding.New(of))
		}
		s.Columns = append(s.Columns, model.SectionColumn{Kind: "rate", Phase: t.Phase, Title: title, Table: t.ID, Sorted: len(s.Columns) == 0})
		for _, arm := range arms {
			rows[arm].Cells = append(rows[arm].Cells, rateCellOf(t, arm))
		}
	}
	slices.SortStableFunc(arms, func(a, b string) int {
		return cmp.Compare(valueOr0(rows[b].Cells[0].Value), valueOr0(rows[a].Cells[0].Value))
	})
	for _, arm := range arms {
		s.Rows = append(s.Rows, *rows[arm])
	}
	if alone {
		s.Changes = changesOf(here, class)
	}
	s.Missing = missingOf(here)
	return s
}

// rateCellOf is the figure of one arm in one table. Of batches it counts records, so that it can
// stand beside the rates of single operations.
func rateCellOf(t *facts.Table, arm string) model.SectionCell {
	r := t.Row(plan.Measured, arm)
	if r == nil {
		return model.SectionCell{}
	}
	e := r.Rate
	if t.BatchItems > 0 && r.Records != nil {
		e = r.Records
	}
	if e == nil {
		switch r.Standing {
		case facts.Failed:
			return model.SectionCell{Text: finding.Text(finding.New(finding.NoFigureParams{Failed: true}))}
		case facts.NotRanked:
			return model.SectionCell{Text: finding.Text(finding.New(finding.NoFigureParams{}))}
		}
		return model.SectionCell{}
	}
	c := model.SectionCell{Value: &e.Value, Low: e.Low, High: e.High, Letters: r.Letters,
		Ranked:   r.Standing == facts.Ranked,
		Unsteady: r.Unsettled() && !r.WholeWork}
	c.Best = c.Ranked && r.Rank == 1 && t.Leads()
	return c
}

// changesOf says what the cells of a class show that are not on the screen: who leads where it is
// another or where the shown cell knows of none, and in how many cells nothing is known.
func changesOf(here, class []*facts.Table) (changes []finding.Message) {
	cell := here[0].Cell
	led := map[int]bool{} // by cell: whether something is known to be fastest
	closed := false
	for _, shown := range here {
		closed = closed || !shown.Open
		var leaders []finding.Message
		names := map[string]bool{} // "": in the shown cell no store is known to be the fastest
		for _, t := range class {
			if t.Phase != shown.Phase || t.Measured() == 0 {
				continue
			}
			led[t.Cell] = led[t.Cell] || t.Leads()
			if !t.Leads() {
				if t.Cell == cell {
					names[""] = true
				}
				continue
			}
			leader := finding.LeaderParams{Arms: t.Best, Cell: t.Label}
			if len(t.Best) == 1 {
				leader.Factor = 1 / t.Ranked()[1].ToBest.Value
			}
			names[format.ListMax(t.Best, 2)] = true
			leaders = append(leaders, finding.New(leader))
		}
		if len(leaders) > 0 && len(names) > 1 {
			changes = append(changes, finding.New(finding.SectionLeadersParams{Phase: shown.Phase,
				Leaders: atMost(leaders, leadersMax)}))
		}
	}
	delete(led, cell)
	known := 0
	for _, leads := range led {
		if leads {
			known++
		}
	}
	if len(changes) == 0 && known > 0 {
		changes = append(changes, finding.New(finding.SectionParams{Code: finding.SectionSameLeaders, Cells: known}))
	}
	changes = atMost(changes, changesMax)
	switch unknown := len(led) - known; {
	case unknown > 0 && closed:
		changes = append(changes, finding.New(finding.SectionParams{Code: finding.SectionUndecided, Cells: unknown}))
	case unknown > 0:
		changes = append(changes, finding.New(finding.SectionParams{Code: finding.SectionOtherCells, Cells: unknown}))
	}
	return changes
}

// missingIn says which stores have no row, one line a reason.
func missingIn(t *facts.Table) []finding.Message { return missingOf([]*facts.Table{t}) }

// missingOf is of stores that have a figure in none of some tables.
func missingOf(tables []*facts.Table) (messages []finding.Message) {
	var missing []finding.SectionParams
	for _, r := range tables[0].Rows {
		if r.Role != plan.Measured || slices.ContainsFunc(tables, func(t *facts.Table) bool {
			other := t.Row(plan.Measured, r.Arm)
			return other != nil && other.Rate != nil
		}) {
			continue
		}
		p := finding.SectionParams{Code: finding.SectionNoFigure, Said: errorOf(r)}
		switch {
		case r.Standing == facts.Refused || r.Standing == facts.LeftOut:
			p.Code, p.Reason = finding.SectionRefused, refusedFor(r)
		case len(r.Reasons) > 0:
			p.Why = detect.ReasonMessage(r.Reasons[0])
		default:
			p.Why = detect.ReasonMessage(facts.Reason{Kind: facts.ReasonNoTrialEnded})
		}
		same := func(other finding.SectionParams) bool {
			return other.Code == p.Code && other.Said == p.Said && other.Reason == p.Reason &&
				(p.Code == finding.SectionRefused || finding.Text(other.Why) == finding.Text(p.Why))
		}
		at := slices.IndexFunc(missing, same)
		if at < 0 {
			at, missing = len(missing), append(missing, p)
		}
		missing[at].Arms = append(missing[at].Arms, r.Arm)
	}
	for _, code := range []finding.Code{finding.SectionRefused, finding.SectionNoFigure} {
		for _, p := range missing {
			if p.Code == code {
				messages = append(messages, finding.New(p))
			}
		}
	}
	return messages
}

// refusedFor is why a store can't do what the experiment asks; "": it is the class, or is not known.
func refusedFor(r *facts.Row) string {
	for _, o := range r.Trials {
		if by := o.Planned.RefusedBy; by != "" && by != "durability" {
			return o.Planned.Refuse
		}
	}
	return ""
}

// errorOf is the store's error where its trials were begun and ended without a figure; "": none was
// begun, or there was none.
func errorOf(r *facts.Row) string {
	for _, o := range r.Trials {
		if o.Planned.Refuse == "" && o.Trial != nil && (o.Trial.Cause == finding.CauseRefused || o.Trial.Cause == finding.CauseStore) {
			return record.Said(o.Trial.Error)
		}
	}
	return ""
}
