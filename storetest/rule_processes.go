package storetest

import (
	"fmt"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment/trace"
	"assay/store"
)

// startTogether leaves both processes the time to read the request.
const startTogether = 100 * time.Millisecond

// processesRule lets two workers do phases together: each writes, and then reads and overwrites what
// the other has written.
func processesRule(b *bench) error {
	d := b.description
	if !d.Processes {
		return skip("%s does not claim that several processes may have the store open", d.Name)
	}
	if d.Eventual {
		return skip("%s may show one process an older value than another has written", d.Name)
	}
	const threads, records = 4, 40
	o := opening{threads: threads}
	if d.Kind == store.Embedded {
		var err error
		if o.directory, err = b.newDirectory(); err != nil {
			return err
		}
	}
	if err := b.openFor(o); err != nil {
		return err
	}
	if err := b.openSecond(o); err != nil {
		return err
	}
	defer b.endSecond()

	base := uint64(0)
	phase := func(what string, do trace.Operation, of func(thread int) int) error {
		s := b.script(threads)
		base = b.base(s.keys)
		for thread := range threads {
			for i := range uint64(records) {
				s.do(thread, do, base+uint64(of(thread))*records+i, 100)
			}
		}
		r, err := b.run(s)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		b.allDone(r, what)
		return nil
	}
	own := func(thread int) int { return thread }
	others := func(thread int) int { return (thread + threads/2) % threads }
	if err := phase("two processes write", trace.Insert, own); err != nil {
		return err
	}
	if err := phase("each reads what the other has written", trace.Read, others); err != nil {
		return err
	}
	if err := phase("each overwrites what the other has written", trace.Update, others); err != nil {
		return err
	}
	if err := phase("each reads what the other has overwritten", trace.Read, own); err != nil {
		return err
	}
	if err := b.second.Call(control.Request{Command: control.CommandClose}, b.target.StepTimeout, nil); err != nil {
		return fmt.Errorf("closing the store in the second process: %w", err)
	}
	b.endSecond()
	if err := phase("one reads, once the other has closed the store", trace.Read, own); err != nil {
		return err
	}
	return b.close()
}

// openSecond starts a second worker, and opens the store there as well.
func (b *bench) openSecond(o opening) error {
	r, err := b.request(o)
	if err != nil {
		return err
	}
	if b.second, err = conductor.Start(b.target.Command, &b.log); err != nil {
		return err
	}
	if err := b.second.Call(r, b.target.StepTimeout, nil); err != nil {
		return fmt.Errorf("opening the store in a second process: %w", err)
	}
	return nil
}

func (b *bench) endSecond() {
	if b.second == nil {
		return
	}
	b.second.Kill()
	_ = b.second.End(b.target.StepTimeout) // it says that the worker was killed
	b.second = nil
}

// processes returns how many workers do a phase.
func (b *bench) processes() int {
	if b.second == nil {
		return 1
	}
	return 2
}

// prepareIn lets the worker get ready for a phase, or both for half of its threads each.
func (b *bench) prepareIn(p control.Prepare, threads int) error {
	if b.second != nil {
		p.ThreadCount = threads / 2
	}
	if err := b.call(control.Request{Command: control.CommandPrepare, Prepare: &p}, nil); err != nil ||
		b.second == nil {
		return err
	}
	p.Process, p.FirstThread, p.ThreadCount = 1, threads/2, threads-threads/2
	return b.second.Call(control.Request{Command: control.CommandPrepare, Prepare: &p}, b.target.StepTimeout, nil)
}

// startPhase lets the prepared phase run.
func (r *running) startPhase() (err error) {
	b, request := r.bench, control.Request{Command: control.CommandRun}
	if b.second != nil {
		r.startNS = clock.MonotonicNS() + int64(startTogether)
		request.Run = &control.Run{StartNS: r.startNS}
		if r.second, err = b.second.Send(request); err != nil {
			return err
		}
	}
	r.pending, err = b.worker.Send(request)
	return err
}

// waitForSecond waits for the second worker, and holds what both say of the phase's times against
// each other.
func (r *running) waitForSecond() error {
	if r.second == nil {
		return nil
	}
	done, err := r.second.Wait(r.bench.target.StepTimeout, nil)
	if !done {
		err = r.bench.second.Hung(fmt.Sprintf("a phase had not ended after %v", r.bench.target.StepTimeout))
	}
	for i := range r.counters.Processes() {
		own := r.counters.Process(i)
		if own.State() != counters.Ended || own.StartNS() < uint64(r.startNS) || own.EndNS() < own.StartNS() {
			r.bench.fault("process %d of the phase says state %d, start %d and end %d, expected 2 (ended), %d or later, and later still", i, own.State(), own.StartNS(), own.EndNS(), r.startNS)
		}
	}
	return err
}
