package worker

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"assay/internal/base/clock"
	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// thread walks its part of the trace. Nothing in it is shared with another thread but read-only
// memory, and nothing is allocated once it runs.
type thread struct {
	session *session
	phase   *phase
	number  int
	part    *trace.Thread
	head    *counters.Thread
	slots   [32]*counters.Slot // by operation code; nil: the operation asks, and each question has its own
	// handleTimes is of the takes of handles; nil: they are not counted.
	handleTimes *[histogram.Buckets]uint64
	clock       *clock.Clock
	target      // the handle, or none where one is taken for each operation

	keys     *keyval.KeyMaker
	pool     *keyval.Pool
	amounts  *[256]uint32
	versions uint64 // phase and thread of the versions that this thread writes
	value    []byte // what is put
	buffer   []byte // what is got; grows to the longest value
	old      []byte // what compare-and-swap takes to be there
	writes   []store.Write
	arena    []byte     // keys and values of a batch
	many     multiState // of multi-reads
	scan     scanState
	record   *keyval.RecordShape // nil: values are plain
	scratch  []byte              // a column, while a record is checked
	modified [][]byte            // the columns that a modify writes
	found    queryState
	observed []uint64 // one word an entry, in a verify phase
	history  *counters.HistoryThread
	recorded []counters.Recorded // room for the history
	lives    *lives              // nil: values have no TTL
	watching bool                // what is read is to be known: in a verify phase, and at recorded entries
	saw      uint64              // what was read while watching: a version or an Observed… word

	zeroVersions, verify bool
	kept                 bool        // it keeps its handle: it takes none for each operation
	survives             bool        // a panic of the client is an error: it is of a server
	appends              bool        // values of the trial may have parts that were appended
	parts                []valuePart // of the value that is looked at, reused
	sample               []byte      // of the null driver: the value that stands for what a store would return
	startNS              int64
	endNS                int64
	waiter               waiter

	finding findState // last: what each operation looks at lies together
}

// target is a handle and what it can do, asserted once.
type target struct {
	store.Handle
	batcher     store.Batcher
	scanner     store.Scanner
	adder       store.Adder
	swapper     store.CompareAndSwapper
	querier     store.Querier
	counter     store.Counter
	deleter     store.QueryDeleter
	modifier    store.Modifier
	incrementer store.Incrementer
	expirer     store.Expirer
	multiGetter store.MultiGetter
	toucher     store.Toucher
	appender    store.Appender
	getSetter   store.GetSetter
}

func targetOf(h store.Handle) target {
	t := target{Handle: h}
	t.batcher, _ = h.(store.Batcher)
	t.scanner, _ = h.(store.Scanner)
	t.adder, _ = h.(store.Adder)
	t.swapper, _ = h.(store.CompareAndSwapper)
	t.querier, _ = h.(store.Querier)
	t.counter, _ = h.(store.Counter)
	t.deleter, _ = h.(store.QueryDeleter)
	t.modifier, _ = h.(store.Modifier)
	t.incrementer, _ = h.(store.Incrementer)
	t.expirer, _ = h.(store.Expirer)
	t.multiGetter, _ = h.(store.MultiGetter)
	t.toucher, _ = h.(store.Toucher)
	t.appender, _ = h.(store.Appender)
	t.getSetter, _ = h.(store.GetSetter)
	return t
}

