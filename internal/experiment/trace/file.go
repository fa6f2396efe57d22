package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
	"assay/internal/base/memfile"
)

// Write writes the trace to a new file of that name.
func (f *File) Write(name string) (err error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making the trace file: %w", err)
	}
	defer func() {
		if closing := file.Close(); err == nil && closing != nil {
			err = fmt.Errorf("closing the trace %s: %w", name, closing)
		}
		if err != nil {
			_ = os.Remove(name) // half a trace is of no use, and the first error says more
		}
	}()
	return f.WriteIn(file)
}

// WriteIn writes the trace into an empty file. A trace of a shuffled load may be a gigabyte: it is
// encoded into the mapped file, never held twice.
func (f *File) WriteIn(file *os.File) error {
	if err := f.check(); err != nil {
		return err
	}
	name := file.Name()
	offsets, total := f.layout()
	if err := memfile.Allocate(file, int64(total)); err != nil {
		return fmt.Errorf("making the trace: %w", err)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(total), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping the trace %s: %w", name, err)
	}
	f.encode(data, offsets)
	if err := unix.Munmap(data); err != nil {
		return fmt.Errorf("unmapping the trace %s: %w", name, err)
	}
	return nil
}

// Encode returns the file's bytes.
func (f *File) Encode() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	offsets, total := f.layout()
	data := make([]byte, total)
	f.encode(data, offsets)
	return data, nil
}

// encode fills data, which is full of zeros.
func (f *File) encode(data []byte, offsets []threadOffsets) {
	le := binary.LittleEndian
	for i := range f.Threads {
		t := &f.Threads[i]
		for j, e := range t.Entries {
			le.PutUint64(data[offsets[i].entries+8*uint64(j):], uint64(e))
		}
		for j, due := range t.times() {
			le.PutUint64(data[offsets[i].due+8*uint64(j):], due)
		}
	}
	f.encodeHeader(data, offsets)
}

// encodeHeader fills in what stands before the words of the threads, which are there.
func (f *File) encodeHeader(data []byte, offsets []threadOffsets) {
	le := binary.LittleEndian
	for i := range f.Threads {
		t, at := &f.Threads[i], headerBytes+directoryBytes*i
		le.PutUint64(data[at:], offsets[i].entries)
		le.PutUint64(data[at+8:], uint64(len(t.Entries)))
		le.PutUint64(data[at+16:], t.Stride)
		le.PutUint64(data[at+24:], offsets[i].due)
		le.PutUint64(data[at+32:], t.LapNS)
		le.PutUint32(data[at+40:], t.Group)
		le.PutUint32(data[at+44:], t.Endpoint)
		le.PutUint64(data[at+48:], t.Limit)
		le.PutUint64(data[at+56:], t.FromNS)
		le.PutUint64(data[at+64:], t.UntilNS)
	}
	copy(data, magic)
	le.PutUint32(data[8:], formatVersion)
	le.PutUint32(data[12:], headerBytes)
	le.PutUint32(data[16:], uint32(len(f.Threads)))
	le.PutUint32(data[20:], f.Flags)
	le.PutUint64(data[24:], uint64(len(data)))
	le.PutUint32(data[32:], f.Groups)
	le.PutUint32(data[36:], uint32(len(f.Operations)))
	le.PutUint64(data[40:], f.Seed)
	le.PutUint64(data[56:], f.TimedEvery)
	f.EncodeSlots(data)
	for i, amount := range f.Amounts {
		le.PutUint32(data[amountsAt+4*i:], amount)
	}
	for i, ttl := range f.TTLs {
		le.PutUint32(data[ttlsAt+4*i:], ttl)
		le.PutUint32(data[backendsAt+4*i:], f.Backends[i])
	}
	le.PutUint64(data[48:], checksum(data))
}

type threadOffsets struct{ entries, due uint64 }

func (f *File) layout() (offsets []threadOffsets, total uint64) {
	return layoutOf(len(f.Threads), func(i int) (entries, times uint64) {
		return uint64(len(f.Threads[i].Entries)), uint64(len(f.Threads[i].times()))
	})
}

// layoutOf says where the entries of threads stand, and the times beside them, and how long the file is.
func layoutOf(threads int, words func(thread int) (entries, times uint64)) (offsets []threadOffsets, total uint64) {
	align := func(n uint64) uint64 { return (n + 63) &^ 63 }
	total = align(headerBytes + directoryBytes*uint64(threads))
	offsets = make([]threadOffsets, threads)
	for i := range offsets {
		entries, times := words(i)
		offsets[i].entries = total
		total = align(total + 8*entries)
		if times > 0 {
			offsets[i].due = total
			total = align(total + 8*times)
		}
	}
	return offsets, total
}

