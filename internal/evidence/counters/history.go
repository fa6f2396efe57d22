package counters

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
	"assay/internal/experiment/trace"
)

// The history file: section 3.5 of docs/worker-contract.md. It holds begin, end, outcome and
// version of the operations that the trace marks as recorded, each thread's in an area of its own.
const (
	historyMagic   = "ASSAYHIS"
	historyVersion = 2
	historyHead    = 128 // of a thread's area
	historyRecords = 4   // a capacity is a multiple of it, so that areas begin at cache lines
)

// Recorded is one operation on a recorded key. It is laid over mapped memory.
type Recorded struct {
	BeginNS uint64 // since the phase's start: when the operation before it had ended
	EndNS   uint64
	What    uint64 // bits 0–39: the entry's sequence number; bits 40–47: the Outcome; the rest is 0
	Read    uint64 // the version that was read, or an Observed… word
}

// MakeRecorded packs what a thread knows when an operation has ended.
func MakeRecorded(beginNS, endNS, sequence uint64, outcome Outcome, read uint64) Recorded {
	return Recorded{beginNS, endNS, sequence&sequenceMask | uint64(outcome)<<40, read}
}

const sequenceMask = 1<<40 - 1

// Sequence returns the entry's sequence number.
func (r Recorded) Sequence() uint64 { return r.What & sequenceMask }

// Outcome returns the operation's outcome; of a batch's member it is the batch's.
func (r Recorded) Outcome() Outcome { return Outcome(r.What >> 40 & 0xff) }

// Find is a scan, query or count with all that it found, and how far each thread was when it began
// and when it had ended.
type Find struct {
	Recorded          // Read is how many records it gave, or counted
	Before   []uint64 // entries that each thread had acknowledged when it began
	After    []uint64 // entries that each thread had begun when it had ended
	Found    []uint64 // indexes of what it gave, in the order in which it came; FoundUnknown: the record tells none
}

// FoundUnknown stands in a Find for a record that does not tell its index.
const FoundUnknown = ^uint64(0)

// AppendFind appends a find as it stands in a history.
func AppendFind(to []Recorded, f *Find) []Recorded {
	to = append(to, f.Recorded)
	at := 0
	word := func(w uint64) {
		if at%4 == 0 {
			to = append(to, Recorded{})
		}
		last := &to[len(to)-1]
		*[...]*uint64{&last.BeginNS, &last.EndNS, &last.What, &last.Read}[at%4] = w
		at++
	}
	word(uint64(len(f.Found)))
	for _, words := range [][]uint64{f.Before, f.After, f.Found} {
		for _, w := range words {
			word(w)
		}
	}
	return to
}

// CutFinds parts what a thread recorded into the operations on recorded keys and the finds. What does
// not fit the trace, as of a worker that writes what it likes, ends both.
func CutFinds(t *trace.File, thread int, records []Recorded) (keys []Recorded, finds []Find) {
	part := &t.Threads[thread]
	if t.Flags&trace.FlagFinds == 0 || len(part.Entries) == 0 {
		return records, nil
	}
	for i := 0; i < len(records); i++ {
		if e, _ := part.EntryAt(records[i].Sequence()); !e.Operation().Finds() {
			keys = append(keys, records[i])
			continue
		}
		rest := words(records[i+1:])
		heads := 1 + 2*len(t.Threads)
		if len(rest) < heads || rest[0] > uint64(len(rest)-heads) {
			break
		}
		found := int(rest[0])
		finds = append(finds, Find{Recorded: records[i], Before: rest[1 : 1+len(t.Threads)],
			After: rest[1+len(t.Threads) : heads], Found: rest[heads : heads+found]})
		i += trace.FindRows(len(t.Threads), found) - 1
	}
	return keys, finds
}

// words returns records as the words that they are made of, in place.
func words(records []Recorded) []uint64 {
	if len(records) == 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&records[0])), 4*len(records))
}

// HistoryThread is the head of a thread's area. Only that thread writes it.
type HistoryThread struct {
	Count   uint64 // records; stored after the record itself
	Dropped uint64 // operations that came when the area was full: from the first of them on, none is recorded
	_       [14]uint64
}

var (
	_ [32]byte          = [unsafe.Sizeof(Recorded{})]byte{}
	_ [historyHead]byte = [unsafe.Sizeof(HistoryThread{})]byte{}
)

// History is a mapped history file.
type History struct {
	data    []byte
	threads int
	each    int // records that a thread's area has room for
}

// HistoryBytes returns the size of a history file.
func HistoryBytes(threads, recordsEach int) uint64 {
	return uint64(pageBytes + threads*historyArea(recordsEach))
}

func historyArea(recordsEach int) int {
	return historyHead + int(unsafe.Sizeof(Recorded{}))*recordsEach
}

