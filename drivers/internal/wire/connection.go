// Package wire is the lean client's side of a protocol over TCP or a Unix socket, of lines or of frames that tell their
// length: one buffer for what is sent, one for what is read, and no allocation in the steady path.
// Drivers of servers put their protocol on it.
//
//	connection.go  one connection, with one request on its way at a time, which its caller waits for
//	access.go      TLS and logins
//	bound.go       how long an answer may be
//	speaker.go     what a driver adds: requests, and how their answers are read
//	blocking.go    a handle, which waits for the answer to each request of a connection
//	loop.go        many connections that one thread drives through epoll(7)
//	loop_ring.go   the same through io_uring(7)
//	ring.go        an io_uring: its queues and its buffers
//
// # Decisions
//
//   - TLS and logins are in one place: the lean clients connect through it, and the libraries get
//     its settings, or its connections where they know no login. What memcached and Redis demand
//     of Assay, started by it, is made for each start and reaches the worker as the names of
//     files.
//   - Asynchronous handles are a way to share handles (handles: async(16)), and no option of a
//     driver: they are an axis, any store may have them, the null driver has them (so the ceiling
//     is that of the same loop), and the report names them. The interface is submit and reap;
//     io_uring, and epoll where that is not allowed or connections are more than 4,096, stand in
//     drivers/internal/wire, so that a driver whose library has an event loop of its own may use
//     that. A ring belongs to one OS thread: so a worker's thread pins its loop for a phase
//     (store.Pinner). The ring is our own code: no Go library for io_uring could be had, and it is
//     in the measured loop. An answer that has not come whole is read again from its beginning: so
//     one parser serves both forms, and a driver writes no state machine. The loop's system calls
//     are not announced to Go's scheduler where they last a millisecond at most.
package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"assay/drivers/internal/blocking"
	"assay/store"
)

// Connection is one connection, by TCP or to a Unix socket. After any failure that leaves the place
// in the stream unknown it is given up, so that a late answer is never taken for that of the next
// request; the next operation connects anew, within its own time. Nothing is ever sent twice.
type Connection struct {
	Server   string // its name, which messages begin with
	Endpoint string
	Timeout  time.Duration // of one operation, and of connecting
	Access   Access
	// Network connects where it is not by TCP, or where a library logs in. Optional: Access does. A
	// [Loop] takes what has a socket of its own (a [syscall.Conn] of one stream).
	Network func(ctx context.Context, endpoint string, timeout time.Duration) (net.Conn, error)
	// Blocks makes the socket block in the kernel, for few connections ([blocking.Suits]); one by
	// TLS does not. No [Loop] takes it.
	Blocks bool
	// Greet is what a new connection is to say before its first request. Optional.
	Greet func(*Connection) error
	// Knock is a request that a server answers once it has accepted the connection, which is there
	// before that. Optional; [Connection.Open] and a [Loop] that is opened send it: so of those that are
	// opened one after the other few stand in the server's listen queue, however short it is.
	Knock func(*Connection) error
	// Reconnects counts how often an operation connected anew. Optional.
	Reconnects *atomic.Uint64
	// Bound is how long what is read at once may be. Optional.
	Bound *Bound

	// Request is what [Connection.Send] sends. It is reused: build it on Request[:0].
	Request []byte

	socket     socket // nil: given up
	answer     []byte // what was read of the socket
	start, end int    // answer[start:end] is not consumed yet
	looped     bool   // a [Loop] reads the socket: what is not in answer has not come yet
	wanted     int    // of a looped one: reading goes no further until answer has so many bytes from start on
}

// socket is what a connection needs of a [net.Conn].
type socket interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
}

// errNotHere says that the rest of an answer has not come yet: the loop reads the answer again from
// its beginning once it has.
var errNotHere = errors.New("the rest of the answer is not here yet")

// NotHere reports whether an error says no more than that the rest of an answer has not come yet.
// It never does outside of a [Loop].
func NotHere(err error) bool { return err == errNotHere } //nolint:errorlint // it is never wrapped

// LineBytesMax is more than any line of the protocols that is asked for, and less than the buffer
// that answers are read into.
const LineBytesMax = 8 << 10

