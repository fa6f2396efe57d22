package recording

import "assay/internal/base/histogram"

// reuseKeysMax is how many keys caches are simulated for; of more, some are, with all their requests.
const reuseKeysMax = 1 << 22

// Shape is what a stream of requests is like. Make one with NewShape, and Add requests in their order.
type Shape struct {
	Requests   uint64
	operations [operationEnd]uint64
	written    [histogram.Buckets]uint64 // lengths of values that were written
	ttls       [histogram.Buckets]uint64 // of values that were written, in s; 0: without an end
	keys       [histogram.Buckets]uint64 // lengths of the keys of all requests
	gaps       [histogram.Buckets]uint64 // ns between one request and the next
	keyBytes   uint64                    // of all of them
	keysTold   uint64
	last       int64
	speed      float64
	keep       uint64 // keys whose mixed word is below are looked at in caches
	numbering  *Numbering
	cache      *lru
	rates      [len(SizesLRU)]float64 // once it is done
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

// AddTime counts the gap before a request.
func (s *Shape) AddTime(atNS int64) {
	if s.last >= 0 {
		s.gaps[histogram.Bucket(uint64(float64(max(atNS-s.last, 0))/s.speed))]++
	}
	s.last = atNS
}

// AddTTL counts for how many seconds a value that is written is to live; 0: without an end.
func (s *Shape) AddTTL(seconds float64) { s.ttls[histogram.Bucket(uint64(max(seconds, 0)+0.5))]++ }

// KeyBytes is the mean length of keys, of the requests that tell one; 0: none does.
func (s *Shape) KeyBytes() float64 { return float64(s.keyBytes) / float64(max(s.keysTold, 1)) }

// AddKey counts how long the key of a request is; 0: it is not told.
func (s *Shape) AddKey(bytes int) {
	if bytes > 0 {
		s.keys[histogram.Bucket(uint64(bytes))]++
		s.keyBytes, s.keysTold = s.keyBytes+uint64(bytes), s.keysTold+1
	}
}

// Add counts what a request does. bytes is the length of the value where one is written; Unknown.
func (s *Shape) Add(o Operation, key uint64, bytes int64) {
	s.Requests++
	s.operations[o]++
	if bytes != Unknown && o.Writes() {
		s.written[histogram.Bucket(uint64(bytes))]++
	}
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

// Done ends the counting, and gives back what it needed.
func (s *Shape) Done() *Shape {
	s.rates = s.cache.rates()
	s.cache, s.numbering = nil, nil
	return s
}

// HitRates are the shares of requests that caches of SizesLRU would have answered, once it is done.
func (s *Shape) HitRates() [len(SizesLRU)]float64 { return s.rates }

// ShapeOf reads what a selection was like when it was recorded: what its requests do of all keys, also
// of those that are not selected, and the gaps between the selected ones, parted by a speed. keys are
// those that are selected.
func (s Selection) ShapeOf(keys uint64, speed float64, stopped func() error) (*Shape, error) {
	oneIn := max(s.OneIn, 1)
	shape := NewShape(float64(keys*oneIn), speed, false)
	all := s
	all.OneIn = 0
	_, err := all.Each(func(batch []Request) error {
		if stopped != nil {
			if err := stopped(); err != nil {
				return err
			}
		}
		for i := range batch {
			r := &batch[i]
			shape.Add(r.Operation, r.Key, r.ValueBytes)
			shape.AddKey(int(r.KeyBytes))
			if r.Operation.Writes() {
				shape.AddTTL(float64(r.TTLSeconds))
			}
			if s.selects(r.Key) {
				shape.AddTime(r.AtNS)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return shape.Done(), nil
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
