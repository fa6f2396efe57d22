package record

import (
	"slices"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/history"
)

// A store that promises less than order may answer with what was, but not with what was never
// written.
func TestEventualStoreIsNotMarkedForOldReads(t *testing.T) {
	found := history.Consistency{Reads: 1000, Stale: 5, Vanished: 1, Unordered: 2, LostUpdates: 3, Ghosts: 4}
	always := []finding.Code{finding.MarkLostUpdates, finding.MarkGhosts}
	ordered := []finding.Code{finding.MarkLost, finding.MarkStaleReads, finding.MarkVanished, finding.MarkUnordered}
	for _, eventual := range []bool{false, true} {
		p := Phase{Name: "mixed", Eventual: eventual, Operations: []Operation{{OK: 90, Lost: 1}}, History: &History{Consistency: found}}
		var codes []finding.Code
		for _, m := range p.Marks() {
			codes = append(codes, m.Code)
		}
		for _, code := range always {
			if !slices.Contains(codes, code) {
				t.Errorf("eventual %v: %s is no mark", eventual, code)
			}
		}
		for _, code := range ordered {
			if slices.Contains(codes, code) == eventual {
				t.Errorf("eventual %v: marks are %v", eventual, codes)
			}
		}
	}
}

// Swaps that are gone were seen to succeed on a version that was gone: they are counted once.
func TestLostSwapsAreMarkedOnce(t *testing.T) {
	for _, c := range []struct {
		seen, gone uint64
		want       finding.Code
	}{{64, 64, finding.MarkAtomicLost}, {0, 64, finding.MarkAtomicLost}, {64, 3, finding.MarkLostUpdates}, {64, 0, finding.MarkLostUpdates}, {0, 0, ""}} {
		p := Phase{Name: "swap", Attempted: 90, Operations: []Operation{{OK: 90}}, History: &History{
			Consistency: history.Consistency{Reads: 1000, LostUpdates: c.seen},
			Updates:     &history.Updates{Atomic: history.Fate{Done: 1000, Lost: c.gone}},
		}}
		marks := p.Marks()
		if len(marks) > 1 || len(marks) == 1 && marks[0].Code != c.want || len(marks) == 0 && c.want != "" {
			t.Errorf("%d seen, %d gone: %v", c.seen, c.gone, marks)
		}
	}
}

// The mark of a stopped phase says so, and not that its last operations had no outcome.
func TestInterruptedPhaseIsNotMarkedUnfinished(t *testing.T) {
	for _, ending := range []Ending{EndedDuration, EndedInterrupted} {
		p := Phase{Name: "load", EndedBy: ending, Attempted: 10, Unfinished: 1, Operations: []Operation{{OK: 9}}}
		if marks := p.Marks(); (len(marks) == 0) != (ending == EndedInterrupted) {
			t.Errorf("%s: %v", ending, marks)
		}
	}
}

// A thread that was stopped from outside has one operation whose answer came too late for it. More is of
// the store.
func TestMarks_timeouts_of_stopped_threads(t *testing.T) {
	for _, c := range []struct {
		timeouts uint64
		stops    []Stop
		failed   uint64
	}{
		{timeouts: 2, failed: 2},
		{timeouts: 2, stops: []Stop{{Why: "signal", Seconds: 2}}},
		{timeouts: 5, stops: []Stop{{Why: "signal", Seconds: 2}, {Why: "signal", Seconds: 2}}, failed: 1},
	} {
		p := Phase{Name: "p", Threads: 2, Stops: c.stops, Attempted: c.timeouts}
		p.Operations = []Operation{{Name: "read", Timeout: c.timeouts}}
		var failed uint64
		for _, m := range p.Marks() {
			if m.Code == finding.MarkFailed {
				failed, _ = m.Params["count"].(uint64)
			}
		}
		if failed != c.failed {
			t.Errorf("%d timeouts, %d stops: %d are marked, expected %d", c.timeouts, len(c.stops), failed, c.failed)
		}
	}
}
