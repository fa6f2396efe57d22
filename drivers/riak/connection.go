package riak

import (
	"errors"
	"fmt"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// connection speaks the protocol-buffers protocol: frames of a length, a code and a message.
type connection struct {
	wire.Connection
}

func newConnection(endpoint string, timeout time.Duration) connection {
	return connection{wire.Connection{Server: name, Endpoint: endpoint, Timeout: timeout}}
}

// exchange sends the request in r, in the time of an operation that has begun, and returns the
// answer's message, valid until the next read.
func (c *connection) exchange(doing string, r []byte, answer byte) ([]byte, error) {
	c.Request = finish(r)
	if err := c.Send(); err != nil {
		return nil, err
	}
	frame, err := c.ReadFrame(frameBytesMax)
	if err != nil {
		return nil, err
	}
	switch frame[0] {
	case answer:
		return frame[1:], nil
	case errorResponse:
		return nil, c.refusal(frame[1:])
	}
	return nil, c.GiveUp(doing, fmt.Errorf("the answer has code %d, expected %d", frame[0], answer))
}

// ask is an exchange with a time of its own.
func (c *connection) ask(doing string, r []byte, answer byte) ([]byte, error) {
	if err := c.Begin(); err != nil {
		return nil, err
	}
	return c.exchange(doing, r, answer)
}

// refusal is the server's own word for what failed. The connection goes on.
func (c *connection) refusal(message []byte) error {
	text, _, err := parseTwo(message)
	if err != nil {
		return c.GiveUp("read error", err)
	}
	return answered(text.bytes)
}

// answered is an error that the server reported. A timeout among its nodes is one: whether the
// operation took effect is unknown.
func answered(text []byte) error {
	if string(text) == "timeout" {
		return fmt.Errorf("%s: the server answers: timeout: %w", name, store.ErrTimeout)
	}
	return &serverError{wire.Printable(text)}
}

type serverError struct{ text string }

func (e *serverError) Error() string { return name + ": the server answers: " + e.text }

// refused reports whether the server itself has refused a request, and how.
func refused(err error) (text string, is bool) {
	var e *serverError
	if errors.As(err, &e) {
		return e.text, true
	}
	return "", false
}

// malformed gives the connection up over a message that can't be read.
func (c *connection) malformed(doing string) error { return c.GiveUp(doing, errMalformed) }

// serverInfo asks for the name and the version of a node.
func (c *connection) serverInfo() (node, version string, err error) {
	message, err := c.ask("server info", appendHead(c.Request, serverInfoRequest), serverInfoResponse)
	if err != nil {
		return "", "", err
	}
	first, second, err := parseTwo(message)
	if err != nil {
		return "", "", c.malformed("server info")
	}
	return string(first.bytes), string(second.bytes), nil
}
