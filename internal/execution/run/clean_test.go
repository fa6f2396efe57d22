package run

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/owned"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/control"
	"assay/internal/testkit/processes"
)

// Keys that earlier runs left on a server are reported once for each server, however many trials left
// them.
func TestKeysOfEarlierRunsAreReportedOnceAServer(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, left := range []struct{ place, folder string }{{"127.0.0.1:1", "/runs/b"}, {"127.0.0.1:1", "/runs/a"}, {"127.0.0.1:2", "/runs/c"}} {
		keys := serverKeys{Store: "etcd", Namespace: "0123456789abcdef", Open: control.Open{Endpoints: []string{left.place}}, Prepare: &control.Prepare{}}
		detail, err := json.Marshal(keys)
		if err != nil {
			t.Fatal(err)
		}
		note, err := owned.Write(owned.Thing{Kind: owned.Keys, Path: left.folder, Detail: detail})
		if err != nil {
			t.Fatal(err)
		}
		note.Keep()
	}
	want := []string{
		"etcd at 127.0.0.1:1 may still hold keys of 2 earlier trials, one of the run in /runs/a: assay doctor --clean removes them, and --forget too forgets them where the server is gone",
		"etcd at 127.0.0.1:2 may still hold keys of 1 earlier trial, one of the run in /runs/c: assay doctor --clean removes them, and --forget too forgets them where the server is gone",
	}
	for range 2 { // what is reported is still there
		var told []string
		for _, err := range CleanLeft(t.Context(), LeftKeys{}).Failed {
			told = append(told, err.Error())
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %q", told)
		}
	}
}

// A conductor is killed when a file appears, which is as near to each step as can be had from
// outside. The next run, or assay doctor --clean, leaves nothing of it: no mount, loop device,
// cgroup, process, temporary file or data.
//
// Fault (left): kill −9 while Assay makes a quota, file system, data directory, samples, a trial's
// seal or a report
// Assay: each mount, cgroup, directory and temporary file is noted before it is made; the next run
// or `assay doctor --clean` removes it
// With: main.TestDoctorCleansWhatAKilledConductorLeft, owned.TestNotesOfKilledProcessesAreLeft
func TestKilledConductorLeavesNoFileAndNoProcess(t *testing.T) {
	ofFigures(t)
	mountable(t)
	for name, pattern := range map[string]string{
		"in the quota's own check":  "data/.assay-mount-*",
		"while that is mounted":     "data/.assay-mount-*/quota/lost+found",
		"as the run begins":         "run/run.json",
		"as the data is made":       "data/assay-*",
		"as a file system is made":  "data/assay-*/quota.img",
		"with a file system":        "data/assay-*/quota/store",
		"while it is written":       "run/trials/*/series.jsonl",
		"while a trial is sealed":   "run/trials/*/SHA256SUMS*",
		"as a result is written":    "run/trials/*/trial.json*",
		"with the data of the next": "run/trials/b2-*/worker.log",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			directory, data := filepath.Join(root, "run"), filepath.Join(root, "data")
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			limit := "disk_quota: 24MiB\ndisk_quota_by: mount\n"
			if host.CheckMemoryLimit() == nil {
				limit += "memory_limit: 512MiB\n"
			}
			text := strings.ReplaceAll(inserts("bbolt", "D1", limit), "600s, operations: 60000", "150ms, operations: 3000")
			text = strings.Replace(text, "blocks: 1", "blocks: 2", 1)
			command := exec.Command(os.Args[0], "conduct", text, directory, data)
			command.Stderr = os.Stderr
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- command.Wait() }()
			for found := []string(nil); len(found) == 0; time.Sleep(100 * time.Microsecond) {
				select {
				case err := <-ended:
					t.Skipf("skipped: it ended before it was seen to be there: %v", err)
				default:
				}
				found, _ = filepath.Glob(filepath.Join(root, pattern))
			}
			groups := groupsOf(t, command.Process.Pid)
			_ = command.Process.Kill()
			<-ended
			// The worker dies with its conductor, but not in the same moment, and the other tests
			// clean, too.
			var c Cleaned
			for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
				c = CleanLeft(t.Context(), LeftKeys{})
				left, _ := os.ReadDir(data)
				if len(c.Failed)+len(left)+len(unfinished(directory))+len(leftNotes(root)) == 0 {
					break
				}
			}
			for _, err := range c.Failed {
				t.Error(err)
			}
			unmounted(t, root)
			for _, group := range groups {
				if _, err := os.Stat(group); err == nil {
					t.Errorf("the cgroup %s is left", group)
				}
			}
			if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
				t.Errorf("left of the data: %v, %v", left, err)
			}
			if left := unfinished(directory); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if _, err := os.Stat(filepath.Join(directory, "plan.json")); err == nil {
				if run, err := record.Open(directory); err != nil || len(run.Plan) == 0 {
					t.Errorf("what was recorded: %v", err)
				}
			}
		})
	}
}

// unfinished returns the files of a run directory that only a run under way has.
func unfinished(directory string) (left []string) {
	for _, pattern := range []string{"*.new", ".reserve", ".assay-*", "trials/*/*.new"} {
		found, _ := filepath.Glob(filepath.Join(directory, pattern))
		left = append(left, found...)
	}
	return left
}

// groupsOf returns the cgroups that the workers of a conductor are in, if they have one of their
// own.
func groupsOf(t *testing.T, conductor int) (paths []string) {
	for _, pid := range processes.Children(t, conductor) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if _, path, found := strings.Cut(strings.TrimSpace(line), ":memory:"); found && strings.Contains(path, "/assay-") {
				paths = append(paths, filepath.Join("/sys/fs/cgroup/memory", path))
			}
		}
	}
	return paths
}

func leftNotes(root string) (left []string) {
	for _, note := range owned.Left() {
		if strings.HasPrefix(note.Path, root) {
			left = append(left, note.Path)
		}
		note.Keep()
	}
	return left
}

// A user's mount in a store's directory is not emptied.
func TestMountInTheDataIsNotRemoved(t *testing.T) {
	precious := t.TempDir()
	file := filepath.Join(precious, "file")
	if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, id := writerOf(t)
	data, err := w.DataDirectory("", id)
	if err != nil {
		t.Fatal(err)
	}
	point := filepath.Join(data, "mounted")
	if err := os.Mkdir(point, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(precious, point, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("skipped: nothing can be mounted here: %v", err)
	}
	err = w.RemoveData(id)
	text, readErr := os.ReadFile(file)
	if err == nil || !strings.Contains(err.Error(), "mounted on") || readErr != nil || string(text) != "theirs" {
		t.Errorf("%v; %q, %v", err, text, readErr)
	}
	if err := unix.Unmount(point, 0); err != nil {
		t.Fatal(err)
	}
	if err := w.RemoveData(id); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
