package storetest

import (
	"testing"

	"pgregory.net/rapid"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// simulated is a phase of a store that refuses some writes, and what it holds afterwards.
type simulated struct {
	*ran
	holds map[uint64]uint64 // index → the word that a read observes
	done  []written
	left  []written // refused
}

type written struct {
	thread   int
	sequence uint64
	index    uint64
}

// simulate does a script's writes, threads one after the other, each on indexes of its own.
func simulate(t *rapid.T, s *script) *simulated {
	file, err := s.file()
	if err != nil {
		t.Fatal(err)
	}
	now := &simulated{ran: &ran{script: s, number: 1, file: file}, holds: map[uint64]uint64{}}
	for thread := range file.Threads {
		n := uint64(len(file.Threads[thread].Entries))
		now.sample.Acknowledged = append(now.sample.Acknowledged, n)
		outcomes := map[trace.Operation][counters.Outcomes]uint64{}
		for sequence := range n {
			e, index := file.Threads[thread].EntryAt(sequence)
			o, word := e.Operation(), now.version(thread, sequence)
			if file.Amounts[e.SizeClass()] < keyval.StampBytes {
				word = counters.ObservedShort
			}
			there, known := now.holds[index]
			if !known {
				there = counters.ObservedMiss
			}
			outcome := counters.OK
			switch {
			case o == trace.ReadModifyWrite && there == counters.ObservedMiss:
				outcome = counters.Miss
			case rapid.IntRange(0, 3).Draw(t, "refused") == 0:
				outcome = counters.Conflict
				now.left = append(now.left, written{thread, sequence, index})
			default:
				if o == trace.Delete {
					word = counters.ObservedMiss
				}
				now.holds[index] = word
				now.done = append(now.done, written{thread, sequence, index})
			}
			counts := outcomes[o]
			counts[outcome]++
			outcomes[o] = counts
		}
		now.outcomesOf = append(now.outcomesOf, outcomes)
	}
	return now
}

// judge holds what the store holds against what was counted.
func (s *simulated) judge() []string {
	b := &bench{kit: &kit{}, description: store.Description{WriteConflicts: true}}
	m, told := model{}, newLedger()
	m.remember(s.ran)
	for _, index := range m.indexes() {
		word, known := s.holds[index]
		if !known {
			word = counters.ObservedMiss
		}
		expected := m[index]
		if _, possible := told.stands(&expected, word); !possible {
			b.fault("index %d holds %s, expected %s", index, observedText(word), expected.text())
		}
	}
	told.audit(b, "simulated")
	return b.faults
}

// An honest store is never blamed, whatever it refuses.
func TestRefusedWritesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &script{threads: make([]trace.Thread, rapid.IntRange(1, 3).Draw(t, "threads"))}
		for thread := range s.threads {
			for range rapid.IntRange(1, 25).Draw(t, "entries") {
				o := rapid.SampledFrom([]trace.Operation{trace.Insert, trace.Update, trace.Upsert, trace.ReadModifyWrite, trace.Delete}).Draw(t, "operation")
				index := uint64(thread*100 + rapid.IntRange(0, 5).Draw(t, "index"))
				s.do(thread, o, index, rapid.SampledFrom([]int{10, 24, 100}).Draw(t, "length"))
			}
		}
		if faults := simulate(t, s).judge(); len(faults) > 0 {
			t.Fatal(faults)
		}
	})
}

// Where each record is written once, a single refusal that was done, or a single write that was
// lost, is seen.
func TestOneFalseRefusalIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &script{threads: make([]trace.Thread, rapid.IntRange(1, 3).Draw(t, "threads"))}
		for thread := range s.threads {
			for i := range rapid.IntRange(1, 20).Draw(t, "entries") {
				s.do(thread, trace.Insert, uint64(thread*100+i), 100)
			}
		}
		honest := simulate(t, s)
		if len(honest.left) == 0 || len(honest.done) == 0 {
			return // no conflicts: the model has one answer for each key
		}
		if rapid.Bool().Draw(t, "does what it refuses") {
			w := rapid.SampledFrom(honest.left).Draw(t, "write")
			honest.holds[w.index] = honest.version(w.thread, w.sequence)
		} else {
			delete(honest.holds, rapid.SampledFrom(honest.done).Draw(t, "write").index)
		}
		if len(honest.judge()) == 0 {
			t.Fatal("nothing was said of it")
		}
	})
}

// What a claim of conflicts excuses is conflicts, and misses of what was refused: no more of them
// than that can be.
func TestConflictClaimExcusesConflictsOnly(t *testing.T) {
	type counts = map[counters.Outcome]uint64
	for _, c := range []struct {
		what         string
		reads, puts  counts
		claims, want bool
	}{
		{"all ok", counts{counters.OK: 4}, counts{counters.OK: 2}, true, true},
		{"conflicts", counts{counters.OK: 3, counters.Conflict: 1}, counts{counters.OK: 1, counters.Conflict: 1}, true, true},
		{"conflicts without the claim", counts{counters.OK: 4}, counts{counters.OK: 1, counters.Conflict: 1}, false, false},
		{"misses of what was refused", counts{counters.OK: 2, counters.Miss: 2}, counts{counters.OK: 1, counters.Conflict: 1}, true, true},
		{"more misses than were refused", counts{counters.OK: 1, counters.Miss: 3}, counts{counters.OK: 1, counters.Conflict: 1}, true, false},
		{"misses, and nothing was refused", counts{counters.OK: 3, counters.Miss: 1}, counts{counters.OK: 2}, true, false},
		{"wrong values", counts{counters.OK: 3, counters.Wrong: 1}, counts{counters.OK: 1, counters.Conflict: 1}, true, false},
		{"errors", counts{counters.OK: 4}, counts{counters.Conflict: 1, counters.Error: 1}, true, false},
		{"a put that missed", counts{counters.OK: 4}, counts{counters.Conflict: 1, counters.Miss: 1}, true, false},
	} {
		s := &script{threads: make([]trace.Thread, 1)}
		for index := range uint64(2) {
			s.do(0, trace.Upsert, index, 100)
			s.do(0, trace.Read, index, 0)
			s.do(0, trace.Read, index, 0)
		}
		file, err := s.file()
		if err != nil {
			t.Fatal(err)
		}
		r := &ran{script: s, number: 1, file: file, outcomesOf: []map[trace.Operation][counters.Outcomes]uint64{{}}}
		r.sample.Acknowledged = []uint64{6}
		for o, given := range map[trace.Operation]counts{trace.Read: c.reads, trace.Upsert: c.puts} {
			total := counters.Total{Operation: o}
			for outcome, n := range given {
				total.Outcomes[outcome] = n
			}
			r.sample.Totals = append(r.sample.Totals, total)
			r.outcomesOf[0][o] = total.Outcomes
		}
		b := &bench{kit: &kit{}, description: store.Description{WriteConflicts: c.claims}}
		b.allDone(r, c.what)
		if fine := len(b.faults) == 0; fine != c.want {
			t.Errorf("%s: %q", c.what, b.faults)
		}
	}
}
