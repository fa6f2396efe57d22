package memcached

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// connection speaks the text protocol.
type connection struct {
	wire.Connection
}

func newConnection(endpoint string, timeout time.Duration, access wire.Access) connection {
	c := connection{wire.Connection{
		Server: "memcached", Endpoint: endpoint, Timeout: timeout, Access: access,
	}}
	if _, _, given := access.Login(); given {
		c.Greet = login
	}
	return c
}

// login is the text protocol's: a set, whose value is the user and the password and whose key has
// no meaning. A server that asks for no login would take it for a record: see [demandsLogin].
func login(c *wire.Connection) error {
	user, password, _ := c.Access.Login()
	c.Request = fmt.Appendf(c.Request[:0], "set login 0 0 %d\r\n%s %s\r\n",
		len(user)+1+len(password), user, password)
	line, err := exchange(c)
	if err == nil && string(line) != "STORED" {
		err = c.GiveUp("log in", errors.New("the server does not accept the user and password"))
	}
	return err
}

// demandsLogin is an error if the server answers without a login: the password would become a
// record that anybody can read. A store asks it once, before it logs in.
func demandsLogin(c *wire.Connection) error {
	c.Request = append(c.Request[:0], "version\r\n"...)
	line, err := exchange(c)
	if err == nil && !bytes.HasPrefix(line, []byte("CLIENT_ERROR")) {
		err = c.GiveUp("log in", errors.New("the server asks for no login: no credentials are sent to it"))
	}
	return err
}

// exchange sends the request and returns the first line of the answer, whatever it says.
func exchange(c *wire.Connection) ([]byte, error) {
	if err := c.Send(); err != nil {
		return nil, err
	}
	return c.ReadLine()
}

// checkLogin is an error for credentials that the text protocol can't carry.
func checkLogin(access wire.Access) error {
	user, password, given := access.Login()
	if given && (user == "" || strings.ContainsAny(user, " \r\n") || strings.ContainsAny(password, "\r\n")) {
		return fmt.Errorf("memcached: a user has a name without spaces, and a password no line end: %w",
			store.ErrRefused)
	}
	return nil
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
