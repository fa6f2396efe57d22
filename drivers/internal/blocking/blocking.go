// Package blocking is a [net.Conn] whose reads and writes block in the kernel. One of package net
// parks its goroutine instead, and an answer then wakes first a thread that polls, and by it the
// goroutine: on a machine of few CPUs that takes as long as a server's work on a small request. A
// blocked connection takes a thread each, so that this is for few of them.
//
// Deadlines, and [Conn.Close] from another goroutine, hold as in package net: a wait in the kernel
// is cut into slices, between which the deadline is looked at, and closing shuts the socket down,
// which ends a wait at once.
package blocking

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/store"
)

// connectionsMax is up to how many connections of a process block. docs/servers.md has the
// measurement: with more, a thread that polls finds several answers at once, and takes less.
const connectionsMax = 2

// Suits says whether the connections of a store are to block: there are few, and a CPU for each.
func Suits(c store.Config) bool {
	return max(c.Threads, c.Handles) <= min(connectionsMax, runtime.GOMAXPROCS(0))
}

// Tell adds to a store's settings that its connections block.
func Tell(settings map[string]string, blocks bool) {
	if blocks {
		settings["driver.sockets"] = "blocking"
	}
}

// slice bounds a wait in the kernel: a deadline that passes, or is moved, meanwhile is seen no
// later than that.
const slice = 50 * time.Millisecond

// Conn is a connection by TCP or to a Unix socket. As with package net, one goroutine may read
// while another writes, and all methods may be called at once.
type Conn struct {
	descriptor    int
	using         sync.RWMutex // held for reading by what uses the descriptor, for writing to close it
	closed        atomic.Bool
	local, remote net.Addr
	network       string

	read, write side
}

// side is one direction.
type side struct {
	deadline atomic.Int64 // Unix time in ns; 0: none
	waits    atomic.Int64 // the kernel's bound of a wait, in ns, as it was last set
	option   int          // that sets it
}

// Take makes a connection by TCP or to a Unix socket block; others stay as they are. The one that it is
// given must not be used any more.
func Take(c net.Conn) (net.Conn, error) {
	switch plain := c.(type) {
	case *net.TCPConn:
		return take(plain)
	case *net.UnixConn:
		return take(plain)
	}
	return c, nil
}

// plain is a connection of package net without TLS.
type plain interface {
	net.Conn
	syscall.Conn
}

