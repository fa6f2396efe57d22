package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/store"
)

// trial is one trial under way: fresh workers, a fresh data directory, and the phases in their order.
type trial struct {
	run   *running
	plan  plan.Trial
	cell  experiment.Cell
	store experiment.Store

	writer  *record.TrialWriter
	result  outcome
	disk    *disk
	clients *clients.Clients
	sampler *host.Sampler
	memory  *memoryLimit // nil: none
	writes  hostWrites
	evicted evictions
	syncs   *syncCheck // nil: there is no store
	keys    *keysNote  // nil: it leaves none
	tested  underTest
	forgot  bool // a server was killed in a class that keeps nothing then

	eventual bool // it promises no more than that a read returns some acknowledged value

	content *content
	past    past
	lives   *lives          // nil: no value has a TTL, up to the present phase
	rates   []record.Sample // what the trial's rate is made of: without resources, which would fill the memory

	readBacks int       // phases whose updates were read back
	steps     int       // of searches, each of which has a number as phases have
	device    deviceUse // of the step of a search that is under way
	seriesAt  float64   // seconds of the series at which the step under way began
	sampledTo float64   // to which seconds of its phase the series goes

	leftBefore []store.Left // what the server told before the first phase
	leftNoted  bool
}

// do runs the trial and records its result. The error is Assay's own (the run directory can't be
// written); what happens to the store or its worker is in the result.
func (t *trial) do(ctx context.Context) error {
	t.result.Started = time.Now().UTC()
	conduct := t.run.options.conduct
	if conduct == nil {
		conduct = func(ctx context.Context, t *trial) error { return t.conduct(ctx) }
	}
	var err error
	if t.plan.Refuse == "" {
		if err = conduct(ctx, t); errors.Is(err, errRunDirectory) {
			if errors.As(err, new(ownFault)) {
				err = fmt.Errorf("trial %s could not be run; its store is not at fault: %w", t.plan.ID, err)
			}
			return onceFull(err, t.writer.Abandon())
		}
	}
	// The store's files are gone now, whatever came of them.
	othersFill := t.roomAfterFullDisk()
	t.result.end(t.plan.Refuse, err)
	if othersFill != nil {
		t.result.State, t.result.Cause, t.result.Error = record.Interrupted, finding.CauseDiskTaken, othersFill.Error()
	}
	t.result.Seconds = time.Since(t.result.Started).Seconds()
	return onceFull(othersFill, t.writer.End(&t.result.Trial))
}

