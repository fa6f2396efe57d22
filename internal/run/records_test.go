package run

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/finding"
	"assay/internal/record"
)

// table is a small experiment on records with columns.
func table(driver, durability string) string {
	return strings.NewReplacer("DRIVER", driver, "CLASS", durability, "WORKER", own()).Replace(`name: table
stores: [{driver: DRIVER, worker: WORKER}]
records: 200
keys: {format: decimal, suffix: asdf}
values:
  columns:
    - {name: title, value: "title {i}"}
    - {name: tens, value: "{i/10}", type: integer}
    - {name: v, proof: 60}
  indexes: [tens]
threads: 2
durability: CLASS
phases:
  - {name: load, load: true, batch: 20}
  - {name: overwrite, mix: {update: 1, read: 1}, order: shuffled, operations: 400}
  - {name: insert, mix: {insert: 1}, operations: 100}
  - {name: find, mix: {query: 3, count: 1}, query: {column: tens, limit: 7}, operations: 200}
blocks: 1
step_timeout: 5s
`)
}

func runTable(t *testing.T, driver, durability string) *record.Trial {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(context.Background(), table(driver, durability), directory); err != nil {
		t.Fatal(err)
	}
	return trialOf(t, directory, driver)
}

func TestRecordsWithColumnsAreFoundAndChecked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, durability := range map[string]string{"memory": "D0", "sqlite": "D3"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runTable(t, driver, durability)
			if trial.Error != "" || len(codes(trial)) > 0 {
				t.Fatalf("error %q, marks %v", trial.Error, trial.Marks)
			}
			if len(trial.Phases) != 4 || trial.Final == nil || trial.Final.Right != 300 {
				t.Fatalf("%d phases, final check %+v", len(trial.Phases), trial.Final)
			}
			for _, o := range trial.Phases[3].Operations {
				if o.Items == 0 || o.Done() == 0 {
					t.Errorf("%+v found nothing", o)
				}
			}
			// 300 records of key, three lengths of 2 bytes, title, tens and 60 bytes of proof.
			want := 0
			for i := range 300 {
				want += len(fmt.Sprintf("%dasdf", i)) + len(fmt.Sprintf("..title %d", i)) + len(fmt.Sprintf("..%d", i/10)) + 2 + 60
			}
			if logical := trial.Phases[2].Sizes.LogicalBytes; logical == nil || *logical != uint64(want) {
				t.Errorf("%v logical bytes, counted %d", logical, want)
			}
		})
	}
}

func TestAStoreThatLosesColumnsIsMarked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, mark := range map[string]string{
		"lies-column-lost": string(finding.FaultWrong), "lies-column-swapped": string(finding.FaultWrong), "lies-index-twice": string(finding.FaultWrong), "lies-query-limit": string(finding.FaultWrong),
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runTable(t, driver, "D1")
			if !slices.Contains(codes(trial), mark) {
				t.Errorf("state %s, error %q, marks %v: want %s", trial.State, trial.Error, trial.Marks, mark)
			}
		})
	}
}
