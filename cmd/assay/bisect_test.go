package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/internal/testkit/processes"
)

// A repository of forty commits, of which number 26 makes a put a fifth slower, number 24 can't be
// measured, and each second is in the history: bisect names the very one, and skips the other.
//
// Fault (left): Ctrl-C or SIGTERM in `assay history bisect`
// Assay: its command ends with all that it has started; the checkout goes
//
// Fault (left): kill −9 of `assay history bisect`
// Assay: its command ends; `assay doctor --clean` removes the checkout
func TestHistoryBisect(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	directory := t.TempDir()
	day := "2026-01-01T00:00:00Z"
	repository, file := filepath.Join(directory, "code"), filepath.Join(directory, "history.sqlite")
	git := func(args ...string) string {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_DATE="+day, "GIT_COMMITTER_DATE="+day)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(repository, 0o755); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	const planted, broken = 18, 16
	run := func(name string, rate float64) {
		shape := quiet(rate)
		shape.Seconds, shape.Blocks = 12, 3
		makeRun(filepath.Join(directory, name), shape)
	}
	run("fast", 100.1e3)
	run("slow", 80.1e3)
	var culprit, unfit string
	for i := 1; i <= 28; i++ {
		speed := "fast"
		if i >= planted {
			speed = "slow"
		}
		if i == broken {
			speed = "broken"
		}
		if err := os.WriteFile(filepath.Join(repository, "speed"), []byte(speed), 0o644); err != nil {
			t.Fatal(err)
		}
		day = fmt.Sprintf("2026-01-%02dT%02d:00:00Z", 1+i/20, i%20)
		git("add", "speed")
		git("commit", "-q", "--allow-empty", "-m", fmt.Sprint("number ", i))
		commit := git("rev-parse", "HEAD")
		switch i {
		case planted:
			culprit = commit
		case broken:
			unfit = commit
		}
		if i%2 != 0 || i == broken {
			continue
		}
		rate := 100e3
		if i >= planted {
			rate = 80e3
		}
		name := fmt.Sprint("run", i)
		run(name, rate*(1+0.003*float64(i%4)))
		assay(t, "history", "--archive", file, "add", filepath.Join(directory, name), "--repository", repository).wants(t, 0)
	}
	bisect := func(args ...string) ended {
		return assay(t, append([]string{"history", "--archive", file, "bisect", "--repository", repository}, args...)...)
	}
	found := bisect(fmt.Sprintf(`cp -r %s/"$(cat speed)" "$ASSAY_OUT"`, directory))
	found.wants(t, 0)
	wantParts(t, "bisect", found.stdout, "Commit "+culprit[:10]+" changed rate of changed in put (D1): 100,", "number 18")
	wantParts(t, "what it says meanwhile", found.stderr, "before the change", unfit[:10]+" is skipped: CMD: exit status")
	if left := git("worktree", "list", "--porcelain"); strings.Count(left, "worktree ") != 1 {
		t.Errorf("checkouts are left: %s", left)
	}
	failing := bisect("false")
	failing.wants(t, 5)
	wantParts(t, "where nothing can be measured", failing.stdout, "commits changed rate", "number 18", "could not be measured")
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		temporary, state := filepath.Join(directory, "tmp-"+end.String()), filepath.Join(directory, "state-"+end.String())
		for _, d := range []string{temporary, state} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		pid := filepath.Join(directory, "pid-"+end.String())
		c := exec.Command(program, "history", "--archive", file, "bisect", "--repository", repository,
			fmt.Sprintf(`sleep 1000 & echo $! > '%s.new'; mv '%s.new' '%s'; wait`, pid, pid, pid))
		c.Env = append(os.Environ(), "TMPDIR="+temporary, "XDG_STATE_HOME="+state)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		sleeper := 0
		eventually(t, func() bool {
			text, err := os.ReadFile(pid)
			if err == nil {
				sleeper, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			return err == nil
		}, func() string { return "CMD has not begun" })
		if err := c.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		status := statusOf(t, c.Wait())
		if end == syscall.SIGKILL {
			doctor := exec.Command(program, "doctor", "--clean")
			doctor.Env = c.Env
			out, err := doctor.CombinedOutput()
			if !strings.Contains(string(out), "worktree ") {
				t.Errorf("doctor --clean after a kill: %v\n%s", err, out)
			}
		} else if status != exitTrials {
			t.Errorf("%v: ended with %d", end, status)
		}
		eventually(t, func() bool { return !processes.Running(sleeper) }, func() string { return "what CMD had started runs on" })
		if left := git("worktree", "list", "--porcelain"); strings.Count(left, "worktree ") != 1 {
			t.Errorf("%v: checkouts are left: %s", end, left)
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("%v: left in the directory for temporary files: %v, %v", end, left, err)
		}
	}
	none := bisect("--arm", "still", "true")
	none.wants(t, 2)
	wantParts(t, "where nothing changed", none.stderr, "no change for the worse")
}
