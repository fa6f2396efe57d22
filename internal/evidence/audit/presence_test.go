package audit

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/experiment/trace"
)

func TestIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		below := rapid.Uint64Range(0, 200).Draw(t, "below")
		s, truth := IndexesOf(trace.Span{Below: below}), map[uint64]bool{}
		for i := range below {
			truth[i] = true
		}
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			index := rapid.Uint64Range(0, 300).Draw(t, "index")
			if rapid.Bool().Draw(t, "adds") {
				s.add(index)
				truth[index] = true
			} else {
				s.remove(index)
				delete(truth, index)
			}
		}
		all := slices.Sorted(maps.Keys(truth))
		if got := s.List(); !slices.Equal(got, all) || s.Count() != uint64(len(all)) {
			t.Fatalf("%v, expected %v", got, all)
		}
		prefix, whole := s.Prefix()
		for i := range prefix {
			if !truth[i] {
				t.Fatalf("%d is not in the set, of which all below %d are to be", i, prefix)
			}
		}
		if truth[prefix] || whole != (prefix == uint64(len(all))) {
			t.Fatalf("all below %d, and no others: %v; of %v", prefix, whole, all)
		}
		for index := range uint64(320) {
			if s.Has(index) != truth[index] {
				t.Fatalf("has %d: %v", index, s.Has(index))
			}
		}
	})
}
