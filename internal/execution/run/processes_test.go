package run

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/server"
	"assay/internal/presentation/live"
)

const processesRun = `name: processes
stores: [{driver: redis, worker: WORKER, server: start}]
durability: D0
tasks: {processes: 5}
records: 300
blocks: 1
repeats: 0
busy_machine: tell
keys: {format: decimal, digits: 12}
phases:
  - {name: load, load: true}
  - {name: mixed, mix: {read: 2, update: 2, insert: 1}, rate: 300, for: 900ms}
step_timeout: 300s
`

// installed returns a program that is on this machine; the test is skipped visibly where it is not.
func installed(t *testing.T, driver string) server.Program {
	t.Helper()
	p, _ := programOf(driver)
	if _, err := p.Find(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	return p
}

// inProcesses runs the experiment. Once the phase mixed runs, do is called with the trial's workers and
// its server.
func inProcesses(t *testing.T, do func(workers []int, server int), changes ...string) (*record.Trial, *record.Phase) {
	t.Helper()
	trial := inProcessesUntil(context.Background(), t, do, changes...)
	if len(trial.Phases) < 2 || trial.Phases[1].Name != "mixed" {
		t.Fatalf("%s: %s", trial.State, trial.Error)
	}
	return trial, &trial.Phases[1]
}

func inProcessesUntil(ctx context.Context, t *testing.T, do func(workers []int, server int),
	changes ...string) *record.Trial {
	t.Helper()
	p := installed(t, "redis")
	var pid atomic.Int64
	settings := p.Settings
	p.Settings = func(ctx context.Context, i *server.Instance) (map[string]string, error) {
		pid.Store(int64(i.PID()))
		return settings(ctx, i)
	}
	v := &faultyView{View: live.NewPlain(discard{}), in: "mixed", fault: func() {
		if do != nil {
			do(workersOf(t), int(pid.Load()))
		}
	}}
	text := strings.NewReplacer(changes...).Replace(processesRun)
	text = strings.ReplaceAll(text, "WORKER", fmt.Sprintf("[%q, worker, %q]", os.Args[0], nameOf(t)))
	directory := runServer(ctx, t, p, v, text)
	v.done.Wait()
	return trialOf(t, directory, "redis")
}

// lasts makes the phase last, so that what is done to its processes is done in it, also where the test
// gets no CPU for a while.
var lasts = []string{"900ms", "4s"}

// nameOf is an argument that the workers of a test have, and those of no other.
func nameOf(t *testing.T) string { return fmt.Sprint(t.Name(), " of ", os.Getpid()) }

// workersOf returns the workers of a test's one trial, in the order in which they were started.
func workersOf(t *testing.T) []int { return processesOf(t, "worker") }

// processesOf returns the processes that a test has started as something, by their numbers.
func processesOf(t *testing.T, as string) (pids []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(text), "\x00"+as+"\x00"+nameOf(t)+"\x00") {
			continue // it ended, or is another
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// outcomesAddUp holds a phase's outcomes against the operations that the conductor counted.
func outcomesAddUp(t *testing.T, p *record.Phase) {
	t.Helper()
	sum := outcomes(p)
	done := sum.OK + sum.Miss + sum.Lost + sum.Conflict + sum.Wrong + sum.Errors + sum.Timeout
	if done == 0 || done+p.Unfinished != p.Attempted {
		t.Errorf("%d attempted, %d with an outcome, %d unfinished: %+v", p.Attempted, done, p.Unfinished, sum)
	}
	if sum.Wrong+sum.Lost > 0 {
		t.Errorf("%+v", sum)
	}
}

func TestProcessesDoAPhaseTogether(t *testing.T) {
	t.Parallel()
	var workers []int
	trial, p := inProcesses(t, func(pids []int, _ int) { workers = pids })
	if !sound(trial) {
		t.Errorf("%s: %s %v", trial.State, trial.Error, trial.Marks)
	}
	outcomesAddUp(t, p)
	if len(workers) != 5 || p.Processes != 5 || p.Threads != 5 || p.Clock != "monotonic" {
		t.Errorf("workers %v; %d processes, %d threads, clock %s", workers, p.Processes, p.Threads, p.Clock)
	}
	if p.Unfinished > 0 || p.StartSpreadNS < 0 || !wentOn(p) {
		t.Errorf("%d unfinished, a spread of %d ns, ended by %s", p.Unfinished, p.StartSpreadNS, p.EndedBy)
	}
	if trial.Final == nil || trial.Final.Right != trial.Final.Records || trial.Final.Records < 300 {
		t.Errorf("final check: %+v", trial.Final)
	}
	if p.Process.CPUSeconds == nil || *p.Process.CPUSeconds <= 0 || p.Process.RSSMaxBytes == nil {
		t.Errorf("used: %+v", p.Process)
	}
}

func TestKilledProcessIsReported(t *testing.T) {
	t.Parallel()
	for name, which := range map[string]int{"the first": 0, "one in the middle": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trial, p := inProcesses(t, func(pids []int, _ int) { _ = syscall.Kill(pids[which], syscall.SIGKILL) },
				lasts...)
			want := "process " + strconv.Itoa(which+1) + " of 5"
			if trial.State != record.Failed || trial.Cause != finding.CauseDied || !strings.Contains(trial.Error,
				want) ||
				!strings.Contains(trial.Error, "signal: killed") {
				t.Errorf("%s, %s: %s", trial.State, trial.Cause, trial.Error)
			}
			if len(p.Gone) != 1 || p.Gone[0].Process != which || p.Gone[0].AtSeconds <= 0 {
				t.Errorf("gone: %+v", p.Gone)
			}
			outcomesAddUp(t, p)
			if p.Unfinished > 1 || p.ElapsedNS < 3500e6 {
				t.Errorf("%d unfinished after %d ns", p.Unfinished, p.ElapsedNS)
			}
			if trial.Final == nil || trial.Final.Right+trial.Final.Unknown != trial.Final.Records ||
				trial.Final.Records < 300 {
				t.Errorf("final check: %+v", trial.Final)
			}
		})
	}
}

