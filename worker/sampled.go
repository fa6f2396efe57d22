package worker

import (
	"sync/atomic"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// walkSampled is [thread.walk] where one operation in so many is timed: section 3.3 of
// docs/worker-contract.md. At the others the clock is not read, so that whatever looks at it costs
// nothing. Those on recorded keys are timed for the history alone.
func (t *thread) walkSampled() {
	entries, head := t.part.Entries, t.head
	stop := t.phase.counters.StopWord()
	limit, deadline := t.limit(), t.ends()
	running, still := t.clock, clock.Still()
	every, survives := t.phase.trace.TimedEvery, t.survives
	next := trace.NextTimed(every, -1)
	sequence, lap, position := uint64(0), uint64(0), 0
	now := running.NowNS()
	still.Set(now)
	for operation := int64(0); ; operation++ {
		entry := entries[position]
		entriesDone := 1
		if entry.Operation().HasMembers() {
			entriesDone += int(t.amounts[entry.SizeClass()])
		}
		index := entry.Index()
		if entry.IsSpecial() {
			if entry.Grows() {
				index += lap * t.part.Stride
			} else {
				t.watching, t.saw = true, counters.ObservedNotRead
				t.finding.begin(entry.Operation(), lap)
			}
		}
		head.Attempted = sequence + uint64(entriesDone)

		slot := t.slots[entry.Operation()]
		if slot == nil {
			slot = t.questionSlot(entry)
		}
		looks := operation == next || entry.IsRecorded()
		t.clock = still
		begin := now
		if looks {
			t.clock = running
			begin = running.NowNS()
		}
		var outcome counters.Outcome
		if survives {
			outcome, now, _ = t.operateSurviving(begin, entry, index, sequence, position, lap, slot)
		} else {
			outcome, now, _ = t.operate(entry, index, sequence, position, lap, slot)
		}
		if operation == next {
			slot.CountTime(now - begin)
			next = trace.NextTimed(every, next)
		}
		slot.Outcomes[outcome]++
		if looks {
			still.Set(now)
			head.NowNS = uint64(now - t.startNS)
			if entry.IsRecorded() {
				t.remember(begin, now, sequence, position, outcome)
			}
		}
		sequence += uint64(entriesDone)
		head.Acknowledged = sequence

		if now >= deadline || sequence >= limit || atomic.LoadUint64(stop) != 0 {
			break
		}
		if position += entriesDone; position == len(entries) {
			position, lap = 0, lap+1
		}
	}
	t.clock = running
	head.NowNS = uint64(running.NowNS() - t.startNS)
}
