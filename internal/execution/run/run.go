// Package run does an experiment. It alone knows how the parts meet:
//
//	run.go        the trials in their order, the run directory around them
//	schedule.go   blocks, trials that run again, and when the run ends
//	settle.go     the wait before each trial for what the one before it left
//	trial.go      one trial: a fresh worker and data directory, the phases, the final check
//	phases.go     what the trial gives each phase, and what it makes of its result
//	opening.go    how the store is opened
//	content.go    the trial's keys and values, and what tells them from those of others
//	traces.go     what phases do; kepttraces.go: those of other arms
//	past.go       what phases so far did to the records; deletes.go: deletes by query held against it
//	cold.go       what of the store's files the page cache has
//	final.go      what was acknowledged, is it there?
//	adds.go       adds of keys that are there, or that all threads add
//	history.go    the sample of keys whose history is recorded, and their updates read back
//	proofs.go     what the store's class rests on
//	plans.go      how the store answers queries
//	outcome.go    state, cause and marks; ending.go: what a full disk or the memory limit means
//	limits.go     what the experiment asks of the machine and can't have
//	ownfault.go   what goes wrong on Assay's own side
//	compress.go   what compressors make of the values
//	programs.go   is the worker still the program that the run began with?
//	servers.go    what servers hold before the run
//	keysleft.go   the keys of a trial on a server that outlives it: noted, and taken away again
//	clean.go      what killed runs have left
//	agents.go     the agents of a run
//
// A phase gets what it needs whole, and returns its record whole. It knows no trial:
//
//	phase.go      what it gets, what it returns, its steps
//	watch.go      its loop: it is sampled until it ends, hangs, or is stopped
//	workers.go    its processes, each its share; remote.go: those of agents
//	readings.go   counters and machine, a line of the series each time; records.go: how many are stored
//	capacity.go   a search for a capacity: which step follows; overtime.go: a rate that changes
//	parts.go      its groups; milestones.go and turns.go: what their threads did when
//	result.go     its record, put together
//	tally.go      counters to results; do the counts add up?
//	work.go       is that the work that the trace asks for? (keysafter.go: what a scan must find)
//	fidelity.go   is what a replay sent what was recorded? senttimes.go: when it was sent
//	vain.go       which of it had nothing to do: deletes of what was not there
//	outside.go    are they what was seen from outside?
//	stops.go      what stopped it from outside; silence.go: stores that answer nothing any more
//	shared.go     the files that conductor and worker share; lives.go: until when records are there
//	holdings.go   what the store holds after it; evictions.go: what it removed by itself
//
// Around the store of a trial stand:
//
//	server.go     the server that Assay starts; undertest.go: all of them, and proxies;
//	              rooms.go, slowdisks.go: what phases limit them to
//	faults.go     what happens to them
//	disk.go       where its files stand; quota.go: a quota as a file system of its own
//	memory.go     its memory limit
//	writes.go     what went to the storage layer, and who tells
//	durable.go    the syncs that its class needs
//
// # Decisions
//
//   - A group of clients is a phase at the same time as others. experiment.Phase.Groups are
//     phases, the trace generator is run for each and deals fresh indexes over all of their
//     threads, run/parts.go counts each by its threads, and record.Run.ByGroup shows each as a
//     phase of its own: tables, plots, findings and exports know phases alone, and a phase without
//     groups takes the same way.
//   - The conductor counts the trace itself. *attempted* is one word a thread, stored before the
//     call; the operations among the first *attempted* entries are counted by the conductor from
//     the trace. A worker that miscounts can't make the sum come out right.
//   - The conductor holds the worker's work against the trace. Items and bytes of each kind of
//     operation are what its trace says: a scan that ends early, a query that finds less and a
//     batch that counts double mark the trial, in any worker and without a cost to its loop; and a
//     detector compares the arms of a table, which ran the same trace.
//   - The conductor holds the worker's time against its own. A rate is operations over the time
//     that the worker reports. Operations that were seen to be done before its start or after its
//     end mark the trial. Histograms are the worker's word.
//   - A process that dies does not end the phase of the others, as a client that crashes does not
//     end those beside it. The trial fails anyway; the final check is made by those that
//     live, so that what the dead one had acknowledged is looked for.
//   - Keys on a server that somebody else has started begin with the trial's name, and so do those
//     of the stores beside it: equal lengths keep the table fair. When a trial ends, however it
//     does, a worker of its own deletes its keys: that of the trial may be gone. Which keys a
//     phase may make is noted before it begins (owned.Keys), with the requests that delete them,
//     so that they can be deleted after a kill, without the run directory.
//   - Loads go through the driver's weakest durability class and in batches where it has them;
//     then the store is synced, closed and opened again in the cell's class, also where that is
//     the same one: all stores of a table begin in the same state. A load is counted and checked,
//     never ranked. Otherwise a D3 experiment on 100,000 records would be hours of loading.
//   - Phases shorter than 20 s are sampled more often than once a second (down to 50 ms), so that
//     even a short phase can be judged. The series says how long each sample is.
//   - A disk quota stops the phase when the sampler sees the data directory reach it: that needs
//     no rights, and leaves the store on the user's own file system. Or it is a file system that
//     gets full (disk_quota_by: mount), because a store that meets ENOSPC shows how it behaves:
//     ext4 in an image over a loop device; a tmpfs where there is none; never one in place of the
//     other unsaid. Loop devices free themselves (LO_FLAGS_AUTOCLEAR), and the mount is written
//     down before it is made, so that a kill leaves nothing that --resume does not find.
//   - A memory limit that can't be set ends the run before it begins: one arm with a limit and one
//     without is no comparison.
package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"assay/internal/evidence/host"
	"assay/internal/evidence/proof"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/event"
	"assay/internal/execution/server"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// Options say how an experiment is run.
