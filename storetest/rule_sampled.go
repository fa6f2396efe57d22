package storetest

import (
	"time"

	"assay/internal/base/histogram"
	"assay/internal/experiment/trace"
)

// sampledRule holds what is timed against what is to be timed, in several laps and up to a deadline;
// [bench.audit] does the counting.
func sampledRule(b *bench) error {
	if !b.description.LatencySampled {
		return skip("the worker does not claim to time one operation in so many")
	}
	if b.target.Handles == handlesAsync {
		return skip("asynchronous handles look at the clock for each operation")
	}
	threads := b.threads(2)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	s := b.script(threads)
	b.mixed(s, b.many(30))
	s.timedEvery = 7
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allDone(r, "one operation in 7 timed")
	m := model{}
	m.remember(r)
	if err := b.holds(m, s, "with one operation in 7 timed"); err != nil {
		return err
	}
	const deadline = 60 * time.Millisecond
	s = b.script(threads)
	s.endless, s.deadline, s.timedEvery, s.clock = true, deadline, 3, "auto"
	base := b.base(s.keys)
	for thread := range threads {
		for i := range uint64(5) {
			s.do(thread, trace.Upsert, base+uint64(thread)*10+i, 50)
			s.do(thread, trace.Read, base+uint64(thread)*10+i, 0)
		}
	}
	if r, err = b.run(s); err != nil {
		return err
	}
	if took := time.Duration(r.elapsedNS); took < deadline {
		b.fault("the phase ended after %v, before its deadline of %v", took, deadline)
	}
	for _, t := range r.sample.Totals {
		if n := t.Service.Count(); n > 0 &&
			t.Service.Quantile(1) > histogram.Middle(histogram.Bucket(uint64(r.elapsedNS))) {
			b.fault("%s: one of %d times is %.0f ns, and the phase took %d ns", t.Operation, n, t.Service.Quantile(1), r.elapsedNS)
		}
	}
	return b.close()
}