// newThread makes the worker's i-th thread of a phase.
func (s *session) newThread(p *phase, i int) *thread {
	number := p.first + i
	t := &thread{
		session: s, phase: p, number: number, part: &p.trace.Threads[number], head: p.counters.Thread(number),
		clock: p.clock, keys: keyval.NewKeyMaker(p.request.Keys), pool: p.pool, amounts: &p.trace.Amounts,
		versions: keyval.Version(p.request.Number, number, 0), waiter: newWaiter(len(p.trace.Threads)),
		verify:       p.request.Verify,
		zeroVersions: p.request.ZeroVersions, appends: s.appends,
		record: s.record, survives: s.hosted.description.Kind == store.Server,
	}
	valueBytesMax := p.request.Values.LengthMax
	if t.record != nil {
		valueBytesMax = t.record.BytesMax()
		t.scratch = make([]byte, 0, valueBytesMax)
		t.modified = make([][]byte, len(t.record.Following()))
	}
	t.value, t.buffer = make([]byte, valueBytesMax), make([]byte, 0, valueBytesMax)
	for slot, o := range p.trace.Operations {
		if !o.Asks() {
			t.slots[o] = p.counters.Slot(number, slot)
		}
	}
	t.handleTimes = p.counters.HandleTimes(number)
	if h := s.handles.of(i); h != nil {
		t.target, t.kept = targetOf(h), true
	}
	t.sizeBatch()
	t.many.init(t)
	t.scan.init(t)
	if s.hosted.description.Kind == store.None {
		if t.sample = make([]byte, valueBytesMax); t.record != nil {
			t.sample = t.record.Append(t.sample[:0], t.pool, 0, 0)
		} else {
			t.pool.Put(t.sample, 0, 0)
		}
	}
	t.found.init(t)
	t.lives = s.newLives(t)
	t.observed = t.observedWords()
	t.watching = t.observed != nil
	if p.history != nil {
		t.history, t.recorded = p.history.Thread(number)
	}
	t.finding.init(t)
	return t
}

// sizeBatch makes room for the trace's largest batch.
func (t *thread) sizeBatch() {
	if !t.phase.trace.MayHave(trace.Batch) {
		return
	}
	membersMax, bytesMax := 0, 0
	for p, e := range t.part.Entries {
		if e.Operation() != trace.Batch || e.IsMember() {
			continue
		}
		members := int(t.amounts[e.SizeClass()])
		bytes := members * t.phase.request.Keys.BytesMax()
		for _, member := range t.part.Entries[p+1 : p+1+members] {
			switch {
			case !member.Operation().Puts():
			case t.record != nil:
				bytes += t.record.BytesMax()
			default:
				bytes += int(t.amounts[member.SizeClass()])
			}
		}
		membersMax, bytesMax = max(membersMax, members), max(bytesMax, bytes)
	}
	t.writes, t.arena = make([]store.Write, 0, membersMax), make([]byte, 0, bytesMax)
}

func (t *thread) observedWords() []uint64 {
	if t.phase.trace.Flags&trace.FlagRecordVersions == 0 {
		return nil
	}
	all := t.phase.counters.Observed()
	for i := range t.number {
		all = all[len(t.phase.trace.Threads[i].Entries):]
	}
	return all[:len(t.part.Entries)]
}

// run does the thread's entries until they are done, the deadline has passed or the conductor asks
// to stop.
//
// The clock is read once an operation: each end is the next one's start. So an operation's time
// includes making its key and value and counting the one before, which is what the null driver's
// rate bounds. Where the worker did something else in between (checked a value, waited for a handle
// or a due time), the clock is read again.
func (t *thread) run() {
	defer t.waiter.close()
	if len(t.part.Entries) > 0 && t.waitForTurn() {
		t.head.State = counters.Running
		switch {
		case t.part.HasRequests():
			t.walkRequests()
		case t.phase.trace.TimedEvery > 0:
			t.walkSampled()
		default:
			t.walk()
		}
	}
	t.endNS = t.startNS + int64(t.head.NowNS)
	t.head.State = counters.Ended
}

// questionSlot returns the slot of an operation that asks a query. Callers look at slots first: the
// compiler inlines no function that does both.
func (t *thread) questionSlot(entry trace.Entry) *counters.Slot {
	return t.phase.counters.Slot(t.number, t.phase.slots.Of(entry))
}

const never = 1<<63 - 1

// ends returns when the thread ends, on the phase's clock.
func (t *thread) ends() int64 {
	end := int64(never)
	if t.phase.request.DeadlineNS != 0 {
		end = t.startNS + t.phase.request.DeadlineNS
	}
	if t.part.UntilNS != 0 {
		end = min(end, t.startNS+int64(t.part.UntilNS))
	}
	return end
}

// limit returns how many entries the thread does.
func (t *thread) limit() uint64 {
	limit := uint64(never)
	if t.part.Limit != 0 {
		limit = t.part.Limit
	}
	if t.observed != nil {
		limit = min(limit, uint64(len(t.part.Entries))) // one lap: a second one would overwrite what the first observed
	}
	return limit
}

