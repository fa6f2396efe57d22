package recording

import (
	"errors"
	"fmt"

	"assay/internal/base/format"
)

// Summary is what a selection has.
type Summary struct {
	Requests   uint64            `json:"requests"`
	Keys       uint64            `json:"keys"`
	DurationNS int64             `json:"duration_ns"`
	Operations map[string]uint64 `json:"operations"` // requests by recorded operation

	KeyBytesMin  int     `json:"key_bytes_min,omitempty"` // 0: not told
	KeyBytesMean float64 `json:"key_bytes_mean,omitempty"`
	KeyBytesMax  int     `json:"key_bytes_max,omitempty"`
	// KeyLengths are those of keys, ascending; several long ones may be one. None: the recording tells none.
	KeyLengths []KeyLength `json:"key_lengths,omitempty"`

	// Sizes are lengths that stand for those of values, ascending, and SizeKeys of how many keys each
	// is the first length. None: the recording has no lengths.
	Sizes    []int    `json:"sizes,omitempty"`
	SizeKeys []uint64 `json:"size_keys,omitempty"`

	TTLs uint64 `json:"ttls,omitempty"` // requests with a TTL
	// TTLSeconds are times that stand for those of writes, ascending, and TTLWrites how many writes each
	// is. None: no write has one.
	TTLSeconds []int    `json:"ttl_seconds,omitempty"`
	TTLWrites  []uint64 `json:"ttl_writes,omitempty"`

	// Counts are the requests in each so many ns, from the begin on.
	IntervalNS int64    `json:"interval_ns"`
	Counts     []uint64 `json:"counts"`

	Parsed Parsed `json:"told"`
}

// KeyLength is a length of keys, and how many keys have it: of those that come before each cut, and not
// before the one before it, and of the rest.
type KeyLength struct {
	Bytes int      `json:"bytes"` // 0: not told
	Keys  []uint64 `json:"keys"`
}

// KeyLengthsMax is how many lengths of keys are distinguished.
const KeyLengthsMax = 255

// countsMax bounds the intervals of a summary.
const countsMax = 600

// rates counts requests over time, in intervals that double where they become too many.
type rates struct {
	width  int64
	counts []uint64
}

func (r *rates) add(atNS int64) {
	if r.width == 0 {
		r.width = 1e8
	}
	at := atNS / r.width
	for at >= countsMax {
		for i := range r.counts {
			if half := i / 2; half != i {
				r.counts[half], r.counts[i] = r.counts[half]*uint64(i%2)+r.counts[i], 0
			}
		}
		r.counts = r.counts[:(len(r.counts)+1)/2]
		r.width *= 2
		at = atNS / r.width
	}
	for int64(len(r.counts)) <= at {
		r.counts = append(r.counts, 0)
	}
	r.counts[at]++
}

// Summarize reads a selection once. ErrKeys, in an error that says what to do, where it has too many
// keys; stopped, which may be nil, is asked now and then, and its error ends the reading. Cuts, which
// ascend, are numbers of keys by first sight: lengths before and from each on are counted apart.
func (s Selection) Summarize(stopped func() error, cuts ...uint64) (*Summary, error) {
	sum := &Summary{Operations: map[string]uint64{}}
	keys := NewNumbering()
	var (
		operations [operationEnd]uint64
		all, byKey sizes
		ttls       sizes  // of seconds
		known      []bool // of each key: the recording had its first length
		last       int64
		lengths    = keyLengths{cuts: cuts, counts: make([]sizes, len(cuts)+1)}
		over       rates
	)
	told, err := s.Each(func(batch []Request) error {
		if stopped != nil {
			if err := stopped(); err != nil {
				return err
			}
		}
		for i := range batch {
			r := &batch[i]
			id, isNew, err := keys.Number(r.Key)
			if err != nil {
				return err
			}
			if isNew {
				known = append(known, false)
				lengths.add(id, int64(r.KeyBytes))
			}
			operations[r.Operation]++
			if r.TTLSeconds > 0 {
				sum.TTLs++
				if r.Operation.Writes() {
					ttls.add(int64(r.TTLSeconds))
				}
			}
			if r.ValueBytes != Unknown {
				all.add(r.ValueBytes)
				if !known[id] {
					known[id] = true
					byKey.add(r.ValueBytes)
				}
			}
			last = r.AtNS
			over.add(last)
		}
		sum.Requests += uint64(len(batch))
		return nil
	})
	if err != nil {
		if errors.Is(err, ErrKeys) {
			return nil, fmt.Errorf("the recording %s: %w, after %s requests: take some of its keys (sample: 1/100), or a part of its time (until: …)",
				s.File, err, format.Count(sum.Requests))
		}
		return nil, err
	}
	if sum.Requests == 0 {
		return nil, fmt.Errorf("the recording %s has no request in what is selected of its %s lines", s.File, format.Count(told.Lines))
	}
	for o, n := range operations {
		if n > 0 {
			sum.Operations[Operation(o).String()] = n
		}
	}
	sum.Keys, sum.Parsed = uint64(keys.Len()), told
	sum.DurationNS = last + max(told.TickNS, 1)
	if told.TickNS >= coarseTick { // the last ones are spread within their tick
		sum.DurationNS = last/told.TickNS*told.TickNS + told.TickNS
	}
	lengths.tell(sum)
	sum.TTLSeconds, sum.TTLWrites = ttls.classes(TTLsMax)
	sum.Sizes, _ = all.classes(ClassesMax / (1 + len(sum.TTLSeconds)))
	sum.SizeKeys = byKey.by(sum.Sizes)
	sum.IntervalNS, sum.Counts = over.width, over.counts
	return sum, nil
}

// by counts values by the class that is nearest.
func (s *sizes) by(bytes []int) []uint64 {
	counts := make([]uint64, len(bytes))
	nearest := NewNearest(bytes)
	for b, n := range s.counts {
		if n > 0 && len(bytes) > 0 {
			counts[nearest.Of(int64(s.sums[b]/n))] += n
		}
	}
	return counts
}

// Rate returns the mean number of requests a second.
func (s *Summary) Rate() float64 { return float64(s.Requests) / (float64(s.DurationNS) / 1e9) }

// ValueBytesMean returns the mean first length of keys.
func (s *Summary) ValueBytesMean() float64 {
	sum, n := 0.0, 0.0
	for i, keys := range s.SizeKeys {
		sum += float64(keys) * float64(s.Sizes[i])
		n += float64(keys)
	}
	return sum / max(n, 1)
}
