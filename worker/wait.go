package worker

import (
	"runtime"
	"time"

	"assay/internal/base/clock"
)

// waiter lets time pass until an operation is due. It sleeps for most of a wait, and spins the rest away,
// since a sleep ends late. It spins as long as nine in ten sleeps are late by, but not beyond its share of the
// processors. A client that spins for longer takes them from the server or the engine that it asks.
type waiter struct {
	alarm     clock.Alarm
	share     float64 // of its time that a thread may spin
	lateNS    int64   // what nine in ten sleeps end late by, or less
	creditNS  int64   // that may be spun away
	countedNS int64   // when the credit was counted
}

const (
	// spinShare is the part of the processors that all threads together may spin.
	spinShare = 1.0 / 4
	// creditMostNS is how much a thread that did not spin may save up.
	creditMostNS = int64(time.Millisecond)
	// lateFirstNS is what a sleep is taken to end late by before any has ended, and lateMostNS the most; a
	// sleep moves the estimate by lateStepNS, or nine times so far up.
	lateFirstNS = int64(50 * time.Microsecond)
	lateMostNS  = int64(1500 * time.Microsecond)
	lateStepNS  = int64(500 * time.Nanosecond)
	// aloneBelowNS is how long others are not let in any more: giving the processor up takes longer than many
	// a store's whole operation. Nor is there sleep so short.
	aloneBelowNS = int64(5 * time.Microsecond)
	// sleepMost is how long a thread sleeps before it looks whether to stop.
	sleepMost = 50 * time.Millisecond
)

// newWaiter is that of one of so many threads that wait at the same time.
func newWaiter(threads int) waiter {
	return waiter{share: min(spinShare*float64(runtime.GOMAXPROCS(0))/float64(max(threads, 1)), 1),
		lateNS: lateFirstNS, creditNS: creditMostNS}
}

// lead returns how long before a moment a sleep should end, at a time in ns.
func (w *waiter) lead(now int64) int64 {
	earned := w.share * float64(now-w.countedNS)
	w.creditNS, w.countedNS = int64(min(float64(w.creditNS)+earned, float64(creditMostNS))), now
	return max(min(w.lateNS, w.creditNS), 0)
}

// slept notes what a sleep ended late by.
func (w *waiter) slept(lateNS int64) {
	if lateNS > w.lateNS {
		w.lateNS = min(w.lateNS+9*lateStepNS, lateMostNS)
	} else {
		w.lateNS = max(w.lateNS-lateStepNS, 0)
	}
}

// spun notes time that was spun away.
func (w *waiter) spun(ns int64) { w.creditNS -= ns }

// close gives up the timer. It costs its descriptor alone where that fails.
func (w *waiter) close() { _ = w.alarm.Close() }
