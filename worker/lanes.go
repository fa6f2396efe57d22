package worker

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"assay/internal/base/linux"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
	"assay/store"
)

// A store's asynchronous form: the trace's threads are lanes, and a lane is a connection. One
// goroutine, locked to its OS thread, does the operations of many lanes: it submits what is due,
// and reaps what has ended. What an operation is, and how its outcome is found and counted, is the
// same as where each thread waits for its own.
//
// A pipeline of closed load refills in halves: a lane begins operations until its pipeline is full,
// and the next ones once half of these have ended. They go out together, at the next Reap, so that a
// system call and a segment carry half a pipeline at least. Where each end would make room for one
// more, batches would fall apart with time into ever smaller ones, which cost both ends more. What is
// due in open load goes out at once.

// loopCount returns how many goroutines drive so many lanes: one for each CPU but one, which is
// left to the rest of the worker, and to a server beside it.
func loopCount(lanes int) int { return min(lanes, max(runtime.GOMAXPROCS(0)-1, 1)) }

// driver drives the lanes of one loop through a phase.
type driver struct {
	loop     store.Loop
	lanes    []*lane // by the loop's numbers; the loop may have more
	left     int     // lanes that have not ended
	waiting  moments
	stop     *uint64
	stopped  bool
	waiter   waiter
	lookedNS int64 // when the time until the next moment was looked at
	steps    bool  // batches take several requests: [store.Stepper]
	request  store.Request
	err      error // why the loop could not go on
}

// lane is a thread of the trace that a driver does.
type lane struct {
	*thread
	number   int      // of the loop
	flight   []flying // operations on the way, oldest first, in a ring
	first, n int
	sequence uint64 // of the next operation
	lap      uint64
	position int
	limit    uint64
	refillAt int // operations on the way at which more are begun
	deadline int64
	roomNS   int64 // since when there was room for another operation
	begun    bool
	done     bool // begins no more operations
	over     bool // has ended
	waits    bool // is among the driver's moments
	alone    bool // the last one on the way may take several requests: none is begun behind it
}

// flying is an operation on its way.
type flying struct {
	entry           trace.Entry
	position        int
	index, sequence uint64
	entries         uint64
	beginNS, dueNS  int64
	lap             uint64
	life            counters.Life // of what is read, before
	bytes, members  int           // written
	second          bool
	problem         string // of what it read, where it has read and now writes
	readBytes       int
}

// laneDrivers returns a driver for each loop.
func (s *session) laneDrivers(p *phase, threads []*thread) []*driver {
	all := make([]*driver, len(s.handles.loops))
	for i, loop := range s.handles.loops {
		all[i] = &driver{loop: loop, stop: p.counters.StopWord(), waiter: newWaiter(len(s.handles.loops))}
		if s, is := loop.(store.Stepper); is {
			all[i].steps = s.StepsInBatches()
		}
	}
	for i, t := range threads {
		d := all[i%len(all)]
		flight := make([]flying, s.handles.pipeline)
		l := &lane{thread: t, number: len(d.lanes), flight: flight, limit: t.limit(), refillAt: len(flight) / 2}
		if t.part.Due != nil {
			l.refillAt = len(flight)
		}
		d.lanes = append(d.lanes, l)
	}
	return all
}

// run does the lanes' operations until all have ended, as [thread.run] does a thread's. A client of a
// server that panics ends all lanes of the loop.
func (d *driver) run() {
	defer d.survive()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(d.lanes) > 0 && d.lanes[0].part.Due != nil && linux.SleepExactly(true) == nil {
		defer func() { d.err = errors.Join(d.err, linux.SleepExactly(false)) }()
	}
	if p, ok := d.loop.(store.Pinner); ok {
		if d.err = p.Pin(); d.err != nil {
			return
		}
		defer func() { d.err = errors.Join(d.err, p.Unpin()) }()
	}
	d.left = len(d.lanes)
	for _, l := range d.lanes {
		l.deadline, l.roomNS = l.ends(), l.startNS+int64(l.part.FromNS)
		l.done = len(l.part.Entries) == 0
		d.feed(l, l.clock.NowNS())
	}
	ended := d.ended
	for d.left > 0 {
		wait := d.wake()
		if d.err = d.reap(wait, ended); d.err != nil {
			return
		}
		if !d.stopped && atomic.LoadUint64(d.stop) != 0 {
			d.stopAll()
		}
	}
}

