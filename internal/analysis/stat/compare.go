package stat

import (
	"cmp"
	"slices"
)

// TieMargin is the largest relative difference of two arms that can be shown to be tied, unless
// [Options] say otherwise.
const TieMargin = 0.10

// Options say what a comparison is for.
type Options struct {
	// Smallest is the relative difference up to which nothing is significant; at least
	// [DifferenceMin].
	Smallest float64
	// References are arms, twins and null drivers, that help to estimate noise but are compared
	// with nothing: they are no part of the correction, have no letters, and the P of a pair with
	// one is not adjusted.
	References []int
	// Family lists the pairs that are looked at, where these are not all pairs: of one store at two
	// durability classes, say. Pairs outside it have a value and an interval only.
	Family [][2]int
	// LowerIsBetter orders latencies, bytes and the like.
	LowerIsBetter bool
	// Tie is the margin of equivalence; 0: [TieMargin].
	Tie float64
	// Resolution is the relative step between neighbouring values that the measurement can tell,
	// such as the width of a histogram's bucket; 0: exact.
	Resolution float64
	// Level is the chance of a false difference in the table; 0: [Significance]. [LookLevel] gives
	// that of each of many looks.
	Level float64
	// Twins are the A/A pairs of the table's run: where they differ, all variances are widened by
	// what they show, and are known no better than that is.
	Twins Twins
	// Between is how far the two runs of [CompareUnpaired] differ beyond what their blocks show.
	Between Between
}

func (o Options) level() float64 {
	if o.Level > 0 {
		return o.Level
	}
	return Significance
}

func (o Options) tie() float64 {
	if o.Tie > 0 {
		return o.Tie
	}
	return TieMargin
}

// references says of each arm whether it is compared with nothing.
func (o Options) references(arms int) []bool {
	is := make([]bool, arms)
	for _, a := range o.References {
		is[a] = true
	}
	return is
}

// Comparison is a table of arms that ran in the same blocks.
type Comparison struct {
	Arms     []Estimate `json:"arms"`    // in the order given, with 95 % intervals whatever the level
	Order    []int      `json:"order"`   // arms from best to worst, without references and arms without a value
	Letters  []string   `json:"letters"` // of each arm: arms that share one are not significantly different
	Ranks    []int      `json:"ranks"`   // of each arm; 0: not in Order
	Best     []int      `json:"best"`    // the first arm and those that are not significantly worse
	Prior    Prior      `json:"prior"`
	Smallest float64    `json:"smallest"` // relative difference up to which nothing is significant
	Tie      float64    `json:"tie"`      // margin of [Ratio.Equal]
	pairs    [][]Ratio
	fitted   *layout
}

// Residuals are those of the logs by arm and block; NaN: there was no value.
func (c *Comparison) Residuals() [][]float64 { return c.fitted.residuals() }

// Pair is the ratio of arm i to arm j.
func (c *Comparison) Pair(i, j int) Ratio { return c.pairs[i][j] }

// Undecided lists the pairs of arms that are neither significantly different nor shown to be tied,
// the better arm first.
func (c *Comparison) Undecided() [][2]int {
	var open [][2]int
	for k, i := range c.Order {
		for _, j := range c.Order[k+1:] {
			if r := c.pairs[i][j]; !r.Significant && !r.Equal {
				open = append(open, [2]int{i, j})
			}
		}
	}
	return open
}

// fit estimates arms and their variances; reference are those that are compared with nothing.
func fit(values [][]float64, o Options) (m moderated, prior Prior, reference []bool) {
	l := newLayout(values)
	reference = o.references(l.arms)
	compared := 0
	for a := range l.arms {
		if !reference[a] && l.count[a] > 0 {
			compared++
		}
	}
	pairs := compared * (compared - 1) / 2
	if o.Family != nil {
		pairs = len(o.Family)
	}
	prior, all := moderate(pairs, l)
	all[0].adjust(o)
	return all[0], prior, reference
}

// Estimates are the arms of [Compare] without their pairs: for many arms much faster.
func Estimates(values [][]float64, o Options) []Estimate {
	m, _, _ := fit(values, o)
	arms := make([]Estimate, m.arms)
	for a := range arms {
		arms[a] = m.estimate(a, Significance)
	}
	return arms
}

// Compare compares arms that ran in the same blocks: values[arm][block], all positive; anything
// else (NaN, 0) is missing. The logs are fitted by arm + block, the arms' variances moderated
// (Smyth, SAGMB 3, 2004), and the p-values of all pairs adjusted together (Shaffer, JASA 81, 1986).
func Compare(values [][]float64, o Options) *Comparison {
	m, prior, reference := fit(values, o)
	l := m.layout
	c := &Comparison{Prior: prior, Smallest: max(o.Smallest, DifferenceMin), Tie: o.tie(), fitted: l}
	c.pairs = make([][]Ratio, l.arms)
	for a := range l.arms {
		c.Arms = append(c.Arms, m.estimate(a, Significance))
		c.pairs[a] = make([]Ratio, l.arms)
	}
	for a := range l.arms {
		if !reference[a] && l.count[a] > 0 {
			c.Order = append(c.Order, a)
		}
	}
	slices.SortStableFunc(c.Order, func(a, b int) int {
		if o.LowerIsBetter {
			return cmp.Compare(l.mean[a], l.mean[b])
		}
		return cmp.Compare(l.mean[b], l.mean[a])
	})
	c.relate(m, reference, o)
	c.Letters, c.Ranks = c.letters(), c.ranks()
	for k, a := range c.Order {
		if k == 0 || !c.pairs[c.Order[0]][a].Significant {
			c.Best = append(c.Best, a)
		}
	}
	return c
}

// ranks gives each arm one more than the number of arms that are significantly better, and never a
// smaller rank than a better arm's: a noisy arm that differs from none would otherwise rank before
// arms that beat it.
func (c *Comparison) ranks() []int {
	ranks := make([]int, len(c.Arms))
	last := 1
	for k, i := range c.Order {
		rank := 1
		for _, j := range c.Order[:k] {
			if c.pairs[i][j].Significant {
				rank++
			}
		}
		last = max(last, rank)
		ranks[i] = last
	}
	return ranks
}

// UndecidedBest is Undecided for the pairs that say which arm is best: of the first arm and those
// in Best. Where it is empty, every arm is significantly worse than the first or shown to be tied
// with it.
func (c *Comparison) UndecidedBest() [][2]int {
	return slices.DeleteFunc(c.Undecided(), func(pair [2]int) bool { return pair[0] != c.Order[0] })
}

// relate fills in the pairs.
func (c *Comparison) relate(m moderated, reference []bool, o Options) {
	var compared []*Ratio
	arms := 0
	for i := range m.arms {
		if !reference[i] && m.count[i] > 1 {
			arms++
		}
		for j := i + 1; j < m.arms; j++ {
			r := &c.pairs[i][j]
			*r = m.difference(i, j).ratio(o.level())
			switch {
			case reference[i] || reference[j]:
				Correct([]*Ratio{r}, c.Smallest, o)
			case o.Family == nil || slices.Contains(o.Family, [2]int{i, j}) || slices.Contains(o.Family, [2]int{j, i}):
				compared = append(compared, r)
			}
		}
	}
	if o.Family != nil {
		arms = 0
	}
	correct(compared, arms, c.Smallest, o)
	for i := range m.arms {
		for j := range i {
			c.pairs[i][j] = c.pairs[j][i].inverse()
		}
	}
}
