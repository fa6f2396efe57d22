package series

import (
	"math"
	"slices"

	"assay/internal/analysis/stat"
)

// Series is a rate over time, with what was measured beside it. Each column that is not nil has one
// value for each sample. NaN is "not measured" everywhere, and never becomes time or zero.
type Series struct {
	Begin float64   // when the first sample began, seconds
	Ends  []float64 // when each sample ended, seconds, increasing
	Rates []float64 // per second of its sample; NaN or 0 and more

	Records []float64 // stored at each sample's end
	Bytes   []float64 // stored at each sample's end
	// MaxSeconds is the longest latency of the operations that ended in the sample. It makes the
	// length of a stall finer than a sample.
	MaxSeconds []float64
	// Interrupted samples are those in which something outside stopped the process.
	Interrupted []bool
	// Points says that the samples may be independent measurements, as a published table has them. A
	// short series is then tested under this assumption, too; see Event.P.
	Points    bool
	Resources []Resource
}

// Resource is a column beside the rate: a gauge, or a counter that only grows. Resources never
// decide which events are found.
type Resource struct {
	Name   string
	Engine bool // a counter of the store itself: listed first
	Values []float64
}

const (
	// emptyShare is the share of the median rate that stands for an empty sample: independent of
	// the unit, and pulled in as an outlier anyway.
	emptyShare = 1e-3
	// gapFactor is how many usual lengths a sample has that stands for a gap in sampling, in a
	// series of which regularShare of the samples are within half of the usual length.
	gapFactor    = 2.5
	regularShare = 0.8
	// sparseOperations is how many operations a usual sample must hold for an empty one to be a
	// stall and not chance.
	sparseOperations = 20
	// absurd is how many times the rate around a sample is alone: then its counter was read wrongly,
	// or wrapped. It counts as the rate around. More than a hundredth of the samples are no errors.
	absurd      = 20
	absurdShare = 0.01
)

// view is the part of a series that counts: samples that were measured and not interrupted.
type view struct {
	s      *Series
	at     []int           // position of each in s
	logs   []float64       // log rates; an empty sample counts as emptyShare of the median
	width  float64         // usual length of a sample, seconds
	sparse bool            // empty samples are no stalls
	absurd map[int]float64 // what counts in place of a sample that can't be, by its place in s
}

func (s *Series) begins(i int) float64 {
	if i <= 0 {
		return s.Begin
	}
	return s.Ends[i-1]
}

func (s *Series) length(i int) float64 { return s.Ends[i] - s.begins(i) }

func (s *Series) interrupted(i int) bool { return s.Interrupted != nil && s.Interrupted[i] }

// viewOf sorts the samples into those that count, gaps and interruptions.
func viewOf(s *Series) (v view, events []Event) {
	lengths := make([]float64, len(s.Ends))
	for i := range lengths {
		lengths[i] = s.length(i)
	}
	v = view{s: s, width: stat.Median(lengths)}
	usual := 0
	for _, l := range lengths {
		if math.Abs(l-v.width) <= v.width/2 {
			usual++
		}
	}
	regular := float64(usual) >= regularShare*float64(len(lengths))
	var rates []float64
	for i, rate := range s.Rates {
		kind := Kind("")
		switch {
		case s.interrupted(i):
			kind = Interruption
		case math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 || regular && lengths[i] > gapFactor*v.width:
			kind = Gap
		default:
			v.at, rates = append(v.at, i), append(rates, rate)
			continue
		}
		if last := len(events) - 1; last >= 0 && events[last].Kind == kind && events[last].To == s.begins(i) {
			events[last].To = s.Ends[i]
			continue
		}
		events = append(events, Event{Kind: kind, From: s.begins(i), To: s.Ends[i]})
	}
	v.sparse = countsFew(s, v.at)
	v.absurd = v.absurdAmong(rates)
	for i, at := range v.at {
		if instead, is := v.absurd[at]; is {
			rates[i] = instead
		}
	}
	v.logs = logsOf(rates)
	return v, events
}

