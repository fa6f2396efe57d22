// Package counters is the shared-memory file in which a worker says what it has done: section 3 of
// docs/worker-contract.md. The conductor makes it and samples it; each word has one writer, and
// nothing locks.
//
// # Decisions
//
//   - lost is an outcome of its own beside miss. The design's identity had only miss; but whether
//     a miss is a finding depends on whether the key must be there, which the worker knows for
//     loaded records (must_hit_below), and a reader must see the two apart.
//   - Tasks that are processes share one trace and one counters file, and each does a range of the
//     threads: whether clients are threads or processes is no matter of the work, nor of what is
//     made of the counters. What a process says of itself (start, end, clock) stands in a page of
//     its own, so that each word still has one writer. They count from a moment that the conductor
//     names, and by CLOCK_MONOTONIC: the TSC is calibrated in each process, and histories are
//     compared across them.
//   - The store's own counters are sampled without a message: a worker may answer prepare with the
//     names of its counters and then keep their values in the header of the counters file. The
//     worker is still never spoken to during an operation.
package counters

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/histogram"
	"assay/internal/experiment/trace"
)

const (
	magic         = "ASSAYCNT"
	formatVersion = 4
	pageBytes     = 4096 // of the header
	slotsAt       = 256  // in a thread's block
	histogramAt   = 128  // in a slot
	errorBytes    = 256
	errorTextMax  = errorBytes - 20

	// ErrorPlaces is how many distinct messages a thread keeps; the last place collects the rest.
	ErrorPlaces = 8

	flagResponse    = 1 << 0
	flagHandleTimes = 1 << 1
)

// The header has a page for each process that does a part of the phase: of the words that workers
// write, each process has those of its own page. What the conductor writes stands in the first.
//
// The words of a page that workers write, and the conductor's stop.
const (
	wordState      = 1024 / 8
	wordStart      = 1032 / 8
	wordEnd        = 1040 / 8
	wordClock      = 1048 / 8
	wordClockDrift = 1056 / 8
	wordStop       = 2048 / 8
	wordRounds     = 3064 / 8
	wordStats      = 3072 / 8
)

// StatsMax is how many of a store's own counters a worker may tell while a phase runs.
const StatsMax = (pageBytes - 3072) / 8

// States of a phase and of a thread.
const (
	NotBegun = 0
	Running  = 1
	Ended    = 2
	Stuck    = 3 // a thread that could not go on
)

// Clocks.
const (
	ClockTSC       = 1
	ClockMonotonic = 2
)

// Outcome is a position in a slot.
type Outcome int

const (
	OK Outcome = iota
	Miss
	Lost
	Conflict
	Wrong
	Error
	Timeout
	Outcomes // how many there are
)

var outcomeNames = [Outcomes]string{"ok", "miss", "lost", "conflict", "wrong", "error", "timeout"}

func (o Outcome) String() string { return outcomeNames[o] }

// Observed words of a verify phase that are no version: section 5.
const (
	ObservedMiss    = ^uint64(0)
	ObservedWrong   = ^uint64(0) - 1
	ObservedError   = ^uint64(0) - 2
	ObservedNotRead = ^uint64(0) - 3
	ObservedShort   = ^uint64(0) - 4
	ObservedForeign = ^uint64(0) - 5 // right but for the tag: a value of another trial

	// ObservedLowest is the lowest of these words: what is below is a version.
	ObservedLowest = ObservedForeign
)

// Slot is the counters of one operation, or of one question, in one thread.
type Slot struct {
	Outcomes     [Outcomes]uint64
	BytesWritten uint64
	BytesRead    uint64
	Items        uint64
	ServiceMaxNS uint64
	Foreign      uint64 // of Wrong: values of another trial
	SortSum      uint64 // of queries with an order: the numbers in the sort column of what they found
	Absent       uint64 // of multi-reads that were ok, missed or lost: keys that were not there
	Calls        uint64 // that multi-reads made, of all that did not fail
	_            [1]uint64
	Service      [histogram.Buckets]uint64
}

// CountTime counts a service time. One below 0, which two processors' counters may give, is 0.
func (s *Slot) CountTime(ns int64) {
	service := uint64(max(ns, 0))
	s.Service[histogram.Bucket(service)]++
	if service > s.ServiceMaxNS { // a store each time costs more
		s.ServiceMaxNS = service
	}
}

