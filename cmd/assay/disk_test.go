package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"assay/internal/evidence/record"
)

// small mounts a file system in memory of so many bytes for the length of a test, which needs the
// rights to mount.
func small(t *testing.T, options string) string {
	t.Helper()
	directory := t.TempDir()
	err := unix.Mount("tmpfs", directory, "tmpfs", 0, options)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		t.Skip("skipped: a full disk is made by mounting a small one, which only root may do here")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(directory, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting %s: %v", directory, err)
		}
	})
	return directory
}

// growing is an experiment whose store outgrows the file systems of these tests, however slow the
// machine is: its values are large, since each write of Tokyo Cabinet gives its turn away
// (sched_yield), which takes milliseconds where other programs want the CPU. The null driver does
// its operations at once.
const growing = `name: growing
stores: [bbolt]
records: 100
values: {bytes: 20000}
durability: D1
phases:
  - {name: load, load: true, batch: 100}
  - {name: insert, mix: {insert: 1}, order: uniform, operations: 20000}
blocks: 1
step_timeout: 300s
`

// The store fills the disk that the run directory is on, too: each of its trials ends as a full disk
// and leaves no data; the run goes on to its end, with its report.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(small(t, "size=16m"), "run")
	e := assay(t, "run", written(t, "growing.yaml", growing), "--out", directory, "--plain")
	e.wants(t, exitTrials, "disk was full", "all trials have been run", " of 3 trials marked and not ranked")
	wantParts(t, "standard output", e.stdout, "filled the disk", "report.html")
	run := readable(t, directory)
	if len(run.Trials) != len(run.Plan) || len(run.Missing) > 0 {
		t.Errorf("%d of %d trials have a result; missing %v", len(run.Trials), len(run.Plan), run.Missing)
	}
	full := 0
	for _, trial := range trialsOf(t, run) {
		wantDiskFull(t, run, trial)
		full++
	}
	if full < 2 {
		t.Errorf("%d trials met the full disk", full)
	}
	noData(t, filepath.Join(directory, "data"))
	if _, err := os.Stat(filepath.Join(directory, "report.html")); err != nil {
		t.Error(err)
	}
}

// Something else fills the disk of the run directory: the run ends and says so, what it has can be
// read, and once there is room it goes on.
func TestDiskThatOthersFill(t *testing.T) {
	t.Parallel()
	disk := small(t, "size=4m")
	directory := filepath.Join(disk, "run")
	p := start(t, nil, "run", written(t, "one.yaml", paced+"sample: 10ms\n"), "--out", directory, "--plain")
	eventually(t, func() bool { return underWay(directory) }, func() string { return "no phase got under way:\n" + p.stderr.String() })
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk did not get full: %v", err)
	}
	e := p.end(t)
	e.wants(t, exitFailed, "the disk of "+directory+" is full", "something else fills it", "assay run --resume "+directory+" continues")
	if n := strings.Count(e.stderr, "something else fills it"); n != 1 {
		t.Errorf("reported %d times:\n%s", n, e.stderr)
	}
	if last := readable(t, directory).Events; last[len(last)-1].Kind != record.EventInterrupted {
		t.Errorf("the last event is %+v", last[len(last)-1])
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	resumed(t, directory)
}

// The stores' disk is full, the run's is not: errors are counted, with the store's own words, and
// nothing is ranked.
func TestFullDataDisk(t *testing.T) {
	t.Parallel()
	data, directory := small(t, "size=8m"), filepath.Join(t.TempDir(), "run")
	e := assay(t, "run", written(t, "growing.yaml", growing), "--out", directory, "--data", data, "--plain")
	e.wants(t, exitTrials, "not ranked")
	run := readable(t, directory)
	counted := 0
	for _, trial := range run.Trials {
		for _, phase := range trial.Phases {
			for _, message := range phase.Messages {
				if strings.Contains(message.Text, "no space left on device") && message.Count > 0 {
					counted++
				}
			}
		}
		if trial.Plan.Store >= 0 && trial.State != record.Marked && trial.State != record.Failed {
			t.Errorf("trial %s is %s", trial.Plan.ID, trial.State)
		}
	}
	if counted == 0 || len(run.Trials) != len(run.Plan) {
		t.Errorf("the store's own error was counted in %d phases; %d of %d trials ended", counted, len(run.Trials), len(run.Plan))
	}
	wantParts(t, "standard output", e.stdout, "filled the disk")
	shown := strings.Join(strings.Fields(assay(t, "report", directory, "--full").stdout), " ") // lines are wrapped
	wantParts(t, "the full report", shown, "no space left on device")
	noData(t, data)
}

func noData(t *testing.T, directory string) {
	t.Helper()
	if left, err := os.ReadDir(directory); err == nil && len(left) > 0 {
		t.Errorf("data is left in %s: %v", directory, left)
	}
}

// Root may write where modes forbid it, but not on a disk that is mounted read-only.
func TestReadOnlyDisk(t *testing.T) {
	t.Parallel()
	disk := small(t, "size=8m")
	done := filepath.Join(disk, "done")
	fine(t, assay(t, "run", written(t, "one.yaml", oneStore), "--out", done), done)
	if err := unix.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	readable(t, done)
	assay(t, "run", "smoke", "--out", filepath.Join(disk, "run")).wants(t, exitUsage, "read-only file system", disk)
	directory := filepath.Join(t.TempDir(), "run")
	assay(t, "run", written(t, "growing.yaml", growing), "--out", directory, "--data", disk).wants(t, exitUsage, "read-only file system", disk)
	if _, err := os.Stat(directory); err == nil {
		t.Error("a run that could not begin left its directory")
	}
	again := assay(t, "run", "--resume", done)
	again.wants(t, exitFailed, "rw,", "ro,", done)
	if strings.Contains(again.stderr, "continues") {
		t.Errorf("it says to resume what it refuses to resume:\n%s", again.stderr)
	}
	assay(t, "init", filepath.Join(disk, "x.yaml")).wants(t, exitFailed, "read-only file system", disk)
}

// Containers often have little shared memory: nothing is kept there. On a machine without memory for
// a trace the run says so; here the kernel's table is made to report none.
func TestLittleSharedMemory(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	file := written(t, "one.yaml", oneStore)
	const (
		apart  = `unshare -m --propagation private sh -c '`
		little = apart + `mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$0" run "$1" --out "$2" --no-html' "$@"`
		none   = apart + `mount --bind "$3" /proc/meminfo && exec "$0" run "$1" --out "$2" --no-html' "$@"`
	)
	if e := shell(t, `unshare -m true`, "sh"); e.status != 0 {
		t.Skip("skipped: no rights to make a mount namespace here")
	}
	fine(t, shell(t, little, "sh", program, file, directory), directory)

	directory = filepath.Join(t.TempDir(), "run")
	memory := written(t, "meminfo", "MemTotal: 8000000 kB\nMemAvailable: 64 kB\n")
	e := shell(t, none, "sh", program, file, directory, memory)
	e.wants(t, exitFailed, "65.5 kB are available", "use fewer threads or records", "its store is not at fault")
	readable(t, directory)
}
