package trace

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestIndexEndLiesAboveEverythingThatWasReached(t *testing.T) {
	f, err := Generate(Spec{Mix: []Share{{Insert, 1}, {Read, 1}}, Records: 100, Fresh: 250, Order: Order{Distribution: "uniform"},
		Sizes: []Size{{Bytes: 10, Weight: 1}}, Threads: 3, ThreadEntries: 50, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, attempted := range [][]uint64{{0, 0, 0}, {1, 0, 0}, {50, 49, 51}, {7, 49, 20}, {1000, 3, 0},
		{120, 777, 999}} {
		end, reached, highest := f.IndexEnd(attempted), f.IndexesReached(attempted), uint64(0)
		at := map[uint64]bool{}
		for i := range f.Threads {
			for sequence := range attempted[i] {
				_, index := f.Threads[i].EntryAt(sequence)
				at[index], highest = true, max(highest, index+1)
			}
		}
		for k := range reached.Count() {
			delete(at, reached.At(k))
		}
		if len(at) > 0 || reached.End() > end {
			t.Errorf("after %v entries Reached has %v, but %v were reached, too, and the end is %d", attempted, reached, at, end)
		}
		if slices.Max(attempted) < 50 && (reached.End() != highest || reached.Count() > 100+highest-min(highest, 250)) {
			t.Errorf("after %v entries, all in the first lap, Reached has %v, but those below %d were reached", attempted, reached, highest)
		}
		if end < highest {
			t.Errorf("after %v entries the end is %d, but index %d was reached", attempted, end, highest-1)
		}
	}
}

func TestSpansAreASetOfIndexes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		want, spans := map[uint64]bool{}, Spans(nil)
		for range r.IntN(6) {
			s := Span{From: r.Uint64N(60), Below: r.Uint64N(60)}
			for index := s.From; index < s.Below; index++ {
				want[index] = true
			}
			spans = spans.With(s)
		}
		var got []uint64
		for k := range spans.Count() {
			got = append(got, spans.At(k))
		}
		if want := slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) || len(want) > 0 &&
			spans.End() != want[len(want)-1]+1 {
			t.Errorf("%v are %v, and should be %v", spans, got, want)
		}
	}
}
