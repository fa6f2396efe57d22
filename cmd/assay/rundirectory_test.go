package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// However many runs begin in one second, each has a directory of its own.
func TestRunsOfOneSecondHaveDirectoriesOfTheirOwn(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	const runs = 20
	now := time.Now()
	places := make([]string, runs)
	var all sync.WaitGroup
	for i := range places {
		all.Go(func() {
			place, err := makeRunDirectory("", "one", now)
			if err != nil {
				t.Error(err)
			}
			places[i] = place.path
		})
	}
	all.Wait()
	first := "assay-one-" + now.Format("20060102-150405")
	want := []string{first}
	for n := 2; n <= runs; n++ {
		want = append(want, fmt.Sprintf("%s-%d", first, n))
	}
	slices.Sort(want)
	if slices.Sort(places); !slices.Equal(places, want) {
		t.Errorf("got %v, want %v", places, want)
	}
}

func TestRunsBegunAtOnce(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	var runs []*process
	for range 3 {
		runs = append(runs, start(t, func(c *exec.Cmd) { c.Dir, c.Stdin = here, strings.NewReader(oneStore) }, "run", "-", "--no-html"))
	}
	for _, p := range runs {
		e := p.end(t)
		if e.status == exitFailed || e.status == exitUsage {
			t.Errorf("status %d: %s", e.status, e.stderr)
		}
	}
	made, err := filepath.Glob(filepath.Join(here, "assay-one-*"))
	if err != nil || len(made) != len(runs) {
		t.Errorf("%d runs made %v (%v)", len(runs), made, err)
	}
}

// A run says where it is before its first trial; on a terminal the board does.
func TestRunSaysItsDirectory(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	e := assayIn(t, "", oneStore, "run", "-", "--out", directory, "--no-html")
	fine(t, e, directory)
	said, trial := strings.Index(e.stderr, "\nRun directory: "+directory+"\n"), strings.Index(e.stderr, "Trial: ")
	if said < 0 || trial < said {
		t.Errorf("the directory is said at %d, the first trial at %d:\n%s", said, trial, e.stderr)
	}
}

// What is refused before it begins leaves nothing, and what was there stays.
func TestRefusedRunLeavesNoDirectory(t *testing.T) {
	t.Parallel()
	// Nobody, root neither, can make a directory there.
	const unwritable = "/proc"
	here := t.TempDir()
	if err := os.Mkdir(filepath.Join(here, "mine"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"run", "-", "--data", unwritable},
		{"run", "-", "--data", unwritable, "--out", "a/b"},
		{"run", "-", "--data", unwritable, "--out", "mine"},
		{"run", "-", "--out", unwritable + "/run"},
	} {
		assayIn(t, here, oneStore, arguments...).wants(t, exitUsage, unwritable)
	}
	left, err := os.ReadDir(here)
	if err != nil || len(left) != 1 || left[0].Name() != "mine" {
		t.Errorf("it left %v (%v)", left, err)
	}
}

// So does one that is refused only when it looks at the machine.
func TestRunWithoutItsMemoryLimitLeavesNoDirectory(t *testing.T) {
	t.Parallel()
	if e := shell(t, `unshare -m umount -l /sys/fs/cgroup`); e.status != 0 {
		t.Skip("skipped: cgroups can't be taken away from a process here")
	}
	here := t.TempDir()
	file := written(t, "limited.yaml", oneStore+"memory_limit: 256MiB\n")
	const script = `cd "$2" && unshare -m --propagation private sh -c 'umount -l /sys/fs/cgroup && exec "$0" run "$1" --out a/b --no-html' "$0" "$1"`
	shell(t, script, program, file, here).wants(t, exitUsage, "memory limit")
	if left, err := os.ReadDir(here); err != nil || len(left) > 0 {
		t.Errorf("it left %v (%v)", left, err)
	}
}

func TestRemoveIfEmptyKeepsWhatHoldsSomething(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "a", "b", "c")
	place, err := makeRunDirectory(out, "", time.Time{})
	if err != nil || len(place.made) != 3 {
		t.Fatalf("%+v, %v", place, err)
	}
	if err := os.WriteFile(filepath.Join(out, "..", "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	place.removeIfEmpty()
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 1 || left[0].Name() != "mine" {
		t.Errorf("it left %v (%v)", left, err)
	}
}
