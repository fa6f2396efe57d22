package facts

import (
	"slices"

	"assay/internal/analysis/stat"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Axes of few points, at most so many and each with so many levels: effects are given of these.
const (
	effectAxesMax   = 3
	effectLevelsMax = 6
)

// factorial is the tables of one phase in one class, whose cells are all combinations of levels.
type factorial struct {
	tables []*Table
	axes   []experiment.Axis
	levels [][]string // of each axis, in the order of the cells
	stat.Factorial
}

// EffectsOf says what each axis of the experiment does to each arm, phase by phase and class by
// class, where the cells of a class are a factorial.
func EffectsOf(tables []*Table) (effects []Effect) {
	for _, f := range factorials(tables) {
		effects = append(effects, f.effects()...)
	}
	return effects
}

func factorials(tables []*Table) (all []*factorial) {
	byPlace := map[[2]string]int{}
	for _, t := range tables {
		if t.Open {
			continue // the experiment set its rate
		}
		place := [2]string{t.Class, t.Phase}
		at, known := byPlace[place]
		if !known {
			at, all = len(all), append(all, &factorial{})
			byPlace[place] = at
		}
		all[at].tables = append(all[at].tables, t)
	}
	return slices.DeleteFunc(all, func(f *factorial) bool { return !f.lay() })
}

// lay finds the axes and levels. It returns false if the tables are no factorial of few points.
func (f *factorial) lay() bool {
	slices.SortFunc(f.tables, func(a, b *Table) int { return a.Cell - b.Cell })
	for _, axis := range experiment.Axes() {
		var levels []string
		var of []int
		for _, t := range f.tables {
			text := axis.Text(t.Parameters)
			if !slices.Contains(levels, text) {
				levels = append(levels, text)
			}
			of = append(of, slices.Index(levels, text))
		}
		if len(levels) < 2 {
			continue
		}
		if len(levels) > effectLevelsMax {
			return false
		}
		f.axes, f.levels, f.Levels = append(f.axes, axis), append(f.levels, levels), append(f.Levels, of)
	}
	return len(f.axes) > 0 && len(f.axes) <= effectAxesMax && f.Complete(len(f.tables))
}

// arms are those that have a rank in every cell.
func (f *factorial) arms() (arms []string) {
	for _, r := range f.tables[0].Rows {
		ranked := func(t *Table) bool {
			r := t.Row(plan.Measured, r.Arm)
			return r != nil && r.Standing == Ranked
		}
		if r.Role == plan.Measured && !slices.ContainsFunc(f.tables, func(t *Table) bool { return !ranked(t) }) {
			arms = append(arms, r.Arm)
		}
	}
	slices.Sort(arms)
	return arms
}

func (f *factorial) effects() (effects []Effect) {
	arms := f.arms()
	var values [][][]float64
	options := stat.Options{Twins: f.tables[0].Twins}
	for _, arm := range arms {
		var cells [][]float64
		for _, t := range f.tables {
			cells = append(cells, t.Values([]*Row{t.Row(plan.Measured, arm)}, RateOfTrial)[0])
		}
		values = append(values, cells)
	}
	for _, e := range f.Effects(values, options) {
		ratio := RatioOf(e.Ratio)
		if ratio == nil || ratio.Low == nil {
			continue // of one block
		}
		made := Effect{Class: f.tables[0].Class, Phase: f.tables[0].Phase, Arm: arms[e.Arm], Ratio: *ratio}
		for i, axis := range e.Axes {
			made.Axes = append(made.Axes, f.axes[axis].Path)
			made.From, made.To = append(made.From, f.levels[axis][e.From[i]]), append(made.To, f.levels[axis][e.To[i]])
		}
		effects = append(effects, made)
	}
	return effects
}
