package series

import (
	"math"
	"math/rand/v2"
	"slices"

	"assay/internal/analysis/stat"
)

const (
	// dropShare is the share of the usual rate below which a sample is part of a drop.
	dropShare = 0.75
	// stallShare is the share below which a drop is a stall.
	stallShare = 0.1
	// dropReach is how many samples on either side the usual rate of a sample is the median of.
	dropReach = 30
	// dropSigmas is how many standard deviations the deepest sample of a drop lies below the usual
	// rate: with four, one steady series of 600 in a hundred has two drops by chance.
	dropSigmas = 5
	// dropSamplesMax is the longest drop that is found by its neighbours; longer ones are levels.
	dropSamplesMax = 15
	// loneDropMax is the share of the samples that one of fewer than recurringMin drops takes at
	// most.
	loneDropMax  = 0.1
	recurringMin = 3
	// noiseSamplesMin is how many samples before a low end show whether it goes on with a slope.
	noiseSamplesMin = 9
	// dropAlone is how many samples a single dip has at least. A single stall may be shorter.
	dropAlone = 3
	// riseSigmas is how far above the usual rate a sample lies whose like, below it, is noise as
	// well: one of 600 normal ones in 16 series.
	riseSigmas = 3.7
	// dropsOfRise is how many times deeper than the highest rise a drop of one or two samples is:
	// of noise whose tails are those of t with 3 degrees, one lowest sample in nine.
	dropsOfRise = 2
	// dropTimeMax: where drops take more of the time, the usual rate is unknown.
	dropTimeMax = 1.0 / 3

	periodDropsMin = 5
	// periodSignificance is the chance at which events at random times pass for periodic ones.
	periodSignificance = 0.01
	periodDraws        = 1999
	// periodIrregularityMax bounds the mean distance from a whole number of periods; at random it
	// is a quarter.
	periodIrregularityMax = 0.15
	periodDropsMax        = 200
)

// Drop is a fall from which the rate came back.
type Drop struct {
	From   float64 `json:"from_s"`
	To     float64 `json:"to_s"` // when it was back; of an open one, the end of the series
	Usual  float64 `json:"usual"`
	Lowest float64 `json:"lowest"`
	Mean   float64 `json:"mean"`
	Stall  bool    `json:"stall,omitempty"` // below a tenth of the usual rate
	Open   bool    `json:"open,omitempty"`  // the series ends in it
	// Silent is the longest time without a completed operation, seconds, from samples and
	// latencies.
	Silent float64 `json:"silent_s,omitempty"`

	from, to int     // samples of the series
	seconds  float64 // measured
}

// DropGroup sums up drops.
type DropGroup struct {
	All     []Drop  `json:"all"`
	Stalls  int     `json:"stalls"`
	Longest float64 `json:"longest_s"`        // of a stall its silent time, where that is known
	Seconds float64 `json:"seconds"`          // median length
	Left    float64 `json:"left"`             // median share of the usual rate that a drop leaves
	Share   float64 `json:"share"`            // of the time
	Period  *Period `json:"period,omitempty"` // nil: not periodic, or fewer than five
}

// Period is how regularly events come back.
type Period struct {
	Seconds  float64       `json:"seconds"`
	Interval stat.Interval `json:"interval_s"` // 95 %
	P        float64       `json:"p"`          // chance of distances this regular at random times
	Events   int           `json:"events"`
}

// shortDrops finds runs of up to 15 samples that fall below 75 % of the median around, in one of
// them by five standard deviations, and come back. A run that the series begins in counts as one if
// it is no longer than another; one that it ends in also if it is too short for a level. One or two
// that take a large part of a series are levels.
func shortDrops(v view) []Drop {
	n := v.samples()
	var drops []Drop
	longest := 0
	rise := v.highestRise()
	window := newMedianWindow(v.logs, dropReach, v.empty())
	for i, done := 0, 0; i < n; i++ {
		usual := window.at(i)
		back := usual + math.Log(dropShare)
		if v.logs[i] >= back {
			continue
		}
		if v.logs[i] >= usual-dropSigmas*v.noiseAround(i) {
			continue
		}
		from, to := i, i
		for from > done && v.logs[from-1] < back {
			from--
		}
		for to < n && v.logs[to] < back {
			to++
		}
		i, done = to-1, to
		if to-from < dropAlone && usual-slices.Min(v.logs[from:to]) < dropsOfRise*rise {
			continue
		}
		d := v.drop(from, to, math.Exp(usual))
		if to-from > dropSamplesMax || d.Stall && v.sparse || d.Open && v.slides(from) {
			continue
		}
		drops = append(drops, d)
		if from > 0 && to < n {
			longest = max(longest, to-from)
		}
	}
	drops = slices.DeleteFunc(drops, func(d Drop) bool {
		return v.at[0] == d.from && d.to-d.from > longest || d.Open && d.to-d.from > max(longest, levelSamplesMin-1)
	})
	if len(drops) < recurringMin {
		drops = slices.DeleteFunc(drops, func(d Drop) bool { return v.isLevel(d.to - d.from) })
	}
	if len(drops) == 1 && !drops[0].Stall && drops[0].to-drops[0].from < dropAlone {
		return nil
	}
	var seconds float64
	for _, d := range drops {
		if d.Lowest > 0 || v.sparse { // what is usual is known of samples in which something was done
			seconds += d.seconds
		}
	}
	if seconds > dropTimeMax*v.seconds(0, n) {
		return nil
	}
	return drops
}