// Bytes returns the size of the file.
func (f *File) Bytes() uint64 {
	_, total := f.layout()
	return total
}

func checksum(data []byte) uint64 {
	h := fnv.New64a()
	h.Write(data[headerBytes:])
	return h.Sum64()
}

// Decode reads a trace from the file's bytes, which must stay unchanged: entries are not copied.
// data must be aligned to 8 bytes, as mapped memory is. It returns an error that names the field
// for anything that a worker could trip over.
func Decode(data []byte) (*File, error) {
	le := binary.LittleEndian
	if len(data) < headerBytes || string(data[:8]) != magic {
		return nil, fmt.Errorf("not a trace file: it does not begin with %s", magic)
	}
	if uintptr(unsafe.Pointer(&data[0]))%8 != 0 {
		return nil, errors.New("trace bytes are not aligned to 8")
	}
	if v := le.Uint32(data[8:]); v != formatVersion {
		return nil, fmt.Errorf("trace format version %d, this program reads %d", v, formatVersion)
	}
	if n := le.Uint32(data[12:]); n != headerBytes {
		return nil, fmt.Errorf("trace header of %d bytes, expected %d", n, headerBytes)
	}
	if n := le.Uint64(data[24:]); n != uint64(len(data)) {
		return nil, fmt.Errorf("trace is %d bytes long, its header says %d: it is cut short or damaged", len(data), n)
	}
	f := &File{Flags: le.Uint32(data[20:]), Groups: le.Uint32(data[32:]), Seed: le.Uint64(data[40:]),
		TimedEvery: le.Uint64(data[56:])}
	threads := le.Uint32(data[16:])
	if threads < 1 || threads > ThreadsMax {
		return nil, fmt.Errorf("trace of %d threads: expected 1 to %d", threads, ThreadsMax)
	}
	if err := f.decodeSlots(data); err != nil {
		return nil, err
	}
	directoryEnd := headerBytes + directoryBytes*int(threads)
	if directoryEnd > len(data) {
		return nil, fmt.Errorf("trace is too short for the directory of %d threads", threads)
	}
	if sum := le.Uint64(data[48:]); sum != checksum(data) {
		return nil, fmt.Errorf("trace checksum is wrong: the file is damaged")
	}
	for i := range f.Amounts {
		f.Amounts[i], f.TTLs[i] = le.Uint32(data[amountsAt+4*i:]), le.Uint32(data[ttlsAt+4*i:])
		f.Backends[i] = le.Uint32(data[backendsAt+4*i:])
	}
	f.Threads = make([]Thread, threads)
	for i := range f.Threads {
		if err := f.decodeThread(data, i, uint64(directoryEnd)); err != nil {
			return nil, fmt.Errorf("trace, thread %d: %w", i, err)
		}
	}
	return f, f.check()
}

func (f *File) decodeThread(data []byte, i int, directoryEnd uint64) error {
	le := binary.LittleEndian
	d := data[headerBytes+directoryBytes*i:]
	t := &f.Threads[i]
	*t = Thread{
		Stride: le.Uint64(d[16:]), LapNS: le.Uint64(d[32:]), Group: le.Uint32(d[40:]), Endpoint: le.Uint32(d[44:]),
		Limit: le.Uint64(d[48:]), FromNS: le.Uint64(d[56:]), UntilNS: le.Uint64(d[64:]),
	}
	entries, err := wordsAt(data, le.Uint64(d), le.Uint64(d[8:]), directoryEnd)
	if err != nil {
		return fmt.Errorf("entries: %w", err)
	}
	t.Entries = unsafe.Slice((*Entry)(unsafe.Pointer(unsafe.SliceData(entries))), len(entries))
	if due := le.Uint64(d[24:]); due != 0 {
		times, err := wordsAt(data, due, le.Uint64(d[8:]), directoryEnd)
		if err != nil {
			return fmt.Errorf("due times: %w", err)
		}
		if f.Flags&FlagPauses != 0 {
			t.Pauses = times
		} else {
			t.Due = times
		}
	}
	return nil
}

