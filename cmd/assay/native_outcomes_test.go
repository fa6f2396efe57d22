package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/testkit/nativebuild"
)

// nativeOnce makes the native programs of all tests, and puts them beside a link to the command.
var nativeOnce = sync.OnceValues(func() (own, said string) {
	here := filepath.Join(filepath.Dir(program), "beside-native")
	own = filepath.Join(here, "assay")
	folder, err := nativebuild.Folder()
	must(err)
	targets := []string{}
	for _, n := range natives {
		if n.program != "redb" { // cargo takes long, and no test asks for it
			targets = append(targets, filepath.Join(folder, filepath.Base(nativeProgram(own, n))))
		}
	}
	must(os.MkdirAll(filepath.Join(here, "native"), 0o700))
	must(os.Link(program, own))
	_, said, err = nativebuild.Make(targets...) // who needs a program that is not there tells why
	for _, target := range targets {
		if _, missing := os.Stat(target); missing == nil {
			must(linkAs(target, filepath.Join(here, "native", filepath.Base(target))))
		}
	}
	return own, fmt.Sprintf("%s%v", said, err)
})

// nativeProgram is a worker beside the command, where it looks for them.
func nativeProgram(own string, n sideProgram) string {
	return filepath.Join(filepath.Dir(own), "native", "assay-worker-"+n.program)
}

// withNative returns a link to the command that has native programs beside it, those of these
// drivers among them.
func withNative(t *testing.T, drivers ...string) string {
	t.Helper()
	own, said := nativeOnce()
	for _, driver := range append(drivers, nativeNull) {
		n, ok := hostedOf(driver)
		if !ok {
			t.Fatalf("no native program hosts %s", driver)
		}
		if _, err := os.Stat(nativeProgram(own, n)); err != nil {
			t.Skipf("skipped: the worker of %s can't be built here\n%s", driver, said)
		}
	}
	return own
}

// runNative runs an experiment on one native store, with the command beside its workers.
func runNative(t *testing.T, own, text string, status int, more ...string) *record.Run {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	arguments := append([]string{"run", written(t, "native.yaml", text), "--out", directory, "--plain"}, more...)
	output, err := exec.Command(own, arguments...).CombinedOutput()
	run := readable(t, directory)
	if got := statusOf(t, err); got != status && !(status == 0 && onlyMachines(run)) {
		t.Errorf("status %d, want %d\n%s", got, status, output)
	}
	return run
}

// trialsOf returns the results of the store's trials, the A/A arm's among them.
func trialsOf(t *testing.T, run *record.Run) (trials []*record.Trial) {
	t.Helper()
	for _, planned := range run.Plan {
		if planned.Role == plan.Ceiling {
			continue
		}
		trial := run.Trials[planned.ID]
		if trial == nil {
			t.Fatalf("trial %s has no result", planned.ID)
		}
		trials = append(trials, trial)
	}
	return trials
}

// A native store fills its disk: every operation begun until then has its outcome, the series is
// kept, and the end is stated. A store that writes through a map dies of SIGBUS then, which is
// reported as a full disk, too.
func TestNativeStoreFillsItsDisk(t *testing.T) {
	t.Parallel()
	stores := []string{"tokyocabinet-hash", "rocksdb", "leveldb", "berkeleydb-btree", "sqlite-c", "lmdb"}
	own := withNative(t, stores...)
	data, arms := small(t, "size=24m"), strings.Join(stores, ", ")
	arms = strings.Replace(arms, "lmdb", "{driver: lmdb, options: {map_bytes: 1GiB}}", 1) // its default map is full before the disk is
	text := strings.NewReplacer("bbolt", arms, ", batch: 100", "").Replace(growing)
	run := runNative(t, own, text, exitTrials, "--data", data)
	for _, trial := range trialsOf(t, run) {
		wantDiskFull(t, run, trial)
	}
	noData(t, data)
}

func TestNativeStoreReachesItsQuota(t *testing.T) {
	t.Parallel()
	stores := []string{"tokyocabinet-hash", "lmdb", "rocksdb"}
	own := withNative(t, stores...)
	for _, driver := range stores {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			store := driver
			if driver == "lmdb" {
				store = "{driver: lmdb, options: {map_bytes: 1GiB}}"
			}
			run := runNative(t, own, strings.Replace(growing, "bbolt", store, 1)+"disk_quota: 16MiB\n", 0)
			for _, trial := range trialsOf(t, run) {
				wantIdentity(t, trial)
				if last := trial.Phases[len(trial.Phases)-1]; trial.Error != "" || last.EndedBy != record.EndedQuota {
					t.Errorf("%s ended by %q, error %q", trial.Plan.ID, last.EndedBy, trial.Error)
				}
			}
		})
	}
}

