package tokyotyrant

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"assay/store"
)

// faces are those of keys and values, which hold nothing.
var faces = map[string]face{protocolBinary: binaryFace{}, protocolMemcached: memcachedFace{},
	protocolHTTP: httpFace{}}

// memcachedFace is the text protocol of memcached, as the server speaks it: it drops flags, has no
// cas and takes keys of any length.
type memcachedFace struct{}

var errMemcachedKey = fmt.Errorf("tokyotyrant: the memcached face takes keys of 1 to %d bytes without "+
	"spaces and control characters",
	memcachedKeyBytesMax)

func (memcachedFace) check(key []byte) error {
	if len(key) > memcachedKeyBytesMax {
		return errMemcachedKey
	}
	for _, b := range key {
		if b <= ' ' || b == 0x7f {
			return errMemcachedKey
		}
	}
	return nil
}

func (memcachedFace) appendGet(r, key []byte) []byte { return appendLine(r, "get ", key) }

func appendLine(r []byte, verb string, key []byte) []byte {
	return append(append(append(r, verb...), key...), "\r\n"...)
}

// readGet reads "VALUE key flags bytes", the value, and END; or END alone: a miss.
func (memcachedFace) readGet(c *connection, key, into []byte) ([]byte, error) {
	line, err := c.ReadLine()
	if err != nil {
		return nil, err
	}
	if string(line) == "END" {
		return nil, store.ErrNotFound
	}
	rest, ok := bytes.CutPrefix(line, []byte("VALUE "))
	if ok {
		rest, ok = bytes.CutPrefix(rest, key)
	}
	if ok {
		rest, ok = bytes.CutPrefix(rest, []byte(" 0 "))
	}
	length, ok := parseLength(rest, ok)
	if !ok {
		return nil, c.Unexpected("get", line)
	}
	value, err := c.ReadValue(into, length)
	if err != nil {
		return nil, err
	}
	if line, err = c.ReadLine(); err == nil && string(line) != "END" {
		err = c.Unexpected("get, after the value", line)
	}
	return value, err
}

// parseLength reads a length in decimal. strconv would need a string.
func parseLength(text []byte, ok bool) (int, bool) {
	n := 0
	for _, b := range text {
		if b < '0' || b > '9' || n > argumentBytesMax {
			return 0, false
		}
		n = 10*n + int(b-'0')
	}
	return n, ok && len(text) > 0 && n <= argumentBytesMax
}

func (memcachedFace) appendPut(r []byte, how command, key, value []byte) ([]byte, error) {
	if len(value) > argumentBytesMax {
		return nil, errValueLength
	}
	verb := "set "
	if how == commandPutKeep {
		verb = "add "
	}
	r = append(append(append(r, verb...), key...), " 0 0 "...)
	r = append(strconv.AppendInt(r, int64(len(value)), 10), "\r\n"...)
	return append(append(r, value...), "\r\n"...), nil
}

func (memcachedFace) readPut(c *connection, how command) error {
	line, err := c.ReadLine()
	switch {
	case err != nil:
		return err
	case string(line) == "STORED":
		return nil
	case how == commandPutKeep && string(line) == "NOT_STORED":
		return store.ErrConflict
	}
	return c.refusedLine(how.String(), line)
}

func (memcachedFace) appendDelete(r, key []byte) []byte { return appendLine(r, "delete ", key) }

func (memcachedFace) readDelete(c *connection) error {
	line, err := c.ReadLine()
	switch {
	case err != nil:
		return err
	case string(line) == "DELETED":
		return nil
	case string(line) == "NOT_FOUND":
		return store.ErrNotFound
	}
	return c.refusedLine("out", line)
}

// refusedLine keeps the connection after SERVER_ERROR only: the server closes it after the others.
func (c *connection) refusedLine(doing string, line []byte) error {
	if bytes.HasPrefix(line, []byte("SERVER_ERROR")) {
		return c.Answered(line)
	}
	return c.Unexpected(doing, line)
}

