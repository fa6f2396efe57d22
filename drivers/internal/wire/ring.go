//go:build linux

package wire

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is an io_uring(7): what is sent to many connections, and what has come from many, takes one
// system call. Each connection has one receive that stays (multishot), into buffers that the
// connections share. Constants and layouts are those of linux/io_uring.h.
type ring struct {
	fd                     int
	queues, entries, group []byte // mapped
	buffers                []byte
	sqHead, sqTail         *uint32
	cqHead, cqTail         *uint32
	cqMask                 uint32
	completions            []completion
	submissions            []submission
	tail                   uint32 // of the submissions, with those that the kernel does not know yet
	bufferTail             uint16
	wait                   waitArgument
	timeout                unix.Timespec
}

// submission is struct io_uring_sqe.
type submission struct {
	operation, flags uint8
	priority         uint16
	descriptor       int32
	offset, address  uint64
	length, detail   uint32 // detail: flags of a message, or events to poll
	user             uint64
	group            uint16
	_                [22]byte
}

// completion is struct io_uring_cqe.
type completion struct {
	user   uint64
	result int32
	flags  uint32
}

// waitArgument is struct io_uring_getevents_arg.
type waitArgument struct {
	mask     uint64
	maskSize uint32
	_        uint32
	timeout  uint64
}

// ringParameters is struct io_uring_params.
type ringParameters struct {
	sqEntries, cqEntries, flags, threadCPU, threadIdle, features, workQueue uint32
	_                                                                       [3]uint32
	sq                                                                      struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

var (
	_ [64]byte  = [unsafe.Sizeof(submission{})]byte{}
	_ [16]byte  = [unsafe.Sizeof(completion{})]byte{}
	_ [24]byte  = [unsafe.Sizeof(waitArgument{})]byte{}
	_ [120]byte = [unsafe.Sizeof(ringParameters{})]byte{}
)

const (
	ringSubmissions = 256
	ringCompletions = 8192 // two of each connection at once: the kernel takes long over more than fit
	ringBuffers     = 256
	ringBufferBytes = 8 << 10

	setupCQSize       = 1 << 3
	setupSubmitAll    = 1 << 7
	setupSingleIssuer = 1 << 12
	setupDeferTaskRun = 1 << 13
	featureSingleMap  = 1 << 0
	featureExtArg     = 1 << 8
	enterGetEvents    = 1 << 0
	enterExtArg       = 1 << 3
	registerBuffers   = 22
	offsetQueues      = 0
	offsetSubmissions = 0x10000000

	operationPollAdd = 6
	operationCancel  = 14
	operationSend    = 26
	operationReceive = 27
	bufferSelect     = 1 << 5 // of a submission's flags
	skipSuccess      = 1 << 6
	receiveMultishot = 1 << 1 // of its priority
	pollMultishot    = 1 << 0 // of its length
	cancelAll        = 1 << 0 // of its detail
	cancelAny        = 1 << 2
	completionBuffer = 1 << 0 // of a completion's flags
	completionMore   = 1 << 1
)

// hasRing reports whether this process may use io_uring, with what ring needs of it (Linux 6.1).
var hasRing = sync.OnceValue(func() bool {
	r, err := newRing()
	return err == nil && r.close() == nil
})

// newRing makes a ring that the calling OS thread alone may use.
func newRing() (r *ring, err error) {
	p := ringParameters{cqEntries: ringCompletions,
		flags: setupCQSize | setupSubmitAll | setupSingleIssuer | setupDeferTaskRun}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, ringSubmissions, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	r = &ring{fd: int(fd)}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if p.features&featureSingleMap == 0 || p.features&featureExtArg == 0 {
		return r, fmt.Errorf("io_uring: %w", unix.ENOSYS)
	}
	const readWrite = unix.PROT_READ | unix.PROT_WRITE
	const shared = unix.MAP_SHARED | unix.MAP_POPULATE
	size := max(p.cq.cqes+p.cqEntries*uint32(unsafe.Sizeof(completion{})), p.sq.array+4*p.sqEntries)
	if r.queues, err = unix.Mmap(r.fd, offsetQueues, int(size), readWrite, shared); err != nil {
		return r, fmt.Errorf("mapping io_uring's queues: %w", err)
	}
	size = p.sqEntries * uint32(unsafe.Sizeof(submission{}))
	if r.entries, err = unix.Mmap(r.fd, offsetSubmissions, int(size), readWrite, shared); err != nil {
		return r, fmt.Errorf("mapping io_uring's queues: %w", err)
	}
	word := func(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.queues[at])) }
	r.sqHead, r.sqTail = word(p.sq.head), word(p.sq.tail)
	r.cqHead, r.cqTail, r.cqMask = word(p.cq.head), word(p.cq.tail), *word(p.cq.mask)
	for i := range p.sqEntries {
		*word(p.sq.array + 4*i) = i
	}
	r.submissions = unsafe.Slice((*submission)(unsafe.Pointer(&r.entries[0])), p.sqEntries)
	r.completions = unsafe.Slice((*completion)(unsafe.Pointer(&r.queues[p.cq.cqes])), p.cqEntries)
	return r, r.shareBuffers()
}

