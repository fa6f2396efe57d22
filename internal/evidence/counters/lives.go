package counters

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/memfile"
)

// The lives file: section 3.6 of docs/worker-contract.md. It says of each record from when until when
// it is certainly there by the writes that were acknowledged, for all threads and processes of a
// trial, and has what reads that were held against it gave. It is shared between them, and an
// operation of a phase with TTLs touches one cache line of it.
const (
	livesMagic   = "ASSAYLIV"
	livesVersion = 1
	lifeBytes    = 16
	// LivesMost is how many records are followed at most: a page of the file has memory once one of its
	// records is written.
	LivesMost = 1 << 28
)

// Life is what is known of a record at a moment. Times are µs of CLOCK_MONOTONIC.
type Life struct {
	state uint64 // bits 0–7 writes under way, then the flags below, from bit 16 on alive
	dead  uint64 // by when it is to be gone; 0: never, or not known
}

// Flags of a state.
const (
	lifeWriters   = 1<<8 - 1
	lifeLocked    = 1 << 8
	lifeContended = 1 << 9  // several writes were under way at once, and some still are
	lifePartial   = 1 << 10 // of these, one has ended
	lifeDoubt     = 1 << 11 // a write has failed, and may be done at any time: the record is held against nothing
	lifeTime      = 16
)

// LivesForever stands for a time that never comes.
const LivesForever = 1<<48 - 1

// Settled reports whether no write is under way and none in doubt: what the record says holds.
func (l Life) Settled() bool { return l.state&(lifeWriters|lifeDoubt) == 0 }

// Written reports whether a write with or without a TTL was acknowledged, and no delete since.
func (l Life) Written() bool { return l.state>>lifeTime != 0 }

// Alive returns until when the record is certainly there, in µs; LivesForever: it has no end.
func (l Life) Alive() int64 { return int64(l.state >> lifeTime) }

// Dead returns by when it must be gone, in µs, the store's tick aside; 0: never.
func (l Life) Dead() int64 { return int64(l.dead) }

// LivesTally is what a thread's reads gave, of records whose time is known. Only that thread writes it.
type LivesTally struct {
	Gone     uint64 // reads after the record's time that found nothing
	Within   uint64 // reads that found it after its time, within the store's tick
	Late     uint64 // reads that found it later than that
	Early    uint64 // reads that found nothing although it was alive
	Alive    uint64 // reads that found it within its time
	Unjudged uint64 // reads beside a write of the same record, or of one that is in doubt

	LatestNS   uint64 // after its time, the most that a record was found
	EarliestNS uint64 // before its time, the most that one was gone

	Fills      uint64 // misses that were filled
	Stampeded  uint64 // of these, beside another fill of the same record
	AtOnceMost uint64 // fills of one record at once
	_          [5]uint64
}

var (
	_ [128]byte       = [unsafe.Sizeof(LivesTally{})]byte{}
	_ [lifeBytes]byte = [unsafe.Sizeof(Life{})]byte{}
)

// Add adds another thread's.
func (t *LivesTally) Add(o *LivesTally) {
	t.Gone, t.Within, t.Late, t.Early = t.Gone+o.Gone, t.Within+o.Within, t.Late+o.Late, t.Early+o.Early
	t.Alive, t.Unjudged = t.Alive+o.Alive, t.Unjudged+o.Unjudged
	t.LatestNS, t.EarliestNS = max(t.LatestNS, o.LatestNS), max(t.EarliestNS, o.EarliestNS)
	t.Fills, t.Stampeded, t.AtOnceMost = t.Fills+o.Fills, t.Stampeded+o.Stampeded, max(t.AtOnceMost, o.AtOnceMost)
}

// Lives is a mapped lives file.
type Lives struct {
	data    []byte
	threads int
	records []Life
}

// LivesBytes returns the size of a lives file; of its memory, what is written is there.
func LivesBytes(threads int, records uint64) uint64 {
	return uint64(pageBytes) + uint64(threads)*uint64(unsafe.Sizeof(LivesTally{})) + records*lifeBytes
}

