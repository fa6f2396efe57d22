package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/misbehave"
)

// A worker that works between prepare and run has no rank beside one that does not, which is not accused.
//
// Fault (servers): a worker does work between `prepare` and `run`
// Assay: no rank, above 0.2 s and a fifth of the phase in CPU time
// With: detect.TestWorkedBefore
func TestWorkBeforeTheStartIsCounted(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := strings.NewReplacer("DRIVER", misbehave.Honest, "WORKER", fmt.Sprintf("%q, worker", os.Args[0]), "LIAR", liar("works-early")).Replace(`name: early
stores:
  - {driver: DRIVER, name: honest, worker: [WORKER]}
  - {driver: DRIVER, name: early, worker: LIAR}
durability: D1
threads: 1
records: 500
blocks: 1
busy_machine: tell
phases:
  - {name: load, load: true}
  - {name: update, mix: {update: 1}, operations: 500}
`)
	if _, err := runIn(text, directory, ""); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, planned := range run.Plan {
		for _, p := range run.Trials[planned.ID].Phases {
			if before := p.Process.CPUSecondsBefore; before == nil || (*before >= misbehave.EarlyWork.Seconds()/2) != (planned.Arm == "early") {
				t.Errorf("%s, %s: %v s of CPU time before the start", planned.Arm, p.Name, *before)
			}
		}
	}
	result, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, f := range result.Findings {
		if f.Code == finding.WorkedBefore {
			told = append(told, f.Where.Arm)
		}
	}
	if len(told) != 1 || told[0] != "early" {
		t.Errorf("told of %v", told)
	}
}
