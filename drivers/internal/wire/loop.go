//go:build linux

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/store"
)

// Loop is a [store.Loop] of TCP connections: one thread reads and writes them all, without blocking,
// and waits for them by epoll(7), or by io_uring(7) where the kernel allows it and the thread is the
// loop's own ([store.Pinner]). What is to be sent goes out at the next Reap, for all lanes at once.
//
// After a failure that leaves the place in a stream unknown the lane's connection is given up, as
// that of a handle is: what was on its way fails with the cause, and the next operation connects
// anew, in a goroutine of its own, since that may take long.
type Loop struct {
	lanes   []lane
	timeout time.Duration
	epoll   int
	wake    int // eventfd(2) that says that a connection was made, or could not be
	events  []unix.EpollEvent
	longest unix.Timespec // that an epoll may wait
	coarse  bool          // the kernel knows milliseconds alone
	answer  []byte        // what is read into: one for all lanes, so that it stays in the processor's caches
	value   []byte        // the value that was read last: one for all lanes, too
	base    time.Time
	now     time.Duration // since base, at the last look
	sweepAt time.Duration // when the next operation may have taken too long
	dirty   []int         // lanes with something to be sent
	dialled chan dialled
	dialing int

	steps bool // batches take several requests

	ring        *ring // nil: epoll
	completions []completion
	sending     []int // lanes whose requests the ring was given in this turn
}

// lane is a connection with its operations that have not ended, oldest first, in a ring.
type lane struct {
	speaker  Speaker
	link     *Connection
	ring     []pending
	first, n int
	unsent   int    // of n: submitted since the last write
	sent     int    // bytes of the request that the kernel took, where it did not take all
	part     []byte // holds an answer that has not come whole
	dirty    bool
	dialing  bool
	full     bool   // the ring will tell when the socket takes more
	made     uint16 // how often the lane was connected: what a ring tells of an older socket is dropped
}

// pending is an operation that has not ended.
type pending struct {
	since time.Duration // when it was sent, to a turn of the loop; 0: not yet
	err   error         // it was refused before it was sent
}

type dialled struct {
	lane   int
	socket descriptor
	err    error
}

// answerBytes is how much is read at once.
const answerBytes = 64 << 10

// dialsAtOnce keeps the time of opening 10,000 connections short, and a server's queue of those that
// it has not accepted from overflowing.
const dialsAtOnce = 16

// NewLoop connects each speaker. At most pipeline operations are on each one's way.
func NewLoop(speakers []Speaker, pipeline int) (l *Loop, err error) {
	l = &Loop{lanes: make([]lane, len(speakers)), epoll: -1, wake: -1, base: time.Now(),
		events: make([]unix.EpollEvent, min(len(speakers)+1, 256)), answer: make([]byte, answerBytes),
		dialled: make(chan dialled, len(speakers))}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return l, fmt.Errorf("eventfd: %w", err)
	}
	for i, speaker := range speakers {
		one := &l.lanes[i]
		one.speaker, one.link, one.ring = speaker, speaker.Link(), make([]pending, pipeline)
		if one.link.Access.tls != nil { // whose records the loop can't read
			return l, fmt.Errorf("%s: asynchronous handles have no TLS: %w", one.link.Server, store.ErrRefused)
		}
		if s, is := speaker.(Stepper); is {
			l.steps = s.StepsInBatches()
		}
		one.link.looped, one.link.answer = true, l.answer
		l.timeout = one.link.Timeout
	}
	if err := l.openEpoll(); err != nil {
		return l, err
	}
	return l, l.dialAll()
}

