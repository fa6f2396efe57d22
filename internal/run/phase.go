package run

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"assay/internal/audit"
	"assay/internal/control"
	"assay/internal/host"
	"assay/internal/keyval"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/trace"
	"assay/store"
)

// phase runs one phase and adds its result to the trial's.
func (t *trial) phase(ctx context.Context, p *spec.Phase, position int) error {
	file, err := t.trace(p, position)
	if t.ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return ownFault{fmt.Errorf("making the trace: %w", err)}
	}
	number := position + 1
	if p.Load {
		number = 0
	}
	request := t.prepare(p.Name, number)
	request.ZeroVersions = p.Load
	request.DeadlineNS = int64(t.duration(p))
	if !p.Load {
		request.MustHitBelow = min(audit.PresentBelow(t.past), audit.LowestDeleted(file))
	}
	keys := t.recordKeys(p, file, number)
	result := record.Phase{
		Name: p.Name, Number: number, Measured: !p.Load && !p.Unmeasured, Load: p.Load, Open: p.Rate > 0,
		Threads: len(file.Threads), Pipeline: t.cell.Pipeline, Batch: batchOf(file), SampleNS: int64(t.samplePeriod(p)),
	}
	t.run.view.PhaseStarted(p.Name)
	if result.Cold, err = t.chill(&result); err != nil {
		return err
	}
	w, err := t.begin(file, request, &result)
	if err != nil {
		return err
	}
	defer w.close()
	runErr := w.watch(ctx)
	problems := w.collect()
	t.remember(p, file, number, w, keys)
	result.EndedBy = w.endedBy(runErr)
	if w.died() {
		t.measureSizes(&result)
		t.result.Phases = append(t.result.Phases, result)
		t.result.Marks = append(t.result.Marks, marksOf(&result, problems)...)
		return runErr
	}
	if err := t.drain(&result); err != nil && runErr == nil {
		runErr = err
	}
	w.drained()
	t.result.Phases = append(t.result.Phases, result)
	t.result.Marks = append(t.result.Marks, marksOf(&result, problems)...)
	if runErr != nil {
		return runErr
	}
	if err := t.judgeDisk(p, &result); err != nil {
		return err
	}
	t.result.Marks = append(t.result.Marks, w.notDone()...)
	if fake := t.run.options.machine; fake != nil {
		t.result.Phases[len(t.result.Phases)-1].Machine = fake(t.plan)
		result.Machine = fake(t.plan)
	}
	if t.run.experiment.BusyMachine != spec.BusyMachineTell {
		t.result.Marks = append(t.result.Marks, machineMarks(&result)...)
	}
	t.result.Marks = append(t.result.Marks, w.seen.against(p.Name, int64(w.files.counters.StartNS()), int64(w.files.counters.EndNS()), heldNS(&result, runtime.NumCPU()))...)
	return nil
}

// trace makes the phase's operations. All arms of a cell in a block have the same seed, so that
// they do the same.
func (t *trial) trace(p *spec.Phase, position int) (*trace.File, error) {
	s := trace.Spec{
		Load: p.Load, Records: t.cell.Records, Fresh: max(t.fresh, t.cell.Records), Deleted: t.deletedBefore(position),
		Order: trace.Order{
			Distribution: p.Order.Distribution, Theta: p.Order.Theta, HotRecords: p.Order.HotRecords, HotOperations: p.Order.HotOps,
		},
		Sizes: t.sizes(), Batch: p.Batch, Scan: trace.ScanLengths{Min: p.Scan.Min, Max: p.Scan.Max, Zipfian: p.Scan.Distribution == "zipfian"},
		Query:   trace.Queries{Column: p.Query.Column, Limit: p.Query.Limit},
		Threads: t.threads(p), Endpoints: len(t.endpoints()), Seed: keyval.Mix(t.plan.Seed ^ uint64(position)<<32),
		Limit: p.Operations, Rate: p.Rate, ThreadEntries: t.run.options.threadEntries, Stopped: t.ctx.Err,
	}
	if p.Rate > 0 && p.Duration > 0 {
		s.EndNS = uint64(p.Duration)
	}
	if p.Load {
		s.Limit, s.Threads = 0, int(min(uint64(s.Threads), t.cell.Records))
		if !t.result.Abilities.Batch {
			s.Batch = 0 // a load goes in batches where the store has them
		} else if most := t.store.Description.BatchMax; most > 0 {
			s.Batch = min(s.Batch, most)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Mix)) {
		o, known := trace.ParseOperation(name)
		if !known {
			return nil, fmt.Errorf("unknown operation %q in the mix", name) // spec has checked it: a mistake of Assay's
		}
		s.Mix = append(s.Mix, trace.Share{Operation: o, Weight: p.Mix[name]})
	}
	return trace.Generate(s)
}

