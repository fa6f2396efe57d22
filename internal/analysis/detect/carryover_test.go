package detect_test

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
)

// A store that slows the trial after it is found, in the phase that is slowed; one whose trials are
// slow themselves is not, nor is what lies more than a minute back.
func TestCarryover(t *testing.T) {
	slow := func(run *record.Run, id, phase string) {
		for i, s := range run.InMemory[id] {
			if s.Phase == phase {
				run.InMemory[id][i].Operations = s.Operations * 9 / 10
			}
		}
	}
	afterElm := func(run *record.Run) {
		for id, store := range facts.Before(run) {
			if store == "elm" {
				slow(run, id, "put")
			}
		}
	}
	for _, c := range []struct {
		name  string
		plant func(run *record.Run)
		found bool
	}{
		{"nothing", func(*record.Run) {}, false},
		{"elm slows the next put", afterElm, true},
		{"elm is slow", func(run *record.Run) {
			for _, trial := range resulttest.Trials(run, "elm") {
				slow(run, trial.Plan.ID, "put")
			}
		}, false},
		{"each trial a day of its own", func(run *record.Run) {
			afterElm(run)
			days := 0
			for _, trial := range run.Trials {
				days++
				trial.Started = trial.Started.AddDate(0, 0, days)
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := resulttest.CleanRun()
			c.plant(run)
			f := resulttest.Find(resulttest.ResultOf(t, run), finding.Carryover)
			if (f != nil) != c.found {
				t.Fatalf("found %+v", f)
			}
			if f == nil {
				return
			}
			slower, _ := f.Params["slower"].(float64)
			if f.Params["store"] != "elm" || f.Params["phase"] != "put" || slower < 0.08 || slower > 0.12 {
				t.Errorf("%v", f.Params)
			}
		})
	}
}
