package recording

import "assay/internal/base/histogram"

// HitRate is the share of requests that an LRU cache of a share of all keys would have answered.
type HitRate struct {
	KeysShare float64 `json:"keys_share"`
	Recorded  float64 `json:"recorded"`
	Sent      float64 `json:"sent"`
}

// GapAt is the gap between two requests that a share of all gaps is at most, in ns.
type GapAt struct {
	Share      float64 `json:"share"`
	RecordedNS float64 `json:"recorded_ns"`
	SentNS     float64 `json:"sent_ns"`
}

// gapShares are those that are told: between them lie the curves' bends.
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
	Mix        float64 `json:"mix"`
	Sizes      float64 `json:"sizes"`          // of values that are written
	TTLs       float64 `json:"ttls,omitempty"` // likewise
	KeyLengths float64 `json:"key_lengths"`    // of all requests' keys
	Gaps       float64 `json:"gaps"`           // between one request and the next
	Hits       float64 `json:"hits"`           // of all caches
}

// Compare holds a stream against the recorded one, once both are done. Gaps are told where both have
// times.
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
	Sent     uint64    `json:"sent"`           // of them
	Left     []LeftOut `json:"left,omitempty"` // lines and requests of the recording that are not among Recorded
	OneIn    uint64    `json:"one_in,omitempty"`
	Keys     uint64    `json:"keys"`

	Closed bool    `json:"closed,omitempty"`
	Asked  float64 `json:"speed_asked"` // times the recorded one; 0 in closed load
	Speed  float64 `json:"speed"`       // that was reached
	// DelayNS is how long after they were due requests were begun, in the mean.
	DelayNS float64 `json:"delay_ns,omitempty"`
	// GapNS is the mean between two requests that were sent.
	GapNS float64 `json:"gap_ns,omitempty"`

	Distances
	HitRates []HitRate `json:"hit_rates"`
	GapsAt   []GapAt   `json:"gaps_at,omitempty"` // none: in closed load there are none to hold

	KeyBytesRecorded float64 `json:"key_bytes_recorded,omitempty"` // the mean of all requests; 0: not told
	KeyBytes         float64 `json:"key_bytes,omitempty"`          // of those that were sent
}
