package redis

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// connection speaks RESP2. An error reply leaves the place in the stream known, so that the
// connection is kept; any other reply than the one that belongs here gives it up.
type connection struct{ *wire.Connection }

func newConnection(endpoint string, timeout time.Duration, e entry) connection {
	c := connection{&wire.Connection{Server: "redis", Endpoint: endpoint, Timeout: timeout, Access: e.access}}
	if _, _, given := e.access.Login(); given || e.database != 0 {
		c.Greet = func(w *wire.Connection) error { return e.greet(connection{w}) }
	}
	return c
}

// entry is how a connection gets in, and the database that it works on.
type entry struct {
	access   wire.Access
	database int
}

func (e entry) greet(c connection) error {
	if user, password, given := e.access.Login(); given {
		arguments := []string{"AUTH", password}
		if user != "" {
			arguments = []string{"AUTH", user, password}
		}
		if err := c.ask("log in", arguments...); err != nil {
			return err
		}
	}
	if e.database != 0 {
		return c.ask("select database", "SELECT", strconv.Itoa(e.database))
	}
	return nil
}

// ask sends one command, and expects OK.
func (c connection) ask(doing string, arguments ...string) error {
	c.Request = appendCommand(c.Request[:0], arguments...)
	if err := c.Send(); err != nil {
		return err
	}
	return c.status(doing, "OK")
}

// appendHead appends the number of a command's arguments and its name.
func appendHead(r []byte, arguments int, name string) []byte {
	r = append(r, '*')
	r = strconv.AppendInt(r, int64(arguments), 10)
	r = append(r, "\r\n"...)
	return appendBulk(r, name)
}

func appendBulk[T string | []byte](r []byte, argument T) []byte {
	r = append(r, '$')
	r = strconv.AppendInt(r, int64(len(argument)), 10)
	r = append(r, "\r\n"...)
	r = append(r, argument...)
	return append(r, "\r\n"...)
}

func appendCommand(r []byte, arguments ...string) []byte {
	r = appendHead(r, len(arguments), arguments[0])
	for _, argument := range arguments[1:] {
		r = appendBulk(r, argument)
	}
	return r
}

// The first byte of a reply.
const (
	simpleReply  = '+'
	errorReply   = '-'
	integerReply = ':'
	bulkReply    = '$'
	arrayReply   = '*'
)

// Limits of a reply. What is above them is garbage, and must not be allocated.
const (
	bulkBytesMax = valueBytesMax
	arrayMax     = 1 << 20
)

// absent is the length of a bulk or an array that is not there.
const absent = -1

// parseHead reads the first line of a reply. n is the integer, or the length of the bulk or the
// array; absent for one that is not there.
func parseHead(line []byte) (kind byte, n int, ok bool) {
	if len(line) == 0 {
		return 0, 0, false
	}
	kind = line[0]
	limit := 0
	switch kind {
	case simpleReply, errorReply:
		return kind, 0, true
	case integerReply:
		limit = 1<<63 - 1
	case bulkReply:
		limit = bulkBytesMax
	case arrayReply:
		limit = arrayMax
	default:
		return 0, 0, false
	}
	digits := line[1:]
	negative := len(digits) > 0 && digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return 0, 0, false
	}
	for _, b := range digits {
		if b < '0' || b > '9' || n > (limit-int(b-'0'))/10 {
			return 0, 0, false
		}
		n = n*10 + int(b-'0')
	}
	if !negative {
		return kind, n, true
	}
	if n == 0 || kind != integerReply && n != 1 {
		return 0, 0, false
	}
	return kind, -n, true
}

// reply reads the first line of a reply. A server's error is an error.
func (c connection) reply(doing string) (kind byte, n int, line []byte, err error) {
	line, err = c.ReadLine()
	if err != nil {
		return 0, 0, nil, err
	}
	kind, n, ok := parseHead(line)
	switch {
	case !ok:
		return 0, 0, nil, c.Unexpected(doing, line)
	case kind == errorReply:
		return 0, 0, nil, c.Answered(line[1:])
	}
	return kind, n, line, nil
}

func (c connection) status(doing, want string) error {
	kind, _, line, err := c.reply(doing)
	if err != nil {
		return err
	}
	if kind != simpleReply || string(line[1:]) != want {
		return c.Unexpected(doing, line)
	}
	return nil
}

func (c connection) integer(doing string, least, most int) (int, error) {
	kind, n, line, err := c.reply(doing)
	if err != nil {
		return 0, err
	}
	if kind != integerReply || n < least || n > most {
		return 0, c.Unexpected(doing, line)
	}
	return n, nil
}

// array reads how many replies follow; absent for none.
func (c connection) array(doing string) (int, error) {
	kind, n, line, err := c.reply(doing)
	if err != nil {
		return 0, err
	}
	if kind != arrayReply {
		return 0, c.Unexpected(doing, line)
	}
	return n, nil
}

// bulk appends a bulk to into; [store.ErrNotFound] says that there is none.
func (c connection) bulk(doing string, into []byte) ([]byte, error) {
	kind, n, line, err := c.reply(doing)
	switch {
	case err != nil:
		return nil, err
	case kind != bulkReply:
		return nil, c.Unexpected(doing, line)
	case n == absent:
		return nil, store.ErrNotFound
	}
	return c.ReadValue(into, n)
}

// texts sends a command whose reply is an array of bulks.
func (c connection) texts(doing string, arguments ...string) ([]string, error) {
	if err := c.Begin(); err != nil {
		return nil, err
	}
	c.Request = appendCommand(c.Request[:0], arguments...)
	if err := c.Send(); err != nil {
		return nil, err
	}
	n, err := c.array(doing)
	if err != nil {
		return nil, err
	}
	var all []string
	for range n {
		text, err := c.bulk(doing, nil)
		if errors.Is(err, store.ErrNotFound) {
			return nil, c.GiveUp(doing, errors.New("a text of the answer is not there"))
		}
		if err != nil {
			return nil, errors.Join(err, c.Close()) // the rest of the array is still to come
		}
		all = append(all, string(text))
	}
	return all, nil
}

// text sends a command whose reply is one bulk.
func (c connection) text(doing string, arguments ...string) (string, error) {
	if err := c.Begin(); err != nil {
		return "", err
	}
	c.Request = appendCommand(c.Request[:0], arguments...)
	if err := c.Send(); err != nil {
		return "", err
	}
	text, err := c.bulk(doing, nil)
	if errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("redis: %s: no answer", doing)
	}
	return string(text), err
}
