package host

import (
	"sync"
	"time"

	"assay/internal/base/clock"
)

// LookEveryNS is how often a [StopWatch] looks.
const LookEveryNS = 50_000_000

// gapNS is by how much the time between two looks must exceed LookEveryNS for it to be a gap: no
// load of a machine that can be measured on keeps a thread waiting so long.
const gapNS = 500_000_000

// Stop is a stretch of time in which something outside kept processes from running, in ns of
// CLOCK_MONOTONIC. SleptNS is what that clock does not count.
type Stop struct {
	Why          string // StoppedBySignal, …
	FromNS, ToNS int64
	SleptNS      int64
}

// StopWatch notes when something outside stopped some processes, this one, or the machine. A
// goroutine looks, whatever else is done meanwhile: a stop that falls into the reading of a sample
// is one too. Its methods may be called from any goroutine.
type StopWatch struct {
	over, ended chan struct{}

	mu        sync.Mutex
	processes *Stopped
	all       []Stop
	lookedNS  int64 // when the last look was
	current   string
}

// WatchStops begins to look at processes, until End is called.
func WatchStops(pids ...int) *StopWatch {
	w := &StopWatch{over: make(chan struct{}), ended: make(chan struct{}), processes: NewStopped(pids...),
		lookedNS: clock.MonotonicNS()}
	go func() {
		defer close(w.ended)
		ticker := time.NewTicker(LookEveryNS)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-w.over:
				return
			}
			w.Look()
		}
	}()
	return w
}

// End ends the looking, with a last look. It is to be called once.
func (w *StopWatch) End() {
	close(w.over)
	<-w.ended
	w.Look()
}

// Look looks now, too.
func (w *StopWatch) Look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(clock.MonotonicNS())
}

// Now says why a process is stopped; "": none is known to be.
func (w *StopWatch) Now() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current
}

// look is to be called with the lock held.
func (w *StopWatch) look(nowNS int64) {
	before := w.current
	w.current = w.processes.Look()
	if nowNS-w.lookedNS > LookEveryNS+gapNS {
		w.add(Stop{Why: StoppedGap, FromNS: w.lookedNS, ToNS: nowNS})
	}
	if slept := w.processes.SleptNS(); slept > 0 {
		w.add(Stop{Why: StoppedSuspend, FromNS: w.lookedNS, ToNS: nowNS, SleptNS: slept})
	}
	if why := w.current; why != "" {
		// It began after the look before, and whatever came to its end by now belongs to it.
		w.add(Stop{Why: why, FromNS: w.lookedNS, ToNS: nowNS})
	} else if before != "" {
		w.add(Stop{Why: before, FromNS: w.lookedNS, ToNS: nowNS})
	}
	w.lookedNS = nowNS
}

// add joins what goes on from the last one.
func (w *StopWatch) add(next Stop) {
	if last := len(w.all) - 1; last >= 0 && w.all[last].Why == next.Why && w.all[last].ToNS >= next.FromNS {
		w.all[last].ToNS = next.ToNS
		w.all[last].SleptNS += next.SleptNS
		return
	}
	w.all = append(w.all, next)
}

// Within returns why something was stopped between two moments before the last look; "": nothing is
// known to have.
func (w *StopWatch) Within(fromNS, toNS int64) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all {
		if one.FromNS < toNS && one.ToNS > fromNS {
			return one.Why
		}
	}
	return ""
}

// Since returns the stops that ended after a moment, cut at it.
func (w *StopWatch) Since(startNS int64) (all []Stop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.all {
		if one.ToNS > startNS {
			one.FromNS = max(one.FromNS, startNS)
			all = append(all, one)
		}
	}
	return all
}
