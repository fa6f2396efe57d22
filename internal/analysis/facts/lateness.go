package facts

import (
	"math"
	"slices"

	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
)

// LatenessShareMax is how much of a percentile of open load may be dispatch lateness; where it is
// more, the percentile is refused: the harness would be shown for the store.
const LatenessShareMax = 0.1

// Quantiles are the percentiles that lateness is held against.
var Quantiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999}

// Lateness is how late the operations of open load began by the harness's own fault, up to a
// quantile.
type Lateness struct {
	words      [counters.LatenessWords]uint64
	operations uint64
	maxNS      float64
}

// LatenessOf adds up phases. ok is false where one of them was not measured, or is no open load.
func LatenessOf(phases ...*record.Phase) (l Lateness, ok bool) {
	for _, p := range phases {
		if len(p.Late) != counters.LatenessWords {
			return Lateness{}, false
		}
		for word, n := range p.Late {
			l.words[word] += n
		}
		for _, op := range p.Operations {
			if p.Capacity != nil { // whose latencies and lateness are those of one step
				l.operations += op.Response.Count()
				continue
			}
			l.operations += op.Done()
		}
		l.maxNS = max(l.maxNS, float64(p.LatenessMaxNS))
	}
	return l, l.operations > 0
}

// At returns the lateness at a quantile in ns. It is known to a factor of 2, the width of a word:
// in between it is taken to grow by the same factor from one operation to the next. What began less
// than 128 ns late counts as on time.
func (l Lateness) At(quantile float64) float64 {
	var late uint64
	for _, n := range l.words {
		late += n
	}
	rank := quantile*float64(l.operations) - float64(l.operations-min(late, l.operations))
	hair := 1e-12 * float64(l.operations) // rounding takes a rank for none of the next word, which may be far
	if rank <= hair {
		return 0
	}
	for word, n := range l.words {
		if rank > float64(n)+hair {
			rank -= float64(n)
			continue
		}
		low, high := float64(counters.LatenessFromNS(word)), float64(counters.LatenessFromNS(word+1))
		if word == counters.LatenessWords-1 || high > l.maxNS {
			high = l.maxNS // the last word has no end of its own
		}
		return low * math.Pow(max(high, low)/low, rank/float64(n))
	}
	return l.maxNS
}

// Refusal is what must not be shown of the latencies of open load.
type Refusal struct {
	Refused []float64  `json:"refused,omitempty"` // quantiles; 1 is the maximum
	Late    []float64  `json:"-"`                 // those of them that hold too much lateness, and are whole otherwise
	Why     RefusedFor `json:"refused_for,omitempty"`
}

// Refuse returns the quantiles of the phases' merged latencies that are refused; none where neither
// lateness nor backlog was measured.
func Refuse(phases ...*record.Phase) Refusal {
	return refuse(phases, func(record.Operation) bool { return true })
}

// RefuseKind does so for one kind of operation by itself, by its name in the trace. What began late
// and what never began is not counted by kind: as the mix is drawn without looking at it, each kind
// is taken to have the same share.
func RefuseKind(name string, phases ...*record.Phase) Refusal {
	return refuse(phases, func(op record.Operation) bool { return op.Name == name })
}

// refuse judges the response times of some operations of whole phases.
func refuse(phases []*record.Phase, of func(record.Operation) bool) (r Refusal) {
	if slices.ContainsFunc(phases, FellBehind) {
		return Refusal{Refused: append(slices.Clone(Quantiles), 1), Why: RefusedBacklog}
	}
	left := notBegun(phases...)
	l, ok := LatenessOf(phases...)
	response := histogram.New()
	for _, p := range phases {
		for _, op := range p.Operations {
			if op.Response != nil && of(op) {
				response.Add(op.Response)
			}
		}
	}
	if response.Count() == 0 {
		return r
	}
	for _, q := range Quantiles {
		switch {
		case hangsOnBacklog(response, q, left):
			r.add(q, RefusedBacklog)
		case ok && l.Late(q, response.Quantile(q)):
			r.add(q, RefusedLate)
			r.Late = append(r.Late, q)
		}
	}
	return r
}

func (r *Refusal) add(quantile float64, why RefusedFor) {
	r.Refused = append(r.Refused, quantile)
	if r.Why != "" && r.Why != why {
		why = RefusedBoth
	}
	r.Why = why
}

// Late says whether too much of a response time at a quantile is lateness.
func (l Lateness) Late(quantile, responseNS float64) bool {
	return l.At(quantile) > LatenessShareMax*responseNS
}

// ResponseAt returns the response time of all operations at a quantile, refused or not, in ns.
func ResponseAt(phases []*record.Phase, q float64) float64 {
	response := histogram.New()
	for _, p := range phases {
		for _, op := range p.Operations {
			if op.Response != nil {
				response.Add(op.Response)
			}
		}
	}
	return response.Quantile(q)
}
