package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"assay/internal/base/finding"
	"assay/internal/base/owned"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
	"assay/internal/execution/control"
	"assay/internal/execution/event"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// place is where a phase stands in its trial.
type place struct {
	position int  // among the experiment's phases
	number   int  // that its versions have: position + 1, but of the steps of a search
	step     bool // of a search for a capacity
}

// phase runs one phase and adds its result to the trial's.
func (t *trial) phase(ctx context.Context, asked *experiment.Phase, position int) error {
	does := t.plan.Phase(asked.In(t.cell))
	if does.Capacity != nil {
		return t.searchCapacity(ctx, &does, position)
	}
	return t.phaseAt(ctx, &does, place{position: position, number: position + 1}, t.result.addPhase)
}

// phaseAt runs a phase, or a step of one, and gives add its result.
func (t *trial) phaseAt(ctx context.Context, p *experiment.Phase, at place, add func(*record.Phase,
	[][]finding.Message)) error {
	in, err := t.input(p, at)
	if err != nil {
		return err
	}
	out, err := runPhase(ctx, in)
	if err != nil {
		return err
	}
	result, file := &out.result, in.trace.file
	t.forgot = result.Forgot
	t.run.noteUncheckedClass(result.Syncs)
	if problem, ok := t.past.holdDeletes(t.content, file, out.last); !ok && !out.unheard {
		at := slices.IndexFunc(p.Parts(), func(part experiment.Phase) bool { return part.Does(trace.DeleteQuery) })
		out.problems[at] = append(out.problems[at], problem)
	}
	loaded := uint64(0)
	if p.Load {
		loaded = t.cell.Records
	}
	t.past.add(out.done, file, out.last.Attempted, out.last.Acknowledged, loaded)
	runErr := out.err
	if runErr == nil && p.Load && out.gaveUp != "" {
		t.result.Cause = finding.CauseSilent
		runErr = fmt.Errorf("the store stopped answering before all records were loaded: %s", out.gaveUp)
	}
	if out.died || p.Load && out.gaveUp != "" {
		add(result, out.problems)
		return runErr
	}
	if runErr == nil && t.store.Description.Kind != store.None {
		t.result.Plans, runErr = planner{t.result.Abilities.Explain, t.clients.Call}.ask(p.Name, file, t.result.Plans)
	}
	if runErr == nil {
		runErr = t.readUpdatesBack(ctx, p, result)
	}
	add(result, out.problems)
	if runErr != nil {
		return runErr
	}
	if err := t.judgeDisk(p, result); err != nil {
		return err
	}
	if p.Load {
		if err := failedLoad(result); err != nil {
			t.result.Cause = finding.CauseLoad
			return err
		}
	}
	t.result.add(out.short)
	t.result.add(t.result.ClassMarks(result))
	if t.store.Description.Kind != store.None { // of which each process has the work to itself
		t.result.add(beganApart(result))
	}
	t.result.add(out.outside)
	return nil
}

// input makes what a phase gets, and readies the store for it.
func (t *trial) input(p *experiment.Phase, at place) (*phaseInput, error) {
	made, err := t.traces(at).make(p, at)
	if t.clients.Context.Err() != nil {
		return nil, clients.ErrInterrupted
	}
	if err != nil {
		return nil, ownFault{fmt.Errorf("making the trace: %w", err)}
	}
	file, number := made.file, at.number
	if p.Load {
		number = 0
	}
	request := t.content.prepare(p.Name, number, t.past.loaded)
	request.ZeroVersions = p.Load
	request.DeadlineNS = int64(p.Duration)
	if !p.Load && !file.Expires() { // what is there at a moment is then the lives file's to say
		request.MustHitBelow = min(audit.PresentBelow(t.past.phases), audit.LowestDeleted(file))
	}
	in := t.inputOf(p, made, request)
	in.remote = t.run.hub != nil && !p.Load
	in.layout, in.numbers, in.sampleEvery = layoutOf(p, t.cell,
		len(file.Threads)), p.ProcessNumbers(), t.samplePeriod(p)
	in.know = t.content.expects(audit.PresenceAfter(t.past.phases))
	in.know.vanishing = t.past.vanishing
	if t.content.alone() {
		in.know.own = t.past.written()
	}
	if in.lives, err = t.livesFor(file); err != nil {
		return nil, err
	}
	in.faults = newFaults(p.Faults, &t.tested, t.run.experiment.StepTimeout)
	first := t.inspect()
	if len(t.result.Phases) > 0 {
		first = nil
	}
	if err := t.evicted.begin(first); err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	t.run.view.PhaseStarted(p.Name)
	if !p.Load && !p.Unmeasured {
		if in.cold, err = t.dropCache(); err != nil {
			return nil, err
		}
	}
	return in, t.keys.mayWrite(t.past.written(), file)
}

