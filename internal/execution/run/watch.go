package run

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"assay/internal/base/clock"
	"assay/internal/base/finding"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/execution/event"
	"assay/internal/execution/phasefiles"
	"assay/internal/experiment/trace"
)

// watched is a phase that runs: its files, what was last read of its counters, and its result as it
// grows.
type watched struct {
	trial   *trial
	file    *trace.File
	files   *phasefiles.Files
	request *control.Prepare
	result  *record.Phase

	parts []*part // its groups, or the whole phase

	recorded  []uint64     // keys whose history is recorded
	specs     []trace.Spec // that agents make their traces of; nil: it is done on this machine
	shares    []*share
	startAt   int64 // when several processes begin, on CLOCK_MONOTONIC; 0: not yet, or one does all
	failure   error // the first that a process met
	fine      bool  // histograms are read with each sample
	last      counters.Sample
	lastAt    float64 // seconds since the phase began
	usage     host.Usage
	first     host.Usage
	throttle  host.Throttling // when the phase began
	written   diskWritten     // when the phase began
	synced    syncsDone       // when the phase began
	rssMax    uint64
	server    uint64 // the largest resident memory of the servers that was seen
	shared    string // why what their processes share is in it more than once
	bad       uint64 // operations that were lost, wrong, errors or timeouts
	missing   uint64 // of these, what a store that evicts may have removed
	progress  progress
	collected float64 // seconds for which collectors of a JVM have stopped it, by what it told last
	seen      seen
	stops     *stops
	disk      *diskWatch    // nil: nothing can fill up
	ending    record.Ending // why this side asked the worker to stop; "": it has not
	silence   silence
	gaveUp    string    // why it was given up, if its store is silent
	stoppedAt time.Time // when
	batches   batched   // what batches do to the number of records
	stats     []string  // the store's own counters that the worker tells meanwhile
	rounds    uint64    // of these
	telemetry record.Telemetry
	faults    *faults // that happen in it; nil: none
}

// lanesFine is how many thread-and-operation pairs may have their histograms read with each sample:
// 37 KB each.
const lanesFine = 64

// begin maps the files and lets the processes, of which each does so many threads, map them and get
// ready. The trace has its specs where agents do the phase; none: it is done here.
func (t *trial) begin(
	made phaseTrace, layout, numbers []int, request *control.Prepare, result *record.Phase,
) (*watched, error) {
	makeFiles := mapFiles
	if made.specs != nil {
		makeFiles = mapCounters
	}
	files, err := makeFiles(made, len(layout))
	if err != nil {
		return nil, err
	}
	file := made.file
	w := &watched{trial: t, file: file, specs: made.specs, recorded: made.keys, files: files,
		request: request, result: result, fine: len(file.Threads)*len(file.Operations) <= lanesFine}
	w.partition()
	if files.Trace != nil {
		request.Trace = files.Trace.Name()
	}
	request.Counters = files.CountersFile.Name()
	if files.HistoryFile != nil && made.specs == nil {
		request.History = files.HistoryFile.Name()
	}
	if err = w.deal(layout, numbers); err == nil {
		err = w.prepare()
	}
	files.Forget()
	if err != nil {
		w.close()
		return nil, err
	}
	w.disk = t.disk.watch(file)
	return w, nil
}

func (w *watched) close() {
	w.detach()
	if err := w.files.Unmap(); err != nil {
		w.trial.run.view.Message("unmapping the counters: " + err.Error())
	}
}

// progress tells a worker that hangs from one that is slow.
type progress struct {
	done      uint64
	at        time.Time
	collected float64 // watched.collected at that time
}

