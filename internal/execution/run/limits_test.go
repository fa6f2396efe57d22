package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// inserts is an experiment that inserts into one store, more than any limit here allows; limit is a
// line of the file. The number of operations is for the null driver, which no limit ends.
func inserts(driver, class, limit string) string {
	text := `name: limits
stores: [{driver: DRIVER, worker: WORKER}]
records: 0
keys: {format: binary, bytes: 16}
values: {bytes: 4KiB, repeated: 0}
threads: 2
handles: shared
durability: CLASS
LIMIT
phases:
  - {name: insert, mix: {insert: 1}, for: 600s, operations: 60000}
  - {name: more, mix: {insert: 1}, for: 600s, operations: 60000}
blocks: 1
sample: 10ms
step_timeout: 300s
busy_machine: tell
`
	return strings.NewReplacer("WORKER", own(), "DRIVER", driver, "CLASS", class, "LIMIT", limit).Replace(text)
}

// runIn runs an experiment with the stores' files under a data root; "": in the run directory.
func runIn(text, directory, root string, change ...func(*Options)) (Result, error) {
	return runTextWith(context.Background(), text, directory, func(o *Options) {
		o.DataRoot = root
		for _, c := range change {
			c(o)
		}
	})
}

// addsUp holds the counts of a phase against each other, whatever ended it.
func addsUp(t *testing.T, p *record.Phase) (done uint64) {
	t.Helper()
	for _, o := range p.Operations {
		done += o.Done()
	}
	if done == 0 || p.Attempted != done+p.Unfinished {
		t.Errorf("%s: %d attempted, %d done, %d unfinished", p.Name, p.Attempted, done, p.Unfinished)
	}
	return done
}

func readable(t *testing.T, directory, arm string) (*record.Trial, []record.Sample) {
	t.Helper()
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Missing) > 0 {
		t.Errorf("the run directory misses something: %v", run.Missing)
	}
	trial := trialOf(t, directory, arm)
	return trial, run.Samples(trial.Plan.ID, "")
}

func TestKilledAtTheMemoryLimit(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	if err := host.CheckMemoryLimit(); errors.Is(err, host.ErrNoMemoryLimit) {
		t.Skip(err)
	}
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runIn(inserts("memory", "D0", "memory_limit: 64MiB"), directory, ""); err != nil {
		t.Fatal(err)
	}
	trial, samples := readable(t, directory, "memory")
	if trial.State != record.Failed || !strings.HasPrefix(trial.Error, "killed by the kernel at its memory limit of 64 MiB") {
		t.Errorf("state %s, error %q", trial.State, trial.Error)
	}
	if len(trial.Phases) != 1 || trial.Phases[0].EndedBy != record.EndedMemory {
		t.Fatalf("phases %+v", trial.Phases)
	}
	done := addsUp(t, &trial.Phases[0])
	// The store held what it had acknowledged: about as much as the limit allows, and not more.
	if held := done * 4096; held > 64<<20 || held < 8<<20 {
		t.Errorf("%d inserts of 4 KiB were counted", done)
	}
	m := trial.Memory
	if m == nil || *m.LimitBytes != 64<<20 || *m.Bytes != 64<<20 || m.Kills == nil || *m.Kills == 0 ||
		*m.PeakBytes < 60<<20 {
		t.Errorf("memory %+v", m)
	}
	if ratio := trial.Phases[0].Sizes.DataToMemory; ratio == nil || *ratio < 0.1 || *ratio > 1 {
		t.Errorf("data to memory %v", ratio)
	}
	limited := func(s record.Sample) bool { used, known := s.Resource("limit.memory"); return known && used > 0 }
	if !slices.ContainsFunc(samples, limited) {
		t.Error("no sample has the memory that counts against the limit")
	}
	if marks := codes(trial); slices.Contains(marks, string(finding.FaultCounts)) {
		t.Errorf("marks %v", trial.Marks)
	}
}

