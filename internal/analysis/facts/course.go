package facts

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// TrialCourse is what the rate of one phase of one trial did over time.
type TrialCourse struct {
	Seconds []float64 // of each sample that the series is made of
	good    []float64 // operations of each that ended well
	Series  series.Series
	Shape   series.Shape
	// Connections is the most that the worker's process was seen to have to its store; nil: not counted.
	Connections *float64
	Network     *Network // nil: not measured

	read func() []record.Sample
}

// courseOf takes the samples of a phase; nil where there is none. What is made of them is kept, and
// they are read again where more is asked of them: see [TrialCourse.Samples].
func courseOf(read func() []record.Sample, phase experiment.Phase) *TrialCourse {
	c := &TrialCourse{}
	var samples []record.Sample
	c.Series, samples = Rates(read(), phase.Name, phase.End())
	if len(samples) == 0 {
		return nil
	}
	c.read = func() []record.Sample { return ofRate(read(), phase.Name, phase.End()) }
	for _, s := range samples {
		c.Seconds = append(c.Seconds, s.Seconds)
		c.good = append(c.good, float64(s.Operations-min(s.Bad, s.Operations)))
		if n, counted := s.Resource(host.WorkerConnections); counted && (c.Connections == nil || n > *c.Connections) {
			c.Connections = &n
		}
	}
	c.Network = networkOf(samples)
	c.Shape = series.Analyze(c.Series)
	c.Series.Resources = nil // the shape has what they did; of a thousand trials they are 40 MB
	return c
}

// Samples reads what the series is made of once more.
func (c *TrialCourse) Samples() []record.Sample { return c.read() }

// afterWarmup returns the rate from the end of the warm-up on; false: there is nothing after it.
func (c *TrialCourse) afterWarmup() (float64, bool) {
	var good, seconds float64
	for i, end := range c.Series.Ends {
		if end > c.Shape.Warmup {
			good, seconds = good+c.good[i], seconds+c.Seconds[i]
		}
	}
	return good / seconds, seconds > 0
}

// worst returns the lowest rate after the warm-up.
func (c *TrialCourse) worst() *float64 {
	var worst *float64
	for i, rate := range c.Series.Rates {
		if c.Series.Ends[i] > c.Shape.Warmup && (worst == nil || rate < *worst) {
			worst = &c.Series.Rates[i]
		}
	}
	return worst
}

// restless reports whether the rate is known to have changed permanently, or to oscillate.
func (c *TrialCourse) restless() bool { return c.Shape.Rate == nil && c.Shape.Why == nil }

// broke is where a rate fell: the first cliff, otherwise where half of its early rate was lost for
// good.
func (c *TrialCourse) broke() *series.Place {
	if e := c.Shape.Cliff(); e != nil {
		return &series.Place{Seconds: e.From, Records: e.Records, Bytes: e.Bytes}
	}
	return c.Shape.Half
}

// reached returns the records that were stored at the end; nil: not measured.
func (c *TrialCourse) reached() *float64 { return lastKnown(c.Series.Records) }

func lastKnown(values []float64) *float64 {
	for i := len(values) - 1; i >= 0; i-- {
		if !math.IsNaN(values[i]) {
			return &values[i]
		}
	}
	return nil
}

// course sums up what the rate of an arm did over its blocks: the kind of most of them, and
// medians.
func (r *Row) courseOver() Course {
	var kinds []series.Kind
	var early, late, at, records, reached []float64
	with := map[string]int{}
	moves := map[string][]Moved{}
	blocks, broken := 0, 0
	for _, o := range r.Used() {
		if o.Course == nil || o.Directed() {
			continue
		}
		blocks++
		kinds = append(kinds, o.Course.Shape.Kind)
		if o.Course.Shape.Measured > 0 {
			early, late = append(early, o.Course.Shape.Early.Rate), append(late, o.Course.Shape.Late.Rate)
		}
		reached = AppendKnown(reached, o.Course.reached())
		if place := o.Course.broke(); place != nil {
			broken++
			at, records = append(at, place.Seconds), AppendKnown(records, place.Records)
		}
		for _, name := range o.Course.changedWith() {
			with[name]++
		}
		for _, m := range o.Course.moved() {
			moves[m.Resource] = append(moves[m.Resource], m)
		}
	}
	if blocks == 0 {
		return Course{}
	}
	kind, count := MostFrequent(kinds)
	c := Course{Kind: string(kind), Blocks: count, Early: MedianOf(early), Late: MedianOf(late),
		Reached: MedianOf(reached)}
	if 2*broken >= blocks {
		c.BrokeAtS, c.BrokeAt = MedianOf(at), MedianOf(records)
		for _, name := range slices.Sorted(maps.Keys(with)) {
			if 2*with[name] <= broken {
				continue
			}
			if c.With = append(c.With, name); len(moves[name]) > 0 {
				c.Moved = append(c.Moved, middleOf(moves[name]))
			}
		}
		c.sortMoves()
	}
	return c
}

