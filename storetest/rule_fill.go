package storetest

import (
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// fillRule reads keys that are there and keys that are not, twice each: what was missing is put by the
// first read, and found by the second with the version of the fill; what was there is left as it is.
func fillRule(b *bench) error {
	if !b.description.Fills {
		return skip("the worker does not claim to fill what a read misses")
	}
	if err := b.openFor(opening{}); err != nil {
		return err
	}
	if b.description.Kind == store.None {
		return skip("%s keeps nothing", b.description.Name)
	}
	if b.target.Handles == handlesAsync {
		return skip("asynchronous handles fill nothing")
	}
	const n = 20
	s := b.script(1)
	base := b.base(s.keys)
	for i := range uint64(n) {
		if i%2 == 0 {
			s.do(0, trace.Insert, base+i, 100)
		}
	}
	for range 2 {
		for i := range uint64(n) {
			s.do(0, trace.ReadOrFill, base+i, 60)
		}
	}
	s.recordAll()
	r, err := b.run(s)
	if err != nil {
		return err
	}
	total := r.total(trace.ReadOrFill)
	if total.Outcomes[counters.OK] != 3*n/2 || total.Outcomes[counters.Miss] != n/2 || total.Operations() != 2*n {
		b.fault("reads that fill: expected %d ok and %d misses, counted %s", 3*n/2, n/2, r.outcomes(trace.ReadOrFill))
	}
	var keys, filled uint64
	first := len(s.threads[0].Entries) - 2*n
	m := model{}
	for position, e := range s.threads[0].Entries {
		sequence := uint64(position)
		switch {
		case e.Operation() == trace.Insert:
			m[e.Index()] = held{version: r.version(0, sequence), length: int(s.amountOf(e.SizeClass()))}
		case position < first+n && (e.Index()-base)%2 == 1:
			m[e.Index()] = held{version: r.version(0, sequence), length: int(s.amountOf(e.SizeClass()))}
			keys, filled = keys+uint64(len(s.keys.Append(nil, e.Index()))), filled+uint64(s.amountOf(e.SizeClass()))
		}
	}
	if total.BytesWritten != keys+filled {
		b.fault("fills of %d bytes, keys and values, counted %d", keys+filled, total.BytesWritten)
	}
	for _, record := range r.history[0] {
		e, _ := r.file.Threads[0].EntryAt(record.Sequence())
		if e.Operation() != trace.ReadOrFill {
			continue
		}
		if missed := record.Outcome() == counters.Miss; missed != (record.Read == counters.ObservedMiss) {
			b.fault("a read that fills ended as %s, and is recorded to have read %s", record.Outcome(), observedText(record.Read))
		}
	}
	return b.holds(m, s, "after fills")
}