func (t *trial) conduct(ctx context.Context) (err error) {
	t.clients = &clients.Clients{Context: ctx, Timeout: t.run.experiment.StepTimeout}
	var ownDisk *host.OwnDisk
	if t.store.KeepsFiles() || t.store.Server != nil {
		if t.disk.data, err = t.run.writer.DataDirectory(t.run.options.DataRoot, t.plan.ID); err != nil {
			return fmt.Errorf("%w in %s: %w", errRunDirectory, cmp.Or(t.run.options.DataRoot, t.run.options.Directory), err)
		}
		defer func() {
			if removeErr := t.run.writer.RemoveData(t.plan.ID); removeErr != nil {
				t.run.view.Message(removeErr.Error())
			}
		}()
		if way := t.run.quota; way.by != "" && t.disk.quota > 0 {
			if ownDisk, err = t.disk.mountQuota(t.run.writer, t.plan.ID, way); err != nil {
				return fmt.Errorf("%w: %w", errRunDirectory, err)
			}
			t.result.QuotaMount = t.disk.mount
		}
		t.disk.noteFree()
	}
	if err := t.startServer(ctx); err != nil {
		return t.explain(err)
	}
	defer t.stopServer()
	begun := slices.DeleteFunc(slices.Clone(t.run.experiment.Phases), func(p experiment.Phase) bool {
		_, skipped := t.plan.Skip[p.Name]
		return skipped
	})
	if err := t.tested.startProxies(begun); err != nil {
		return err
	}
	if err := t.tested.makeRooms(begun, t.disk.data); err != nil {
		return err
	}
	if t.content, err = newContent(t.run.experiment, t.cell, t.store); err != nil {
		return ownFault{err}
	}
	t.result.Tag, t.result.Namespace = t.content.tag, t.content.namespace
	if err := t.noteKeys(); err != nil {
		return err
	}
	defer func() { t.removeKeys(ctx, err) }() // after the workers' end
	defer func() { t.lives.close() }()
	defer func() { // after the workers' end, whose cause it knows
		if err := t.memory.end(t.result.Memory, func() { t.clients.Kill(); t.stopServer() }); err != nil {
			t.run.view.Message(err.Error())
		}
	}()
	defer func() { err = t.explain(blame(t.tested.own.died(), err)) }()
	defer func() { err = t.endClients(err) }()
	if err := t.startClients(); err != nil {
		return err
	}
	t.result.Memory = memoryOf()
	if limit := t.cell.MemoryLimit; limit > 0 {
		if t.memory, err = limitMemory(uint64(limit), t.clients.Pids(), t.tested.own.processes(),
			t.result.Memory); err != nil {
			return err
		}
	}
	t.sampler = host.NewSampler(t.disk.data, t.clients.Pids()...)
	if cpus := t.pinned(); cpus != nil {
		t.sampler.Within(cpus)
	}
	if t.memory != nil {
		t.sampler.WatchLimit(t.memory.group)
	}
	t.tested.watch(t.sampler)
	t.writes = writesOf(t.store.Description.Kind, t.disk, ownDisk, t.tested.servers, t.run.writesWhy)
	t.writes.quiet(t.sampler)
	t.syncs = newSyncCheck(t.store, t.cell.Durability, t.disk, t.clients.Pids, t.tested.slowPIDs,
		func() host.Servers { return t.tested.servers }, t.askDurability)
	defer func() { err = errors.Join(err, t.syncs.end()) }()
	defer func() { t.result.NotMeasured = t.sampler.NotMeasured() }()
	defer t.noteLeft()
	if err := t.phases(ctx); err != nil {
		return t.checkWithoutSome(ctx, err)
	}
	if err := t.finalCheck(ctx); err != nil {
		return err
	}
	if t.disk.full {
		t.clients.Timeout = min(t.clients.Timeout, fullPatience)
	}
	t.noteLeft()
	err = t.clients.Close(t.tested.own != nil)
	t.countLeft()
	return err
}

// noteLeft notes once, while the store is open, what is not as it was on a server that outlives the trial.
func (t *trial) noteLeft() {
	if t.leftNoted {
		return
	}
	t.leftNoted = true
	for _, left := range t.leftNow() {
		if !slices.ContainsFunc(t.leftBefore, func(b store.Left) bool { return b.State == left.State }) {
			t.result.Left = append(t.result.Left, left)
		}
	}
}

// leftNow is what a server that outlives the trial would go on with if the work ended now; nil: nothing,
// or it can't be asked, the cause of which is reported elsewhere.
func (t *trial) leftNow() []store.Left {
	inspect := t.inspect()
	if !t.store.Outlives() || inspect == nil || len(t.clients.Living()) == 0 {
		return nil
	}
	now, err := inspect()
	if err != nil {
		return nil
	}
	return now.Left
}

// countLeft counts the connections that stay open although the store is closed.
func (t *trial) countLeft() {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		n, known := t.sampler.Connections()
		if !known || n == 0 || t.clients.Context.Err() != nil {
			return
		}
		if time.Since(began) > record.ClosePatience {
			t.result.ConnectionsLeft = max(t.result.ConnectionsLeft, n)
			return
		}
	}
}

// checkWithoutSome does the final check of a trial of which some processes are gone, where others
// live: what those had acknowledged is held against the store, too. err is why the phases ended.
func (t *trial) checkWithoutSome(ctx context.Context, err error) error {
	living := len(t.clients.Living())
	if living == 0 || living == len(t.clients.All) || t.tested.own.died() != nil || errors.Is(err,
		clients.ErrInterrupted) {
		return err
	}
	if checkErr := t.finalCheck(ctx); checkErr != nil {
		return fmt.Errorf("%w; then: %w", err, checkErr)
	}
	return err
}