func TestLargeLimitChangesNothing(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	if err := host.CheckMemoryLimit(); errors.Is(err, host.ErrNoMemoryLimit) {
		t.Skip(err)
	}
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runIn(strings.ReplaceAll(inserts("bbolt", "D1", "memory_limit: 256MiB"), "60000", "200"), directory, ""); err != nil {
		t.Fatal(err)
	}
	trial, _ := readable(t, directory, "bbolt")
	if marks := codes(trial); trial.State == record.Failed || len(marks) > 0 {
		t.Errorf("state %s, error %q, marks %v", trial.State, trial.Error, trial.Marks)
	}
	if m := trial.Memory; m == nil || m.Kills == nil || *m.Kills != 0 || *m.PeakBytes == 0 || *m.PeakBytes > 256<<20 {
		t.Errorf("memory %+v", m)
	}
	for _, p := range trial.Phases {
		if p.EndedBy != record.EndedOperations {
			t.Errorf("%s ended by %q", p.Name, p.EndedBy)
		}
	}
}

func TestImpossibleLimitIsRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	text := strings.Replace(inserts("memory", "D0", "memory_limit: 64MiB"), "60000", "100", 2)
	directory := filepath.Join(t.TempDir(), "run")
	_, err := runIn(text, directory, "")
	if able := host.CheckMemoryLimit(); able == nil {
		if err != nil {
			t.Errorf("a limit can be set here, but the run said: %v", err)
		}
		return
	}
	if !errors.Is(err, host.ErrNoMemoryLimit) || !strings.Contains(err.Error(), "memory_limit=none") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(directory); err == nil {
		t.Error("a run directory was made")
	}
}

func TestQuotaEndsThePhase(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	const quota = 20e6
	directory := filepath.Join(t.TempDir(), "run")
	result, err := runIn(inserts("bbolt", "D1", "disk_quota: 20MB"), directory, "")
	if err != nil {
		t.Fatal(err)
	}
	trial, samples := readable(t, directory, "bbolt")
	if marks := codes(trial); len(marks) > 0 || trial.Error != "" || result.Failed > 0 {
		t.Errorf("a quota is not a fault: marks %v, error %q", trial.Marks, trial.Error)
	}
	if len(trial.Phases) != 2 {
		t.Fatalf("%d phases", len(trial.Phases))
	}
	for i := range trial.Phases {
		p := &trial.Phases[i]
		if p.EndedBy != record.EndedQuota {
			t.Errorf("%s ended by %q after %.1f s", p.Name, p.EndedBy, float64(p.ElapsedNS)/1e9)
		}
		addsUp(t, p)
		if p.Sizes.DiskBytes == nil || *p.Sizes.DiskBytes < quota {
			t.Errorf("%s: %v bytes on the disk", p.Name, p.Sizes.DiskBytes)
		}
	}
	if trial.Final == nil || trial.Final.Records == 0 || trial.Final.Right != trial.Final.Records {
		t.Errorf("final check: %+v", trial.Final)
	}
	if len(samples) == 0 {
		t.Error("no samples")
	}
}

func TestQuotaThatTheLoadReachesFailsTheTrial(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	text := strings.Replace(inserts("bbolt", "D1", "disk_quota: 2MiB"), "records: 0", "records: 20000", 1)
	text = strings.Replace(text, "  - {name: insert, mix: {insert: 1}, for: 600s, operations: 60000}", "  - {name: load, load: true}", 1)
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runIn(text, directory, ""); err != nil {
		t.Fatal(err)
	}
	trial, _ := readable(t, directory, "bbolt")
	if trial.State != record.Failed || !strings.Contains(trial.Error, "disk quota of 2 MiB") || len(trial.Phases) != 1 || trial.Phases[0].EndedBy != record.EndedQuota {
		t.Errorf("state %s, error %q, phases %+v", trial.State, trial.Error, trial.Phases)
	}
	addsUp(t, &trial.Phases[0])
}

