package run

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/base/finding"
)

// pin pins so many threads of this process to one CPU, as taskset -ap does of all.
func pin(threads int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	var now, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil {
		panic(err)
	}
	for cpu := range 1024 {
		if now.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	for _, task := range tasks[:min(len(tasks), threads)] {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			_ = unix.SchedSetaffinity(tid, &one) // a thread that has ended
		}
	}
}

// A worker that somebody pins to one CPU in the middle of a phase has less of the machine than its rivals;
// one of which a single thread pins itself has all of it.
//
// Fault (stops): somebody pins a worker or a server, changes its priority, its limits or its
// cgroup's, or moves it, while a phase runs
// Assay: `machine-disturbed` (`confinement-changed`), which costs the block. A thread that is
// pinned beside others changes nothing
// With: host.TestConfinement
func TestChangedAffinityIsReported(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU: a process that is pinned to it has lost nothing")
	}
	for driver, seen := range map[string]bool{"pinned": true, "pins-one": false} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			text := strings.NewReplacer("DRIVER", driver, "WORKER", own()).Replace(`name: test
stores: [{driver: DRIVER, worker: WORKER}]
records: 200
threads: 2
durability: D0
phases:
  - {name: load, load: true}
  - {name: write, mix: {update: 1}, for: 1s}
blocks: 1
busy_machine: tell
verify_records: 0
step_timeout: 300s
`)
			directory := filepath.Join(t.TempDir(), "run")
			if _, err := runText(t.Context(), text, directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, driver)
			if trial.Error != "" || len(trial.Phases) < 2 {
				t.Fatalf("error %q, %d phases", trial.Error, len(trial.Phases))
			}
			if got := hasMark(trial, finding.MarkConfined, finding.Params{"what": "CPUs"}); got != seen {
				t.Errorf("%+v, marks %v", trial.Phases[1].Confined, trial.Marks)
			}
		})
	}
}
