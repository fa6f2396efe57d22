package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
)

// begun starts a run of an experiment and waits until its first measured phase is under way. The
// directory is the run's.
func begun(t *testing.T, text string, change func(*exec.Cmd), more ...string) (p *process, directory string) {
	t.Helper()
	directory = filepath.Join(t.TempDir(), "run")
	p = start(t, change, append([]string{"run", written(t, "one.yaml", text), "--out", directory, "--plain"}, more...)...)
	eventually(t, func() bool { return underWay(directory) }, func() string { return "no phase got under way:\n" + p.stderr.String() })
	return p, directory
}

// underWay looks for a sample of the measured phase.
func underWay(directory string) bool {
	files, err := filepath.Glob(filepath.Join(directory, "trials", "*", "series.jsonl"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(text), `"update"`)
	})
}

// resumed does what is left and checks that the run is then as if nothing had happened.
func resumed(t *testing.T, directory string) {
	t.Helper()
	run := fine(t, assay(t, "run", "--resume", directory), directory)
	if len(run.Missing) > 0 {
		t.Errorf("after --resume something is missing: %v", run.Missing)
	}
	if last := run.Events[len(run.Events)-1]; last.Kind != record.EventEnded {
		t.Errorf("the last event is %+v", last)
	}
}

// gone waits until no process of pids is left. A process that has ended counts as gone even as a
// zombie: whether the process that adopts orphans here reaps them is unknown.
func gone(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) == 0 {
		t.Error("there was no worker: the test proves nothing")
	}
	eventually(t, func() bool { return !slices.ContainsFunc(pids, host.ProcessAlive) }, func() string { return "a worker outlived its conductor" })
}

// Once asked to stop, by whatever signal, a run keeps what it has and says how to go on.
func TestStoppedOnceAndResumed(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, directory := begun(t, paced, nil)
			workers := p.workers(t)
			p.send(t, signal)
			e := p.end(t)
			e.wants(t, exitTrials, "stopping; what was measured is kept", "assay run --resume "+directory)
			gone(t, workers)
			run := readable(t, directory)
			if last := run.Events[len(run.Events)-1]; last.Kind != record.EventInterrupted ||
				statesOf(run)[record.Interrupted] > 1 {
				t.Errorf("states %v, last event %+v", statesOf(run), last)
			}
			if signal == syscall.SIGINT { // what is left does not tell by which it was stopped
				resumed(t, directory)
			}
		})
	}
}

func statesOf(run *record.Run) map[record.State]int {
	count := map[record.State]int{}
	for _, trial := range run.Trials {
		count[trial.State]++
	}
	return count
}

// The second Ctrl-C ends the run at once, even while a store hangs.
func TestStoppedTwice(t *testing.T) {
	t.Parallel()
	p, directory := begun(t, paced, nil)
	workers := p.workers(t)
	gone := func() { gone(t, workers) }
	for _, pid := range workers {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // so that the first one can't take effect
			t.Fatal(err)
		}
	}
	p.send(t, syscall.SIGINT)
	p.shows(t, "Ctrl-C again: at once")
	go func() {
		for p.Process.Signal(syscall.SIGINT) == nil { // one that comes at once belongs to the first
			time.Sleep(100 * time.Millisecond)
		}
	}()
	p.end(t).wants(t, 128+int(syscall.SIGINT))
	gone()
	readable(t, directory)
	resumed(t, directory)
}

// A conductor that is killed leaves no worker, nothing in shared memory, and a run that can be
// resumed.
func TestKilledConductor(t *testing.T) {
	t.Parallel()
	t.Run("own worker", func(t *testing.T) {
		t.Parallel()
		resumed(t, killConductor(t, paced))
	})
	t.Run("worker that does not notice", func(t *testing.T) {
		t.Parallel()
		deaf := fmt.Sprintf("stores: [{driver: memory, worker: [%q, deaf-worker]}]", os.Args[0])
		killConductor(t, strings.NewReplacer("stores: [memory]", deaf, "for: 1200ms", "for: 300s").Replace(paced))
	})
}

// killConductor returns the run directory that is left.
func killConductor(t *testing.T, text string) string {
	before := shared(t)
	p, directory := begun(t, text, nil)
	workers := p.workers(t)
	p.send(t, syscall.SIGKILL)
	if e := p.end(t); e.status != 128+int(syscall.SIGKILL) {
		t.Errorf("status %d", e.status)
	}
	gone(t, workers)
	for _, name := range shared(t) {
		// Other runs on this machine have such names too, but only for the moments until their
		// workers have mapped them.
		if !slices.Contains(before, name) {
			eventually(t, func() bool { _, err := os.Stat(name); return err != nil }, func() string { return name + " is left in shared memory" })
		}
	}
	if run := readable(t, directory); len(run.Missing) == 0 {
		t.Error("a killed run says that nothing is missing")
	}
	return directory
}

