package recordtest

import (
	"reflect"
	"testing"

	"assay/internal/evidence/record"
)

func TestExampleMeetsItsExpectations(t *testing.T) {
	run := Run(Example())
	states := map[record.State]int{}
	for _, planned := range run.Plan {
		trial := run.Trials[planned.ID]
		if trial == nil {
			t.Fatalf("%s was planned and has no result", planned.ID)
		}
		states[trial.State]++
		for _, phase := range trial.Phases {
			var done, timed uint64
			for _, op := range phase.Operations {
				done += op.Done()
				timed += op.Service.Count()
			}
			if done != phase.Attempted || timed != phase.Attempted {
				t.Errorf("%s %s: %d attempted, %d done, %d timed", planned.ID, phase.Name, phase.Attempted, done, timed)
			}
		}
	}
	if len(run.Plan) != 3*3*10 {
		t.Errorf("%d trials are planned, want 3 blocks of 3 classes of 10 arms", len(run.Plan))
	}
	want := map[record.State]int{record.OK: 77, record.Marked: 9, record.Refused: 3, record.Failed: 1}
	if !reflect.DeepEqual(states, want) {
		t.Errorf("states are %v, want %v", states, want)
	}
	if again := Run(Example()); !reflect.DeepEqual(again, run) {
		t.Error("the same shape gave another run")
	}
}
