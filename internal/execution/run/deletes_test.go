package run

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// pruning deletes by query: alone, beside inserts that it may find, and beside puts of what it
// deleted.
func pruning(driver, durability string) string {
	return strings.NewReplacer("DRIVER", driver, "CLASS", durability, "WORKER", own()).Replace(`name: prune
stores: [{driver: DRIVER, worker: WORKER}]
records: 600
values:
  columns:
    - {name: title, value: "title {i}"}
    - {name: tens, value: "{i/10%40}", type: integer}
    - {name: v, proof: 60}
  indexes: [tens]
  queries:
    group: {where: {tens: equal}}
    narrow: {where: {tens: {range: 3}, title: {prefix: 8}}}
    one_of: {any: [{tens: equal}, {title: equal}], limit: 20}
threads: 2
durability: CLASS
phases:
  - {name: load, load: true, batch: 20}
  - {name: prune, mix: {"delete:group": 1, read: 2, "query:one_of": 1, "count:group": 1}, operations: 80}
  - {name: beside, mix: {"delete:narrow": 1, "delete:group": 1, insert: 3, delete: 1}, operations: 200}
  - {name: again, mix: {"delete:group": 1, upsert: 6, "count:group": 1}, operations: 300}
blocks: 1
busy_machine: tell
step_timeout: 300s
`)
}

func runPruning(t *testing.T, driver, durability string) *record.Trial {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "run")
	if _, err := runText(context.Background(), pruning(driver, durability), directory); err != nil {
		t.Fatal(err)
	}
	return trialOf(t, directory, driver)
}

func TestDeletesByQueryAreChecked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, durability := range map[string]string{"memory": "D0", "sqlite": "D1", "honest": "D1"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runPruning(t, driver, durability)
			if trial.Error != "" || len(codes(trial)) > 0 {
				t.Fatalf("error %q, marks %v", trial.Error, trial.Marks)
			}
			if f := trial.Final; f == nil || f.Records < 700 || f.Right < f.Records*9/10 {
				t.Fatalf("final check %+v", f)
			}
			for _, p := range trial.Phases[1:] {
				for _, o := range p.Operations {
					if o.Name == "delete_query" && (o.OK == 0 || o.Items < o.OK || o.OK+o.Miss != o.Done()) {
						t.Errorf("%s: %+v", p.Name, o)
					}
				}
			}
		})
	}
}

// What is deleted beside what was asked for is missing, what is left is there, and a wrong number is
// not that of the records.
func TestWrongDeletesByQueryAreFound(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, found := range map[string]func(*record.Trial) bool{
		"lies-delete-query-more": func(trial *record.Trial) bool { return trial.Final.Lost > 0 },
		"lies-delete-query-less": func(trial *record.Trial) bool { return trial.Final.Stale > 0 },
		"lies-delete-query-count": func(trial *record.Trial) bool {
			return hasMark(trial, finding.MarkItems, finding.Params{"operation": "delete_query"})
		},
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			trial := runPruning(t, driver, "D1")
			if trial.Final == nil || trial.State != record.Marked || !found(trial) {
				t.Errorf("state %s, error %q, marks %v, final check %+v", trial.State, trial.Error, trial.Marks, trial.Final)
			}
		})
	}
}
