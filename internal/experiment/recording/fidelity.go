package recording

import "assay/internal/base/histogram"

// HitRate is the share of requests that an LRU cache of a share of all keys would have answered.
type HitRate struct {
	KeysShare float64 `json:"keys_share"` // size of the cache, as a share of the keys
	Recorded  float64 `json:"recorded"`   // share of the recorded requests
	Sent      float64 `json:"sent"`       // share of those that were sent
}

// GapAt is the gap between two requests that a share of all gaps is at most, in ns.
type GapAt struct {
	Share      float64 `json:"share"`       // so many gaps are at most this long
	RecordedNS float64 `json:"recorded_ns"` // in the recording, at its speed
	SentNS     float64 `json:"sent_ns"`     // between requests that were sent
}

// gapShares are those that are reported: between them lie the curves' bends.
var gapShares = [...]float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999}

// GapsOf returns the gaps of a stream beside the recorded ones, once both are done; nil: one has none.
func GapsOf(recorded, sent *Shape) (gaps []GapAt) {
	was, is := histogram.Histogram{Counts: recorded.gaps[:]}, histogram.Histogram{Counts: sent.gaps[:]}
	if was.Count() == 0 || is.Count() == 0 {
		return nil
	}
	for _, share := range gapShares {
		gaps = append(gaps, GapAt{Share: share, RecordedNS: was.Quantile(share), SentNS: is.Quantile(share)})
	}
	return gaps
}

// Distances are how far two streams differ: each the largest difference between two distributions, from
// 0 to 1.
type Distances struct {
	Mix        float64 `json:"mix"`            // of operations
	Sizes      float64 `json:"sizes"`          // of values that are written
	TTLs       float64 `json:"ttls,omitempty"` // of values that are written
	KeyLengths float64 `json:"key_lengths"`    // of all requests' keys
	Gaps       float64 `json:"gaps"`           // between one request and the next
	Hits       float64 `json:"hits"`           // hit rates of all caches
}

// Compare holds a stream against the recorded one, once both are done. Gaps are compared where both
// have times.
func Compare(recorded, sent *Shape) (d Distances, rates []HitRate) {
	var was, is [operationEnd]float64
	for o := range was {
		was[Operation(o).Played()] += float64(recorded.operations[o]) / float64(max(recorded.Requests, 1))
		is[Operation(o).Played()] += float64(sent.operations[o]) / float64(max(sent.Requests, 1))
	}
	for o := range was {
		d.Mix = max(d.Mix, was[o]-is[o], is[o]-was[o])
	}
	d.Sizes = distance(&recorded.written, &sent.written)
	d.KeyLengths = distance(&recorded.keys, &sent.keys)
	d.TTLs = distance(&recorded.ttls, &sent.ttls)
	d.Gaps = distance(&recorded.gaps, &sent.gaps)
	before, after := recorded.rates, sent.rates
	for i, share := range SizesLRU {
		rates = append(rates, HitRate{KeysShare: share, Recorded: before[i], Sent: after[i]})
		d.Hits = max(d.Hits, before[i]-after[i], after[i]-before[i])
	}
	return d, rates
}

// Fidelity is how far what a phase sent differs from what was recorded.
type Fidelity struct {
	Recorded uint64    `json:"recorded"`       // requests that were selected, loops included
	Sent     uint64    `json:"sent"`           // of them, those that were sent
	Left     []LeftOut `json:"left,omitempty"` // lines and requests of the recording that are not among these
	// Of so many keys one was selected, with all its requests. 0: all were.
	OneIn uint64 `json:"one_in,omitempty"`
	Keys  uint64 `json:"keys"` // that were selected

	Closed bool    `json:"closed,omitempty"` // requests were sent in closed load
	Asked  float64 `json:"speed_asked"`      // times the recorded one; 0 in closed load
	Speed  float64 `json:"speed"`            // that was reached, times the recorded one
	// How long after they were due requests were begun, in the mean.
	DelayNS float64 `json:"delay_ns,omitempty"`
	// The mean between two requests that were sent.
	GapNS float64 `json:"gap_ns,omitempty"`

	Distances
	// Of LRU caches by their share of the keys.
	HitRates []HitRate `json:"hit_rates"`
	// Gaps by the share of all that are at most as long. None: in closed load there are none to hold.
	GapsAt []GapAt `json:"gaps_at,omitempty"`

	KeyBytesRecorded float64 `json:"key_bytes_recorded,omitempty"` // the mean of all requests; 0: not told
	KeyBytes         float64 `json:"key_bytes,omitempty"`          // the mean of those that were sent
}