// empty is the logarithm that stands for samples in which nothing was done, where these are no chance:
// they are no part of what is usual. −∞: there are none.
func (v view) empty() float64 {
	if v.sparse {
		return math.Inf(-1)
	}
	for i := range v.at {
		if v.rate(i) == 0 {
			return v.logs[i]
		}
	}
	return math.Inf(-1)
}

// noiseAround is the standard deviation of the samples around one, on its louder side.
func (v view) noiseAround(i int) float64 {
	n := v.samples()
	low, high := max(i-dropReach, 0), min(i+dropReach+1, n)
	noise, empty := 0.0, v.empty()
	for _, part := range [][]float64{v.logs[low:high], v.logs[low:max(i+1, min(low+dropReach, high))],
		v.logs[min(i, max(high-dropReach, low)):high]} {
		if busy := above(part, empty); len(busy) > 0 {
			noise = max(noise, medianDeviation(busy))
		}
	}
	return max(noise/madPerSigma, noiseFloor)
}

// above are the values above a bound; all of them, if that is −∞.
func above(values []float64, bound float64) []float64 {
	if math.IsInf(bound, -1) {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v <= bound })
}

// highestRise is how far one or two samples in a row reach above the usual rate (as a log), where
// that is more than normal noise does, and come back.
func (v view) highestRise() (highest float64) {
	window := newMedianWindow(v.logs, dropReach, v.empty())
	run := 0
	for i := range v.samples() {
		usual := window.at(i)
		if v.logs[i] <= usual-math.Log(dropShare) {
			run = 0
			continue
		}
		run++
		back := i+1 == v.samples() || v.logs[i+1] <= usual-math.Log(dropShare)
		if !back || run >= dropAlone {
			continue
		}
		if top := slices.Max(v.logs[i+1-run:i+1]) - usual; top > highest && top > riseSigmas*v.noiseAround(i) {
			highest = top
		}
	}
	return highest
}

// slides reports whether the samples from here to the end are no lower than a slope leads to: the
// median around the last samples is of those before them.
func (v view) slides(from int) bool {
	before := v.logs[max(from-noiseSamplesMin, 0):from]
	return stat.Median(v.logs[from:]) > stat.Median(before)+math.Log(dropShare)
}

// isLevel reports whether a rate that stays low for so many samples has a level of its own.
func (v view) isLevel(samples int) bool {
	n := len(v.at)
	return samples > dropSamplesMax || n > shortSamplesMax && samples > levelSamplesMin &&
		float64(samples) > loneDropMax*float64(n)
}

// drop describes samples from … to of a view.
func (v view) drop(from, to int, usual float64) Drop {
	d := Drop{From: v.begins(from), To: v.ends(to - 1), Usual: usual, Lowest: math.Inf(1), Mean: v.mean(from, to),
		Open: to == len(v.at), from: v.at[from], to: v.at[to-1] + 1, seconds: v.seconds(from, to)}
	for i := from; i < to; i++ {
		d.Lowest = min(d.Lowest, v.rate(i))
	}
	d.Stall = d.Lowest < stallShare*usual
	d.Silent = v.silent(from, to)
	return d
}

// silent is the longest time without a completed operation in samples from … to: consecutive empty
// samples, or the longest latency told in or right after them, which can't reach beyond their
// neighbours.
func (v view) silent(from, to int) float64 {
	var longest, run float64
	most := v.seconds(max(from-1, 0), min(to+1, len(v.at)))
	for i := from; i < min(to+1, len(v.at)); i++ {
		if run += v.s.length(v.at[i]); v.rate(i) > 0 {
			run = 0
		}
		longest = max(longest, run)
		if v.s.MaxSeconds != nil && v.s.MaxSeconds[v.at[i]] > 0 { // false for NaN
			longest = max(longest, min(v.s.MaxSeconds[v.at[i]], most))
		}
	}
	return longest
}

// dropEvent sums up drops of a view, in order of time.
func (v view) dropEvent(drops []Drop) Event {
	g := DropGroup{All: drops}
	var began, lasted, left []float64
	var total, lowest = 0.0, math.Inf(1)
	for _, d := range drops {
		length := d.seconds
		if d.Stall {
			if g.Stalls++; d.Silent > d.seconds || d.Lowest == 0 { // a drop is longer than its silence
				length = d.Silent
			}
		}
		g.Longest, total, lowest = max(g.Longest, length), total+d.seconds, min(lowest, d.Lowest)
		began, lasted, left = append(began, d.From), append(lasted, d.seconds), append(left, d.Mean/d.Usual)
	}
	g.Seconds, g.Left, g.Share = stat.Median(lasted), stat.Median(left), total/v.seconds(0, v.samples())
	g.Period = periodOf(began, g.Seconds+v.width)
	first, last := drops[0], drops[len(drops)-1]
	e := Event{Kind: Drops, From: first.From, To: last.To, Before: first.Usual, After: lowest, Drops: &g,
		at: first.from}
	e.Records, e.Bytes = storedAt(v.s.Records, first.from), storedAt(v.s.Bytes, first.from)
	return e
}

