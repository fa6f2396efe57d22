// Package imitation says what recorded traffic is like, and writes an experiment that imitates it, with
// how far off it is.
//
//	profile.go     what a recording is like: rates, mix, lengths, keys, reuse, TTLs, bursts
//	popularity.go  how requests are spread over keys, and the zipfian that fits
//	imitation.go   the experiment, and its distances from the recording
package imitation

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/experiment/recording"
)

// Profile is what a recording is like.
type Profile struct {
	File     string            `json:"file"`
	Summary  recording.Summary `json:"summary"`
	Rate     float64           `json:"rate"` // requests a second, the mean
	Bursts   []Burst           `json:"bursts"`
	Keys     Popularity        `json:"popularity"`
	Values   Lengths           `json:"values"` // of all requests that tell one
	Reuse    []Reuse           `json:"reuse"`
	TTLs     []TTL             `json:"ttls,omitempty"` // the most frequent first
	Selected uint64            `json:"one_in,omitempty"`

	// Imitation is an experiment of the same shape, and how far it is off. Looked is how many requests of
	// the recording, from its begin on, the distances are of.
	Imitation Imitation `json:"imitation"`

	shape *recording.Shape
}

// Burst is how much more than the mean came in the fullest interval of a width.
type Burst struct {
	WidthS     float64 `json:"width_s"`
	Peak       float64 `json:"peak"`       // requests a second
	Dispersion float64 `json:"dispersion"` // variance of counts divided by their mean: 1 where requests are independent
}

// Lengths are quantiles of lengths in bytes; none: not told.
type Lengths struct {
	Mean float64 `json:"mean"`
	P1   int     `json:"p1"`
	P50  int     `json:"p50"`
	P99  int     `json:"p99"`
	Max  int     `json:"max"`
}

// Reuse is the share of requests that a cache of a share of all keys would answer.
type Reuse struct {
	KeysShare float64 `json:"keys_share"`
	HitRate   float64 `json:"hit_rate"`
}

// TTL is a time to live, and how many requests have it.
type TTL struct {
	Seconds  uint32 `json:"seconds"`
	Requests uint64 `json:"requests"`
}

// burstWidths are those in ms for which bursts are reported.
var burstWidths = []int64{10, 100, 1000, 10_000}

// Bounds of what is kept of a recording.
const (
	ttlsMax    = 4096 // different ones that are counted
	ttlsTold   = 5
	looksAtMax = 4_000_000 // requests that an imitation is held against
)

// Of reads a selection of a recording and says what it is like. stopped may be nil.
func Of(s recording.Selection, stopped func() error) (*Profile, error) {
	sum, err := s.Summarize(stopped)
	if err != nil {
		return nil, err
	}
	p := &Profile{File: s.File, Summary: *sum, Rate: sum.Rate(), Selected: s.OneIn}
	counts, ttls, numbering := make([]uint32, sum.Keys), map[uint32]uint64{}, recording.NewNumbering()
	meters := metersOf(sum)
	p.shape = recording.NewShape(float64(sum.Keys), 1, true)
	looked := recording.NewShape(float64(sum.Keys), 1, true)
	_, err = s.Each(func(batch []recording.Request) error {
		if stopped != nil {
			if err := stopped(); err != nil {
				return err
			}
		}
		for i := range batch {
			r := &batch[i]
			id, _, err := numbering.Number(r.Key)
			if err != nil {
				return err
			}
			if int(id) >= len(counts) {
				return fmt.Errorf("the recording %s grew while it was read", s.File)
			}
			if counts[id] < math.MaxUint32 {
				counts[id]++
			}
			if _, known := ttls[r.TTLSeconds]; r.TTLSeconds > 0 && (known || len(ttls) < ttlsMax) {
				ttls[r.TTLSeconds]++
			}
			for k := range meters {
				meters[k].add(r.AtNS)
			}
			for _, shape := range []*recording.Shape{p.shape, looked} {
				if shape == looked && shape.Requests >= looksAtMax {
					continue
				}
				shape.AddTime(r.AtNS)
				shape.Add(r.Operation, uint64(id), r.ValueBytes)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for k := range meters {
		p.Bursts = append(p.Bursts, meters[k].burst())
	}
	p.Keys, p.Values = popularityOf(counts), lengthsOf(sum)
	p.Reuse, p.TTLs = reuseOf(p.shape.Done()), ttlsOf(ttls)
	if p.Imitation, err = p.imitate(looked.Done()); err != nil {
		return nil, err
	}
	return p, nil
}

func reuseOf(shape *recording.Shape) (all []Reuse) {
	for i, share := range recording.SizesLRU {
		all = append(all, Reuse{share, shape.HitRates()[i]})
	}
	return all
}

func ttlsOf(ttls map[uint32]uint64) (all []TTL) {
	for seconds, n := range ttls {
		all = append(all, TTL{seconds, n})
	}
	slices.SortFunc(all, func(a, b TTL) int {
		if a.Requests != b.Requests {
			return int(int64(b.Requests) - int64(a.Requests))
		}
		return int(int64(a.Seconds) - int64(b.Seconds))
	})
	return all[:min(len(all), ttlsTold)]
}

// lengthsOf are of the first length of each key.
func lengthsOf(sum *recording.Summary) (l Lengths) {
	total := uint64(0)
	for _, n := range sum.SizeKeys {
		total += n
	}
	if total == 0 {
		return l
	}
	l.Mean = sum.ValueBytesMean()
	at := func(q float64) int {
		before, want := uint64(0), uint64(q*float64(total-1))
		for i, n := range sum.SizeKeys {
			if before += n; before > want {
				return sum.Sizes[i]
			}
		}
		return 0
	}
	l.P1, l.P50, l.P99, l.Max = at(0.01), at(0.5), at(0.99), at(1)
	return l
}

// meter counts requests in intervals of one width, and keeps their moments alone.
type meter struct {
	width, intervals int64
	at, now          int64
	peak             int64
	sum, squares     float64
}

// metersOf has those widths of which a recording has ten intervals at least, and that are not finer than
// its times.
func metersOf(sum *recording.Summary) (all []meter) {
	for _, ms := range burstWidths {
		width := ms * 1e6
		if sum.DurationNS >= 10*width && width >= sum.Parsed.TickNS {
			all = append(all, meter{width: width, intervals: sum.DurationNS / width})
		}
	}
	return all
}

func (m *meter) add(atNS int64) {
	at := atNS / m.width
	if at >= m.intervals {
		return // a part of an interval
	}
	if at != m.at {
		m.end()
		m.at = at
	}
	m.now++
}

func (m *meter) end() {
	m.peak = max(m.peak, m.now)
	m.sum += float64(m.now)
	m.squares += float64(m.now) * float64(m.now)
	m.now = 0
}

func (m *meter) burst() Burst {
	m.end()
	seconds, n := float64(m.width)/1e9, float64(m.intervals)
	b := Burst{WidthS: seconds, Peak: float64(m.peak) / seconds}
	if mean := m.sum / n; mean > 0 {
		b.Dispersion = (m.squares/n - mean*mean) / mean
	}
	return b
}