// survive is to be deferred.
func (d *driver) survive() {
	if len(d.lanes) == 0 || !d.lanes[0].survives {
		return
	}
	if trouble := recover(); trouble != nil {
		d.err = panicked(trouble)
	}
}

// feed begins operations on a lane while there is room and they are due.
func (d *driver) feed(l *lane, now int64) {
	for !l.done && !l.alone && l.n < len(l.flight) {
		due, moment := int64(0), l.startNS+int64(l.part.FromNS)
		if l.part.Due != nil {
			due = l.startNS + int64(l.part.Due[l.position]+l.lap*l.part.LapNS)
			moment = max(moment, due)
		}
		if l.part.Due != nil || !l.begun {
			if now = l.clock.NowNS(); now < min(moment, l.deadline) {
				if !l.waits {
					l.waits = true
					d.waiting.add(min(moment, l.deadline), l)
				}
				return
			}
			if now >= l.deadline {
				l.done = true
				break
			}
			l.head.State, l.begun = counters.Running, true
		}
		if l.part.Due != nil {
			l.countLateness(now, max(due, l.roomNS))
		}
		d.begin(l, now, due)
	}
	if l.done && l.n == 0 && !l.over {
		l.over = true
		l.endNS, l.head.State = l.startNS+int64(l.head.NowNS), counters.Ended
		d.left--
	}
}

// begin submits the lane's next operation.
func (d *driver) begin(l *lane, now, due int64) {
	entry := l.part.Entries[l.position]
	at := l.first + l.n
	if at >= len(l.flight) {
		at -= len(l.flight)
	}
	f := &l.flight[at]
	*f = flying{
		entry: entry, position: l.position, index: entry.Index(), sequence: l.sequence, entries: 1,
		beginNS: now, dueNS: due, lap: l.lap,
	}
	if entry.Grows() {
		f.index += l.lap * l.part.Stride
	}
	r, o := &d.request, entry.Operation()
	if o == trace.Batch {
		f.entries += uint64(l.amounts[entry.SizeClass()])
	}
	if l.lives != nil {
		l.lives.beginFlying(f, l.thread)
	}
	l.n++
	l.sequence += f.entries
	l.head.Attempted = l.sequence
	switch o {
	case trace.Batch:
		l.makeBatch(entry, f.sequence, l.position, l.lap)
		r.Operation, r.Writes, f.members, f.bytes = store.OpApply, l.writes, len(l.writes), len(l.arena)
		l.alone = d.steps
	case trace.Delete:
		r.Operation, r.Key = store.OpDelete, l.keys.Key(f.index)
		f.bytes = len(r.Key)
	case trace.Read:
		r.Operation, r.Key = store.OpGet, l.keys.Key(f.index)
	case trace.ReadModifyWrite, trace.CompareAndSwap:
		r.Operation, r.Key = store.OpGet, l.keys.Key(f.index)
		l.alone = true
	case trace.Add:
		l.makePut(r, store.OpAdd, f)
		l.alone = true
	default:
		l.makePut(r, store.OpPut, f)
	}
	if l.position += int(f.entries); l.position == len(l.part.Entries) {
		l.position, l.lap = 0, l.lap+1
	}
	if l.sequence >= l.limit {
		l.done = true
	}
	d.loop.Submit(l.number, r)
}

// makePut makes a request that writes an operation's value.
func (l *lane) makePut(r *store.Request, o store.Operation, f *flying) {
	r.Operation, r.Key, r.Value, r.TTL = o, l.keys.Key(f.index), l.makeValue(f.entry, f.index, f.sequence), 0
	if l.lives != nil {
		r.TTL = time.Duration(l.lives.ttlOf(f.entry)) * time.Millisecond
	}
	f.bytes = len(r.Key) + len(r.Value)
}