// CreateLives makes the file for phases of so many threads at most, and records of an index below a
// number, in an empty file.
func CreateLives(file *os.File, threads int, records uint64) (*Lives, error) {
	size := LivesBytes(threads, records)
	head := int64(size - records*lifeBytes)
	if err := memfile.AllocateParts(file, int64(size), [2]int64{0, head}); err != nil {
		return nil, fmt.Errorf("making the lives file: %w", err)
	}
	data, err := mapShared(file, int(size), 0)
	if err != nil {
		return nil, fmt.Errorf("making the lives file: %w", err)
	}
	le := binary.LittleEndian
	copy(data, livesMagic)
	le.PutUint32(data[8:], livesVersion)
	le.PutUint32(data[12:], pageBytes)
	le.PutUint32(data[16:], uint32(threads))
	le.PutUint32(data[20:], lifeBytes)
	le.PutUint64(data[24:], records)
	le.PutUint64(data[32:], size)
	return adoptLives(data)
}

// OpenLives maps a lives file for a phase of so many threads; it is the worker's side.
func OpenLives(name string, threads int) (*Lives, error) {
	data, err := openFile(name, 0)
	if err != nil {
		return nil, fmt.Errorf("lives file: %w", err)
	}
	l, err := adoptLives(data)
	if err == nil && threads > l.threads {
		err = fmt.Errorf("is for %d threads, and the phase has %d", l.threads, threads)
	}
	if err != nil {
		_ = unix.Munmap(data) // what is wrong with the file says more
		return nil, fmt.Errorf("lives file %s: %w", name, err)
	}
	return l, nil
}

func adoptLives(data []byte) (*Lives, error) {
	le := binary.LittleEndian
	if string(data[:8]) != livesMagic {
		return nil, fmt.Errorf("does not begin with %s", livesMagic)
	}
	if v := le.Uint32(data[8:]); v != livesVersion {
		return nil, fmt.Errorf("format version is %d, expected %d", v, livesVersion)
	}
	threads, records := int(le.Uint32(data[16:])), le.Uint64(data[24:])
	size := uint64(len(data))
	if le.Uint32(data[20:]) != lifeBytes || records > size/lifeBytes || LivesBytes(threads, records) != size ||
		le.Uint64(data[32:]) != size {
		return nil, fmt.Errorf("has %d bytes for %d threads and %d records", size, threads, records)
	}
	l := &Lives{data: data, threads: threads}
	if records > 0 {
		at := size - records*lifeBytes
		l.records = unsafe.Slice((*Life)(unsafe.Pointer(&data[at])), records)
	}
	return l, nil
}

// Unmap gives the memory back. Nothing of the file may be used after it.
func (l *Lives) Unmap() error { return unix.Munmap(l.data) }

// Tally is a thread's, in place.
func (l *Lives) Tally(thread int) *LivesTally {
	return (*LivesTally)(unsafe.Pointer(&l.data[pageBytes+thread*int(unsafe.Sizeof(LivesTally{}))]))
}

// Clear sets the tallies of all threads back: a phase begins.
func (l *Lives) Clear() {
	for i := range l.threads {
		*l.Tally(i) = LivesTally{}
	}
}

// Threads is how many have a tally.
func (l *Lives) Threads() int { return l.threads }

// Of returns what is known of a record now. One that is not followed is not known.
func (l *Lives) Of(index uint64) Life {
	if index >= uint64(len(l.records)) {
		return Life{}
	}
	r := &l.records[index]
	for range lifePatience {
		state := atomic.LoadUint64(&r.state)
		dead := atomic.LoadUint64(&r.dead)
		if state&lifeLocked == 0 && atomic.LoadUint64(&r.state) == state {
			return Life{state, dead}
		}
		runtime.Gosched()
	}
	return Life{state: lifeDoubt | 1<<lifeTime}
}

// lifePatience is how often a record that is locked is looked at again. Another process may have been
// killed while it held the lock.
const lifePatience = 1 << 20

// lock returns the record with its state, of which no other thread changes anything until it is stored
// without the lock.
func (l *Lives) lock(index uint64) (r *Life, state uint64) {
	r = &l.records[index]
	for range lifePatience {
		state = atomic.LoadUint64(&r.state)
		if state&lifeLocked == 0 && atomic.CompareAndSwapUint64(&r.state, state, state|lifeLocked) {
			return r, state
		}
		runtime.Gosched()
	}
	return r, state&^lifeLocked | lifeDoubt
}

// Begin says that a write or delete of a record begins. It returns how many are under way then.
func (l *Lives) Begin(index uint64) (underway int) {
	if index >= uint64(len(l.records)) {
		return 1
	}
	r, state := l.lock(index)
	switch state & lifeWriters {
	case lifeWriters: // more than are counted: nothing is known of the record from now on
		state |= lifeDoubt
	case 0:
		state++
	default:
		state = state + 1 | lifeContended
	}
	atomic.StoreUint64(&r.state, state)
	return int(state & lifeWriters)
}