func take(c plain) (*Conn, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	descriptor, copyErr := -1, error(nil)
	if err = raw.Control(func(fd uintptr) {
		descriptor, copyErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err == nil {
		err = copyErr
	}
	b := &Conn{descriptor: descriptor, local: c.LocalAddr(), remote: c.RemoteAddr(), network: c.LocalAddr().Network()}
	b.read.option, b.write.option = unix.SO_RCVTIMEO, unix.SO_SNDTIMEO
	if err = errors.Join(err, c.Close()); err == nil {
		err = errors.Join(unix.SetNonblock(descriptor, false), b.bound(&b.read, slice), b.bound(&b.write, slice))
	}
	if err != nil {
		if descriptor >= 0 {
			err = errors.Join(err, unix.Close(descriptor))
		}
		return nil, fmt.Errorf("making a connection block: %w", err)
	}
	return b, nil
}

// bound sets how long the kernel waits.
func (c *Conn) bound(s *side, wait time.Duration) error {
	if s.waits.Swap(int64(wait)) == int64(wait) {
		return nil
	}
	interval := unix.NsecToTimeval(int64(wait))
	return unix.SetsockoptTimeval(c.descriptor, unix.SOL_SOCKET, s.option, &interval)
}

// again says whether an operation whose wait is over has time left, and how long it may wait next.
func (c *Conn) again(s *side) error {
	wait := slice
	if deadline := s.deadline.Load(); deadline != 0 {
		left := time.Until(time.Unix(0, deadline))
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		wait = min(wait, max(left, time.Millisecond)) // 0 would be for ever
	}
	return c.bound(s, wait)
}

// passed says whether the deadline of a side was over before it began, which takes no look at the
// clock where there is none.
func (s *side) passed() bool {
	deadline := s.deadline.Load()
	return deadline != 0 && time.Now().UnixNano() >= deadline
}

func (c *Conn) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	err = c.each(&c.read, "read", func() (again bool, err error) {
		n, err = unix.Read(c.descriptor, p)
		return false, err
	})
	if err == nil && n == 0 {
		return 0, io.EOF // and not an *OpError: as package net has it
	}
	return max(n, 0), err
}

func (c *Conn) Write(p []byte) (n int, err error) {
	err = c.each(&c.write, "write", func() (again bool, err error) {
		wrote, err := unix.Write(c.descriptor, p[n:])
		n += max(wrote, 0)
		return n < len(p), err
	})
	return n, err
}

// each does an operation until it is done, its time is over or the connection is closed.
func (c *Conn) each(s *side, name string, do func() (again bool, err error)) error {
	c.using.RLock()
	defer c.using.RUnlock()
	fails := func(err error) error {
		if c.closed.Load() {
			err = net.ErrClosed
		}
		return &net.OpError{Op: name, Net: c.network, Source: c.local, Addr: c.remote, Err: err}
	}
	if c.closed.Load() {
		return fails(net.ErrClosed)
	}
	if s.passed() {
		return fails(os.ErrDeadlineExceeded)
	}
	for {
		again, err := do()
		switch {
		case err == nil && !again:
			if c.closed.Load() && name == "read" { // what ended the read may have been the closing
				return fails(net.ErrClosed)
			}
			return nil
		case err == nil, errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if err := c.again(s); err != nil {
				return fails(err)
			}
		default:
			return fails(os.NewSyscallError(name, err))
		}
		if c.closed.Load() {
			return fails(net.ErrClosed)
		}
	}
}

// Close ends what waits on the connection, and then closes it.
func (c *Conn) Close() error {
	if c.closed.Swap(true) {
		return &net.OpError{Op: "close", Net: c.network, Source: c.local, Addr: c.remote, Err: net.ErrClosed}
	}
	// The descriptor is closed below alone, so that it is still ours. It fails where the other end
	// is gone already, which is all right.
	_ = unix.Shutdown(c.descriptor, unix.SHUT_RDWR)
	c.using.Lock()
	defer c.using.Unlock()
	return unix.Close(c.descriptor)
}

func (c *Conn) LocalAddr() net.Addr  { return c.local }
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *Conn) SetReadDeadline(t time.Time) error  { return c.set(&c.read, t) }
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.set(&c.write, t) }

func (c *Conn) set(s *side, t time.Time) error {
	if c.closed.Load() {
		return &net.OpError{Op: "set", Net: c.network, Source: c.local, Addr: c.remote, Err: net.ErrClosed}
	}
	if t.IsZero() {
		s.deadline.Store(0)
	} else {
		s.deadline.Store(max(t.UnixNano(), 1))
	}
	return nil
}

// SyscallConn lets libraries look whether the other end has hung up, by a read that they expect not
// to block: the socket does not, as long as they look.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return raw{c}, nil }

type raw struct{ c *Conn }

func (r raw) Control(do func(descriptor uintptr)) error {
	r.c.using.RLock()
	defer r.c.using.RUnlock()
	if r.c.closed.Load() {
		return net.ErrClosed
	}
	do(uintptr(r.c.descriptor))
	return nil
}

func (r raw) Read(do func(descriptor uintptr) (done bool)) error  { return r.look(do) }
func (r raw) Write(do func(descriptor uintptr) (done bool)) error { return r.look(do) }

// look does what must not block. It is called once, and does not wait.
func (r raw) look(do func(descriptor uintptr) (done bool)) (err error) {
	controlErr := r.Control(func(descriptor uintptr) {
		if err = unix.SetNonblock(int(descriptor), true); err == nil {
			do(descriptor)
			err = unix.SetNonblock(int(descriptor), false)
		}
	})
	return errors.Join(controlErr, err)
}
