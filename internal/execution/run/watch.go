package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/base/clock"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
	"assay/internal/experiment/trace"
)

// ending is what a phase knows of when it must end.
type ending struct {
	disk     *diskWatch    // nil: nothing can fill up
	why      record.Ending // this side asked the worker to stop; "": it has not
	at       time.Time     // when
	progress progress
	silence  silence
	gaveUp   string // why it was given up, if its store is silent
}

// progress tells a worker that hangs from one that is slow.
type progress struct {
	done      uint64
	at        time.Time
	collected float64 // ownCounters.collected at that time
}

// watch lets the phase run and samples it until it ends. It returns why the phase did not end well,
// if so; what was counted until then stays.
func (p *phase) watch(ctx context.Context) error {
	p.observeBeginning()
	p.stops = watchStops(p.clients, p.tested, p.faults != nil)
	defer p.stops.End()
	p.outside.asked = clock.MonotonicNS()
	if err := p.workers.run(); err != nil && p.workers.died() {
		return err
	}
	p.faults.begin(ctx, p.workers.startNS)
	began, period := time.Now(), p.sampleEvery
	p.end.progress.at = began
	// what was missed is not made up for
	for tick := time.Duration(1); ; tick = max(tick, time.Since(began)/period) + 1 {
		done, err := p.waitUntil(ctx, began.Add(tick*period))
		if done {
			return p.replied(err)
		}
		if ctx.Err() != nil {
			p.stop(record.EndedInterrupted)
		}
		if err := p.takeSample(); err != nil {
			p.workers.abandon(err)
			return err
		}
		p.giveUpSilent()
		if why := p.hangs(began); why != "" {
			p.workers.hang(why)
			if p.end.why == record.EndedInterrupted {
				return clients.ErrInterrupted
			}
			return p.workers.failure
		}
	}
}

// observeBeginning notes what the machine has done by now, and the counters as they begin.
func (p *phase) observeBeginning() {
	p.began.written = p.writes.onDisk()
	p.began.throttle = p.sampler.Throttling()
	p.began.confined = p.confinement()
	if p.writes.server != nil {
		if why := p.writes.server(); why != "" {
			p.sampler.IgnoreServerWrites(why)
		}
	}
	p.began.usage = p.sampler.Sample()
	p.sampler.BeginResources(p.began.usage)
	p.read.usage = p.began.usage
	p.began.synced = p.syncs.begin()
	p.workers.look(false, time.Second) // what agents have used by now is not the phase's
	p.read.keep(p.read.now(p.read.fine))
}

// replied takes the last sample of a phase whose processes have all replied, or are gone. err is the
// first that one of them met.
func (p *phase) replied(err error) error {
	p.outside.replied = clock.MonotonicNS()
	if sampleErr := p.lastSample(); err == nil {
		err = sampleErr
	}
	if err == nil && p.end.why == record.EndedInterrupted {
		err = clients.ErrInterrupted
	}
	if err == nil {
		err = p.tested.own.died()
	}
	return err
}

// takeSample takes a sample.
func (p *phase) takeSample() error {
	err := p.read.sample(p.stops, &p.outside, p.end.disk)
	if !errors.Is(err, errNoRoom) {
		return err
	}
	p.meetNoRoom()
	return nil
}

// meetNoRoom ends a phase that found no room, unless it is tireless: its samples are kept until the
// store's files are gone. The final check writes no more than them, and one that is cut short says
// nothing.
func (p *phase) meetNoRoom() {
	if !p.tireless {
		p.stop(record.EndedDiskFull)
	}
}

// lastSample adds what came since the sample before, unless that is so little that its rate would
// mean nothing. Where the worker died or filled the disk before the first sample, it is all that
// there is.
func (p *phase) lastSample() error {
	p.workers.lookLast() // an agent's reply may be here before the phase's end, which its counters report
	start, end := p.workers.startNS(), p.workers.endNS()
	if start == 0 || end <= start {
		return nil
	}
	full := p.end.disk.full(p.files.Counters.Messages())
	if full {
		p.stop(record.EndedDiskFull)
	}
	least := p.sampleEvery.Seconds() / 2
	if short := float64(end-start)/1e9-p.read.lastAt < least; short && (p.read.lastAt > 0 || !p.workers.died() &&
		!full) {
		return nil
	}
	return p.takeSample()
}

// stop asks the worker to end the phase. Only the first reason counts.
func (p *phase) stop(why record.Ending) {
	if p.end.why == "" {
		p.end.why, p.end.at = why, time.Now()
		p.files.Counters.Stop()
		p.workers.stopAgents()
	}
}

