package run

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/testkit/misbehave"
)

const addsExperiment = `name: test
stores: [{driver: DRIVER, worker: WORKER}]
records: 300
values: {bytes: 100}
threads: 4
handles: per_thread
durability: D1
phases:
  - {name: load, load: true}
  - {name: grow, mix: {add: 1, update: 1}, order: uniform, operations: 2000}
blocks: 1
busy_machine: tell
step_timeout: 300s
`

// A phase's adds take fresh keys, so that all threads add the same ones at the end: a store that adds over
// what is there, one that looks first and writes later, and one that refuses free keys are found.
//
// Fault (physics): an `add` stores over a record that is there, or looks first and then writes
// Assay: at the end all threads add 100 keys that are there and 400 that are not: an acknowledged
// add of the first, or two of one key, is `wrong-adds`, without a rank. A cache that evicts is not
// judged
func TestAddsAreChecked(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for driver, want := range map[string]finding.Code{
		"lies-add":         finding.MarkAddsOver,
		"lies-add-apart":   finding.MarkAddsOver,
		"lies-add-refuses": finding.MarkAddsRefused,
		misbehave.Honest:   "",
		"sqlite":           "",
		"memory":           "",
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(t.TempDir(), "run")
			text := strings.NewReplacer("DRIVER", driver, "WORKER", own(), "D1", map[bool]string{true: "D0", false: "D1"}[driver == "memory"]).Replace(addsExperiment)
			if _, err := runText(context.Background(), text, directory); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, driver)
			if trial.Final == nil || trial.Final.Adds == nil || trial.Final.Adds.Existing != addsExisting ||
				trial.Final.Adds.Contested != addsContested {
				t.Fatalf("adds were not checked: %+v", trial.Final)
			}
			var found []finding.Code
			for _, m := range trial.Marks {
				if !m.Machine() {
					found = append(found, m.Code)
				}
			}
			if want == "" && len(found) > 0 || want != "" && !slices.Contains(found, want) {
				t.Errorf("marked %v, expected %s: %+v", trial.Marks, want, trial.Final.Adds)
			}
		})
	}
}