// waitForTurn waits until the thread may begin. It returns false if the phase ends before.
func (t *thread) waitForTurn() bool {
	if t.part.FromNS == 0 {
		return true
	}
	_, came := t.sleepUntil(t.startNS+int64(t.part.FromNS), t.ends(), t.phase.counters.StopWord())
	return came
}

func (t *thread) walk() {
	entries, head, clock := t.part.Entries, t.head, t.clock
	stop := t.phase.counters.StopWord()
	limit, deadline := t.limit(), t.ends()
	open, plain := t.part.Due != nil, t.target.Handle != nil && t.lives == nil && !t.survives
	sequence, lap, position := uint64(0), uint64(0), 0
	pauses := t.part.Pauses
	waits := open || pauses != nil
	last, ended := clock.NowNS(), t.startNS+int64(t.part.FromNS)
	for {
		entry := entries[position]
		entriesDone := 1
		if entry.Operation().HasMembers() {
			entriesDone += int(t.amounts[entry.SizeClass()])
		}
		var due int64
		if waits {
			if pauses != nil {
				last = t.pause(ended+int64(pauses[position]), deadline, stop)
			} else {
				due = t.startNS + int64(t.part.Due[position]+lap*t.part.LapNS)
				last = t.waitUntil(due, ended, deadline, stop)
			}
			if last < 0 {
				return
			}
		}
		index := entry.Index()
		if entry.IsSpecial() { // one branch for what most entries are not
			if entry.Grows() {
				index += lap * t.part.Stride
			} else {
				t.watching, t.saw = true, counters.ObservedNotRead
				if t.finding.begin(entry.Operation(), lap) {
					last = clock.NowNS()
				}
			}
		}
		head.Attempted = sequence + uint64(entriesDone)

		slot := t.slots[entry.Operation()]
		if slot == nil {
			slot = t.questionSlot(entry)
		}
		var outcome counters.Outcome
		var now int64
		var looked bool
		if plain {
			outcome, now, looked = t.operate(entry, index, sequence, position, lap, slot)
		} else {
			outcome, last, now, looked = t.operateWithHandle(last, entry, index, sequence, position, lap, slot)
		}

		slot.CountTime(now - last)
		if open {
			t.countResponse(entry, now-due)
		}
		slot.Outcomes[outcome]++
		if entry.IsRecorded() {
			t.remember(last, now, sequence, position, outcome)
		}
		sequence += uint64(entriesDone)
		head.NowNS = uint64(now - t.startNS)
		head.Acknowledged = sequence

		if now >= deadline || sequence >= limit || atomic.LoadUint64(stop) != 0 {
			return
		}
		last, ended = now, now
		if looked {
			last = clock.NowNS()
		}
		if position += entriesDone; position == len(entries) {
			position, lap = 0, lap+1
		}
	}
}

var sleep = (*clock.Alarm).Sleep // a test oversleeps

// waitUntil returns the time once due has come, or −1 if the phase ends before. Operations that are
// late are issued at once, one after the other. How late is counted from the due time, or from when
// the operation before ended: until then the store, and not this thread, was what was late.
func (t *thread) waitUntil(due, ended, deadline int64, stop *uint64) int64 {
	now, came := t.sleepUntil(due, deadline, stop)
	if !came {
		return -1
	}
	t.countLateness(now, max(due, ended))
	return now
}

// pause returns the time once a moment has come, or −1 if the phase ends before.
func (t *thread) pause(moment, deadline int64, stop *uint64) int64 {
	now, came := t.sleepUntil(moment, deadline, stop)
	if !came {
		return -1
	}
	return now
}

// countLateness counts an operation that begins now and could have begun at a moment before.
func (t *thread) countLateness(now, could int64) {
	late := uint64(max(now-could, 0))
	t.head.LatenessMaxNS = max(t.head.LatenessMaxNS, late)
	if word := counters.LatenessWord(late); word >= 0 {
		t.head.Late[word]++
	}
}

