package recording

import "assay/internal/base/histogram"

// reuseKeysMax is how many keys caches are simulated for; of more, some are, with all their requests.
const reuseKeysMax = 1 << 22

// Shape is what a stream of requests is like. Make one with NewShape, and Add requests in their order.
type Shape struct {
	Requests   uint64
	operations [operationEnd]uint64
	written    [histogram.Buckets]uint64 // lengths of values that were written
	gaps       [histogram.Buckets]uint64 // ns between one request and the next
	last       int64
	speed      float64
	keep       uint64 // keys whose mixed word is below are looked at in caches
	numbering  *Numbering
	cache      *lru
}

// NewShape returns the shape of a stream of about so many keys. Gaps are parted by a speed: 2 makes
// them half as long. known are streams whose keys are numbers from 0 on.
func NewShape(keys, speed float64, known bool) *Shape {
	share := min(reuseKeysMax/max(keys, 1), 1)
	s := &Shape{speed: speed, last: -1, cache: newLRU(keys * share), keep: 1<<63 - 1}
	if share < 1 {
		s.keep = uint64(share * (1 << 63))
	}
	if !known {
		s.numbering = NewNumbering()
	}
	return s
}

// Add counts a request. bytes is the length of the value where one is written; Unknown.
func (s *Shape) Add(atNS int64, o Operation, key uint64, bytes int64) {
	s.Requests++
	s.operations[o]++
	if bytes != Unknown && o.Writes() {
		s.written[histogram.Bucket(uint64(bytes))]++
	}
	if s.last >= 0 {
		s.gaps[histogram.Bucket(uint64(float64(max(atNS-s.last, 0))/s.speed))]++
	}
	s.last = atNS
	if mix(key)>>1 > s.keep {
		return
	}
	id := uint32(key)
	if s.numbering != nil {
		var err error
		if id, _, err = s.numbering.Number(key); err != nil {
			return // far more keys than were told: the rates are of the first ones
		}
	}
	if o == Delete {
		s.cache.forget(id)
		return
	}
	s.cache.ask(id)
}

// Played says what operation of a replay a recorded one is: what changes a value is a write of a whole
// one.
func (o Operation) Played() Operation {
	if o.Writes() {
		return Set
	}
	return o
}

// distance is the largest difference between two distributions, Kolmogorov's and Smirnov's; 0 where one
// has nothing.
func distance(a, b *[histogram.Buckets]uint64) (largest float64) {
	var totalA, totalB float64
	for i := range a {
		totalA += float64(a[i])
		totalB += float64(b[i])
	}
	if totalA == 0 || totalB == 0 {
		return 0
	}
	var sumA, sumB float64
	for i := range a {
		sumA += float64(a[i])
		sumB += float64(b[i])
		largest = max(largest, sumA/totalA-sumB/totalB, sumB/totalB-sumA/totalA)
	}
	return largest
}
