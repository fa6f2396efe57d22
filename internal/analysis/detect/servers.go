package detect

import (
	"math"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// Of several servers, one has clearly another part of the operations than its weight where it got
// a quarter more or less. Ketama places 160 points for a server, so that its own error is about 8 %;
// below operationsLeast chance alone gives more.
const (
	shareTolerance  = 0.25
	operationsLeast = 1000
)

// detectServerShares names, of the arms that spread their keys over several servers, those whose
// servers did not get what their weights say, by the servers' own counts. Trials are not added up:
// each has other keys, and so another server with the most popular one.
func detectServerShares(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		var evidence []finding.Evidence
		var worst finding.SeenShareParams
		furthest := shareTolerance
		for _, o := range r.Used() {
			seen, away := furthestServer(o)
			if away <= shareTolerance {
				continue
			}
			evidence = append(evidence, seenIn(o, finding.New(seen)))
			if away > furthest {
				worst, furthest = seen, away
			}
		}
		if len(evidence) > 0 {
			found = append(found, placed(t, r.Arm, finding.ServerShareParams{At: atOf(t, r.Arm),
				SeenShareParams: worst}, evidence...))
		}
	})
	return found
}

// furthestServer returns the server whose part of a phase's operations is furthest from its weight,
// and how far: 0.5 where it got a half more or less.
func furthestServer(o *facts.Observation) (seen finding.SeenShareParams, away float64) {
	done, weights := o.ServerOperations()
	total, weight := sumOf(done), sumOf(weights)
	if total < operationsLeast || weight == 0 {
		return seen, 0
	}
	for i := range done {
		share, expected := done[i]/total, weights[i]/weight
		if off := math.Abs(share/expected - 1); off > away {
			away = off
			seen = finding.SeenShareParams{Server: i + 1, Servers: len(done), Share: share,
				Expected: expected, Operations: total}
		}
	}
	return seen, away
}

func sumOf(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}