// Thread is the head of a thread's block.
type Thread struct {
	Attempted     uint64
	Acknowledged  uint64
	NowNS         uint64
	State         uint64
	HandleWaitNS  uint64
	HandlesOpened uint64
	LatenessMaxNS uint64
	Late          [LatenessWords]uint64 // operations by dispatch lateness: see LatenessWord
}

// The structs are laid over mapped memory: their sizes are the file format.
var (
	_ [slotsAt]byte                           = [unsafe.Sizeof(Thread{})]byte{}
	_ [histogramAt + 8*histogram.Buckets]byte = [unsafe.Sizeof(Slot{})]byte{}
)

// File is a mapped counters file.
type File struct {
	data          []byte
	words         []uint64
	threads       int
	slots         *trace.File // tells what each slot counts
	response      bool
	handleTimes   bool
	threadBytes   int
	slotBytes     int
	handleTimesAt int // in a thread's block
	observedAt    int
	pages         int // of the header
	page          int // whose words these are: see Process
	first         int // thread: of a part of a file; see Part
}

// Bytes returns the size of the counters file for a trace that so many processes do.
func Bytes(t *trace.File, processes int) uint64 {
	f := fileOf(t, processes)
	total := f.pages*pageBytes + f.threads*f.threadBytes
	if t.Flags&trace.FlagRecordVersions != 0 {
		for i := range t.Threads {
			total += 8 * len(t.Threads[i].Entries)
		}
	}
	return uint64(total)
}

// Create makes the counters file for a trace, at a name that does not exist yet, and maps it. A
// worker can truncate such a file: for workers that are not trusted, see [CreateIn].
func Create(name string, t *trace.File) (*File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the counters file: %w", err)
	}
	defer file.Close()
	return CreateIn(file, t, 1)
}

// fileOf returns the shape of the counters of a trace.
func fileOf(t *trace.File, processes int) *File {
	f := &File{threads: len(t.Threads), slots: t, response: t.Flags&trace.FlagDue != 0,
		handleTimes: t.Flags&trace.FlagHandleTimes != 0, pages: processes}
	f.measure()
	if t.Flags&trace.FlagRecordVersions != 0 {
		f.observedAt = f.pages*pageBytes + f.threads*f.threadBytes
	}
	return f
}

// CreateIn writes the counters of a trace that so many processes do into an empty file and maps it.
func CreateIn(file *os.File, t *trace.File, processes int) (*File, error) {
	return createParts(file, t, processes)
}

// Share is the part of a trace's threads that one of several processes does.
type Share struct{ Process, First, Count int }

// CreateShareIn is CreateIn, but takes memory for a share alone: the other threads are on other
// machines, and their counters here are not touched.
func CreateShareIn(file *os.File, t *trace.File, processes int, s Share) (*File, error) {
	return createParts(file, t, processes, shareOf(t, processes, s)...)
}

// ShareBytes is how much memory the counters of a share take.
func ShareBytes(t *trace.File, processes int, s Share) (bytes uint64) {
	for _, part := range shareOf(t, processes, s) {
		bytes += uint64(part[1])
	}
	return bytes
}

// shareOf returns the parts of the counters that a share needs: the head, its process's page, its
// threads, and what is behind the threads.
func shareOf(t *trace.File, processes int, s Share) [][2]int64 {
	f := fileOf(t, processes)
	from := f.pages * pageBytes
	behind := from + f.threads*f.threadBytes
	return [][2]int64{{0, pageBytes}, {int64(s.Process * pageBytes), pageBytes},
		{int64(from + s.First*f.threadBytes), int64(s.Count * f.threadBytes)}, {int64(behind),
			int64(Bytes(t, processes)) - int64(behind)}}
}

