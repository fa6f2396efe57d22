package verdict

import (
	"math"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/model"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Axes of few points, at most so many and each with so many levels: effects are given of these.
const (
	effectAxesMax   = 3
	effectLevelsMax = 6
)

// effectLinesMax are the changes that the one screen tells of, if there are no more.
const effectLinesMax = 4

// factorial is the tables of one phase in one class, whose cells are all combinations of levels.
type factorial struct {
	tables []*table
	axes   []experiment.Axis
	levels [][]string // of each axis, in the order of the cells
	stat.Factorial
}

// effectsOf says what each axis of the experiment does to each arm, phase by phase and class by
// class, where the cells of a class are a factorial.
func effectsOf(tables []*table) (effects []facts.Effect) {
	for _, f := range factorials(tables) {
		effects = append(effects, f.effects()...)
	}
	return effects
}

func factorials(tables []*table) (all []*factorial) {
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
	slices.SortFunc(f.tables, func(a, b *table) int { return a.Cell - b.Cell })
	for _, axis := range experiment.Axes() {
		var levels []string
		var of []int
		for _, t := range f.tables {
			text := axis.Text(t.parameters)
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
	for _, r := range f.tables[0].rows {
		ranked := func(t *table) bool {
			r := t.row(plan.Measured, r.Arm)
			return r != nil && r.Standing == facts.Ranked
		}
		if r.role == plan.Measured && !slices.ContainsFunc(f.tables, func(t *table) bool { return !ranked(t) }) {
			arms = append(arms, r.Arm)
		}
	}
	slices.Sort(arms)
	return arms
}

func (f *factorial) effects() (effects []facts.Effect) {
	arms := f.arms()
	var values [][][]float64
	options := stat.Options{Widen: f.tables[0].twins.Widen()}
	for _, arm := range arms {
		var cells [][]float64
		for _, t := range f.tables {
			cells = append(cells, t.values([]*row{t.row(plan.Measured, arm)}, rateOfTrial)[0])
		}
		values = append(values, cells)
	}
	for _, e := range f.Effects(values, options) {
		ratio := ratioOf(e.Ratio)
		if ratio == nil || ratio.Low == nil {
			continue // of one block
		}
		made := facts.Effect{Class: f.tables[0].Class, Phase: f.tables[0].Phase, Arm: arms[e.Arm], Ratio: *ratio}
		for i, axis := range e.Axes {
			made.Axes = append(made.Axes, f.axes[axis].Path)
			made.From, made.To = append(made.From, f.levels[axis][e.From[i]]), append(made.To, f.levels[axis][e.To[i]])
		}
		effects = append(effects, made)
	}
	return effects
}

// effectLines are the changes of level for the one screen, one a line over all arms and phases; none
// where they are many.
func effectLines(effects []model.Effect) (messages []finding.Message) {
	type change struct{ from, to string }
	var order []change
	of := map[change][]model.Effect{}
	for _, e := range effects {
		if len(e.Axes) > 1 {
			continue
		}
		c := change{e.From[0], e.To[0]}
		if of[c] == nil {
			order = append(order, c)
		}
		of[c] = append(of[c], e)
	}
	if len(order) > effectLinesMax {
		return nil
	}
	for _, c := range order {
		low, high, significant := math.Inf(1), math.Inf(-1), 0
		for _, e := range of[c] {
			if e.Ratio.Significant {
				low, high, significant = min(low, e.Ratio.Value), max(high, e.Ratio.Value), significant+1
			}
		}
		p := finding.EffectSummaryParams{From: c.from, To: c.to, Significant: significant, Of: len(of[c])}
		if significant > 0 {
			p.Low, p.High = &low, &high
		}
		messages = append(messages, finding.New(p))
	}
	return messages
}
