package audit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/evidence/counters"
)

// hide lets some threads of the last phase tell less than they did, as agents that were lost.
func (w *world) hide(t *rapid.T) (unheard []bool) {
	p := &w.phases[len(w.phases)-1]
	p.Attempted, p.Acknowledged = slices.Clone(p.Attempted), slices.Clone(p.Acknowledged)
	unheard = make([]bool, len(p.Attempted))
	for i := range unheard {
		if unheard[i] = rapid.Bool().Draw(t, "unheard"); !unheard[i] {
			continue
		}
		last := rapid.Uint64Range(0, p.Acknowledged[i]).Draw(t, "last heard")
		// No batch is acknowledged in part.
		for entries := &p.Trace.Threads[i]; last > 0 && last < p.Acknowledged[i]; last-- {
			if e, _ := entries.EntryAt(last); !e.IsMember() {
				break
			}
		}
		p.Attempted[i], p.Acknowledged[i] = last, last
	}
	return unheard
}

// A store that did nothing wrong is accused where copies of counters are taken for all that was done, and
// never where they are taken for the least.
//
// Fault (agents): what an agent did last was not heard, as it or its worker was lost
// Assay: the trial says how many operations it did at least and at most; it accuses no store, and
// runs again
// With: audit.TestWritesOfTheLastCountersMustBeFound, run.TestWorkerOfAnAgentThatIsKilled,
// run.TestAgentThatIsCutOff
func TestUnheardWritesAccuseNoStore(t *testing.T) {
	falsely := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, rapid.Bool().Draw(t, "may fail"))
		indexes := w.indexes()
		observed := w.observe(indexes)
		last := &w.phases[len(w.phases)-1]
		unheard := w.hide(t)
		check := func() Counts {
			counts, err := Expect(w.phases, indexes).Check(observed)
			if err != nil {
				t.Fatal(err)
			}
			return counts
		}
		copied := check()
		falsely += copied.Lost + copied.Stale + copied.Wrong
		last.Unheard(unheard)
		if counts := check(); counts.Lost+counts.Stale+counts.Wrong != 0 {
			t.Fatalf("a store that did nothing wrong was flagged: %+v", counts)
		}
		if _, known := Live(w.phases); known && slices.Contains(unheard, true) && last.hasUnheard() {
			t.Fatal("how many records there are is known, though not all was heard")
		}
	})
	if falsely == 0 {
		t.Error("no copy of counters accused a store: nothing was tested")
	}
}

// What was acknowledged before the last counters is owed anyway.
func TestWritesOfTheLastCountersMustBeFound(t *testing.T) {
	owed := uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, false)
		indexes := w.indexes()
		last := &w.phases[len(w.phases)-1]
		last.Unheard(w.hide(t))
		missing := make([]uint64, len(indexes))
		for i := range missing {
			missing[i] = counters.ObservedMiss
		}
		counts, err := Expect(w.phases, indexes).Check(missing)
		if err != nil {
			t.Fatal(err)
		}
		owed += counts.Lost
	})
	if owed == 0 {
		t.Error("nothing is ever lost beside threads that were not heard")
	}
}
