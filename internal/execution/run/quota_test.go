package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/read"
	"assay/internal/experiment/trace"
	"assay/store"
)

// mountable skips the test where no file system can be mounted, and otherwise says how it is done.
func mountable(t *testing.T) string {
	t.Helper()
	by, _, err := host.CheckQuotaMount(t.TempDir())
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	return by
}

// unmounted fails the test if something is still mounted in a directory, or of an image in it.
func unmounted(t *testing.T, directory string) {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if strings.Contains(line, directory) {
			t.Errorf("still mounted: %s", line)
		}
	}
	devices, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range devices {
		ofImage := func() bool { // no longer, once no process has its mounts: a mkfs of a power-cut rig may, elsewhere
			backing, err := os.ReadFile(device)
			return err == nil && strings.HasPrefix(string(backing), directory)
		}
		for end := time.Now().Add(time.Minute); ofImage(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s is still of an image in %s", device, directory)
			}
		}
	}
	for _, name := range []string{"data/*"} {
		if left, err := filepath.Glob(filepath.Join(directory, name)); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

func TestMountedQuotaIsMetByTheStore(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	by := mountable(t)
	for _, c := range []struct{ driver, class, place string }{
		{"bbolt", "D1", "run directory"}, {"goleveldb", "D1", "data root"}, {"pebble", "D0", "run directory"},
	} {
		t.Run(c.driver+" in the "+c.place, func(t *testing.T) {
			t.Parallel()
			directory, root := filepath.Join(t.TempDir(), "run"), ""
			if c.place == "data root" {
				root = t.TempDir()
			}
			if _, err := runIn(inserts(c.driver, c.class, "disk_quota: 24MiB\ndisk_quota_by: mount"), directory, root); err != nil {
				t.Fatal(err)
			}
			unmounted(t, directory)
			if root != "" {
				unmounted(t, root)
				if entries, err := os.ReadDir(root); err != nil || len(entries) > 0 {
					t.Errorf("left in the data root: %v, %v", entries, err)
				}
			}
			trial, _ := readable(t, directory, c.driver)
			t.Logf("%s: %s; %v", trial.State, trial.Error, trial.Marks)
			q := trial.QuotaMount
			if q == nil || q.By != by || q.Bytes != 24<<20 || q.UsableBytes < 16<<20 || q.UsableBytes > 24<<20 || (by == host.QuotaTmpfs) != (q.Caution != "") {
				t.Fatalf("the record says %+v", q)
			}
			if len(trial.Phases) != 1 || trial.Phases[0].EndedBy != record.EndedDiskFull {
				t.Fatalf("phases %+v", trial.Phases)
			}
			addsUp(t, &trial.Phases[0])
			if bytes := trial.Phases[0].Operations[0].OK * 4096; bytes > 24<<20 || bytes < 2<<20 {
				t.Errorf("%d bytes of values were acknowledged", bytes)
			}
			if !hasMark(trial, finding.MarkMountFull, finding.Params{"size": float64(24 << 20)}) || trial.State != record.Marked && trial.State != record.Failed {
				t.Errorf("state %s, error %q, marks %v", trial.State, trial.Error, trial.Marks)
			}
			if c.driver == "pebble" {
				return // it ends its process, or tries again for ever
			}
			if trial.Phases[0].Operations[0].Errors == 0 || !slices.ContainsFunc(trial.Phases[0].Messages,
				func(m record.Message) bool { return saysFull(m.Text) }) {
				t.Errorf("the store's own errors are not counted: %+v, %v", trial.Phases[0].Operations, trial.Phases[0].Messages)
			}
		})
	}
}

func TestMountedQuotaIsTakenAwayAfterCtrlC(t *testing.T) {
	t.Parallel()
	mountable(t)
	directory := filepath.Join(t.TempDir(), "run")
	text := strings.ReplaceAll(inserts("bbolt", "D1", "disk_quota: 1GiB\ndisk_quota_by: mount"), ", operations: 60000", "")
	e, err := read.Load([]byte(text), "test.yaml", nil, read.Drivers{Describe: func(s experiment.Store) (store.Description, error) { return describe(s.Driver) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	o := options(directory)
	go func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if hasSamples(directory) {
				stop()
			}
		}
	}()
	result, err := New(ctx, e, []byte(text), o)
	stop()
	if err != nil || !result.Interrupted {
		t.Fatalf("%+v, %v", result, err)
	}
	unmounted(t, directory)
}

func TestMountedQuotaIsRefusedWithoutRoom(t *testing.T) {
	t.Parallel()
	mountable(t)
	directory := filepath.Join(t.TempDir(), "run")
	_, err := runIn(inserts("bbolt", "D1", "disk_quota: 24MiB\ndisk_quota_by: mount"), directory, "/proc")
	if err == nil || !strings.Contains(err.Error(), "disk_quota_by=stop") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(directory); err == nil {
		t.Error("a run directory was made")
	}
}

func TestBusErrorIsReported(t *testing.T) {
	for text, want := range map[string]bool{"the worker died: signal: bus error (core dumped)": true, "signal: killed": false} {
		if got := busError(errors.New(text)) != ""; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTmpfsIsReportedAndRefusedWithAMemoryLimit(t *testing.T) {
	t.Parallel()
	e := &experiment.Experiment{Cells: []experiment.Cell{{DiskQuota: 1 << 20}, {MemoryLimit: 1 << 30}}}
	way, err := quotaWayOf(e, host.QuotaTmpfs, "no loop devices")
	if err != nil || !strings.Contains(way.caution, "counts as memory") || !strings.Contains(way.caution, "no loop devices") {
		t.Errorf("%+v, %v", way, err)
	}
	e.Cells[1].DiskQuota = 1 << 20
	if _, err := quotaWayOf(e, host.QuotaTmpfs, "no loop devices"); !errors.Is(err, host.ErrNoQuotaMount) || !strings.Contains(err.Error(), "disk_quota_by=stop") {
		t.Errorf("got %v", err)
	}
	if way, err := quotaWayOf(e, host.QuotaLoop, ""); err != nil || way != (quotaWay{by: host.QuotaLoop}) {
		t.Errorf("%+v, %v", way, err)
	}
}

// A tmpfs is full when its files have the size of the quota: the conductor must not end the phase
// before the store meets that.
func TestMountedQuotaIsNotWatched(t *testing.T) {
	t.Parallel()
	inserts := &trace.File{Operations: []trace.Operation{trace.Insert}}
	one := &disk{data: t.TempDir(), quota: 1 << 20}
	if d := one.watch(inserts); d == nil || d.quotaBytes != 1<<20 {
		t.Errorf("without a mount: %+v", d)
	}
	one.mount = &record.QuotaMount{}
	if d := one.watch(inserts); d == nil || d.quotaBytes != 0 {
		t.Errorf("with a mount: %+v", d)
	}
}
