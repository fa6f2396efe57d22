package worker

import (
	"bytes"
	"slices"

	"assay/internal/counters"
	"assay/internal/keyval"
	"assay/internal/trace"
)

// queryState is what a query has seen so far. visit is made once, so that a query allocates
// nothing.
type queryState struct {
	column, limit int
	wanted        []byte // the bytes that the column must have
	seen, bytes   int
	indexes       []uint64 // of the records that came
	problem       string
	visit         func(key, record []byte) bool
}

func (s *queryState) init(t *thread) {
	keys := keyval.NewKeyMaker(t.phase.request.Keys)
	s.visit = func(key, record []byte) bool {
		if t.verify && s.problem == "" {
			s.problem = t.checkFound(keys, key, record)
		}
		s.bytes += len(record)
		s.seen++
		return s.seen < s.limit
	}
}

// ask makes ready for a query or count by the column, and the bytes in it, that the entry names.
func (s *queryState) ask(t *thread, entry trace.Entry, index uint64) {
	s.column, s.limit = trace.SplitQueryAmount(t.amounts[entry.SizeClass()])
	s.wanted = t.record.AppendColumn(s.wanted[:0], s.column, index)
	s.seen, s.bytes, s.indexes, s.problem = 0, 0, s.indexes[:0], ""
}

func (t *thread) checkFound(keys *keyval.KeyMaker, key, record []byte) string {
	if t.sample != nil { // the null driver finds a record of its own making
		t.record.Check(t.pool, t.sample, 0, t.scratch)
		return ""
	}
	s := &t.found
	index, ok := t.record.Index(record)
	if !ok || !bytes.Equal(key, keys.Key(index)) {
		return "a query found a record that is not its key's"
	}
	s.indexes = append(s.indexes, index)
	if value, _ := t.record.Column(record, s.column); !bytes.Equal(value, s.wanted) {
		return "a query found a record that it did not ask for"
	}
	return t.check(record, index)
}

// query finds records by a column. They are checked as they come, inside the clock: they are gone
// afterwards.
func (t *thread) query(entry trace.Entry, index uint64, slot *counters.Slot) (counters.Outcome, int64, bool) {
	s := &t.found
	s.ask(t, entry, index)
	err := t.querier.Query(s.column, s.wanted, s.limit, s.visit)
	now := t.clock.NowNS()
	if err != nil {
		return t.failed(trace.Query, err), now, true
	}
	slices.Sort(s.indexes)
	switch {
	case s.problem != "":
	case s.seen > s.limit:
		s.problem = "a query went on after it was told to stop"
	case len(slices.Compact(s.indexes)) < len(s.indexes):
		s.problem = "a query found a record twice"
	case s.seen == 0:
		return t.foundNothing(trace.Query, index), now, true
	}
	if s.problem != "" {
		return t.wrong(trace.Query, s.problem, slot), now, true
	}
	slot.Items += uint64(s.seen)
	slot.BytesRead += uint64(s.bytes)
	return counters.OK, now, true
}

func (t *thread) count(entry trace.Entry, index uint64, slot *counters.Slot) (counters.Outcome, int64, bool) {
	t.found.ask(t, entry, index)
	records, err := t.counter.Count(t.found.column, t.found.wanted)
	now := t.clock.NowNS()
	if err != nil {
		return t.failed(trace.Count, err), now, true
	}
	if records == 0 {
		return t.foundNothing(trace.Count, index), now, true
	}
	slot.Items += records
	return counters.OK, now, false
}

// foundNothing tells a miss that was to be expected from a lost record.
func (t *thread) foundNothing(o trace.Operation, index uint64) counters.Outcome {
	if index >= t.phase.request.MustHitBelow {
		return counters.Miss
	}
	t.note(o, counters.Lost, "nothing was found where a stored record must be")
	return counters.Lost
}
