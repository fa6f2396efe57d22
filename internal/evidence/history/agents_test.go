package history

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// An honest register, seen through two clocks that are wrong by up to an error, is not accused, whatever
// the error is; and a read that is stale by more than four times the error and the slack is found.
func TestClocksThatAreWrong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		errorNS := rapid.Int64Range(0, 50_000).Draw(t, "error")
		wrong := [2]int64{rapid.Int64Range(-errorNS, errorNS).Draw(t, "first clock"), rapid.Int64Range(-errorNS, errorNS).Draw(t, "second clock")}
		stale := rapid.Bool().Draw(t, "stale")
		h := &audit.History{Number: 1, UntilNS: []int64{math.MaxInt64, math.MaxInt64}}
		now, held, replaced := int64(1000), uint64(0), uint64(0)
		add := func(thread int, e audit.HistoryEvent, took int64) {
			e.Thread, e.BeginNS, e.EndNS, e.Outcome = thread, now+wrong[thread], now+took+wrong[thread], counters.OK
			h.Events = append(h.Events, e)
			now += took
		}
		for i := range uint64(rapid.IntRange(2, 30).Draw(t, "operations")) {
			thread := rapid.IntRange(0, 1).Draw(t, "thread")
			if i == 0 || rapid.Bool().Draw(t, "writes") {
				held = keyval.Version(1, thread, i)
				add(thread, audit.HistoryEvent{Operation: trace.Update, Sequence: i, Read: audit.NothingRead, Written: held}, rapid.Int64Range(1, 5000).Draw(t, "took"))
			} else {
				add(thread, audit.HistoryEvent{Operation: trace.Read, Sequence: i, Read: held, Written: audit.NothingWritten}, rapid.Int64Range(1, 5000).Draw(t, "took"))
			}
		}
		if stale {
			for i := range uint64(2) {
				now += 4*errorNS + 2*slackNS
				replaced, held = held, keyval.Version(1, int(i), 900+i)
				add(int(i), audit.HistoryEvent{Operation: trace.Update, Sequence: 900 + i, Read: audit.NothingRead, Written: held}, 100)
			}
			now += 4*errorNS + 2*slackNS
			add(1, audit.HistoryEvent{Operation: trace.Read, Sequence: 1000, Read: replaced, Written: audit.NothingWritten}, 100)
		}
		for thread := range 2 {
			h.Widen(thread, 1, 0, errorNS)
		}
		if c := Check(h); (c.Broken() > 0) != stale || h.ErrorNS != errorNS {
			t.Fatalf("stale %v: %+v", stale, *c)
		}
	})
}