func (t *trial) threads(p *spec.Phase) int {
	if p.Threads > 0 {
		return p.Threads
	}
	return t.cell.Threads
}

func (t *trial) duration(p *spec.Phase) time.Duration { return t.plan.Duration(*p) }

// deletedBefore says if earlier phases may have deleted records.
func (t *trial) deletedBefore(position int) bool {
	return slices.ContainsFunc(t.run.experiment.Phases[:position], func(p spec.Phase) bool { return p.Mix["delete"] > 0 })
}

func batchOf(f *trace.File) int {
	for i := range f.Threads {
		for _, e := range f.Threads[i].Entries {
			if e.Operation() == trace.Batch {
				return int(f.Amounts[e.SizeClass()])
			}
		}
	}
	return 0
}

const (
	sampleMax     = time.Second
	sampleMin     = 50 * time.Millisecond
	samplesAPhase = 20 // at least, so that a short phase can be judged too
)

func (t *trial) samplePeriod(p *spec.Phase) time.Duration {
	if fixed := t.run.experiment.Sample; fixed > 0 {
		return fixed
	}
	if p.Duration == 0 {
		return sampleMax
	}
	return min(max(t.duration(p)/samplesAPhase, sampleMin), sampleMax)
}

// remember keeps what later phases and the final check need to know of this one.
func (t *trial) remember(p *spec.Phase, file *trace.File, number int, w *watched, keys []uint64) {
	past := audit.NewPhase(number, file, p.Load, w.files.counters)
	if w.files.history != nil {
		past.History = audit.NewHistory(number, keys, file, w.files.history, w.files.counters, t.cell.Pipeline)
		if t.store.Description.Kind != store.None { // which keeps nothing: no order explains its answers
			w.result.History = historyOf(past.History, t.store.Description.Eventual)
		}
	}
	t.past = append(t.past, past)
	if p.Load {
		t.loaded = t.cell.Records
	}
	t.fresh = max(t.fresh, file.IndexEnd(w.last.Attempted))
}

// drainMax is how long background work is waited for after a phase, before sizes are taken and the
// next phase begins.
const drainMax = 10 * time.Second

// drain waits until the store says that it has no work left, and takes the sizes.
func (t *trial) drain(result *record.Phase) error {
	began := time.Now()
	for t.result.Abilities.Inspect {
		var inspected control.Inspected
		if err := t.call(control.Request{Command: control.CommandInspect}, &inspected); err != nil {
			return fmt.Errorf("inspect: %w", err)
		}
		result.Stats = inspected.Stats
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
	if t.data != "" {
		if bytes, files, err := host.DiskUse(t.data); err == nil {
			result.Sizes.DiskBytes, result.Sizes.Files = &bytes, &files
		}
	}
	if t.store.Description.Kind == store.None {
		return
	}
	if records, known := audit.Live(t.past); known {
		result.Sizes.Records = &records
	}
	if bytes, known := audit.LogicalBytes(t.past, t.run.experiment.Keys, t.run.experiment.Values.Record()); known {
		result.Sizes.LogicalBytes = &bytes
		if memory := t.result.Memory; memory != nil && memory.Bytes != nil && *memory.Bytes > 0 {
			ratio := float64(bytes) / float64(*memory.Bytes)
			result.Sizes.DataToMemory = &ratio
		}
	}
}
