package record

import "assay/internal/base/histogram"

// Interval is a part of a phase whose rate changes over time: what was asked for in it, and what
// became of it. Times count from the phase's start.
type Interval struct {
	Stretch int   `json:"stretch"` // position in experiment.Stretches of the phase's segments
	FromNS  int64 `json:"from_ns"`
	ToNS    int64 `json:"to_ns"`

	Asked uint64 `json:"asked"`                 // operations that were due in it
	Begun uint64 `json:"begun"`                 // operations that were begun in it, whenever they were due
	Ended uint64 `json:"ended"`                 // operations that ended in it, whenever they were due
	Never uint64 `json:"never_ended,omitempty"` // operations that were due in it and had not ended when the phase had

	// Backlog is how many operations were due and not begun at its end, BehindNS since when the first of
	// them.
	Backlog  uint64 `json:"backlog,omitempty"`
	BehindNS uint64 `json:"behind_ns,omitempty"`

	// Response and Late are of the operations that were due in it, whenever they ended: Late as
	// Phase.Late. They are read a few times in each interval, and where one ends meanwhile, what is
	// neither known to be of it nor of the next is parted by numbers. Response is known to 3 %.
	Response *histogram.Histogram `json:"response_ns"`
	Late     []uint64             `json:"late,omitempty"` // nil: none began late, or it is not counted
}

// Seconds returns how long the interval is.
func (i *Interval) Seconds() float64 { return float64(i.ToNS-i.FromNS) / 1e9 }
