package worker

import (
	"bytes"
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// queryState is what a query has seen so far. visit is made once, so that a query allocates
// nothing.
type queryState struct {
	shape       *keyval.QueryShape
	asked       keyval.Asked
	samples     [][]byte // of the null driver, by query: what a store would give of a record
	sample      []byte   // nil: this is a store
	seen, bytes int
	indexes     []uint64 // of the records that came
	last, sum   uint64   // numbers in the sort column
	problem     string
	visit       func(key, record []byte) bool
}

func (s *queryState) init(t *thread) {
	keys := keyval.NewKeyMaker(t.phase.request.Keys)
	for _, shape := range t.session.queries {
		if t.sample != nil {
			s.samples = append(s.samples, shape.Project(nil, t.sample))
		}
	}
	s.visit = func(key, record []byte) bool {
		if t.verify && s.problem == "" {
			s.problem = t.checkFound(keys, key, record)
		}
		s.bytes += len(record)
		s.seen++
		return s.seen < s.shape.Query.Limit
	}
}

// ask makes ready for a query or count that the entry names, with the values of an index.
func (s *queryState) ask(t *thread, entry trace.Entry, index uint64) (query int) {
	query = int(t.amounts[entry.SizeClass()])
	s.shape = t.session.queries[query]
	s.shape.Ask(&s.asked, index)
	s.seen, s.bytes, s.indexes, s.sum, s.problem = 0, 0, s.indexes[:0], 0, ""
	if s.samples != nil {
		s.sample = s.samples[query]
	}
	return query
}

func (t *thread) checkFound(keys *keyval.KeyMaker, key, record []byte) string {
	s := &t.found
	if s.sample != nil { // the null driver finds a record of its own making
		s.shape.Check(t.pool, s.sample, 0, t.scratch)
		return ""
	}
	index, ok := s.shape.Index(record)
	if !ok || !bytes.Equal(key, keys.Key(index)) {
		return "a query found a record that is not its key's"
	}
	if !s.shape.Holds(&s.asked, index) {
		return "a query found a record that it did not ask for"
	}
	if s.shape.Query.Sort >= 0 {
		number := s.shape.SortNumber(index)
		if len(s.indexes) > 0 && number != s.last && number < s.last != s.shape.Query.Descending {
			return "records that a query found are not in its order"
		}
		s.last, s.sum = number, s.sum+number
	}
	s.indexes = append(s.indexes, index)
	version, right := s.shape.Check(t.pool, record, index, t.scratch)
	if !right {
		return t.whyWrongFound(record, index)
	}
	if !s.shape.Proves() {
		return ""
	}
	return t.checkVersion(version, index, trace.AnyLength)
}

func (t *thread) whyWrongFound(record []byte, index uint64) string {
	if t.found.shape.OtherTrial(t.pool, record, index) {
		return otherTrial
	}
	return "a query found columns that are not the record's"
}

// query finds records. They are checked as they come, inside the clock: they are gone afterwards.
func (t *thread) query(entry trace.Entry, index uint64, slot *counters.Slot) (counters.Outcome, int64, bool) {
	s := &t.found
	query := s.ask(t, entry, index)
	err := t.querier.Query(query, s.asked.Values, s.visit)
	now := t.clock.NowNS()
	if err != nil {
		return t.failed(trace.Query, err), now, true
	}
	slices.Sort(s.indexes)
	switch {
	case s.problem != "":
	case s.seen > s.shape.Query.Limit:
		s.problem = "a query went on after it was told to stop"
	case len(slices.Compact(s.indexes)) < len(s.indexes):
		s.problem = "a query found a record twice"
	case s.seen == 0:
		return t.foundNothing(trace.Query, index), now, true
	}
	if s.problem != "" {
		return t.wrong(trace.Query, s.problem, slot), now, true
	}
	t.finding.items = uint64(s.seen)
	slot.Items += uint64(s.seen)
	slot.BytesRead += uint64(s.bytes)
	slot.SortSum += s.sum
	return counters.OK, now, true
}

func (t *thread) count(entry trace.Entry, index uint64, slot *counters.Slot) (counters.Outcome, int64, bool) {
	records, err := t.counter.Count(t.found.ask(t, entry, index), t.found.asked.Values)
	now := t.clock.NowNS()
	if err != nil {
		return t.failed(trace.Count, err), now, true
	}
	if records == 0 {
		return t.foundNothing(trace.Count, index), now, true
	}
	t.finding.items = records
	slot.Items += records
	return counters.OK, now, false
}

// deleteQuery deletes what a query finds. That there is nothing to delete is a miss, whatever was
// stored: another may have deleted it.
func (t *thread) deleteQuery(entry trace.Entry, index uint64, slot *counters.Slot) (counters.Outcome, int64, bool) {
	records, err := t.deleter.DeleteQuery(t.found.ask(t, entry, index), t.found.asked.Values)
	now := t.clock.NowNS()
	if err != nil {
		return t.failed(trace.DeleteQuery, err), now, true
	}
	if records == 0 {
		return counters.Miss, now, false
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
