package facts

import (
	"math"
	"slices"

	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
)

// shownQuantiles are the ones that a result has; 1 is the exact maximum.
var shownQuantiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 1}

// BucketWidth is the relative width of a histogram's bucket: what a percentile can tell.
const BucketWidth = 1.0 / 128

// LatenciesOf merges the operations of phases: response times where there are any (open load),
// otherwise service times. What is refused is found in whole phases, of which these may be a part.
func LatenciesOf(refusal Refusal, phases ...*record.Phase) Latencies {
	l := Latencies{Refused: refusal.Refused, Why: refusal.Why}
	merged := histogram.New()
	var longest uint64
	for _, p := range phases {
		l.OneIn = max(l.OneIn, p.TimedEvery)
		judged := p.Confirmed()
		if judged != nil {
			merged.Add(judged)
			l.FromDue = true
		}
		for _, op := range p.Operations {
			switch {
			case judged != nil:
			case op.Response != nil:
				merged.Add(op.Response)
				l.FromDue = true
			case op.Service != nil:
				merged.Add(op.Service)
				longest = max(longest, op.MaxNS)
			}
		}
	}
	if l.FromDue {
		longest = 0 // of service times; the maximum of response times is that of the histogram
	}
	merged.Pack() // it is read a dozen times
	n := merged.Count()
	if n == 0 {
		return l
	}
	for _, q := range shownQuantiles {
		switch {
		case slices.Contains(l.Refused, q):
			if slices.Contains(refusal.Late, q) && !tooFewFor(n, q) {
				l.AtMost = append(l.AtMost, Point{Quantile: q, NS: merged.Quantile(q)})
			}
		case tooFewFor(n, q):
			l.TooFew = append(l.TooFew, q)
		default:
			point := Point{Quantile: q, NS: merged.Quantile(q)}
			// A bucket's middle may lie above the exact maximum, and the maximum above it.
			if longest > 0 && (q == 1 || point.NS > float64(longest)) {
				point.NS = float64(longest)
			}
			l.Points = append(l.Points, point)
		}
	}
	if len(l.Refused) == 0 && n >= spreadOperationsMin {
		l.Spread = spreadOf(merged, n)
	}
	return l
}

// How fine a distribution is drawn: bins to each doubling, from so many operations on.
const (
	binsOfDoubling      = 8
	spreadOperationsMin = 1000
)

// spreadOf joins a histogram's buckets, without the empty ones at both ends, to bins of equal width on a scale
// of decades.
func spreadOf(h *histogram.Histogram, n uint64) (bins []Bin) {
	first := 0
	for bucket, count := range h.All() {
		at := int(math.Floor(binsOfDoubling * math.Log2(max(histogram.Middle(bucket), 1))))
		if bins == nil {
			first = at
		}
		for len(bins) <= at-first {
			bins = append(bins, Bin{NS: math.Exp2(float64(first+len(bins)+1) / binsOfDoubling)})
		}
		bins[at-first].Share += float64(count) / float64(n)
	}
	return bins
}

// tooFewFor reports whether less than one of n operations lies above a quantile: it would be the
// maximum.
func tooFewFor(n uint64, quantile float64) bool {
	const rounding = 1e-9 // 10,000 × (1 − 0.9999) is a little less than 1 in binary
	return quantile < 1 && float64(n)*(1-quantile) < 1-rounding
}

// kindsOf takes the kinds of operations of phases apart, in the order in which they were recorded.
func kindsOf(phases []*record.Phase) (kinds []Kind) {
	var names []string
	for _, p := range phases {
		for _, op := range p.Operations {
			if op.Done() > 0 && !slices.Contains(names, op.Name) {
				names = append(names, op.Name)
			}
		}
	}
	for _, name := range names {
		k := Kind{Operation: name}
		var alone []*record.Phase
		var items, absent, calls uint64
		for _, p := range phases {
			of := *p
			of.Operations, of.Attempted, of.Unfinished = nil, 0, 0
			for _, op := range p.Operations {
				if op.Name == name {
					of.Operations = append(of.Operations, op)
					of.Attempted += op.Done()
					k.Done += op.Done()
					items, absent, calls = items+op.Items, absent+op.Absent, calls+op.Calls
				}
			}
			AddOutcomes(&k.Outcomes, &of)
			alone = append(alone, &of)
		}
		if items > 0 {
			each := float64(items) / float64(k.Done)
			k.Items = &each
		}
		if calls > 0 {
			each := float64(calls) / float64(k.Done)
			k.Absent, k.Calls = &absent, &each
		}
		k.Latencies = LatenciesOf(RefuseKind(name, phases...), alone...)
		kinds = append(kinds, k)
	}
	return kinds
}

// stepsOf returns phases with the steps of their requests in place of these. A step is due when its
// request is: its service time says more than its response time.
func stepsOf(phases []*record.Phase) (steps []*record.Phase) {
	for _, p := range phases {
		if len(p.Steps) == 0 {
			continue
		}
		of := *p
		of.Operations, of.Steps, of.Late, of.Open = slices.Clone(p.Steps), nil, nil, false
		for i := range of.Operations {
			of.Operations[i].Response = nil
		}
		steps = append(steps, &of)
	}
	return steps
}

// AddOutcomes adds the outcomes of a phase.
func AddOutcomes(o *Outcomes, p *record.Phase) {
	o.Attempted += p.Attempted
	o.Unfinished += p.Unfinished
	for _, op := range p.Operations {
		o.OK += op.OK
		o.Miss += op.Miss
		o.Conflict += op.Conflict
		if p.Forgets() {
			o.Miss += op.Lost // a cache's evictions
		} else {
			o.Lost += op.Lost
		}
		o.Wrong += op.Wrong
		o.Errors += op.Errors
		o.Timeout += op.Timeout
	}
}

// Latency returns the latency of the trial at a quantile; NaN: refused, of too few operations, or
// not measured.
func (o *Observation) Latency(q float64) float64 { return at(o.allLatencies(), q) }

// LatencyAtMost is Latency, or what it is at most where it holds too much of the harness's delay; NaN: not
// known either.
func (o *Observation) LatencyAtMost(q float64) float64 {
	if ns := o.allLatencies().AtMostAt(q); ns != nil {
		return *ns
	}
	return o.Latency(q)
}

func (o *Observation) allLatencies() *Latencies {
	if o.latencies == nil {
		all := LatenciesOf(Refuse(o.Phase), o.Phase)
		o.latencies = &all
	}
	return o.latencies
}

// at returns the latency at a quantile; NaN: there is none.
func at(l *Latencies, q float64) float64 {
	if l != nil {
		if ns := l.At(q); ns != nil {
			return *ns
		}
	}
	return math.NaN()
}