// wordsAt returns n words of data from offset, in place. Assay's files are little-endian, as are
// the machines it runs on.
func wordsAt(data []byte, offset, n, from uint64) ([]uint64, error) {
	size := uint64(len(data))
	if n == 0 {
		return nil, nil
	}
	if offset%64 != 0 || offset < from || offset > size || n > (size-offset)/8 {
		return nil, fmt.Errorf("%d words at offset %d do not fit a file of %d bytes", n, offset, size)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&data[offset])), n), nil
}

// check holds what both a writer and a reader rely on.
func (f *File) check() error {
	if f.Flags&^flagsKnown != 0 {
		return fmt.Errorf("trace has flags %#x that this program does not know", f.Flags&^flagsKnown)
	}
	if len(f.Threads) < 1 || len(f.Threads) > ThreadsMax {
		return fmt.Errorf("a trace has 1 to %d threads, not %d", ThreadsMax, len(f.Threads))
	}
	if f.Flags&FlagHistory != 0 && f.Flags&FlagRecordVersions != 0 {
		return errors.New("a trace that records observed versions has no history")
	}
	if f.Flags&FlagFinds != 0 && f.Flags&FlagHistory == 0 {
		return errors.New("what scans and queries found is recorded in a history, and the trace has no flag for one")
	}
	if f.TTLs != [256]uint32{} && !f.Expires() {
		return errors.New("values have a TTL, but the trace has no flag for it")
	}
	if f.Flags&FlagPauses != 0 && f.Flags&(FlagDue|FlagSampled) != 0 {
		return errors.New("threads that pause have no due times, and each of their operations is timed")
	}
	if err := f.checkSampled(); err != nil {
		return err
	}
	if f.Groups < 1 {
		return fmt.Errorf("a trace has at least one client group")
	}
	if err := f.checkSlots(); err != nil {
		return err
	}
	slots := f.Slots()
	if f.Flags&FlagDue != 0 && !slices.ContainsFunc(f.Threads, func(t Thread) bool {
		return len(t.Due) > 0 || len(t.Entries) == 0
	}) {
		return errors.New("a trace of open load in which no thread has due times")
	}
	for i := range f.Threads {
		if err := f.Threads[i].check(f, slots); err != nil {
			return fmt.Errorf("trace, thread %d: %w", i, err)
		}
	}
	return nil
}

func (t *Thread) check(f *File, slots *Slots) error {
	if t.Group >= f.Groups {
		return fmt.Errorf("client group %d of %d", t.Group, f.Groups)
	}
	if err := t.checkDue(f.Flags&FlagDue != 0); err != nil {
		return err
	}
	if err := t.checkPauses(f.Flags&FlagPauses != 0); err != nil {
		return err
	}
	if n := uint64(len(t.Entries)); n > 0 && t.Limit%n > 0 && t.Entries[t.Limit%n].IsMember() {
		return fmt.Errorf("its limit of %d entries cuts a batch or a multi-read", t.Limit)
	}
	if err := t.checkRequests(f); err != nil {
		return err
	}
	if t.UntilNS != 0 && t.UntilNS <= t.FromNS || t.FromNS > timeMax || t.UntilNS > timeMax {
		return fmt.Errorf("it is to work from %d to %d ns", t.FromNS, t.UntilNS)
	}
	members := 0
	batchRecorded := false
	var head Operation // of the members
	for p, e := range t.Entries {
		o := e.Operation()
		if err := f.checkRecorded(e, members > 0, batchRecorded); err != nil {
			return fmt.Errorf("entry %d: %w", p, err)
		}
		switch {
		case members > 0:
			switch {
			case head == MultiRead && (!e.IsMember() || o != Read):
				return fmt.Errorf("entry %d should be a read in a multi-read, is %s", p, o)
			case head == Batch && (!e.IsMember() || o != Insert && o != Update && o != Upsert && o != Delete):
				return fmt.Errorf("entry %d should be a put or delete in a batch, is %s", p, o)
			}
			if o.Puts() && f.TTLs[e.SizeClass()] > 0 {
				return fmt.Errorf("entry %d: a batch's member has a TTL", p)
			}
			members--
			continue
		case e.IsMember():
			return fmt.Errorf("entry %d is a member, of no batch and no multi-read", p)
		case f.TTLs[e.SizeClass()] > 0 && o.Puts() && !o.TakesTTL():
			return fmt.Errorf("entry %d: %s has a TTL", p, o)
		case slots.Of(e) < 0:
			return fmt.Errorf("entry %d: %s is not in the header's list", p, f.questionOf(e))
		}
		if o.HasMembers() {
			head, batchRecorded = o, e.IsRecorded()
			if members = int(f.Amounts[e.SizeClass()]); members == 0 {
				return fmt.Errorf("entry %d is a %s without members", p, o)
			}
		}
		if f.Flags&FlagRecordVersions != 0 && o != Read {
			return fmt.Errorf("entry %d: a phase that records versions has only reads", p)
		}
	}
	if members > 0 {
		return fmt.Errorf("the last %s crosses the end of the lap", head)
	}
	return nil
}

