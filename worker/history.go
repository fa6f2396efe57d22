package worker

import (
	"sync/atomic"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// remember records an operation on a recorded key, or the recorded members of a batch: section 3.5
// of docs/worker-contract.md. Once a thread's area is full it records nothing more: a history with
// holes would accuse a store of what is not in it.
func (t *thread) remember(beginNS, endNS int64, sequence uint64, position int, outcome counters.Outcome) {
	t.watching = t.observed != nil
	begin, end := uint64(beginNS-t.startNS), uint64(max(endNS, beginNS)-t.startNS)
	entry := t.part.Entries[position]
	if entry.Operation().Finds() {
		t.rememberFind(begin, end, sequence, entry.Operation(), outcome)
		return
	}
	switch entry.Operation() {
	case trace.Batch:
	case trace.MultiRead:
		t.rememberMany(begin, end, sequence, entry, position)
		return
	default:
		t.append(counters.MakeRecorded(begin, end, sequence, outcome, t.saw))
		return
	}
	for i, member := range t.part.Entries[position+1:][:t.amounts[entry.SizeClass()]] {
		if member.IsRecorded() {
			t.append(counters.MakeRecorded(begin, end, sequence+1+uint64(i), outcome, counters.ObservedNotRead))
		}
	}
}

func (t *thread) append(r counters.Recorded) {
	n := t.history.Count
	if n == uint64(len(t.recorded)) || t.history.Dropped > 0 {
		t.history.Dropped++
		return
	}
	t.recorded[n] = r
	atomic.StoreUint64(&t.history.Count, n+1) // last: a reader that sees the count sees the record
}
