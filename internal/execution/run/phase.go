package run

import (
	"cmp"
	"context"
	"slices"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
	"assay/internal/execution/control"
	"assay/internal/execution/event"
	"assay/internal/execution/phasefiles"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// phaseInput is all that a phase gets. It reads nothing else.
type phaseInput struct {
	asked       *experiment.Phase
	cell        experiment.Cell
	trace       phaseTrace
	layout      []int // the threads of each process
	numbers     []int // of agents' processes that do the shares; nil: groups name none
	remote      bool  // agents do it: those whose specs the trace has
	request     *control.Prepare
	sampleEvery time.Duration
	know        expected
	names       func(*trace.File) func(slot int) string // of slots, in messages

	eventual bool            // the store promises no more than some acknowledged value
	forgot   bool            // a server was killed before, in a class that keeps nothing then
	cold     *host.PageCache // what was left in the page cache; nil: nothing was dropped
	tireless bool            // a full disk does not end it
	faults   *faults         // that happen in it; nil: none
	holdings *holdings
	lives    *lives // nil: values have no TTL
	testbed
	listeners
}

// testbed is what stands around the store of a trial, for all its phases.
type testbed struct {
	clients  *clients.Clients
	sampler  *host.Sampler
	disk     *disk
	memory   *memoryLimit // nil: none
	writes   hostWrites
	syncs    *syncCheck // nil: there is no store
	tested   *underTest
	patience time.Duration // of a step
}

// listeners are called while the phase runs.
type listeners struct {
	series  func(record.Sample) error
	tick    func(event.Tick)
	message func(string)
	meter   func(totals []counters.Total, s *record.Sample, over bool) // s is nil where no line was written
}

// phaseOutcome is what comes of a phase.
type phaseOutcome struct {
	result   record.Phase
	problems [][]finding.Message // in what counts disagree, for each group or for the whole
	done     audit.Phase         // what it did to the records
	last     counters.Sample     // the counters at its end
	gaveUp   string              // why it was given up, if its store is silent
	died     bool                // no process of it is left
	unheard  bool                // threads of agents may have gone on after what they reported
	short    []finding.Mark      // it was to do something and did not
	outside  []finding.Mark      // its times can't be what was seen from outside
	err      error               // why it did not end well; what was counted until then stays
}

// runPhase runs a phase. The error is that it could not begin.
func runPhase(ctx context.Context, in *phaseInput) (out phaseOutcome, err error) {
	p, err := beginPhase(in)
	if err != nil {
		return out, err
	}
	defer p.close()
	out.err = p.watch(ctx)
	happened, faultErr := in.faults.end(ctx, p.workers.startNS())
	out.err = cmp.Or(out.err, faultErr)
	in.tested.follow()
	out.result, out.problems = p.collect(happened)
	out.err = cmp.Or(out.err, p.workers.failure) // an agent may be lost before its last counters came
	out.last, out.gaveUp, out.died = p.read.last, p.end.gaveUp, p.workers.died()
	out.unheard = p.workers.unheard() != nil
	out.done = p.done(&out.result)
	p.noteEnd(&out.result, out.err)
	if out.died || in.asked.Load && out.gaveUp != "" {
		out.result.Sizes = in.holdings.sizes(out.done)
		return out, nil
	}
	drained, drainErr := in.holdings.drain(out.done)
	out.err = cmp.Or(out.err, drainErr)
	drained.note(&out.result)
	interval := in.sampler.Sample().Since(p.began.usage)
	out.result.Process.HostWriteBytesDrained, _, _ = in.writes.since(p.began.written, interval)
	if during, all := out.result.Process.CPUSeconds, interval.CPUSeconds; during != nil && all != nil && !in.remote {
		after := max(*all-*during, 0)
		out.result.Process.CPUSecondsAfter = &after
	}
	out.short, out.outside = p.notDone(&out.result), p.heldOutside(&out.result)
	return out, nil
}

// readBack is what was read of records.
type readBack struct {
	observed []uint64 // what was there; of records that were not read counters.ObservedNotRead
	counted  uint64   // the sum of counters
	gaveUp   bool     // the store is silent
}

// runReadBack runs a phase that reads records back, and is in no result.
func runReadBack(ctx context.Context, in *phaseInput) (r readBack, err error) {
	p, err := beginPhase(in)
	if err != nil {
		return r, err
	}
	defer p.close()
	if err := p.watch(ctx); err != nil {
		return r, err
	}
	for _, total := range p.files.Counters.Sample(false).Totals {
		r.counted += total.SortSum
	}
	r.observed, r.gaveUp = slices.Clone(p.files.Counters.Observed()), p.end.gaveUp != ""
	return r, nil
}

// phase is a phase under way.
type phase struct {
	*phaseInput
	file    *trace.File
	files   *phasefiles.Files
	parts   []*part // its groups, or the whole phase
	workers *workers
	read    *readings
	began   beginning
	end     ending
	outside outside
	stops   *host.StopWatch
}

// beginning is what the machine had done when the phase began.
type beginning struct {
	asked    host.Usage // when the processes were asked to prepare
	usage    host.Usage
	throttle host.Throttling
	confined map[int]host.Confinement // of each process
	written  diskWritten
	synced   syncsDone
}

// beginPhase maps the files and lets the processes, of which each does so many threads, map them and
// get ready.
func beginPhase(in *phaseInput) (*phase, error) {
	makeFiles := mapFiles
	if in.remote {
		makeFiles = mapCounters
	}
	file := in.trace.file
	files, err := makeFiles(in.trace, len(in.layout))
	if err != nil {
		return nil, err
	}
	p := &phase{phaseInput: in, file: file, files: files, parts: partsOf(in.asked, file, files.Counters)}
	p.workers = &workers{clients: in.clients, file: file, files: files, message: in.message}
	if in.remote {
		p.workers.specs, p.workers.recorded, p.workers.room = in.trace.specs, in.trace.keys, in.trace.room
	}
	request := *in.request
	if files.Trace != nil {
		request.Trace = files.Trace.Name()
	}
	request.Counters = files.CountersFile.Name()
	if files.HistoryFile != nil && !in.remote {
		request.History = files.HistoryFile.Name()
	}
	if in.lives != nil {
		request.Lives = in.lives.file.Name()
	}
	var told []string
	if err = p.workers.deal(in.layout, in.numbers); err == nil {
		p.began.asked = in.sampler.Sample()
		told, err = p.workers.prepare(&request)
	}
	files.Forget()
	if err != nil {
		p.close()
		return nil, err
	}
	p.end.disk = in.disk.watch(file)
	p.read = newReadings(in, file, files.Counters, p.parts, p.workers, told)
	return p, nil
}

func (p *phase) close() {
	p.workers.detach()
	if err := p.files.Unmap(); err != nil {
		p.message("unmapping the counters: " + err.Error())
	}
}