// Alone reports whether since a moment, when Of said what was known, nothing but one Begin came to a record.
func (l *Lives) Alone(index uint64, since Life) bool {
	now := l.Of(index)
	return now.state == since.state+1 && now.dead == since.dead
}

// Written ends what Begin began: the store acknowledged a put that began and ended at these times, of a
// value that lives for so long; 0: without an end. Times are ns of CLOCK_MONOTONIC.
func (l *Lives) Written(index uint64, beginNS, endNS int64, ttlMS uint32) {
	alive, dead := uint64(LivesForever), uint64(0)
	if ttlMS > 0 {
		alive, dead = uint64(beginNS/1000)+uint64(ttlMS)*1000, uint64(endNS/1000)+uint64(ttlMS)*1000+1
	}
	l.end(index, alive, dead, 0)
}

// Deleted ends what Begin began: the store acknowledged a delete.
func (l *Lives) Deleted(index uint64) { l.end(index, 0, 0, 0) }

// Failed ends what Begin began: whether something was written is not known, nor when it will be.
func (l *Lives) Failed(index uint64) { l.end(index, 0, 0, lifeDoubt) }

// Undone ends what Begin began: the store said that it did nothing.
func (l *Lives) Undone(index uint64) {
	if index >= uint64(len(l.records)) {
		return
	}
	r, state := l.lock(index)
	if state&lifeWriters > 0 {
		state--
	}
	if state&lifeWriters == 0 {
		state &^= lifeContended | lifePartial
	}
	atomic.StoreUint64(&r.state, state)
}

// end stores what a write leaves. Of several at once, which was the last to be done is not known: the
// record is alive until the earliest of their ends, and gone by the latest.
func (l *Lives) end(index, alive, dead, doubt uint64) {
	if index >= uint64(len(l.records)) {
		return
	}
	r, state := l.lock(index)
	if state&lifePartial != 0 {
		alive = min(alive, state>>lifeTime)
		if before := atomic.LoadUint64(&r.dead); before == 0 || dead == 0 {
			dead = 0
		} else {
			dead = max(dead, before)
		}
	}
	flags := state&(1<<lifeTime-1) | doubt
	if flags&lifeWriters > 0 {
		flags--
	}
	switch {
	case flags&lifeWriters == 0:
		flags &^= lifeContended | lifePartial
	case flags&lifeContended != 0:
		flags |= lifePartial
	}
	atomic.StoreUint64(&r.dead, dead)
	atomic.StoreUint64(&r.state, alive<<lifeTime|flags)
}

// LivesSlackNS is by how much the clocks of a worker and of a store may be apart at a moment.
const LivesSlackNS = 2e6

// LifeVerdict is what a read says of a record's time.
type LifeVerdict uint8

const (
	LifeUnknown LifeVerdict = iota // nothing was known of it
	LifeRight                      // it was there within its time, or gone after it
	LifeEarly                      // it was gone within its time
	LifeLate                       // it was there after its time and the tick
)

// Judge counts a read that began and ended at these times, in ns of CLOCK_MONOTONIC, and found a
// record or not. before is what Of said when it began. A store with times of whole seconds may be
// earlyNS early, and one that looks for what is over now and then lateNS late.
func (t *LivesTally) Judge(before, after Life, found bool, beginNS, endNS, earlyNS, lateNS int64) LifeVerdict {
	if !before.Written() {
		return LifeUnknown
	}
	if before != after || !before.Settled() {
		t.Unjudged++
		return LifeUnknown
	}
	if !found {
		// Alive is the begin of the write and the TTL: a record that is gone by then was early by what is
		// left, however long the write took.
		if left := before.Alive()*1000 - endNS; left > earlyNS+LivesSlackNS {
			t.Early++
			if before.Alive() != LivesForever {
				t.EarliestNS = max(t.EarliestNS, uint64(left))
			}
			return LifeEarly
		}
		t.Gone++
		return LifeRight
	}
	past := beginNS - before.Dead()*1000
	if before.Dead() == 0 || past <= 0 {
		t.Alive++
		return LifeRight
	}
	t.LatestNS = max(t.LatestNS, uint64(past))
	if past > lateNS+LivesSlackNS {
		t.Late++
		return LifeLate
	}
	t.Within++
	return LifeRight
}