// Dial connects, and greets.
func (c *Connection) Dial(ctx context.Context) error {
	dial := c.Network
	if dial == nil {
		dial = c.Access.Dial
	}
	socket, err := dial(ctx, c.Endpoint, c.Timeout)
	if err == nil && c.Blocks {
		socket, err = blocking.Take(socket)
	}
	if err != nil {
		return c.failure("connect", err)
	}
	c.Use(socket)
	if c.Greet == nil {
		return nil
	}
	// The request that the connection is for may stand in c.Request already.
	waiting := c.Request
	c.Request = nil
	err = c.Access.Hide(errors.Join(c.setDeadline(), c.Greet(c)))
	c.Request = waiting
	if err != nil {
		return errors.Join(err, c.Close())
	}
	return nil
}

// connectPatience is how long a connection may take to be there that no operation waits for: where many are
// opened at once, the server's listen queue runs over, and the kernel asks again after 1, 3 and 7 s.
const connectPatience = 10 * time.Second

// Open is [Connection.Dial] of a connection that no operation waits for, as a handle's first.
func (c *Connection) Open(ctx context.Context) error {
	ofOperation := c.Timeout
	c.Timeout = max(c.Timeout, connectPatience)
	err := c.Dial(ctx)
	if err == nil && c.Knock != nil {
		err = c.setDeadline()
	}
	if err == nil && c.Knock != nil {
		if err = c.Knock(c); err != nil {
			err = errors.Join(err, c.Close())
		}
	}
	c.Timeout = ofOperation
	return err
}

// Use speaks over a connection that is there already.
func (c *Connection) Use(over socket) {
	c.socket, c.start, c.end = over, 0, 0
	if c.answer == nil {
		c.answer = make([]byte, 16<<10)
	}
}

// Close closes the connection, if it is there.
func (c *Connection) Close() error {
	if c.socket == nil {
		return nil
	}
	err := c.socket.Close()
	c.socket = nil
	return err
}

// Release hands the socket over to another client, and leaves the connection given up.
func (c *Connection) Release() (net.Conn, error) {
	if c.start != c.end {
		return nil, c.GiveUp("connect", errors.New("the server had sent more than was asked for"))
	}
	socket := c.socket.(net.Conn)
	c.socket = nil
	return socket, nil
}

// Connected reports whether the connection was not given up.
func (c *Connection) Connected() bool { return c.socket != nil }

// Begin starts the operation's time, on a new connection where the last one was given up.
func (c *Connection) Begin() error {
	if c.socket == nil {
		if err := c.Dial(context.Background()); err != nil {
			return err
		}
		if c.Reconnects != nil {
			c.Reconnects.Add(1)
		}
	}
	return c.setDeadline()
}

func (c *Connection) setDeadline() error {
	if err := c.socket.SetDeadline(time.Now().Add(c.Timeout)); err != nil {
		return c.GiveUp("set deadline", err)
	}
	return nil
}

// Send sends the request.
func (c *Connection) Send() error {
	if c.start != c.end {
		return c.GiveUp("send", errors.New("the server had sent more than was asked for"))
	}
	if _, err := c.socket.Write(c.Request); err != nil {
		return c.GiveUp("send", err)
	}
	return nil
}

// GiveUp closes the connection.
func (c *Connection) GiveUp(doing string, err error) error {
	failure := c.failure(doing, err)
	if closing := c.Close(); closing != nil {
		return errors.Join(failure, closing)
	}
	return failure
}

// Unexpected gives the connection up over an answer that the protocol does not allow here.
func (c *Connection) Unexpected(doing string, answer []byte) error {
	return c.GiveUp(doing, fmt.Errorf("unexpected answer %q", Printable(answer)))
}

// Answered is an error that the server reported, in its own words.
func (c *Connection) Answered(line []byte) error {
	return fmt.Errorf("%s: the server answers: %s", c.Server, Printable(line))
}

// Printable is the beginning of an answer, for a message.
func Printable(answer []byte) string {
	const enough = 120
	return strings.ToValidUTF8(string(answer[:min(len(answer), enough)]), "?")
}

func (c *Connection) failure(doing string, err error) error { return Failure(c.Server, doing, err) }

// Failure says what failed, as a timeout where it is one. Each cause has one text, since messages
// are counted.
func Failure(server, doing string, err error) error {
	var network net.Error
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("%s: %s: %w", server, doing, store.ErrTimeout)
	}
	// The socket's own message names the local port, which would make each one a message of its
	// own.
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("%s: %s: %w", server, doing, err)
}

