package facts

import (
	"assay/internal/analysis/stat"
	"assay/internal/experiment/plan"
)

// ToDetect is how many blocks would show a relative difference, in each table and between all stores
// that have a rank there, with a chance of 80 % at the noise of the tables' blocks. The scatter alone
// is asked, not the differences: the number is no look at the outcome. Of one store it is the blocks
// of each of two runs. 0: the noise is not known.
func ToDetect(tables []*Table, difference float64) (blocks int) {
	for _, t := range tables {
		if !t.Open {
			blocks = max(blocks, t.toDetect(difference))
		}
	}
	return blocks
}

// toDetectMost is up to where blocks are counted that a difference would need.
const toDetectMost = 1000

func (t *Table) toDetect(difference float64) (blocks int) {
	rows := t.Comparable()
	options := LookOptions(t.Run)
	options.Twins = t.Twins
	measured := -1
	for i, r := range rows {
		switch {
		case r.Standing != Ranked:
			options.References = append(options.References, i)
		case r.Role == plan.Measured:
			measured = i
		}
	}
	values := t.Values(rows, RateOfTrial)
	switch len(rows) - len(options.References) {
	case 0:
		return 0
	case 1:
		return stat.CompareUnpaired(values, values, options)[measured].Blocks(difference, toDetectMost)
	}
	c := stat.Compare(values, options)
	for k, i := range c.Order {
		for _, j := range c.Order[k+1:] {
			blocks = max(blocks, c.Pair(i, j).Blocks(difference, toDetectMost))
		}
	}
	return blocks
}
