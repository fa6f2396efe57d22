// Package trace makes, writes, reads and counts trace files: section 2 of docs/worker-contract.md.
// All of a trial's randomness is in them, made before the clock starts.
//
//	spec.go          what a phase does; segments.go: a rate that changes
//	generate.go      the trace of it; thread.go: a thread's part, due.go: when its operations are due
//	distribution.go  the orders of keys, by zipf.go and permutation.go; shift.go: what moves
//	random.go        random numbers that are the same everywhere
//	appending.go     appends, and the updates that keep values short
//	replay.go        requests of a recording in place of drawn ones
//	recorded.go, finds.go, sampled.go  which operations are recorded, or timed
//	format.go        entries and header
//	ondisk.go        a trace that is larger than memory should hold
//	file.go          a trace as a file; share.go: a digest of a part of it
//	count.go, slots.go, spans.go  what the first entries of a thread come to
//
// # Decisions
//
//   - Histories are of keys, not of operations: the mark is a bit of the trace entry, chosen by
//     the conductor. A worker tests it together with the bit for growing indexes, and reads the
//     clock no further time. A thread whose room is full stops: the history is complete up to a
//     moment that is known (audit.History.UntilNS).
//   - A request is an entry behind its steps, which stay ordinary entries: counted, timed and
//     checked as ever, so that nothing else needs to know of requests. Each worker has a loop of
//     its own for them; traces without requests pay nothing. In results a phase's operations are
//     then its requests, and its steps stand apart: no rate, rank or latency mixes both.
package trace

import (
	"fmt"
	"slices"
)

// Operation is the code of an operation in an entry.
type Operation uint8

const (
	Read            Operation = 1
	Insert          Operation = 2
	Update          Operation = 3
	Upsert          Operation = 4
	Delete          Operation = 5
	Scan            Operation = 6
	Batch           Operation = 7
	ReadModifyWrite Operation = 8
	CompareAndSwap  Operation = 9
	Add             Operation = 10

	Query Operation = 11
	Count Operation = 12

	// Modify updates the columns that follow the version, and leaves the others.
	Modify Operation = 13

	// Request stands after its steps, which are operations on one key, and calls no store: its time
	// and outcome are those of all of them.
	Request Operation = 14

	// Increment adds 1 to the counter of a record.
	Increment Operation = 15

	// DeleteQuery deletes the records that a query finds.
	DeleteQuery Operation = 16

	// ReadOrFill reads and, where nothing is there, puts a value, as who reads through a cache does.
	ReadOrFill Operation = 18

	// Touch gives a record another TTL, and leaves its value.
	Touch Operation = 19

	// Append adds a part to the value that is there.
	Append Operation = 20

	// GetAndSet puts a value and returns the one that it replaced, in one step.
	GetAndSet Operation = 21

	// MultiRead reads the keys of its members, which are reads, in one call of the store.
	MultiRead Operation = 23

	operationEnd Operation = 24
)

var operationNames = [operationEnd]string{
	Read: "read", Insert: "insert", Update: "update", Upsert: "upsert", Delete: "delete", Scan: "scan", Batch: "batch",
	ReadModifyWrite: "read_modify_write", CompareAndSwap: "compare_and_swap", Add: "add", Query: "query", Count: "count",
	Modify: "modify", Request: "request", Increment: "increment", DeleteQuery: "delete_query",
	MultiRead: "multi_read", ReadOrFill: "read_or_fill", Touch: "touch", Append: "append", GetAndSet: "get_and_set",
}