// openEpoll watches what is connected by epoll.
func (l *Loop) openEpoll() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	if err := l.watch(unix.EPOLL_CTL_ADD, l.wake, unix.EPOLLIN, -1); err != nil {
		return err
	}
	for i := range l.lanes {
		if socket, connected := l.lanes[i].link.socket.(descriptor); connected {
			if err := l.watch(unix.EPOLL_CTL_ADD, int(socket), unix.EPOLLIN, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// dialAll connects all lanes.
func (l *Loop) dialAll() error {
	sockets, errs := make([]descriptor, len(l.lanes)), make([]error, len(l.lanes))
	var next atomic.Int64
	var failed atomic.Bool
	var dials sync.WaitGroup
	for range min(dialsAtOnce, len(l.lanes)) {
		dials.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(l.lanes) && !failed.Load(); i = int(next.Add(1)) - 1 {
				if sockets[i], errs[i] = l.lanes[i].link.dialAside(true); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	dials.Wait()
	for i, socket := range sockets {
		if socket > 0 {
			errs[i] = l.join(i, socket) // also after a failure: Close closes it then
		}
	}
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("connection %d of %d: %w", i+1, len(errs), err)
		}
	}
	return nil
}

// watch sets for which events of a descriptor epoll tells of a lane; −1 is wake.
func (l *Loop) watch(change, descriptor int, events uint32, lane int) error {
	event := unix.EpollEvent{Events: events, Fd: int32(lane)}
	if err := unix.EpollCtl(l.epoll, change, descriptor, &event); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// dialAside makes a connection as c's are made, greeting included, and does not use it yet. opens: no
// operation waits for it.
func (c *Connection) dialAside(opens bool) (descriptor, error) {
	aside := Connection{Server: c.Server, Endpoint: c.Endpoint, Timeout: c.Timeout, Access: c.Access,
		Network: c.Network, Greet: c.Greet, Knock: c.Knock}
	dial := aside.Dial
	if opens {
		dial = aside.Open
	}
	if err := dial(context.Background()); err != nil {
		return -1, err
	}
	if aside.start != aside.end {
		return -1, aside.GiveUp("connect", errTooMuch)
	}
	one, is := aside.socket.(stream)
	if !is {
		return -1, aside.GiveUp("connect", errNoStream)
	}
	socket, err := take(one)
	if err != nil {
		return -1, c.failure("connect", err)
	}
	return socket, nil
}

var errNoStream = fmt.Errorf("asynchronous handles need a stream of the kernel's: %w", store.ErrRefused)

// stream is a connection of package net, by TCP or to a Unix socket.
type stream interface {
	syscall.Conn
	io.Closer
}

// take returns the socket of a connection without Go's poller, which is not to know of it.
func take(c stream) (socket descriptor, err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var duplicate int
	var failed error
	if err := raw.Control(func(fd uintptr) {
		duplicate, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil || failed != nil {
		return -1, errors.Join(err, failed)
	}
	return descriptor(duplicate), nil
}

// join makes a connection the lane's.
func (l *Loop) join(i int, socket descriptor) error {
	one := &l.lanes[i]
	one.link.Use(socket)
	one.sent, one.full = 0, false
	one.made++
	if j, is := one.speaker.(Joiner); is {
		j.Joined()
	}
	if l.ring != nil {
		return l.receive(i)
	}
	return l.watch(unix.EPOLL_CTL_ADD, int(socket), unix.EPOLLIN, i)
}

// StepsInBatches is of [store.Stepper].
func (l *Loop) StepsInBatches() bool { return l.steps }

// Submit is of [store.Loop].
func (l *Loop) Submit(i int, r *store.Request) {
	one := &l.lanes[i]
	at := one.first + one.n
	if at >= len(one.ring) {
		at -= len(one.ring)
	}
	one.ring[at] = pending{err: one.speaker.Ask(at, r)}
	one.n++
	one.unsent++
	l.soil(i, one)
}

// soil notes that a lane has something to be sent, or to be told.
func (l *Loop) soil(i int, one *lane) {
	if !one.dirty {
		one.dirty = true
		l.dirty = append(l.dirty, i)
	}
}

// pop takes the oldest operation.
func (one *lane) pop() pending {
	p := one.ring[one.first]
	if one.first++; one.first == len(one.ring) {
		one.first = 0
	}
	one.n--
	return p
}

// Reap is of [store.Loop].
func (l *Loop) Reap(wait time.Duration, ended store.Ended) error {
	l.now = time.Since(l.base)
	for k := 0; k < len(l.dirty); k++ { // flush may add lanes
		i := l.dirty[k]
		if one := &l.lanes[i]; one.dirty {
			if told, err := l.flush(i, one, ended); err != nil {
				return err
			} else if told {
				wait = 0
			}
		}
	}
	l.dirty = l.dirty[:0]
	wait = min(wait, l.sweepEvery())
	look := l.look
	if l.ring != nil {
		look = l.lookAtRing
	}
	if err := look(wait, ended); err != nil {
		return err
	}
	if l.now >= l.sweepAt {
		l.sweep(ended)
	}
	return nil
}

// look waits for events, and reads what has come.
func (l *Loop) look(wait time.Duration, ended store.Ended) error {
	n, err := l.poll(wait)
	if err != nil {
		return err
	}
	l.now = time.Since(l.base)
	for _, event := range l.events[:n] {
		if err := l.serve(int(event.Fd), event.Events, ended); err != nil {
			return err
		}
	}
	return nil
}

// poll waits for events. Answers mostly come within a millisecond: so long the scheduler is not told
// that the thread waits, for it would watch it closely and take its processor away, which costs more
// than a request. Whatever stops the world waits so long, too.
func (l *Loop) poll(wait time.Duration) (n int, err error) {
	n, errno := l.await(min(wait, time.Millisecond), unix.RawSyscall6)
	if errno == 0 && n == 0 && wait > time.Millisecond {
		n, errno = l.await(wait-time.Millisecond, unix.Syscall6)
	}
	switch errno {
	case 0:
		return n, nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("epoll_wait: %w", errno)
}

// await is one wait for events, by nanoseconds where the kernel knows them (Linux 5.11).
func (l *Loop) await(wait time.Duration, call systemCall) (n int, errno syscall.Errno) {
	events, room := uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events))
	if !l.coarse {
		l.longest = unix.NsecToTimespec(int64(wait))
		got, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), events, room,
			uintptr(unsafe.Pointer(&l.longest)), 0, 0)
		if errno == 0 {
			return int(got), 0
		}
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return 0, errno
		}
		l.coarse = true
	}
	got, _, errno := call(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), events, room, uintptr(wait/time.Millisecond), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(got), 0
}

func (l *Loop) serve(i int, events uint32, ended store.Ended) error {
	if i < 0 {
		return l.connected()
	}
	one := &l.lanes[i]
	if one.link.socket == nil {
		return nil // given up in this turn
	}
	if events&unix.EPOLLOUT != 0 {
		if err := l.watch(unix.EPOLL_CTL_MOD, int(one.link.socket.(descriptor)), unix.EPOLLIN, i); err != nil {
			return err
		}
		l.soil(i, one)
	}
	if events&^unix.EPOLLOUT != 0 {
		l.read(i, one, ended)
	}
	return nil
}

var errTooMuch = errors.New("the server had sent more than was asked for")

// read reads once what is there, and ends the operations whose answers it completes.
func (l *Loop) read(i int, one *lane, ended store.Ended) {
	c := one.link
	if c.start == c.end {
		c.answer, c.start, c.end, c.wanted = l.answer, 0, 0, 0
	} else {
		c.makeRoom(1)
		one.part = c.answer // which may have grown
	}
	n, errno := c.socket.(descriptor).read(c.answer[c.end:])
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return
	case errno != 0:
		l.fail(one, i, c.GiveUp("read answer", errno), ended)
		return
	case n == 0:
		l.fail(one, i, c.GiveUp("read answer", errClosed), ended)
		return
	}
	l.came(i, one, n, ended)
}

// came looks at n more bytes of a lane's answers.
func (l *Loop) came(i int, one *lane, n int, ended store.Ended) {
	c := one.link
	if c.end += n; c.end < c.wanted {
		return
	}
	l.settle(i, one, ended)
	if c.start < c.end {
		one.setAside()
	}
}

// setAside copies an answer that has not come whole to the lane's own buffer: the next lane reads
// into the one of all.
func (one *lane) setAside() {
	c := one.link
	if len(one.part) > 0 && &c.answer[0] == &one.part[0] {
		return // it is there
	}
	here := c.answer[c.start:c.end]
	if len(one.part) <= len(here) {
		one.part = make([]byte, 2*len(here)+partBytes)
	}
	copy(one.part, here)
	c.answer, c.start, c.end, c.wanted = one.part, 0, len(here), max(c.wanted-c.start, 0)
}

// partBytes is the least size of a lane's own buffer.
const partBytes = 1 << 10

// settle ends the operations whose answers are here.
func (l *Loop) settle(i int, one *lane, ended store.Ended) {
	c := one.link
	for one.n > 0 {
		if err := one.ring[one.first].err; err != nil {
			one.forgetUnsent()
			one.pop()
			ended(i, nil, err)
			continue
		}
		if c.start == c.end || c.socket == nil {
			return
		}
		at := c.start
		c.wanted = 0
		value, more, err := one.speaker.Answer(one.first, l.value[:0])
		if cap(value) > cap(l.value) {
			l.value = value
		}
		switch {
		case NotHere(err):
			c.start = at
			return
		case c.socket == nil:
			l.fail(one, i, err, ended)
			return
		case more:
			one.unsent++
			l.soil(i, one)
			return
		}
		one.pop()
		one.unsent = min(one.unsent, one.n) // it was sent, though others of its request were not yet
		ended(i, value, err)
	}
}

// forgetUnsent keeps unsent right where the oldest operation ends without having been sent.
func (one *lane) forgetUnsent() {
	if one.unsent == one.n {
		one.unsent--
	}
}

// fail ends all operations on a lane's way, whose connection was given up. What ended submits stands
// behind them, for the next connection.
func (l *Loop) fail(one *lane, i int, err error, ended store.Ended) {
	one.link.Request, one.sent, one.unsent = one.link.Request[:0], 0, 0
	for range one.n {
		p := one.pop()
		if p.err == nil {
			p.err = err
		}
		ended(i, nil, p.err)
	}
}

// flush sends what is to be sent. told: it ended operations.
func (l *Loop) flush(i int, one *lane, ended store.Ended) (told bool, err error) {
	one.dirty = false
	c := one.link
	if len(c.Request) == 0 { // all of it was refused before it was sent
		before := one.n
		l.settle(i, one, ended)
		return before > 0, nil
	}
	if c.socket == nil {
		if !one.dialing {
			one.dialing = true
			l.dialing++
			go l.dial(i, c)
		}
		return false, nil
	}
	if one.n == one.unsent && one.sent == 0 && c.start != c.end {
		l.fail(one, i, c.GiveUp("send", errTooMuch), ended)
		return true, nil
	}
	for k := one.n - one.unsent; k < one.n; k++ {
		one.ring[(one.first+k)%len(one.ring)].since = l.now
	}
	socket := c.socket.(descriptor)
	if l.ring != nil {
		return false, l.sendByRing(i, one, socket)
	}
	for one.sent < len(c.Request) {
		n, errno := socket.write(c.Request[one.sent:])
		switch errno {
		case 0:
			one.sent += n
		case unix.EINTR:
		case unix.EAGAIN:
			return false, l.watch(unix.EPOLL_CTL_MOD, int(socket), unix.EPOLLIN|unix.EPOLLOUT, i)
		default:
			l.fail(one, i, c.GiveUp("send", errno), ended)
			return true, nil
		}
	}
	c.Request, one.sent, one.unsent = c.Request[:0], 0, 0
	return false, nil
}

// dial connects a lane anew, beside the loop.
func (l *Loop) dial(i int, c *Connection) {
	socket, err := c.dialAside(false)
	l.dialled <- dialled{i, socket, err}
	_, _ = unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // it is full only if it wakes already
}

// connected takes what dial has made.
func (l *Loop) connected() error {
	var count [8]byte
	_, _ = unix.Read(l.wake, count[:]) // whatever it says, the channel tells
	for {
		select {
		case d := <-l.dialled:
			one := &l.lanes[d.lane]
			one.dialing = false
			l.dialing--
			if d.err != nil {
				// Told at the next turn: settle ends what is refused.
				one.refuse(d.err)
			} else if err := l.join(d.lane, d.socket); err != nil {
				return err
			} else if one.link.Reconnects != nil {
				one.link.Reconnects.Add(1)
			}
			l.soil(d.lane, one)
		default:
			return nil
		}
	}
}

// refuse makes an error that of all operations that wait for a connection.
func (one *lane) refuse(err error) {
	one.link.Request = one.link.Request[:0]
	for k := range one.n {
		if p := &one.ring[(one.first+k)%len(one.ring)]; p.err == nil {
			p.err = err
		}
	}
}

// sweepEvery is how often operations are looked at that may have taken too long: so exact are
// timeouts.
func (l *Loop) sweepEvery() time.Duration {
	return min(max(l.timeout/100, time.Millisecond), 10*time.Millisecond)
}

// sweep ends operations that have taken too long. An operation that is sent after it can't take too
// long before the whole timeout is over: so it looks again when the oldest one may have.
func (l *Loop) sweep(ended store.Ended) {
	oldest := l.now
	for i := range l.lanes {
		one := &l.lanes[i]
		if one.n == 0 || one.link.socket == nil || one.ring[one.first].since == 0 {
			continue // nothing was sent: the connection was made in this turn
		}
		if since := one.ring[one.first].since; l.now-since > l.timeout {
			l.fail(one, i, one.link.GiveUp("read answer", os.ErrDeadlineExceeded), ended)
		} else {
			oldest = min(oldest, since)
		}
	}
	l.sweepAt = max(oldest+l.timeout, l.now+l.sweepEvery())
}

// Close closes the connections.
func (l *Loop) Close() error {
	var errs []error
	for ; l.dialing > 0; l.dialing-- {
		if d := <-l.dialled; d.err == nil {
			errs = append(errs, d.socket.Close())
		}
	}
	for i := range l.lanes {
		if c := l.lanes[i].link; c != nil {
			errs = append(errs, c.Close())
		}
	}
	if l.ring != nil {
		errs = append(errs, l.ring.close())
		l.ring = nil
	}
	for _, fd := range []*int{&l.epoll, &l.wake} {
		if *fd >= 0 {
			errs = append(errs, unix.Close(*fd))
			*fd = -1
		}
	}
	return errors.Join(errs...)
}

// makeRoom makes room for so many bytes, or for more of them, behind what is here already.
func (c *Connection) makeRoom(bytes int) {
	switch {
	case c.end+bytes <= len(c.answer):
	case c.start > 0:
		copy(c.answer, c.answer[c.start:c.end])
		c.end -= c.start
		c.wanted = max(c.wanted-c.start, 0)
		c.start = 0
	default:
		c.answer = append(c.answer, make([]byte, len(c.answer))...)
	}
}

// descriptor is a socket that does not block and that Go's poller does not know.
type descriptor int

// read and write are plain system calls: they do not block, so that the scheduler need not know.
func (d descriptor) read(into []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(d),
		uintptr(unsafe.Pointer(&into[0])), uintptr(len(into)))
	return int(n), errno
}

func (d descriptor) write(from []byte) (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(d),
		uintptr(unsafe.Pointer(&from[0])), uintptr(len(from)))
	return int(n), errno
}

func (d descriptor) Read(into []byte) (int, error)  { return unix.Read(int(d), into) }
func (d descriptor) Write(from []byte) (int, error) { return unix.Write(int(d), from) }
func (descriptor) SetDeadline(time.Time) error      { return nil } // the loop's sweep holds it

// Close also ends what a ring does with the socket, which would keep it open. A socket that the
// server has reset already can't be shut down.
func (d descriptor) Close() error {
	_ = unix.Shutdown(int(d), unix.SHUT_RDWR)
	return unix.Close(int(d))
}
