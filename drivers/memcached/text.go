package memcached

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"assay/drivers/internal/wire"
	"assay/store"
)

// text is the text protocol of doc/protocol.txt.
type text struct{}

func (text) appendKeyed(r []byte, c command, key []byte) []byte {
	r = append(append(r, c...), ' ')
	return append(append(r, key...), "\r\n"...)
}

func (text) appendStore(r []byte, c command, key, value []byte, token uint64, ttlS uint32) []byte {
	r = append(append(r, c...), ' ')
	r = append(r, key...)
	r = append(r, " 0 "...) // flags
	r = strconv.AppendUint(r, uint64(ttlS), 10)
	r = append(r, ' ')
	r = strconv.AppendInt(r, int64(len(value)), 10)
	if c == cas {
		r = append(r, ' ')
		r = strconv.AppendUint(r, token, 10)
	}
	r = append(r, "\r\n"...)
	r = append(r, value...)
	return append(r, "\r\n"...)
}

func (text) appendTouch(r []byte, key []byte, ttlS uint32) []byte {
	r = append(append(append(r, touch...), ' '), key...)
	return append(strconv.AppendUint(append(r, ' '), uint64(ttlS), 10), "\r\n"...)
}

func (text) readStored(c *connection, to command) error {
	line, err := c.readAnswer()
	if err != nil {
		return err
	}
	done := "STORED"
	switch to {
	case remove:
		done = "DELETED"
	case touch:
		done = "TOUCHED"
	}
	switch text := string(line); {
	case text == done:
		return nil
	case to == add && text == "NOT_STORED", to == cas && text == "EXISTS":
		return store.ErrConflict
	case (to == cas || to == remove || to == touch) && text == "NOT_FOUND", to == join && text == "NOT_STORED":
		return store.ErrNotFound
	}
	return c.Unexpected(string(to), line)
}

// readRetrieved reads "VALUE key flags bytes [token]", the value, and END; or END alone: a miss.
func (text) readRetrieved(c *connection, to command, key, buf []byte) (value []byte, token uint64, err error) {
	line, err := c.readAnswer()
	if err != nil {
		return nil, 0, err
	}
	if string(line) == "END" {
		return nil, 0, store.ErrNotFound
	}
	length, token, ok := parseValueLine(line, key, to == gets)
	if !ok {
		return nil, 0, c.Unexpected("get", line)
	}
	value, err = c.ReadValue(buf[:0], length)
	if err != nil {
		return nil, 0, err
	}
	line, err = c.ReadLine()
	if err != nil {
		return nil, 0, err
	}
	if string(line) != "END" {
		return nil, 0, c.Unexpected("get, after the value", line)
	}
	return value, token, nil
}

func (text) appendMany(r []byte, keys [][]byte) []byte {
	r = append(r, get...)
	for _, key := range keys {
		r = append(append(r, ' '), key...)
	}
	return append(r, "\r\n"...)
}

func (text) readMany(c *connection, keys, values [][]byte, into []byte) ([]byte, error) {
	return readManyLines(c, keys, values, into, "END", parseValueLine)
}

// readManyLines reads values, each behind a line that names its key, up to a last line.
func readManyLines(c *connection, keys, values [][]byte, into []byte, last string,
	parse func(line, key []byte, withToken bool) (length int, token uint64, ok bool)) ([]byte, error) {
	for next := 0; ; next++ {
		line, err := c.readAnswer()
		if err != nil {
			return into, err
		}
		if string(line) == last {
			return into, nil
		}
		length, ok := 0, false
		for ; next < len(keys) && !ok; next++ {
			length, _, ok = parse(line, keys[next], false)
		}
		if !ok {
			return into, c.Unexpected("multi-get", line)
		}
		next--
		from := len(into)
		longer, err := c.ReadValue(into, length)
		if err != nil {
			return into, err
		}
		into = longer
		values[next] = into[from:len(into):len(into)]
	}
}

// parseValueLine accepts the answer to this very key only.
func parseValueLine(line, key []byte, withToken bool) (length int, token uint64, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("VALUE "))
	if !ok || len(rest) <= len(key) || !bytes.Equal(rest[:len(key)], key) || rest[len(key)] != ' ' {
		return 0, 0, false
	}
	if _, rest, ok = number(rest[len(key)+1:]); !ok { // flags
		return 0, 0, false
	}
	size, rest, ok := number(rest)
	if !ok || size > itemBytesMax {
		return 0, 0, false
	}
	if withToken {
		if token, rest, ok = number(rest); !ok {
			return 0, 0, false
		}
	}
	return int(size), token, len(rest) == 0
}

// login is a set, whose value is the user and the password and whose key has no meaning. A server
// that asks for no login would take it for a record.
func (text) login(c *wire.Connection) error {
	user, password, _ := c.Access.Login()
	c.Request = fmt.Appendf(c.Request[:0], "set login 0 0 %d\r\n%s %s\r\n",
		len(user)+1+len(password), user, password)
	line, err := exchange(c)
	if err == nil && string(line) != "STORED" {
		err = c.GiveUp("log in", errLogin)
	}
	return err
}

// demandsLogin looks for the error that such a server answers everything with.
func (text) demandsLogin(c *wire.Connection) error {
	c.Request = append(c.Request[:0], "version\r\n"...)
	line, err := exchange(c)
	if err == nil && !bytes.HasPrefix(line, []byte("CLIENT_ERROR")) {
		err = c.GiveUp("log in", errNoLogin)
	}
	return err
}

func (text) checkLogin(user, password string) error {
	if user == "" || strings.ContainsAny(user, " \r\n") || strings.ContainsAny(password, "\r\n") {
		return fmt.Errorf("memcached: a user has a name without spaces, and a password no line end: %w",
			store.ErrRefused)
	}
	return nil
}

// knock takes any line for an answer: also one that refuses.
func (text) knock(c *wire.Connection) error {
	c.Request = append(c.Request[:0], "version\r\n"...)
	if err := c.Send(); err != nil {
		return err
	}
	_, err := c.ReadLine()
	return err
}

func (text) version(c *connection) (string, error) {
	line, err := c.ask("version")
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(string(line), "VERSION ")
	if !ok {
		return "", c.Unexpected("version", line)
	}
	return version, nil
}

// stats reads each "STAT name value".
func (text) stats(c *connection, group string, tell func(name, value string)) error {
	line, err := c.ask(strings.TrimSpace("stats " + group))
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

func (text) flush(c *connection) error {
	line, err := c.ask("flush_all")
	if err == nil && string(line) != "OK" {
		return c.Unexpected("flush_all", line)
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

// ask sends a command without a key, and returns the first line of the answer, valid until the next
// read.
func (c *connection) ask(command string) ([]byte, error) {
	if err := c.Begin(); err != nil {
		return nil, err
	}
	c.Request = append(append(c.Request[:0], command...), "\r\n"...)
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