func (t *trial) phases(ctx context.Context) error {
	o := t.opening()
	if err := t.open(o.first(), o.loads()); err != nil {
		return err
	}
	if t.leftBefore = t.leftNow(); len(t.leftBefore) > 0 {
		return fmt.Errorf("%s: %w", t.leftBefore[0], store.ErrRefused) // an earlier trial's doing, or another's
	}
	for i := range t.run.experiment.Phases {
		p := &t.run.experiment.Phases[i]
		if _, skipped := t.plan.Skip[p.Name]; skipped {
			continue
		}
		if t.disk.full {
			t.result.mark(p.Name, finding.Bare(finding.MarkNotBegun)) // not on a full disk
			continue
		}
		if err := t.phase(ctx, p, i); err != nil {
			return fmt.Errorf("phase %s: %w", p.Name, err)
		}
		if p.Load {
			if err := t.reopen(); err != nil {
				return fmt.Errorf("after phase %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// startClients starts as many workers as the trial's clients are processes.
func (t *trial) startClients() error {
	command := t.store.Worker
	if len(command) == 0 {
		command = t.run.options.Worker
	}
	processes := t.run.experiment.ProcessThreads(t.cell)
	if t.run.hub != nil {
		if err := t.clients.Start(t.cpus().Client, command, t.run.experiment.HereThreads(t.cell),
			t.writer.Log()); err != nil {
			t.result.Cause = finding.CauseNoWorker
			return err
		}
		return t.startAway(processes)
	}
	for _, threads := range processes {
		if err := t.clients.Start(t.cpus().Client, command, threads, t.writer.Log()); err != nil {
			t.result.Cause = finding.CauseNoWorker
			return err
		}
	}
	return nil
}

// endClients ends all workers. err is how the trial ended so far.
func (t *trial) endClients(err error) error {
	left, endErr := t.clients.End()
	if left > 0 {
		t.run.view.Message(fmt.Sprintf("the worker of trial %s left %s behind: killed", t.plan.ID, format.Plural(left, "process", "")))
	}
	return cmp.Or(err, endErr)
}

func (t *trial) opening() *opening {
	return &opening{t.run.experiment, t.cell, t.store, &t.tested, t.disk}
}

// Open opens the store in a durability class: in the first client alone for a load. Loads use the
// driver's weakest class, unless the server has one class only: they are not measured, and a sync a
// record would take hours.
func (t *trial) open(class store.Durability, load bool) error {
	o, threads := t.opening(), 0
	request := o.request(class)
	if load {
		request, threads = o.requestUnmeasured(class), t.run.experiment.LoadThreads(t.cell)
	}
	began := time.Now()
	opened, err := t.clients.Open(request, o.definition(), threads)
	if opened.Settings != nil || err == nil {
		t.result.OpenSeconds = append(t.result.OpenSeconds, time.Since(began).Seconds())
		t.eventual = t.store.Description.Eventual || opened.Eventual
		t.result.Settings, t.result.Abilities, t.result.Version = opened.Settings, opened.Abilities, opened.Version
	}
	if err == nil && !load {
		t.citeProofs(class)
	}
	return err
}

// reopen makes what was loaded durable and opens the store again in the class of the cell, with
// nothing in its caches. All stores of a table are opened again, also one whose weakest class is
// the cell's: memory, caches and files would otherwise be those of different states. A store in
// memory can't be: it would be empty.
func (t *trial) reopen() error {
	if t.store.Description.Kind == store.Memory {
		return nil
	}
	if t.result.Abilities.Sync {
		if err := t.clients.Call(control.Request{Command: control.CommandSync}, nil); err != nil {
			return fmt.Errorf("sync: %w", err)
		}
	}
	if err := t.clients.Call(control.Request{Command: control.CommandClose}, nil); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	t.countLeft()
	if t.cold() {
		if _, err := host.DropPages(t.disk.data); err != nil { // now that nothing has them mapped
			return fmt.Errorf("making the page cache cold: %w", err)
		}
	}
	return t.open(t.cell.Durability, false)
}

// readersEach is how many threads of each client read records back, or delete them.
func (t *trial) readersEach() int { return t.cell.Threads / max(t.cell.Processes, 1) }

// diskOf returns the disk of a trial that has no files yet.
func (r *running) diskOf(p plan.Trial, writer *record.TrialWriter) *disk {
	o := r.options
	return &disk{writer: writer, view: r.view, directory: cmp.Or(o.DataRoot, o.Directory), shares: o.DataRoot == "", runs: o.Directory,
		quota: uint64(p.CellOf(r.experiment).DiskQuota)}
}