func shared(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("/dev/shm/assay-*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A worker that somebody kills fails its trial; the others are run.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	p, directory := begun(t, paced, nil)
	for _, pid := range p.workers(t) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	e := p.end(t)
	e.wants(t, exitTrials, "the worker died: signal: killed", "1 of 3 trials failed")
	if states := statesOf(readable(t, directory)); states[record.Failed] != 1 || len(states) < 2 {
		t.Errorf("states %v", states)
	}
}

// A worker that stands still is killed once step_timeout is over; the other trials are run.
func TestHungWorker(t *testing.T) {
	t.Parallel()
	p, directory := begun(t, strings.Replace(paced, "step_timeout: 300s", "step_timeout: 10s", 1), nil)
	workers := p.workers(t)
	for _, pid := range workers {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	e := p.end(t)
	e.wants(t, exitTrials, "did not answer", "it was killed", "1 of 3 trials failed")
	gone(t, workers)
	if states := statesOf(readable(t, directory)); states[record.Failed] != 1 {
		t.Errorf("states %v", states)
	}
}

// A run goes on when the reader of its progress goes away.
func TestReaderOfProgressGoesAway(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, directory := begun(t, paced, func(c *exec.Cmd) { c.Stderr = writer })
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	e := p.end(t)
	fine(t, e, directory)
	wantParts(t, "standard output", e.stdout, "report.html")
}

// Nor does it need who reads the table: the page is written anyway.
func TestReaderOfTheTableGoesAway(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, directory := begun(t, paced, func(c *exec.Cmd) { c.Stdout = writer })
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	e := p.end(t)
	fine(t, e, directory)
	wantParts(t, "standard error", e.stderr, "assay report "+directory)
	if _, err := os.Stat(filepath.Join(directory, "report.html")); err != nil {
		t.Error(err)
	}
}

// nohup is respected: a run under it outlives its terminal.
func TestNohup(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	p := start(t, func(c *exec.Cmd) {
		c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, c.Args...)
	}, "run", written(t, "one.yaml", paced), "--out", directory, "--plain")
	eventually(t, func() bool { return underWay(directory) }, func() string { return "no phase got under way:\n" + p.stderr.String() })
	p.send(t, syscall.SIGHUP)
	fine(t, p.end(t), directory)
}

func TestTwoRunsIntoOneDirectory(t *testing.T) {
	t.Parallel()
	p, directory := begun(t, paced, nil)
	assay(t, "run", "smoke", "--out", directory).wants(t, exitUsage, "already holds a run")
	assay(t, "run", "--resume", directory).wants(t, exitFailed, "is being written by process", "wait until it ends")
	readable(t, directory) // even now
	fine(t, p.end(t), directory)

	// Both at the same moment: one of them has it.
	directory = filepath.Join(t.TempDir(), "run")
	file := written(t, "one.yaml", strings.Replace(paced, "for: 1200ms", "for: 300ms", 1))
	var both []*process
	for range 2 {
		both = append(both, start(t, nil, "run", file, "--out", directory, "--plain"))
	}
	one, other := both[0].end(t), both[1].end(t)
	if strings.Contains(one.stderr, "all trials have been run") {
		one, other = other, one
	}
	if one.status != exitFailed && one.status != exitUsage || !strings.Contains(one.stderr, "--out") {
		t.Errorf("the one that came too late: status %d\n%s", one.status, one.stderr)
	}
	fine(t, other, directory)
}

// A run that was stopped in its last trial is stopped, not done.
func TestStoppedInTheLastTrial(t *testing.T) {
	t.Parallel()
	p, directory := begun(t, paced, nil)
	p.shows(t, "Trial: 2/3")
	eventually(t, func() bool { return strings.Contains(p.stderr.String(), "trial 3/3") }, func() string { return "the third trial did not begin" })
	p.send(t, syscall.SIGINT)
	e := p.end(t)
	e.wants(t, exitTrials, "Run: stopped", "--resume")
	if strings.Contains(e.stderr, "all trials have been run") {
		t.Error("it says that all trials have been run")
	}
	readable(t, directory)
}
