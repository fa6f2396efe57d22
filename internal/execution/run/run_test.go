package run

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/event"
	"assay/internal/execution/powercut"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/experiment/read"
	"assay/internal/presentation/live"
	"assay/internal/testkit/misbehave"
	"assay/internal/testkit/processes"
	"assay/store"
	"assay/worker"
)

// The test binary is also the worker, the lying worker, and conductors that are killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "lie" {
		if err := misbehave.Serve(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if told := os.Getenv(toldVariable); told != "" && len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := countingWorker(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(worker.Main(driversHere()...))
	}
	if len(os.Args) > 1 && os.Args[1] == "power-cut-rig" {
		if err := powercut.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		serve := func() error { return agents.ServeInvited(context.Background(), os.Stdin, agentOptions()) }
		if len(os.Args) > 4 {
			serve = func() error { return joinAgent(os.Args[4]) }
		}
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		if err := agents.Guard(os.Stdin, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 5 && os.Args[1] == "conduct-agents" {
		if err := conductAgents(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "listen" {
		if err := listen(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "alter" {
		alter(os.Args[2])
		os.Exit(0)
	}
	if len(os.Args) > 3 && os.Args[1] == "deaf" {
		goDeaf(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	if len(os.Args) > 4 && os.Args[1] == "conduct" {
		busy := func(o *Options) {
			if strings.Contains(os.Args[2], haltedInSample) {
				o.View = &busyView{View: o.View}
			}
		}
		if _, err := runIn(os.Args[2], os.Args[3], os.Args[4], busy); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	state, err := os.MkdirTemp("", "assay-state-")
	if err == nil {
		err = os.Setenv("XDG_STATE_HOME", state) // notes of what is made, apart from the user's
	}
	if err != nil {
		panic(err)
	}
	flag.Parse()
	if figures := os.Getenv("ASSAY_FIGURES"); figures != "" { // of make test, which runs the others under the race detector
		if err := flag.Set("test.run", figures); err != nil {
			panic(err)
		}
	}
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set("6"); err != nil { // most of a test is waiting for phases to end
			panic(err)
		}
	}
	status := m.Run()
	_ = os.RemoveAll(state)
	os.Exit(status)
}

func describe(name string) (store.Description, error) {
	for _, d := range driversHere() {
		if description := worker.Describe(d); description.Name == name {
			return description, nil
		}
	}
	return store.Description{}, fmt.Errorf("no driver %s", name)
}

func options(directory string) Options {
	null, err := describe(experiment.NullDriver)
	if err != nil {
		panic(err)
	}
	return Options{
		Directory: directory, Command: []string{"test"}, Worker: []string{os.Args[0], "worker"},
		Ceiling:   experiment.Store{Name: experiment.NullDriver, Driver: experiment.NullDriver, Description: null},
		View:      live.NewPlain(discard{}),
		Undecided: detect.Undecided, ToDetect: detect.ToDetect, TrialRate: facts.TrialRate,
		threadEntries: 1 << 12, // making and counting long traces took most of the tests' time
		trials:        ofStores,
	}
}

// ofStores leaves out the A/A arm and the null drivers: most tests look at their store's trial, and
// each other one costs as much time.
func ofStores(trials []plan.Trial) []plan.Trial {
	return slices.DeleteFunc(trials, func(p plan.Trial) bool { return p.Role != plan.Measured })
}

// allTrials are those that a run has by itself.
func allTrials(o *Options) { o.trials = nil }

// ofFigures skips a test of what a run concludes from its figures in the short form, which runs
// under the race detector: other tests run the same goroutines. These are of phases with one worker
// and several, groups, servers, limits and full disks, each way to end a run, and views.
func ofFigures(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short")
	}
}

// heard keeps what a view prints, which it does in a goroutine of its own.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// runText runs an experiment into a directory.
func runText(ctx context.Context, text, directory string) (Result, error) {
	return runTextWith(ctx, text, directory, func(*Options) {})
}

// runTextWith does so with other options.
func runTextWith(ctx context.Context, text, directory string, change func(*Options)) (Result, error) {
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		return Result{}, err
	}
	o := options(directory)
	change(&o)
	return New(ctx, e, []byte(text), o)
}

// experiment is a small experiment on one driver.
func anExperiment(driver, worker string, changes ...string) string {
	text := `name: test
stores: [{driver: DRIVER, worker: WORKER}]
records: 200
keys: {format: binary, bytes: 16}
values: {bytes: 200, repeated: 0.5}
threads: 2
handles: shared
durability: D1
phases:
  - {name: load, load: true, batch: 20}
  - {name: look, mix: {read: 1}, order: sequential, operations: 400}
  - {name: overwrite, mix: {update: 1}, order: shuffled, operations: 1000}
  - {name: insert, mix: {insert: 3, read: 1}, order: uniform, operations: 1000}
  - {name: remove, mix: {delete: 1, read: 2, upsert: 1}, order: uniform, operations: 300}
  - {name: read, mix: {read: 1}, order: shuffled, operations: 1000}
blocks: 1
seed: 7
step_timeout: 300s
busy_machine: tell
`
	text = strings.ReplaceAll(strings.ReplaceAll(text, "WORKER", worker), "DRIVER", driver)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			panic("the experiment has no " + changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return text
}

func own() string             { return fmt.Sprintf("[%q, worker]", os.Args[0]) }
func liar(kind string) string { return fmt.Sprintf("[%q, lie, %s]", os.Args[0], kind) }

// trialOf returns the result of the one measured trial of a test's experiment.
func trialOf(t *testing.T, directory, arm string) *record.Trial {
	t.Helper()
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range run.Plan {
		if p.Arm == arm {
			if trial := run.Trials[p.ID]; trial != nil {
				return trial
			}
			t.Fatalf("trial %s has no result; missing: %v", p.ID, run.Missing)
		}
	}
	t.Fatalf("no trial of %s in the plan", arm)
	return nil
}

// codes returns the faults of a trial, without those of the machine.
func codes(trial *record.Trial) []string {
	var all []string
	for _, m := range trial.Marks {
		// other tests run on this machine, which may have a quota
		if fault := string(m.Fault()); !slices.Contains(all, fault) && !m.Machine() {
			all = append(all, fault)
		}
	}
	slices.Sort(all)
	return all
}

// sound reports whether a trial ended without a mark of its own: that of a machine which other tests keep busy is
// none.
func sound(trial *record.Trial) bool {
	return trial.State == record.OK || trial.State == record.Marked && len(codes(trial)) == 0
}

// hasMark says whether a trial has a mark with some parameters, as JSON has them.
func hasMark(trial *record.Trial, code finding.Code, params finding.Params) bool {
	return slices.ContainsFunc(trial.Marks, func(m finding.Mark) bool {
		for name, want := range params {
			if m.Params[name] != want {
				return false
			}
		}
		return m.Code == code
	})
}

// TestEachMisbehaviourIsCaught runs whole trials on stores and workers that break one promise each.
// It says for each what the run must make of it: a state, and a code among the marks.
//
// Fault (physics): a worker counts reads and skips them, or returns a part of the value
// Assay: `counts-disagree` (`bytes-read`). Counting bytes that it should have read is not found,
// but for its times
// With: run.TestEachMisbehaviourIsCaught
func TestEachMisbehaviourIsCaught(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, c := range []struct {
		name, worker string
		state        record.State
		mark         string // "": none
		text         string // of the error
	}{
		{name: misbehave.Prints, state: record.OK},
		{name: "lies-wrong-value", state: record.Marked, mark: string(finding.FaultWrong)},
		{name: "lies-damaged-value", state: record.Marked, mark: string(finding.FaultWrong)},
		{name: "lies-empty-value", state: record.Marked, mark: string(finding.FaultWrong)},
		{name: "lies-lost-writes", state: record.Marked, mark: string(finding.FaultStale)},
		{name: "lies-all-lost", state: record.Marked, mark: string(finding.FaultLost)},
		{name: "lies-stale-value", state: record.Marked, mark: string(finding.FaultStale)},
		{name: "lies-delete", state: record.Marked, mark: string(finding.FaultStale)},
		{name: "lies-batch-last", state: record.Marked, mark: string(finding.FaultLost)},
		{name: "hangs-operation", state: record.Failed, mark: string(finding.FaultUnfinished), text: "was killed"},
		{name: "hangs-open", state: record.Failed, text: "open took longer"},
		{name: "crashes-exit", state: record.Failed, mark: string(finding.FaultUnfinished), text: "exit status 3"},
		{name: "crashes-panic", state: record.Failed, mark: string(finding.FaultUnfinished), text: "died"},
		{name: misbehave.Honest, worker: liar("counts-twice"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-attempts"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-nothing"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-no-times"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-bytes"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-early-end"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-late-end"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-early-start"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("counts-no-reads"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: misbehave.Honest, worker: liar("times-one"), state: record.Marked, mark: string(finding.FaultCounts)},
		{name: "hangs-close", state: record.Failed, text: "close"},
		{name: misbehave.Honest, worker: liar("answers-garbage"), state: record.Failed, text: "control reply"},
		{name: misbehave.Honest, worker: liar("answers-wrong-id"), state: record.Failed, text: "answered request"},
		{name: misbehave.Honest, worker: liar("answers-never"), state: record.Failed, text: "did not answer"},
		{name: misbehave.Honest, worker: liar("floods-stderr"), state: record.OK},
		{name: misbehave.Honest, worker: liar("truncates"), state: record.OK},
		{name: misbehave.Honest, worker: "[/nonexistent/worker]", state: record.Failed, text: "no such file"},
	} {
		kind := filepath.Base(strings.Trim(c.worker[strings.LastIndex(c.worker, " ")+1:], "[]"))
		t.Run(c.name+" "+kind, func(t *testing.T) {
			t.Parallel()
			if c.worker == "" {
				c.worker = own()
			}
			directory := filepath.Join(t.TempDir(), "run")
			timeout := "300s" // honest workers have time, however busy the machine
			if strings.HasPrefix(c.name, "hangs") || strings.Contains(c.worker, "never") {
				timeout = "10s"
			}
			text := anExperiment(c.name, c.worker, "300s", timeout)
			if c.name == misbehave.Honest { // what its worker tells is held against the time that a phase has
				text = strings.Replace(text, "shuffled, operations: 1000}\nblocks", "shuffled, for: 120ms}\nblocks", 1)
			}
			result, err := runText(context.Background(), text, directory)
			if err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, c.name)
			holdForm(t, strings.TrimSuffix(c.name+"-"+kind, "-."), directory, trial)
			marks := codes(trial)
			if state := trial.State; state != c.state && !(c.state == record.OK && sound(trial)) {
				t.Errorf("state %s, expected %s (error %q, marks %v)", state, c.state, trial.Error, trial.Marks)
			}
			if c.mark != "" && !slices.Contains(marks, c.mark) {
				t.Errorf("marks %v, expected %s among them", trial.Marks, c.mark)
			}
			if c.mark == "" && c.state == record.OK && len(marks) > 0 {
				t.Errorf("an honest store was marked: %v", trial.Marks)
			}
			if !strings.Contains(trial.Error, c.text) {
				t.Errorf("error %q, expected %q in it", trial.Error, c.text)
			}
			if result.OK+result.Marked+result.Failed+result.Refused != result.Planned {
				t.Errorf("%+v does not add up", result)
			}
			if left, err := os.ReadDir(filepath.Join(directory, "data")); err == nil && len(left) > 0 {
				t.Errorf("data was left behind: %v", left)
			}
		})
	}
}

func TestHonestTrialAddsUp(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runTextWith(context.Background(), anExperiment(misbehave.Honest, own()), directory,
		allTrials); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, misbehave.Honest)
	if marks := codes(trial); len(marks) > 0 || trial.Error != "" {
		t.Errorf("an honest store was marked: %v, error %q", trial.Marks, trial.Error)
	}
	if len(trial.Phases) != 6 {
		t.Fatalf("%d phases were recorded, expected 6", len(trial.Phases))
	}
	for _, p := range trial.Phases {
		var done uint64
		for _, o := range p.Operations {
			done += o.Done()
			if o.Service.Count() != o.Done() {
				t.Errorf("%s %s: %d outcomes, %d times", p.Name, o.Name, o.Done(), o.Service.Count())
			}
		}
		if done == 0 || p.Attempted != done+p.Unfinished {
			t.Errorf("%s: %d attempted, %d done, %d unfinished", p.Name, p.Attempted, done, p.Unfinished)
		}
	}
	if load := trial.Phases[0]; load.Operations[0].Items != 200 || *load.Sizes.Records != 200 ||
		*load.Sizes.LogicalBytes != 200*216 {
		t.Errorf("load: %d items, sizes %+v", load.Operations[0].Items, load.Sizes)
	}
	final := trial.Final
	if final == nil || final.Records == 0 || final.Lost+final.Stale+final.Wrong+final.Errors > 0 {
		t.Errorf("final check: %+v", final)
	}
	if trial.Settings["sync"] == "" {
		t.Errorf("no settings: %v", trial.Settings)
	}
	historiesAreThere(t, directory)
}

// historiesAreThere holds a run of the experiment to its histories: a phase that overwrites says how
// much of it was recorded; one that only loads or reads, and the null driver's, record nothing.
func historiesAreThere(t *testing.T, directory string) {
	t.Helper()
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, planned := range run.Plan {
		for _, p := range run.Trials[planned.ID].Phases {
			overwrites := (p.Name == "overwrite" || p.Name == "remove") && planned.Role != plan.Ceiling
			if (p.History != nil) != overwrites {
				t.Errorf("%s, phase %s: a history is there: %v", planned.ID, p.Name, p.History != nil)
			}
			if p.History == nil {
				continue
			}
			seen++
			if h := p.History; h.Sample < 2 || h.Records < uint64(h.Sample)/2 || h.Dropped > 0 || h.CompleteNS != nil {
				t.Errorf("%s, phase %s: %+v", planned.ID, p.Name, *h)
			}
		}
	}
	if seen != 4 { // of the store and of its A/A arm
		t.Errorf("%d phases have a history", seen)
	}
}

func TestInterruptedRunIsKeptAndResumed(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	text := anExperiment(misbehave.Honest, own(), "operations: 1000", "for: 400ms")
	result, err := runTextWith(ctx, text, directory, func(o *Options) { o.View = tickView{View: o.View, look: cancel} })
	if err != nil || !result.Interrupted {
		t.Fatalf("result %+v, error %v: expected an interrupted run", result, err)
	}
	if run, err := record.Open(directory); err != nil || len(run.Plan) != result.Planned {
		t.Fatalf("the interrupted run can't be read: %v", err)
	}
	result, err = Resume(context.Background(), options(directory))
	if err != nil || result.Interrupted || result.OK+result.Marked != result.Planned {
		t.Fatalf("resumed: %+v, %v", result, err)
	}
	if _, err := runText(context.Background(), text, directory); err == nil || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("a second run into the directory gave %v, expected a refusal that names --resume", err)
	}
}

func TestKilledConductorLeavesAReadableRunAndNoWorker(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := anExperiment(misbehave.Honest, own(), "operations: 1000", "for: 600s")
	command := exec.Command(os.Args[0], "conduct", text, directory, "")
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var workers []int
	for deadline := time.Now().Add(3 * time.Minute); len(workers) == 0 ||
		!hasSamples(directory); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = command.Process.Kill()
			t.Fatalf("no samples after 3 min; workers %v", workers)
		}
		workers = processes.Children(t, command.Process.Pid)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // killed, as was wanted
	for _, pid := range workers {
		gone := func() bool { return !host.ProcessAlive(pid) }
		for deadline := time.Now().Add(60 * time.Second); !gone() &&
			time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		}
		if !gone() {
			t.Errorf("worker %d outlived its conductor", pid)
		}
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Missing) == 0 {
		t.Error("a killed run says that nothing is missing")
	}
	resumed, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := options(directory)
	o.View = tickView{View: o.View, look: cancel}
	if result, err := Resume(resumed, o); err != nil || !result.Interrupted {
		t.Errorf("resuming after the kill: %v (%+v)", err, result)
		after, err := record.Open(directory)
		if err != nil {
			t.Fatal(err)
		}
		for id, trial := range after.Trials {
			t.Logf("%s: %s %s", id, trial.State, trial.Error)
		}
	}
}

// tickView looks at what runs while a phase does.
type tickView struct {
	event.View
	look func()
}

func (v tickView) Tick(event.Tick) { v.look() }

func hasSamples(directory string) bool {
	files, err := filepath.Glob(filepath.Join(directory, "trials", "*", "series.jsonl"))
	if err != nil {
		return false
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}
