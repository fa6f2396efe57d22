package verdict

import (
	"math"
	"slices"
	"strings"
	"testing"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/spec"
	"assay/store"
)

// withNull makes the arm "nought" of a clean run the null driver of another worker, which hosts elm.
func withNull(rate float64) *record.Run {
	shape := clean()
	shape.Arms = append(shape.Arms, recordtest.Arm{Name: "nought", PutRate: rate, GetRate: rate, Noise: 0.01})
	run := built(shape)
	null := run.Experiment.Stores[3]
	null.Description.Kind, null.Worker = store.None, []string{"./other"}
	run.Experiment.Stores = run.Experiment.Stores[:3]
	run.Experiment.Stores[1].Worker, run.Experiment.Stores[1].Ceiling = null.Worker, "nought"
	run.Experiment.Ceilings = []spec.Store{null}
	for i := range run.Plan {
		if run.Plan[i].Arm == "nought" {
			run.Plan[i].Role, run.Plan[i].Store = plan.Ceiling, -1
			run.Trials[run.Plan[i].ID].Plan = run.Plan[i]
		}
	}
	return run
}

func TestEachStoreIsHeldAgainstTheCeilingOfItsOwnWorker(t *testing.T) {
	s := summarise(t, withNull(160e3)) // elm puts 100 k/s: two thirds of what its own worker allows, and nothing beside Assay's 21 M/s
	put := tableNamed(t, s, "put")
	elm, oak := put.rowOf(plan.Measured, "elm"), put.rowOf(plan.Measured, "oak")
	if elm.Ceiling != "nought" || elm.HarnessShare == nil || math.Abs(*elm.HarnessShare-100.0/160) > 0.01 || elm.Ranked {
		t.Errorf("elm: bounded by %q, share %v, ranked %t", elm.Ceiling, elm.HarnessShare, elm.Ranked)
	}
	if oak.Ceiling != spec.NullDriver || *oak.HarnessShare > 0.02 || !oak.Ranked {
		t.Errorf("oak: bounded by %q, share %v, ranked %t", oak.Ceiling, *oak.HarnessShare, oak.Ranked)
	}
	if len(put.Ceilings) != 2 || put.Ceilings[0].Arm != spec.NullDriver || put.Ceilings[1].Arm != "nought" || put.Ceiling == nil || put.Ceiling.Value < 20e6 {
		t.Errorf("ceilings %+v", put.Ceilings)
	}
	f := find(s, FindHarnessBound)
	if f == nil || !strings.Contains(f.Evidence[0], "of its worker (nought) 160 k/s") || find(s, FindOtherHarness) != nil {
		t.Errorf("%+v", s.Findings)
	}
}

func TestAFastNullDriverOfAnotherWorkerBoundsNobody(t *testing.T) {
	s := summarise(t, withNull(20e6))
	if len(s.Findings) > 0 || !tableNamed(t, s, "put").rowOf(plan.Measured, "elm").Ranked {
		t.Errorf("%v: %+v", codes(s), s.Findings)
	}
}

func TestACeilingWithoutARateIsSaid(t *testing.T) {
	run := withNull(20e6)
	for _, trial := range trials(run, "nought") {
		trial.State, trial.Error, trial.Phases = record.Failed, "the worker died", nil
		delete(run.Series, trial.Plan.ID)
	}
	s := summarise(t, run)
	f := find(s, FindNoCeiling)
	if f == nil || !slices.ContainsFunc(f.Evidence, func(e string) bool { return strings.Contains(e, "bounded by nought") }) {
		t.Errorf("%+v", s.Findings)
	}
	if elm := tableNamed(t, s, "put").rowOf(plan.Measured, "elm"); elm.HarnessShare != nil {
		t.Errorf("a share of %g of a ceiling that has no rate", *elm.HarnessShare)
	}
}