// watch lets the phase run and samples it until it ends. It returns why the phase did not end well,
// if so; what was counted until then stays.
func (w *watched) watch(ctx context.Context) error {
	t, period := w.trial, time.Duration(w.result.SampleNS)
	w.written = t.writes.onDisk()
	w.throttle = t.sampler.Throttling()
	if t.writes.server != nil {
		if why := t.writes.server(); why != "" {
			t.sampler.IgnoreServerWrites(why)
		}
	}
	w.first = t.sampler.Sample()
	t.sampler.BeginResources(w.first)
	w.usage = w.first
	w.synced = t.syncs.begin()
	w.lookAway(false, time.Second) // what agents have used by now is not the phase's
	w.keep(w.read(w.fine))
	w.stops = t.watchStops(w.faults != nil)
	defer w.stops.end()
	w.seen.asked = clock.MonotonicNS()
	if err := w.letGo(); err != nil && w.died() {
		return err
	}
	w.faults.begin(ctx, w.startNS)
	began := time.Now()
	w.progress.at = began
	for tick := time.Duration(1); ; tick = max(tick, time.Since(began)/period) + 1 { // what was missed is not made up for
		done, err := w.waitUntil(ctx, began.Add(tick*period))
		if done {
			w.seen.replied = clock.MonotonicNS()
			if sampleErr := w.lastSample(); err == nil {
				err = sampleErr
			}
			if err == nil && w.ending == record.EndedInterrupted {
				err = errInterrupted
			}
			if err == nil {
				err = w.trial.tested.own.died()
			}
			return err
		}
		if ctx.Err() != nil {
			w.stop(record.EndedInterrupted)
		}
		if err := w.sample(); err != nil {
			w.abandon(err)
			return err
		}
		w.giveUpSilent()
		if why := w.hangs(began); why != "" {
			w.hang(why)
			if w.ending == record.EndedInterrupted {
				return errInterrupted
			}
			return w.failure
		}
	}
}

// stop asks the worker to end the phase. Only the first reason counts.
func (w *watched) stop(why record.Ending) {
	if w.ending == "" {
		w.ending, w.stoppedAt = why, time.Now()
		w.files.Counters.Stop()
		w.stopAway()
	}
}

// waitUntil waits for the worker's reply or a moment, or for the user to stop the run. It looks at
// the disk quota meanwhile.
func (w *watched) waitUntil(ctx context.Context, moment time.Time) (done bool, err error) {
	for {
		left := time.Until(moment)
		if left <= 0 {
			return false, nil
		}
		done, err := w.await(min(left, lookEveryNS))
		if done {
			return true, err
		}
		if ctx.Err() != nil && w.ending == "" {
			return false, nil
		}
		if w.disk.reached(time.Now()) {
			w.stop(record.EndedQuota)
		}
		if w.trial.tested.own.died() != nil {
			w.stop(record.EndedFailed)
		}
	}
}

// hangs says why the worker must be taken to hang, or "".
func (w *watched) hangs(began time.Time) string {
	patience := w.trial.run.experiment.StepTimeout
	var done uint64
	for _, n := range w.last.Acknowledged {
		done += n
	}
	if done != w.progress.done {
		w.progress = progress{done, time.Now(), w.collected}
	}
	if idle := time.Since(w.busySince(began)); idle > min(patience, fullPatience) && idle > w.trial.disk.patience(patience) {
		if why := w.stops.now(); why != "" {
			return fmt.Sprintf("it was stopped from outside (%s), and no operation ended for %.0f s", why, idle.Seconds())
		}
		if collected := w.collected - w.progress.collected; collected > idle.Seconds()/2 {
			return fmt.Sprintf("no operation ended for %.0f s, of which its JVM collected garbage for %.1f s", idle.Seconds(), collected)
		}
		return fmt.Sprintf("no operation ended for %.0f s", idle.Seconds())
	}
	deadline := time.Duration(w.request.DeadlineNS)
	if over := time.Since(began) - deadline; deadline > 0 && over > patience {
		return fmt.Sprintf("the phase went on %.0f s after its deadline", over.Seconds())
	}
	if w.ending == record.EndedInterrupted && time.Since(w.stoppedAt) > stopPatience {
		return "it did not stop"
	}
	if w.ending == record.EndedUnanswered {
		return "" // its last operations wait for their own time-outs, or for the patience above
	}
	if w.ending != "" && time.Since(later(w.progress.at, w.stoppedAt)) > min(patience, 10*time.Second) {
		return "it did not stop"
	}
	return ""
}

