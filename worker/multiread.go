package worker

import (
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// multiState is what multi-reads use. Its lists have room for the longest one; indexes, values, lives and
// what follows are those of the call that was made last.
type multiState struct {
	arena    []byte // keys
	keys     [][]byte
	values   [][]byte
	buffer   []byte // what is got; grows to the longest answer
	indexes  []uint64
	lives    []counters.Life // before the call
	outcomes []counters.Outcome
	saw      []uint64 // what a read of each gave, where the call is recorded
}

// bufferBytesMax bounds what is made ready for an answer that no call may give.
const bufferBytesMax = 1 << 20

func (m *multiState) init(t *thread) {
	if !t.phase.trace.MayHave(trace.MultiRead) {
		return
	}
	most := 0
	for _, e := range t.part.Entries {
		if e.Operation() == trace.MultiRead {
			most = max(most, int(t.amounts[e.SizeClass()]))
		}
	}
	if most == 0 {
		return
	}
	m.arena = make([]byte, 0, most*t.phase.request.Keys.BytesMax())
	m.keys, m.values = make([][]byte, 0, most), make([][]byte, most)
	m.buffer = make([]byte, 0, min(most*cap(t.buffer), bufferBytesMax))
	m.indexes, m.lives = make([]uint64, 0, most), make([]counters.Life, most)
	m.outcomes, m.saw = make([]counters.Outcome, most), make([]uint64, most)
}

// multiRead reads the members of the entry at a position in one call. Their values are checked after the
// clock, as a read's is.
func (t *thread) multiRead(entry trace.Entry, position int, lap uint64, slot *counters.Slot) (counters.Outcome,
	int64, bool) {
	t.makeCall(entry, position, lap)
	calls, err := t.multiGetter.MultiGet(t.many.keys, t.many.values, t.many.buffer[:0])
	now := t.clock.NowNS()
	return t.gotMany(0, now, calls, err, slot), now, true
}

// multiReadLiving is multiRead where values may have a TTL.
func (t *thread) multiReadLiving(begin int64, entry trace.Entry, position int, lap uint64, slot *counters.Slot) (
	counters.Outcome, int64, bool) {
	t.makeCall(entry, position, lap)
	for i, index := range t.many.indexes {
		t.many.lives[i] = t.lives.Of(index)
	}
	calls, err := t.multiGetter.MultiGet(t.many.keys, t.many.values, t.many.buffer[:0])
	now := t.clock.NowNS()
	return t.gotMany(begin, now, calls, err, slot), now, true
}

// makeCall makes the keys of the multi-read at a position.
func (t *thread) makeCall(entry trace.Entry, position int, lap uint64) {
	m := &t.many
	m.arena, m.keys, m.indexes = m.arena[:0], m.keys[:0], m.indexes[:0]
	for _, member := range t.part.Entries[position+1 : position+1+int(t.amounts[entry.SizeClass()])] {
		index, from := member.EffectiveIndex(lap, t.part.Stride), len(m.arena)
		m.arena = t.phase.request.Keys.Append(m.arena, index)
		m.keys = append(m.keys, m.arena[from:len(m.arena):len(m.arena)])
		m.indexes = append(m.indexes, index)
	}
	m.values = m.values[:len(m.keys)]
	clear(m.values)
}

// gotMany returns the outcome of a multi-read: wrong or lost if one key's is, a miss if none was found,
// and otherwise ok, whole or not.
func (t *thread) gotMany(begin, end int64, calls int, err error, slot *counters.Slot) counters.Outcome {
	m := &t.many
	if err != nil {
		outcome := t.failed(trace.MultiRead, err)
		m.failed(outcome, counters.ObservedError)
		return outcome
	}
	var found, bytes uint64
	outcome, why, foreign := counters.Miss, "", false
	for i, index := range m.indexes {
		each, problem := t.gotOne(m.values[i], index, i)
		if t.lives != nil {
			if judged := t.lives.hold(index, m.lives[i], each, begin, end); judged != each {
				each, problem = judged, gone
			}
		}
		m.outcomes[i] = each
		switch {
		case each == counters.OK:
			if found, bytes = found+1, bytes+uint64(len(m.values[i])); outcome == counters.Miss {
				outcome = counters.OK
			}
		case each > outcome && each != counters.Miss: // lost, and above it wrong
			outcome, why = each, problem
		}
		foreign = foreign || problem == otherTrial
	}
	if why != "" {
		t.note(trace.MultiRead, outcome, why)
	}
	if foreign {
		slot.Foreign++
	}
	slot.Calls += uint64(max(calls, 0))
	if outcome != counters.Wrong {
		slot.Items, slot.Absent, slot.BytesRead = slot.Items+found, slot.Absent+uint64(len(m.keys))-found,
			slot.BytesRead+bytes
	}
	if int(bytes) > cap(m.buffer) {
		m.buffer = make([]byte, 0, bytes+bytes/4)
	}
	return outcome
}

// gotOne returns the outcome of one key, with what is wrong.
func (t *thread) gotOne(value []byte, index uint64, i int) (outcome counters.Outcome, problem string) {
	if t.watching {
		var err error
		if value == nil {
			err = store.ErrNotFound
		}
		t.many.saw[i] = t.observation(value, index, err)
	}
	switch {
	case value == nil && index < t.phase.request.MustHitBelow:
		return counters.Lost, notThere
	case value == nil:
		return counters.Miss, ""
	}
	if problem = t.checked(value, index); problem != "" {
		return counters.Wrong, problem
	}
	return counters.OK, ""
}

// failed says that no key of the call has an answer.
func (m *multiState) failed(outcome counters.Outcome, saw uint64) {
	for i := range m.outcomes {
		m.outcomes[i], m.saw[i] = outcome, saw
	}
}

// rememberMany records the recorded members of a multi-read, each with its own outcome.
func (t *thread) rememberMany(begin, end, sequence uint64, entry trace.Entry, position int) {
	for i, member := range t.part.Entries[position+1:][:t.amounts[entry.SizeClass()]] {
		if member.IsRecorded() {
			t.append(counters.MakeRecorded(begin, end, sequence+1+uint64(i), t.many.outcomes[i], t.many.saw[i]))
		}
	}
}
