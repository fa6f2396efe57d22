package memcached

import (
	"errors"
	"time"

	"assay/drivers/internal/wire"
)

// connection speaks a protocol.
type connection struct {
	wire.Connection
	protocol protocol
}

var (
	errLogin   = errors.New("the server does not accept the user and password")
	errNoLogin = errors.New("the server asks for no login: no credentials are sent to it")
)

// newConnection connects by TCP.
func newConnection(endpoint string, timeout time.Duration, access wire.Access, p protocol) connection {
	c := connection{
		Connection: wire.Connection{Server: "memcached", Endpoint: endpoint, Timeout: timeout, Access: access},
		protocol:   p,
	}
	if _, _, given := access.Login(); given {
		c.Greet = p.login
	} else { // whose answer says as much
		c.Knock = p.knock
	}
	return c
}

// version asks what the server is.
func (c *connection) version() (string, error) { return c.protocol.version(c) }

// stats reports each statistic of a group.
func (c *connection) stats(group string, tell func(name, value string)) error {
	return c.protocol.stats(c, group, tell)
}
