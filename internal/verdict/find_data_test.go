package verdict

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/record"
	"assay/internal/record/recordtest"
	"assay/internal/spec"
	"assay/internal/trace"
	"assay/store"
)

func TestWhatAnArmWroteAndNobodyReadBackIsSaid(t *testing.T) {
	forget := func(run *record.Run, arm string) {
		for _, trial := range trials(run, arm) {
			trial.Final = nil
		}
	}
	for _, c := range []struct {
		name  string
		plant func(run *record.Run)
		arms  []string
	}{
		{"all were read back", func(*record.Run) {}, nil},
		{"one arm", func(run *record.Run) { forget(run, "elm") }, []string{"elm"}},
		{"one trial of an arm", func(run *record.Run) { trials(run, "elm")[2].Final = nil }, []string{"elm"}},
		{"two arms", func(run *record.Run) { forget(run, "elm"); forget(run, "ash") }, []string{"ash", "elm"}},
		{"an arm that only read", func(run *record.Run) {
			forget(run, "elm")
			for _, trial := range trials(run, "elm") {
				trial.Phases = []record.Phase{*phaseOf(trial, "get")}
			}
		}, nil},
		{"failed trials", func(run *record.Run) {
			forget(run, "elm")
			for _, trial := range trials(run, "elm") {
				trial.State, trial.Error = record.Failed, "crashed"
			}
		}, nil},
		{"the null driver", func(run *record.Run) { forget(run, "null") }, nil},
		{"switched off", func(run *record.Run) { forget(run, "elm"); run.Experiment.VerifyRecords = 0 }, nil},
	} {
		run := cleanRun()
		c.plant(run)
		var arms []string
		for _, f := range summarise(t, run).Findings {
			if f.Code != FindNotReadBack {
				continue
			}
			arms = append(arms, f.Where.Arm)
			if f.Severity != Warning || !strings.Contains(f.Sentence, f.Where.Arm+" wrote, nothing was read back") || len(f.Evidence) == 0 || !strings.Contains(f.Evidence[0], "writes were acknowledged") {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
		slices.Sort(arms) // they come as they ran
		if strings.Join(arms, " ") != strings.Join(c.arms, " ") {
			t.Errorf("%s: said of %v, want %v", c.name, arms, c.arms)
		}
	}
}

func TestWhatIsAReadAndWhatIsAWrite(t *testing.T) {
	for _, name := range trace.OperationNames() {
		p := spec.Phase{Mix: map[string]float64{name: 1, "insert": 0, "read": 0}}
		wantRead, wantWrite := false, true
		switch name {
		case "read", "scan", "query", "count":
			wantRead, wantWrite = true, false
		case "read_modify_write", "compare_and_swap":
			wantRead = true
		}
		if isRead(p) != wantRead || isWrite(p) != wantWrite {
			t.Errorf("%s: read %v, write %v", name, isRead(p), isWrite(p))
		}
	}
}

// Queries sync nothing: whatever two classes differ by in them, a column of both does not rank durability.
func TestDurabilityIsNotBlamedForQueries(t *testing.T) {
	shape := clean()
	shape.Classes = []store.Durability{store.D1, store.D3}
	for i := range shape.Arms {
		shape.Arms[i].ClassCost = map[store.Durability]float64{store.D3: 0.2}
	}
	for operation, blamed := range map[string]bool{"update": true, "query": false, "count": false, "scan": false} {
		run := recordtest.Run(shape)
		for i := range run.Experiment.Phases {
			if p := &run.Experiment.Phases[i]; p.Name == "put" {
				p.Mix = map[string]float64{operation: 1}
			}
		}
		if found := find(summarise(t, run), FindDurabilityPut) != nil; found != blamed {
			t.Errorf("%s: durability was blamed: %v", operation, found)
		}
	}
}
