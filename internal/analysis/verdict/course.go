package verdict

import (
	"maps"
	"math"
	"slices"

	"assay/internal/analysis/facts"
	"assay/internal/analysis/series"
	"assay/internal/analysis/stat"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// course is what the rate of one phase of one trial did over time.
type course struct {
	samples []record.Sample // of the phase, those that the series is made of
	good    []float64       // operations of each that ended well
	series  series.Series
	shape   series.Shape
}

// courseOf takes the samples of a phase; nil where there is none.
func courseOf(samples []record.Sample, phase experiment.Phase) *course {
	c := &course{}
	c.series, c.samples = Rates(samples, phase.Name, phase.End())
	if len(c.samples) == 0 {
		return nil
	}
	for _, s := range c.samples {
		c.good = append(c.good, float64(s.Operations-min(s.Bad, s.Operations)))
	}
	c.shape = series.Analyze(c.series)
	return c
}

// afterWarmup returns the rate from the end of the warm-up on; false: there is nothing after it.
func (c *course) afterWarmup() (float64, bool) {
	var good, seconds float64
	for i := range c.samples {
		if c.samples[i].At > c.shape.Warmup {
			good, seconds = good+c.good[i], seconds+c.samples[i].Seconds
		}
	}
	return good / seconds, seconds > 0
}

// worst returns the lowest rate after the warm-up.
func (c *course) worst() *float64 {
	var worst *float64
	for i, rate := range c.series.Rates {
		if c.samples[i].At > c.shape.Warmup && (worst == nil || rate < *worst) {
			worst = &c.series.Rates[i]
		}
	}
	return worst
}

// restless reports whether the rate is known to have changed for good, or to oscillate.
func (c *course) restless() bool { return c.shape.Rate == nil && c.shape.Why == nil }

// broke is where a rate fell: the first cliff, otherwise where half of its early rate was lost for
// good.
func (c *course) broke() *series.Place {
	if e := c.shape.Cliff(); e != nil {
		return &series.Place{Seconds: e.From, Records: e.Records, Bytes: e.Bytes}
	}
	return c.shape.Half
}

// reached returns the records that were stored at the end; nil: not measured.
func (c *course) reached() *float64 { return lastKnown(c.series.Records) }

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
func (r *row) courseOver() facts.Course {
	var kinds []series.Kind
	var early, late, at, records, reached []float64
	with := map[string]int{}
	blocks, broken := 0, 0
	for _, o := range r.used() {
		if o.course == nil {
			continue
		}
		blocks++
		kinds = append(kinds, o.course.shape.Kind)
		if o.course.shape.Measured > 0 {
			early, late = append(early, o.course.shape.Early.Rate), append(late, o.course.shape.Late.Rate)
		}
		reached = appendKnown(reached, o.course.reached())
		if place := o.course.broke(); place != nil {
			broken++
			at, records = append(at, place.Seconds), appendKnown(records, place.Records)
		}
		for _, name := range o.course.changedWith() {
			with[name]++
		}
	}
	if blocks == 0 {
		return facts.Course{}
	}
	kind, count := mostFrequent(kinds)
	c := facts.Course{Kind: string(kind), Blocks: count, Early: medianOf(early), Late: medianOf(late), Reached: medianOf(reached)}
	if 2*broken >= blocks {
		c.BrokeAtS, c.BrokeAt = medianOf(at), medianOf(records)
		for _, name := range slices.Sorted(maps.Keys(with)) {
			if 2*with[name] > broken {
				c.With = append(c.With, name)
			}
		}
	}
	return c
}

// mostFrequent returns what comes most often; of several, the one that comes first.
func mostFrequent[T comparable](values []T) (most T, count int) {
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

func appendKnown(values []float64, v *float64) []float64 {
	if v == nil {
		return values
	}
	return append(values, *v)
}

func medianOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	median := stat.Median(values)
	return &median
}

// changedWith names the resources that changed their level with the first fall, the likeliest
// first.
func (c *course) changedWith() (names []string) {
	for _, with := range c.shape.Coincidences {
		if !slices.Contains(names, with.Resource) {
			names = append(names, with.Resource)
		}
	}
	return names
}