// small mounts a file system of so many bytes, or skips the test where that is not allowed.
func small(t *testing.T, bytes string) string {
	t.Helper()
	point := t.TempDir()
	if err := unix.Mount("assay-test", point, "tmpfs", 0, "size="+bytes); err != nil {
		t.Skipf("a file system of %s can't be mounted here: %v", bytes, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
	return point
}

func TestFullDisk(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, class := range map[string]string{"bbolt": "D1", "goleveldb": "D1"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			root, directory := small(t, "48m"), filepath.Join(t.TempDir(), "run")
			if _, err := runIn(inserts(driver, class, ""), directory, root); err != nil {
				t.Fatal(err)
			}
			trial, _ := readable(t, directory, driver)
			t.Logf("%s: %s; %v", trial.State, trial.Error, trial.Marks)
			if len(trial.Phases) == 0 || trial.Phases[0].EndedBy != record.EndedDiskFull {
				t.Fatalf("phases %+v", trial.Phases)
			}
			if done := addsUp(t, &trial.Phases[0]); done*4096 > 48<<20 &&
				trial.Phases[0].Operations[0].OK*4096 > 48<<20 {
				t.Errorf("%d inserts of 4 KiB were acknowledged on a disk of 48 MiB", trial.Phases[0].Operations[0].OK)
			}
			switch trial.State {
			case record.Marked:
				if !slices.Contains(codes(trial), string(finding.FaultDiskFull)) {
					t.Errorf("marks %v", trial.Marks)
				}
			case record.Failed:
				if trial.Cause != finding.CauseDiskFull {
					t.Errorf("error %q", trial.Error)
				}
			default:
				t.Errorf("state %s", trial.State)
			}
			if len(trial.Phases) > 1 {
				t.Errorf("%s was begun on a full disk", trial.Phases[1].Name)
			}
		})
	}
}

func TestTelemetryIsRecorded(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	// A walk of the data that took long, as on a busy machine, is made again after some hundred times as long.
	var trial *record.Trial
	var samples []record.Sample
	lacks := func(name string) bool {
		return !slices.ContainsFunc(record.ResourcesOf(samples), func(s host.Series) bool { return s.Name == name })
	}
	for _, times := range longer {
		lasts := fmt.Sprintf("%dms", 1400*times)
		text := strings.ReplaceAll(inserts("bbolt", "D1", ""), "600s, operations: 60000", lasts)
		directory := filepath.Join(t.TempDir(), "run")
		if _, err := runIn(text, directory, ""); err != nil {
			t.Fatal(err)
		}
		if trial, samples = readable(t, directory, "bbolt"); !lacks("data.bytes") {
			break
		}
	}
	for _, name := range []string{"worker.cpu", "worker.cpu_system", "worker.rss", "worker.threads", "worker.files", "machine.dirty", "data.bytes", "data.files"} {
		if lacks(name) {
			t.Errorf("no sample has %s", name)
		}
	}
	told := slices.IndexFunc(samples, func(s record.Sample) bool { return !s.Stats.IsZero() })
	if told < 0 {
		t.Fatal("no sample has the store's own counters")
	}
	if used, _ := samples[told].Stats.Get("file_used_bytes"); used == 0 {
		t.Errorf("the store told %v", samples[told].Stats)
	}
	for _, p := range trial.Phases {
		if p.EndedBy != record.EndedDuration {
			t.Errorf("%s ended by %q", p.Name, p.EndedBy)
		}
		if p.Telemetry == nil || p.Telemetry.Readings == 0 || p.Telemetry.CPUSeconds <= 0 {
			t.Errorf("telemetry %+v", p.Telemetry)
		} else {
			t.Logf("%s: %.2f %% of a CPU at 10 samples a second; inspect %.3f %%", p.Name, 100*p.Telemetry.CPUSeconds/(float64(p.ElapsedNS)/1e9), 100*p.Runtime["inspect_ns"]/float64(p.ElapsedNS))
		}
		if p.Runtime["inspects"] == 0 {
			t.Errorf("runtime %v", p.Runtime)
		}
	}
}