func (o Operation) String() string {
	if o.Known() {
		return operationNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// Known says if this version of the contract defines the operation.
func (o Operation) Known() bool { return o < operationEnd && operationNames[o] != "" }

// HasMembers says if the entries behind the operation's own are its members, as many as its size class
// gives: one test of the measured loop.
func (o Operation) HasMembers() bool { return o&15 == Batch }

// Puts says if the operation, or a batch's member of this kind, puts a whole value, of the length
// that its size class gives.
func (o Operation) Puts() bool {
	switch o {
	case Insert, Update, Upsert, ReadModifyWrite, CompareAndSwap, Add, ReadOrFill, GetAndSet:
		return true
	}
	return false
}

// Writes says if the operation, or a batch's member of this kind, leaves its version with the key.
func (o Operation) Writes() bool { return o.Puts() || o == Modify || o == Append }

// Replaces says if the operation writes and returns what it replaced, in one step of the store.
func (o Operation) Replaces() bool { return o == CompareAndSwap || o == GetAndSet }

// TakesTTL says if the operation's value may have a TTL.
func (o Operation) TakesTTL() bool {
	return o == Insert || o == Update || o == Upsert || o == ReadOrFill || o == Touch
}

// Changes says if the operation changes what a store holds: it writes, deletes, increments, gives another
// TTL, or is a batch, which does nothing else. All others only look.
func (o Operation) Changes() bool {
	return o.Writes() || o.Deletes() || o == Increment || o == Touch || o == Batch
}

// Deletes says if the operation removes records.
func (o Operation) Deletes() bool { return o == Delete || o == DeleteQuery }

// Asks says if the operation is a question about records: its size class gives a query's number.
func (o Operation) Asks() bool { return o == Query || o == Count || o == DeleteQuery }

// Finds says if the operation looks for records and gives or counts them.
func (o Operation) Finds() bool { return o == Scan || o == Query || o == Count }

// OneKey says if the operation is about the key of its index alone: only such entries, and members
// of batches, can be recorded.
func (o Operation) OneKey() bool { return o == Read || o == Delete || o == Increment || o.Writes() }

// Conditional says if the operation asks for something to be so before it writes: a conflict is
// then an answer.
func (o Operation) Conditional() bool { return o == Add || o == CompareAndSwap }

// OperationNames returns the names of all operations, in the order of their codes.
func OperationNames() (names []string) {
	for o := range operationEnd {
		if o.Known() {
			names = append(names, o.String())
		}
	}
	return names
}

// ParseOperation returns the operation of a name.
func ParseOperation(name string) (Operation, bool) {
	for code, n := range operationNames {
		if n == name && name != "" {
			return Operation(code), true
		}
	}
	return 0, false
}

// Entry is one operation of a trace: what to do, how much of it, and to which key.
type Entry uint64

const (
	growsBit  = 1 << 61
	memberBit = 1 << 62
	recordBit = 1 << 63
)

// MakeEntry packs an entry. sizeClass is a position in [File].Amounts.
func MakeEntry(o Operation, index uint64, sizeClass uint8, grows bool) Entry {
	e := Entry(index) | Entry(sizeClass)<<48 | Entry(o)<<56
	if grows {
		e |= growsBit
	}
	return e
}

// Member returns the entry as a member of the batch before it.
func (e Entry) Member() Entry { return e | memberBit }

// Record returns the entry as one that the history file records.
func (e Entry) Record() Entry { return e | recordBit }

// What an entry says: the index of its record, the class of its size, what is done, and whether the index
// grows with each lap, it is a member of a batch, and it is recorded.
func (e Entry) Index() uint64        { return uint64(e) & (1<<48 - 1) }
func (e Entry) SizeClass() uint8     { return uint8(e >> 48) }
func (e Entry) Operation() Operation { return Operation(e>>56) & 31 }
func (e Entry) Grows() bool          { return e&growsBit != 0 }
func (e Entry) IsMember() bool       { return e&memberBit != 0 }
func (e Entry) IsRecorded() bool     { return e&recordBit != 0 }

// IsSpecial reports whether the entry grows or is recorded, which no entry does both: one test of
// the measured loop.
func (e Entry) IsSpecial() bool { return e&(growsBit|recordBit) != 0 }

// EffectiveIndex returns the index in a lap.
func (e Entry) EffectiveIndex(lap, stride uint64) uint64 {
	if e.Grows() {
		return e.Index() + lap*stride
	}
	return e.Index()
}

const (
	magic          = "ASSAYTRC"
	formatVersion  = 3
	headerBytes    = 4096
	directoryBytes = 128
	operationsMax  = 32
	amountsAt      = 1024
	ttlsAt         = 2048
	backendsAt     = 3072

	// SlotsMax bounds the slots of a trace. In the headers of both files, from SlotsAt on, stand their
	// operations and then their queries.
	SlotsMax = 256
	SlotsAt  = 64

	// ThreadsMax is the largest number of threads of a trace.
	ThreadsMax = 65535

	// ProcessesMax is how many processes may do a phase together.
	ProcessesMax = 1000
)

// Flags of a trace file.
const (
	FlagDue            = 1 << 0 // threads have due times: open load
	FlagRecordVersions = 1 << 1 // the phase records what each read returned
	FlagHistory        = 1 << 2 // recorded entries go into the history file
	FlagHandleTimes    = 1 << 3 // how long each take of a handle took is counted
	FlagSampled        = 1 << 4 // one operation in File.TimedEvery is timed
	FlagFinds          = 1 << 5 // some scans, queries and counts are recorded, with what they found
	FlagExpiry         = 1 << 6 // puts may have a TTL, and reads are held against it
	FlagPauses         = 1 << 7 // threads pause before their operations: closed load with think time
	flagsKnown         = FlagPauses | FlagDue | FlagRecordVersions | FlagHistory | FlagHandleTimes | FlagSampled |
		FlagFinds | FlagExpiry
)

// Thread is one thread's part of a trace.
type Thread struct {
	Entries  []Entry
	Stride   uint64   // added to the index of entries that grow, each lap
	Due      []uint64 // ns from the start, as many as Entries; nil: closed load
	LapNS    uint64   // added to Due each lap
	Pauses   []uint64 // ns before each entry begins, from the end of the one before; as many as Entries; nil: none
	Group    uint32   // client group
	Endpoint uint32   // the endpoint to start with
	Limit    uint64   // entries to do in all; 0: until the deadline
	FromNS   uint64   // the thread begins so long after the phase's start
	UntilNS  uint64   // and ends at this moment after it; 0: the phase's deadline alone ends it

	disk *onDisk // that Entries and Due stand in; nil: they are in memory
}

// File is a trace in memory: made by a generator, or a mapped file.
type File struct {
	Flags      uint32
	Groups     uint32
	Operations []Operation // of each slot of the counters, ascending; several slots of one that asks
	// of each slot: the query that it asks, ascending within an operation, 0 where it asks none;
	// nil: all 0
	Queries    []uint8
	Amounts    [256]uint32
	TTLs       [256]uint32 // of each size class, for how many ms a put of it is to live; 0: without an end
	Backends   [256]uint32 // of each size class, how many µs a fill of it waits before it puts; see also PartOf
	Seed       uint64
	TimedEvery uint64 // of so many operations one is timed; 0: all are
	Threads    []Thread

	disk *onDisk // nil: it is in memory
}

// HasRequests reports whether the thread's operations belong to requests: then its last one does.
func (t *Thread) HasRequests() bool {
	last := len(t.Entries) - 1
	return last >= 0 && t.Entries[last].Operation() == Request
}

// HasRequests reports whether a thread's operations belong to requests.
func (f *File) HasRequests() bool {
	return slices.ContainsFunc(f.Threads, func(t Thread) bool { return t.HasRequests() })
}

// Counted returns the codes of the operations that a rate counts, in a trace or a part of one whose
// threads either all have requests or none has: it counts these alone where there are any. It looks
// at all threads.
func (f *File) Counted() (counted [operationsMax]bool) {
	requests := f.HasRequests()
	for o := range counted {
		counted[o] = Operation(o) == Request || !requests
	}
	return counted
}

// Part returns the threads from one to before another as a trace of their own, with the slots of the
// whole.
func (f *File) Part(from, to int) *File {
	part := *f
	part.Threads = f.Threads[from:to]
	return &part
}

// GroupThreads returns where each client group's threads begin in the trace, and where the last
// one's end: those of a group stand one after the other.
func (f *File) GroupThreads() []int {
	bounds := []int{0}
	for i := range f.Threads {
		for len(bounds) <= int(f.Threads[i].Group) {
			bounds = append(bounds, i)
		}
	}
	for len(bounds) <= int(f.Groups) {
		bounds = append(bounds, len(f.Threads))
	}
	return bounds
}

// EntryAt returns the entry at a sequence number and its effective index.
func (t *Thread) EntryAt(sequence uint64) (Entry, uint64) {
	n := uint64(len(t.Entries))
	e := t.Entries[sequence%n]
	return e, e.EffectiveIndex(sequence/n, t.Stride)
}

// Expires reports whether values may have a TTL, of this trace or of one before it.
func (f *File) Expires() bool { return f.Flags&FlagExpiry != 0 }

// PartOf returns which part of a record's value an append adds, counted from 1 in its thread since that put
// the value. It stands where fills have their wait.
func (f *File) PartOf(e Entry) uint32 { return f.Backends[e.SizeClass()] }

// AnyLength lets Wrote pass over the length: records with columns have no length in the trace.
const AnyLength = -1

// Wrote says if the version is of a whole value in this trace, of this index and this length: step 3 of
// section 1.4.
func (f *File) Wrote(thread int, sequence, index uint64, length int) bool {
	return f.WrotePart(thread, sequence, index, length) &&
		f.Threads[thread].Entries[sequence%uint64(len(f.Threads[thread].Entries))].Operation() != Append
}

// WrotePart is Wrote of a whole value, or of a part that was appended to one.
func (f *File) WrotePart(thread int, sequence, index uint64, length int) bool {
	if thread >= len(f.Threads) || len(f.Threads[thread].Entries) == 0 {
		return false
	}
	t := &f.Threads[thread]
	if t.Limit != 0 && sequence >= t.Limit {
		return false
	}
	e, effective := t.EntryAt(sequence)
	return e.Operation().Writes() && effective == index &&
		(length == AnyLength || int(f.Amounts[e.SizeClass()]) == length)
}
