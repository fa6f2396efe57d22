package verdict

import (
	"testing"

	"assay/internal/analysis/model"
	"assay/internal/base/finding"
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
)

// sampledAs plants a history in each of elm's puts.
func sampledAs(run *record.Run, change func(h *record.History)) {
	for _, e := range trials(run, "elm") {
		h := &record.History{Sample: 256, Records: 60_000, Consistency: history.Consistency{Keys: 256, Reads: 40_000, Writes: 20_000, Covered: 4_000}}
		change(h)
		phaseOf(e, "put").History = h
	}
}

// promisingNoMore makes of elm a store whose reads may tell an older state.
func promisingNoMore(run *record.Run) {
	for _, e := range trials(run, "elm") {
		phaseOf(e, "put").Eventual = true
	}
}

func TestConsistency(t *testing.T) {
	place := finding.Params{"arm": "elm", "place": "put (D1)"}
	expect(t, cleanRun, []planted{
		{"nothing wrong", func(run *record.Run) { sampledAs(run, func(*record.History) {}) },
			[]finding.Code{finding.FindChecked}, finding.Params{"keys": 256, "covered": 20_000, "writes": 100_000, "found4": 0.8647, "found5": 0.1813, "found6": 0.0198}},
		{"no history", func(*record.Run) {}, nil, nil},
		{"stale reads", func(run *record.Run) {
			sampledAs(run, func(h *record.History) { h.Stale, h.LateP50NS, h.LateMaxNS = 7, 5e7, 1e8 })
		}, []finding.Code{finding.FaultStale, finding.FindChecked}, place},
		{"stale reads of a store that promises no more", func(run *record.Run) {
			sampledAs(run, func(h *record.History) { h.Stale, h.LateP50NS, h.LateMaxNS = 7, 5e7, 1e8 })
			promisingNoMore(run)
		}, []finding.Code{finding.FindEventual, finding.FindChecked}, finding.Params{"arm": "elm", "count": 35, "of": 200_000, "late_max_ns": 1e8}},
		{"reads that missed what was stored, of a store that promises no more", func(run *record.Run) {
			for _, e := range trials(run, "elm") {
				o := &phaseOf(e, "put").Operations[0]
				o.OK, o.Lost = o.OK-2, 2
			}
			promisingNoMore(run)
		}, []finding.Code{finding.FindMissed}, finding.Params{"arm": "elm", "count": 10}},
		{"failed writes that were read", func(run *record.Run) { sampledAs(run, func(h *record.History) { h.FailedReads = 1 }) },
			[]finding.Code{finding.FindFailedRead, finding.FindChecked}, finding.Params{"count": 5}},
		{"timeouts that came later", func(run *record.Run) { sampledAs(run, func(h *record.History) { h.CameLater = 2 }) },
			[]finding.Code{finding.FindCameLater, finding.FindChecked}, finding.Params{"count": 10}},
	})
}

// What only an eventual store may show keeps its rank; the same of another store takes it.
func TestConsistency_and_ranks(t *testing.T) {
	for _, eventual := range []bool{true, false} {
		run := cleanRun()
		sampledAs(run, func(h *record.History) { h.Stale = 7 })
		if eventual {
			promisingNoMore(run)
		}
		if got := rowOf(t, resultOf(t, run), "put", "elm").Standing == model.Ranked; got != eventual {
			t.Errorf("eventual %v: ranked %v", eventual, got)
		}
	}
}

// Shares are of everything that the phase did, whatever the sample saw.
func TestConsistency_shares(t *testing.T) {
	run := cleanRun()
	sampledAs(run, func(*record.History) {})
	var writes uint64
	for _, e := range trials(run, "elm") {
		writes += phaseOf(e, "put").Operations[0].OK
	}
	f := find(resultOf(t, run), finding.FindChecked)
	if got, want := f.Params["write_share"].(float64), 20_000/float64(writes); got < want*0.99 || got > want*1.01 {
		t.Errorf("share of writes %v, want %v", got, want)
	}
}