type Options struct {
	Directory string // the run directory
	// DataRoot: an existing directory in which stores get their directories; "": the run directory's own.
	DataRoot string
	Command  []string         // as typed, for the record
	Worker   []string         // the command of Assay's own worker
	Rig      []string         // that of the process that serves disks: powercut.Serve
	Ceiling  experiment.Store // Assay's own null driver
	View     event.View
	Meter    event.Meter // nil: no program watches

	// Undecided names the comparisons of the run so far that more blocks could decide.
	Undecided func(*record.Run) ([]string, error)
	// ToDetect is the number of blocks that the noise of the run so far asks for, where its
	// schedule has a difference to detect.
	ToDetect func(*record.Run) (int, error)
	// TrialRate is the rate that stands for a trial, in operations a second; nil: none was measured.
	TrialRate func(*experiment.Experiment, plan.Trial, *record.Trial, []record.Sample) *float64

	// Proved returns what cuts of a kind have shown of a store's class; nil: nothing. Proved itself may be
	// nil.
	Proved func(q proof.Question, kind string) (*proof.Cited, error)

	// Program returns the server that a driver speaks to, if Assay can start it.
	Program func(driver string) (server.Program, bool)

	// Agents says how agents are had, where the experiment has any: all but where they are.
	Agents agents.Options

	trials  func([]plan.Trial) []plan.Trial     // nil: all that are planned
	conduct func(context.Context, *trial) error // nil: trial.conduct
	// of a lap of the trace; 0: as package trace chooses
	threadEntries   int
	checkWriteCount func(directory string) (perByte *float64, why string) // nil: host.CheckWriteCount
	availableBytes  func() uint64                                         // nil: host.AvailableBytes
}

// chosen returns the trials of a plan that are run.
func (o Options) chosen(trials []plan.Trial) []plan.Trial {
	if o.trials == nil {
		return trials
	}
	return o.trials(trials)
}

// Result counts how the trials ended.
type Result struct {
	Planned, OK, Marked, Failed, Refused int
	Measured                             int // of those that are OK, the trials of stores: not of ceilings
	// of those that are marked or failed, the null drivers': no failure of what was asked
	Ceilings    int
	Left        string // what could not be removed, a line each; "": nothing is left
	Interrupted bool   // stopped by the user: the trials that are left can be resumed
}

// running is a run under way.
type running struct {
	options    Options
	experiment *experiment.Experiment
	writer     *record.Writer
	view       event.View
	quota      quotaWay
	hub        *agents.Hub              // nil: this machine does the phases
	plan       []plan.Trial             // by now
	ended      map[string]*record.Trial // by ID: what ended, without the figures
	before     time.Duration            // that trials took before a resumed run began
	began      time.Time
	users      *host.Users // of the CPU, since then
	toldSyncs  bool        // that syncs are not counted has been told
	writesWhy  string      // why /proc/PID/io must not be asked for host writes; "": it is right here
	settler    *settler    // nil: no trial has waited yet
	kept       keptTraces
	programs   serverPrograms
	initials   *server.Kept // the first files of servers; nil: no trial has begun
	result     Result
	noted      func() // waits until an interruption is written down
}