func createParts(file *os.File, t *trace.File, processes int, parts ...[2]int64) (*File, error) {
	f := fileOf(t, processes)
	total := int(Bytes(t, processes))
	data, err := makeFile(file, total, parts...)
	if err != nil {
		return nil, fmt.Errorf("making the counters file: %w", err)
	}
	f.lay(data)
	le := binary.LittleEndian
	copy(f.data, magic)
	le.PutUint32(f.data[8:], formatVersion)
	le.PutUint32(f.data[12:], uint32(f.pages*pageBytes))
	le.PutUint32(f.data[16:], uint32(f.threads))
	le.PutUint32(f.data[20:], uint32(len(t.Operations)))
	le.PutUint64(f.data[24:], uint64(f.threadBytes))
	le.PutUint32(f.data[32:], histogram.SubBucketBits)
	le.PutUint32(f.data[36:], histogram.Buckets)
	le.PutUint32(f.data[40:], ErrorPlaces)
	le.PutUint32(f.data[44:], f.flags())
	le.PutUint64(f.data[48:], uint64(f.observedAt))
	t.EncodeSlots(f.data)
	observed := f.Observed()
	for i := range observed {
		observed[i] = ObservedNotRead
	}
	return f, nil
}

func (f *File) measure() {
	f.slotBytes = histogramAt + 8*histogram.Buckets
	if f.response {
		f.slotBytes += 8 * histogram.Buckets
	}
	f.handleTimesAt = slotsAt + len(f.slots.Operations)*f.slotBytes + ErrorPlaces*errorBytes
	f.threadBytes = f.handleTimesAt
	if f.handleTimes {
		f.threadBytes += 8 * histogram.Buckets
	}
	f.threadBytes = (f.threadBytes + 127) &^ 127
}

func (f *File) flags() (flags uint32) {
	if f.response {
		flags |= flagResponse
	}
	if f.handleTimes {
		flags |= flagHandleTimes
	}
	return flags
}

func (f *File) lay(data []byte) {
	f.data, f.words = data, unsafe.Slice((*uint64)(unsafe.Pointer(&data[0])), len(data)/8)
}

// Open maps a counters file that fits the trace; it is the worker's side.
func Open(name string, t *trace.File) (*File, error) {
	data, err := openFile(name, 0)
	if err != nil {
		return nil, fmt.Errorf("counters file: %w", err)
	}
	pages := int(binary.LittleEndian.Uint32(data[12:])) / pageBytes
	f := fileOf(t, min(max(pages, 1), trace.ProcessesMax))
	f.lay(data)
	if err := f.adopt(t); err != nil {
		_ = f.Unmap() // what is wrong with the file says more
		return nil, fmt.Errorf("counters file %s: %w", name, err)
	}
	return f, nil
}

// adopt checks the header against the trace.
func (f *File) adopt(t *trace.File) error {
	le := binary.LittleEndian
	if string(f.data[:8]) != magic {
		return fmt.Errorf("does not begin with %s", magic)
	}
	for _, field := range []struct {
		name     string
		at, want uint32
	}{
		{"format version", 8, formatVersion}, {"header bytes", 12, uint32(f.pages * pageBytes)}, {"threads", 16, uint32(len(t.Threads))},
		{"slots", 20, uint32(len(t.Operations))}, {"histogram bits", 32, histogram.SubBucketBits},
		{"histogram buckets", 36, histogram.Buckets}, {"error places", 40, ErrorPlaces},
	} {
		if got := le.Uint32(f.data[field.at:]); got != field.want {
			return fmt.Errorf("%s is %d, expected %d", field.name, got, field.want)
		}
	}
	if got := le.Uint32(f.data[44:]); got != f.flags() {
		return fmt.Errorf("flags are %#x, expected %#x", got, f.flags())
	}
	if got := le.Uint64(f.data[24:]); got != uint64(f.threadBytes) {
		return fmt.Errorf("thread bytes is %d, expected %d", got, f.threadBytes)
	}
	if got := le.Uint64(f.data[48:]); got != uint64(f.observedAt) {
		return fmt.Errorf("observed versions at %d, expected %d", got, f.observedAt)
	}
	if need := int(Bytes(t, f.pages)); need != len(f.data) {
		return fmt.Errorf("has %d bytes, expected %d", len(f.data), need)
	}
	for slot, o := range t.Operations {
		at := trace.SlotsAt + slot
		if f.data[at] != byte(o) {
			return fmt.Errorf("slot %d is %s, expected %s", slot, trace.Operation(f.data[at]), o)
		}
		if query := int(f.data[at+trace.SlotsMax]); query != t.Query(slot) {
			return fmt.Errorf("slot %d is of query %d, expected %d", slot, query, t.Query(slot))
		}
	}
	return nil
}