// shareBuffers gives the kernel the buffers that it receives into.
func (r *ring) shareBuffers() (err error) {
	const readWrite, private = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANON | unix.MAP_PRIVATE
	if r.group, err = unix.Mmap(-1, 0, ringBuffers*16, readWrite, private); err != nil {
		return fmt.Errorf("mapping io_uring's buffers: %w", err)
	}
	if r.buffers, err = unix.Mmap(-1, 0, ringBuffers*ringBufferBytes, readWrite, private); err != nil {
		return fmt.Errorf("mapping io_uring's buffers: %w", err)
	}
	// struct io_uring_buf_reg
	register := struct {
		address      uint64
		entries      uint32
		group, flags uint16
		_            [3]uint64
	}{address: uint64(uintptr(unsafe.Pointer(&r.group[0]))), entries: ringBuffers}
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerBuffers,
		uintptr(unsafe.Pointer(&register)), 1, 0, 0); errno != 0 {
		return fmt.Errorf("io_uring_register: %w", errno)
	}
	for i := range uint16(ringBuffers) {
		r.giveBack(i)
	}
	return nil
}

// buffer is struct io_uring_buf. The tail of their ring lies in the last two bytes of the first.
type buffer struct {
	address uint64
	length  uint32
	number  uint16
	tail    uint16
}

// giveBack lets the kernel receive into a buffer again, from the next enter on.
func (r *ring) giveBack(number uint16) {
	b := (*buffer)(unsafe.Pointer(&r.group[16*int(r.bufferTail%ringBuffers)]))
	b.address = uint64(uintptr(unsafe.Pointer(&r.buffers[int(number)*ringBufferBytes])))
	b.length, b.number = ringBufferBytes, number
	r.bufferTail++
}

// publish tells the kernel what is new in both rings. The word of the buffers' tail has the first
// buffer's number in its other half.
func (r *ring) publish() {
	first := (*buffer)(unsafe.Pointer(&r.group[0]))
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&first.number)), uint32(first.number)|uint32(r.bufferTail)<<16)
	atomic.StoreUint32(r.sqTail, r.tail)
}

// bytes returns what was received.
func (r *ring) bytes(c *completion) []byte {
	return r.buffers[int(c.flags>>16)*ringBufferBytes:][:c.result]
}

// next returns a submission to fill in. Where the queue is full, the kernel takes what it has first.
func (r *ring) next() (*submission, error) {
	if r.queued() == ringSubmissions {
		if err := r.submit(); err != nil {
			return nil, err
		}
	}
	s := &r.submissions[r.tail%ringSubmissions]
	r.tail++
	*s = submission{}
	return s, nil
}

// queued returns how many submissions the kernel has not taken.
func (r *ring) queued() uint32 { return r.tail - atomic.LoadUint32(r.sqHead) }

// submit has the kernel take what is queued, and waits for nothing. A signal, or memory that is
// short for a moment, may interrupt it.
func (r *ring) submit() error {
	for range submitTries {
		if r.queued() == 0 {
			return nil
		}
		if errno := r.enter(0, 0, unix.RawSyscall6); !passes(errno) {
			return fmt.Errorf("io_uring_enter: %w", errno)
		}
	}
	return errors.New("io_uring_enter: the kernel does not take what is queued")
}

