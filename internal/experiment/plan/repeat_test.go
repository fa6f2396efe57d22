package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"assay/internal/experiment/plan"
)

// Repeats sort behind the trials of their block and before the next block, and do the same
// operations.
func TestRepeatsSortAsTheyRun(t *testing.T) {
	e := anExperiment()
	e.Repeats = 2
	var ids []string
	for block := 1; block <= 3; block++ {
		trials := plan.Block(e, block)
		for _, i := range []int{4, 1, 0} {
			again := plan.Repeat(e, trials[i], len(trials))
			if again.Again != 1 || again.Seed != trials[i].Seed || again.Arm != trials[i].Arm || again.Block != block {
				t.Errorf("%+v repeats %+v", again, trials[i])
			}
			trials = append(trials, again)
		}
		trials = append(trials, plan.Repeat(e, trials[len(trials)-1], len(trials)))
		for _, trial := range trials {
			ids = append(ids, trial.ID)
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("%q", ids)
	}
	if last := ids[len(ids)-1]; last[len(last)-7:] != "-again2" {
		t.Errorf("the second repeat is %s", last)
	}
}

func TestRepeatsAreAQuarterOfThePlan(t *testing.T) {
	for trials, want := range map[int]int{0: 0, 1: 1, 4: 1, 5: 2, 40: 10} {
		some := make([]plan.Trial, trials, trials+2)
		some = append(some, plan.Trial{Again: 1}, plan.Trial{Refuse: "no"})
		if got := plan.RepeatsMax(some); got != want {
			t.Errorf("%d trials: %d repeats, want %d", trials, got, want)
		}
	}
}

// Blocks that are added are those that a longer plan would have had.
func TestAddedBlocksAreThoseOfALongerPlan(t *testing.T) {
	short, long := anExperiment(), anExperiment()
	short.BlocksMax, long.Blocks = 12, 12
	all := slices.Concat(plan.Plan(short), plan.Block(short, 4), plan.Block(short, 5))
	for i, trial := range all {
		if want := plan.Plan(long)[i]; fmt.Sprint(trial) != fmt.Sprint(want) {
			t.Fatalf("trial %d is %+v, want %+v", i, trial, want)
		}
	}
}
