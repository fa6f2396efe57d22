package facts_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
	"assay/internal/testkit/resulttest"
)

// What was checked, milestones and the starts of processes are figures of a row; shares are of
// everything that the phase did, whatever the sample saw.
func TestRow_says_what_was_checked_and_when_threads_came_to_their_milestones(t *testing.T) {
	run := resulttest.CleanRun()
	var writes uint64
	for _, e := range resulttest.Trials(run, "elm") {
		p := resulttest.PhaseOf(e, "put")
		writes += p.Operations[0].OK
		p.History = &record.History{Sample: 256, Records: 60_000,
			Consistency: history.Consistency{Keys: 256, Reads: 40_000, Writes: 20_000, Covered: 4_000}}
		p.Processes, p.StartSpreadNS = 20, int64(3*time.Millisecond)
		p.Milestones = &record.Milestones{Every: 1000, Seconds: [][]float64{{1, 2, 5}, {1, 3}, {2}, nil}}
	}
	r := resulttest.RowOf(t, resulttest.ResultOf(t, run), "put", "elm")
	if c := r.Checked; c == nil || c.Keys != 256 || c.Covered != 20_000 || math.Abs(c.Found4-0.8647) > 1e-3 ||
		math.Abs(c.Found6-0.0198) > 1e-3 || math.Abs(c.WriteShare*float64(writes)/20_000-1) > 0.01 ||
		c.TimeShare == nil {
		t.Errorf("checked %+v", c)
	}
	if m := r.Milestones; m == nil || m.Every != 1000 || m.Threads != 10 || m.LastS != 2.5 || m.LastMinS != 2 ||
		m.LastMaxS != 3 {
		t.Errorf("milestones %+v", m)
	}
	if r.StartsApartNS == nil || *r.StartsApartNS != 3e6 {
		t.Errorf("starts %v", r.StartsApartNS)
	}
	if clean := resulttest.RowOf(t, resulttest.ResultOf(t, resulttest.CleanRun()), "put", "elm"); clean.Checked != nil || clean.Milestones != nil || clean.StartsApartNS != nil {
		t.Errorf("a run without them has %+v", clean.Figures)
	}
}

// Each task has the time of each so many operations, and no more of them than a curve can show.
func TestTaskTimesOf(t *testing.T) {
	p := &record.Phase{BeganNS: 5e8, Milestones: &record.Milestones{Every: 1000, Seconds: [][]float64{{1, 2, 5},
		{1.5}, nil}}}
	got := facts.TaskTimesOf(p)
	if got == nil || got.Every != 1000 || !reflect.DeepEqual(got.Tasks, [][]float64{{0.5, 1, 3}, {1}, {}}) {
		t.Errorf("task times %+v", got)
	}
	long := make([]float64, 600)
	for i := range long {
		long[i] = float64(i + 1)
	}
	p = &record.Phase{Milestones: &record.Milestones{Every: 10, Seconds: [][]float64{long}}}
	if got := facts.TaskTimesOf(p); got == nil || got.Every != 30 || len(got.Tasks[0]) != 200 || got.Tasks[0][7] != 3 {
		t.Errorf("of many: %+v", got)
	}
	for name, p := range map[string]*record.Phase{"no phase": nil, "not asked": {}, "one each": {Milestones: &record.Milestones{Every: 1, Seconds: [][]float64{{1}, {2}}}}} {
		if got := facts.TaskTimesOf(p); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
