package verdict

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/counters"
	"assay/internal/histogram"
	"assay/internal/record"
)

// LatenessShareMax is how much of a percentile of open load may be dispatch lateness; where it is more, the percentile is
// refused: the harness would be shown for the store.
const LatenessShareMax = 0.1

// Quantiles are the percentiles that lateness is held against.
var Quantiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999}

// Lateness is how late the operations of open load began by the harness's own fault, up to a quantile.
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
			l.operations += op.Done()
		}
		l.maxNS = max(l.maxNS, float64(p.LatenessMaxNS))
	}
	return l, l.operations > 0
}

// At returns the lateness at a quantile in ns. It is known to a factor of 4, the width of a word: in between it is taken to
// grow by the same factor from one operation to the next. What began less than 128 ns late counts as on time.
func (l Lateness) At(quantile float64) float64 {
	var late uint64
	for _, n := range l.words {
		late += n
	}
	rank := quantile*float64(l.operations) - float64(l.operations-min(late, l.operations))
	if rank <= 0 {
		return 0
	}
	for word, n := range l.words {
		if rank > float64(n) {
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
	Why     RefusedFor `json:"refused_for,omitempty"`
}

// RefusedFor is why quantiles are refused.
type RefusedFor string

// The reasons.
const (
	RefusedLate    RefusedFor = "dispatch late"                   // more than a tenth of them is dispatch lateness
	RefusedBacklog RefusedFor = "not all begun"                   // operations that were due are in none of them: see BacklogShareMax and BacklogChangeMax
	RefusedBoth    RefusedFor = "dispatch late, or not all begun" // some for the one reason, some for the other
)

// Refuse returns the quantiles of the phases' merged latencies that are refused; none where neither lateness nor backlog was measured.
func Refuse(phases ...*record.Phase) Refusal {
	return refuse(phases, func(record.Operation) bool { return true })
}

// RefuseKind does so for one kind of operation by itself, by its name in the trace. What began late and what never began is not counted by
// kind: as the mix is drawn without looking at it, each kind is taken to have the same share.
func RefuseKind(name string, phases ...*record.Phase) Refusal {
	return refuse(phases, func(op record.Operation) bool { return op.Name == name })
}

// refuse judges the response times of some operations of whole phases.
func refuse(phases []*record.Phase, of func(record.Operation) bool) (r Refusal) {
	if slices.ContainsFunc(phases, fellBehind) {
		return Refusal{append(slices.Clone(Quantiles), 1), RefusedBacklog}
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
		case ok && l.late(q, response.Quantile(q)):
			r.add(q, RefusedLate)
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

// late says whether too much of a response time at a quantile is lateness.
func (l Lateness) late(quantile, responseNS float64) bool {
	return l.At(quantile) > LatenessShareMax*responseNS
}

// findDispatchLate says which percentiles of open load are refused, and why; where lateness was not counted by how late it
// was, its maximum alone can only warn.
func findDispatchLate(run *record.Run, s *Summary) (found []Finding) {
	eachRow(s, func(t *Table, r *Row) {
		if !t.Open || r.Latency == nil || r.Latency.Why == RefusedBacklog {
			return
		}
		var phases []*record.Phase
		for _, o := range r.used() {
			phases = append(phases, o.phase)
		}
		const remedy = "use fewer threads than the machine has processors, and keep other programs off it"
		if l, measured := LatenessOf(phases...); measured {
			if len(r.Latency.Refused) == 0 {
				return
			}
			var names, evidence []string
			for _, q := range r.Latency.Refused {
				if !l.late(q, r.Latency.at(q)) {
					continue
				}
				names = append(names, quantileName(q))
				evidence = append(evidence, fmt.Sprintf("%s: operations began up to %s late, the response time is %s", quantileName(q), duration(l.At(q)), duration(r.Latency.at(q))))
			}
			found = append(found, Finding{Code: FindDispatchLate, Severity: Warning,
				Sentence: fmt.Sprintf("%s of %s in %s refused: dispatch late. More than a tenth of it is the harness, which began operations after they were due.", list(names), r.Arm, in(run, t)),
				Evidence: evidence, Remedy: remedy, Where: at(t, r.Arm)})
			return
		}
		var evidence []string
		for _, o := range r.used() {
			if late := float64(o.phase.LatenessMaxNS); late > LatenessShareMax*r.Latency.P99 {
				evidence = append(evidence, fmt.Sprintf("%s: up to %s late, p99 is %s", o.Trial, duration(late), duration(r.Latency.P99)))
			}
		}
		if len(evidence) > 0 {
			found = append(found, Finding{Code: FindDispatchLate, Severity: Warning,
				Sentence: fmt.Sprintf("Operations of %s in %s began late by more than a tenth of p99; how many is not measured: its worker tells the largest lateness alone.", r.Arm, in(run, t)),
				Evidence: evidence, Remedy: remedy, Where: at(t, r.Arm)})
		}
	})
	return found
}

func quantileName(q float64) string { return fmt.Sprintf("p%.6g", 100*q) }

// at returns the latency at one of Quantiles, as far as it has a field; 0 otherwise.
func (l *Latency) at(q float64) float64 {
	return map[float64]float64{0.5: l.P50, 0.9: l.P90, 0.99: l.P99, 0.999: l.P999, 0.9999: l.p9999}[q]
}

// notAbove cuts the quantiles down to the exact maximum: a bucket's middle may lie above it.
func (l *Latency) notAbove(maxNS float64) {
	for _, ns := range []*float64{&l.P50, &l.P90, &l.P99, &l.P999, &l.p9999} {
		*ns = min(*ns, maxNS)
	}
}