// busySince returns since when, at the latest, a worker that does its work has had an operation to
// do and has ended none: in open load it may wait for the next one to be due, and a group for its
// begin.
func (w *watched) busySince(began time.Time) time.Time {
	var due time.Time
	for i := range w.file.Threads {
		thread, ended := &w.file.Threads[i], w.last.Acknowledged[i]
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
	return later(w.progress.at, due)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// sample reads the counters and the machine and writes a line of the series. What that costs is
// counted.
func (w *watched) sample() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := host.ThreadCPU()
	defer func() { w.telemetry.CPUSeconds += (host.ThreadCPU() - began).Seconds() }()
	start := w.startNS()
	fromNS := clock.MonotonicNS()
	fresh := w.lookAway(w.fine && start > 0, w.samplePatience())
	parts, now := w.read(w.fine && start > 0)
	nowNS := clock.MonotonicNS()
	if fresh {
		w.seen.look(fromNS, nowNS, now.Acknowledged)
	}
	if start == 0 {
		return nil // the threads are not running yet
	}
	if end := w.endNS(); end > 0 {
		nowNS = int64(end)
	}
	at := float64(nowNS-int64(start)) / 1e9
	if at <= w.lastAt {
		return nil
	}
	for i, p := range w.parts {
		p.milestones.look(parts[i].Acknowledged, at)
		p.turns.look(parts[i].Acknowledged, at)
	}
	w.trial.tested.follow()
	usage := w.addAway(w.trial.sampler.Sample())
	w.stops.lookNow()
	s := record.Sample{Phase: w.result.Name, At: at, Seconds: at - w.lastAt,
		Stopped: w.stops.within(int64(start)+int64(w.lastAt*1e9), nowNS)}
	all := counted(w.parts, parts, w.fine)
	s.Operations, s.ByName, s.Bad, s.P50NS, s.P99NS, s.MaxNS = all.Operations, all.ByName, all.Bad, all.P50NS, all.P99NS, all.MaxNS
	if len(w.parts) > 1 {
		for i := range w.parts {
			s.Groups = append(s.Groups, counted(w.parts[i:i+1], parts[i:i+1], w.fine))
		}
	}
	interval := usage.Since(w.usage)
	s.Records, s.DiskBytes, s.RSSBytes = w.stored(now), usage.DiskBytes, usage.RSSBytes
	s.CPUSeconds, s.WriteBytes, s.ReadBytes = interval.CPUSeconds, interval.HostWriteBytes, interval.HostReadBytes
	s.Steal, s.Foreign = interval.Steal, interval.Foreign
	s.Resources, s.Stats = record.ValuesOf(w.trial.sampler.Resources(usage)), record.ValuesOf(w.storeStats())
	if usage.RSSBytes != nil {
		w.rssMax = max(w.rssMax, *usage.RSSBytes)
	}
	w.seeServer(usage)
	w.keep(parts, now)
	w.lastAt, w.usage = at, usage
	w.telemetry.Readings++
	if s.Bad > 0 && w.disk.full(w.files.Counters.Messages()) {
		w.stop(record.EndedDiskFull)
	}
	if err := w.trial.writer.Sample(s); record.IsFull(err) {
		w.meetFullDisk()
	} else if err != nil {
		return fmt.Errorf("%w: %w", errRunDirectory, err)
	}
	missing := w.missing
	w.bad += s.Bad
	w.missing = w.misses()
	missed := w.missing - missing // in this sample
	w.trial.rates = append(w.trial.rates, record.Sample{Phase: s.Phase, At: s.At, Seconds: s.Seconds, Operations: s.Operations, Bad: s.Bad,
		Stopped: s.Stopped, MaxNS: s.MaxNS})
	w.trial.run.view.Tick(event.Tick{Rate: float64(s.Operations-min(s.Bad-min(missed, s.Bad), s.Operations)) / max(s.Seconds, 1e-9), P99NS: s.P99NS,
		Bad: w.bad - min(w.missing, w.bad), Missing: w.missing,
		Elapsed: time.Duration(at * float64(time.Second)), Planned: time.Duration(w.request.DeadlineNS)})
	w.measured(&s, false)
	return nil
}

// measured tells who watches by program what was read last; s is nil where no line was written.
func (w *watched) measured(s *record.Sample, over bool) {
	t := w.trial
	if meter := t.run.options.Meter; meter != nil {
		meter.Measured(&event.Measured{Trial: t.plan, Cell: t.cell.Label(t.run.experiment), Phase: w.result.Name,
			Totals: w.last.Totals, Sample: s, Over: over})
	}
}

// storeStats returns what the store told of itself since the sample before; nil if nothing.
func (w *watched) storeStats() map[string]float64 {
	if len(w.stats) == 0 {
		return nil
	}
	rounds, values := w.files.Counters.Stats(len(w.stats))
	if rounds == w.rounds {
		return nil
	}
	w.rounds = rounds
	told := make(map[string]float64, len(values))
	collected := 0.0
	for i, value := range values {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			told[w.stats[i]] = value
			if record.IsCollection(w.stats[i]) {
				collected += value / 1e9
			}
		}
	}
	w.collected = collected
	return told
}

