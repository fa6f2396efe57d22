package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/evidence/record"
)

// A cold experiment drops the pages before each measured phase, and says what was left; a warm one
// does not.
func TestColdPhasesSayWhatWasLeftInThePageCache(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	for _, cache := range []string{"warm", "cold"} {
		t.Run(cache, func(t *testing.T) {
			t.Parallel()
			here, err := os.MkdirTemp(".", "cold-test-") // on a disk: memory has no page cache to drop
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(here) }) // what stays is seen beside the test
			directory := filepath.Join(here, "run")
			text := strings.Replace(anExperiment("bbolt", "["+os.Args[0]+", worker]", "blocks: 1", "blocks: 1\ncache: "+cache), "D1", "D3", 1)
			if _, err := runTextWith(context.Background(), text, directory, allTrials); err != nil {
				t.Fatal(err)
			}
			run, err := record.Open(directory)
			if err != nil {
				t.Fatal(err)
			}
			for id, trial := range run.Trials {
				if trial.State == record.Failed {
					t.Errorf("%s: %s", id, trial.Error)
				}
				for _, p := range trial.Phases {
					dropped := p.Cold != nil
					if want := cache == "cold" && p.Measured && trial.Plan.Store >= 0; dropped != want {
						t.Errorf("%s, %s: dropped is %t, want %t", id, p.Name, dropped, want)
					}
					if dropped && p.Cold.FileBytes == 0 {
						t.Errorf("%s, %s: %+v: the store has files", id, p.Name, *p.Cold)
					}
				}
			}
		})
	}
}
