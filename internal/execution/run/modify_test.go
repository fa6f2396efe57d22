package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/misbehave"
)

// modifies is a small experiment in which records are updated in part, beside whole updates, reads,
// queries and deletes.
func modifies(driver, durability string) string {
	return strings.NewReplacer("DRIVER", driver, "CLASS", durability, "WORKER", own()).Replace(`name: modifies
stores: [{driver: DRIVER, worker: WORKER}]
records: 200
values:
  columns:
    - {name: title, value: "title {i}"}
    - {name: tens, value: "{i/10}", type: integer}
    - {name: score, stamp: 100}
    - {name: v, proof: 60}
  indexes: [tens, score]
threads: 2
durability: CLASS
phases:
  - {name: load, load: true, batch: 20}
  - {name: some, mix: {modify: 1, read: 1}, order: shuffled, operations: 400}
  - {name: beside, mix: {modify: 2, update: 1, read: 1, query: 1}, query: {column: tens, limit: 20}, operations: 400}
  - {name: request, request: [read, modify], operations: 100}
  - {name: deletes, mix: {delete: 1, modify: 3, read: 1}, operations: 400}
blocks: 1
busy_machine: tell
step_timeout: 300s
`)
}

func runModifies(t *testing.T, driver, durability string, records int) *record.Trial {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(context.Background(), strings.Replace(modifies(driver, durability), "records: 200", fmt.Sprint("records: ", records), 1), directory); err != nil {
		t.Fatal(err)
	}
	return trialOf(t, directory, driver)
}

func TestSomeColumnsAreUpdatedAndChecked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, durability := range map[string]string{"memory": "D0", "sqlite": "D3", misbehave.Honest: "D1"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runModifies(t, driver, durability, 200)
			if trial.Error != "" || len(codes(trial)) > 0 {
				t.Fatalf("error %q, marks %v", trial.Error, trial.Marks)
			}
			if len(trial.Phases) != 5 || trial.Final == nil || trial.Final.Right < 150 {
				t.Fatalf("%d phases, final check %+v", len(trial.Phases), trial.Final)
			}
			for _, phase := range trial.Phases[1:] {
				for _, o := range phase.Calls() {
					// Keys of 16 bytes, a score of three digits and a proof.
					if o.Name == "modify" && (o.OK == 0 || o.BytesWritten != o.OK*(16+3+60)) {
						t.Errorf("%s: %+v", phase.Name, o)
					}
				}
			}
		})
	}
}

func TestStoreThatModifiesWronglyIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, mark := range map[string]finding.Code{
		"lies-modify-nothing": finding.FaultStale, "lies-modify-replaces": finding.FaultWrong, "lies-modify-creates": finding.FaultWrong,
		"lies-modify-neighbour": finding.FaultWrong, "lies-modify-half": finding.FaultWrong, "lies-modify-apart": finding.FaultWrong,
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runModifies(t, driver, "D1", 20) // so few that threads meet at one
			if !slices.Contains(codes(trial), string(mark)) {
				t.Errorf("state %s, error %q, marks %v: want %s", trial.State, trial.Error, trial.Marks, mark)
			}
		})
	}
}