// WiredTiger may cache more than the trial may use: the kernel kills it, and what it had
// acknowledged is counted.
func TestNativeStoreIsKilledAtItsMemoryLimit(t *testing.T) {
	t.Parallel()
	if err := host.CheckMemoryLimit(); err != nil {
		t.Skip(err)
	}
	own := withNative(t, "wiredtiger")
	text := strings.Replace(growing, "bbolt", "{driver: wiredtiger, options: {cache_bytes: 2GiB}}", 1) + "memory_limit: 64MiB\n"
	run := runNative(t, own, strings.Replace(text, "D1", "D0", 1), exitTrials)
	for _, trial := range trialsOf(t, run) {
		wantIdentity(t, trial)
		if trial.State != record.Failed || !strings.HasPrefix(trial.Error, "killed by the kernel at its memory limit of 64 MiB") {
			t.Errorf("%s: state %s, error %q", trial.Plan.ID, trial.State, trial.Error)
		}
		if last := trial.Phases[len(trial.Phases)-1]; last.EndedBy != record.EndedMemory || len(run.Samples(trial.Plan.ID, "")) == 0 {
			t.Errorf("%s ended by %q with %d samples", trial.Plan.ID, last.EndedBy, len(run.Samples(trial.Plan.ID, "")))
		}
	}
}

// damager passes everything on to a worker, and cuts the store's largest file in half when it is
// opened a second time: after the load.
const damager = `import json, os, subprocess, sys
worker = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
opened = 0
for line in sys.stdin.buffer:
    request = json.loads(line)
    if request["command"] == "open":
        opened += 1
        files = [os.path.join(d, f) for d, _, names in os.walk(request["open"]["directory"]) for f in names]
        if opened == 2:
            largest = max(files, key=os.path.getsize)
            os.truncate(largest, os.path.getsize(largest) // 2)
    worker.stdin.write(line)
    worker.stdin.flush()
    reply = worker.stdout.readline()
    if not reply:
        break
    sys.stdout.buffer.write(reply)
    sys.stdout.buffer.flush()
worker.stdin.close()
status = worker.wait()
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
`

// Whatever an engine makes of a damaged file (it refuses to open, dies, or opens and has lost
// records), its trial says so and is not ranked.
func TestDamagedNativeStoreIsNeverRanked(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("skipped: no python3 for the program that does the damage")
	}
	stores := []string{"tokyocabinet-hash", "tokyocabinet-btree", "tokyocabinet-table", "lmdb", "rocksdb", "leveldb", "wiredtiger",
		"kyotocabinet-hash", "berkeleydb-btree", "sqlite-c"}
	own := withNative(t, stores...)
	script := written(t, "damager.py", damager)
	var arms []string
	for _, driver := range stores {
		n, _ := hostedOf(driver)
		arms = append(arms, fmt.Sprintf("{driver: %s, worker: [python3, %q, %q]}", driver, script, nativeProgram(own, n)))
	}
	text := fmt.Sprintf(`name: damaged
stores: [%s]
records: 2000
values: {bytes: 1000}
durability: D3
phases:
  - {name: load, load: true, batch: 100}
  - {name: read, mix: {read: 1}, order: shuffled, operations: 2000}
blocks: 1
step_timeout: 300s
`, strings.Join(arms, ", "))
	for _, trial := range trialsOf(t, runNative(t, own, text, exitTrials)) {
		wantIdentity(t, trial)
		if trial.State != record.Failed && trial.State != record.Marked {
			t.Errorf("%s: state %s", trial.Plan.ID, trial.State)
		}
		t.Logf("%s: %s %s %+v", trial.Plan.ID, trial.State, trial.Error, trial.Marks)
	}
}

func TestNativeStoreThatRefusesToOpen(t *testing.T) {
	t.Parallel()
	own := withNative(t, "tokyocabinet-hash")
	text := strings.Replace(growing, "bbolt", "{driver: tokyocabinet-hash, options: {bnum: 0}}", 1)
	run := runNative(t, own, text, exitTrials)
	for _, trial := range trialsOf(t, run) {
		if trial.State != record.Refused || !strings.Contains(trial.Error, "expected bnum of 1 to ") {
			t.Errorf("%s: state %s, error %q", trial.Plan.ID, trial.State, trial.Error)
		}
	}
}

// wantIdentity holds each phase's operations against what was attempted.
func wantIdentity(t *testing.T, trial *record.Trial) {
	t.Helper()
	if len(trial.Phases) == 0 && trial.State == record.OK {
		t.Errorf("trial %s has no phases", trial.Plan.ID)
	}
	for _, phase := range trial.Phases {
		done := phase.Unfinished
		for _, operation := range phase.Operations {
			done += operation.Done()
		}
		if phase.Attempted == 0 || done != phase.Attempted {
			t.Errorf("trial %s, %s: %d attempted, %d with an outcome or unfinished", trial.Plan.ID, phase.Name, phase.Attempted, done)
		}
	}
}

func wantDiskFull(t *testing.T, run *record.Run, trial *record.Trial) {
	t.Helper()
	id := trial.Plan.ID
	sampled := false // some phase took as long as a sample
	for _, phase := range trial.Phases {
		sampled = sampled || phase.ElapsedNS > phase.SampleNS
	}
	if len(trial.Phases) == 0 || sampled && len(run.Samples(id, "")) == 0 {
		t.Errorf("trial %s (%s: %s) has %d phases and %d samples", id, trial.State, trial.Error, len(trial.Phases), len(run.Samples(id, "")))
		return
	}
	wantIdentity(t, trial)
	if last := trial.Phases[len(trial.Phases)-1]; last.EndedBy != record.EndedDiskFull {
		t.Errorf("trial %s, %s ended by %q (%s: %s), messages %v", id, last.Name, last.EndedBy, trial.State, trial.Error, last.Messages)
	}
}
