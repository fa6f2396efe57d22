package detect_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/analysis/detect"
	"assay/internal/analysis/facts"
	"assay/internal/analysis/stat"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
	"assay/internal/presentation/tell"
	"assay/internal/testkit/recordtest"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// auto makes a run with blocks: auto that has so many blocks by now.
func auto(blocks int, noise float64, rates ...float64) *record.Run {
	s := recordtest.Shape{Name: "auto", Classes: []store.Durability{store.D1}, Blocks: blocks, Seconds: 20, Seed: 3, Ceiling: true}
	for i, rate := range rates {
		s.Arms = append(s.Arms, recordtest.Arm{Name: string(rune('a' + i)), PutRate: rate, GetRate: rate,
			Noise: 0.01, BlockNoise: noise, DiskFactor: 1, RSSBytes: 1e6})
	}
	run := resulttest.Built(s)
	run.Experiment.Schedule = experiment.Schedule{Blocks: 3, BlocksMax: 6, Smallest: 0.1, Time: time.Hour}
	return run
}

func reasonOf(t *testing.T, run *record.Run) finding.Code {
	t.Helper()
	result, err := tell.Result(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range result.Findings {
		if strings.HasPrefix(string(f.Code), "blocks ") {
			return f.Code
		}
	}
	return ""
}

func TestUndecided(t *testing.T) {
	for _, c := range []struct {
		name   string
		run    *record.Run
		open   []string
		reason finding.Code
	}{
		{"far apart", auto(3, 0.01, 100e3, 50e3, 20e3), nil, "blocks decided"},
		{"shown to be tied", auto(3, 0.001, 100e3, 100e3), nil, "blocks decided"},
		{"too noisy", auto(3, 0.2, 100e3, 95e3), []string{"put (D1)", "get (D1)"}, "blocks time"},
		{"too noisy in the end", auto(6, 0.2, 100e3, 95e3), []string{"put (D1)", "get (D1)"}, "blocks most"},
		{"the slow ones need not be told from each other", auto(3, 0.05, 500e3, 20e3, 19.5e3), nil, "blocks decided"},
		{"one store", auto(3, 0.2, 100e3), nil, "blocks decided"},
	} {
		t.Run(c.name, func(t *testing.T) {
			open, err := detect.Undecided(c.run)
			if err != nil {
				t.Fatal(err)
			}
			var places []string
			for _, text := range open {
				place, _, _ := strings.Cut(text, ":")
				places = append(places, place)
			}
			slices.Sort(places)
			slices.Sort(c.open)
			if !slices.Equal(places, c.open) {
				t.Errorf("open: %q, want %q", open, c.open)
			}
			if reason := reasonOf(t, c.run); reason != c.reason {
				t.Errorf("stopped for %q, want %q", reason, c.reason)
			}
		})
	}
}

// A store that the machine kept from a rank may still be the best; one whose rate falls is none the
// better for more blocks.
func TestUnrankedStoreIsUndecided(t *testing.T) {
	run := auto(3, 0.01, 100e3, 50e3)
	for _, p := range run.Plan {
		if p.Arm == "b" {
			busy := finding.New(finding.MarkForeignParams{Least: 0.4, Most: 0.4})
			run.Trials[p.ID].State, run.Trials[p.ID].Marks = record.Marked, []finding.Mark{{Message: busy, Phase: "put"}, {Message: busy, Phase: "get"}}
		}
	}
	open, err := detect.Undecided(run)
	if err != nil || len(open) == 0 || !strings.Contains(open[0], "b (no rank yet)") {
		t.Errorf("disturbed: %q, %v", open, err)
	}
	if reason := reasonOf(t, run); reason != "blocks time" {
		t.Errorf("stopped for %q", reason)
	}
	s := recordtest.Shape{Name: "cliff", Classes: []store.Durability{store.D1}, Blocks: 3, Seconds: 60, Seed: 3, Ceiling: true}
	for _, arm := range []recordtest.Arm{{Name: "a"}, {Name: "b", CliffAt: 30, CliffTo: 0.2}} {
		arm.PutRate, arm.GetRate, arm.Noise, arm.BlockNoise, arm.DiskFactor, arm.RSSBytes = 100e3, 50e3, 0.01,
			0.001, 1, 1e6
		s.Arms = append(s.Arms, arm)
	}
	run = resulttest.Built(s)
	run.Experiment.Schedule = experiment.Schedule{Blocks: 3, BlocksMax: 6, Smallest: 0.1}
	if open, err := detect.Undecided(run); err != nil || len(open) > 0 {
		t.Errorf("a cliff: %q, %v", open, err)
	}
}

// A run whose figures decide when it ends is judged at the level of its looks, and only such a run.
func TestLooksHaveTheirOwnLevel(t *testing.T) {
	run := auto(3, 0.01, 100e3, 50e3)
	if o := facts.LookOptions(run); o.Level != stat.LookLevel(3, 6) || o.Level >= stat.Significance || o.Tie != 0.1 {
		t.Errorf("%+v", o)
	}
	run.Experiment.Smallest = 0
	if o := facts.LookOptions(run); o.Level != 0 || o.Tie != 0 {
		t.Errorf("%+v", o)
	}
	if reason := reasonOf(t, run); reason != "blocks time" {
		t.Errorf("a run of up to 6 blocks that had time for 3 stopped for %q", reason)
	}
	run.Experiment.BlocksMax = 0
	if reason := reasonOf(t, run); reason != "" {
		t.Errorf("a run of 3 blocks stopped for %q", reason)
	}
}

func TestUnfinishedRunHasNotStopped(t *testing.T) {
	run := auto(4, 0.2, 100e3, 95e3)
	run.Trials[run.Plan[len(run.Plan)-1].ID].State = record.Interrupted
	if reason := reasonOf(t, run); reason != "" {
		t.Errorf("stopped for %q", reason)
	}
}

func TestLayoutIsReported(t *testing.T) {
	run := auto(3, 0.01, 100e3, 50e3)
	run.Experiment.Layout = []finding.Message{finding.New(finding.LayoutPhasesParams{Phases: []string{"scan"}})}
	result, err := tell.Result(run)
	if err != nil || !slices.ContainsFunc(result.Findings, func(f finding.Finding) bool {
		return f.Code == "layout-left-out phases" && f.Severity == finding.Notice
	}) {
		t.Errorf("%v: %+v", err, result.Findings)
	}
}

// A trial that lost an agent counts as repeated, once a later try has a result. Without one it is
// reported as a failure, and so is any other failure.
//
// Fault (agents): a trial that lost an agent was run again, and went well
// Assay: no failure is found; status 0
func TestLostAgentIsNoFailureOfItsStore(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause finding.Code
		again bool
		want  bool
	}{
		{"repeated", finding.CauseAgentLost, true, false},
		{"not repeated", finding.CauseAgentLost, false, true},
		{"a store that died, repeated", finding.CauseDied, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := auto(3, 0.01, 100e3, 50e3)
			first := resulttest.Trials(run, "a")[1]
			planned := plan.Repeat(&run.Experiment, first.Plan, len(run.Plan))
			if c.again {
				again := *first
				again.Plan = planned
				run.Plan, run.Trials[planned.ID] = append(run.Plan, planned), &again
				run.InMemory[planned.ID] = run.InMemory[first.Plan.ID]
			}
			first.State, first.Cause, first.Error, first.Phases, first.Final = record.Failed, c.cause, "it is gone", nil, nil
			result, err := tell.Result(run)
			if err != nil {
				t.Fatal(err)
			}
			if failed := resulttest.Find(result, finding.TrialFailed) != nil; failed != c.want {
				t.Errorf("a failure is found: %v, want %v: %v", failed, c.want, resulttest.CodesOf(result))
			}
		})
	}
}
