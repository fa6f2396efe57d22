package worker

import (
	"errors"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// operate does one operation and reads the clock as soon as the store has answered. looked says
// that the thread did more after that than counting, so that the next operation must not begin at
// now.
//
// The three puts (insert, update, upsert) differ in the counts only.
func (t *thread) operate(entry trace.Entry, index, sequence uint64, position int, lap uint64, slot *counters.Slot) (
	outcome counters.Outcome, now int64, looked bool) {
	switch o := entry.Operation(); o {
	case trace.Read:
		return t.read(index, position, slot)
	case trace.Insert, trace.Update, trace.Upsert:
		key, value := t.keys.Key(index), t.makeValue(entry, index, sequence)
		err := t.Put(key, value)
		now = t.clock.NowNS()
		return t.wrote(o, err, slot, len(key)+len(value)), now, err != nil
	case trace.Delete:
		key := t.keys.Key(index)
		err := t.Handle.Delete(key)
		now = t.clock.NowNS()
		return t.wrote(o, err, slot, len(key)), now, err != nil
	case trace.Scan:
		return t.scanFrom(entry, index, slot)
	case trace.Batch:
		return t.applyBatch(entry, sequence, position, lap, slot)
	case trace.ReadOrFill:
		return t.readOrFill(0, entry, index, sequence, slot)
	case trace.MultiRead:
		return t.multiRead(entry, position, lap, slot)
	case trace.Touch:
		return t.touch(entry, index)
	case trace.Append:
		return t.appendPart(entry, index, sequence, slot)
	case trace.GetAndSet:
		return t.getAndSet(entry, index, sequence, slot)
	case trace.ReadModifyWrite:
		return t.readModifyWrite(entry, index, sequence, slot)
	case trace.CompareAndSwap:
		return t.compareAndSwap(entry, index, sequence, slot)
	case trace.Query:
		return t.query(entry, index, slot)
	case trace.Count:
		return t.count(entry, index, slot)
	case trace.Modify:
		return t.modify(index, sequence, slot)
	case trace.DeleteQuery:
		return t.deleteQuery(entry, index, slot)
	case trace.Increment:
		return t.increment(index, slot)
	case trace.Add:
		key, value := t.keys.Key(index), t.makeValue(entry, index, sequence)
		err := t.adder.Add(key, value)
		now = t.clock.NowNS()
		return t.wrote(o, err, slot, len(key)+len(value)), now, err != nil
	}
	panic("worker: an operation that trace.Decode lets pass is not done: " + entry.Operation().String())
}

// makeValue makes the value that the entry at a sequence number writes. It is valid until the next
// call.
func (t *thread) makeValue(entry trace.Entry, index, sequence uint64) []byte {
	if t.record != nil {
		t.value = t.record.Append(t.value[:0], t.pool, index, t.version(sequence))
		return t.value
	}
	value := t.value[:t.amounts[entry.SizeClass()]]
	t.pool.Put(value, index, t.version(sequence))
	return value
}

func (t *thread) version(sequence uint64) uint64 {
	if t.zeroVersions {
		return 0
	}
	return t.versions | sequence
}

// wrote counts the bytes of a write and returns its outcome.
func (t *thread) wrote(o trace.Operation, err error, slot *counters.Slot, bytes int) counters.Outcome {
	if err != nil {
		return t.failed(o, err)
	}
	slot.BytesWritten += uint64(bytes)
	return counters.OK
}

// failed returns the outcome of an operation that returned an error, and keeps the message.
func (t *thread) failed(o trace.Operation, err error) counters.Outcome {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return counters.Miss
	case errors.Is(err, store.ErrConflict):
		return counters.Conflict
	case errors.Is(err, store.ErrTimeout):
		t.note(o, counters.Timeout, err.Error())
		return counters.Timeout
	}
	t.note(o, counters.Error, err.Error())
	return counters.Error
}

func (t *thread) note(o trace.Operation, outcome counters.Outcome, text string) {
	t.phase.counters.CountMessage(t.number, o, outcome, text)
}

// get reads one value. The buffer grows to the longest value that came back.
func (t *thread) get(index uint64) (value []byte, err error) {
	value, err = t.Get(t.keys.Key(index), t.buffer[:0])
	if cap(value) > cap(t.buffer) && len(value) > cap(t.buffer) {
		t.buffer = make([]byte, 0, len(value))
	}
	return value, err
}

// read is get, the clock and [thread.gotten], which is written out here: the call would cost 2 ns.
func (t *thread) read(index uint64, position int, slot *counters.Slot) (counters.Outcome, int64, bool) {
	value, err := t.get(index)
	now := t.clock.NowNS()
	if t.watching {
		t.observe(value, index, err)
		if t.observed != nil {
			t.keepObserved(value, position, slot)
		}
	}
	if err != nil {
		return t.notRead(trace.Read, index, err), now, true
	}
	if problem := t.checked(value, index); problem != "" {
		return t.wrong(trace.Read, problem, slot), now, true
	}
	slot.BytesRead += uint64(len(value))
	return counters.OK, now, t.verify || t.watching
}