// httpFace is HTTP 1.1, as the server speaks it: the path is the key, the body the value.
type httpFace struct{}

var errHTTPKey = fmt.Errorf("tokyotyrant: the HTTP face takes keys of 1 to %d bytes", httpKeyBytesMax)

func (httpFace) check(key []byte) error {
	if len(key) > httpKeyBytesMax {
		return errHTTPKey
	}
	return nil
}

func appendPath(r []byte, method string, key []byte) []byte {
	const digits = "0123456789ABCDEF"
	r = append(append(r, method...), '/')
	for _, b := range key {
		if b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '-' || b == '_' ||
			b == '.' {
			r = append(r, b)
		} else {
			r = append(r, '%', digits[b>>4], digits[b&15])
		}
	}
	return append(r, " HTTP/1.1\r\n"...)
}

func (httpFace) appendGet(r, key []byte) []byte { return append(appendPath(r, "GET ", key), "\r\n"...) }

// The statuses that the server answers with.
const (
	httpOK       = "200"
	httpCreated  = "201"
	httpNotFound = "404"
	httpConflict = "409"
)

func (httpFace) readGet(c *connection, _, into []byte) ([]byte, error) {
	status, body, err := c.response(into)
	switch {
	case err != nil:
		return nil, err
	case status == httpOK:
		return body, nil
	case status == httpNotFound:
		return nil, store.ErrNotFound
	}
	return nil, errStatus("get", status)
}

func (httpFace) appendPut(r []byte, how command, key, value []byte) ([]byte, error) {
	if len(value) > argumentBytesMax {
		return nil, errValueLength
	}
	r = append(appendPath(r, "PUT ", key), "Content-Length: "...)
	r = strconv.AppendInt(r, int64(len(value)), 10)
	if how == commandPutKeep {
		r = append(r, "\r\nX-TT-PDMODE: 1"...)
	}
	return append(append(r, "\r\n\r\n"...), value...), nil
}

func (httpFace) readPut(c *connection, how command) error {
	status, _, err := c.response(c.scratch[:0])
	switch {
	case err != nil:
		return err
	case status == httpCreated:
		return nil
	case how == commandPutKeep && status == httpConflict:
		return store.ErrConflict
	}
	return errStatus(how.String(), status)
}

func (httpFace) appendDelete(r, key []byte) []byte {
	return append(appendPath(r, "DELETE ", key), "\r\n"...)
}

func (httpFace) readDelete(c *connection) error {
	status, _, err := c.response(c.scratch[:0])
	switch {
	case err != nil:
		return err
	case status == httpOK:
		return nil
	case status == httpNotFound:
		return store.ErrNotFound
	}
	return errStatus("out", status)
}

func errStatus(doing, status string) error {
	return fmt.Errorf("tokyotyrant: %s: the server answers with HTTP status %s", doing, status)
}

var errNoLength = errors.New("the answer has no Content-Length")

// response reads a status, the headers, of which the length of the body is of use, and the body.
func (c *connection) response(into []byte) (status string, body []byte, err error) {
	line, err := c.ReadLine()
	if err != nil {
		return "", nil, err
	}
	rest, ok := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if !ok || len(rest) < 3 {
		return "", nil, c.Unexpected("read status", line)
	}
	status = knownStatus(rest[:3])
	length := -1
	for {
		if line, err = c.ReadLine(); err != nil {
			return "", nil, err
		}
		if len(line) == 0 {
			break
		}
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, ok = parseLength(text, true); !ok {
				return "", nil, c.Unexpected("read the body's length", line)
			}
		}
	}
	if length < 0 {
		return "", nil, c.GiveUp("read answer", errNoLength)
	}
	body, err = c.ReadBody(into, length)
	return status, body, err
}

// knownStatus makes no string of those that come with each operation.
func knownStatus(status []byte) string {
	for _, known := range []string{httpOK, httpCreated, httpNotFound, httpConflict} {
		if string(status) == known {
			return known
		}
	}
	return string(status)
}
