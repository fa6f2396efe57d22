package detect_test

import (
	"testing"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/testkit/resulttest"
)

// A lie that the A/A arm's trials show takes the rank of its baseline in the same cell, and, on a server
// that the user named, of the other arms too.
//
// Fault (physics): a baseline's A/A arm is caught in such a lie, on a server or in the worker
// Assay: its baseline loses its rank in that cell (`server-lies-to-others`)
func TestLyingTwinCostsItsBaselineTheRank(t *testing.T) {
	for _, c := range []struct {
		name      string
		endpoints []string // of all stores; none: Assay starts their servers, or they have none
		mark      finding.Message
		oak, elm  bool // without a rank
	}{
		{"started by Assay", nil, resulttest.LostRecords(), true, false},
		{"named", []string{"a:1"}, resulttest.LostRecords(), true, true},
		{"named, a class that was not shown", []string{"a:1"}, finding.New(finding.MarkClassChangedParams{Message: "appendfsync is no"}), true, true},
		{"the machine's own fault", []string{"a:1"}, resulttest.OthersBusy(), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := resulttest.CleanRun()
			for i := range run.Experiment.Stores {
				if s := &run.Experiment.Stores[i]; s.Name == "oak" || s.Name == "elm" {
					s.Endpoints = c.endpoints
				}
			}
			resulttest.MarkedBy(resulttest.Trials(run, "oak (A/A)")[0], c.mark)
			r := resulttest.ResultOf(t, run)
			for arm, lost := range map[string]bool{"oak": c.oak, "elm": c.elm} {
				for _, phase := range []string{"put", "get"} {
					if row := resulttest.RowOf(t, r, phase, arm); (row.Standing == facts.Ranked) == lost {
						t.Errorf("%s: %s is %s", phase, arm, row.Standing)
					}
				}
			}
		})
	}
}

// An arm that was caught itself is not said to be judged by its A/A arm.
func TestLyingArmIsNotJudgedByItsTwin(t *testing.T) {
	run := resulttest.CleanRun()
	for _, arm := range []string{"oak", "oak (A/A)"} {
		resulttest.MarkedBy(resulttest.Trials(run, arm)[0], resulttest.LostRecords())
	}
	r := resulttest.ResultOf(t, run)
	for _, f := range r.Findings {
		if f.Code == finding.SharedLiar && f.Where.Phase == "put" {
			t.Errorf("found %+v", f)
		}
	}
	for _, phase := range []string{"put", "get"} {
		if row := resulttest.RowOf(t, r, phase, "oak"); row.Standing == facts.Ranked {
			t.Errorf("%s: oak is ranked", phase)
		}
	}
}

// A lie that one arm's trials show of a server takes the rank of the other arms on it, and of no arm
// on another server.
//
// Fault (physics): a named server lies to one arm: loses records, returns old or foreign values, or
// does not sync
// Assay: its other arms lose their rank too (`server-lies-to-others`)
func TestLyingServerCostsItsOtherArmsTheRank(t *testing.T) {
	for _, c := range []struct {
		name string
		mark finding.Message
		elm  string // its endpoint; oak's is a:1
		lost bool
	}{
		{"records lost, one server", resulttest.LostRecords(), "a:1", true},
		{"records lost, another server", resulttest.LostRecords(), "b:1", false},
		{"a class that was not shown", finding.New(finding.MarkClassChangedParams{Message: "appendfsync is no"}), "a:1", true},
		{"the machine's own fault", resulttest.OthersBusy(), "a:1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := resulttest.CleanRun()
			for i := range run.Experiment.Stores {
				switch s := &run.Experiment.Stores[i]; s.Name {
				case "oak":
					s.Endpoints = []string{"a:1"}
				case "elm":
					s.Endpoints = []string{c.elm}
				}
			}
			resulttest.MarkedBy(resulttest.Trials(run, "oak")[0], c.mark)
			r := resulttest.ResultOf(t, run)
			if f := resulttest.Find(r, finding.SharedLiar); (f != nil) != c.lost || f != nil && f.Where.Arm != "elm" {
				t.Errorf("found %+v", f)
			}
			for _, phase := range []string{"put", "get"} {
				if row := resulttest.RowOf(t, r, phase, "elm"); (row.Standing == facts.Ranked) == c.lost {
					t.Errorf("%s: elm is %s", phase, row.Standing)
				}
			}
		})
	}
}
