package detect

import (
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/store"
)

const (
	// linkFullShare of what a link carries is full: frames, headers and gaps take the rest.
	linkFullShare = 0.9
	// resentShare of all segments is more than a network loses that works, and fewer than resentLeast may
	// be one burst.
	resentShare = 0.01
	resentLeast = 20
	// Linux holds an acknowledgement back for 40 ms at least (TCP_DELACK_MIN) and 200 ms at most. An operation
	// that waited for one took that much longer than most.
	delayedLeastNS = 38e6
	delayedMostNS  = 52e6
	delayedTimes   = 4   // the quantile below it
	delayedShare   = 0.5 // of the operations beyond the quantile, so many acknowledgements were held back
	// A server that works for longer than that on some requests has their acknowledgements held back, too: what
	// it answers would carry them. These take any time. Of those that took half as long or more, so many must have
	// waited for just an acknowledgement.
	delayedAlike = 0.75
)

// detectNetwork names the arms of servers whose network was full, lost segments, or held acknowledgements
// back, in most trials.
func detectNetwork(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if r.Store < 0 || run.Experiment.Stores[r.Store].Description.Kind != store.Server {
			return
		}
		at, used := atOf(t, r.Arm), r.Used()
		for _, look := range []func(finding.At, *facts.Observation) (of, seen finding.Parameters){linkFull, resent,
			delayed} {
			var evidence []finding.Evidence
			var first finding.Parameters
			for _, o := range used {
				if o.Course == nil || o.Course.Network == nil || len(o.Phase.Faults) > 0 {
					continue
				}
				if of, seen := look(at, o); of != nil {
					if first == nil {
						first = of
					}
					evidence = append(evidence, seenIn(o, finding.New(seen)))
				}
			}
			if 2*len(evidence) > len(used) {
				found = append(found, placed(t, r.Arm, first, evidence...))
			}
		}
	})
	return found
}

// linkFull tells of a link that carried what it can in half of the samples or more; nil: of none.
func linkFull(at finding.At, o *facts.Observation) (of, seen finding.Parameters) {
	n := o.Course.Network
	if n.Capacity <= 0 || n.BytesPerS < linkFullShare*n.Capacity {
		return nil, nil
	}
	link := finding.SeenLinkParams{BytesPerS: n.BytesPerS, Capacity: n.Capacity}
	return finding.LinkFullParams{At: at, SeenLinkParams: link}, link
}

// resent tells of connections that sent more segments again than a network loses that works. Segments are
// those of the whole machine, so that the share is one at least.
func resent(at finding.At, o *facts.Observation) (of, seen finding.Parameters) {
	n := o.Course.Network
	if n.Segments <= 0 || n.Resent < resentLeast || n.Resent < resentShare*n.Segments {
		return nil, nil
	}
	lost := finding.SeenRetransmitsParams{Resent: n.Resent, Share: min(n.Resent/n.Segments, 1), RoundMS: n.RTTMS}
	return finding.RetransmitsParams{At: at, SeenRetransmitsParams: lost}, lost
}

// delayed tells of operations of which some took as long as an acknowledgement is held back, others much less,
// while the kernel held as many back.
func delayed(at finding.At, o *facts.Observation) (of, seen finding.Parameters) {
	n, below := o.Course.Network, 0.0
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		took := o.Latency(q)
		if took < delayedLeastNS || took > delayedMostNS {
			below = took
			continue
		}
		apart := q == 0.5 || took >= delayedTimes*below
		if !apart || n.DelayedACKsPerS < delayedShare*(1-q)*n.OperationsPerS || !waitedAlike(o.Phase) {
			return nil, nil
		}
		held := finding.SeenDelayedACKsParams{Quantile: q, LatencyNS: took, PerS: n.DelayedACKsPerS}
		return finding.DelayedACKsParams{At: at, SeenDelayedACKsParams: held}, held
	}
	return nil, nil
}

// waitedAlike reports whether slow operations took as long as an acknowledgement is held back, nearly all of
// them.
func waitedAlike(p *record.Phase) bool {
	slow, alike := uint64(0), uint64(0)
	for _, op := range p.Operations {
		times := op.Service
		if op.Response != nil {
			times = op.Response
		}
		if times == nil {
			continue
		}
		for bucket, count := range times.All() {
			ns := histogram.Middle(bucket)
			if ns < delayedLeastNS/2 {
				continue
			}
			slow += count
			if ns >= delayedLeastNS && ns <= delayedMostNS {
				alike += count
			}
		}
	}
	return float64(alike) >= delayedAlike*float64(slow)
}
