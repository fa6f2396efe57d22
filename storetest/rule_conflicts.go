package storetest

import (
	"fmt"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// beside is a store in which threads write neighbouring records, each its own: what one refuses can
// be told from what it does, since a phase writes each record once and everything is read back
// after it.
type beside struct {
	*bench
	threads int
	records int // of each thread
	base    uint64
	model   model
}

// besideRecords is how many records a thread has: enough for a B-tree's pages to split several
// times.
const besideRecords = 60

func (s *beside) index(thread, i int) uint64 {
	return s.base + uint64(i*s.threads+thread)
}

// phase runs a script that writes each record at most once, and reads all back.
func (s *beside) phase(what string, writes func(script *script, thread int)) error {
	script := s.script(s.threads)
	for thread := range s.threads {
		writes(script, thread)
	}
	r, err := s.run(script)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.allDone(r, what)
	done := uint64(0)
	for _, t := range r.sample.Totals {
		done += t.Outcomes[counters.OK]
	}
	if n := r.refused(); n > 0 && done == 0 {
		s.fault("%s: all %d ended in conflict: one of those that are in each other's way must be done", what, n)
	}
	s.model.remember(r)
	return s.holds(s.model, script, what)
}

// there says if a record is there for certain.
func (s *beside) there(index uint64) bool { return s.model[index] != absent }

func writeConflictsRule(b *bench) error {
	threads := b.threads(4)
	if err := b.openFor(opening{threads: threads}); err != nil {
		return err
	}
	s := &beside{bench: b, threads: threads, records: b.rare(besideRecords), base: b.base(b.keys()), model: model{}}
	err := s.phase("inserts beside each other", func(script *script, thread int) {
		for i := range s.records {
			script.do(thread, trace.Insert, s.index(thread, i), 24+300*(i%5))
		}
	})
	if err != nil {
		return err
	}
	err = s.phase("overwrites beside each other", func(script *script, thread int) {
		for i := range s.records {
			o := trace.Update
			if i%2 == 1 && s.there(s.index(thread, i)) {
				o = trace.ReadModifyWrite
			}
			script.do(thread, o, s.index(thread, i), 1300-300*(i%5))
		}
	})
	if err != nil {
		return err
	}
	if b.description.BatchAtomic && b.description.BatchMax != 1 {
		err = s.phase("batches beside each other", func(script *script, thread int) {
			for i := 0; i+1 < s.records; i += 2 {
				script.batch(thread, write{trace.Upsert, s.index(thread, i), 100}, write{trace.Upsert,
					s.index(thread, i+1), 700})
			}
		})
		if err != nil {
			return err
		}
	}
	err = s.phase("deletes beside each other", func(script *script, thread int) {
		for i := range s.records {
			if index := s.index(thread, i); i%3 != 0 && s.there(index) {
				script.do(thread, trace.Delete, index, 0)
			}
		}
	})
	if err != nil {
		return err
	}
	return b.close()
}
