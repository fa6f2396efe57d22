// Package histogram holds the log-linear buckets of section 3.4 of docs/worker-contract.md: exact
// below 256 ns, at most 1/128 wide above, up to 2^42 ns.
package histogram

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
)

const (
	SubBucketBits = 7
	ValueBits     = 42
	// Buckets is the number of buckets.
	Buckets = (ValueBits - SubBucketBits + 1) << SubBucketBits
	// ValueMax is the largest value with a bucket of its own; larger ones are counted as it.
	ValueMax = 1<<ValueBits - 1
)

// Bucket returns the bucket of a value in ns.
func Bucket(v uint64) int {
	v = min(v, ValueMax)
	if v < 1<<SubBucketBits {
		return int(v)
	}
	shift := uint(bits.Len64(v)-1) - SubBucketBits
	return int(shift)<<SubBucketBits + int(v>>shift)
}

// Lowest returns the smallest value of a bucket, and Width how many values it holds.
func Lowest(bucket int) uint64 {
	if bucket < 2<<SubBucketBits {
		return uint64(bucket)
	}
	shift := bucket>>SubBucketBits - 1
	return uint64(bucket-shift<<SubBucketBits) << shift
}

// Width returns how many values a bucket holds.
func Width(bucket int) uint64 {
	if bucket < 2<<SubBucketBits {
		return 1
	}
	return 1 << (bucket>>SubBucketBits - 1)
}

// Middle returns the value that a bucket is reported as, in ns.
func Middle(bucket int) float64 { return float64(Lowest(bucket)) + float64(Width(bucket)-1)/2 }

// Histogram counts values. The zero value is not ready: make one with New. It is not safe for
// concurrent use. One that was read from JSON keeps the counted buckets alone, in a few bytes each,
// until it is changed: a run has thousands.
type Histogram struct {
	Counts []uint64 // nil in one that was read from JSON: see [Histogram.All]
	packed []byte   // bucket after bucket: how far it is from the one before, and its count, as varints
}

// New returns an empty histogram.
func New() *Histogram { return &Histogram{Counts: make([]uint64, Buckets)} }

// All returns the buckets with counts, in their order.
func (h *Histogram) All() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		for bucket, n := range h.Counts {
			if n != 0 && !yield(bucket, n) {
				return
			}
		}
		bucket := 0
		for rest := h.packed; len(rest) > 0; {
			step, size := binary.Uvarint(rest)
			n, more := binary.Uvarint(rest[size:])
			rest = rest[size+more:]
			if bucket += int(step); !yield(bucket, n) {
				return
			}
		}
	}
}

// unpack makes room for changes.
func (h *Histogram) unpack() {
	if h.Counts != nil {
		return
	}
	counts := make([]uint64, Buckets)
	for bucket, n := range h.All() {
		counts[bucket] = n
	}
	h.Counts, h.packed = counts, nil
}

// Pack keeps the counted buckets alone, for one that is only read from now on.
func (h *Histogram) Pack() {
	var packed []byte
	before := 0
	for bucket, n := range h.All() {
		packed = binary.AppendUvarint(binary.AppendUvarint(packed, uint64(bucket-before)), n)
		before = bucket
	}
	h.Counts, h.packed = nil, slices.Clip(packed)
}

// Record counts one value in ns. The histogram must not have been read from JSON.
func (h *Histogram) Record(v uint64) { h.Counts[Bucket(v)]++ }

// Add adds the counts of another.
func (h *Histogram) Add(other *Histogram) {
	h.unpack()
	for i, n := range other.All() {
		h.Counts[i] += n
	}
}

// Sub takes the counts of an earlier state of the same histogram away.
func (h *Histogram) Sub(earlier *Histogram) {
	h.unpack()
	for i, n := range earlier.All() {
		h.Counts[i] -= n
	}
}

// Sum returns a histogram of what both have counted; nil counts nothing, and of two there is none.
func Sum(a, b *Histogram) *Histogram {
	if a == nil && b == nil {
		return nil
	}
	sum := New()
	for _, h := range []*Histogram{a, b} {
		if h != nil {
			sum.Add(h)
		}
	}
	return sum
}

// Count returns how many values were counted.
func (h *Histogram) Count() uint64 {
	var total uint64
	for _, n := range h.All() {
		total += n
	}
	return total
}

// Quantile returns the value in ns that a share q (0 to 1) of the values does not exceed: the
// nearest-rank definition. It returns 0 for an empty histogram.
func (h *Histogram) Quantile(q float64) float64 {
	total := h.Count()
	if total == 0 {
		return 0
	}
	rank := uint64(q * float64(total))
	if float64(rank) < q*float64(total) || rank == 0 {
		rank++
	}
	rank = min(rank, total)
	var seen uint64
	for bucket, n := range h.All() {
		if seen += n; seen >= rank {
			return Middle(bucket)
		}
	}
	panic("unreachable: rank is at most the total")
}

// Mean returns the mean in ns, within half a bucket's width (0.4 %).
func (h *Histogram) Mean() float64 {
	var sum, total float64
	for bucket, n := range h.All() {
		sum += float64(n) * Middle(bucket)
		total += float64(n)
	}
	if total == 0 {
		return 0
	}
	return sum / total
}

// MeanError returns the standard error of the mean in ns, of values that are a sample; 0 for fewer
// than two.
func (h *Histogram) MeanError() float64 {
	var squares, total float64
	mean := h.Mean()
	for bucket, n := range h.All() {
		d := Middle(bucket) - mean
		squares += float64(n) * d * d
		total += float64(n)
	}
	if total < 2 {
		return 0
	}
	return math.Sqrt(squares / (total - 1) / total)
}

// MarshalJSON writes the counted buckets only, as a flat list: bucket, count, bucket, count …
func (h *Histogram) MarshalJSON() ([]byte, error) {
	pairs := []uint64{}
	for bucket, n := range h.All() {
		pairs = append(pairs, uint64(bucket), n)
	}
	return json.Marshal(pairs)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var pairs []uint64
	if err := json.Unmarshal(data, &pairs); err != nil {
		return err
	}
	if len(pairs)%2 != 0 {
		return fmt.Errorf("histogram: a list of bucket and count pairs has an odd length %d", len(pairs))
	}
	h.Counts, h.packed = make([]uint64, Buckets), nil
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] >= Buckets {
			return fmt.Errorf("histogram: bucket %d is past the last one, %d", pairs[i], Buckets-1)
		}
		h.Counts[pairs[i]] += pairs[i+1]
	}
	h.Pack()
	return nil
}
