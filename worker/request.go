package worker

import (
	"sync/atomic"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// walkRequests does entries that are requests, as [thread.walk] does others: its own loop, so that
// traces without requests pay nothing. A request is begun when it is due, has one handle for all of
// its steps, and is never left in the middle.
func (t *thread) walkRequests() {
	stop := t.phase.counters.StopWord()
	limit, deadline := t.limit(), t.ends()
	r := requestWalk{thread: t, keepsHandle: t.target.Handle != nil}
	last, ended := t.clock.NowNS(), t.startNS+int64(t.part.FromNS)
	for {
		if t.part.Due != nil {
			r.due = t.startNS + int64(t.part.Due[r.position]+r.lap*t.part.LapNS)
			if last = t.waitUntil(r.due, ended, deadline, stop); last < 0 {
				return
			}
		}
		if pauses := t.part.Pauses; pauses != nil {
			if last = t.pause(ended+int64(pauses[r.position]), deadline, stop); last < 0 {
				return
			}
		}
		ended, last = r.request(last)
		if ended >= deadline || r.sequence >= limit || atomic.LoadUint64(stop) != 0 {
			return
		}
		if r.position == len(t.part.Entries) {
			r.position, r.lap = 0, r.lap+1
		}
	}
}

// requestWalk is where a thread stands in its requests.
type requestWalk struct {
	*thread
	keepsHandle bool
	sequence    uint64
	position    int
	lap         uint64
	due         int64

	opened  store.Handle // for this request alone
	refused error        // why it got none
}

// request does one request from its first step. It returns when the last step ended, and when the
// next operation may begin.
func (r *requestWalk) request(begin int64) (ended, next int64) {
	last := begin
	if !r.keepsHandle {
		last = r.takeHandle(begin)
		begin = last
	}
	outcome, looked := counters.OK, false
	for {
		entry := r.part.Entries[r.position]
		if entry.Operation() == trace.Request {
			r.head.Attempted = r.sequence + 1
			r.count(entry, begin, ended, outcome)
			r.giveHandleBack()
			if looked || !r.keepsHandle {
				return ended, r.clock.NowNS()
			}
			return ended, ended
		}
		var stepOutcome counters.Outcome
		if stepOutcome, ended, looked = r.step(entry, last); outcome == counters.OK {
			outcome = stepOutcome
		}
		if last = ended; looked {
			last = r.clock.NowNS()
		}
	}
}

// step does the step at the position.
func (r *requestWalk) step(entry trace.Entry, last int64) (outcome counters.Outcome, now int64, looked bool) {
	index := entry.EffectiveIndex(r.lap, r.part.Stride)
	if entry.IsRecorded() {
		r.watching, r.saw = true, counters.ObservedNotRead
	}
	r.head.Attempted = r.sequence + 1
	if r.refused != nil {
		outcome, now, looked = r.noHandle(entry.Operation(), r.refused), r.clock.NowNS(), true
	} else {
		outcome, now, looked = r.thread.step(last, entry, index, r.sequence, r.position, r.lap,
			r.slots[entry.Operation()])
	}
	if entry.IsRecorded() {
		r.remember(last, now, r.sequence, r.position, outcome)
	}
	r.count(entry, last, now, outcome)
	return outcome, now, looked
}

// count counts the entry at the position and goes on to the next.
func (r *requestWalk) count(entry trace.Entry, begin, now int64, outcome counters.Outcome) {
	slot := r.slots[entry.Operation()]
	slot.CountTime(now - begin)
	if r.part.Due != nil {
		r.countResponse(entry, now-r.due)
	}
	slot.Outcomes[outcome]++
	r.sequence++
	r.position++
	r.head.NowNS = uint64(now - r.startNS)
	r.head.Acknowledged = r.sequence
}

// takeHandle takes the request's handle. It returns when the request begins: waiting for a pooled
// handle is in no service time, opening one is in that of the request and of its first step.
func (r *requestWalk) takeHandle(last int64) (begin int64) {
	h := r.session.handles
	if h.idle != nil {
		r.target = targetOf(<-h.idle)
		return r.countWait(last)
	}
	if r.opened, r.refused = h.open(); r.refused == nil {
		r.countOpening(last)
		r.target = targetOf(r.opened)
	}
	return last
}

func (r *requestWalk) giveHandleBack() {
	switch h := r.session.handles; {
	case r.keepsHandle || r.refused != nil:
	case h.idle != nil:
		h.idle <- r.target.Handle
	default:
		if err := surviving(h.description, r.opened.Close); err != nil {
			r.note(trace.Request, counters.Error, "closing a handle: "+err.Error())
		}
	}
}