// CreateHistory writes an empty history into an empty file and maps it. Each thread has room for
// recordsEach records, rounded up to a multiple of 4.
func CreateHistory(file *os.File, threads, recordsEach int) (*History, error) {
	recordsEach = (max(recordsEach, 1) + historyRecords - 1) / historyRecords * historyRecords
	h := &History{threads: threads, each: recordsEach}
	data, err := makeFile(file, int(HistoryBytes(threads, recordsEach)))
	if err != nil {
		return nil, fmt.Errorf("making the history file: %w", err)
	}
	h.data = data
	le := binary.LittleEndian
	copy(data, historyMagic)
	le.PutUint32(data[8:], historyVersion)
	le.PutUint32(data[12:], pageBytes)
	le.PutUint32(data[16:], uint32(threads))
	le.PutUint32(data[20:], uint32(unsafe.Sizeof(Recorded{})))
	le.PutUint64(data[24:], uint64(recordsEach))
	le.PutUint64(data[32:], uint64(len(data)))
	return h, nil
}

// OpenHistory maps a history file that fits the trace; it is the worker's side. All pages are
// touched: none is to be made while operations are measured.
func OpenHistory(name string, t *trace.File) (*History, error) {
	data, err := openFile(name, linux.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("history file: %w", err)
	}
	h := &History{data: data}
	if err := h.adopt(t); err != nil {
		_ = h.Unmap() // what is wrong with the file says more
		return nil, fmt.Errorf("history file %s: %w", name, err)
	}
	return h, nil
}

func (h *History) adopt(t *trace.File) error {
	le := binary.LittleEndian
	if string(h.data[:8]) != historyMagic {
		return fmt.Errorf("does not begin with %s", historyMagic)
	}
	for _, field := range []struct {
		name     string
		at, want uint32
	}{
		{"format version", 8, historyVersion}, {"header bytes", 12, pageBytes}, {"threads", 16, uint32(len(t.Threads))},
		{"record bytes", 20, uint32(unsafe.Sizeof(Recorded{}))},
	} {
		if got := le.Uint32(h.data[field.at:]); got != field.want {
			return fmt.Errorf("%s is %d, expected %d", field.name, got, field.want)
		}
	}
	each := le.Uint64(h.data[24:])
	if each == 0 || each%historyRecords != 0 || each > uint64(len(h.data)) {
		return fmt.Errorf("room for %d records a thread: expected a multiple of %d", each, historyRecords)
	}
	h.threads, h.each = len(t.Threads), int(each)
	if want := HistoryBytes(h.threads, h.each); want != uint64(len(h.data)) || want != le.Uint64(h.data[32:]) {
		return fmt.Errorf("has %d bytes, expected %d", len(h.data), want)
	}
	return nil
}

// Unmap gives the memory back. Nothing of the file may be used after it.
func (h *History) Unmap() error { return unix.Munmap(h.data) }

// Thread returns the head of a thread's area, and its room for records, in place.
func (h *History) Thread(i int) (head *HistoryThread, room []Recorded) {
	at := pageBytes + i*historyArea(h.each)
	head = (*HistoryThread)(unsafe.Pointer(&h.data[at]))
	return head, unsafe.Slice((*Recorded)(unsafe.Pointer(&h.data[at+historyHead])), h.each)
}

// Records returns what a thread has recorded, in place, and how many operations found no room.
func (h *History) Records(i int) (records []Recorded, dropped uint64) {
	head, room := h.Thread(i)
	return room[:min(atomic.LoadUint64(&head.Count), uint64(len(room)))], atomic.LoadUint64(&head.Dropped)
}

// SetRecords copies into a thread's area what another file has from a record on, 32 bytes each: of a
// worker on another machine.
func (h *History) SetRecords(i, from int, dropped uint64, copied []byte) error {
	const each = int(unsafe.Sizeof(Recorded{}))
	if i < 0 || i >= h.threads || len(copied)%each != 0 || from < 0 || from+len(copied)/each > h.each {
		return fmt.Errorf("%d bytes of history from record %d on, of thread %d", len(copied), from, i)
	}
	head, room := h.Thread(i)
	for k := range len(copied) / each {
		word := func(n int) uint64 { return binary.LittleEndian.Uint64(copied[k*each+8*n:]) }
		room[from+k] = Recorded{word(0), word(1), word(2), word(3)}
	}
	atomic.StoreUint64(&head.Dropped, dropped)
	atomic.StoreUint64(&head.Count, uint64(from+len(copied)/each))
	return nil
}

// AppendRecords appends to a text the records of a thread from one on, as many as there are and at most
// so many, and returns how many there are in all.
func (h *History) AppendRecords(to []byte, i, from, most int) (copied []byte, count int, dropped uint64) {
	records, dropped := h.Records(i)
	for _, r := range records[min(max(from, 0), len(records)):min(max(from, 0)+most, len(records))] {
		for _, word := range []uint64{r.BeginNS, r.EndNS, r.What, r.Read} {
			to = binary.LittleEndian.AppendUint64(to, word)
		}
	}
	return to, len(records), dropped
}
