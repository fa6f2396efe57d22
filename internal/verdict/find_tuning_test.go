package verdict

import (
	"strings"
	"testing"

	"assay/internal/plan"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/stat"
)

// arms makes a table of a store at its defaults that breaks at 1,000 records and a tuned one.
func arms(tuned Observation) (*record.Run, *Summary) {
	run := &record.Run{Experiment: spec.Experiment{Cells: []spec.Cell{{Durability: "D1"}}, Stores: []spec.Store{
		{Name: "plain", Driver: "oak"}, {Name: "tuned", Driver: "oak", Options: map[string]string{"bnum": "9"}}, {Name: "other", Driver: "elm"},
	}}}
	plain := observed(5_000, 1_000)
	return run, &Summary{Tables: []Table{{Phase: "insert", Class: "D1", Rows: []Row{
		{Arm: "plain", Role: plan.Measured, Store: 0, Trials: []Observation{plain}},
		{Arm: "tuned", Role: plan.Measured, Store: 1, Trials: []Observation{tuned}},
		{Arm: "other", Role: plan.Measured, Store: 2, Trials: []Observation{observed(9_000, 0)}},
		{Arm: "plain (A/A)", Role: plan.AA, Store: 0, Trials: []Observation{plain}},
	}}}}
}

// observed is a trial that reached so many records and fell off a cliff at so many; 0: it did not.
func observed(reached, cliff float64) Observation {
	o := Observation{Used: true, Course: &Analysis{Course: stat.Course{Shapes: []stat.Shape{stat.ShapeSteady}}}, sampled: stat.Series{Records: []float64{1, reached}}}
	if cliff > 0 {
		o.Course.Cliffs = []stat.Cliff{{Records: &cliff}}
	}
	return o
}

// shaped is a trial that got far and did something else than to fall at a place.
func shaped(shape stat.Shape, levels ...float64) Observation {
	o := observed(80_000, 0)
	o.Course.Shapes = []stat.Shape{shape}
	for _, rate := range levels {
		o.Course.Segments = append(o.Course.Segments, Level{Rate: rate})
	}
	return o
}

func TestTuningIsSaidToCureToPostponeOrToDoNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		tuned Observation
		want  string
	}{
		{"cured", observed(80_000, 0), "kept it from the fall of plain at 1,000 records"},
		{"far, but nobody can tell what it did", shaped(stat.ShapeWandering), "was not seen to break at a place, nor to hold"},
		{"far, and too restless to tell", shaped(stat.ShapeTooShort), "was not seen to break at a place, nor to hold"},
		{"far, and down by steps", shaped(stat.ShapeStepped, 100e3, 80e3), "was not seen to break at a place, nor to hold"},
		{"far, and up by steps", shaped(stat.ShapeStepped, 80e3, 100e3), "kept it from the fall of plain at 1,000 records"},
		{"not far enough to tell", observed(900, 0), "can't be told"},
		{"postponed", observed(80_000, 20_000), "from 1,000 to 20,000 records, and did not cure it"},
		{"forward", observed(80_000, 200), "forward, from 1,000 to 200"},
		{"nothing", observed(80_000, 1_100), "did not move the fall"},
	} {
		found := findTuning(arms(c.tuned))
		if len(found) != 1 || !strings.Contains(found[0].Sentence, c.want) {
			t.Errorf("%s: %+v, want one finding with %q", c.name, found, c.want)
		}
	}
	run, s := arms(observed(80_000, 0))
	s.Tables[0].Rows[0].Trials = []Observation{observed(5_000, 0)}
	if found := findTuning(run, s); len(found) > 0 {
		t.Errorf("a store that did not fall at its defaults: %+v", found)
	}
}
