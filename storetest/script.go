package storetest

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// script is a phase to be run: entries written down by hand, and how to run them.
type script struct {
	threads []trace.Thread
	amounts []uint32
	ttls    [256]uint32 // ms, of each size class
	parts   [256]uint32 // of appends, which part of its thread it is
	flags   uint32
	lives   *livesFile // nil: no value of the trial has a TTL

	valueMin     int // shorter values are made to fit
	valueMax     int // longer ones too; 0: none are
	keys         keyval.KeyShape
	poolSeed     uint64
	tag          uint32 // the trial's
	zeroVersions bool
	unverified   bool // values that are read are not checked
	longOnly     bool // no value is shorter than a stamp: one that is is none of the trial's
	loaded       uint64
	mustHitBelow uint64
	deadline     time.Duration
	endless      bool // until the deadline or stop, not once through
	clock        string
	timedEvery   uint64 // of so many operations one is timed; 0: all are
	historyEach  int    // records that each thread has room for; 0: historyEach
}

// trialTag is the tag of all scripts that do not say otherwise.
const trialTag = 0x5eed5eed

// script returns an empty script for some threads, with keys that suit the driver. It is verified,
// and each thread goes through its entries once.
func (b *bench) script(threads int) *script {
	return &script{threads: make([]trace.Thread, threads), valueMin: b.description.ValueBytesMin, valueMax: b.description.ValueBytesMax, keys: b.keys(), poolSeed: 1, tag: trialTag, clock: "monotonic"}
}

// classOf returns the size class of an operation. A value that is longer than the driver claims to
// take becomes one of the upper half of what it takes, so that lengths which differ still do; one that
// is shorter becomes the shortest.
func (s *script) classOf(o trace.Operation, amount int) uint8 {
	if o.Puts() {
		amount = max(amount, s.valueMin)
	}
	if o.Puts() && s.valueMax > 0 && amount > s.valueMax {
		amount = s.valueMax - amount%(s.valueMax/2+1)
	}
	return s.sizeClass(amount)
}

// sizeClass returns the class of an amount: a value's length, a scan's records, a batch's or multi-read's members.
func (s *script) sizeClass(amount int) uint8 { return s.sizeClassFor(amount, 0, 0) }

// sizeClassFor returns the class of a value that lives for so many ms, or is such a part.
func (s *script) sizeClassFor(amount int, ttlMS, part uint32) uint8 {
	at := 0
	for at < len(s.amounts) && (s.amounts[at] != uint32(amount) || s.ttls[at] != ttlMS || s.parts[at] != part) {
		at++
	}
	if at == len(s.amounts) {
		if at > 255 {
			panic("storetest: a script of more than 256 different amounts")
		}
		s.amounts, s.ttls[at], s.parts[at] = append(s.amounts, uint32(amount)), ttlMS, part
	}
	return uint8(at)
}

// do appends one operation to a thread.
func (s *script) do(thread int, o trace.Operation, index uint64, amount int) {
	s.append(thread, trace.MakeEntry(o, index, s.classOf(o, amount), false))
}

// appendPart appends an append of a thread's part of a value, of partBytes.
func (s *script) appendPart(thread int, index uint64, part int) {
	s.append(thread, trace.MakeEntry(trace.Append, index, s.sizeClassFor(partBytes, 0, uint32(part)), false))
}

// doFor appends one put of a value with a TTL, or a touch, to the first thread.
func (s *script) doFor(o trace.Operation, index uint64, amount int, ttl time.Duration) {
	length := int(s.amountOf(s.classOf(o, amount)))
	s.append(0, trace.MakeEntry(o, index, s.sizeClassFor(length, uint32(ttl.Milliseconds()), 0), false))
}

func (s *script) amountOf(class uint8) uint32 { return s.amounts[class] }

// grow appends one operation whose index grows with each lap.
func (s *script) grow(thread int, o trace.Operation, index uint64, amount int) {
	s.append(thread, trace.MakeEntry(o, index, s.classOf(o, amount), true))
}

func (s *script) append(thread int, e trace.Entry) {
	s.threads[thread].Entries = append(s.threads[thread].Entries, e)
}

// write is a batch's member.
type write struct {
	operation trace.Operation
	index     uint64
	length    int
}

func (s *script) batch(thread int, writes ...write) {
	s.do(thread, trace.Batch, 0, len(writes))
	for _, w := range writes {
		s.append(thread, trace.MakeEntry(w.operation, w.index, s.classOf(w.operation, w.length), false).Member())
	}
}

// multiRead appends a call that reads these keys.
func (s *script) multiRead(thread int, indexes ...uint64) {
	s.do(thread, trace.MultiRead, 0, len(indexes))
	for _, index := range indexes {
		s.append(thread, trace.MakeEntry(trace.Read, index, 0, false).Member())
	}
}

// file makes the trace.
func (s *script) file() (*trace.File, error) {
	f := &trace.File{Flags: s.flags, Groups: 1, TimedEvery: s.timedEvery, Threads: slices.Clone(s.threads)}
	if s.timedEvery > 0 {
		f.Flags |= trace.FlagSampled
	}
	copy(f.Amounts[:], s.amounts)
	f.Backends = s.parts
	if f.TTLs = s.ttls; s.lives != nil {
		f.Flags |= trace.FlagExpiry
	}
	for i := range f.Threads {
		t := &f.Threads[i]
		if !s.endless && t.Limit == 0 {
			t.Limit = uint64(len(t.Entries))
		}
	}
	if err := f.ListSlots(); err != nil {
		return nil, fmt.Errorf("storetest: %w", err)
	}
	if len(f.Operations) == 0 {
		return nil, fmt.Errorf("storetest: a script without operations")
	}
	return f, nil
}

// short returns the lengths of the script's values that have no room for a stamp.
func (s *script) short() (lengths uint32) {
	for i := range s.threads {
		for _, e := range s.threads[i].Entries {
			if e.Operation().Puts() {
				lengths |= keyval.ShortLength(int(s.amounts[e.SizeClass()]))
			}
		}
	}
	return lengths
}

// lengthMax returns the longest value of the script.
func (s *script) lengthMax() int {
	longest := keyval.StampBytes
	for i := range s.threads {
		for _, e := range s.threads[i].Entries {
			if o := e.Operation(); o.Puts() || o == trace.Append {
				longest = max(longest, int(s.amounts[e.SizeClass()]))
			}
		}
	}
	return longest
}
