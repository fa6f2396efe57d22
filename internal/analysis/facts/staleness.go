package facts

import (
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
)

// Staleness is how late a store that may answer with an older value was: reads of the sampled keys, over
// a row's used trials.
type Staleness struct {
	// From when an overwriting was acknowledged until a read of the older value began.
	P50NS *float64 `json:"p50_ns"`
	P99NS *float64 `json:"p99_ns"`
	MaxNS *float64 `json:"max_ns"`
	// CurrentAfterNS is how long after a write's acknowledgement at most 1 % of reads were old from then on;
	// nil: too few reads came so late, or more of them were old.
	CurrentAfterNS *float64 `json:"current_after_ns"`
	// Ages are reads by how long after the newest acknowledged write their answer came.
	Ages []history.Age `json:"ages,omitempty"`
}

// stalenessOf is nil where nothing tells it.
func stalenessOf(phases []*record.Phase) *Staleness {
	var all *history.Staleness
	for _, p := range phases {
		if p.History != nil {
			all = all.With(p.History.Staleness)
		}
	}
	if all == nil || all.LateNS == nil && len(all.Ages) == 0 {
		return nil
	}
	s := &Staleness{Ages: all.Ages}
	if all.LateNS != nil {
		quantile := func(q float64) *float64 { ns := all.LateNS.Quantile(q); return &ns }
		s.P50NS, s.P99NS, s.MaxNS = quantile(0.5), quantile(0.99), quantile(1)
	}
	if ns, known := all.CurrentAfter(); known {
		after := float64(ns)
		s.CurrentAfterNS = &after
	}
	return s
}
