package worker

import (
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// modify updates the columns of a record that follow the version, and leaves the others. It looks
// for a record, and makes none.
func (t *thread) modify(index, sequence uint64, slot *counters.Slot) (outcome counters.Outcome, now int64,
	looked bool) {
	key := t.keys.Key(index)
	t.value = t.record.AppendFollowing(t.value[:0], t.modified, t.pool, index, t.version(sequence))
	err := t.modifier.Modify(key, t.record.Following(), t.modified)
	now = t.clock.NowNS()
	if err != nil {
		return t.notRead(trace.Modify, index, err), now, true
	}
	slot.BytesWritten += uint64(len(key) + len(t.value))
	return counters.OK, now, false
}

// increment adds 1 to the counter of a record, in the store's own step.
func (t *thread) increment(index uint64, slot *counters.Slot) (outcome counters.Outcome, now int64, looked bool) {
	key := t.keys.Key(index)
	err := t.incrementer.Increment(key, t.record.Counter(), 1)
	now = t.clock.NowNS()
	if err != nil {
		return t.notRead(trace.Increment, index, err), now, true
	}
	slot.BytesWritten += uint64(len(key))
	return counters.OK, now, false
}
