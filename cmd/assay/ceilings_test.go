package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/tell"
)

// boundedBy says which ceiling each measured arm of a run was held against, and that it has a share
// of it.
func boundedBy(t *testing.T, run *record.Run) map[string]string {
	t.Helper()
	s, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[string]string{}
	for _, table := range s.Tables {
		for _, row := range table.Rows {
			if row.Role != string(plan.Measured) {
				continue
			}
			bounds[row.Arm] = row.Ceiling
			if row.Rate != nil && (row.HarnessShare == nil) != (row.Ceiling == "") {
				t.Errorf("%s is bounded by %q, its share is %v", row.Arm, row.Ceiling, row.HarnessShare)
			}
		}
	}
	return bounds
}

func ceilingArms(run *record.Run) (arms string) {
	for _, p := range run.Plan {
		if p.Role == plan.Ceiling {
			arms += " " + p.Arm
		}
	}
	return arms
}

// A worker of somebody else's that lists a driver of kind none is held against that.
func TestForeignWorkerIsHeldAgainstItsOwnNullDriver(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(oneStore, "[memory]", "[memory, {name: theirs, driver: memory, worker: "+hosted()+"}, {name: others, driver: memory, worker: "+hosted()+"}]")
	text = strings.ReplaceAll(text, "durability: D0", "durability: [D0]")
	directory := filepath.Join(t.TempDir(), "run")
	run := fine(t, assay(t, "run", written(t, "theirs.yaml", text), "--out", directory, "--no-html"), directory)
	bounds := boundedBy(t, run)
	if bounds["memory"] != "null" || bounds["theirs"] != "null-of-theirs" || bounds["others"] != "null-of-theirs" {
		t.Errorf("bounded by %v", bounds)
	}
	if arms := strings.Fields(ceilingArms(run)); len(arms) != 2 {
		t.Errorf("the ceilings are %q: one of Assay's own worker and one of the other", arms)
	}
	shown := strings.Join(strings.Fields(assay(t, "report", directory, "--full").stdout), " ") // lines are wrapped
	wantParts(t, "the report", shown, "Harness alone: null ", "/s, null-of-theirs ")
}

// Stores of workers/c are held against null-c, which the same host runs.
func TestNativeStoresAreHeldAgainstTheNativeNullDriver(t *testing.T) {
	t.Parallel()
	own := withNative(t, "lmdb")
	text := strings.ReplaceAll(oneStore, "[memory]", "[lmdb, bbolt]")
	text = strings.ReplaceAll(text, "durability: D0", "durability: D3")
	directory := filepath.Join(t.TempDir(), "run")
	command := exec.Command(own, "run", written(t, "native.yaml", text), "--out", directory, "--no-html")
	if output, err := command.CombinedOutput(); err != nil && statusOf(t, err) != exitTrials {
		t.Fatalf("%v\n%s", err, output)
	}
	run := readable(t, directory)
	if bounds := boundedBy(t, run); bounds["lmdb"] != "null-c" || bounds["bbolt"] != "null" {
		t.Errorf("bounded by %v", bounds)
	}
	if arms := strings.Fields(ceilingArms(run)); len(arms) != 2 {
		t.Errorf("the ceilings are %q", arms)
	}
	for id, trial := range run.Trials {
		if trial.State == record.Failed || trial.State == record.Refused {
			t.Errorf("trial %s %s: %s", id, trial.State, trial.Error)
		}
	}
}
