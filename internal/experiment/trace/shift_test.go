package trace

import (
	"testing"
	"time"
)

// Each shift is a bijection, moves the records of one part and no others, and after as many as there are
// parts every record has moved once.
func TestShiftsMoveAPartOfTheRecords(t *testing.T) {
	for _, records := range []uint64{20, 23, 100, 1009} {
		for _, parts := range []uint64{1, 2, 3, 10} {
			s := Shift{Every: time.Second, Parts: parts}
			for shifts := range uint64(3 * parts) {
				taken := make([]bool, records)
				moved := uint64(0)
				for index := range records {
					now, next := s.moved(index, shifts, records), s.moved(index, shifts+1, records)
					if taken[now] {
						t.Fatalf("%d records, one in %d: two have the place of %d after %d shifts", records, parts, now, shifts)
					}
					taken[now] = true
					if now != next {
						moved++
						if index%parts != shifts%parts {
							t.Fatalf("%d records, one in %d: shift %d moves index %d", records, parts, shifts+1, index)
						}
					}
					if shifts == 0 && now != index {
						t.Fatalf("before the first shift, %d stands for %d", now, index)
					}
				}
				if part := records / parts; moved < part || moved > part+1 {
					t.Errorf("%d records, one in %d: shift %d moves %d", records, parts, shifts+1, moved)
				}
			}
		}
	}
}

// A trace's hottest record is another one in each second in which it has moved; the rate is as asked.
func TestHotSetMoves(t *testing.T) {
	s := Spec{Mix: []Share{{Read, 1}}, Records: 1000, Fresh: 1000, Threads: 2, Seed: 3, Rate: 5000,
		Order:    Order{Distribution: Zipfian, Theta: 1.2, Shift: Shift{Every: time.Second, Parts: 1}},
		Segments: []Segment{{Form: FormStep, To: 5000, Duration: 4 * time.Second}}}
	f := generate(t, s)
	counts := make([]map[uint64]int, 4)
	for i := range counts {
		counts[i] = map[uint64]int{}
	}
	for _, thread := range f.Threads {
		for p, e := range thread.Entries {
			counts[thread.Due[p]/1e9][e.Index()]++
		}
	}
	seen := map[uint64]bool{}
	for second, count := range counts {
		var hottest uint64
		all := 0
		for index, n := range count {
			if all += n; n > count[hottest] {
				hottest = index
			}
		}
		if all != 5000 || seen[hottest] {
			t.Errorf("second %d: %d operations, the hottest record is %d", second, all, hottest)
		}
		seen[hottest] = true
	}
	s.Order.Shift = Shift{}
	still := generate(t, s)
	for i, thread := range still.Threads {
		for p, e := range thread.Entries {
			if due := f.Threads[i].Due[p]; due != thread.Due[p] || due < 1e9 && e != f.Threads[i].Entries[p] {
				t.Fatalf("thread %d, entry %d: before the first shift the trace is another", i, p)
			}
		}
	}
}
