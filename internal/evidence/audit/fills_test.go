package audit

import (
	"testing"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// Fills are at once where their times overlap, and only those of one key.
func TestFillsAtOnce(t *testing.T) {
	fill := func(index uint64, begin, end int64) HistoryEvent {
		return HistoryEvent{Index: index, BeginNS: begin, EndNS: end, Fill: true}
	}
	h := &History{Events: []HistoryEvent{
		fill(1, 0, 10), fill(1, 5, 15), fill(1, 9, 20), fill(1, 20, 30), // three at once, then one alone
		fill(2, 0, 40), fill(2, 40, 50), {Index: 2, BeginNS: 1, EndNS: 39},
	}}
	if got := *h.Fills(); got != (Fills{Fills: 6, Beside: 2, Most: 3}) {
		t.Errorf("%+v", got)
	}
	if got := (&History{Events: []HistoryEvent{{Index: 1}}}).Fills(); got != nil {
		t.Errorf("%+v where nothing was filled", got)
	}
}

// A read that fills is a read where it found a value, and otherwise the put of its version.
func TestReadsThatFillAreReadsOrPuts(t *testing.T) {
	const version = 77
	for _, c := range []struct {
		read      uint64
		outcome   counters.Outcome
		operation trace.Operation
		written   uint64
		now       counters.Outcome
	}{
		{5, counters.OK, trace.Read, NothingWritten, counters.OK},
		{counters.ObservedMiss, counters.Miss, trace.Upsert, version, counters.OK},
		{counters.ObservedMiss, counters.Lost, trace.Upsert, version, counters.OK},
		{counters.ObservedMiss, counters.Timeout, trace.Upsert, version, counters.Timeout}, // it may have been put
		{counters.ObservedError, counters.Error, trace.Read, NothingWritten, counters.Error},
	} {
		e := HistoryEvent{Operation: trace.ReadOrFill, Read: c.read, Outcome: c.outcome,
			Written: NothingWritten}.parted(version)
		if e.Operation != c.operation || e.Written != c.written || e.Outcome != c.now ||
			e.Fill != (c.operation == trace.Upsert) {
			t.Errorf("read %d, %s: %+v", c.read, c.outcome, e)
		}
	}
}

// What reads put where they find nothing is certain only if all of them did.
func TestFillsAreInDoubt(t *testing.T) {
	all, some := [counters.Outcomes]uint64{counters.Miss: 5}, [counters.Outcomes]uint64{counters.Miss: 5,
		counters.OK: 1}
	if inDoubt(trace.ReadOrFill, &all) || !inDoubt(trace.ReadOrFill, &some) {
		t.Error("a hit puts nothing, and a miss does")
	}
}
