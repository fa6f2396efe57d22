package run

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/testkit/misbehave"
)

// One operation in ten is timed, as the trial's phases say; a worker that times others is marked.
//
// Fault (physics): with `latency: sampled`, a worker times all operations, or others than the
// contract names
// Assay: `counts-disagree`. Not found: times reported too short
// With: storetest's rule `latency-sampled` (times-unasked)
func TestSampledTimesAreCounted(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for name, worker := range map[string]string{"honest": own(), "times-unasked": liar("times-unasked")} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "run")
			text := anExperiment(misbehave.Honest, worker, "blocks: 1", "blocks: 1\nlatency: sampled(10)")
			if _, err := runTextWith(context.Background(), text, directory, allTrials); err != nil {
				t.Fatal(err)
			}
			trial := trialOf(t, directory, misbehave.Honest)
			if marks := codes(trial); slices.Contains(marks, string(finding.FaultCounts)) != (name != "honest") {
				t.Errorf("marks %v", trial.Marks)
			}
			for _, p := range trial.Phases {
				if p.TimedEvery != 10 {
					t.Errorf("%s: one operation in %d was timed, expected 10", p.Name, p.TimedEvery)
				}
				done, timed := uint64(0), uint64(0)
				for _, o := range p.Operations {
					done, timed = done+o.Done(), timed+o.Service.Count()
				}
				if name == "honest" && done >= 300 && (timed < done/40 || timed > done/3) {
					t.Errorf("%s: %d of %d operations were timed", p.Name, timed, done)
				}
			}
		})
	}
}
