package imitation

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// Imitation is an experiment that is like a recording.
type Imitation struct {
	Order    string   `json:"order"`
	Theta    float64  `json:"theta,omitempty"`
	Reads    float64  `json:"reads"` // shares of operations
	Writes   float64  `json:"writes"`
	Deletes  float64  `json:"deletes,omitempty"`
	Sizes    []Length `json:"values,omitempty"`
	KeyBytes int      `json:"key_bytes,omitempty"`
	Steps    []Step   `json:"rate"` // one: it stays

	recording.Distances
	HitRates []recording.HitRate `json:"hit_rates"`
	Looked   uint64              `json:"looked_at"` // requests of the recording that it is held against, from its begin on
}

// Length is one of values, and its weight.
type Length struct {
	Bytes  int     `json:"bytes"`
	Weight float64 `json:"weight"`
}

// Step is a rate for a time.
type Step struct {
	Rate    float64 `json:"rate"`
	Seconds float64 `json:"seconds"`
}

// Bounds of an imitation: what a person still reads.
const (
	lengthsMax = 20
	stepsMax   = 30
	// unevenMin is the variation of the rate, its standard deviation over its mean, above which the
	// imitation has steps.
	unevenMin = 0.2
	thetaMin  = 0.05 // below it keys are nearly equally likely
)

// imitate makes an experiment of what a profile says, and holds it against the first requests.
func (p *Profile) imitate(looked *recording.Shape) (i Imitation, err error) {
	i.Looked = looked.Requests
	i.Order, i.Theta = trace.Zipfian, p.Keys.Theta
	if p.Keys.Theta < thetaMin {
		i.Order, i.Theta = trace.Uniform, 0
	}
	for o := recording.Get; o <= recording.Delete; o++ {
		share := float64(p.Summary.Operations[o.String()]) / float64(p.Summary.Requests)
		switch o.Played() {
		case recording.Get:
			i.Reads += share
		case recording.Delete:
			i.Deletes += share
		default:
			i.Writes += share
		}
	}
	i.Sizes = fewLengths(p.Summary.Sizes, p.Summary.SizeKeys)
	i.KeyBytes = int(math.Round(p.Summary.KeyBytesMean))
	i.Steps = stepsOf(&p.Summary, p.Rate)
	file, err := trace.Generate(i.spec(p))
	if err != nil {
		return i, fmt.Errorf("imitating the recording: %w", err)
	}
	made, t := recording.NewShape(float64(p.Summary.Keys), 1, true), &file.Threads[0]
	for n := range min(uint64(len(t.Entries)), i.Looked) {
		e := t.Entries[n]
		o := recording.Get
		switch e.Operation() {
		case trace.Upsert:
			o = recording.Set
		case trace.Delete:
			o = recording.Delete
		}
		made.AddTime(int64(t.Due[n]))
		made.Add(o, e.Index(), int64(file.Amounts[e.SizeClass()]))
	}
	i.Distances, i.HitRates = recording.Compare(looked, made.Done())
	return i, nil
}

// spec is what the experiment's phase comes to, of one thread.
func (i *Imitation) spec(p *Profile) trace.Spec {
	s := trace.Spec{Records: p.Summary.Keys, Fresh: p.Summary.Keys, Order: trace.Order{Distribution: i.Order,
		Theta: i.Theta}, Threads: 1, Seed: 1,
		Limit: i.Looked, ThreadEntries: int(i.Looked) + 2, Rate: p.Rate, Arrivals: trace.Poisson}
	for _, share := range i.mix() {
		s.Mix = append(s.Mix, trace.Share{Operation: share.operation, Weight: share.weight})
	}
	for _, l := range i.Sizes {
		s.Sizes = append(s.Sizes, trace.Size{Bytes: l.Bytes, Weight: l.Weight})
	}
	if len(s.Sizes) == 0 {
		s.Sizes = []trace.Size{{Bytes: usualBytes, Weight: 1}}
	}
	if len(i.Steps) > 1 {
		for _, step := range i.Steps {
			s.Segments = append(s.Segments, trace.Segment{Form: trace.FormStep, To: step.Rate,
				Duration: seconds(step.Seconds)})
		}
	}
	return s
}

const usualBytes = 100

type weighed struct {
	operation trace.Operation
	weight    float64
}

// mix are the operations in percent, rounded as a person would.
func (i *Imitation) mix() (all []weighed) {
	for _, part := range []weighed{{trace.Read, i.Reads}, {trace.Upsert, i.Writes}, {trace.Delete, i.Deletes}} {
		if part.weight > 0 {
			all = append(all, weighed{part.operation, math.Max(math.Round(part.weight*1e4)/100, 0.01)})
		}
	}
	return all
}