func TestWordsForAFullDisk(t *testing.T) {
	for text, want := range map[string]bool{
		"write x: no space left on device": true, "database or disk is full (13)": true, "ENOSPC": true,
		"key not found": false, "disk I/O error": false, "": false,
	} {
		if saysFull(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// Once its files have reached the quota, a phase that writes ends at once, and one that only looks
// goes on.
func TestOnlyPhasesThatWriteEndAtAQuota(t *testing.T) {
	for o, ends := range map[trace.Operation]bool{
		trace.Read: false, trace.Scan: false, trace.Query: false, trace.Count: false,
		trace.Insert: true, trace.Update: true, trace.Upsert: true, trace.Delete: true, trace.Batch: true,
		trace.ReadModifyWrite: true,
		trace.CompareAndSwap:  true, trace.Add: true,
	} {
		data := t.TempDir()
		if err := os.WriteFile(filepath.Join(data, "records"), make([]byte, 8192), 0o600); err != nil {
			t.Fatal(err)
		}
		full := &disk{data: data, quota: 4096}
		if got := full.watch(&trace.File{Operations: []trace.Operation{trace.Read,
			o}}).reached(time.Now()); got != ends {
			t.Errorf("a phase of reads and %s ended at the quota: %v, want %v", o, got, ends)
		}
	}
}

// A load so short that no sample sees it fail must not leave later phases with fewer records than
// they count on.
//
// Fault (disk): a load meets a full disk before the first sample
// Assay: the trial fails
func TestLoadThatMetAFullDiskFails(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := strings.NewReplacer("records: 0", "records: 50", "phases:\n", "phases:\n  - {name: load, load: true}\n").Replace(inserts("roomless", "D0", ""))
	if _, err := runIn(text, directory, ""); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, "roomless")
	if trial.State != record.Failed || !strings.Contains(trial.Error, "the load met a full disk") || len(trial.Phases) != 1 {
		t.Errorf("%s %q, %d phases", trial.State, trial.Error, len(trial.Phases))
	}
}

// Fault (disk): the store's directory vanishes
// Assay: the trial is marked `data-vanished` (`directory`)
func TestVanishedDirectoryIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := strings.ReplaceAll(inserts("vanishing", "D0", ""), "600s, operations: 60000", "100ms")
	if _, err := runIn(text, directory, ""); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, "vanishing")
	if trial.State != record.Marked || !slices.Contains(codes(trial), string(finding.FaultVanished)) {
		t.Errorf("%s %q, %v", trial.State, trial.Error, trial.Marks)
	}
}

// Fault (disk): the file system has no inode left
// Assay: the full disk is called that
func TestInodesThatAreUsedUpAreCalledThat(t *testing.T) {
	t.Parallel()
	point := t.TempDir()
	if err := unix.Mount("assay-test", point, "tmpfs", 0, "size=16m,nr_inodes=5"); err != nil {
		t.Skipf("skipped: nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) })
	if host.InodesFull(point) {
		t.Fatal("no inode is left at the beginning")
	}
	for n := 0; os.WriteFile(filepath.Join(point, fmt.Sprint(n)), nil, 0o600) == nil; n++ {
	}
	writer, id := writerOf(t)
	w, err := writer.TrialStarted(id)
	if err != nil {
		t.Fatal(err)
	}
	one := &disk{writer: w, data: point, shares: true}
	if !one.noRoom(errors.New("open 7: no space left on device")) || !strings.Contains(finding.Text(finding.New(*one.which())), "no inode was left") {
		t.Errorf("%v, %s", host.InodesFull(point), finding.Text(finding.New(*one.which())))
	}
	if err := errors.Join(w.Abandon(), writer.Close()); err != nil {
		t.Error(err)
	}
}
