package sqlkv

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"assay/drivers/internal/blocking"
	"assay/drivers/internal/wire"
)

// Link makes a handle's sockets, and bounds each operation's time. Libraries bound it by a context,
// which costs a goroutine or a microsecond an operation; a deadline on the socket does not.
type Link struct {
	// Blocks makes the sockets block in the kernel: [blocking.Suits].
	Blocks bool
	// Bound is how long the records are that come; nil: not known.
	Bound *wire.Bound
	// Limit bounds a message of the library's, which has memory for all of it; nil: it reads in parts.
	Limit func(bytes int)

	timeout    time.Duration
	reconnects *atomic.Uint64
	socket     *socket
	connected  bool // once
	late       bool // to connect
	most       int64
}

// NewLink returns a link with no socket yet. It adds to reconnects, unless that is nil, whenever it
// makes another socket than its first.
func NewLink(timeout time.Duration, reconnects *atomic.Uint64) *Link {
	return &Link{timeout: timeout, reconnects: reconnects}
}

// connection is what libraries look for in a socket: some look whether the other end has hung up.
type connection interface {
	net.Conn
	syscall.Conn
}

// socket knows what became of its operation. A library that gives a connection up may go on to read
// it, beside the next operation, which has another socket.
type socket struct {
	connection
	late       atomic.Bool
	most, came atomic.Int64 // bytes that the operation's answer may have, 0: any number, and those that came
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.connection.Read(p)
	if s.came.Add(int64(n)); s.flooded() != nil {
		return 0, s.flooded()
	}
	return n, s.note(err)
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.connection.Write(p)
	return n, s.note(err)
}

func (s *socket) note(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.late.Store(true)
	}
	return err
}

// flooded says that more came than the operation's answer may have.
func (s *socket) flooded() error {
	if most, came := s.most.Load(), s.came.Load(); most > 0 && came > most {
		return wire.Refuse(came, most)
	}
	return nil
}

// Dial is what a library connects by. The operation that waits for it has begun.
func (l *Link) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialled, err := wire.Dial(ctx, network, address, l.timeout)
	if err == nil && l.Blocks {
		dialled, err = blocking.Take(dialled)
	}
	if err != nil {
		var failure net.Error
		l.late = l.late || errors.As(err, &failure) && failure.Timeout()
		return nil, withoutPort(err)
	}
	if l.connected && l.reconnects != nil {
		l.reconnects.Add(1)
	}
	l.socket, l.connected = &socket{connection: dialled.(connection)}, true
	l.socket.most.Store(l.most)
	return l.socket, l.socket.SetDeadline(time.Now().Add(l.timeout))
}

// DialOnce returns what a library is to dial one connection by: the link until that connects, and
// then, for requests to cancel what a connection was given up over, a socket that is no handle's.
func (l *Link) DialOnce() func(ctx context.Context, network, address string) (net.Conn, error) {
	var connected atomic.Bool
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if connected.Load() {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		c, err := l.Dial(ctx, network, address)
		if err == nil {
			connected.Store(true)
		}
		return c, err
	}
}

// withoutPort leaves the local port out of a message, which would make each one a message of its
// own.
func withoutPort(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// Begin starts an operation's time.
func (l *Link) Begin() {
	l.late = false
	l.bound(0)
	if l.socket != nil {
		l.socket.late.Store(false)
		// It fails on a closed socket only, which the operation then meets.
		_ = l.socket.SetDeadline(time.Now().Add(l.timeout))
	}
}

// Expect bounds the answer to the operation that has begun: libraries read one of any length.
func (l *Link) Expect(records int) {
	if l.Bound != nil {
		l.bound(int64(records) * l.Bound.Most())
		if l.Limit != nil {
			l.Limit(int(l.Bound.Most()))
		}
	}
}

func (l *Link) bound(most int64) {
	l.most = most
	if l.socket != nil {
		l.socket.most.Store(most)
		l.socket.came.Store(0)
	}
}

// Late says if the operation's time was over.
func (l *Link) Late() bool { return l.late || l.socket != nil && l.socket.late.Load() }

// Flooded says that more came than the operation's answer may have; what the library tells instead may
// be less.
func (l *Link) Flooded() error {
	if l.socket == nil {
		return nil
	}
	return l.socket.flooded()
}

// Drop closes the socket.
func (l *Link) Drop() {
	if l.socket != nil {
		_ = l.socket.Close() // nothing more is expected of it
		l.socket = nil
	}
}
