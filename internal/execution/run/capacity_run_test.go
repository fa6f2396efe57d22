package run

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"assay/internal/base/histogram"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/capacity"
	"assay/internal/experiment/plan"
)

// What each search comes to does not hang on how fast the machine is: one objective holds whatever the
// store does, one can't be kept.
func TestSearchForACapacity(t *testing.T) {
	t.Parallel()
	directory := filepath.Join(t.TempDir(), "run")
	text := `name: test
stores: [{driver: memory, worker: ` + own() + `}]
records: 1000
durability: D0
busy_machine: tell # no trial runs again
threads: 2
blocks: 1
phases:
  - {name: load, load: true}
  - {name: before, mix: {update: 1}, operations: 100}
  - {name: easy, mix: {read: 3, update: 1}, capacity: {objective: misses < 1%, from: 100, to: 200, step: 500ms, hold: 500ms}}
  - {name: never, mix: {read: 3, insert: 1}, capacity: {objective: [mean < 1ns], from: 100, to: 200, step: 500ms, hold: 500ms}}
  - {name: after, mix: {read: 1}, operations: 100}
`
	if _, err := runTextWith(t.Context(), text, directory, func(o *Options) { o.trials = nil }); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Faults) > 0 {
		t.Errorf("the run directory has faults: %v", run.Faults)
	}
	for id, trial := range run.Trials {
		if trial.State == record.Failed || len(trial.Phases) != 5 {
			t.Fatalf("%s: %s %s, %d phases", id, trial.State, trial.Error, len(trial.Phases))
		}
		// At a nanosecond the client's own delay may be what breaks it.
		for i, want := range map[int][]capacity.Outcome{2: {capacity.AtLeast}, 3: {capacity.Below, capacity.Client}} {
			checkSearch(t, id, &trial.Phases[i], run.Experiment.Phases[i].Capacity.Objectives, want...)
		}
		if f := trial.Final; trial.Plan.Role != plan.Ceiling && (f == nil || f.Lost+f.Stale+f.Wrong+f.Unknown > 0 ||
			f.Right == 0) {
			t.Errorf("%s: what the steps wrote is not proved: %+v", id, f)
		}
	}
}

// checkSearch holds a phase that searched against its steps.
func checkSearch(t *testing.T, id string, p *record.Phase, objectives []capacity.Objective, want ...capacity.Outcome) {
	t.Helper()
	if p.Capacity == nil || len(p.Capacity.Steps) < 2 || p.Capacity.Steps[0].Kind != capacity.Closed {
		t.Fatalf("%s, %s: not a search that begins with closed load: %+v", id, p.Name, p.Capacity)
	}
	f := p.Capacity.Fitted(objectives)
	if keepsUp := p.Capacity.Steps[len(p.Capacity.Steps)-1].Never == 0; !slices.Contains(want, f.Outcome) && keepsUp {
		t.Errorf("%s, %s: %s, expected %v", id, p.Name, f.Outcome, want)
	}
	var done, judged uint64
	for _, op := range p.Operations {
		done += op.Done()
	}
	at := -1.0
	for _, s := range p.Capacity.Steps {
		if s.AtS <= at && s.AtS > 0 {
			t.Errorf("%s, %s: a step at %v s begins before the one before", id, p.Name, s.AtS)
		}
		at = s.AtS
		if s.Response == nil || s.Seconds <= 0 || s.Kind != capacity.Closed && (s.Rate < 10 || s.Rate > 200) {
			t.Fatalf("%s, %s: %+v", id, p.Name, s)
		}
		// of a step as its last look found it: what ended while it looked may be in it or not
		judged += s.Response.Count()
	}
	if p.Attempted != done || judged > done || judged == 0 {
		t.Errorf("%s, %s: %d attempted, %d done, %d judged", id, p.Name, p.Attempted, done, judged)
	}
}

// A step that ended before anybody looked at its judged part is judged as a whole, with what never began.
func TestUnwatchedStepIsJudged(t *testing.T) {
	response := histogram.New()
	for range 90 {
		response.Record(1_000_000)
	}
	p := &record.Phase{ElapsedNS: 250_000_000, Attempted: 92, Unfinished: 2, NotBegun: 8, Late: []uint64{3}, Open: true,
		Operations: []record.Operation{{Name: "read", OK: 60, Response: response}, {Name: "update", OK: 30, Response: response}}}
	step := capacity.Step{Kind: capacity.Edge, Rate: 400, Length: 250 * time.Millisecond}
	saw := stepOf(step, p)
	if saw.Response == nil || saw.Response.Count() != 180 || saw.Due != 100 || saw.Never != 10 || len(saw.Late) != 1 {
		t.Errorf("%+v", saw)
	}
	looked := histogram.New()
	for range 7 {
		looked.Record(2_000_000)
	}
	p.Intervals = []record.Interval{{Stretch: experiment.CapacityJudged, Asked: 7, Response: looked}}
	if saw := stepOf(step, p); saw.Response.Count() != 7 || saw.Due != 7 || saw.Never != 0 {
		t.Errorf("of a part that was looked at: %+v", saw)
	}
	p.Intervals, p.Operations = nil, nil
	if saw := stepOf(step, p); saw.Response != nil {
		t.Errorf("of a step without operations: %+v", saw)
	}
}