// ReadLine returns the next line without its end, valid until the next read.
func (c *Connection) ReadLine() ([]byte, error) {
	searched := 0
	for {
		if at := bytes.IndexByte(c.answer[c.start+searched:c.end], '\n'); at >= 0 {
			line := c.answer[c.start : c.start+searched+at]
			c.start += searched + at + 1
			if len(line) == 0 || line[len(line)-1] != '\r' {
				return nil, c.Unexpected("read answer", line)
			}
			return line[:len(line)-1], nil
		}
		searched = c.end - c.start
		if searched > LineBytesMax {
			return nil, c.Unexpected("read answer", c.answer[c.start:c.end])
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

var errClosed = errors.New("the server closed the connection (servers close idle ones)")

// fill reads more of the socket behind what is there already.
func (c *Connection) fill() error {
	if c.looped {
		return errNotHere
	}
	if c.start > 0 {
		copy(c.answer, c.answer[c.start:c.end])
		c.start, c.end = 0, c.end-c.start
	}
	n, err := c.socket.Read(c.answer[c.end:])
	c.end += n
	if n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = errClosed
	}
	return c.GiveUp("read answer", err)
}

// ReadBytes returns the next length bytes, valid until the next read. The buffer at most doubles at
// a time, and only once it is full: a garbled length takes no memory for bytes that do not come.
func (c *Connection) ReadBytes(length int) ([]byte, error) {
	if err := c.holds(length); err != nil {
		return nil, err
	}
	if c.looped && c.end-c.start < length {
		c.wanted = c.start + length
		return nil, errNotHere
	}
	for c.end-c.start < length {
		if c.end-c.start == len(c.answer) {
			larger := make([]byte, min(max(length, len(c.answer)), 2*len(c.answer)))
			c.start, c.end = 0, copy(larger, c.answer[c.start:c.end])
			c.answer = larger
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	c.start += length
	return c.answer[c.start-length : c.start], nil
}

// ReadValue appends length bytes to into, and consumes the line end after them.
func (c *Connection) ReadValue(into []byte, length int) ([]byte, error) {
	if err := c.holds(length); err != nil {
		return nil, err
	}
	if c.looped && c.end-c.start < length+2 {
		c.wanted = c.start + length + 2
		return nil, errNotHere
	}
	into, err := c.ReadBody(into, length)
	if err != nil {
		return nil, err
	}
	return into, c.readValueEnd()
}

// ReadFrame returns the next frame of a binary protocol: a length of 32 bits, big-endian, and so
// many bytes, at least one and at most bytesMax. They are valid until the next read.
func (c *Connection) ReadFrame(bytesMax int) ([]byte, error) {
	head, err := c.ReadBytes(4)
	if err != nil {
		return nil, err
	}
	length := int64(binary.BigEndian.Uint32(head))
	if length < 1 || length > int64(bytesMax) {
		return nil, c.GiveUp("read answer",
			fmt.Errorf("a frame of %d bytes, expected 1 to %d", length, bytesMax))
	}
	return c.ReadBytes(int(length))
}

// ReadBody appends length bytes to into.
func (c *Connection) ReadBody(into []byte, length int) ([]byte, error) {
	if err := c.holds(length); err != nil {
		return nil, err
	}
	if c.looped && c.end-c.start < length {
		c.wanted = c.start + length
		return nil, errNotHere
	}
	for length > 0 {
		if c.start == c.end {
			// The rest of a long value goes where it belongs, without a stop in between.
			if length >= len(c.answer) {
				return c.readLongValue(into, length)
			}
			if err := c.fill(); err != nil {
				return nil, err
			}
		}
		n := min(length, c.end-c.start)
		into = append(into, c.answer[c.start:c.start+n]...)
		c.start += n
		length -= n
	}
	return into, nil
}

// readLongValue grows into step by step, so that a garbled length does not take the memory before
// the bytes came.
func (c *Connection) readLongValue(into []byte, length int) ([]byte, error) {
	const step = 1 << 20
	for length > 0 {
		n := min(length, step)
		from := len(into)
		if cap(into)-from < n {
			into = append(into, make([]byte, n)...)
		} else {
			into = into[:from+n]
		}
		if _, err := io.ReadFull(c.socket, into[from:]); err != nil {
			return nil, c.GiveUp("read value", err)
		}
		length -= n
	}
	return into, nil
}

func (c *Connection) readValueEnd() error {
	for c.end-c.start < 2 {
		if err := c.fill(); err != nil {
			return err
		}
	}
	if c.answer[c.start] != '\r' || c.answer[c.start+1] != '\n' {
		return c.Unexpected("read value's end", c.answer[c.start:c.start+2])
	}
	c.start += 2
	return nil
}
