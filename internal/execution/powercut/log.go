package powercut

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"assay/internal/base/clock"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// EventKind is what happened.
type EventKind string

const (
	Write EventKind = "write"
	Zero  EventKind = "zero"  // a range was zeroed or discarded
	Flush EventKind = "flush" // what came before it is durable
	Tick  EventKind = "tick"  // nothing but an acknowledgement
	Tree  EventKind = "tree"  // a change of a strict file system
)

// Event is one entry of a log. The stamp says how far the phase under way was just before it.
type Event struct {
	Kind   EventKind `json:"kind"`
	Offset int64     `json:"offset,omitempty"`
	Bytes  int64     `json:"bytes,omitempty"`
	Stamp
}

// Stamp is how far the threads of a phase were.
type Stamp struct {
	NS           int64    `json:"ns"`    // of CLOCK_MONOTONIC
	Phase        int      `json:"phase"` // as Watch numbered it; -1: none was watched
	Attempted    []uint64 `json:"attempted,omitempty"`
	Acknowledged []uint64 `json:"acknowledged,omitempty"`
}

// entry is an event and its data.
type entry struct {
	Event
	data   []byte
	forced bool    // a write that is durable once it is done (FUA); a loop device makes none
	change *change // of a strict file system; nil: of a disk
}

// Log is what was done to a disk, in order. Its user locks it.
type Log struct {
	entries []entry
	bytes   int64
	watched *watched // nil: nothing is acknowledged
	last    Stamp
}

// logBytesMax bounds what a recording may take of the memory.
const logBytesMax = 1 << 30

var errLogFull = fmt.Errorf("the recording has reached %d bytes", logBytesMax)

// watched are the counters of a phase under way.
type watched struct {
	phase    int
	counters *counters.File
}

// watch maps the counters of a phase.
func watch(phase int, tracePath, countersPath string) (*watched, error) {
	file, unmap, err := trace.Map(tracePath)
	if err != nil {
		return nil, err
	}
	c, err := counters.Open(countersPath, file)
	if err != nil {
		_ = unmap() // the first error says more
		return nil, err
	}
	return &watched{phase, c}, unmap()
}

// stamp looks at the counters. What is acknowledged is read first: each such entry was attempted.
func (l *Log) stamp() Stamp {
	s := Stamp{NS: clock.MonotonicNS(), Phase: l.last.Phase, Attempted: l.last.Attempted,
		Acknowledged: l.last.Acknowledged}
	if l.watched == nil {
		return s
	}
	c := l.watched.counters
	s.Phase, s.Attempted, s.Acknowledged = l.watched.phase, make([]uint64, c.Threads()), make([]uint64, c.Threads())
	for i := range s.Acknowledged {
		s.Acknowledged[i] = atomic.LoadUint64(&c.Thread(i).Acknowledged)
	}
	for i := range s.Attempted {
		s.Attempted[i] = atomic.LoadUint64(&c.Thread(i).Attempted)
	}
	l.last = s
	return s
}

// add logs an event; data is copied.
func (l *Log) add(kind EventKind, offset, length int64, data []byte) error {
	if l.bytes += int64(len(data)); l.bytes > logBytesMax {
		return errLogFull
	}
	l.entries = append(l.entries, entry{Event: Event{kind, offset, length, l.stamp()}, data: bytes.Clone(data)})
	return nil
}

// addChange logs a change of a strict file system; its data is copied.
func (l *Log) addChange(c change) error {
	if l.bytes += int64(len(c.data)); l.bytes > logBytesMax {
		return errLogFull
	}
	c.data = bytes.Clone(c.data)
	l.entries = append(l.entries, entry{Event: Event{Kind: Tree, Bytes: int64(len(c.data)), Stamp: l.stamp()},
		change: &c})
	return nil
}

// tick logs an acknowledgement, if there was one since the last event.
func (l *Log) tick() {
	before := l.last
	if s := l.stamp(); s.Phase != before.Phase || !slices.Equal(s.Acknowledged, before.Acknowledged) {
		l.entries = append(l.entries, entry{Event: Event{Kind: Tick, Stamp: s}})
	}
}

// events are the log without its data.
func (l *Log) events() []Event {
	all := make([]Event, len(l.entries))
	for i := range l.entries {
		all[i] = l.entries[i].Event
	}
	return all
}