// middleOf is what a resource did over blocks.
func middleOf(moves []Moved) Moved {
	middle := func(of func(Moved) float64) float64 {
		var values []float64
		for _, m := range moves {
			values = append(values, of(m))
		}
		return stat.Median(values)
	}
	m := moves[0]
	m.AfterS = middle(func(m Moved) float64 { return m.AfterS })
	m.Before = middle(func(m Moved) float64 { return m.Before })
	m.After = middle(func(m Moved) float64 { return m.After })
	return m
}

// togetherSeconds is how far apart changes may be to have come together: then the larger comes first.
const togetherSeconds = 3

// sortMoves puts first what moved first and most; what only goes along with the rate comes last.
func (c *Course) sortMoves() {
	slices.SortStableFunc(c.Moved, func(a, b Moved) int {
		return cmp.Or(cmp.Compare(math.Floor(a.AfterS/togetherSeconds), math.Floor(b.AfterS/togetherSeconds)),
			cmp.Compare(b.effect(), a.effect()))
	})
	place := func(name string) int {
		if at := slices.IndexFunc(c.Moved, func(m Moved) bool { return m.Resource == name }); at >= 0 {
			return at
		}
		return len(c.Moved)
	}
	slices.SortStableFunc(c.With, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
}

// effect is by how much a resource changed, the same for a rise and a fall.
func (m Moved) effect() float64 {
	low, high := min(math.Abs(m.Before), math.Abs(m.After)), max(math.Abs(m.Before), math.Abs(m.After))
	if high == 0 {
		return 0
	}
	return math.Log((high + fromNothing*high) / (low + fromNothing*high))
}

// fromNothing is the share of the larger level by which both are lifted: a change from nothing is
// thousandfold, and not infinite.
const fromNothing = 0.001

// moved are the resources that changed their level near the place where the rate fell.
func (c *TrialCourse) moved() (moves []Moved) {
	place := c.broke()
	if place == nil {
		return nil
	}
	for _, with := range c.Shape.Coincidences {
		if with.Event == nil || slices.ContainsFunc(moves, func(m Moved) bool { return m.Resource == with.Resource }) {
			continue
		}
		if e := c.Shape.Events[*with.Event]; e.From <= place.Seconds && place.Seconds <= max(e.To, e.From) {
			moves = append(moves, Moved{Resource: with.Resource, AfterS: with.Seconds - place.Seconds,
				Before: with.Before,
				After:  with.After, PerSecond: with.PerSecond})
		}
	}
	return moves
}

// MostFrequent returns what comes most often; of several, the one that comes first.
func MostFrequent[T comparable](values []T) (most T, count int) {
	counts := map[T]int{}
	for _, v := range values {
		counts[v]++
	}
	for _, v := range values {
		if counts[v] > count {
			most, count = v, counts[v]
		}
	}
	return most, count
}

// AppendKnown appends a value that is known.
func AppendKnown(values []float64, v *float64) []float64 {
	if v == nil {
		return values
	}
	return append(values, *v)
}

// MedianOf returns the median of values; nil: there are none.
func MedianOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	median := stat.Median(values)
	return &median
}

// changedWith names the resources that changed their level with the first fall, the likeliest
// first.
func (c *TrialCourse) changedWith() (names []string) {
	for _, with := range c.Shape.Coincidences {
		if !slices.Contains(names, with.Resource) {
			names = append(names, with.Resource)
		}
	}
	return names
}
