package run

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/misbehave"
)

// increments is a small experiment in which two threads increment few records, beside modifies,
// reads and inserts.
func increments(driver, durability string) string {
	return strings.NewReplacer("DRIVER", driver, "CLASS", durability, "WORKER", own()).Replace(`name: increments
stores: [{driver: DRIVER, worker: WORKER}]
records: 20
values:
  columns:
    - {name: title, value: "title {i}"}
    - {name: views, counter: true}
    - {name: v, proof: 60}
  indexes: [views]
threads: 2
durability: CLASS
phases:
  - {name: load, load: true, batch: 20}
  - {name: count, mix: {increment: 3, read: 1}, order: {distribution: zipfian}, operations: 2000}
  - {name: beside, mix: {increment: 2, modify: 2, insert: 1, read: 1}, order: {distribution: zipfian}, operations: 2000}
  - {name: asked, request: [read, increment, increment], order: {distribution: zipfian}, operations: 300}
blocks: 1
busy_machine: tell
step_timeout: 300s
`)
}

func runIncrements(t *testing.T, driver, durability string) *record.Trial {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(context.Background(), increments(driver, durability), directory); err != nil {
		t.Fatal(err)
	}
	return trialOf(t, directory, driver)
}

func TestIncrementsAreCounted(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, durability := range map[string]string{"memory": "D0", "sqlite": "D3", misbehave.Honest: "D1"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runIncrements(t, driver, durability)
			if trial.Error != "" || len(codes(trial)) > 0 || trial.Final == nil {
				t.Fatalf("error %q, marks %v, final check %+v", trial.Error, trial.Marks, trial.Final)
			}
			acknowledged := uint64(0)
			for _, phase := range trial.Phases {
				if phase.Name == "asked" && (len(phase.Operations) != 1 || phase.Operations[0].Name != "request" || phase.Operations[0].OK != 300) {
					t.Errorf("300 requests are counted as %+v", phase.Operations)
				}
				for _, o := range phase.Calls() {
					if o.Name == "increment" {
						acknowledged += o.OK
					}
				}
			}
			if i := trial.Final.Increments; i == nil || acknowledged == 0 ||
				*i != (record.Increments{Counted: acknowledged, Least: acknowledged, Most: acknowledged}) {
				t.Errorf("%+v, acknowledged %d", i, acknowledged)
			}
		})
	}
}

func TestStoreThatIncrementsWronglyIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, mark := range map[string]finding.Code{
		"lies-increment-apart": finding.MarkIncrementsLost, "lies-increment-nothing": finding.MarkIncrementsLost,
		"lies-increment-twice": finding.MarkIncrementsMore, "lies-modify-rewrites": finding.MarkIncrementsLost,
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runIncrements(t, driver, "D1")
			if !hasMark(trial, mark, finding.Params{}) {
				t.Errorf("state %s, error %q, marks %v: want %s", trial.State, trial.Error, trial.Marks, mark)
			}
		})
	}
}