// waitUntil waits for the worker's reply or a moment, or for the user to stop the run. It looks at
// the disk quota meanwhile.
func (p *phase) waitUntil(ctx context.Context, moment time.Time) (done bool, err error) {
	for {
		left := time.Until(moment)
		if left <= 0 {
			return false, nil
		}
		look, wanted := p.read.wantsLook()
		if wanted {
			left = min(left, max(look, 0))
		}
		done, err := p.workers.await(min(left, host.LookEveryNS))
		if done {
			return true, err
		}
		if wanted && look <= left {
			p.read.lookOverTime()
		}
		if ctx.Err() != nil && p.end.why == "" {
			return false, nil
		}
		if p.end.disk.reached(time.Now()) {
			p.stop(record.EndedQuota)
		}
		if p.tested.own.died() != nil {
			p.stop(record.EndedFailed)
		}
	}
}

// hangs says why the worker must be taken to hang, or "".
func (p *phase) hangs(began time.Time) string {
	e, patience := &p.end, p.patience
	var done uint64
	for _, n := range p.read.last.Acknowledged {
		done += n
	}
	collected := p.read.own.collected
	if done != e.progress.done {
		e.progress = progress{done, time.Now(), collected}
	}
	busy := later(e.progress.at, dueSince(p.file, p.read.last.Acknowledged, began))
	if idle := time.Since(busy); idle > min(patience, fullPatience) && idle > p.disk.patience(patience) {
		if why := p.stops.Now(); why != "" {
			return fmt.Sprintf("it was stopped from outside (%s), and no operation ended for %.0f s", why, idle.Seconds())
		}
		if took := collected - e.progress.collected; took > idle.Seconds()/2 {
			return fmt.Sprintf("no operation ended for %.0f s, of which its JVM collected garbage for %.1f s", idle.Seconds(), took)
		}
		return fmt.Sprintf("no operation ended for %.0f s", idle.Seconds())
	}
	deadline := time.Duration(p.request.DeadlineNS)
	if over := time.Since(began) - deadline; deadline > 0 && over > patience {
		return fmt.Sprintf("the phase went on %.0f s after its deadline", over.Seconds())
	}
	if e.why == record.EndedInterrupted && time.Since(e.at) > clients.StopPatience {
		return "it did not stop"
	}
	if e.why == record.EndedUnanswered {
		return "" // its last operations wait for their own time-outs, or for the patience above
	}
	if e.why != "" && time.Since(later(e.progress.at, e.at)) > min(patience, 10*time.Second) {
		return "it did not stop"
	}
	return ""
}

// dueSince returns since when, at the latest, a worker that does its work and has ended so many
// operations has had another one to do: in open load it may wait for the next one to be due, and a group
// for its begin.
func dueSince(file *trace.File, acknowledged []uint64, began time.Time) (due time.Time) {
	for i := range file.Threads {
		thread, ended := &file.Threads[i], acknowledged[i]
		over := thread.UntilNS > 0 && time.Since(began) > time.Duration(thread.UntilNS)
		if over || thread.Limit > 0 && ended >= thread.Limit || len(thread.Entries) == 0 {
			continue
		}
		at := began.Add(time.Duration(thread.FromNS))
		if len(thread.Due) > 0 {
			at = began.Add(time.Duration(thread.DueOf(ended)))
		}
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	return due
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// giveUpSilent ends a phase that has no time of its own and whose store is silent.
func (p *phase) giveUpSilent() {
	if p.request.DeadlineNS > 0 || p.end.why != "" {
		return
	}
	if p.end.gaveUp = p.end.silence.look(p.read.last.Totals, len(p.file.Threads), p.patience, time.Now()); p.end.gaveUp != "" {
		p.stop(record.EndedUnanswered)
	}
}

// endedBy says why the phase was ended; "": it ended by itself. err is what watching it gave.
func (p *phase) endedBy(err error) record.Ending {
	switch {
	case err != nil && p.memory.killed():
		return record.EndedMemory
	case err != nil && errors.Is(err, clients.ErrInterrupted):
		return record.EndedInterrupted
	case err != nil && (p.end.why == record.EndedDiskFull || p.disk.noRoom(err)):
		p.disk.full = true // by the time of this reply, files of the dead worker may have made room
		return record.EndedDiskFull
	case err != nil:
		return record.EndedFailed
	case p.end.why != "":
		return p.end.why
	}
	return "" // by itself
}