func TestAllProcessesKilledEndTheTrial(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, p := inProcesses(t, func(pids []int, _ int) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}, "900ms", "600s")
	if trial.State != record.Failed || trial.Cause != finding.CauseDied || len(p.Gone) != 5 {
		t.Errorf("%s, %s: %s; %+v", trial.State, trial.Cause, trial.Error, p.Gone)
	}
	outcomesAddUp(t, p)
}

func TestCtrlCEndsAllProcesses(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var workers []int
	trial := inProcessesUntil(ctx, t, func(pids []int, _ int) { workers = pids; cancel() }, "900ms", "60s")
	if trial.State != record.Interrupted || len(workers) != 5 {
		t.Errorf("%s: %s; workers %v", trial.State, trial.Error, workers)
	}
	outcomesAddUp(t, &trial.Phases[1])
	if left := workersOf(t); len(left) > 0 {
		t.Errorf("workers %v are left", left)
	}
}

// A server that dies takes no process with it: their operations fail, and the trial says why.
func TestProcessesOutliveTheirServer(t *testing.T) {
	t.Parallel()
	trial, p := inProcesses(t, func(_ []int, server int) { _ = syscall.Kill(server, syscall.SIGKILL) }, lasts...)
	if trial.State != record.Failed || trial.Cause != finding.CauseServerDied || len(p.Gone) > 0 {
		t.Errorf("%s, %s: %s; %+v", trial.State, trial.Cause, trial.Error, p.Gone)
	}
	outcomesAddUp(t, p)
}

// One of the processes is stopped from outside: it can't end the phase, and is killed for that.
func TestProcessThatHangsIsKilledAlone(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	trial, p := inProcesses(t, func(pids []int, _ int) { _ = syscall.Kill(pids[3], syscall.SIGSTOP) },
		append(lasts, "step_timeout: 300s", "step_timeout: 20s")...)
	if trial.State != record.Failed || trial.Cause != finding.CauseHung || !strings.Contains(trial.Error, "process 4 of 5") || len(p.Gone) != 1 || p.Gone[0].Process != 3 {
		t.Errorf("%s, %s: %s; %+v", trial.State, trial.Cause, trial.Error, p.Gone)
	}
	outcomesAddUp(t, p)
}

