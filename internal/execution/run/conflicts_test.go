package run

import (
	"context"
	"path/filepath"
	"testing"

	"assay/internal/testkit/misbehave"
)

// A store in which writes conflict is not said to have lost what it refused to write: neither where
// phases read it, nor at the end.
func TestRefusedWritesAreNotLost(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := anExperiment(misbehave.Conflicts, own(), "threads: 2", "threads: 4", "batch: 20", "batch: 2", "records: 200", "records: 2000", "operations: 400", "operations: 4000",
		"operations: 1000", "operations: 4000")
	if _, err := runText(context.Background(), text, directory); err != nil {
		t.Fatal(err)
	}
	trial := trialOf(t, directory, misbehave.Conflicts)
	refused, missed := map[string]uint64{}, uint64(0)
	for _, p := range trial.Phases {
		for _, o := range p.Operations {
			refused[p.Name] += o.Conflict
			if p.Name == "look" {
				missed += o.Miss
			}
		}
	}
	if refused["load"] == 0 || refused["overwrite"] == 0 || missed == 0 {
		t.Fatalf("conflicts of phases: %v; %d reads of what was loaded missed: nothing was put to the test", refused, missed)
	}
	if marks := codes(trial); len(marks) > 0 {
		t.Errorf("marked %v: %v", marks, trial.Marks)
	}
	if f := trial.Final; f == nil || f.Lost+f.Stale+f.Wrong+f.Errors > 0 || f.Unknown == 0 {
		t.Errorf("the final check: %+v", f)
	}
}
