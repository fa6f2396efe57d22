package trace

import (
	"errors"
	"fmt"
	"time"
)

// Shift moves what is popular to other records, a part of them at a time. The records are parted by
// their index, modulo Parts; one part after the other, its records change places. So after each shift
// one record in Parts has the popularity of another one of its part, and all others have kept theirs.
type Shift struct {
	Every time.Duration `json:"every_ns"`
	Parts uint64        `json:"parts"`
}

// ShiftPartsMax bounds the parts.
const ShiftPartsMax = 1000

// checkShift holds that operations have times to tell how often popularity has moved before them.
func (s *Spec) checkShift() error {
	o := s.Order
	switch {
	case o.Shift == Shift{}:
		return nil
	case o.Shift.Every <= 0 || o.Shift.Parts < 1 || o.Shift.Parts > ShiftPartsMax:
		return fmt.Errorf("a shift of one record in %d every %s: expected 1 to %d", o.Shift.Parts, o.Shift.Every, ShiftPartsMax)
	case s.Load || o.visitsAll() || o.Distribution == Latest || o.Distribution == Counting || s.Replay != nil:
		return fmt.Errorf("nothing is popular in order %s: it has no shift", o.Distribution)
	case len(s.Segments) == 0:
		return errors.New("a shift needs segments of a rate, which say when operations are due")
	case s.Records < 2*o.Shift.Parts:
		return fmt.Errorf("a shift of one record in %d: there are %d", o.Shift.Parts, s.Records)
	}
	return nil
}

// moved returns the record that has the popularity of an index after so many shifts.
func (s Shift) moved(index, shifts, records uint64) uint64 {
	part := index % s.Parts
	turns := (shifts + s.Parts - 1 - part) / s.Parts // of this part
	if turns == 0 {
		return index
	}
	size := (records - part + s.Parts - 1) / s.Parts
	jump := max(size*5/8, 1)
	return (index/s.Parts+turns*jump)%size*s.Parts + part
}

// shifted returns the record that is drawn when an index is drawn for the operation that is being made.
func (t *threadGenerator) shifted(index uint64) uint64 {
	if t.moments == nil {
		return index
	}
	due := t.moments[min(len(t.starts), len(t.moments))-1]
	return t.Order.Shift.moved(index, due/uint64(t.Order.Shift.Every), t.Records)
}