// ended counts the oldest operation of a lane, or goes on with its second half.
func (d *driver) ended(number int, value []byte, err error) {
	l := d.lanes[number]
	f := &l.flight[l.first]
	now := l.clock.NowNS()
	o := f.entry.Operation()
	slot := l.slots[o]
	if slot == nil {
		slot = l.questionSlot(f.entry)
	}
	if f.entry.IsRecorded() && !f.second {
		l.watching, l.saw = true, counters.ObservedNotRead
	}
	var outcome counters.Outcome
	looked := err != nil
	switch o {
	case trace.Read:
		outcome, looked = l.gotten(value, err, f.index, f.position, slot)
	case trace.Batch:
		outcome = l.applied(err, slot, f.members, f.bytes)
	case trace.ReadModifyWrite, trace.CompareAndSwap:
		switch {
		case f.second:
			outcome, looked = l.replaced(o, f.problem, f.readBytes, err, slot, f.bytes)
		case d.goOn(l, f, value, err):
			return
		default:
			outcome = l.notRead(o, f.index, err)
		}
	default:
		outcome = l.wrote(o, err, slot, f.bytes)
	}
	if l.lives != nil {
		outcome, looked = l.lives.endFlying(f, l.thread, outcome, now), true
	}
	slot.CountTime(now - f.beginNS)
	if l.part.Due != nil {
		l.countResponse(f.entry, now-f.dueNS)
	}
	slot.Outcomes[outcome]++
	if f.entry.IsRecorded() {
		l.remember(f.beginNS, now, f.sequence, f.position, outcome)
	}
	l.head.NowNS = uint64(now - l.startNS)
	l.head.Acknowledged = f.sequence + f.entries
	if l.n == len(l.flight) || d.isAlone(o) {
		l.roomNS = now
	}
	l.alone = l.alone && !d.isAlone(o)
	if l.first++; l.first == len(l.flight) {
		l.first = 0
	}
	l.n--
	if now >= l.deadline || atomic.LoadUint64(d.stop) != 0 {
		l.done = true
	}
	if l.n > l.refillAt && !l.done {
		return
	}
	if looked {
		now = l.clock.NowNS()
	}
	d.feed(l, now)
}

// isAlone reports whether nothing is begun on a lane behind an operation: it may take several
// requests.
func (d *driver) isAlone(o trace.Operation) bool {
	return o == trace.ReadModifyWrite || o == trace.CompareAndSwap || o == trace.Add || o == trace.Batch && d.steps
}

// goOn begins the write of an operation that has read; false if it has read nothing.
func (d *driver) goOn(l *lane, f *flying, value []byte, err error) bool {
	if l.watching {
		l.observe(value, f.index, err)
	}
	if err != nil {
		return false
	}
	f.second, f.problem, f.readBytes = true, l.checked(value, f.index), len(value)
	r := &d.request
	l.makePut(r, store.OpPut, f)
	if f.entry.Operation() == trace.CompareAndSwap {
		r.Operation, r.Old = store.OpCompareAndSwap, value
	}
	d.loop.Submit(l.number, r)
	return true
}

// reap looks for answers, and notes for how long, or how late it came back, where operations wait until they
// are due.
func (d *driver) reap(wait time.Duration, ended store.Ended) error {
	waits := len(d.waiting) > 0 // before: what ends may begin other waits
	err := d.loop.Reap(wait, ended)
	if !waits {
		return err
	}
	switch late := d.lanes[0].clock.NowNS() - d.lookedNS - int64(wait); {
	case wait == 0:
		d.waiter.spun(late)
	case late > 0: // no answer came before
		d.waiter.slept(late)
	}
	return err
}

// wake begins what is due, and returns how long the loop may wait for answers.
func (d *driver) wake() time.Duration {
	wait := stopLookEvery
	for len(d.waiting) > 0 {
		l, moment := d.waiting[0].lane, d.waiting[0].ns
		now := l.clock.NowNS()
		for now < moment && moment-now <= int64(lookTime) {
			now = l.clock.NowNS()
		}
		if now < moment {
			d.lookedNS = now
			wait = max(min(wait, time.Duration(moment-now-d.waiter.lead(now))), 0)
			break
		}
		d.waiting.drop()
		l.waits = false
		d.feed(l, moment)
	}
	return wait
}

// lookTime is about what it takes to look for answers: an operation that is due by then would be
// late.
const lookTime = time.Microsecond

// stopLookEvery is how often the conductor's word to stop is looked at while nothing ends.
const stopLookEvery = 50 * time.Millisecond

// stopAll ends the lanes: those that have nothing on the way at once.
func (d *driver) stopAll() {
	d.stopped, d.waiting = true, nil
	for _, l := range d.lanes {
		l.done = true
		d.feed(l, 0)
	}
}

// moments are when lanes are to be looked at again, as a heap: the first is the next.
type moments []moment

type moment struct {
	ns   int64
	lane *lane
}

func (m *moments) add(ns int64, l *lane) {
	*m = append(*m, moment{ns, l})
	h := *m
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent].ns <= h[i].ns {
			break
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
}

// drop takes the first away.
func (m *moments) drop() {
	h := *m
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	*m = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].ns < h[child].ns {
			child++
		}
		if h[i].ns <= h[child].ns {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
