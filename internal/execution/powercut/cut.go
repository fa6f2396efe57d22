package powercut

import (
	"cmp"
	"fmt"
	"math/rand/v2"
)

// Keep is what a cut leaves of the writes after the last flush.
type Keep string

const (
	KeepNone Keep = "none"
	KeepAll  Keep = "all"
	KeepHalf Keep = "half" // each with a probability of a half: a disk writes in any order
	KeepTorn Keep = "torn" // of each, each sector with a probability of a half
)

// Keeps are all of them.
var Keeps = []Keep{KeepNone, KeepAll, KeepHalf, KeepTorn}

// Cut says when a disk's power is cut, and what it then holds.
type Cut struct {
	Of   string `json:"of"`   // the disk that was recorded
	From int    `json:"from"` // events before it are durable in any case: mkfs and the first mount
	At   int    `json:"at"`   // events before it have happened
	Keep Keep   `json:"keep"` // of those after the last flush
	Seed uint64 `json:"seed"` // of which they are
	// IgnoresFlushes: the device answers flushes, and does nothing. A rig that does not refute every
	// store on it proves nothing.
	IgnoresFlushes bool `json:"ignores_flushes,omitempty"`
	// SectorBytes is what the disk writes whole or not at all; 0: SectorBytesMin.
	SectorBytes int64 `json:"sector_bytes,omitempty"`
}

// sectorBytes is what the kernel counts a disk in.
const sectorBytes = 512

// What a disk writes whole is of these sizes, or of a power of two between them.
const (
	SectorBytesMin = sectorBytes
	SectorBytesMax = 4096
)

// apply does to an image what the cut leaves of a log. The image holds what was there before it.
func (l *Log) apply(m *Image, c Cut) error {
	if c.From < 0 || c.At < c.From || c.At > len(l.entries) {
		return fmt.Errorf("a cut at event %d of %d, from %d on", c.At, len(l.entries), c.From)
	}
	durable := c.From
	for i := c.From; i < c.At && !c.IgnoresFlushes; i++ {
		if l.entries[i].Kind == Flush {
			durable = i
		}
	}
	random := rand.New(rand.NewPCG(c.Seed, 0))
	for i := range l.entries[:c.At] {
		e := &l.entries[i]
		if i < durable || e.forced && !c.IgnoresFlushes {
			e.apply(m)
			continue
		}
		switch c.Keep {
		case KeepNone:
		case KeepAll:
			e.apply(m)
		case KeepHalf:
			if random.IntN(2) == 0 {
				e.apply(m)
			}
		case KeepTorn:
			e.tear(m, random, cmp.Or(c.SectorBytes, SectorBytesMin))
		default:
			return fmt.Errorf("a cut keeps %q: expected one of %v", c.Keep, Keeps)
		}
	}
	return nil
}

func (e *entry) apply(m *Image) {
	switch e.Kind {
	case Write:
		m.Write(e.Offset, e.data)
	case Zero:
		m.Zero(e.Offset, e.Bytes)
	}
}

// tear writes some sectors of a write.
func (e *entry) tear(m *Image, random *rand.Rand, whole int64) {
	for at := int64(0); at < e.Bytes; at += whole {
		if length := min(whole, e.Bytes-at); random.IntN(2) == 0 {
			switch e.Kind {
			case Write:
				m.Write(e.Offset+at, e.data[at:at+length])
			case Zero:
				m.Zero(e.Offset+at, length)
			}
		}
	}
}
