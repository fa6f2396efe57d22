package storetest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// latenessRule runs phases in which little can be said of lateness by chance. What each of their
// threads counts is held against its times by auditLateness.
func latenessRule(b *bench) error {
	threads := b.threads(4)
	if err := b.openAny(opening{threads: threads}); err != nil {
		return err
	}

	// One operation a thread, which can be late by what it took to begin, and by nothing else.
	for range 5 {
		single := b.script(threads)
		single.flags = trace.FlagDue
		for thread := range threads {
			single.do(thread, trace.Upsert, b.base(single.keys)+uint64(thread), 50)
			single.threads[thread].Due, single.threads[thread].LapNS = []uint64{0}, 1
		}
		if _, err := b.run(single); err != nil {
			return err
		}
	}

	// A queue: all are due at once, and each waits for those before, which is the store's lateness.
	queued := b.script(1)
	queued.flags = trace.FlagDue
	const n = 300
	for i := range uint64(n) {
		queued.do(0, trace.Upsert, b.base(queued.keys)+i, 500)
	}
	queued.threads[0].Due, queued.threads[0].LapNS = make([]uint64, n), 1
	if _, err := b.run(queued); err != nil {
		return err
	}
	if err := b.lateAfterPause(); err != nil {
		return err
	}
	return b.close()
}

const (
	pausedUntil   = 100 * time.Millisecond // after an operation is due
	pauseAttempts = 4
)

// lateAfterPause keeps the worker from its processor while an operation becomes due: a wait that is
// the worker's, and not its store's.
func (b *bench) lateAfterPause() error {
	due := 200 * time.Millisecond
	for range pauseAttempts {
		r, paused, err := b.pauseOver(due)
		if err != nil {
			return err
		}
		if !paused {
			due *= 3 // the machine is busy, and the pause came too late
			continue
		}
		longest := time.Duration(r.sample.LatenessMaxNS)
		// Half of it, for the start that the worker tells may have been read a little before its
		// clock's own origin.
		if longest < pausedUntil/2 {
			b.fault("lateness: the worker was stopped until %v after an operation was due, but says that it began at most %v late", pausedUntil, longest)
		}
		if word := counters.LatenessWord(uint64(pausedUntil / 2)); !slices.ContainsFunc(r.sample.Late[word:],
			func(n uint64) bool { return n > 0 }) {
			b.fault("lateness: the worker was stopped until %v after an operation was due, but counts none in word %d or above", pausedUntil, word)
		}
		return nil
	}
	return fmt.Errorf("lateness: the worker did not stop in time for an operation that was due after %v, in %d attempts", due, pauseAttempts)
}

// pauseOver runs two operations, the second one due after a while, and stops the worker's processes
// from before then until after. paused is false if they were not stopped in time.
func (b *bench) pauseOver(due time.Duration) (r *ran, paused bool, err error) {
	s := b.script(1)
	s.flags = trace.FlagDue
	s.do(0, trace.Upsert, b.base(s.keys), 50)
	s.do(0, trace.Upsert, b.base(s.keys), 50)
	s.threads[0].Due, s.threads[0].LapNS = []uint64{0, uint64(due)}, uint64(due)
	running, err := b.begin(s)
	if err != nil {
		return nil, false, err
	}
	if err := running.await("the first of two operations", func(now counters.Sample) bool { return now.Acknowledged[0] >= 1 }); err != nil {
		return nil, false, err
	}
	dueAt := int64(running.counters.StartNS()) + int64(due)
	group := -b.worker.PID() // a worker's processes are a group of their own
	if err := unix.Kill(group, unix.SIGSTOP); err != nil {
		return nil, false, fmt.Errorf("stopping the worker for a moment: %w", err)
	}
	for !paused && clock.MonotonicNS() < dueAt {
		if paused, err = isStopped(b.worker.PID()); err != nil {
			break
		}
		paused = paused && clock.MonotonicNS() < dueAt
	}
	if paused {
		time.Sleep(time.Duration(dueAt-clock.MonotonicNS()) + pausedUntil)
	}
	if killErr := unix.Kill(group, unix.SIGCONT); killErr != nil {
		return nil, false, fmt.Errorf("letting the worker go on: %w", killErr)
	}
	if err != nil {
		return nil, false, err
	}
	r, err = running.wait()
	return r, paused, err
}

// isStopped says if all threads of a process are.
func isStopped(pid int) (bool, error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, name := range names {
		text, err := bounded.Kernel(name)
		if err != nil {
			return false, fmt.Errorf("looking whether the worker has stopped: %w", err)
		}
		// proc(5): the state comes after the name, which stands in parentheses.
		if _, state, ok := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")); !ok || len(state) == 0 || state[0] != 'T' {
			return false, nil
		}
	}
	return len(names) > 0, nil
}
