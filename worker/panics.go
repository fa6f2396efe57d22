package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"assay/internal/evidence/counters"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// A client of a server that panics over what the server sends has failed, as one that throws has in
// other languages: the operation is an error, its handle is given up, and the next operation connects
// anew. An embedded store is not saved: its panic ends the process, as it ends any program's, and what
// it had acknowledged is held against its files. Nor can a client be saved that panics in a goroutine of
// its own.

// surviving calls something of a driver, and returns as an error what a client of a server panics with.
func surviving(d *store.Description, call func() error) (err error) {
	if d.Kind == store.Server {
		defer func() {
			if trouble := recover(); trouble != nil {
				err = panicked(trouble)
			}
		}()
	}
	return call()
}

// panicked is the error of a call that panicked. The first one's stack goes to standard error.
func panicked(trouble any) error {
	firstPanic.Do(func() { fmt.Fprintf(os.Stderr, "worker: the client panicked: %v\n%s", trouble, debug.Stack()) })
	return fmt.Errorf("the client panicked: %v", trouble)
}

var firstPanic sync.Once

// operateSurviving is [thread.operateLiving] of a client of a server. A write that panicked stays under
// way for the times that values live: whether it took effect is unknown.
func (t *thread) operateSurviving(begin int64, entry trace.Entry, index, sequence uint64, position int, lap uint64,
	slot *counters.Slot) (outcome counters.Outcome, now int64, looked bool) {
	if _, lost := t.target.Handle.(lostHandle); lost {
		h, err := t.session.handles.reopen()
		if err != nil {
			t.sawError(position)
			return t.noHandle(entry.Operation(), err), t.clock.NowNS(), true
		}
		t.target = targetOf(h)
	}
	defer func() {
		if trouble := recover(); trouble != nil {
			outcome, now, looked = t.survive(panicked(trouble), entry, position), t.clock.NowNS(), true
		}
	}()
	return t.operateLiving(begin, entry, index, sequence, position, lap, slot)
}

// survive returns the outcome of an operation that panicked, and gives its handle up.
func (t *thread) survive(err error, entry trace.Entry, position int) counters.Outcome {
	outcome := t.failed(entry.Operation(), err)
	t.sawError(position)
	if entry.Operation() == trace.MultiRead {
		t.many.failed(outcome, counters.ObservedError)
	}
	h := t.session.handles
	if h.replaceable() {
		if err := h.giveUp(t.target.Handle); err != nil {
			t.note(entry.Operation(), counters.Error, "closing a handle: "+err.Error())
		}
		t.target = target{Handle: lostHandle{}}
	} else if t.kept && h.mode == control.HandlesPerOperation { // it kept one to read back
		t.target, t.kept = target{}, false
	}
	return outcome
}

// sawError notes that what is watched got no answer.
func (t *thread) sawError(position int) {
	if t.watching {
		t.saw = counters.ObservedError
	}
	if t.observed != nil {
		t.observed[position] = counters.ObservedError
	}
}

// lostHandle stands for a handle that panicked and was closed. Nothing is asked of it: who gets it
// opens another one in its place.
type lostHandle struct{}

var errLost = errors.New("its handle was given up")

func (lostHandle) Get(_, _ []byte) ([]byte, error) { return nil, errLost }
func (lostHandle) Put(_, _ []byte) error           { return errLost }
func (lostHandle) Delete(_ []byte) error           { return errLost }
func (lostHandle) Close() error                    { return nil }

// replaceable reports whether a handle is one thread's while it operates, and stays open behind that.
func (h *handles) replaceable() bool { return h.idle != nil || h.mode == control.HandlesPerThread }

// giveUp closes a handle that panicked.
func (h *handles) giveUp(lost store.Handle) error {
	h.lock.Lock()
	for i := range h.all {
		if h.all[i] == lost {
			h.all[i] = lostHandle{}
		}
	}
	h.lock.Unlock()
	return surviving(h.description, lost.Close)
}

// reopen opens a handle in place of one that was given up.
func (h *handles) reopen() (store.Handle, error) {
	opened, err := h.open()
	if err != nil {
		return nil, err
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	for i := range h.all {
		if _, lost := h.all[i].(lostHandle); lost {
			h.all[i] = opened
			break
		}
	}
	h.first = h.all[0]
	return opened, nil
}

// open opens a handle.
func (h *handles) open() (opened store.Handle, err error) {
	err = surviving(h.description, func() error {
		opened, err = h.store.Handle()
		return err
	})
	return opened, err
}
