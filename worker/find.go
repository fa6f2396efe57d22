package worker

import (
	"sync/atomic"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// findState is the recorded scan, query or count that is under way: section 3.5 of
// docs/worker-contract.md. What an operation finds beside others that write can only be judged by what
// they had done by then: so it is recorded with how far each thread was before it and after it.
type findState struct {
	active bool // there is one
	heads  []*counters.Thread
	before []uint64
	find   counters.Find
	found  []uint64            // of a scan: the indexes of the records that came
	items  uint64              // that the operation gave or counted, where it was ok
	rows   []counters.Recorded // room for what is appended to the history
}

func (s *findState) init(t *thread) {
	if t.phase.trace.Flags&trace.FlagFinds == 0 {
		return
	}
	most := 0
	for _, e := range t.part.Entries {
		switch {
		case !e.IsRecorded():
		case e.Operation() == trace.Scan:
			most = max(most, int(t.amounts[e.SizeClass()]))
		case e.Operation() == trace.Query:
			most = max(most, t.session.queries[t.amounts[e.SizeClass()]].Query.Limit)
		}
	}
	threads := len(t.phase.trace.Threads)
	for i := range threads {
		s.heads = append(s.heads, t.phase.counters.Thread(i))
	}
	s.before, s.find.After = make([]uint64, threads), make([]uint64, threads)
	s.found, s.rows = make([]uint64, 0, most+1), make([]counters.Recorded, 0, trace.FindRows(threads, most+1))
}

// begin notes how far the threads are, if what the marked operation finds in this lap is recorded.
func (s *findState) begin(o trace.Operation, lap uint64) bool {
	if !o.Finds() || !trace.RecordsFind(lap) {
		return false
	}
	for i, head := range s.heads {
		s.before[i] = atomic.LoadUint64(&head.Acknowledged)
	}
	s.active, s.found, s.items = true, s.found[:0], 0
	return true
}

// add notes a record that a scan gave.
func (s *findState) add(index uint64, claimed bool) {
	if !claimed {
		index = counters.FoundUnknown
	}
	s.found = append(s.found, index)
}

// rememberFind records what a marked operation found, if it is to be in this lap.
func (t *thread) rememberFind(begin, end, sequence uint64, o trace.Operation, outcome counters.Outcome) {
	s := &t.finding
	if !s.active {
		return
	}
	s.active = false
	f := &s.find
	f.Recorded, f.Before, f.Found = counters.MakeRecorded(begin, end, sequence, outcome, s.items), s.before, nil
	for i, head := range s.heads {
		f.After[i] = atomic.LoadUint64(&head.Attempted)
	}
	switch {
	case outcome != counters.OK:
	case o == trace.Scan:
		f.Found = s.found
	case o == trace.Query:
		f.Found = t.found.indexes
	}
	s.rows = counters.AppendFind(s.rows[:0], f)
	n := t.history.Count
	if n+uint64(len(s.rows)) > uint64(len(t.recorded)) || t.history.Dropped > 0 {
		t.history.Dropped++
		return
	}
	copy(t.recorded[n:], s.rows)
	atomic.StoreUint64(&t.history.Count, n+uint64(len(s.rows))) // last: see append
}
