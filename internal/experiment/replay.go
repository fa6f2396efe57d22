package experiment

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/base/format"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// Replay is recorded traffic that a phase plays.
type Replay struct {
	recording.Selection                   // File is absolute
	Summary             recording.Summary `json:"summary"`    // of the selection, when the experiment was read
	Speed               float64           `json:"speed"`      // times the recorded one; 1 in closed load, where it has no effect
	Closed              bool              `json:"closed"`     // as fast as the store answers
	Loops               uint64            `json:"loops"`      // at least 1
	OwnValues           bool              `json:"own_values"` // values have the experiment's lengths, not the recorded ones
	// TTLs are for how long values are to live here, of each of Summary.TTLSeconds; none: recorded TTLs are
	// left out.
	TTLs []time.Duration `json:"ttls_ns,omitempty"`
	Left []string        `json:"left,omitempty"` // what of the recording is not played, and why
}

// Lasts returns how long all loops take at the speed that is asked for.
func (r *Replay) Lasts() time.Duration {
	return time.Duration(float64(r.Summary.DurationNS) / r.Speed * float64(r.Loops))
}

// ForTrace returns what a trace needs to know.
func (r *Replay) ForTrace() *trace.Replay {
	t := &trace.Replay{
		Selection: r.Selection, Requests: r.Summary.Requests, Keys: r.Summary.Keys, Bytes: r.Summary.Sizes,
		Speed: r.Speed, Loops: r.Loops, SpanNS: uint64(r.Summary.DurationNS),
		KeyBytes: int(math.Round(r.Summary.KeyBytesMean)),
	}
	if r.Closed {
		t.Speed = 0
	}
	if len(r.TTLs) > 0 {
		t.TTLSeconds = r.Summary.TTLSeconds
	}
	for _, life := range r.TTLs {
		t.TTLsMS = append(t.TTLsMS, uint32(life.Milliseconds()))
	}
	if r.OwnValues {
		t.Bytes = nil
	}
	return t
}

// PlayTTLs makes recorded TTLs those of values that are written. They are parted by the speed, as gaps
// are, so that what has expired when it is asked for stays the same: in whole seconds, since many stores
// know no others.
func (r *Replay) PlayTTLs() {
	speed := r.Speed
	if r.Closed {
		speed = 1
	}
	for _, seconds := range r.Summary.TTLSeconds {
		life := min(math.Ceil(float64(seconds)/speed), ttlSecondsMax)
		r.TTLs = append(r.TTLs, time.Duration(life)*time.Second)
	}
}

// ttlSecondsMax is the longest TTL of a trace, in which they are ms in 32 bits: 49 days.
const ttlSecondsMax = 49 * 86_400

// RecordedTTL returns how many seconds of the recording a TTL of a trace stands for.
func (r *Replay) RecordedTTL(ms uint32) float64 {
	life := time.Duration(ms) * time.Millisecond
	if at := slices.Index(r.TTLs, life); at >= 0 {
		return float64(r.Summary.TTLSeconds[at])
	}
	return life.Seconds()
}

// TTLMix returns the TTLs of what is written, and how often they come. Several recorded ones may be one
// here.
func (r *Replay) TTLMix() (all []TTL) {
	if len(r.TTLs) == 0 {
		return nil
	}
	writes := uint64(0)
	for name, n := range r.Summary.Operations {
		if o, ok := recording.OperationOf(name); ok && o.Writes() {
			writes += n
		}
	}
	add := func(life time.Duration, n uint64) {
		at := slices.IndexFunc(all, func(t TTL) bool { return t.Life == life })
		if at < 0 && n > 0 {
			all = append(all, TTL{Life: life, Weight: float64(n)})
		} else if at >= 0 {
			all[at].Weight += float64(n)
		}
	}
	for i, life := range r.TTLs {
		add(life, r.Summary.TTLWrites[i])
		writes -= r.Summary.TTLWrites[i]
	}
	add(0, writes)
	return all
}

// Text says what is replayed: "replay of cache.csv, 10 times as fast".
func (r *Replay) Text() string {
	text := "replay of " + filepath.Base(r.File)
	switch {
	case r.Closed:
		text += ", closed: as fast as the store answers"
	case r.Speed != 1:
		text += fmt.Sprintf(", %s times as fast", format.Number(r.Speed))
	}
	if r.Loops > 1 {
		text += fmt.Sprintf(", %d times", r.Loops)
	}
	if r.OneIn > 1 {
		text += fmt.Sprintf(", 1 key in %d", r.OneIn)
	}
	return text
}

// Segments returns the rate over time that the recorded gaps come to, for tables and curves.
func (r *Replay) Segments() []trace.Segment {
	if r.Closed || r.Loops > 1 {
		return nil
	}
	end := r.Lasts()
	var points []trace.Point
	width := float64(r.Summary.IntervalNS) / r.Speed
	for i, n := range r.Summary.Counts {
		from, to := time.Duration(float64(i)*width), min(time.Duration(float64(i+1)*width), end)
		if i == len(r.Summary.Counts)-1 {
			to = end
		}
		if to <= from {
			continue
		}
		rate := min(float64(n)/(to-from).Seconds(), 1e9)
		points = append(points, trace.Point{At: from, Rate: rate}, trace.Point{At: to, Rate: rate})
	}
	return []trace.Segment{{Form: trace.FormFile, Duration: end, Points: points}}
}

// ReplayOfValues returns the replay whose recording tells how long values are; nil: none does.
func (e *Experiment) ReplayOfValues() *Replay {
	for i := range e.Phases {
		if r := e.Phases[i].Replay; r != nil && !r.OwnValues && len(r.Summary.Sizes) > 0 {
			return r
		}
	}
	return nil
}