// gotten returns the outcome of a read that a lane has got.
func (t *thread) gotten(value []byte, err error, index uint64, position int, slot *counters.Slot) (
	outcome counters.Outcome, looked bool) {
	if t.watching {
		t.observe(value, index, err)
		if t.observed != nil {
			t.keepObserved(value, position, slot)
		}
	}
	if err != nil {
		return t.notRead(trace.Read, index, err), true
	}
	if problem := t.checked(value, index); problem != "" {
		return t.wrong(trace.Read, problem, slot), true
	}
	slot.BytesRead += uint64(len(value))
	return counters.OK, t.verify || t.watching
}

// wrong counts a value that was not written there, and returns that outcome.
func (t *thread) wrong(o trace.Operation, problem string, slot *counters.Slot) counters.Outcome {
	t.note(o, counters.Wrong, problem)
	if problem == otherTrial {
		slot.Foreign++
	}
	return counters.Wrong
}

// notThere is the text of a lost record.
const notThere = "a record that was stored is not there"

// notRead tells a miss that was to be expected from a lost value.
func (t *thread) notRead(o trace.Operation, index uint64, err error) counters.Outcome {
	outcome := t.failed(o, err)
	if outcome == counters.Miss && index < t.phase.request.MustHitBelow {
		t.note(o, counters.Lost, notThere)
		return counters.Lost
	}
	return outcome
}

func (t *thread) readModifyWrite(entry trace.Entry, index, sequence uint64, slot *counters.Slot) (counters.Outcome,
	int64, bool) {
	const o = trace.ReadModifyWrite
	value, err := t.get(index)
	if t.watching {
		t.observe(value, index, err)
	}
	if err != nil {
		now := t.clock.NowNS()
		return t.notRead(o, index, err), now, true
	}
	problem := t.checked(value, index)
	key, next := t.keys.Key(index), t.makeValue(entry, index, sequence)
	readBytes := len(value)
	err = t.Put(key, next)
	now := t.clock.NowNS()
	outcome, looked := t.replaced(o, problem, readBytes, err, slot, len(key)+len(next))
	return outcome, now, looked
}

// replaced returns the outcome of an operation that read a value, with a problem or without, and
// then wrote.
func (t *thread) replaced(o trace.Operation, problem string, readBytes int, err error, slot *counters.Slot,
	bytes int) (outcome counters.Outcome, looked bool) {
	if problem != "" {
		return t.wrong(o, problem, slot), true
	}
	if err == nil {
		slot.BytesRead += uint64(readBytes)
	}
	return t.wrote(o, err, slot, bytes), err != nil
}

func (t *thread) compareAndSwap(entry trace.Entry, index, sequence uint64, slot *counters.Slot) (counters.Outcome,
	int64, bool) {
	const o = trace.CompareAndSwap
	value, err := t.get(index)
	if t.watching {
		t.observe(value, index, err)
	}
	if err != nil {
		now := t.clock.NowNS()
		return t.notRead(o, index, err), now, true
	}
	problem := t.checked(value, index)
	t.old = append(t.old[:0], value...) // value may stand in the handle's memory, which its next call may change
	key, next := t.keys.Key(index), t.makeValue(entry, index, sequence)
	err = t.swapper.CompareAndSwap(key, t.old, next)
	now := t.clock.NowNS()
	outcome, looked := t.replaced(o, problem, len(t.old), err, slot, len(key)+len(next))
	return outcome, now, looked
}

func (t *thread) applyBatch(entry trace.Entry, sequence uint64, position int, lap uint64,
	slot *counters.Slot) (counters.Outcome, int64, bool) {
	t.makeBatch(entry, sequence, position, lap)
	err := t.batcher.Apply(t.writes)
	now := t.clock.NowNS()
	return t.applied(err, slot, len(t.writes), len(t.arena)), now, err != nil
}

// applied returns the outcome of a batch.
func (t *thread) applied(err error, slot *counters.Slot, members, bytes int) counters.Outcome {
	if err == nil {
		slot.Items += uint64(members)
	}
	return t.wrote(trace.Batch, err, slot, bytes)
}

// makeBatch makes the writes of the batch at an entry. They are valid until the next call.
func (t *thread) makeBatch(entry trace.Entry, sequence uint64, position int, lap uint64) {
	members := t.part.Entries[position+1 : position+1+int(t.amounts[entry.SizeClass()])]
	t.writes, t.arena = t.writes[:0], t.arena[:0]
	for i, member := range members {
		index := member.EffectiveIndex(lap, t.part.Stride)
		start := len(t.arena)
		t.arena = t.phase.request.Keys.Append(t.arena, index)
		key := t.arena[start:len(t.arena):len(t.arena)]
		if member.Operation() == trace.Delete {
			t.writes = append(t.writes, store.Write{Key: key, Delete: true})
			continue
		}
		start = len(t.arena)
		version := t.version(sequence + 1 + uint64(i))
		if t.record != nil {
			t.arena = t.record.Append(t.arena, t.pool, index, version)
		} else {
			t.arena = t.arena[:start+int(t.amounts[member.SizeClass()])]
			t.pool.Put(t.arena[start:], index, version)
		}
		t.writes = append(t.writes, store.Write{Key: key, Value: t.arena[start:len(t.arena):len(t.arena)]})
	}
}
