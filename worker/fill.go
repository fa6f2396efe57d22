package worker

import (
	"errors"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// readOrFill reads and, where nothing is there, waits for as long as what is behind a cache would take,
// and puts a value. It began at a moment, which is asked for where values may have a TTL.
func (t *thread) readOrFill(begin int64, entry trace.Entry, index, sequence uint64, slot *counters.Slot) (
	outcome counters.Outcome, now int64, looked bool) {
	const o = trace.ReadOrFill
	var before counters.Life
	if t.lives != nil {
		before = t.lives.Of(index)
	}
	value, err := t.get(index)
	now = t.clock.NowNS()
	if t.watching {
		t.observe(value, index, err)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		outcome = t.notRead(o, index, err)
	case err != nil:
		return t.failed(o, err), now, true
	default:
		if problem := t.checked(value, index); problem != "" {
			outcome = t.wrong(o, problem, slot)
		} else {
			slot.BytesRead += uint64(len(value))
		}
	}
	if t.lives != nil {
		outcome = t.lives.judge(t, index, before, outcome, begin, now)
	}
	if err == nil {
		return outcome, now, true
	}
	if bytes, failed := t.fill(entry, index, sequence); failed != nil {
		outcome = t.failed(o, failed)
	} else {
		slot.BytesWritten += uint64(bytes)
	}
	return outcome, t.clock.NowNS(), true
}

// fill puts the value of an entry once the wait is over. It waits to its end, however soon the phase
// ends.
func (t *thread) fill(entry trace.Entry, index, sequence uint64) (bytes int, err error) {
	if wait := t.phase.trace.Backends[entry.SizeClass()]; wait > 0 {
		time.Sleep(time.Duration(wait) * time.Microsecond)
	}
	key, value := t.keys.Key(index), t.makeValue(entry, index, sequence)
	bytes = len(key) + len(value)
	if t.lives == nil {
		return bytes, t.Put(key, value)
	}
	ttl := t.lives.ttlOf(entry)
	t.lives.Begin(index)
	begin := t.clock.NowNS()
	if ttl > 0 {
		err = t.expirer.PutFor(key, value, time.Duration(ttl)*time.Millisecond)
	} else {
		err = t.Put(key, value)
	}
	t.lives.wrote(trace.Upsert, index, outcomeOf(err), begin, t.clock.NowNS(), ttl)
	return bytes, err
}

// outcomeOf is how a put ended.
func outcomeOf(err error) counters.Outcome {
	switch {
	case err == nil:
		return counters.OK
	case errors.Is(err, store.ErrConflict):
		return counters.Conflict
	}
	return counters.Error
}
