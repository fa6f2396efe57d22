package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/evidence/record"
)

// A JVM that runs out of its heap is the trial's outcome, in the JVM's own words or, where these are
// lost because it exits while it writes them, by its status, 3; what it had done until then is counted.
func TestJVMThatRunsOutOfHeap(t *testing.T) {
	t.Parallel()
	worker, err := filepath.Abs("../../bin/jvm/assay-worker-" + jvmHost)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("skipped: no java here (" + jreInstall + ")")
	}
	if _, err := os.Stat(worker); err != nil {
		t.Skip("skipped: the Java worker is not built: make jvm")
	}
	text := fmt.Sprintf(`name: heap
stores: [{driver: memory-java, worker: [%q, -Xmx8m, -XX:+UseSerialGC, -XX:+ExitOnOutOfMemoryError]}]
records: 200000
durability: D0
phases:
  - {name: load, load: true}
  - {name: read, mix: {read: 1}, operations: 100}
blocks: 1
busy_machine: tell
step_timeout: 3m
`, worker)
	directory := filepath.Join(t.TempDir(), "run")
	e := assay(t, "run", written(t, "heap.yaml", text), "--out", directory)
	e.wants(t, exitTrials, "2 of 4 trials failed")
	for _, trial := range trialsOf(t, readable(t, directory)) {
		told := strings.Contains(trial.Error, "OutOfMemoryError: Java heap space") || strings.HasSuffix(trial.Error, "exit status 3")
		if trial.State != record.Failed || !told {
			t.Errorf("trial %s is %s: %s", trial.Plan.ID, trial.State, trial.Error)
		}
		wantIdentity(t, trial)
	}
}
