package report

import (
	"slices"

	"assay/internal/histogram"
	"assay/internal/record"
	"assay/internal/verdict"
)

// quantiles are the ones that are shown; 1 is the exact maximum.
var quantiles = []float64{0.5, 0.9, 0.99, 0.999, 0.9999, 1}

// Latencies are the percentiles of some operations, and why some of them are missing.
type Latencies struct {
	Latency    []Point   `json:"latency"`                       // p50, p90, p99, p99.9, p99.99, max; of all used trials together
	Refused    []float64 `json:"latency_refused,omitempty"`     // quantiles that must not be shown and are not in Latency
	RefusedFor string    `json:"latency_refused_for,omitempty"` // verdict.RefusedFor
	TooFew     []float64 `json:"latency_too_few,omitempty"`     // quantiles that less than one operation lies above: each would be the maximum under another name
}

// Point is one quantile of a latency distribution. Quantile 1 is the maximum.
type Point struct {
	Quantile float64 `json:"q"`
	NS       float64 `json:"ns"`
}

// refusedText stands where a quantile is refused.
func (l Latencies) refusedText() string { return "refused: " + l.RefusedFor }

// refusedDoubt says which of the percentiles of some operations ("" for all) are refused, and why.
func (l Latencies) refusedDoubt(of string) string {
	return percentileNames(l.Refused) + of + " refused: " + map[verdict.RefusedFor]string{
		verdict.RefusedLate:    "dispatch late (more than a tenth of each would be the harness's)",
		verdict.RefusedBacklog: "not all begun (operations that were due are in none of them, and may have waited longer)",
		verdict.RefusedBoth:    "dispatch late (more than a tenth would be the harness's), or not all begun (operations that were due are in none of them, and may have waited longer)",
	}[verdict.RefusedFor(l.RefusedFor)]
}

// Refuses says if the latency at a quantile must not be shown.
func (l Latencies) Refuses(quantile float64) bool { return slices.Contains(l.Refused, quantile) }

// At returns the latency in ns at a quantile; nil: not known.
func (l Latencies) At(quantile float64) *float64 {
	for _, p := range l.Latency {
		if p.Quantile == quantile {
			return &p.NS
		}
	}
	return nil
}

// latenciesOf merges the operations of phases: response times where there are any (open load), otherwise service times. What is refused of them
// is found in whole phases, of which these may be a part: see verdict.RefuseKind.
func latenciesOf(refusal verdict.Refusal, phases ...*record.Phase) Latencies {
	l := Latencies{Refused: refusal.Refused, RefusedFor: string(refusal.Why)}
	merged := histogram.New()
	var longest uint64
	for _, p := range phases {
		for _, op := range p.Operations {
			switch {
			case op.Response != nil:
				merged.Add(op.Response)
			case op.Service != nil:
				merged.Add(op.Service)
				longest = max(longest, op.MaxNS)
			}
		}
	}
	if merged.Count() == 0 {
		return l
	}
	for _, q := range quantiles {
		if slices.Contains(l.Refused, q) {
			continue
		}
		if tooFew(merged.Count(), q) {
			l.TooFew = append(l.TooFew, q)
			continue
		}
		point := Point{q, merged.Quantile(q)}
		// A bucket's middle may lie above the exact maximum, and the maximum above its bucket's middle.
		if longest > 0 && (q == 1 || point.NS > float64(longest)) {
			point.NS = float64(longest)
		}
		l.Latency = append(l.Latency, point)
	}
	return l
}

// tooFew says if less than one of n operations lies above a quantile. The maximum is one whatever n is.
func tooFew(n uint64, quantile float64) bool {
	const rounding = 1e-9 // 10,000 × (1 − 0.9999) is a little less than 1 in binary
	return quantile < 1 && float64(n)*(1-quantile) < 1-rounding
}
