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
	late       bool
	most, came int64 // bytes that the operation's answer may have, 0: any number, and those that came
	flooded    error // more came: what the library tells instead may be less
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

type socket struct {
	connection
	link *Link
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.connection.Read(p)
	if l := s.link; l.most > 0 {
		if l.came += int64(n); l.came > l.most {
			l.flooded = wire.Refuse(l.came, l.most)
			return 0, l.flooded
		}
	}
	return n, s.link.note(err)
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.connection.Write(p)
	return n, s.link.note(err)
}

func (l *Link) note(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		l.late = true
	}
	return err
}

// Dial is what a library connects by. The operation that waits for it has begun.
func (l *Link) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: l.timeout}
	dialled, err := dialer.DialContext(ctx, network, address)
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
	l.socket, l.connected = &socket{dialled.(connection), l}, true
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
	l.late, l.most, l.flooded = false, 0, nil
	if l.socket != nil {
		// It fails on a closed socket only, which the operation then meets.
		_ = l.socket.SetDeadline(time.Now().Add(l.timeout))
	}
}

// Expect bounds the answer to the operation that has begun: libraries read one of any length.
func (l *Link) Expect(records int) {
	if l.Bound != nil {
		l.most, l.came = int64(records)*l.Bound.Most(), 0
		if l.Limit != nil {
			l.Limit(int(l.Bound.Most()))
		}
	}
}

// Late says if the operation's time was over.
func (l *Link) Late() bool { return l.late }

// Drop closes the socket.
func (l *Link) Drop() {
	if l.socket != nil {
		_ = l.socket.Close() // nothing more is expected of it
		l.socket = nil
	}
}
