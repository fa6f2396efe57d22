package detect_test

import (
	"strings"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/history"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
	"assay/internal/testkit/resulttest"
)

// sampledAs plants a history in each of elm's puts.
func sampledAs(run *record.Run, change func(h *record.History)) {
	for _, e := range resulttest.Trials(run, "elm") {
		h := &record.History{Sample: 256, Records: 60_000, Consistency: history.Consistency{Keys: 256,
			Reads: 40_000, Writes: 20_000, Covered: 4_000}}
		change(h)
		resulttest.PhaseOf(e, "put").History = h
	}
}

// promisingNoMore makes of elm a store whose reads may tell an older state.
func promisingNoMore(run *record.Run) {
	for _, e := range resulttest.Trials(run, "elm") {
		resulttest.PhaseOf(e, "put").Eventual = true
	}
}

// Fault (values): a store that promises no more returns old values
// Assay: `weak-consistency` (`stale`), with how late; ranked in a table of its own, whose title
// says "reads may be old"
// With: detect.TestConsistency_and_ranks
//
// Fault (values): a store that promises no more does not find what was stored, and finds it later
// Assay: `weak-consistency` (`missed`); the rank stays, unless reading back misses it too
// With: record.TestEventualStoreIsNotMarkedForOldReads
func TestConsistency(t *testing.T) {
	place := finding.Params{"arm": "elm", "place": "put (D1)"}
	expect(t, resulttest.CleanRun, []planted{
		{"nothing wrong", func(run *record.Run) { sampledAs(run, func(*record.History) {}) }, nil, nil},
		{"no history", func(*record.Run) {}, nil, nil},
		{"stale reads", func(run *record.Run) {
			sampledAs(run, func(h *record.History) { h.Stale, h.LateP50NS, h.LateMaxNS = 7, 5e7, 1e8 })
		}, []finding.Code{finding.FaultStale}, place},
		{"stale reads of a store that promises no more", func(run *record.Run) {
			sampledAs(run, func(h *record.History) { h.Stale, h.LateP50NS, h.LateMaxNS = 7, 5e7, 1e8 })
			promisingNoMore(run)
		}, []finding.Code{finding.FindEventual}, finding.Params{"arm": "elm", "count": 35, "of": 200_000, "late_max_ns": 1e8}},
		{"reads that missed what was stored, of a store that promises no more", func(run *record.Run) {
			for _, e := range resulttest.Trials(run, "elm") {
				o := &resulttest.PhaseOf(e, "put").Operations[0]
				o.OK, o.Lost = o.OK-2, 2
			}
			promisingNoMore(run)
		}, []finding.Code{finding.FindMissed}, finding.Params{"arm": "elm", "count": 10}},
		{"failed writes that were read", func(run *record.Run) { sampledAs(run, func(h *record.History) { h.FailedReads = 1 }) },
			[]finding.Code{finding.FindFailedRead}, finding.Params{"count": 5}},
		{"timeouts that came later", func(run *record.Run) { sampledAs(run, func(h *record.History) { h.CameLater = 2 }) },
			[]finding.Code{finding.FindCameLater}, finding.Params{"count": 10}},
	})
}

// What only an eventual store may show keeps its rank; the same of another store takes it.
func TestConsistency_and_ranks(t *testing.T) {
	for _, eventual := range []bool{true, false} {
		run := resulttest.CleanRun()
		sampledAs(run, func(h *record.History) { h.Stale = 7 })
		if eventual {
			promisingNoMore(run)
		}
		result := resulttest.ResultOf(t, run)
		if got := resulttest.RowOf(t, result, "put", "elm").Standing == model.Ranked; got != eventual {
			t.Errorf("eventual %v: ranked %v", eventual, got)
		}
		for _, table := range result.Tables {
			weaker := strings.HasSuffix(table.Title, "; reads may be old")
			if row := resulttest.RowIn(&table, "elm"); weaker != (row != nil && eventual && table.Phase == "put") ||
				weaker && (resulttest.RowIn(&table, "ash") != nil || row.OldReads == nil) {
				t.Errorf("eventual %v: the table %q has %+v", eventual, table.Title, row)
			}
		}
	}
}
