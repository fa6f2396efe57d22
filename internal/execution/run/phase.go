package run

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/audit"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// phase runs one phase and adds its result to the trial's.
func (t *trial) phase(ctx context.Context, asked *experiment.Phase, position int) error {
	does := t.plan.Phase(*asked)
	p := &does
	made, err := t.traces().make(p, position)
	if t.clients.ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return ownFault{fmt.Errorf("making the trace: %w", err)}
	}
	file, number := made.file, position+1
	if p.Load {
		number = 0
	}
	request := t.content.prepare(p.Name, number, t.past.loaded)
	request.ZeroVersions = p.Load
	request.DeadlineNS = int64(p.Duration)
	if !p.Load {
		request.MustHitBelow = min(audit.PresentBelow(t.past.phases), audit.LowestDeleted(file))
	}
	result := record.Phase{
		Name: p.Name, Number: number, Measured: !p.Load && !p.Unmeasured, Load: p.Load,
		Open: file.Flags&trace.FlagDue != 0, Threads: len(file.Threads), Pipeline: t.cell.Pipeline, Batch: batchOf(file), TimedEvery: file.TimedEvery, SampleNS: int64(t.samplePeriod(p)),
		Eventual: t.eventual,
	}
	if err := t.evicted.begin(t); err != nil {
		return fmt.Errorf("inspect: %w", err)
	}
	t.run.view.PhaseStarted(p.Name)
	if result.Cold, err = t.chill(&result); err != nil {
		return err
	}
	result.Groups = groupResults(p, t.cell, file, &result)
	layout := layoutOf(p, t.cell, len(file.Threads))
	if p.ProcessesIn(t.cell) > 0 && !p.Load {
		result.Processes = len(layout)
	}
	if err := t.keys.mayWrite(t.past.written(), file); err != nil {
		return err
	}
	if t.run.hub == nil || p.Load {
		made.specs = nil
	}
	w, err := t.begin(made, layout, p.ProcessNumbers(), request, &result)
	if err != nil {
		return err
	}
	defer w.close()
	for i, does := range p.Parts() {
		part := w.parts[i]
		part.milestones = newMilestones(does.Milestones, len(part.file.Threads), does.From.Seconds())
	}
	w.faults = t.faultsOf(p)
	runErr := w.watch(ctx)
	var faultErr error
	result.Faults, faultErr = w.faults.end(ctx, w.startNS())
	runErr = cmp.Or(runErr, faultErr)
	t.forgot = t.forgot || t.tested.forgets(result.Faults)
	result.Forgot = t.forgot
	t.tested.follow()
	problems := w.collect()
	for i, does := range p.Parts() {
		orderSteps(&does, w.parts[i].result.Steps)
	}
	if problem, ok := t.past.holdDeletes(t.content, file, w.last); !ok {
		at := slices.IndexFunc(p.Parts(), func(part experiment.Phase) bool { return part.Does(trace.DeleteQuery) })
		problems[at] = append(problems[at], problem)
	}
	t.remember(p, number, w, made.keys)
	w.endParts(runErr)
	if runErr == nil && p.Load && w.gaveUp != "" {
		t.result.Cause = finding.CauseSilent
		runErr = fmt.Errorf("the store stopped answering before all records were loaded: %s", w.gaveUp)
	}
	if w.died() || p.Load && w.gaveUp != "" {
		t.measureSizes(&result)
		t.result.addPhase(&result, problems)
		return runErr
	}
	if err := t.drain(&result); err != nil && runErr == nil {
		runErr = err
	}
	w.drained()
	if runErr == nil && t.store.Description.Kind != store.None {
		t.result.Plans, runErr = planner{t.result.Abilities.Explain, t.clients.call}.ask(p.Name, file, t.result.Plans)
	}
	if runErr == nil {
		runErr = t.readUpdatesBack(ctx, p, &result)
	}
	t.result.addPhase(&result, problems)
	if runErr != nil {
		return runErr
	}
	if err := t.judgeDisk(p, &result); err != nil {
		return err
	}
	t.result.add(w.notDone())
	t.result.holdClass(&result)
	if t.store.Description.Kind != store.None { // of which each process has the work to itself
		t.result.add(beganApart(&result))
	}
	t.result.holdMachine(&result, t.run.experiment.BusyMachine)
	t.result.add(w.seen.against(p.Name, int64(w.startNS()), int64(w.endNS()), heldNS(&result, runtime.NumCPU())))
	return nil
}

