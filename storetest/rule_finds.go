package storetest

import (
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/finds"
	"assay/internal/experiment/trace"
	"assay/store"
)

// findsRule records scans beside inserts of the same thread and of another, and judges what they gave
// as a run does.
func findsRule(b *bench) error {
	threads := b.threads(2)
	switch d := b.description; {
	case !d.FindsRecorded:
		return skip("the worker does not claim to record what scans found")
	case !d.Abilities.Scan:
		return skip("%s has no scans", d.Name)
	case d.Kind == store.None:
		return skip("%s keeps nothing", d.Name)
	case d.Kind == store.Server:
		return skip("other keys would lie between those of this rule")
	}
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	const records, longest = 60, 40
	s := b.script(threads)
	base := b.base(s.keys)
	for i := range uint64(records) {
		s.do(0, trace.Insert, base+2*i, 100)
		s.do(0, trace.Scan, base+2*(i/2), longest)
		for thread := 1; thread < threads; thread++ {
			s.do(thread, trace.Insert, base+2*i+1, 100)
		}
	}
	for p, e := range s.threads[0].Entries {
		if e.Operation() == trace.Scan {
			s.threads[0].Entries[p] = e.Record()
		}
	}
	s.flags |= trace.FlagHistory | trace.FlagFinds
	r, err := b.run(s)
	if err != nil {
		return err
	}
	b.allDone(r, "scans beside inserts")
	b.auditFinds(r, records)
	none := &audit.Indexes{}
	known := finds.Known{Keys: s.keys, Before: audit.Presence{Certain: none}, Doubt: make([]uint32, threads)}
	for thread, outcomes := range r.outcomesOf {
		if outcomes[trace.Insert][counters.OK] < uint64(records) {
			known.Doubt[thread] = 1 << trace.Insert
		}
	}
	judged := finds.Check(r.file, func(thread int) []counters.Recorded { return r.history[thread] },
		r.sample.Attempted, known)
	if judged != nil && judged.Missing > 0 {
		b.fault("scans beside inserts: %d of %d left out %d records of %d whose inserts were acknowledged before they began",
			judged.MissingIn, judged.Finds, judged.Missing, judged.Owed)
	}
	return nil
}

// auditFinds holds the recorded scans of the first thread against the trace: which they are, how far
// the thread itself was, and how many records they gave.
func (b *bench) auditFinds(r *ran, expected int) {
	_, found := counters.CutFinds(r.file, 0, r.history[0])
	if len(found) != expected || r.dropped[0] != 0 {
		b.fault("finds: thread 0 has %d recorded scans and dropped %d, its trace has %d", len(found), r.dropped[0], expected)
		return
	}
	items := uint64(0)
	for i, f := range found {
		if sequence := uint64(2*i + 1); f.Sequence() != sequence || f.Before[0] != sequence ||
			f.After[0] != sequence+1 {
			b.fault("finds: scan %d is of entry %d, from %d entries on to %d, expected %d, %d and %d",
				i, f.Sequence(), f.Before[0], f.After[0], sequence, sequence, sequence+1)
			return
		}
		if f.Outcome() != counters.OK {
			continue
		}
		if items += f.Read; uint64(len(f.Found)) != f.Read {
			b.fault("finds: scan %d has %d indexes and gave %d records", i, len(f.Found), f.Read)
		}
	}
	if counted := r.total(trace.Scan).Items; counted != items {
		b.fault("finds: scans are recorded to have given %d records, and counted %d", items, counted)
	}
}
