package run

import (
	"math"
	"path/filepath"
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/execution/event"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/live"
	"assay/internal/presentation/tell"
)

// ends keeps what the view gets of each trial's end.
type ends struct {
	event.View
	rates []float64
}

func (e *ends) TrialEnded(end event.TrialEnd) { e.rates = append(e.rates, *end.Rate) }

// The live view, the trials of the result and, with one block, the table show the same rate.
func TestTrialHasOneRate(t *testing.T) {
	ofFigures(t)
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	seen := &ends{View: live.NewPlain(discard{})}
	text := `name: test
stores: [{driver: memory, worker: ` + own() + `}]
records: 1000
durability: D0
busy_machine: tell # no trial runs again
phases:
  - {name: load, load: true}
  - {name: fixed, mix: {update: 1}, operations: 5000}
  - {name: read, mix: {read: 1}, for: 400ms}
sample: 20ms
blocks: 1
`
	if _, err := runTextWith(t.Context(), text, directory, func(o *Options) {
		o.View, o.trials = seen, nil
	}); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	result, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	steady := 0
	for i, planned := range run.Plan {
		for _, shown := range result.Trials {
			if shown.ID != planned.ID {
				continue
			}
			last := shown.Phases[len(shown.Phases)-1]
			if last.Rate != seen.rates[i] {
				t.Errorf("%s: %v in the result, %v in the live view", planned.ID, last.Rate, seen.rates[i])
			}
			if last.Steady {
				steady++
			}
			for _, table := range result.Tables {
				for _, row := range table.Rows {
					if planned.Role == plan.Measured && table.Phase == last.Name && row.Arm == planned.Arm &&
						math.Abs(row.Rate.Value/last.Rate-1) > 1e-12 {
						t.Errorf("%s: %v in the table, %v in its trial", planned.ID, row.Rate.Value, last.Rate)
					}
				}
			}
		}
	}
	t.Logf("%d of %d trials have a warm-up cut off", steady, len(run.Plan))
}
