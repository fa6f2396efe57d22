package audit

import (
	"math"
	"slices"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// NothingRead and NothingWritten stand in a HistoryEvent for the version of an operation that does
// not read or does not put.
const (
	NothingRead    = counters.ObservedNotRead
	NothingWritten = counters.ObservedNotRead
	Absent         = counters.ObservedMiss // what a delete leaves, and what a read finds where nothing is
)

// HistoryEvent is one operation on a recorded key: section 3.5 of docs/worker-contract.md. The
// store did it at some moment from BeginNS to EndNS, if it did it at all.
type HistoryEvent struct {
	Index     uint64 // of the key
	Thread    int
	Sequence  uint64          // of the entry in its thread
	Operation trace.Operation // of a batch's member its own
	Request   uint64          // the sequence number of the request that it is a step of; 0: of none
	Fill      bool            // it is the put of a read that found nothing; Operation is then an upsert
	// it is a batch's member; then Outcome, BeginNS and EndNS are the batch's. Of a multi-read's,
	// BeginNS and EndNS are
	Batch bool

	BeginNS, EndNS int64 // since the phase's start
	Outcome        counters.Outcome

	// Read is the version that came back (0: the loaded one), or an Observed… word of package
	// counters: ObservedMiss, ObservedShort (a value that does not tell its version),
	// ObservedWrong, ObservedForeign, ObservedError, or NothingRead.
	Read uint64
	// Written is the version that the operation leaves if it is done, Absent for a delete,
	// NothingWritten for a read. An operation that ended in error or timeout may have been done, at
	// any moment from BeginNS on.
	Written uint64
}

// History is what a phase recorded of a sample of keys.
type History struct {
	Number int      // the phase's
	Keys   []uint64 // ascending
	Events []HistoryEvent
	// UntilNS is the moment up to which each thread recorded every operation that changes these keys:
	// one that is not among Events began then or later. math.MaxInt64: all are there, as always of a
	// thread that only reads.
	UntilNS []int64
	Dropped uint64 // operations that found no room
	Deletes bool   // some thread deletes these keys, recorded or not

	// ClockOf is the number of the clock that told each thread's times, ErrorsNS by how much those of
	// each clock may be wrong beside another's. nil: this machine's told them all.
	ClockOf  []int
	ErrorsNS []int64
}

// NewHistory reads what a phase recorded. c are the counters of the same phase, which has ended or
// whose worker is dead. Each thread had up to pipeline operations on the way at once: where it is
// not 1, one that is not recorded may have begun before the last one that is has ended.
func NewHistory(number int, keys []uint64, t *trace.File, h *counters.History, c *counters.File,
	pipeline int) *History {
	history := &History{Number: number, Keys: keys, UntilNS: make([]int64, len(t.Threads))}
	for i := range t.Threads {
		all, dropped := h.Records(i)
		records, _ := counters.CutFinds(t, i, all)
		history.Dropped += dropped
		history.Events = slices.Grow(history.Events, len(records))
		for _, r := range records {
			if event, fits := newEvent(number, i, t, r); fits {
				history.Events = append(history.Events, event)
			}
		}
		history.Deletes = history.Deletes || hasRecorded(&t.Threads[i],
			func(o trace.Operation) bool { return o == trace.Delete })
		head := c.Thread(i)
		whole := dropped == 0 && head.Attempted == head.Acknowledged && head.State == counters.Ended ||
			!hasRecorded(&t.Threads[i], trace.Operation.Changes)
		switch {
		case whole:
			history.UntilNS[i] = math.MaxInt64
		case pipeline > 1 && len(records) > 0: // a thread's operations begin in their order
			history.UntilNS[i] = int64(records[len(records)-1].BeginNS)
		case pipeline > 1:
			history.UntilNS[i] = 0
		case dropped > 0 && len(records) > 0:
			history.UntilNS[i] = int64(records[len(records)-1].EndNS)
		case dropped > 0:
			history.UntilNS[i] = 0
		default:
			history.UntilNS[i] = int64(head.NowNS)
		}
	}
	return history
}

// OnClock says that another machine's clock told the times of some threads, and puts them on this
// one's: they were shiftNS early, give or take errorNS. Threads of one clock are to be given one shift:
// their order is as exact as that of threads of one machine, and the error is one between clocks alone.
func (h *History) OnClock(first, count, clock int, shiftNS, errorNS int64) {
	if h.ClockOf == nil {
		h.ClockOf, h.ErrorsNS = make([]int, len(h.UntilNS)), []int64{0}
	}
	for len(h.ErrorsNS) <= clock {
		h.ErrorsNS = append(h.ErrorsNS, 0)
	}
	h.ErrorsNS[clock] = max(h.ErrorsNS[clock], errorNS)
	for i := first; i < first+count; i++ {
		h.ClockOf[i] = clock
		if h.UntilNS[i] != math.MaxInt64 {
			h.UntilNS[i] += shiftNS
		}
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Thread >= first && e.Thread < first+count {
			e.BeginNS, e.EndNS = e.BeginNS+shiftNS, e.EndNS+shiftNS
		}
	}
}

// ErrorNS returns by how much the times of different clocks may be wrong at most.
func (h *History) ErrorNS() (ns int64) {
	for _, each := range h.ErrorsNS {
		ns = max(ns, each)
	}
	return ns
}

// hasRecorded says if a thread does such an operation to a recorded key.
func hasRecorded(t *trace.Thread, is func(trace.Operation) bool) bool {
	return slices.ContainsFunc(t.Entries, func(e trace.Entry) bool { return e.IsRecorded() && is(e.Operation()) })
}

// requestOf returns the sequence number of the request that an entry is a step of; 0: of none.
func requestOf(part *trace.Thread, sequence uint64) uint64 {
	if !part.HasRequests() {
		return 0
	}
	for {
		if e, _ := part.EntryAt(sequence); e.Operation() == trace.Request {
			return sequence
		}
		sequence++
	}
}

// newEvent returns what a record means by its trace. A record that the trace has no entry for fits
// nowhere.
func newEvent(number, thread int, t *trace.File, r counters.Recorded) (e HistoryEvent, fits bool) {
	part := &t.Threads[thread]
	if len(part.Entries) == 0 || r.Outcome() >= counters.Outcomes {
		return e, false
	}
	entry, index := part.EntryAt(r.Sequence())
	if !entry.IsRecorded() || entry.Operation().HasMembers() {
		return e, false
	}
	if t.Expires() && r.Read == Absent && !entry.Operation().Puts() {
		return e, false // whether the record's time was over, the worker has held against the lives file
	}
	e = HistoryEvent{
		Request: requestOf(part, r.Sequence()),
		Index:   index, Thread: thread, Sequence: r.Sequence(), Operation: entry.Operation(),
		Batch:   entry.IsMember() && entry.Operation() != trace.Read,
		BeginNS: int64(r.BeginNS), EndNS: int64(r.EndNS), Outcome: r.Outcome(), Read: r.Read, Written: NothingWritten,
	}
	switch {
	case e.Operation == trace.ReadOrFill:
		e = e.parted(keyval.Version(number, thread, r.Sequence()))
		if e.Fill && t.Expires() { // whether it was gone too early, the worker has held against the lives file
			e.Read = NothingRead
		}
		return e, true
	case e.Operation == trace.GetAndSet:
		return e.exchanged(keyval.Version(number, thread, r.Sequence()), t.Expires()), true
	case e.Operation == trace.Delete:
		e.Written = Absent
	case e.Operation.Writes():
		e.Written = keyval.Version(number, thread, r.Sequence())
	}
	return e, true
}

// parted returns what a read that fills was: a read, where it found a value or failed, and otherwise a put
// of a version. Whether a record's time was over when nothing was found, the worker has held against the
// lives file where there is one; the put alone is of interest here.
func (e HistoryEvent) parted(version uint64) HistoryEvent {
	if e.Operation = trace.Read; e.Read != Absent {
		return e
	}
	e.Operation, e.Fill, e.Written = trace.Upsert, true, version
	if e.Outcome == counters.Miss || e.Outcome == counters.Lost {
		e.Outcome = counters.OK
	}
	return e
}

// exchanged returns an exchange, which has put its version where nothing was, too. Where values expire, the
// worker alone knows if something should have been.
func (e HistoryEvent) exchanged(version uint64, expires bool) HistoryEvent {
	e.Written = version
	if e.Outcome == counters.Miss || e.Outcome == counters.Lost {
		e.Outcome = counters.OK
	}
	if e.Read == Absent && expires {
		e.Read = NothingRead
	}
	return e
}
