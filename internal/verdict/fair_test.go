package verdict

import (
	"strings"
	"testing"

	"assay/internal/finding"
	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/store"
)

// Runs in which something happened that must not make a slower store the winner.

// race makes a run of 60 s phases over so many blocks, with arms of these rates; the first is the baseline.
func race(blocks int, arms ...recordtest.Arm) *record.Run {
	s := recordtest.Shape{Name: "race", Classes: []store.Durability{store.D1}, Blocks: blocks, Seconds: 60, Seed: 7, AA: true, Ceiling: true}
	for _, a := range arms {
		a.GetRate, a.Noise, a.BlockNoise, a.DiskFactor, a.RSSBytes = a.PutRate, 0.03, 0.005, 1, 90e6
		s.Arms = append(s.Arms, a)
	}
	return built(s)
}

func runner(name string, rate float64) recordtest.Arm {
	return recordtest.Arm{Name: name, PutRate: rate}
}

// paced multiplies the rate of a trial's put by what factor says of each second.
func paced(run *record.Run, id string, factor func(second int) float64) {
	var total uint64
	series := run.Series[id]
	for i := range series {
		if s := &series[i]; s.Phase == "put" {
			s.Operations = uint64(float64(s.Operations) * factor(int(s.At+0.5)-1))
			total += s.Operations
		}
	}
	p := phaseOf(run.Trials[id], "put")
	p.Operations[0].OK, p.Attempted = total, total
}

func disturbed(run *record.Run, id string) {
	trial := run.Trials[id]
	trial.State, trial.Marks = record.Marked, []finding.Mark{{Message: finding.New(finding.MarkForeign, "least", 0.4, "most", 0.4), Phase: "put"}}
}

func eachTrial(run *record.Run, arm string, visit func(p plan.Trial)) {
	for _, p := range run.Plan {
		if p.Arm == arm {
			visit(p)
		}
	}
}

func TestALostSlowBlockDoesNotCrownTheSlower(t *testing.T) {
	run := race(6, runner("oak", 120e3), runner("elm", 100e3), runner("ash", 60e3))
	for _, p := range run.Plan {
		if p.Block <= 3 {
			paced(run, p.ID, func(int) float64 { return 0.5 })
		}
		if p.Block <= 3 && p.Arm == "elm" {
			disturbed(run, p.ID)
		}
	}
	put := tableNamed(t, summarise(t, run), "put")
	elm := put.rowOf(plan.Measured, "elm")
	if put.Best != "oak" || elm.Rank != 2 || !elm.ShownToBest || elm.ToBest.Value > 0.9 || !strings.Contains(put.Sentence, "the blocks that both have") {
		t.Errorf("%q; elm: rank %d, %v of the best", put.Sentence, elm.Rank, elm.ToBest)
	}
}

func TestATwinThatDoesNotSettleCostsTheBaselineNothing(t *testing.T) {
	run := race(5, runner("oak", 100e3), runner("elm", 100e3), runner("ash", 60e3))
	warm := func(second int) float64 {
		if second < 12 {
			return 0.2
		}
		return 1
	}
	for _, arm := range []string{"oak", "elm", "oak (A/A)"} {
		eachTrial(run, arm, func(p plan.Trial) { paced(run, p.ID, warm) })
	}
	eachTrial(run, "oak (A/A)", func(p plan.Trial) {
		if p.Block <= 3 {
			paced(run, p.ID, func(second int) float64 {
				if second >= 40 {
					return 0.8
				}
				return 1
			})
		}
	})
	put := tableNamed(t, summarise(t, run), "put")
	if oak, elm := put.rowOf(plan.Measured, "oak"), put.rowOf(plan.Measured, "elm"); oak.Rank != 1 || elm.Rank != 1 || oak.Trials[0].Basis != elm.Trials[0].Basis {
		t.Errorf("%q: oak has rank %d by %s, elm %d by %s", put.Sentence, oak.Rank, oak.Trials[0].Basis, elm.Rank, elm.Trials[0].Basis)
	}
	if put.AA == nil || put.AA.Value > 0.99 {
		t.Errorf("the twin's fall is not in the noise: %+v", put.AA)
	}
}

func TestAStoreThatDoesNothingInABlockHasNoRank(t *testing.T) {
	run := race(5, runner("oak", 100e3), runner("elm", 130e3), runner("ash", 60e3))
	eachTrial(run, "elm", func(p plan.Trial) {
		if p.Block == 2 {
			paced(run, p.ID, func(int) float64 { return 0 })
		}
	})
	put := tableNamed(t, summarise(t, run), "put")
	if elm := put.rowOf(plan.Measured, "elm"); elm.Ranked || put.Best != "oak" || !strings.Contains(strings.Join(elm.Reasons, " "), "did nothing in 1 of 5 blocks") {
		t.Errorf("%q: elm %v", put.Sentence, elm.Reasons)
	}
}