// layoutOf returns how the threads of a phase are parted over the clients.
func layoutOf(p *experiment.Phase, cell experiment.Cell, threads int) []int {
	if p.Load {
		return []int{threads}
	}
	return p.ProcessThreads(cell)
}

// orderSteps lists the steps of a request's results as the request has them.
func orderSteps(p *experiment.Phase, results []record.Operation) {
	place := func(o record.Operation) int {
		return slices.IndexFunc(p.Request, func(s experiment.Step) bool { return s.Operation == o.Name })
	}
	slices.SortStableFunc(results, func(a, b record.Operation) int { return place(a) - place(b) })
}

// traces makes the trial's traces, as far as it is by now.
func (t *trial) traces() *traces {
	made := &traces{content: t.content, past: &t.past, seed: t.plan.Seed, endpoints: len(t.tested.endpoints()),
		batches: t.result.Abilities.Batch, entries: t.run.options.threadEntries, stopped: t.clients.ctx.Err}
	if t.run.hub == nil { // agents make theirs of the specs
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

// remember adds a phase to the trial's past.
func (t *trial) remember(p *experiment.Phase, number int, w *watched, keys []uint64) {
	phase := audit.NewPhase(number, w.file, p.Load, w.files.Counters)
	phase.Record, phase.Queries = t.run.experiment.Values.Record(), t.run.experiment.Values.QueryShapes()
	if w.files.History != nil {
		phase.History = audit.NewHistory(number, keys, w.file, w.files.History, w.files.Counters, t.cell.Pipeline)
		w.onOneClock(phase.History)
		if t.store.Description.Kind != store.None { // which keeps nothing: no order explains its answers
			w.result.History = historyOf(phase.History)
		}
	}
	loaded := uint64(0)
	if p.Load {
		loaded = t.cell.Records
	}
	t.past.add(phase, w.file, w.last.Attempted, loaded)
}

// drainMax is how long background work is waited for after a phase, before sizes are taken and the
// next phase begins.
const drainMax = 10 * time.Second

// drain waits until the store says that it has no work left, and takes the sizes.
func (t *trial) drain(result *record.Phase) error {
	began := time.Now()
	for t.result.Abilities.Inspect {
		var inspected control.Inspected
		if err := t.clients.call(control.Request{Command: control.CommandInspect}, &inspected); err != nil {
			return fmt.Errorf("inspect: %w", err)
		}
		result.Stats, result.Evicted = inspected.Stats, t.evicted.since(inspected.Stats)
		for i := range result.Groups {
			result.Groups[i].Evicted = result.Evicted
		}
		if result.Sizes.Drained = !inspected.Busy; result.Sizes.Drained || time.Since(began) > drainMax {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	result.Sizes.DrainSeconds = time.Since(began).Seconds()
	t.measureSizes(result)
	return nil
}

func (t *trial) measureSizes(result *record.Phase) {
	if t.disk.data != "" {
		if bytes, files, err := host.DiskUse(t.disk.data); err == nil {
			result.Sizes.DiskBytes, result.Sizes.Files = &bytes, &files
		}
	}
	if t.store.Description.Kind == store.None {
		return
	}
	records, known := audit.Live(t.past.phases)
	if !known {
		return
	}
	result.Sizes.Records = &records
	e := t.run.experiment
	if bytes, known := audit.LogicalBytes(t.past.phases, records, e.Keys, e.Values.Record()); known {
		result.Sizes.LogicalBytes = &bytes
		if memory := t.result.Memory; memory != nil && memory.Bytes != nil && *memory.Bytes > 0 {
			ratio := float64(bytes) / float64(*memory.Bytes)
			result.Sizes.DataToMemory = &ratio
		}
	}
}