// New runs an experiment in a new run directory. source is the experiment's file. When ctx is
// cancelled, the trial under way is ended, recorded as interrupted, and New returns without an
// error.
func New(ctx context.Context, e *experiment.Experiment, source []byte, o Options) (Result, error) {
	o.cleanAndReport(ctx, LeftKeys{})
	if err := checkLimits(e, o); err != nil {
		return Result{}, err
	}
	quota, err := checkQuotaMount(e, o)
	if err != nil {
		return Result{}, err
	}
	trials := o.chosen(plan.Plan(e))
	if err := o.build(ctx, e); err != nil {
		return Result{}, err
	}
	if err := tryPrograms(ctx, e, o); err != nil {
		return Result{}, err
	}
	environment, err := seal(e, o)
	if err != nil {
		return Result{}, err
	}
	writer, err := record.Create(o.Directory, source, e, trials, environment)
	if err != nil {
		return Result{}, err
	}
	r := &running{options: o, experiment: e, writer: writer, noted: noteInterruption(ctx, writer, o.View),
		view: o.View, quota: quota, plan: trials,
		ended: map[string]*record.Trial{}, began: time.Now(), users: host.NewUsers(),
		writesWhy: environment.NotMeasured[writesSeries],
		programs:  serverPrograms{}}
	return r.finish(r.trials(ctx, trials))
}

// Resume does the trials of a run directory that have no result.
func Resume(ctx context.Context, o Options) (Result, error) {
	before, err := record.Open(o.Directory)
	if err != nil {
		return Result{}, err
	}
	if err := o.build(ctx, &before.Experiment); err != nil {
		return Result{}, fmt.Errorf("resuming %s: %w", o.Directory, err)
	}
	now := sealHere(cmp.Or(o.DataRoot, o.Directory), &before.Experiment, o)
	if changes := host.Changes(before.Environment, now); len(changes) > 0 {
		return Result{}, fmt.Errorf("resuming %s: this is not the machine or the program that the run began with (%s): trials of the two can't be compared",
			o.Directory, changes[0])
	}
	o.cleanAndReport(ctx, LeftKeys{Of: o.Directory, AllowRemote: true}) // --resume has confirmed it
	if err := checkLimits(&before.Experiment, o); err != nil {
		return Result{}, fmt.Errorf("resuming %s: %w", o.Directory, err)
	}
	quota, err := checkQuotaMount(&before.Experiment, o)
	if err != nil {
		return Result{}, fmt.Errorf("resuming %s: %w", o.Directory, err)
	}
	writer, left, err := record.Resume(o.Directory)
	if err != nil {
		return Result{}, err
	}
	r := &running{options: o, experiment: &before.Experiment, writer: writer, noted: noteInterruption(ctx, writer,
		o.View), view: o.View, quota: quota,
		plan: before.Plan, ended: map[string]*record.Trial{}, began: time.Now(), users: host.NewUsers(),
		writesWhy: now.NotMeasured[writesSeries],
		programs:  newServerPrograms(&before.Experiment, before.Trials)}
	for id, trial := range before.Trials {
		r.before += time.Duration(trial.Seconds * float64(time.Second))
		if trial.State != record.Interrupted && !contains(left, id) {
			r.ends(trial.Plan, trial)
		}
	}
	return r.finish(r.trials(ctx, left))
}

// Stopped is the cause of a context that a signal ended.
type Stopped struct{ Signal string }

func (s Stopped) Error() string { return "stopped by " + s.Signal }

// noteInterruption writes down, as soon as ctx ends, when that was and by which signal: a second
// Ctrl-C may leave no time for it. done waits for that.
func noteInterruption(ctx context.Context, w *record.Writer, view event.View) (done func()) {
	noted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(noted)
		signal := "none" // the caller's own end, as of a test
		var stopped Stopped
		if errors.As(context.Cause(ctx), &stopped) {
			signal = stopped.Signal
		}
		if err := w.Interrupted(time.Now(), signal); err != nil {
			view.Message(err.Error())
		}
	})
	return func() {
		if !stop() {
			<-noted
		}
	}
}

const stoppedText = "stopped; what was measured is kept"

func contains(trials []plan.Trial, id string) bool {
	for _, t := range trials {
		if t.ID == id {
			return true
		}
	}
	return false
}

// trials runs what is left of a plan, and what is added to it meanwhile.
func (r *running) trials(ctx context.Context, left []plan.Trial) error {
	estimate := plan.EstimateOf(r.experiment, left)
	var arms []string
	for _, s := range r.experiment.Stores {
		arms = append(arms, s.Name)
	}
	r.view.RunStarted(event.Run{Name: r.experiment.Name, Trials: len(r.plan), Done: len(r.ended), Arms: arms,
		Estimate: time.Duration(estimate.SecondsHigh * float64(time.Second))})
	endAgents, err := r.gatherAgents(ctx)
	if err != nil {
		r.view.RunEnded("ended early") // the caller says why
		return err
	}
	defer endAgents()
	defer r.kept.forget()
	where, err := r.options.dataPlace()
	if err != nil {
		r.view.RunEnded("ended early") // the caller says why
		return err
	}
	r.initials = server.NewKept(where)
	defer func() { _ = r.initials.Close() }() // files without a name: there is nothing to lose
	r.reportHeld(ctx, left)
	if err := r.blocks(ctx, left); err != nil {
		r.view.RunEnded("ended early") // the caller says why
		return err
	}
	if r.result.Interrupted {
		r.view.RunEnded(stoppedText)
	} else {
		r.view.RunEnded("all trials have been run")
	}
	return nil
}

