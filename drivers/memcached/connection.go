package memcached

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"assay/store"
)

// connection is one TCP connection, with one request on its way at a time. After any failure that leaves the place in
// the stream unknown it is given up, so that a late answer is never taken for that of the next request; the next
// operation connects anew, within its own time. Nothing is ever sent twice.
type connection struct {
	endpoint string
	timeout  time.Duration
	socket   net.Conn // nil: given up

	request    []byte // reused
	answer     []byte // what was read of the socket
	start, end int    // answer[start:end] is not consumed yet
	current    []byte // the value that compare-and-swap compares, reused
}

// lineBytesMax is more than any line of the protocol that is asked for here.
const lineBytesMax = 8 << 10

func (c *connection) dial(ctx context.Context) error {
	dialer := net.Dialer{Timeout: c.timeout}
	socket, err := dialer.DialContext(ctx, "tcp", c.endpoint)
	if err != nil {
		return timedOut("connect", err)
	}
	c.socket, c.start, c.end = socket, 0, 0
	if c.answer == nil {
		c.answer = make([]byte, 16<<10)
	}
	return nil
}

func (c *connection) close() error {
	if c.socket == nil {
		return nil
	}
	err := c.socket.Close()
	c.socket = nil
	return err
}

// begin starts the operation's time.
func (c *connection) begin() error {
	if c.socket == nil {
		if err := c.dial(context.Background()); err != nil {
			return err
		}
	}
	if err := c.socket.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return c.giveUp("set deadline", err)
	}
	return nil
}

// roundTrip sends the request and returns the first line of the answer, valid until the next read. The server's own
// words for an error are an error.
func (c *connection) roundTrip() ([]byte, error) {
	if c.start != c.end {
		return nil, c.giveUp("send", errors.New("the server had sent more than was asked for"))
	}
	if _, err := c.socket.Write(c.request); err != nil {
		return nil, c.giveUp("send", err)
	}
	line, err := c.readLine()
	if err != nil {
		return nil, err
	}
	if isErrorLine(line) {
		return nil, c.serverError(line)
	}
	return line, nil
}

func isErrorLine(line []byte) bool {
	return string(line) == "ERROR" || bytes.HasPrefix(line, []byte("SERVER_ERROR")) || bytes.HasPrefix(line, []byte("CLIENT_ERROR"))
}

// serverError keeps the connection after SERVER_ERROR only: it answers a request that was understood. After the others
// the server may take the rest of a request for the next one.
func (c *connection) serverError(line []byte) error {
	err := fmt.Errorf("memcached: the server answers: %s", printable(line))
	if bytes.HasPrefix(line, []byte("SERVER_ERROR")) {
		return err
	}
	return errors.Join(err, c.close())
}

// unexpected is an answer that the protocol does not allow here.
func (c *connection) unexpected(request string, line []byte) error {
	return c.giveUp(request, fmt.Errorf("unexpected answer %q", printable(line)))
}

func printable(line []byte) string {
	const enough = 120
	return strings.ToValidUTF8(string(line[:min(len(line), enough)]), "?")
}

// giveUp closes the connection.
func (c *connection) giveUp(doing string, err error) error {
	failure := timedOut(doing, err)
	if closing := c.close(); closing != nil {
		return errors.Join(failure, closing)
	}
	return failure
}

func timedOut(doing string, err error) error {
	var network net.Error
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("memcached: %s: %w", doing, store.ErrTimeout)
	}
	// The socket's own message names the local port, which would make each one a message of its own.
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return fmt.Errorf("memcached: %s: %w", doing, err)
}

// readLine returns the next line, without its end.
func (c *connection) readLine() ([]byte, error) {
	searched := 0
	for {
		if at := bytes.IndexByte(c.answer[c.start+searched:c.end], '\n'); at >= 0 {
			line := c.answer[c.start : c.start+searched+at]
			c.start += searched + at + 1
			if len(line) == 0 || line[len(line)-1] != '\r' {
				return nil, c.unexpected("read answer", line)
			}
			return line[:len(line)-1], nil
		}
		searched = c.end - c.start
		if searched > lineBytesMax {
			return nil, c.unexpected("read answer", c.answer[c.start:c.end])
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more of the socket behind what is there already.
func (c *connection) fill() error {
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
		err = errors.New("the server closed the connection")
	}
	return c.giveUp("read answer", err)
}

// readValue appends length bytes to into, and consumes the line end after them.
func (c *connection) readValue(into []byte, length int) ([]byte, error) {
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
	return into, c.readValueEnd()
}

// readLongValue grows into step by step, so that a garbled length does not take the memory before the bytes came.
func (c *connection) readLongValue(into []byte, length int) ([]byte, error) {
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
			return nil, c.giveUp("read value", err)
		}
		length -= n
	}
	return into, c.readValueEnd()
}

func (c *connection) readValueEnd() error {
	for c.end-c.start < 2 {
		if err := c.fill(); err != nil {
			return err
		}
	}
	if c.answer[c.start] != '\r' || c.answer[c.start+1] != '\n' {
		return c.unexpected("read value's end", c.answer[c.start:c.start+2])
	}
	c.start += 2
	return nil
}

// stats sends a stats command and tells each "STAT name value".
func (c *connection) stats(request string, tell func(name, value string)) error {
	if err := c.begin(); err != nil {
		return err
	}
	c.request = append(c.request[:0], request...)
	line, err := c.roundTrip()
	for err == nil && string(line) != "END" {
		rest, ok := strings.CutPrefix(string(line), "STAT ")
		name, value, _ := strings.Cut(rest, " ")
		if !ok {
			return c.unexpected("stats", line)
		}
		tell(name, value)
		line, err = c.readLine()
	}
	return err
}