// The kernel kills one of the processes, or the server, at the limit that all of them share.
func TestProcessesShareTheirMemoryLimit(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	if err := host.CheckMemoryLimit(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	trial, p := inProcesses(t, nil, "records: 300", "records: 300\nvalues: {bytes: 65536}\nmemory_limit: 192MiB",
		"rate: 300, for: 900ms", "for: 600s", "mix: {read: 2, update: 2, insert: 1}", "mix: {insert: 1}")
	if trial.State != record.Failed || trial.Memory == nil || trial.Memory.Kills == nil ||
		*trial.Memory.Kills == 0 || trial.Cause != finding.CauseMemory {
		t.Errorf("%s, %s: %s; %+v", trial.State, trial.Cause, trial.Error, trial.Memory)
	}
	outcomesAddUp(t, p)
}

// The server meets a full disk: the operations of all processes fail, and each is counted.
func TestProcessesMeetAFullDisk(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	if _, _, err := host.CheckQuotaMount(t.TempDir()); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	trial, p := inProcesses(t, nil, "durability: D0", "durability: D1",
		"records: 300", "records: 300\nvalues: {bytes: 65536}\ndisk_quota: 48MiB\ndisk_quota_by: mount", "rate: 300, for: 900ms", "for: 600s",
		"mix: {read: 2, update: 2, insert: 1}", "mix: {insert: 1}")
	if trial.State == record.OK || p.EndedBy == record.EndedDuration || !slices.ContainsFunc(trial.Marks, isFullMark) {
		t.Errorf("%s, %s: %s; ended by %s; %v", trial.State, trial.Cause, trial.Error, p.EndedBy, trial.Marks)
	}
	outcomesAddUp(t, p)
}

// A hundred tasks, as threads and as processes.
func TestHundredTasks(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for name, tasks := range map[string]string{"threads": "tasks: 100", "processes": "tasks: {processes: 100}"} {
		t.Run(name, func(t *testing.T) {
			trial, p := inProcesses(t, nil, "tasks: {processes: 5}", tasks, "rate: 300, for: 900ms", "operations: 1000")
			if faults := slices.DeleteFunc(codes(trial),
				func(c string) bool { return c == string(finding.FaultApart) }); trial.Final == nil || len(faults) > 0 {
				t.Errorf("%s: %s %v", trial.State, trial.Error, trial.Marks)
			}
			outcomesAddUp(t, p)
			if p.Threads != 100 || p.Unfinished > 0 || trial.Final.Right != trial.Final.Records {
				t.Errorf("%d threads, %d processes, %d unfinished, final check %+v", p.Threads, p.Processes, p.Unfinished, trial.Final)
			}
		})
	}
}

// A group's clients are processes of its own, and those of the other group the threads of one more.
func TestGroupsOfProcesses(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	groups := `{name: mixed, for: 900ms, groups: [{name: writers, tasks: {processes: 2, threads: 2}, rate: 200, mix: {upsert: 1}}, {name: readers, rate: 200, mix: {read: 1}}]}`
	trial, p := inProcesses(t, nil, "tasks: {processes: 5}", "tasks: 3", "{name: mixed, mix: {read: 2, update: 2, insert: 1}, rate: 300, for: 900ms}", groups)
	if faults := codes(trial); trial.Final == nil || trial.Final.Right != trial.Final.Records || len(faults) > 0 {
		t.Errorf("%s: %s %v; final check %+v", trial.State, trial.Error, trial.Marks, trial.Final)
	}
	outcomesAddUp(t, p)
	if p.Processes != 3 || p.Threads != 7 || len(p.Groups) != 2 {
		t.Fatalf("%d processes, %d threads, %d groups", p.Processes, p.Threads, len(p.Groups))
	}
	writers, readers := p.Groups[0], p.Groups[1]
	if writers.Processes != 2 || writers.Threads != 4 || readers.Processes != 0 || readers.Threads != 3 {
		t.Errorf("writers: %d threads in %d processes; readers: %d in %d", writers.Threads, writers.Processes, readers.Threads, readers.Processes)
	}
	outcomesAddUp(t, &writers)
	outcomesAddUp(t, &readers)
}

// A second process that does what it was not told to is found: by what the conductor counts, or by
// when it began.
//
// Fault (physics): a process of several does the threads of another
// Assay: `counts-disagree` (`outcomes`, `sum`)
//
// Fault (physics): a process of several begins late
// Assay: `machine-disturbed` (`starts-apart`) above a tenth of the phase. A process that says a
// wrong time is not found
func TestLyingProcessesAreFound(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for what, want := range map[string]finding.Code{"other-lane": finding.FaultCounts, "late": finding.FaultApart} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			worker := fmt.Sprintf("[sh, -c, %q, sh, %q, %s]", `"$1" alter "$2" | "$1" worker`, os.Args[0], what)
			trial, _ := inProcesses(t, nil, "WORKER", worker, "processes: 5", "processes: 2")
			// Which counts disagree depends on which process writes a word last.
			if trial.State == record.OK || !slices.ContainsFunc(trial.Marks,
				func(m finding.Mark) bool { return m.Fault() == want }) {
				t.Errorf("%s: %s %v", trial.State, trial.Error, trial.Marks)
			}
		})
	}
}

// alter passes requests on, but of the second process changes one.
func alter(what string) {
	second := false
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		line := lines.Text()
		if strings.Contains(line, `"command":"prepare"`) {
			second = strings.Contains(line, `"process":1,"first_thread":1,`)
		}
		if second {
			switch what {
			case "other-lane":
				line = strings.Replace(line, `"first_thread":1,`, "", 1)
			case "late":
				if strings.Contains(line, `"command":"run"`) {
					time.Sleep(700 * time.Millisecond)
				}
			}
		}
		fmt.Println(line)
	}
}