// checkRequests holds that each operation of the thread belongs to a request, or none does.
func (t *Thread) checkRequests(f *File) error {
	isRequest := func(e Entry) bool { return e.Operation() == Request }
	n := uint64(len(t.Entries))
	if !slices.Contains(f.Operations, Request) || !slices.ContainsFunc(t.Entries, isRequest) {
		return nil
	}
	const sameKey = 1<<48 - 1 | growsBit
	steps := 0
	for p, e := range t.Entries {
		if !isRequest(e) {
			if steps++; e.IsMember() || !e.Operation().OneKey() {
				return fmt.Errorf("entry %d: %s can't be a step of a request", p, e.Operation())
			}
			continue
		}
		if count := f.Amounts[e.SizeClass()]; steps == 0 || uint64(count) != uint64(steps) {
			return fmt.Errorf("entry %d: a request of %d steps stands after %d", p, count, steps)
		}
		for _, step := range t.Entries[p-steps : p] {
			if (step^e)&sameKey != 0 {
				return fmt.Errorf("entry %d: the steps of the request are on several keys", p)
			}
		}
		steps = 0
	}
	if steps > 0 {
		return errors.New("its last operations belong to no request")
	}
	if t.Limit%n > 0 && !isRequest(t.Entries[t.Limit%n-1]) {
		return fmt.Errorf("its limit of %d entries cuts a request", t.Limit)
	}
	return nil
}

// timeMax bounds from and until, so that sums of them with the clock fit a signed word.
const timeMax = 1 << 62

func (f *File) checkRecorded(e Entry, member, batchRecorded bool) error {
	switch o := e.Operation(); {
	case !e.IsRecorded():
		return nil
	case f.Flags&FlagHistory == 0:
		return errors.New("it is recorded, but the trace has no flag for a history")
	case e.Grows():
		return errors.New("it is recorded and grows: a recorded key is one of fixed index")
	case member && !batchRecorded:
		return errors.New("it is recorded, but the batch that it belongs to is not")
	case o.Finds() && f.Flags&FlagFinds != 0:
		return nil
	case !member && !o.HasMembers() && !o.OneKey():
		return fmt.Errorf("%s is recorded, but is not about one key", o)
	}
	return nil
}

// times are the words that stand beside the entries.
func (t *Thread) times() []uint64 {
	if t.Pauses != nil {
		return t.Pauses
	}
	return t.Due
}

func (t *Thread) checkPauses(flagged bool) error {
	switch {
	case len(t.Pauses) == 0:
		return nil
	case !flagged:
		return errors.New("pauses in a trace without a flag for them")
	case len(t.Pauses) != len(t.Entries):
		return fmt.Errorf("%d pauses for %d entries", len(t.Pauses), len(t.Entries))
	case slices.Max(t.Pauses) > timeMax:
		return errors.New("a pause is longer than a clock can tell")
	}
	return nil
}

func (t *Thread) checkDue(flagged bool) error {
	switch {
	case !flagged && len(t.Due) > 0:
		return errors.New("due times in a trace of closed load")
	case len(t.Due) > 0 && len(t.Due) != len(t.Entries):
		return fmt.Errorf("%d due times for %d entries", len(t.Due), len(t.Entries))
	case !slices.IsSorted(t.Due):
		return errors.New("due times do not ascend")
	case len(t.Due) > 0 && t.Due[len(t.Due)-1]-t.Due[0] > t.LapNS:
		return fmt.Errorf("due times span more than the lap time of %d ns", t.LapNS)
	}
	return nil
}

// Map maps a trace file read-only. unmap gives it back; the file's name may be removed before.
func Map(name string) (f *File, unmap func() error, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the trace: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("trace: %w", err)
	}
	if info.Size() == 0 {
		return nil, nil, fmt.Errorf("trace %s is empty", name)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED|linux.MAP_POPULATE)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping the trace %s: %w", name, err)
	}
	f, err = Decode(data)
	if err != nil {
		_ = unix.Munmap(data) // the decoding error says more
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, func() error { return unix.Munmap(data) }, nil
}
