package stat

import "math"

// difference is that of two arms' log values, or the log value of one arm.
type difference struct {
	log, standardError, freedom float64
	n                           int     // blocks with both, or of the smaller side
	spread                      float64 // standard deviation of one block's difference
	known                       bool    // there is a log
	judged                      bool    // there is a standard error
	level                       float64 // of the smallest p of its family; 0: not corrected
	between                     float64 // of the standard error's square, what two runs differ by
}

// difference is arm i against arm j of one layout. Both need two blocks: an arm's only value says
// nothing of its noise.
func (m moderated) difference(i, j int) difference {
	if m.groupOf[i] < 0 || m.groupOf[i] != m.groupOf[j] {
		return difference{}
	}
	d := difference{log: m.mean[i] - m.mean[j], n: min(m.count[i], m.count[j]), known: true}
	if d.n < 2 || i == j {
		return d
	}
	var total float64
	for _, t := range m.trace {
		total += t
	}
	if total < 0.5 { // every value has a parameter of its own: none is left to tell noise from
		return d
	}
	times := make([]float64, m.arms)
	for k, v := range m.values {
		times[v.arm] += square(m.weight[i][k] - m.weight[j][k])
	}
	d.spread = math.Sqrt(m.variance[i] + m.variance[j])
	d.of(m.combine(times))
	d.freedom = min(d.freedom, total)
	return d
}

// of sets the standard error and its degrees of freedom (Satterthwaite, Biometrics Bulletin 2,
// 1946).
func (d *difference) of(variance, uncertainty float64) {
	d.judged, d.standardError, d.freedom = true, math.Sqrt(max(variance, 0)), 1e6
	if uncertainty > 0 {
		d.freedom = max(square(variance)/uncertainty, 1)
	}
}

// meanOf is the log value of an arm with the spread of the blocks in its error: the next run has
// other blocks.
func (m moderated) meanOf(arm int) difference {
	d := difference{log: m.mean[arm], n: m.count[arm], known: m.count[arm] > 0}
	if d.n < 2 {
		return d
	}
	d.spread = math.Sqrt(m.variance[arm])
	d.of(spreadOver([]moderated{m}, []int{arm}))
	return d
}

// spreadOver is the variance of the sum or difference of one arm's mean in each of some layouts
// that share no blocks, and half the variance of that estimate. The blocks' own variance is taken
// to be the same in all.
func spreadOver(sides []moderated, arms []int) (variance, uncertainty float64) {
	var blocks, spread, freedom float64
	times, noise := make([][]float64, len(sides)), make([][]float64, len(sides))
	for s, m := range sides {
		g := m.groups[m.groupOf[arms[s]]]
		n := float64(len(g.blocks))
		blocks += 1 / n
		spread += g.spread * (n - 1)
		freedom += n - 1
		times[s], noise[s] = make([]float64, m.arms), make([]float64, m.arms)
		for k, v := range m.values {
			times[s][v.arm] += square(m.weight[arms[s]][k])
		}
		for a, c := range g.noise {
			noise[s][a] = c * (n - 1)
		}
	}
	if freedom == 0 {
		return 0, 0
	}
	spread /= freedom
	var expected float64
	for s, m := range sides {
		for a := range noise[s] {
			noise[s][a] /= freedom
		}
		sum, _ := m.combine(noise[s])
		expected += sum
	}
	if spread > expected { // else the blocks differ by no more than the noise in them
		variance = blocks * spread
		uncertainty = square(variance) / freedom
		for s := range sides {
			for a := range times[s] {
				times[s][a] -= blocks * noise[s][a]
			}
		}
	}
	for s, m := range sides {
		sum, more := m.combine(times[s])
		variance, uncertainty = variance+sum, uncertainty+more
	}
	return variance, uncertainty
}

func (m moderated) estimate(arm int, level float64) Estimate {
	d := m.meanOf(arm)
	e := Estimate{N: d.n, Spread: d.spread}
	if d.known {
		e.Value = boundedExp(d.log)
	}
	if d.judged {
		e.Interval = d.interval(level)
	}
	return e
}

func (d difference) interval(level float64) *Interval {
	half := students(d.freedom).Quantile(1-level/2) * d.standardError
	return &Interval{boundedExp(d.log - half), boundedExp(d.log + half)}
}

// p is the chance of a difference as far from 0, were there none.
func (d difference) p() float64 {
	switch {
	case d.standardError > 0:
		return 2 * students(d.freedom).Survival(math.Abs(d.log)/d.standardError)
	case d.log == 0:
		return 1
	}
	return 0
}

// pEqual is the chance of a difference as near to 0, were it as large as the margin (Schuirmann, J.
// Pharmacokinetics and Biopharmaceutics 15, 1987).
func (d difference) pEqual(margin float64) float64 {
	left := math.Log1p(margin) - math.Abs(d.log)
	switch {
	case d.standardError > 0:
		return students(d.freedom).Survival(left / d.standardError)
	case left > 0:
		return 0
	}
	return 1
}

func (d difference) ratio(level float64) Ratio {
	r := Ratio{N: d.n, Spread: d.spread, found: d}
	if d.known {
		r.Value = boundedExp(d.log)
	}
	if d.judged {
		r.Interval = d.interval(level)
	}
	return r
}