const submitTries = 1000

// passes reports whether an enter may be tried again.
func passes(errno syscall.Errno) bool {
	switch errno {
	case 0, unix.ETIME, unix.EINTR, unix.EAGAIN, unix.EBUSY:
		return true
	}
	return false
}

// poll has the kernel take what is queued, and waits for a completion, by the rules of [Loop.poll].
func (r *ring) poll(wait time.Duration) error {
	least := uintptr(min(wait, 1))
	errno := r.enter(min(wait, time.Millisecond), least, unix.RawSyscall6)
	if passes(errno) && r.queued() > 0 {
		return r.submit()
	}
	if wait > time.Millisecond && errno == unix.ETIME && !r.has() {
		errno = r.enter(wait-time.Millisecond, least, unix.Syscall6)
	}
	if !passes(errno) {
		return fmt.Errorf("io_uring_enter: %w", errno)
	}
	return nil
}

type systemCall func(number, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, errno syscall.Errno)

func (r *ring) enter(wait time.Duration, least uintptr, call systemCall) syscall.Errno {
	r.publish()
	r.timeout = unix.NsecToTimespec(int64(wait))
	r.wait.timeout = uint64(uintptr(unsafe.Pointer(&r.timeout)))
	_, _, errno := call(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.queued()), least,
		enterGetEvents|enterExtArg, uintptr(unsafe.Pointer(&r.wait)), unsafe.Sizeof(r.wait))
	return errno
}

func (r *ring) has() bool { return *r.cqHead != atomic.LoadUint32(r.cqTail) }

// take appends the completions to all, and makes room for more.
func (r *ring) take(all []completion) []completion {
	head, tail := *r.cqHead, atomic.LoadUint32(r.cqTail)
	for ; head != tail; head++ {
		all = append(all, r.completions[head&r.cqMask])
	}
	atomic.StoreUint32(r.cqHead, head)
	return all
}

// receive has what comes from a socket told again and again.
func (r *ring) receive(socket descriptor, user uint64) error {
	s, err := r.next()
	if err == nil {
		s.operation, s.flags, s.priority = operationReceive, bufferSelect, receiveMultishot
		s.descriptor, s.user = int32(socket), user
	}
	return err
}

// send sends at once what the kernel takes at once. Only where that is not all, a completion reports
// the bytes that were taken, or EAGAIN. The bytes must not change until then.
func (r *ring) send(socket descriptor, bytes []byte, user uint64) error {
	s, err := r.next()
	if err == nil {
		s.operation, s.flags = operationSend, skipSuccess
		s.detail = unix.MSG_DONTWAIT | unix.MSG_WAITALL | unix.MSG_NOSIGNAL
		s.address, s.length = uint64(uintptr(unsafe.Pointer(&bytes[0]))), uint32(len(bytes))
		s.descriptor, s.user = int32(socket), user
	}
	return err
}

// watch has events of a descriptor told: once, or each time that one comes.
func (r *ring) watch(fd int, events uint32, always bool, user uint64) error {
	s, err := r.next()
	if err == nil {
		s.operation, s.detail, s.descriptor, s.user = operationPollAdd, events, int32(fd), user
		if always {
			s.length = pollMultishot
		}
	}
	return err
}

// cancel ends the receives, so that none takes what comes once the ring is closed.
func (r *ring) cancel() error {
	s, err := r.next()
	if err != nil {
		return err
	}
	s.operation, s.detail = operationCancel, cancelAll|cancelAny
	if err := r.submit(); err != nil {
		return err
	}
	return r.poll(0)
}

// close ends what the ring does, and gives its memory back.
func (r *ring) close() error {
	errs := []error{unix.Close(r.fd)}
	for _, mapped := range [][]byte{r.queues, r.entries, r.group, r.buffers} {
		if mapped != nil {
			errs = append(errs, unix.Munmap(mapped))
		}
	}
	return errors.Join(errs...)
}