// absurdAmong finds single samples that are far above all around them.
func (v view) absurdAmong(rates []float64) map[int]float64 {
	if v.sparse || len(rates) < shortSamplesMin {
		return nil
	}
	found := map[int]float64{}
	for i, rate := range rates {
		low, high := max(i-levelSamplesMin+1, 0), min(i+levelSamplesMin, len(rates))
		others := slices.Concat(rates[low:i], rates[i+1:high])
		if usual := stat.Median(others); usual > 0 && rate > absurd*slices.Max(others) {
			found[v.at[i]] = usual
		}
	}
	if len(found) > max(int(absurdShare*float64(len(rates))), 1) {
		return nil
	}
	return found
}

func logsOf(rates []float64) []float64 {
	positive := slices.DeleteFunc(slices.Clone(rates), func(r float64) bool { return r <= 0 })
	floor := max(emptyShare*stat.Median(positive), math.SmallestNonzeroFloat64)
	if len(positive) == 0 {
		floor = 1
	}
	logs := make([]float64, len(rates))
	for i, r := range rates {
		logs[i] = math.Log(max(r, floor))
	}
	return logs
}

// countsFew reports whether a usual sample holds a whole number of operations, so few that chance
// empties some: they vary at least half as much as a Poisson count.
func countsFew(s *Series, at []int) bool {
	var sum, squares, before float64
	for i, k := range at {
		count := s.Rates[k] * s.length(k)
		if math.Abs(count-math.Round(count)) > 0.01 {
			return false
		}
		if sum += count; i > 0 {
			squares += (count - before) * (count - before)
		}
		before = count
	}
	n := float64(len(at))
	return n > 1 && sum < sparseOperations*n && squares/(n-1)/2 >= sum/n/2
}

func (v view) samples() int { return len(v.at) }

func (v view) begins(i int) float64 {
	if i >= len(v.at) {
		return v.ends(len(v.at) - 1)
	}
	return v.s.begins(v.at[i])
}

func (v view) ends(i int) float64 { return v.s.Ends[v.at[i]] }

func (v view) rate(i int) float64 {
	if instead, is := v.absurd[v.at[i]]; is {
		return instead
	}
	return v.s.Rates[v.at[i]]
}

// part is the samples from … to (excluded).
func (v view) part(from, to int) view {
	v.at, v.logs = v.at[from:to], v.logs[from:to]
	return v
}

// without leaves out samples, and returns where each that is left stands in v.
func (v view) without(drops []Drop) (rest view, position []int) {
	rest = v
	rest.at, rest.logs = nil, nil
	next := 0
	for i := range v.at {
		for next < len(drops) && v.at[i] >= drops[next].to {
			next++
		}
		if next < len(drops) && v.at[i] >= drops[next].from {
			continue
		}
		rest.at, rest.logs, position = append(rest.at, v.at[i]), append(rest.logs, v.logs[i]), append(position, i)
	}
	return rest, position
}

// mean is the mean rate of samples from … to, weighted by their lengths.
func (v view) mean(from, to int) float64 {
	var done, seconds float64
	for i := from; i < to; i++ {
		length := v.s.length(v.at[i])
		done, seconds = done+v.rate(i)*length, seconds+length
	}
	return done / seconds
}

func (v view) seconds(from, to int) (sum float64) {
	for i := from; i < to; i++ {
		sum += v.s.length(v.at[i])
	}
	return sum
}

// stored returns a column's value before sample i began. Nil: not measured.
func (v view) stored(column []float64, i int) *float64 {
	if i = min(i, len(v.at)); i == len(v.at) {
		return storedAt(column, v.at[i-1]+1)
	}
	return storedAt(column, v.at[max(i, 0)])
}

// storedAt is stored for a position in the series.
func storedAt(column []float64, at int) *float64 {
	if at == 0 || column == nil || math.IsNaN(column[at-1]) {
		return nil
	}
	value := column[at-1]
	return &value
}

func (v view) rates() []float64 {
	rates := make([]float64, len(v.at))
	for i := range rates {
		rates[i] = v.rate(i)
	}
	return rates
}