// lastSample adds what came since the sample before, unless that is so little that its rate would
// mean nothing. Where the worker died or filled the disk before the first sample, it is all that
// there is.
func (w *watched) lastSample() error {
	w.lookLastAway() // an agent's reply may be here before the phase's end, which its counters tell
	start, end := w.startNS(), w.endNS()
	if start == 0 || end <= start {
		return nil
	}
	full := w.disk.full(w.files.Counters.Messages())
	if full {
		w.stop(record.EndedDiskFull)
	}
	least := float64(w.result.SampleNS) / 2e9
	if short := float64(end-start)/1e9-w.lastAt < least; short && (w.lastAt > 0 || !w.died() && !full) {
		return nil
	}
	return w.sample()
}

// misses is how many records that were read last were missing, of a store that counts what it removes
// by itself: while the phase goes on, nobody knows if they are losses.
func (w *watched) misses() (n uint64) {
	if !w.trial.evicted.counts {
		return 0
	}
	for _, p := range w.parts {
		for i, total := range p.last.Totals {
			if p.counts(i) {
				n += total.Outcomes[counters.Lost]
			}
		}
	}
	return n
}

func bad(t counters.Total) uint64 {
	refused := t.Outcomes[counters.Conflict]
	if t.Operation.Conditional() {
		refused = 0
	}
	return t.Outcomes[counters.Lost] + t.Outcomes[counters.Wrong] + t.Outcomes[counters.Error] + t.Outcomes[counters.Timeout] + refused
}

// collect reads the final counters into the result and returns in what they disagree, for each part
// of the phase.
func (w *watched) collect() (problems [][]finding.Message) {
	c, r := w.files.Counters, w.result
	r.Runtime = w.told()
	r.Telemetry = &w.telemetry
	now := w.trial.sampler.Sample()
	fromNS := clock.MonotonicNS()
	fresh := w.lookLastAway()
	w.historiesAway()
	now, r.Agents = w.addAway(now), w.agentShares()
	w.keep(w.read(true))
	if fresh {
		w.seen.look(fromNS, clock.MonotonicNS(), w.last.Acknowledged)
	}
	w.measured(nil, true)
	r.Messages = messages(c.Messages())
	r.Clock, r.ClockDrift = w.clocks()
	r.StartSpreadNS = w.startSpreadNS()
	if start, end := w.startNS(), w.endNS(); end > start {
		r.ElapsedNS = int64(end - start)
	} else {
		r.ElapsedNS = int64(w.lastAt * 1e9) // the worker died before an operation ended
	}
	for _, p := range w.parts {
		problems = append(problems, w.collectPart(p))
	}
	w.sumParts()
	r.Stops = w.stops.since(int64(w.startNS()))
	r.Syncs = w.trial.syncs.of(r, w.synced)
	w.trial.run.tellUnchecked(r.Syncs)
	if !w.died() {
		w.usedBy(now)
		r.Machine = machine(now.Since(w.first), w.trial.sampler.Throttling().Since(w.throttle))
	}
	return problems
}

func (w *watched) usedBy(now host.Usage) {
	interval, p := now.Since(w.first), &w.result.Process
	p.CPUSeconds, p.MajorFaults = interval.CPUSeconds, interval.MajorFaults
	p.HostReadBytes = interval.HostReadBytes
	t := w.trial
	w.seeServer(now)
	t.tested.used(p, interval, w.server, w.shared)
	p.HostWriteBytes, p.HostWriteSource, p.HostWriteWhy = t.writes.since(w.written, interval)
	if now.RSSBytes != nil {
		w.rssMax = max(w.rssMax, *now.RSSBytes)
	}
	if w.rssMax > 0 {
		p.RSSMaxBytes = &w.rssMax
	}
	w.usage = now
}

// drained adds what was written after the phase had ended, until its sizes were taken.
func (w *watched) drained() {
	t := w.trial
	w.result.Process.HostWriteBytesDrained, _, _ = t.writes.since(w.written, t.sampler.Sample().Since(w.first))
}

// notDone returns a mark if the phase, or a group of it, was to do something and did not: a worker
// that ends early without an error.
func (w *watched) notDone() []finding.Mark {
	if w.ending != "" {
		return nil // it was asked to end
	}
	for _, p := range w.parts {
		if mark, early := p.notDone(w.request.DeadlineNS); early {
			return []finding.Mark{mark}
		}
	}
	return nil
}