func (r *running) trial(ctx context.Context, p plan.Trial) error {
	if err := r.writer.EnsureRoom(r.options.DataRoot); err != nil {
		return err
	}
	settled := r.settle(ctx, r.settleLimit(p))
	writer, err := r.writer.TrialStarted(p.ID)
	if err != nil {
		return err
	}
	t := &trial{run: r, plan: p, cell: p.CellOf(r.experiment), store: r.options.Ceiling, writer: writer,
		disk: r.diskOf(p, writer)}
	t.result.Settled = settled
	if p.Store >= 0 {
		t.store = r.experiment.Stores[p.Store]
	} else if null, ok := r.experiment.CeilingNamed(p.Arm); ok {
		t.store = null
	}
	t.tested = underTest{store: t.store, cell: t.cell}
	r.view.TrialStarted(event.Trial{Number: len(r.ended) + 1, Of: len(r.plan), Arm: p.Arm,
		Cell: r.experiment.Cells[p.Cell].Label(r.experiment), Phases: phaseNames(r.experiment)})
	if err := t.do(ctx); err != nil {
		return err
	}
	if t.result.State == record.Interrupted {
		r.result.Interrupted = true
	} else {
		r.ends(p, &t.result.Trial)
	}
	r.view.TrialEnded(event.TrialEnd{State: t.result.State, Text: t.result.why(),
		Rate: r.options.TrialRate(r.experiment, p, &t.result.Trial, t.rates)})
	return nil
}

func phaseNames(e *experiment.Experiment) []string {
	var names []string
	for _, p := range e.Phases {
		names = append(names, p.Name)
	}
	return names
}

// ends remembers how a trial ended.
func (r *running) ends(p plan.Trial, t *record.Trial) {
	r.ended[p.ID] = &record.Trial{Plan: p, State: t.State, Cause: t.Cause, Marks: t.Marks, Seconds: t.Seconds}
}

// count counts planned trials by how their last try ended.
func (r *running) count() {
	for _, tries := range r.tries(0) {
		r.result.Planned++
		last := tries[len(tries)-1]
		if last == nil {
			continue
		}
		if last.Plan.Role == plan.Ceiling && (last.State == record.Marked || last.State == record.Failed) {
			r.result.Ceilings++
		}
		switch last.State {
		case record.OK:
			r.result.OK++
			if last.Plan.Role != plan.Ceiling {
				r.result.Measured++
			}
		case record.Marked:
			r.result.Marked++
		case record.Failed:
			r.result.Failed++
		case record.Refused:
			r.result.Refused++
		}
	}
}

func (r *running) finish(err error) (Result, error) {
	r.noted()
	r.count()
	kind, text := record.EventEnded, ""
	switch {
	case err != nil:
		kind, text = record.EventInterrupted, err.Error()
	case r.result.Interrupted:
		kind, text = record.EventInterrupted, "stopped by the user"
	}
	return r.result, onceFull(err, r.writer.Event(kind, "", text), r.writer.Close())
}

// seal measures the machine where the stores' files will stand.
func seal(e *experiment.Experiment, o Options) (record.Environment, error) {
	where, err := o.dataPlace()
	if err != nil {
		return record.Environment{}, err
	}
	environment := sealHere(where, e, o)
	environment.ValueRatio, environment.ValueRatios = valueRatios(e)
	return environment, nil
}

// dataPlace returns the directory in which stores get their directories: an existing one.
func (o Options) dataPlace() (string, error) {
	if o.DataRoot != "" {
		return o.DataRoot, nil
	}
	if err := os.MkdirAll(o.Directory, 0o755); err != nil {
		return "", fmt.Errorf("making the run directory: %w", err)
	}
	return o.Directory, nil
}

// sealHere measures the machine, and whether the kernel counts right what is written there.
func sealHere(where string, e *experiment.Experiment, o Options) record.Environment {
	environment := host.Seal(where, o.Command)
	environment.Programs = programs(e, o)
	check := o.checkWriteCount
	if check == nil {
		check = host.CheckWriteCount
	}
	perByte, why := check(where)
	environment.WriteCount = perByte
	if why != "" {
		environment.NotMeasured[writesSeries] = why
	}
	return environment
}
