package recording

import (
	"math"
	"slices"
	"sort"

	"assay/internal/base/histogram"
)

// ClassesMax is how many lengths of values a replay has at most. A trace has 256 amounts for all that
// it counts.
const ClassesMax = 200

// TTLsMax is how many times to live a replay has at most, beside values without one. Each goes with each
// length, so that the more there are, the fewer lengths.
const TTLsMax = 8

// sizes counts lengths of values.
type sizes struct {
	counts [histogram.Buckets]uint64
	sums   [histogram.Buckets]uint64 // of bytes
}

func (s *sizes) add(bytes int64) {
	b := histogram.Bucket(uint64(bytes))
	s.counts[b]++
	s.sums[b] += uint64(bytes)
}

// class is lengths that one stands for: their mean, so that the bytes of all stay the same.
type class struct{ count, sum float64 }

func (c class) mean() float64 { return c.sum / c.count }

// classes returns at most so many lengths that stand for all, ascending, and how many values each is.
// Lengths that are near each other, and few, are joined first.
func (s *sizes) classes(most int) (bytes []int, counts []uint64) {
	var all []class
	for b, n := range s.counts {
		if n > 0 {
			all = append(all, class{float64(n), float64(s.sums[b])})
		}
	}
	for len(all) > most {
		best, least := 0, math.Inf(1)
		for i := range len(all) - 1 {
			a, b := all[i], all[i+1]
			if cost := min(a.count, b.count) * math.Log((b.mean()+1)/(a.mean()+1)); cost < least {
				best, least = i, cost
			}
		}
		all[best] = class{all[best].count + all[best+1].count, all[best].sum + all[best+1].sum}
		all = slices.Delete(all, best+1, best+2)
	}
	for _, c := range all {
		size := int(math.Round(c.mean()))
		if n := len(bytes); n > 0 && bytes[n-1] == size {
			counts[n-1] += uint64(c.count)
			continue
		}
		bytes, counts = append(bytes, size), append(counts, uint64(c.count))
	}
	return bytes, counts
}

// Nearest finds the class of a length.
type Nearest struct{ bytes []int }

// NewNearest returns one of lengths that ascend.
func NewNearest(bytes []int) Nearest { return Nearest{bytes} }

// Of returns the position of the length that is nearest to another; −1 where there is none.
func (c Nearest) Of(bytes int64) int {
	at := sort.SearchInts(c.bytes, int(bytes))
	if at == len(c.bytes) || at > 0 && int(bytes)-c.bytes[at-1] <= c.bytes[at]-int(bytes) {
		at--
	}
	return at
}
