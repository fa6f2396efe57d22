package trace

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// The names of the orders in which keys come. Sequential and shuffled visit every record once a
// pass; the others draw.
const (
	Sequential       = "sequential"        // 0, 1, 2 … each thread its own stretch, again and again
	Shuffled         = "shuffled"          // a random permutation of all records, parted over the threads; another one each pass
	Uniform          = "uniform"           // each record as likely as any other
	Zipfian          = "zipfian"           // rank r with probability ∝ 1/r^Theta; ranks spread over the records by a bijection
	ScrambledZipfian = "scrambled_zipfian" // YCSB's, bit for bit but for its random numbers; Theta is 0.99
	Latest           = "latest"            // YCSB's: a zipfian counted back from the newest record
	Hotspot          = "hotspot"           // YCSB's: HotOperations of the draws go to the first HotRecords of the records
	Exponential      = "exponential"       // YCSB's: falls off exponentially from record 0
	Popularity       = "popularity"        // of Buckets, hottest first; the keys of a bucket equally likely; ranks spread over the records by a bijection
	Counting         = "counting"          // 0, 1, 2 … without end, from 0 in every thread: all write the same keys; upserts only

	// Recorded is the order of a recording that is replayed; nothing else may ask for it.
	Recorded = "recorded"
)

// Order is which key comes next.
type Order struct {
	Distribution  string
	Theta         float64 // zipfian, scrambled_zipfian, latest: the exponent, > 0
	HotRecords    float64 // hotspot, exponential: share of the records, 0 to 1
	HotOperations float64 // hotspot, exponential: share of the draws, 0 to 1

	Buckets []Bucket `json:",omitempty"` // popularity

	Shift Shift `json:",omitzero"` // of what is popular; zero: it stays
}

// BucketKeysMax bounds the keys of a bucket.
const BucketKeysMax = indexEnd

// Bucket is so many keys, and how often one of them is drawn, relative to the other buckets.
type Bucket struct {
	Keys   uint64  `json:"keys"`
	Weight float64 `json:"weight"`
}

// visitsAll says if the order visits every record once a pass.
func (o Order) visitsAll() bool { return o.Distribution == Sequential || o.Distribution == Shuffled }

// Check says what is wrong with the order; nil if nothing.
func (o Order) Check() error { return o.check() }

func (o Order) check() error {
	switch o.Distribution {
	case Sequential, Shuffled, Uniform, Counting:
	case Popularity:
		if len(o.Buckets) == 0 {
			return errors.New("order popularity has no buckets of keys")
		}
		for i, b := range o.Buckets {
			if b.Keys == 0 || b.Keys > BucketKeysMax || !(b.Weight >= 0 && b.Weight <= 1e18) {
				return fmt.Errorf("bucket %d has %d keys and weight %v: expected a key at least and a weight from 0 to 1e18", i, b.Keys, b.Weight)
			}
		}
		return checkWeights("buckets", o.Buckets, func(b Bucket) float64 { return min(b.Weight, 1e12) })
	case Exponential:
		if records, operations := o.exponential(); !(records > 0 && records <= 1 && operations > 0 && operations < 1) {
			return fmt.Errorf("order exponential needs hot records above 0 and at most 1, and hot operations between 0 and 1, not %v and %v",
				o.HotRecords, o.HotOperations)
		}
	case Zipfian, Latest:
		if !(o.Theta > 0 && o.Theta <= 10) {
			return fmt.Errorf("order %s needs theta above 0 and at most 10, not %v", o.Distribution, o.Theta)
		}
	case ScrambledZipfian:
		if o.Theta != YCSBTheta && o.Theta != 0 {
			return fmt.Errorf("order scrambled_zipfian is YCSB's and has theta 0.99 only, not %v: take zipfian", o.Theta)
		}
	case Hotspot:
		if !(o.HotRecords > 0 && o.HotRecords <= 1 && o.HotOperations >= 0 && o.HotOperations <= 1) {
			return fmt.Errorf("order hotspot needs hot records above 0 and at most 1, and hot operations from 0 to 1, not %v and %v",
				o.HotRecords, o.HotOperations)
		}
	default:
		return fmt.Errorf("unknown order %q", o.Distribution)
	}
	return nil
}

// draw returns a function that draws record indexes in [0, records) by the order, which is none of
// those that visit all records, nor latest. All threads share the seed, so that they agree on which
// records are popular.
func (o Order) draw(records, seed uint64) func(random) uint64 {
	switch o.Distribution {
	case Zipfian:
		z, spread := newZipf(records, o.Theta), newPermutation(records, seed, 0)
		return func(r random) uint64 { return spread.at(z.rank(r)) }
	case ScrambledZipfian:
		return newYCSBZipf(records).index
	case Popularity:
		rank, spread := drawBuckets(o.Buckets, records), newPermutation(records, seed, 0)
		return func(r random) uint64 { return spread.at(rank(r)) }
	case Hotspot:
		hot := max(uint64(float64(records)*o.HotRecords), 1)
		share := threshold(o.HotOperations)
		return func(r random) uint64 {
			if isHot := r.Uint64()>>1 < share; isHot || hot == records {
				return r.below(hot)
			}
			return hot + r.below(records-hot)
		}
	case Exponential:
		// YCSB draws again what lies past the last record, so that its 95 % in 85.71 % of the
		// records become 97.97 %.
		share, percentile := o.exponential()
		mean := float64(float64(records)*share) / -ln(1-percentile)
		return func(r random) uint64 {
			for {
				if x := float64(-ln(r.unit()) * mean); x < float64(records) {
					return uint64(x)
				}
			}
		}
	default:
		return func(r random) uint64 { return r.below(records) }
	}
}

// drawBuckets returns a function that draws ranks below records: a bucket by its weight, and any of its keys.
// Of a bucket that is cut off, the part is drawn as often as it is large; those behind it never are.
func drawBuckets(buckets []Bucket, records uint64) func(random) uint64 {
	var first []uint64
	var weights []float64
	ranks, total := uint64(0), 0.0
	for _, b := range buckets {
		if ranks >= records {
			break
		}
		keys := min(b.Keys, records-ranks)
		weight := float64(b.Weight * float64(float64(keys)/float64(b.Keys)))
		first, weights = append(first, ranks), append(weights, weight)
		ranks, total = ranks+keys, total+weight
	}
	bounds, sum := make([]uint64, len(weights)), 0.0
	for i, weight := range weights {
		sum += weight
		bounds[i] = threshold(sum / total)
	}
	bounds[len(bounds)-1] = 1 << 63
	first = append(first, ranks)
	return func(r random) uint64 {
		word := r.Uint64() >> 1
		i := sort.Search(len(bounds), func(i int) bool { return word < bounds[i] })
		return first[i] + r.below(first[i+1]-first[i])
	}
}

// YCSB's defaults: exponential.percentile and exponential.frac.
const (
	exponentialPercentile = 0.95
	exponentialShare      = 0.8571428571
)

// exponential returns which share of the records so many of the draws go to, before those are drawn
// again that lie past the last record: YCSB's where the order has none.
func (o Order) exponential() (records, operations float64) {
	if o.HotRecords == 0 && o.HotOperations == 0 {
		return exponentialShare, exponentialPercentile
	}
	return o.HotRecords, o.HotOperations
}

// threshold turns a probability into the bound that a 63-bit random word stays below so often.
func threshold(p float64) uint64 { return uint64(math.Ldexp(p, 63)) }