// sleepUntil returns the time once a moment has come; came is false if the phase ends before.
func (t *thread) sleepUntil(moment, deadline int64, stop *uint64) (now int64, came bool) {
	now = t.clock.NowNS()
	moment = min(moment, deadline)
	if now >= moment {
		return now, now < deadline
	}
	lead := t.waiter.lead(now)
	for now < moment {
		if atomic.LoadUint64(stop) != 0 {
			return now, false
		}
		before, wait := now, moment-now
		if asked := min(wait-lead, int64(sleepMost)); asked > aloneBelowNS {
			sleep(&t.waiter.alarm, time.Duration(asked))
			now = t.clock.NowNS()
			t.waiter.slept(now - before - asked)
			continue
		}
		if wait > aloneBelowNS {
			runtime.Gosched()
		}
		now = t.clock.NowNS()
		t.waiter.spun(now - before)
	}
	return now, now < deadline
}

func (t *thread) countResponse(entry trace.Entry, response int64) {
	slot := t.phase.slots.Of(entry)
	t.phase.counters.Response(t.number, slot)[histogram.Bucket(uint64(max(response, 0)))]++
}

// operateWithHandle does one operation with a handle taken for it, one of a phase whose values have
// a TTL, or one of a client of a server. Waiting for a pooled handle is in no service time, it is
// counted apart; opening a new one is, for a client that opens one each time pays for it each time.
func (t *thread) operateWithHandle(last int64, entry trace.Entry, index, sequence uint64, position int, lap uint64,
	slot *counters.Slot) (outcome counters.Outcome, start, now int64, looked bool) {
	h := t.session.handles
	if t.kept {
		outcome, now, looked = t.step(last, entry, index, sequence, position, lap, slot)
		return outcome, last, now, looked
	}
	if h.idle != nil {
		t.target = targetOf(<-h.idle)
		start = t.countWait(last)
		outcome, now, _ = t.step(start, entry, index, sequence, position, lap, slot)
		h.idle <- t.target.Handle
		return outcome, start, now, true
	}
	handle, err := h.open()
	if err != nil {
		now = t.clock.NowNS()
		if t.observed != nil {
			t.observed[position] = counters.ObservedError
		}
		return t.noHandle(entry.Operation(), err), last, now, true
	}
	t.countOpening(last)
	t.target = targetOf(handle)
	outcome, now, _ = t.step(last, entry, index, sequence, position, lap, slot)
	if err := surviving(h.description, handle.Close); err != nil {
		t.note(entry.Operation(), counters.Error, "closing a handle: "+err.Error())
	}
	return outcome, last, now, true
}

// step does one operation of a phase that may need more than [thread.operate].
func (t *thread) step(begin int64, entry trace.Entry, index, sequence uint64, position int, lap uint64,
	slot *counters.Slot) (outcome counters.Outcome, now int64, looked bool) {
	if t.survives {
		return t.operateSurviving(begin, entry, index, sequence, position, lap, slot)
	}
	return t.operateLiving(begin, entry, index, sequence, position, lap, slot)
}

// countWait counts the wait for a pooled handle, since a moment, and returns when it ended.
func (t *thread) countWait(since int64) (now int64) {
	now = t.clock.NowNS()
	t.head.HandleWaitNS += uint64(max(now-since, 0))
	t.countHandle(now - since)
	return now
}

// countOpening counts a handle that was opened for what is about to be done, since a moment.
func (t *thread) countOpening(since int64) {
	t.head.HandlesOpened++
	if t.handleTimes != nil {
		t.countHandle(t.clock.NowNS() - since)
	}
}

func (t *thread) countHandle(ns int64) {
	if t.handleTimes != nil {
		t.handleTimes[histogram.Bucket(uint64(max(ns, 0)))]++
	}
}

// noHandle returns the outcome of an operation that got no handle: never a miss or a conflict, for
// the store was not asked.
func (t *thread) noHandle(o trace.Operation, err error) counters.Outcome {
	outcome := counters.Error
	if errors.Is(err, store.ErrTimeout) {
		outcome = counters.Timeout
	}
	t.note(o, outcome, "opening a handle: "+err.Error())
	if o == trace.MultiRead {
		t.many.failed(outcome, counters.ObservedNotRead)
	}
	return outcome
}