// inputOf is what all phases of the trial get.
func (t *trial) inputOf(p *experiment.Phase, made phaseTrace, request *control.Prepare) *phaseInput {
	return &phaseInput{
		asked: p, cell: t.cell, trace: made, request: request, names: t.content.slotNames, eventual: t.eventual,
		forgot: t.forgot,
		holdings: &holdings{inspect: t.inspect(), evicted: &t.evicted, before: liveAfter(t.result.Phases),
			keeps: t.store.Description.Kind != store.None, directory: t.disk.data, memoryBytes: t.result.memoryBytes(),
			experiment: t.run.experiment, phases: t.past.phases},
		testbed: testbed{clients: t.clients, sampler: t.sampler, disk: t.disk, memory: t.memory, writes: t.writes,
			syncs:  t.syncs,
			tested: &t.tested, patience: t.run.experiment.StepTimeout},
		listeners: listeners{series: t.keepSample, tick: t.run.view.Tick, message: t.run.view.Message,
			meter: t.meterOf(request.Phase)},
	}
}

// keepSample writes a line of the series, and keeps what the trial's rate is made of.
func (t *trial) keepSample(s record.Sample) error {
	t.device.add(&s)
	s.At += t.seriesAt
	t.sampledTo = s.At
	err := t.writer.Sample(s)
	if err == nil || record.IsFull(err) {
		t.rates = append(t.rates, record.Sample{Phase: s.Phase, At: s.At, Seconds: s.Seconds,
			Operations: s.Operations, Bad: s.Bad,
			Stopped: s.Stopped, MaxNS: s.MaxNS})
	}
	return err
}

// meterOf tells who watches by program what was read last of a phase.
func (t *trial) meterOf(phase string) func(totals []counters.Total, s *record.Sample, over bool) {
	return func(totals []counters.Total, s *record.Sample, over bool) {
		if meter := t.run.options.Meter; meter != nil {
			meter.Measured(&event.Measured{Trial: t.plan, Cell: t.cell.Label(t.run.experiment), Phase: phase,
				Totals: totals, Sample: s, Over: over})
		}
	}
}

// inspect asks the trial's store of itself; nil: it can't be asked.
func (t *trial) inspect() inspect {
	if !t.result.Abilities.Inspect {
		return nil
	}
	return func() (inspected control.Inspected, err error) {
		err = t.clients.Call(control.Request{Command: control.CommandInspect}, &inspected)
		return inspected, err
	}
}

// layoutOf returns how the threads of a phase are parted over the clients.
func layoutOf(p *experiment.Phase, cell experiment.Cell, threads int) []int {
	if p.Load {
		return []int{threads}
	}
	return p.ProcessThreads(cell)
}

// traces makes the trial's traces, as far as it is by now.
func (t *trial) traces(at place) *traces {
	made := &traces{content: t.content, past: &t.past, seed: t.plan.Seed, endpoints: len(t.tested.endpoints()),
		batches: t.result.Abilities.Batch, entries: t.run.options.threadEntries, stopped: t.clients.Context.Err,
		disk: func() (*os.File, error) { return owned.NewFile(t.run.options.Directory) }}
	if t.run.hub == nil && !at.step { // agents make theirs of the specs, and no other arm has a step's rate
		made.kept = t.run.kept.of(t.plan.Block)
	}
	return made
}

const (
	sampleMax     = time.Second
	sampleMin     = 50 * time.Millisecond
	samplesAPhase = 20 // at least, so that a short phase can be judged too
	// sampleBeside is the longest period beside a group that does a number of operations: how long it
	// takes is not known before, and what it does to the others is only seen in samples within.
	sampleBeside = 100 * time.Millisecond
	// sampleProcess is the least period for each of several processes, so that looking at all of them
	// takes a few parts in a hundred of a CPU.
	sampleProcess = 2 * time.Millisecond
)

func (t *trial) samplePeriod(p *experiment.Phase) time.Duration {
	if fixed := t.run.experiment.Sample; fixed > 0 {
		return fixed
	}
	period := sampleMax
	for _, part := range p.Parts() {
		if part.Duration > 0 {
			period = min(period, part.Duration/samplesAPhase)
		}
		if len(p.Groups) > 0 && part.Operations > 0 {
			period = min(period, sampleBeside)
		}
	}
	return max(period, sampleMin, time.Duration(p.ProcessesIn(t.cell))*sampleProcess)
}

// liveAfter returns the records that the phases left; nil: not known.
func liveAfter(phases []record.Phase) *uint64 {
	if len(phases) == 0 {
		return new(uint64)
	}
	return phases[len(phases)-1].Sizes.Records
}
