package memcached

import (
	"errors"
	"fmt"

	"assay/drivers/internal/wire"
	"assay/store"
)

// protocol says the commands in one of the server's protocols. Handles, lanes and the connection
// for statistics share one.
type protocol interface {
	// appendKeyed appends a command that has a key and nothing else: get, gets and remove.
	appendKeyed(r []byte, c command, key []byte) []byte
	// appendStore appends a storage command. The token is of cas alone. ttlS is after how many seconds
	// the server removes the value; 0: never.
	appendStore(r []byte, c command, key, value []byte, token uint64, ttlS uint32) []byte
	// appendTouch appends what gives a record another expiry.
	appendTouch(r []byte, key []byte, ttlS uint32) []byte
	// readRetrieved reads the answer to get or gets, and accepts that to this very key only. The
	// token is of gets alone.
	readRetrieved(c *connection, to command, key, buf []byte) (value []byte, token uint64, err error)
	// appendMany appends what reads several keys in one round trip.
	appendMany(r []byte, keys [][]byte) []byte
	// readMany reads the answer to it: values, in the order of the keys, are appended to into, and
	// those of keys that are not there stay as they are.
	readMany(c *connection, keys, values [][]byte, into []byte) ([]byte, error)
	// readStored reads the answer to a command that changes something.
	readStored(c *connection, to command) error

	// login shows the credentials.
	login(c *wire.Connection) error
	// demandsLogin is an error if the server answers without a login: no password is sent to it.
	demandsLogin(c *wire.Connection) error
	// checkLogin is an error for credentials that the protocol can't carry.
	checkLogin(user, password string) error

	// knock is [wire.Connection.Knock].
	knock(c *wire.Connection) error
	version(c *connection) (string, error)
	// stats reports each statistic of a group; "" is the general one.
	stats(c *connection, group string, tell func(name, value string)) error
	// flush makes every record of the server unreachable.
	flush(c *connection) error
}

// The choices of the option protocol.
const (
	textProtocol   = "text"
	metaProtocol   = "meta"
	binaryProtocol = "binary"
	udpProtocol    = "udp"
)

// protocols has how each one says the commands. By UDP it is the text protocol in datagrams.
var protocols = map[string]protocol{
	textProtocol: text{}, metaProtocol: meta{}, binaryProtocol: binaryForm{}, udpProtocol: text{},
}

// command is an operation of the server. Its text is that of the text protocol.
type command string

const (
	get    command = "get"
	gets   command = "gets"
	set    command = "set"
	add    command = "add"
	cas    command = "cas"
	remove command = "delete"
	join   command = "append"
	touch  command = "touch"
)

var (
	errKeyLength = fmt.Errorf("memcached: a key has 1 to %d bytes", keyBytesMax)
	errKeyBytes  = errors.New("memcached: a key can't hold spaces, control characters or binary bytes 0 to 32 and 127: the text protocol ends it there")
)

// checkKey holds for each protocol, so that a record can be reached by all of them.
func checkKey(key []byte) error {
	if len(key) == 0 || len(key) > keyBytesMax {
		return errKeyLength
	}
	for _, b := range key {
		if b <= ' ' || b == 0x7f {
			return errKeyBytes
		}
	}
	return nil
}

// itemBytesMax is the largest -I that a server takes. A longer value is garbage, and must not be
// allocated.
const itemBytesMax = 1 << 30

// number reads a decimal number and the space or the line's end after it. strconv would need a
// string.
func number(text []byte) (n uint64, rest []byte, ok bool) {
	for i, b := range text {
		if b == ' ' && i > 0 {
			return n, text[i+1:], true
		}
		digit := uint64(b - '0')
		if b < '0' || b > '9' || n > (1<<64-1-digit)/10 {
			return 0, nil, false
		}
		n = n*10 + digit
	}
	return n, nil, len(text) > 0
}

// refuseProtocol says why a choice of protocol does not go with the other options.
func refuseProtocol(name, client string, access wire.Access) error {
	user, password, given := access.Login()
	switch {
	case client == gomemcache && name != textProtocol:
		return fmt.Errorf("memcached: client %s speaks the text protocol alone, not %s: %w",
			gomemcache, name, store.ErrRefused)
	case name == udpProtocol && (given || access.TLS() != nil):
		return fmt.Errorf("memcached: protocol udp has no TLS and no login: %w", store.ErrRefused)
	case given:
		return protocols[name].checkLogin(user, password)
	}
	return nil
}