// inverse is the ratio the other way round.
func (r Ratio) inverse() Ratio {
	if r.Value > 0 {
		r.Value = 1 / r.Value
	}
	if r.Interval != nil {
		r.Interval = &Interval{1 / r.Interval.High, 1 / r.Interval.Low}
	}
	r.found.log = -r.found.log
	return r
}

// Correct adjusts the ratios that are looked at together, of one table or many (Holm, Scandinavian
// Journal of Statistics 6, 1979), and sets P, Significant, Equal and Detectable. What has no
// interval takes no part.
func Correct(ratios []*Ratio, smallest float64, o Options) { correct(ratios, 0, smallest, o) }

// CorrectFirst judges the figures that a comparison is for at the full level, and the others in a
// family of their own, so that what is measured besides costs the first no power.
func CorrectFirst(first, others []*Ratio, smallest float64, o Options) {
	Correct(first, smallest, o)
	Correct(others, smallest, o)
}

// correct is Correct; if the ratios are all pairs of so many arms, with Shaffer's smaller factors.
func correct(ratios []*Ratio, arms int, smallest float64, o Options) {
	var judged []*Ratio
	var p, equal []float64
	for _, r := range ratios {
		if r.found.judged {
			judged = append(judged, r)
			p, equal = append(p, r.found.p()), append(equal, r.found.pEqual(o.tie()))
		}
	}
	if len(judged) == 0 {
		return
	}
	adjusted := Holm(p)
	if len(p) == arms*(arms-1)/2 { // if some pair has no ratio, it is unknown how many of the others can be equal
		adjusted = HolmPairs(p, arms)
	}
	level := o.level()
	for i, e := range Holm(equal) {
		r := judged[i]
		r.P = &adjusted[i]
		r.Significant = adjusted[i] < level && Distance(r.Value) > smallest
		r.Equal = e < level
		r.found.level = level / float64(len(p))
		t := students(r.found.freedom)
		critical := t.Quantile(1 - r.found.level/2)
		seen := max(critical*r.found.standardError, math.Log1p(smallest)) // what must be exceeded
		detectable := boundedExp(seen+t.Quantile(power)*r.found.standardError) - 1
		r.Detectable = &detectable
	}
}

// Blocks is how many blocks would show a relative difference with a chance of 80 %, were the noise
// the one seen: the fewest up to most, and most where even these would not do. 0: the noise is
// unknown.
func (r Ratio) Blocks(difference float64, most int) int {
	d := r.found
	if !d.judged || d.n < 2 {
		return 0
	}
	level := d.level
	if level == 0 {
		level = Significance
	}
	for blocks := d.n; blocks < most; blocks++ {
		share := float64(blocks-1) / float64(d.n-1)
		t := students(d.freedom * share)
		noise := max(square(d.standardError)-d.between, 0) // the rest is the same however many blocks there are
		error := math.Sqrt(noise*float64(d.n)/float64(blocks) + d.between)
		if (t.Quantile(1-level/2)+t.Quantile(power))*error <= math.Log1p(difference) {
			return blocks
		}
	}
	return most
}

// adjust keeps the variances above that of rounding to the resolution, and widens them.
func (m *moderated) adjust(o Options) {
	if o.Twins.Differ() {
		m.widened = o.Twins.freedom()
	}
	for a := range m.variance {
		m.variance[a] = max(m.variance[a], square(o.Resolution)/12) * o.Twins.Widen()
	}
}

// ofRuns sets the standard error of one arm's ratio of two runs.
func (d *difference) ofRuns(sides []moderated, arm int, between Between) {
	variance, uncertainty := spreadOver(sides, []int{arm, arm})
	if between.Freedom > 0 {
		uncertainty += square(between.Variance) / between.Freedom
	}
	d.between = between.Variance
	d.of(max(variance, 0)+between.Variance, uncertainty)
}

// CompareUnpaired compares each arm of a run with the same arm of another run: old[arm][block],
// new[arm][block]. Ratios are new ÷ old. The sides share no blocks, so what differs from block to
// block is in the error, and what changed on the machine between the runs is in the ratio: by how
// much that may be, o.Between says. What one side lacks takes no part in the correction. It panics
// if the sides differ in their number of arms.
func CompareUnpaired(old, new [][]float64, o Options) []Ratio {
	if len(old) != len(new) {
		panic("stat: unpaired comparison of sides with different arms")
	}
	reference := o.references(len(old))
	before, after := newLayout(old), newLayout(new)
	compared := 0
	for a := range old {
		if !reference[a] && min(before.count[a], after.count[a]) > 0 {
			compared++
		}
	}
	_, sides := moderate(compared, before, after)
	for i := range sides {
		sides[i].adjust(o)
	}
	ratios := make([]Ratio, len(old))
	var family []*Ratio
	for a := range old {
		d := difference{n: min(before.count[a], after.count[a]), log: after.mean[a] - before.mean[a]}
		d.known = d.n > 0
		if !d.known {
			continue
		}
		if d.n > 1 {
			d.spread = math.Sqrt(sides[0].variance[a] + sides[1].variance[a])
			d.ofRuns(sides, a, o.Between)
		}
		ratios[a] = d.ratio(o.level())
		if !reference[a] {
			family = append(family, &ratios[a])
		}
	}
	Correct(family, max(o.Smallest, DifferenceMin), o)
	return ratios
}