func TestOneDisturbedNullTrialLeavesTheCeiling(t *testing.T) {
	run := race(5, runner("oak", 10e6), runner("elm", 15e6), runner("ash", 60e3))
	before := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "elm")
	n := 0
	eachTrial(run, "null", func(p plan.Trial) {
		if n++; n == 2 {
			disturbed(run, p.ID)
		}
	})
	after := tableNamed(t, summarise(t, run), "put").rowOf(plan.Measured, "elm")
	if before.Ranked || after.Ranked || after.HarnessShare == nil {
		t.Errorf("harness-bound elm is ranked: before %v, after %v (%v)", before.Ranked, after.Ranked, after.Reasons)
	}
}

func TestTheTwinOfAnotherStoreIsHeldAgainstThatStore(t *testing.T) {
	run := race(5, runner("oak", 100e3), runner("elm", 130e3), runner("ash", 60e3))
	for i, s := range run.Experiment.Stores {
		for at := range run.Plan {
			p := &run.Plan[at]
			switch {
			case s.Name == "oak" && p.Arm == "oak":
				p.Refuse = "can't reach D1"
				run.Trials[p.ID].State, run.Trials[p.ID].Error = record.Refused, p.Refuse
			case s.Name == "elm" && p.Role == plan.AA:
				p.Store, p.Arm = i, "elm (A/A)"
			}
		}
	}
	if put := tableNamed(t, summarise(t, run), "put"); put.Baseline != "elm" || put.AA == nil {
		t.Errorf("baseline %s, A/A %v", put.Baseline, put.AA)
	}
}

func TestATwinInFewBlocksIsTold(t *testing.T) {
	for failed, told := range map[int]string{0: "", 2: "", 3: "in 2 of 5 blocks", 4: "in 1 of 5 blocks", 5: ""} { // 5: FindNoTwin says it
		run := race(5, runner("oak", 100e3), runner("elm", 130e3))
		for _, e := range trials(run, "oak (A/A)")[:failed] {
			e.State, e.Error = record.Failed, "the worker died"
		}
		f := find(summarise(t, run), FindFewTwins)
		if (f != nil) != (told != "") || f != nil && (f.Severity != Notice || !strings.Contains(strings.Join(f.Evidence, "\n"), told)) {
			t.Errorf("the twin failed in %d of 5 blocks: %+v", failed, f)
		}
	}
}

func TestPartOfTheWorkIsTold(t *testing.T) {
	run := race(3, runner("oak", 100e3), runner("elm", 130e3), runner("ash", 30e3))
	for i := range run.Experiment.Phases {
		if run.Experiment.Phases[i].Name == "put" {
			run.Experiment.Phases[i].Operations = 6_000_000
		}
	}
	for _, p := range run.Plan {
		if phase := phaseOf(run.Trials[p.ID], "put"); p.Arm == "ash" {
			phase.EndedBy = record.EndedDuration
		} else {
			phase.EndedBy = record.EndedOperations
		}
	}
	s := summarise(t, run)
	if f := find(s, FindPartWork); f == nil || f.Where.Arm != "ash" || tableNamed(t, s, "put").FixedWork {
		t.Errorf("%+v; fixed work: %v", f, tableNamed(t, s, "put").FixedWork)
	}
	eachTrial(run, "ash", func(p plan.Trial) { phaseOf(run.Trials[p.ID], "put").EndedBy = record.EndedOperations })
	if s := summarise(t, run); find(s, FindPartWork) != nil || !tableNamed(t, s, "put").FixedWork {
		t.Error("all did the whole work")
	}
}

// fixed makes put a number of operations, which trials end as is told.
func fixed(run *record.Run, ended func(p plan.Trial) record.Ending) {
	phaseNamedIn(run, "put").Operations = 6_000_000
	for _, p := range run.Plan {
		phaseOf(run.Trials[p.ID], "put").EndedBy = ended(p)
	}
}

func TestStoresThatDoNotBreakAreNamed(t *testing.T) {
	run := race(3, runner("oak", 100e3), runner("elm", 130e3), runner("ash", 60e3))
	for i := range run.Experiment.Phases {
		if run.Experiment.Phases[i].Name == "put" {
			run.Experiment.Phases[i].Mix = map[string]float64{"insert": 1}
		}
	}
	for _, p := range run.Plan {
		small, large, logical, disk := 0.2, 3.0, uint64(100), uint64(200)
		sizes := &phaseOf(run.Trials[p.ID], "put").Sizes
		sizes.DataToMemory, sizes.LogicalBytes, sizes.DiskBytes = &large, &logical, &disk
		if p.Arm == "ash" {
			sizes.DataToMemory = &small
		}
		if p.Arm == "elm" {
			paced(run, p.ID, func(second int) float64 {
				if second >= 30 {
					return 0.2
				}
				return 1
			})
		}
	}
	s := summarise(t, run)
	kept, small := find(s, FindKept), find(s, FindNotOutgrown)
	if kept == nil || !strings.Contains(kept.Sentence, "2 of 3 stores show no fall") || !strings.Contains(strings.Join(kept.Evidence, "\n"), "6.00 times the memory") {
		t.Errorf("%+v", kept)
	}
	if small == nil || len(small.Evidence) != 1 || !strings.Contains(small.Evidence[0], "ash: 40 %") {
		t.Errorf("%+v", small)
	}
	if find(summarise(t, race(3, runner("oak", 100e3), runner("elm", 90e3))), FindKept) != nil {
		t.Error("the data of a phase that only overwrites does not grow")
	}
}
