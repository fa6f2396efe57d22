package memcached

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"assay/store"
)

// command is a command of the text protocol. Both kinds of client build requests and read answers
// by it.
type command string

const (
	get    command = "get"
	gets   command = "gets"
	set    command = "set"
	add    command = "add"
	cas    command = "cas"
	remove command = "delete"
)

var (
	errKeyLength = fmt.Errorf("memcached: a key has 1 to %d bytes", keyBytesMax)
	errKeyBytes  = errors.New("memcached: a key can't hold spaces, control characters or binary bytes 0 to 32 and 127: the text protocol ends it there")
)

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

// appendKeyed appends a command that has a key and nothing else.
func appendKeyed(r []byte, c command, key []byte) []byte {
	r = append(append(r, c...), ' ')
	return append(append(r, key...), "\r\n"...)
}

// appendStore appends a storage command. The token is of cas alone.
func appendStore(r []byte, c command, key, value []byte, token uint64) []byte {
	r = append(append(r, c...), ' ')
	r = append(r, key...)
	r = append(r, " 0 0 "...) // flags, and no expiry
	r = strconv.AppendInt(r, int64(len(value)), 10)
	if c == cas {
		r = append(r, ' ')
		r = strconv.AppendUint(r, token, 10)
	}
	r = append(r, "\r\n"...)
	r = append(r, value...)
	return append(r, "\r\n"...)
}

// readStored reads the line that answers a command which changes something.
func (c *connection) readStored(to command) error {
	line, err := c.readAnswer()
	if err != nil {
		return err
	}
	done := "STORED"
	if to == remove {
		done = "DELETED"
	}
	switch text := string(line); {
	case text == done:
		return nil
	case to == add && text == "NOT_STORED", to == cas && text == "EXISTS":
		return store.ErrConflict
	case (to == cas || to == remove) && text == "NOT_FOUND":
		return store.ErrNotFound
	}
	return c.Unexpected(string(to), line)
}

// readRetrieved reads the answer to get or gets: "VALUE key flags bytes [token]", the value, and
// END; or END alone: a miss.
func (c *connection) readRetrieved(to command, key, buf []byte) (value []byte, token uint64, err error) {
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

// itemBytesMax is the largest -I that a server takes. A longer value is garbage, and must not be
// allocated.
const itemBytesMax = 1 << 30

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
