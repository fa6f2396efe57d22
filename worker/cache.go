package worker

import (
	"errors"
	"sync/atomic"
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// touch gives a record the TTL of its entry.
func (t *thread) touch(entry trace.Entry, index uint64) (counters.Outcome, int64, bool) {
	key := t.keys.Key(index)
	err := t.toucher.Touch(key, time.Duration(t.phase.trace.TTLs[entry.SizeClass()])*time.Millisecond)
	now := t.clock.NowNS()
	if err != nil {
		return t.notRead(trace.Touch, index, err), now, true
	}
	return counters.OK, now, false
}

// touchLiving is touch of a record whose time is followed. What it says of the record is held against that
// as a read is, where nothing else came to the record meanwhile.
func (t *thread) touchLiving(begin int64, entry trace.Entry, index uint64) (outcome counters.Outcome, now int64) {
	l := t.lives
	before := l.Of(index)
	l.Begin(index)
	outcome, now, _ = t.touch(entry, index)
	after := counters.Life{}
	if l.Alone(index, before) {
		after = before
	}
	if held := l.holdBetween(before, after, outcome, begin, now); held != outcome {
		t.note(trace.Touch, held, gone)
		outcome = held
	}
	l.wrote(trace.Touch, index, outcome, begin, now, l.ttlOf(entry))
	return outcome, now
}

// appendPart adds a part to the value of a record: a value of its own, with the append's version.
func (t *thread) appendPart(entry trace.Entry, index, sequence uint64, slot *counters.Slot) (counters.Outcome,
	int64, bool) {
	key, part := t.keys.Key(index), t.makeValue(entry, index, sequence)
	err := t.appender.Append(key, part)
	now := t.clock.NowNS()
	if err != nil {
		return t.notRead(trace.Append, index, err), now, true
	}
	slot.BytesWritten += uint64(len(key) + len(part))
	return counters.OK, now, false
}

// itsOwn is the text of an exchange that returned what it has just put.
const itsOwn = "the value that it has put came back in place of the one before"

// getAndSet puts a value, and checks the one that it replaced. Where there was none it has put one, too.
func (t *thread) getAndSet(entry trace.Entry, index, sequence uint64, slot *counters.Slot) (counters.Outcome,
	int64, bool) {
	const o = trace.GetAndSet
	key, value := t.keys.Key(index), t.makeValue(entry, index, sequence)
	old, err := t.getSetter.GetAndSet(key, value, t.buffer[:0])
	now := t.clock.NowNS()
	if len(old) > cap(t.buffer) {
		t.buffer = make([]byte, 0, len(old))
	}
	if t.watching {
		t.observe(old, index, err)
	}
	written := uint64(len(key) + len(value))
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			slot.BytesWritten += written
		}
		return t.notRead(o, index, err), now, true
	}
	problem := t.checked(old, index)
	if version, claimed := keyval.VersionOf(old); problem == "" && t.verify && claimed && version == t.version(sequence) {
		problem = itsOwn
	}
	if problem != "" {
		return t.wrong(o, problem, slot), now, true
	}
	slot.BytesRead += uint64(len(old))
	slot.BytesWritten += written
	return counters.OK, now, t.verify || t.watching
}

// valuePart is a part of a value: what was put, or what an append added.
type valuePart struct {
	writer   uint64 // phase and thread, as in versions
	sequence uint64
	number   uint32 // of an append in its thread, from 1 on; 0: it was put
}

// partMissing is the text of a value without one of its parts.
const partMissing = "a part that was appended is not there"

// checkParts says why a value that came back for an index is none that was put there and then appended to,
// or "", and the version of its last part. Each part proves that it is one of this index. Together they show what is
// missing: the parts of a thread are numbered from the moment at which it put the value.
func (t *thread) checkParts(value []byte, index uint64) (last uint64, problem string) {
	t.parts = t.parts[:0]
	for len(value) > 0 {
		length := keyval.FirstBytes(value)
		if length == 0 {
			return 0, t.whyNoPart(value, index)
		}
		version, right := t.pool.Check(value[:length], index)
		if !right {
			return 0, t.whyNoPart(value[:length], index)
		}
		if problem := t.addPart(version, index, length); problem != "" {
			return 0, problem
		}
		last, value = version, value[length:]
	}
	if len(t.parts) == 0 {
		return 0, t.whyWrong(value, index)
	}
	if t.phase.lastWrites.lacks(t.parts, index) {
		return 0, partMissing
	}
	return last, ""
}

// whyNoPart says what is wrong with the bytes at which a part is to begin.
func (t *thread) whyNoPart(value []byte, index uint64) string {
	if len(t.parts) == 0 || t.isOtherTrial(value, index) {
		return t.whyWrong(value, index)
	}
	return "behind a value of the record stands something that was not appended to it"
}

// addPart adds the next part of a value, and says why it can't stand there, or "".
func (t *thread) addPart(version, index uint64, length int) string {
	first := len(t.parts) == 0
	if version == 0 {
		if !first {
			return "a value of the record stands behind another one"
		}
		t.parts = append(t.parts, valuePart{})
		return t.checkVersion(version, index, length)
	}
	number, thread, sequence := keyval.SplitVersion(version)
	writer, prepared := t.session.phases[number]
	if !prepared || !writer.trace.WrotePart(thread, sequence, index, length) {
		return "a value with a right checksum that no operation of this trial wrote"
	}
	entry, _ := writer.trace.Threads[thread].EntryAt(sequence)
	part := valuePart{writer: version &^ keyval.SequenceMax, sequence: sequence}
	if entry.Operation() == trace.Append {
		part.number = writer.trace.PartOf(entry)
	}
	switch {
	case first && part.number > 0 && !t.session.hosted.description.AppendMakes:
		return "what a part was appended to is not there"
	case !first && part.number == 0:
		return "a value of the record stands behind another one"
	}
	problem := t.follows(part, writer, thread)
	t.parts = append(t.parts, part)
	return problem
}

// follows says why a part can't be the next of its thread.
func (t *thread) follows(part valuePart, writer *phase, thread int) string {
	for i := len(t.parts) - 1; i >= 0; i-- {
		before := t.parts[i]
		switch {
		case before.writer != part.writer:
			continue
		case part.sequence <= before.sequence:
			return "a part came twice, or before one that was appended earlier"
		case part.number != before.number+1 && !writer.failedWrites(thread):
			return partMissing
		}
		return ""
	}
	return "" // what another thread appended may be of before the value was put
}

// failedWrites says if a thread's writes may have been left out: some did not end ok. Where an append shows, all
// before it have been counted.
func (p *phase) failedWrites(thread int) bool {
	for slot, o := range p.trace.Operations {
		if !o.Changes() {
			continue
		}
		counted := p.counters.Slot(thread, slot)
		for outcome := range counted.Outcomes {
			fine := false
			switch counters.Outcome(outcome) {
			case counters.OK:
				fine = true
			case counters.Miss:
				fine = o.Deletes() || o == trace.GetAndSet || o == trace.ReadOrFill
			case counters.Conflict:
				fine = o.Conditional()
			}
			if !fine && atomic.LoadUint64(&counted.Outcomes[outcome]) > 0 {
				return true
			}
		}
	}
	return false
}
