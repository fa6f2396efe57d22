package worker

import (
	"time"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// lives holds a thread's operations against the times that values are to live: section 3.6 of
// docs/worker-contract.md. Threads whose trial has no such values have none, and pay nothing.
type lives struct {
	*counters.Lives
	tally           *counters.LivesTally
	ttls            *[256]uint32
	originNS        int64 // of the thread's clock, on that of all processes
	earlyNS, lateNS int64 // what the store's times may be wrong by
	judges          bool  // false: there is no store
}

// mapLives maps the lives file, where the trace says that there are times to keep.
func (p *phase) mapLives() (err error) {
	wanted, given := p.trace.Expires(), p.request.Lives != ""
	if wanted != given {
		return badRequest("a trace whose values have a TTL: %v, and a lives file for them: %v", wanted, given)
	}
	if !given {
		return nil
	}
	if p.lives, err = counters.OpenLives(p.request.Lives, len(p.trace.Threads)); err != nil {
		return badRequest("%w", err)
	}
	p.unmaps = append(p.unmaps, p.lives.Unmap)
	return nil
}

func (s *session) newLives(t *thread) *lives {
	p := t.phase
	if p.lives == nil {
		return nil
	}
	l := &lives{Lives: p.lives, tally: p.lives.Tally(t.number), ttls: &p.trace.TTLs, originNS: p.clock.OriginNS(),
		judges: s.hosted.description.Kind != store.None}
	if x := s.hosted.description.Expiry; x != nil {
		l.earlyNS, l.lateNS = x.EarlyNS, x.LateNS
	}
	return l
}

// gone is the text of a read that finds nothing within the time of a value.
const gone = "a record was gone before its time"

// judge holds a read against the record's time, and returns its outcome.
func (l *lives) judge(t *thread, index uint64, before counters.Life, outcome counters.Outcome, beginNS,
	endNS int64) counters.Outcome {
	held := l.hold(index, before, outcome, beginNS, endNS)
	if held != outcome {
		t.note(trace.Read, held, gone)
	}
	return held
}

// hold is judge without a message. A store that says of itself that it removed records may have removed
// this one: what is early is then told from that by its count.
func (l *lives) hold(index uint64, before counters.Life, outcome counters.Outcome, beginNS,
	endNS int64) counters.Outcome {
	return l.holdBetween(before, l.Of(index), outcome, beginNS, endNS)
}

// holdBetween is hold with what is known behind the operation.
func (l *lives) holdBetween(before, after counters.Life, outcome counters.Outcome, beginNS,
	endNS int64) counters.Outcome {
	if !l.judges || outcome > counters.Lost && outcome != counters.Wrong {
		return outcome
	}
	found := outcome == counters.OK || outcome == counters.Wrong
	verdict := l.tally.Judge(before, after, found, l.originNS+beginNS, l.originNS+endNS, l.earlyNS, l.lateNS)
	if verdict == counters.LifeEarly && outcome == counters.Miss {
		return counters.Lost
	}
	return outcome
}

// wrote tells the other threads what became of a write or delete that was begun.
func (l *lives) wrote(o trace.Operation, index uint64, outcome counters.Outcome, beginNS, endNS int64, ttlMS uint32) {
	if o == trace.GetAndSet && (outcome == counters.Miss || outcome == counters.Lost) {
		outcome = counters.OK // it has put a value where none was
	}
	switch {
	case outcome == counters.OK && !o.Deletes(), outcome == counters.Wrong:
		l.Written(index, l.originNS+beginNS, l.originNS+endNS, ttlMS)
	case o.Deletes() && (outcome == counters.OK || outcome == counters.Miss || outcome == counters.Lost):
		l.Deleted(index)
	case outcome == counters.Miss || outcome == counters.Lost || outcome == counters.Conflict:
		l.Undone(index)
	default:
		l.Failed(index)
	}
}

// operateLiving is [thread.operate] of an operation that began at a moment, where values may have a
// TTL. The clock is to be looked at again behind it.
func (t *thread) operateLiving(begin int64, entry trace.Entry, index, sequence uint64, position int, lap uint64,
	slot *counters.Slot) (
	outcome counters.Outcome, now int64, looked bool) {
	l := t.lives
	if l == nil {
		return t.operate(entry, index, sequence, position, lap, slot)
	}
	switch o := entry.Operation(); {
	case o == trace.Read:
		before := l.Of(index)
		outcome, now, _ = t.operate(entry, index, sequence, position, lap, slot)
		outcome = l.judge(t, index, before, outcome, begin, now)
	case o == trace.ReadOrFill:
		return t.readOrFill(begin, entry, index, sequence, slot)
	case o == trace.Touch:
		outcome, now = t.touchLiving(begin, entry, index)
	case o == trace.MultiRead:
		return t.multiReadLiving(begin, entry, position, lap, slot)
	case o == trace.Batch:
		l.eachMember(t, entry, position, lap, func(_ trace.Operation, index uint64) { l.Begin(index) })
		outcome, now, _ = t.operate(entry, index, sequence, position, lap, slot)
		l.eachMember(t, entry, position, lap, func(o trace.Operation, index uint64) {
			l.wrote(o, index, outcome, begin, now, 0)
		})
	case o.OneKey():
		ttl := l.ttlOf(entry)
		l.Begin(index)
		if ttl > 0 {
			key, value := t.keys.Key(index), t.makeValue(entry, index, sequence)
			err := t.expirer.PutFor(key, value, time.Duration(ttl)*time.Millisecond)
			now = t.clock.NowNS()
			outcome = t.wrote(o, err, slot, len(key)+len(value))
		} else {
			outcome, now, _ = t.operate(entry, index, sequence, position, lap, slot)
		}
		l.wrote(o, index, outcome, begin, now, ttl)
	default:
		return t.operate(entry, index, sequence, position, lap, slot)
	}
	return outcome, now, true
}

// eachMember gives the writes of the batch at an entry.
func (l *lives) eachMember(t *thread, entry trace.Entry, position int, lap uint64, do func(o trace.Operation,
	index uint64)) {
	for _, member := range t.part.Entries[position+1 : position+1+int(t.amounts[entry.SizeClass()])] {
		do(member.Operation(), member.EffectiveIndex(lap, t.part.Stride))
	}
}

// beginFlying says that a lane's operation begins.
func (l *lives) beginFlying(f *flying, t *thread) {
	switch o := f.entry.Operation(); {
	case o == trace.Read:
		f.life = l.Of(f.index)
	case o == trace.Batch:
		l.eachMember(t, f.entry, f.position, f.lap, func(_ trace.Operation, index uint64) { l.Begin(index) })
	case o.OneKey():
		l.Begin(f.index)
	}
}

// endFlying says that it has ended, and returns its outcome.
func (l *lives) endFlying(f *flying, t *thread, outcome counters.Outcome, now int64) counters.Outcome {
	switch o := f.entry.Operation(); {
	case o == trace.Read:
		return l.judge(t, f.index, f.life, outcome, f.beginNS, now)
	case o == trace.Batch:
		l.eachMember(t, f.entry, f.position, f.lap, func(o trace.Operation, index uint64) {
			l.wrote(o, index, outcome, f.beginNS, now, 0)
		})
	case o.OneKey():
		l.wrote(o, f.index, outcome, f.beginNS, now, l.ttlOf(f.entry))
	}
	return outcome
}

// ttlOf returns for how many ms the value of an entry is to live.
func (l *lives) ttlOf(e trace.Entry) uint32 {
	if !e.Operation().TakesTTL() {
		return 0
	}
	return l.ttls[e.SizeClass()]
}
