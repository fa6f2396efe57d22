package trace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Query returns the query that a slot's operation asks; 0 where it asks none.
func (f *File) Query(slot int) int {
	if f.Queries == nil {
		return 0
	}
	return int(f.Queries[slot])
}

// Slots finds the slot that counts an entry: each question has one of its own, and each other
// operation.
type Slots struct {
	of    [operationsMax]int         // of what asks nothing; -1: the header does not list it
	asked [operationsMax]*[256]int16 // of what asks, by size class
}

// Slots returns the slots of a trace.
func (f *File) Slots() *Slots {
	s := &Slots{}
	for o := range s.of {
		s.of[o] = -1
	}
	for slot, o := range f.Operations {
		if !o.Asks() {
			s.of[o] = slot
			continue
		}
		if s.asked[o] == nil {
			s.asked[o] = &[256]int16{}
			for class := range s.asked[o] {
				s.asked[o][class] = -1
			}
		}
		for class, amount := range f.Amounts {
			if amount == uint32(f.Query(slot)) {
				s.asked[o][class] = int16(slot)
			}
		}
	}
	return s
}

// Of returns the slot of an entry; -1: the header does not list it.
func (s *Slots) Of(e Entry) int {
	o := e.Operation()
	if !o.Asks() {
		return s.of[o]
	}
	if s.asked[o] == nil {
		return -1
	}
	return int(s.asked[o][e.SizeClass()])
}

// question is what a slot counts.
type question struct {
	operation Operation
	query     uint32
}

func (q question) String() string {
	if q.operation.Asks() {
		return fmt.Sprintf("%s by query %d", q.operation, q.query)
	}
	return q.operation.String()
}

func (f *File) questionOf(e Entry) question {
	q := question{operation: e.Operation()}
	if q.operation.Asks() {
		q.query = f.Amounts[e.SizeClass()]
	}
	return q
}

// ListSlots sets the slots that the threads' entries need, members of batches aside.
func (f *File) ListSlots() error {
	var occurs [operationsMax][256]bool // by size class
	for i := range f.Threads {
		for _, e := range f.Threads[i].Entries {
			if !e.IsMember() {
				occurs[e.Operation()][e.SizeClass()] = true
			}
		}
	}
	f.Operations, f.Queries = nil, nil
	var all []question
	for o := range occurs {
		for class, occurs := range occurs[o] {
			if occurs {
				all = append(all, f.questionOf(MakeEntry(Operation(o), 0, uint8(class), false)))
			}
		}
	}
	slices.SortFunc(all, func(a, b question) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(a.query, b.query))
	})
	for _, q := range slices.Compact(all) {
		if q.query > 255 {
			return fmt.Errorf("%s asks query %d: expected 0 to 255", q.operation, q.query)
		}
		f.Operations, f.Queries = append(f.Operations, q.operation), append(f.Queries, uint8(q.query))
	}
	return nil
}

// EncodeSlots writes the slots into the header of a trace or of its counters.
func (f *File) EncodeSlots(header []byte) {
	for slot, o := range f.Operations {
		header[SlotsAt+slot], header[SlotsAt+SlotsMax+slot] = byte(o), byte(f.Query(slot))
	}
}

// decodeSlots reads the slots of a trace's header.
func (f *File) decodeSlots(header []byte) error {
	n := binary.LittleEndian.Uint32(header[36:])
	if n > SlotsMax {
		return fmt.Errorf("trace of %d slots: expected at most %d", n, SlotsMax)
	}
	for _, code := range header[SlotsAt : SlotsAt+n] {
		f.Operations = append(f.Operations, Operation(code))
	}
	f.Queries = slices.Clone(header[SlotsAt+SlotsMax : SlotsAt+SlotsMax+n]) // the file may be unmapped
	return nil
}

// checkSlots holds the order of the slots.
func (f *File) checkSlots() error {
	if len(f.Operations) > SlotsMax || f.Queries != nil && len(f.Queries) != len(f.Operations) {
		return fmt.Errorf("a trace has at most %d slots, each with an operation and a query", SlotsMax)
	}
	for slot, o := range f.Operations {
		if !o.Known() {
			return fmt.Errorf("trace uses operation %d, which this program does not know", o)
		}
		if !o.Asks() && f.Query(slot) != 0 {
			return fmt.Errorf("trace says that %s asks query %d", o, f.Query(slot))
		}
		if slot == 0 {
			continue
		}
		if before := f.Operations[slot-1]; o < before || o == before && f.Query(slot) <= f.Query(slot-1) {
			return errors.New("trace lists its operations out of order")
		}
	}
	return nil
}

// Does says of each slot whether a thread has entries that it counts.
func (f *File) Does() []bool {
	does, slots := make([]bool, len(f.Operations)), f.Slots()
	for i := range f.Threads {
		for _, e := range f.Threads[i].Entries {
			if !e.IsMember() {
				does[slots.Of(e)] = true
			}
		}
	}
	return does
}

// MayHave says if threads can have an operation of these among their entries, members of batches and
// multi-reads aside: by the list of slots, without a look at millions of entries. A trace that lists
// none may have all.
func (f *File) MayHave(operations ...Operation) bool {
	return len(f.Operations) == 0 ||
		slices.ContainsFunc(f.Operations, func(o Operation) bool { return slices.Contains(operations, o) })
}

// Has says if a thread has the operation among its entries, members of batches aside.
func (f *File) Has(o Operation) bool {
	return f.MayHave(o) && slices.ContainsFunc(f.Threads, func(t Thread) bool {
		return slices.ContainsFunc(t.Entries, func(e Entry) bool { return e.Operation() == o && !e.IsMember() })
	})
}