// fewLengths joins neighbours until few are left. Each is the mean of those that it stands for.
func fewLengths(bytes []int, keys []uint64) (all []Length) {
	for k, n := range keys {
		if n > 0 {
			all = append(all, Length{bytes[k], float64(n)})
		}
	}
	for len(all) > lengthsMax {
		best, least := 0, math.Inf(1)
		for k := range len(all) - 1 {
			cost := min(all[k].Weight, all[k+1].Weight) * math.Log(float64(all[k+1].Bytes+1)/float64(all[k].Bytes+1))
			if cost < least {
				best, least = k, cost
			}
		}
		a, b := all[best], all[best+1]
		weight := a.Weight + b.Weight
		all[best] = Length{int(math.Round((float64(a.Bytes)*a.Weight + float64(b.Bytes)*b.Weight) / weight)), weight}
		all = slices.Delete(all, best+1, best+2)
	}
	return all
}

// stepsOf parts an uneven rate into few steps.
func stepsOf(sum *recording.Summary, mean float64) []Step {
	one := []Step{{mean, float64(sum.DurationNS) / 1e9}}
	n := len(sum.Counts)
	if n < 2*stepsMax {
		return one
	}
	var steps []Step
	variance, width := 0.0, float64(sum.IntervalNS)/1e9
	for k := range stepsMax {
		from, to := n*k/stepsMax, n*(k+1)/stepsMax
		total := uint64(0)
		for _, c := range sum.Counts[from:to] {
			total += c
		}
		end := float64(to) * width
		if k == stepsMax-1 {
			end = float64(sum.DurationNS) / 1e9
		}
		length := end - float64(from)*width
		if length <= 0 {
			return one
		}
		rate := float64(total) / length
		steps = append(steps, Step{rate, length})
		variance += (rate - mean) * (rate - mean) / stepsMax
	}
	if math.Sqrt(variance) < unevenMin*mean {
		return one
	}
	return steps
}

// Experiment writes the imitation as a file, for stores with names.
func (p *Profile) Experiment(stores []string) string {
	i := &p.Imitation
	var b strings.Builder
	line := func(text string, args ...any) { fmt.Fprintf(&b, text+"\n", args...) }
	line("# Imitates %s: %s requests for %s keys in %s.", filepath.Base(p.File), format.Count(p.Summary.Requests), format.Count(p.Summary.Keys),
		format.Seconds(float64(p.Summary.DurationNS)/1e9))
	line("# How far it is off, by the first %s requests: shares of operations differ by %s, written lengths by %s,", format.Count(i.Looked),
		format.Percent(i.Mix), format.Percent(i.Distances.Sizes))
	line("# gaps by %s, hit rates of LRU caches by at most %s points. Playing the recording itself: replay: %s", format.Percent(i.Gaps),
		format.Tenths(100*i.Hits), p.File)
	line("name: imitation")
	line("about: How fast do stores answer traffic like that of %s?", strings.Map(plainChar, filepath.Base(p.File)))
	line("stores: [%s]", strings.Join(stores, ", "))
	line("records: %d", p.Summary.Keys)
	if i.KeyBytes >= 6 {
		line("# Keys of a text protocol: keys: {format: decimal, digits: %d}", min(max(i.KeyBytes, 9), 20))
		line("keys: {bytes: %d}", i.KeyBytes)
	}
	if len(i.Sizes) > 0 {
		line("values:\n  sizes:")
		for _, l := range i.Sizes {
			line("    - {bytes: %d, weight: %v}", l.Bytes, l.Weight)
		}
	}
	line("phases:\n  - {name: load, load: true, batch: 1000}\n  - name: imitation")
	var mix []string
	for _, share := range i.mix() {
		mix = append(mix, fmt.Sprintf("%s: %v", share.operation, share.weight))
	}
	line("    mix: {%s}", strings.Join(mix, ", "))
	if i.Order == trace.Zipfian {
		line("    order: {distribution: zipfian, theta: %v}", i.Theta)
	} else {
		line("    order: %s", i.Order)
	}
	if len(i.Steps) == 1 {
		line("    rate: %.1f\n    for: %s", i.Steps[0].Rate, max(seconds(i.Steps[0].Seconds), 1e6).Round(1e6))
		return b.String()
	}
	line("    rate:")
	for _, step := range i.Steps {
		line("      - {at: %.1f, for: %s}", step.Rate, max(seconds(step.Seconds), 1e6).Round(1e6))
	}
	return b.String()
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

// plainChar leaves out what YAML would read as something else.
func plainChar(r rune) rune {
	if r == ':' || r == '#' || r < ' ' {
		return '_'
	}
	return r
}
