package storetest

import (
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
)

// thinkRule has a thread pause before its operations.
func thinkRule(b *bench) error {
	if !b.description.Pauses {
		return skip("the worker does not pause between operations")
	}
	if b.target.Handles == control.HandlesAsync {
		return skip("asynchronous handles do not pause: their operations overlap")
	}
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	const n, pause = 20, 15 * time.Millisecond
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(n) {
		s.do(0, trace.Upsert, base+i, 100)
	}
	s.flags |= trace.FlagPauses
	s.threads[0].Pauses = make([]uint64, n)
	for i := range s.threads[0].Pauses {
		s.threads[0].Pauses[i] = uint64(pause) * uint64(i%2*2) // every second one, twice as long
	}
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allOK(r, "writing with pauses")
	if took := time.Duration(r.elapsedNS); took < n*pause {
		b.fault("%d operations with pauses of %v in all ended after %v", n, n*pause, took)
	}
	total := r.total(trace.Upsert)
	if served := total.Service.Mean() * n; total.Outcomes[counters.OK] == n &&
		served > float64(r.elapsedNS)-float64(n*pause)*0.9 {
		b.fault("%d operations have service times of %v in all, in a phase of %v with pauses of %v", n,
			time.Duration(served), time.Duration(r.elapsedNS), n*pause)
	}
	return nil
}
