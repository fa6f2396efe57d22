package run

import (
	"testing"

	"assay/internal/experiment/trace"
)

// Each key of a span is deleted once, also where a thread goes through its entries again, and no
// other.
func TestEachKeyOfASpanIsDeletedOnce(t *testing.T) {
	for _, span := range []trace.Span{{From: 0, Below: 1}, {From: 7, Below: 12}, {From: 400_000, Below: 450_001}} {
		f := eachOnce(trace.Delete, span, 3)
		deleted := map[uint64]int{}
		for _, thread := range f.Threads {
			entries := uint64(len(thread.Entries))
			for k := range thread.Limit {
				deleted[thread.Entries[k%entries].Index()+k/entries*thread.Stride]++
			}
		}
		for index := span.From; index < span.Below; index++ {
			if deleted[index] != 1 {
				t.Fatalf("%v: key %d is deleted %d times", span, index, deleted[index])
			}
		}
		if uint64(len(deleted)) != span.Below-span.From {
			t.Errorf("%v: %d keys are deleted", span, len(deleted))
		}
	}
}