// medianWindow is a running median over a sorted window, of values above a bound.
type medianWindow struct {
	values   []float64
	sorted   []float64
	bound    float64
	whole    float64 // the median of all, where the window holds none
	reach    int
	from, to int // what is in the window
}

func newMedianWindow(values []float64, reach int, bound float64) *medianWindow {
	w := &medianWindow{values: values, reach: reach, bound: bound, whole: bound}
	if all := above(values, bound); len(all) > 0 && !math.IsInf(bound, -1) {
		w.whole = stat.Median(all)
	}
	return w
}

// at returns the median of the samples around i, which grows from call to call.
func (w *medianWindow) at(i int) float64 {
	for ; w.to < min(i+w.reach+1, len(w.values)); w.to++ {
		if w.values[w.to] > w.bound {
			k, _ := slices.BinarySearch(w.sorted, w.values[w.to])
			w.sorted = slices.Insert(w.sorted, k, w.values[w.to])
		}
	}
	for ; w.from < i-w.reach; w.from++ {
		if w.values[w.from] > w.bound {
			k, _ := slices.BinarySearch(w.sorted, w.values[w.from])
			w.sorted = slices.Delete(w.sorted, k, k+1)
		}
	}
	middle := len(w.sorted) / 2
	switch {
	case len(w.sorted) == 0:
		return w.whole
	case len(w.sorted)%2 == 1:
		return w.sorted[middle]
	}
	return (w.sorted[middle-1] + w.sorted[middle]) / 2
}

// periodOf finds the distance at which events at these times (seconds, increasing) come back. A
// long distance counts as several periods. P is the share of random draws, no two events nearer
// than `apart`, that are as regular (Monte Carlo test: Barnard, JRSS B 25, 1963; the seed is
// fixed). Nil: fewer than five events, or not regular.
func periodOf(times []float64, apart float64) *Period {
	times = times[:min(len(times), periodDropsMax)]
	n := len(times)
	if n < periodDropsMin {
		return nil
	}
	seen, period := irregularity(times)
	span := times[n-1] - times[0]
	for i := 1; i < n; i++ {
		apart = min(apart, times[i]-times[i-1])
	}
	if seen > periodIrregularityMax {
		return nil
	}
	random := rand.New(rand.NewPCG(1, uint64(n)))
	drawn, asRegular := make([]float64, n), 0
	// What the least distances leave is shared out at random: uniform among all ways to place
	// events.
	free := span - apart*float64(n-1)
	for range periodDraws {
		for i := 1; i < n-1; i++ {
			drawn[i] = random.Float64() * free
		}
		drawn[0], drawn[n-1] = 0, free
		slices.Sort(drawn)
		for i := range drawn {
			drawn[i] += apart * float64(i)
		}
		if score, _ := irregularity(drawn); score <= seen {
			asRegular++
		}
	}
	p := float64(1+asRegular) / float64(1+periodDraws)
	if p >= periodSignificance {
		return nil
	}
	beats := make([]float64, n)
	for i := 1; i < n; i++ {
		beats[i] = beats[i-1] + max(math.Round((times[i]-times[i-1])/period), 1)
	}
	slope, half := slopeOf(beats, times)
	return &Period{Seconds: slope, Interval: stat.Interval{Low: max(slope-half, 0), High: slope + half},
		P: p, Events: n}
}

// irregularity is the mean distance of the gaps from a whole number of median gaps, in median gaps.
func irregularity(times []float64) (score, period float64) {
	gaps := make([]float64, len(times)-1)
	for i := range gaps {
		gaps[i] = times[i+1] - times[i]
	}
	period = stat.Median(gaps)
	if period <= 0 {
		return math.Inf(1), 0
	}
	for _, gap := range gaps {
		score += math.Abs(gap/period - max(math.Round(gap/period), 1))
	}
	return score / float64(len(gaps)), period
}

// slopeOf is least squares with white residuals, and half of the slope's 95 % interval.
func slopeOf(x, y []float64) (slope, half float64) {
	mx, my := stat.Mean(x), stat.Mean(y)
	var sxx, sxy, rest float64
	for i := range x {
		sxx += (x[i] - mx) * (x[i] - mx)
		sxy += (x[i] - mx) * (y[i] - my)
	}
	slope = sxy / sxx
	for i := range x {
		d := y[i] - my - slope*(x[i]-mx)
		rest += d * d
	}
	freedom := float64(len(x) - 2)
	return slope, students(freedom).Quantile(0.975) * math.Sqrt(rest/freedom/sxx)
}