// Unmap gives the memory back. Nothing of the file may be used after it.
func (f *File) Unmap() error { return unix.Munmap(f.data) }

// Threads returns the number of threads.
func (f *File) Threads() int { return f.threads }

// Operations returns the operation of each slot.
func (f *File) Operations() []trace.Operation { return f.slots.Operations }

// HasResponse says if slots have response-time histograms.
func (f *File) HasResponse() bool { return f.response }

// Thread returns a thread's head, in place.
func (f *File) Thread(i int) *Thread {
	return (*Thread)(unsafe.Pointer(&f.data[f.threadAt(i)]))
}

func (f *File) threadAt(i int) int { return f.pages*pageBytes + (f.first+i)*f.threadBytes }

func (f *File) slotAt(thread, slot int) int { return f.threadAt(thread) + slotsAt + slot*f.slotBytes }

// Part returns the threads from one to before another of the same mapped file, numbered from 0.
func (f *File) Part(from, to int) *File {
	part := *f
	part.first, part.threads = f.first+from, to-from
	return &part
}

// Slot returns a thread's slot, in place.
func (f *File) Slot(thread, slot int) *Slot {
	return (*Slot)(unsafe.Pointer(&f.data[f.slotAt(thread, slot)]))
}

// Response returns the response-time histogram of a thread's slot, in place; HasResponse must hold.
func (f *File) Response(thread, slot int) *[histogram.Buckets]uint64 {
	return (*[histogram.Buckets]uint64)(unsafe.Pointer(&f.data[f.slotAt(thread, slot)+histogramAt+8*histogram.Buckets]))
}

// HandleTimes returns a thread's histogram of the times from its asking for a handle until it had one,
// in place; nil: they are not counted.
func (f *File) HandleTimes(thread int) *[histogram.Buckets]uint64 {
	if !f.handleTimes {
		return nil
	}
	return (*[histogram.Buckets]uint64)(unsafe.Pointer(&f.data[f.threadAt(thread)+f.handleTimesAt]))
}

// Observed returns the words of a verify phase, in place: threads one after the other; nil for
// other phases.
func (f *File) Observed() []uint64 {
	if f.observedAt == 0 {
		return nil
	}
	return f.words[f.observedAt/8:]
}

// Processes returns how many processes do the phase, and Process the same mapped file with the words
// of one of them, numbered from 0: those from State to ClockDriftNS, and Stats.
func (f *File) Processes() int { return f.pages }
func (f *File) Process(number int) *File {
	own := *f
	own.page = number
	return &own
}

// Words shared between the processes are read and written whole.
func (f *File) load(word int) uint64     { return atomic.LoadUint64(f.word(word)) }
func (f *File) store(word int, v uint64) { atomic.StoreUint64(f.word(word), v) }
func (f *File) word(word int) *uint64    { return &f.words[f.page*pageBytes/8+word] }

// The words of a phase, which its worker writes: state, times in ns of CLOCK_MONOTONIC, the clock in use and
// by how much it drifted. Stop is the conductor's.
func (f *File) State() uint64            { return f.load(wordState) }
func (f *File) SetState(v uint64)        { f.store(wordState, v) }
func (f *File) StartNS() uint64          { return f.load(wordStart) }
func (f *File) SetStartNS(v uint64)      { f.store(wordStart, v) }
func (f *File) EndNS() uint64            { return f.load(wordEnd) }
func (f *File) SetEndNS(v uint64)        { f.store(wordEnd, v) }
func (f *File) Clock() uint64            { return f.load(wordClock) }
func (f *File) SetClock(v uint64)        { f.store(wordClock, v) }
func (f *File) ClockDriftNS() uint64     { return f.load(wordClockDrift) }
func (f *File) SetClockDriftNS(v uint64) { f.store(wordClockDrift, v) }
func (f *File) Stop()                    { atomic.StoreUint64(f.StopWord(), 1) }

// StopWord is the word that asks the threads of all processes to end when it is not 0.
func (f *File) StopWord() *uint64 { return &f.words[wordStop] }
