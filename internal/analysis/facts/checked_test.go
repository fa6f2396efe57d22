package facts_test

import (
	"math"
	"testing"
	"time"

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
		math.Abs(c.Found6-0.0198) > 1e-3 || math.Abs(c.WriteShare*float64(writes)/20_000-1) > 0.01 || c.TimeShare == nil {
		t.Errorf("checked %+v", c)
	}
	if m := r.Milestones; m == nil || m.Every != 1000 || m.Threads != 10 || m.LastS != 2.5 || m.LastMinS != 2 || m.LastMaxS != 3 {
		t.Errorf("milestones %+v", m)
	}
	if r.StartsApartNS == nil || *r.StartsApartNS != 3e6 {
		t.Errorf("starts %v", r.StartsApartNS)
	}
	if clean := resulttest.RowOf(t, resulttest.ResultOf(t, resulttest.CleanRun()), "put", "elm"); clean.Checked != nil || clean.Milestones != nil || clean.StartsApartNS != nil {
		t.Errorf("a run without them has %+v", clean.Figures)
	}
}
