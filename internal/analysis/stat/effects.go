package stat

import (
	"math"
	"slices"
)

// Effect is what another level of an axis does to an arm's rate, all other axes averaged; or, of two
// axes, how much more the change of one does at another level of the other.
type Effect struct {
	Arm   int
	Axes  []int // one; of an interaction two
	From  []int // levels, one for each of Axes
	To    []int
	Ratio Ratio // of the rate at To to that at From; of an interaction the ratio of two such ratios
}

// Factorial is a design in which each arm ran at every combination of levels: Levels[axis][cell] is
// a cell's level, counted from 0.
type Factorial struct{ Levels [][]int }

// Complete reports whether the cells are all combinations of levels, each once.
func (f Factorial) Complete(cells int) bool {
	all := 1
	for axis := range f.Levels {
		all *= f.points(axis)
	}
	seen := map[string]bool{}
	for cell := range cells {
		key := ""
		for _, levels := range f.Levels {
			key += string(rune(levels[cell])) + "/"
		}
		seen[key] = true
	}
	return len(seen) == cells && cells == all
}

func (f Factorial) points(axis int) int { return slices.Max(f.Levels[axis]) + 1 }

// Effects compares the levels of each axis with its first, and, where there are two axes, gives
// their interactions. values[arm][cell][block] are rates of trials that ran in the same blocks; what
// is missing in one cell leaves the block out. Within a block the logs of an arm's cells are
// averaged, which [Compare] then treats as the values of so many arms: fitted by block, variances
// moderated over all of them, and the effects of one axis adjusted together.
func (f Factorial) Effects(values [][][]float64, o Options) (effects []Effect) {
	for axis := range f.Levels {
		effects = append(effects, f.main(values, axis, o)...)
	}
	if len(f.Levels) == 2 {
		effects = append(effects, f.interactions(values, o)...)
	}
	return effects
}

func (f Factorial) main(values [][][]float64, axis int, o Options) (effects []Effect) {
	var rows [][]float64
	o.Family = nil
	for arm := range values {
		first := len(rows)
		for level := range f.points(axis) {
			rows = append(rows, averaged(values[arm],
				func(cell int) float64 { return is(f.Levels[axis][cell] == level) }))
			if level > 0 {
				o.Family = append(o.Family, [2]int{first + level, first})
				effects = append(effects, Effect{Arm: arm, Axes: []int{axis}, From: []int{0}, To: []int{level}})
			}
		}
	}
	return compared(rows, effects, o)
}

// interactions sets the diagonal of each two by two cells against the other one.
func (f Factorial) interactions(values [][][]float64, o Options) (effects []Effect) {
	var rows [][]float64
	o.Family = nil
	for arm := range values {
		for a := 1; a < f.points(0); a++ {
			for b := 1; b < f.points(1); b++ {
				at := func(x, y int) func(int) float64 {
					return func(cell int) float64 {
						la, lb := f.Levels[0][cell], f.Levels[1][cell]
						// a ratio of ratios is of sums, not of means
						return 2 * (is(la == a && lb == x) + is(la == 0 && lb == y))
					}
				}
				o.Family = append(o.Family, [2]int{len(rows), len(rows) + 1})
				rows = append(rows, averaged(values[arm], at(b, 0)), averaged(values[arm], at(0, b)))
				effects = append(effects, Effect{Arm: arm, Axes: []int{0, 1}, From: []int{0, 0}, To: []int{a, b}})
			}
		}
	}
	return compared(rows, effects, o)
}

func compared(rows [][]float64, effects []Effect, o Options) []Effect {
	c := Compare(rows, o)
	for i, pair := range o.Family {
		effects[i].Ratio = c.Pair(pair[0], pair[1])
	}
	return effects
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// averaged returns, for each block, the mean of the logs of the cells that have a weight, each times
// its weight, as a rate.
func averaged(cells [][]float64, weight func(cell int) float64) []float64 {
	blocks := 0
	for _, of := range cells {
		blocks = max(blocks, len(of))
	}
	row := make([]float64, blocks)
	for block := range row {
		sum, n := 0.0, 0
		for cell, of := range cells {
			w := weight(cell)
			if w == 0 {
				continue
			}
			if n++; block >= len(of) || !usable(of[block]) {
				sum = math.NaN()
			} else {
				sum += w * math.Log(of[block])
			}
		}
		row[block] = math.Exp(sum / float64(n))
	}
	return row
}
