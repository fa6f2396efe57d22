package redis

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// connection speaks RESP2 or RESP3. An error reply leaves the place in the stream known, so that
// the connection is kept; any other reply than the one that belongs here gives it up.
type connection struct {
	*wire.Connection
	resp3 bool
}

func newConnection(endpoint string, timeout time.Duration, e entry) connection {
	c := connection{
		&wire.Connection{Server: "redis", Endpoint: endpoint, Timeout: timeout, Access: e.access}, e.resp3,
	}
	if _, _, given := e.access.Login(); given || e.database != 0 || e.resp3 {
		c.Greet = func(w *wire.Connection) error { return e.greet(connection{w, e.resp3}) }
	} else { // whose answer says as much
		c.Knock = knock
	}
	return c
}

// knock takes any line for an answer: also one that refuses.
func knock(c *wire.Connection) error {
	c.Request = append(c.Request[:0], "*1\r\n$4\r\nPING\r\n"...)
	if err := c.Send(); err != nil {
		return err
	}
	_, err := c.ReadLine()
	return err
}

// entry is how a connection gets in, the protocol that it speaks then, and the database that it
// works on.
type entry struct {
	access   wire.Access
	resp3    bool
	database int
}

func (e entry) greet(c connection) error {
	user, password, given := e.access.Login()
	switch {
	case e.resp3:
		arguments := []string{"HELLO", "3"}
		if given {
			arguments = append(arguments, "AUTH", cmp.Or(user, "default"), password)
		}
		if err := c.hello(arguments); err != nil {
			return err
		}
	case given:
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

// hello changes to RESP3. The answer describes the server: its words are not looked at.
func (c connection) hello(arguments []string) error {
	c.Request = appendCommand(c.Request[:0], arguments...)
	if err := c.Send(); err != nil {
		return err
	}
	_, err := c.tree("HELLO", 0)
	return err
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

	// Of RESP3 alone.
	nullReply     = '_'
	mapReply      = '%'
	verbatimReply = '='
)

// Limits of a reply. What is above them is garbage, and must not be allocated.
const (
	bulkBytesMax = valueBytesMax
	arrayMax     = 1 << 20
)

// absent is the length of a bulk or an array that is not there.
const absent = -1

// parseHead reads the first line of a reply. n is the integer, or the length of the bulk, the array
// or the map; absent for one that is not there, which may have a form of its own in RESP3.
func parseHead(line []byte, resp3 bool) (kind byte, n int, ok bool) {
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
		if !resp3 {
			return 0, 0, false
		}
		switch kind {
		case nullReply:
			return kind, absent, len(line) == 1
		case mapReply:
			limit = arrayMax / 2
		case verbatimReply:
			limit = bulkBytesMax
		default:
			return 0, 0, false
		}
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
	kind, n, ok := parseHead(line, c.resp3)
	switch {
	case !ok:
		return 0, 0, nil, c.Unexpected(doing, line)
	case kind == errorReply:
		return 0, 0, nil, c.refused(line[1:])
	}
	return kind, n, line, nil
}

// refused is the error that a server reported.
func (c connection) refused(line []byte) error {
	told := c.Answered(line)
	if r := asRedirect(string(line), told); r != nil {
		return r
	}
	return told
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
	if kind != arrayReply && kind != nullReply {
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
	case kind != bulkReply && kind != nullReply:
		return nil, c.Unexpected(doing, line)
	case n == absent:
		return nil, store.ErrNotFound
	}
	return c.ReadValue(into, n)
}

// answer is a reply of any form.
type answer struct {
	text  string
	n     int // an integer
	items []answer
}

// treeDepthMax is more than any reply that is asked for has.
const treeDepthMax = 8

// tree reads a reply of any form. It is for what is asked outside of the measured work.
func (c connection) tree(doing string, depth int) (a answer, err error) {
	kind, n, line, err := c.reply(doing)
	if err != nil {
		return a, err
	}
	switch kind {
	case simpleReply:
		a.text = string(line[1:])
	case integerReply:
		a.n = n
	case bulkReply, verbatimReply:
		if n == absent {
			break
		}
		text, err := c.ReadValue(nil, n)
		if err != nil {
			return a, err
		}
		a.text = string(text)
		if kind == verbatimReply { // three letters for its format, and a colon
			a.text = a.text[min(len("txt:"), len(a.text)):]
		}
	case arrayReply, mapReply:
		if kind == mapReply {
			n *= 2
		}
		if depth == treeDepthMax {
			return a, c.GiveUp(doing, errors.New("the answer is too deep"))
		}
		for range max(n, 0) {
			item, err := c.tree(doing, depth+1)
			if err != nil {
				return a, c.endAfter(err) // the rest is still to come
			}
			a.items = append(a.items, item)
		}
	}
	return a, nil
}

// text sends a command whose reply is one text.
func (c connection) text(doing string, arguments ...string) (string, error) {
	told, err := c.told(doing, arguments...)
	if err == nil && told.text == "" {
		err = fmt.Errorf("redis: %s: no answer", doing)
	}
	return told.text, err
}

// told sends a command and reads its reply, of any form.
func (c connection) told(doing string, arguments ...string) (answer, error) {
	if err := c.Begin(); err != nil {
		return answer{}, err
	}
	c.Request = appendCommand(c.Request[:0], arguments...)
	if err := c.Send(); err != nil {
		return answer{}, err
	}
	return c.tree(doing, 0)
}
