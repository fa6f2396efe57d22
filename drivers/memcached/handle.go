package memcached

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"assay/store"
)

type handle struct{ connection }

func (h *handle) Close() error { return h.connection.Close() }

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

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	value, _, err := h.retrieve("get ", key, buf)
	return value, err
}

// Put is the command set.
func (h *handle) Put(key, value []byte) error {
	line, err := h.store("set ", key, value, 0, false)
	if err != nil {
		return err
	}
	if string(line) != "STORED" {
		return h.Unexpected("set", line)
	}
	return nil
}

func (h *handle) Add(key, value []byte) error {
	line, err := h.store("add ", key, value, 0, false)
	if err != nil {
		return err
	}
	switch string(line) {
	case "STORED":
		return nil
	case "NOT_STORED":
		return store.ErrConflict
	}
	return h.Unexpected("add", line)
}

// CompareAndSwap fetches the value and its token, compares, and stores with the token: the server
// stores only if the item was not written since, so that what is replaced is old, in one step of
// the server's own.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	now, token, err := h.retrieve("gets ", key, h.current)
	if err != nil {
		return err
	}
	h.current = now[:0]
	if !bytes.Equal(now, old) {
		return store.ErrConflict
	}
	line, err := h.store("cas ", key, value, token, true)
	if err != nil {
		return err
	}
	switch string(line) {
	case "STORED":
		return nil
	case "EXISTS":
		return store.ErrConflict
	case "NOT_FOUND":
		return store.ErrNotFound
	}
	return h.Unexpected("cas", line)
}

func (h *handle) Delete(key []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := h.Begin(); err != nil {
		return err
	}
	h.Request = append(append(append(h.Request[:0], "delete "...), key...), "\r\n"...)
	line, err := h.roundTrip()
	if err != nil {
		return err
	}
	switch string(line) {
	case "DELETED":
		return nil
	case "NOT_FOUND":
		return store.ErrNotFound
	}
	return h.Unexpected("delete", line)
}

// store sends a storage command and returns the line that answers it.
func (h *handle) store(command string, key, value []byte, token uint64, withToken bool) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := h.Begin(); err != nil {
		return nil, err
	}
	r := append(h.Request[:0], command...)
	r = append(r, key...)
	r = append(r, " 0 0 "...) // flags, and no expiry
	r = strconv.AppendInt(r, int64(len(value)), 10)
	if withToken {
		r = append(r, ' ')
		r = strconv.AppendUint(r, token, 10)
	}
	r = append(r, "\r\n"...)
	r = append(r, value...)
	h.Request = append(r, "\r\n"...)
	return h.roundTrip()
}

// retrieve sends get or gets, and reads "VALUE key flags bytes [token]", the value, and END; or END
// alone: a miss.
func (h *handle) retrieve(command string, key, buf []byte) (value []byte, token uint64, err error) {
	if err := checkKey(key); err != nil {
		return nil, 0, err
	}
	if err := h.Begin(); err != nil {
		return nil, 0, err
	}
	h.Request = append(append(append(h.Request[:0], command...), key...), "\r\n"...)
	line, err := h.roundTrip()
	if err != nil {
		return nil, 0, err
	}
	if string(line) == "END" {
		return nil, 0, store.ErrNotFound
	}
	length, token, ok := parseValueLine(line, key, command == "gets ")
	if !ok {
		return nil, 0, h.Unexpected("get", line)
	}
	value, err = h.ReadValue(buf[:0], length)
	if err != nil {
		return nil, 0, err
	}
	line, err = h.ReadLine()
	if err != nil {
		return nil, 0, err
	}
	if string(line) != "END" {
		return nil, 0, h.Unexpected("get, after the value", line)
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
