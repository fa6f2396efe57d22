package record

import "assay/internal/base/histogram"

// Interval is a part of a phase whose rate changes over time: what was asked for in it, and what
// became of it. Times count from the phase's start.
type Interval struct {
	// Number of the segment or burst that it is a part of, from 0.
	Stretch int   `json:"stretch"`
	FromNS  int64 `json:"from_ns"` // its begin
	ToNS    int64 `json:"to_ns"`   // its end

	Asked uint64 `json:"asked"` // operations that were due in it
	Begun uint64 `json:"begun"` // operations that were begun in it, whenever they were due
	Ended uint64 `json:"ended"` // operations that ended in it, whenever they were due
	// Operations that were due in it and had not ended when the phase had.
	Never uint64 `json:"never_ended,omitempty"`

	// Operations that were due and not begun at its end.
	Backlog uint64 `json:"backlog,omitempty"`
	// Since when the first of them was due.
	BehindNS uint64 `json:"behind_ns,omitempty"`

	// Times of the operations that were due in it, whenever they ended; of threads that change, service
	// times of what ended in it. They are read a few times in each interval. Where one ends meanwhile, what
	// is neither known to be of it nor of the next is parted by numbers. So they are known to 3 %.
	Response *histogram.Histogram `json:"response_ns"`
	// As [Phase.Late], of the same operations. Nil: none began late, or it is not counted.
	Late []uint64 `json:"late,omitempty"`
}

// Seconds returns how long the interval is.
func (i *Interval) Seconds() float64 { return float64(i.ToNS-i.FromNS) / 1e9 }
