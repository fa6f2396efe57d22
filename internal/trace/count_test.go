package trace

import "testing"

func TestIndexEndLiesAboveEverythingThatWasReached(t *testing.T) {
	f, err := Generate(Spec{Mix: []Share{{Insert, 1}, {Read, 1}}, Records: 100, Fresh: 250, Order: Order{Distribution: "uniform"},
		Sizes: []Size{{Bytes: 10, Weight: 1}}, Threads: 3, ThreadEntries: 50, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, attempted := range [][]uint64{{0, 0, 0}, {1, 0, 0}, {50, 49, 51}, {1000, 3, 0}, {120, 777, 999}} {
		end, highest := f.IndexEnd(attempted), uint64(0)
		for i := range f.Threads {
			for sequence := range attempted[i] {
				_, index := f.Threads[i].EntryAt(sequence)
				highest = max(highest, index+1)
			}
		}
		if end < highest {
			t.Errorf("after %v entries the end is %d, but index %d was reached", attempted, end, highest-1)
		}
	}
}
