package conductor

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/execution/child"
)

// running returns the numbers of running processes that have an argument of that text.
func running(argument string) (pids []int) {
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		if err == nil && slices.Contains(strings.Split(string(text), "\x00"), argument) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry))); err == nil && !zombie(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// expectRunning waits for a process: a shell that has put it into the background may end before it
// has begun.
func expectRunning(t *testing.T, argument string) {
	t.Helper()
	for deadline := time.Now().Add(long); len(running(argument)) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no process has the argument %s: this test proves nothing", argument)
		}
	}
}

// zombie says if a process has ended and was not waited for.
func zombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	return err == nil && strings.Contains(string(text), "\nState:\tZ")
}

// Fault (conductor): a worker leaves processes behind (out of its group, session or parent, or with
// an empty environment)
// Assay: the conductor, their subreaper, kills them when the worker ends
func TestChildrenOfAWorkerAreEnded(t *testing.T) {
	for name, end := range map[string]func(*Worker){
		"it ends":      func(w *Worker) { _ = w.End(long) },
		"it is killed": func(w *Worker) { w.Kill(); <-w.exited },
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, "leaves")
			if _, err := describe(w, long); err != nil {
				t.Fatal(err)
			}
			for _, sleep := range []string{"3600", "3601", "3602", "3603", "3604"} {
				expectRunning(t, sleep)
			}
			end(w)
			for _, sleep := range []string{"3600", "3601", "3602", "3603", "3604"} {
				if pids := running(sleep); len(pids) > 0 {
					t.Errorf("sleep %s is left: %v", sleep, pids)
				}
			}
			if name == "it ends" && w.Left() < 5 {
				t.Errorf("%d processes were told", w.Left())
			}
		})
	}
}

// A conductor that is killed leaves the processes that its worker has put into the background. The
// next run ends them, and no others.
//
// Fault (conductor): the conductor is killed before it has ended a worker's processes
// Assay: the next run, or `assay doctor --clean`, kills what bears its mark. Not found: a process
// that leaves its session with an empty environment
func TestWorkersOfAKilledConductorAreEnded(t *testing.T) {
	theirs, err := child.Start(exec.Command("sleep", "3611"), child.Options{}) // of an owner that lives
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Kill(); _, _ = theirs.Wait() })
	conductor := exec.Command(os.Args[0], asConductor, "sleep-3610")
	conductor.Stderr = os.Stderr
	stdout, err := conductor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := conductor.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	child.EndLeft()
	if len(running("3610")) == 0 {
		t.Fatal("a process of a live conductor's worker was ended")
	}
	_ = conductor.Process.Kill()
	_ = conductor.Wait() // killed, as was wanted
	if len(running("3610")) == 0 {
		t.Skip("skipped: another run on this machine has ended it already")
	}
	ended := child.EndLeft()
	for began := time.Now(); len(running("3610")) > 0 && time.Since(began) < long; {
		time.Sleep(time.Millisecond)
		reap(ended)
	}
	if len(running("3610")) > 0 || len(running("3611")) == 0 {
		t.Errorf("left: %v; of another, ended: %v", running("3610"), len(running("3611")) == 0)
	}
}

// reap waits for those that this process has inherited.
func reap(pids []int) {
	for _, pid := range pids {
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}
