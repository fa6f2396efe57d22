package memcached

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"assay/drivers/internal/wire"
)

// connection speaks the text protocol.
type connection struct {
	wire.Connection
}

func newConnection(endpoint string, timeout time.Duration) connection {
	return connection{Connection: wire.Connection{Server: "memcached", Endpoint: endpoint, Timeout: timeout}}
}

// roundTrip sends the request and returns the first line of the answer, valid until the next read.
func (c *connection) roundTrip() ([]byte, error) {
	if err := c.Send(); err != nil {
		return nil, err
	}
	return c.readAnswer()
}

// readAnswer reads the first line of an answer, valid until the next read. The server's own words
// for an error are an error.
func (c *connection) readAnswer() ([]byte, error) {
	line, err := c.ReadLine()
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

// serverError keeps the connection after SERVER_ERROR only: it answers a request that was
// understood. After the others the server may take the rest of a request for the next one.
func (c *connection) serverError(line []byte) error {
	err := c.Answered(line)
	if bytes.HasPrefix(line, []byte("SERVER_ERROR")) {
		return err
	}
	return errors.Join(err, c.Close())
}

// stats sends a stats command and tells each "STAT name value".
func (c *connection) stats(request string, tell func(name, value string)) error {
	if err := c.Begin(); err != nil {
		return err
	}
	c.Request = append(c.Request[:0], request...)
	line, err := c.roundTrip()
	for err == nil && string(line) != "END" {
		rest, ok := strings.CutPrefix(string(line), "STAT ")
		name, value, _ := strings.Cut(rest, " ")
		if !ok {
			return c.Unexpected("stats", line)
		}
		tell(name, value)
		line, err = c.ReadLine()
	}
	return err
}
