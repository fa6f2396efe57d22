package memcached

import (
	"bytes"
	"strconv"

	"assay/store"
)

// meta is the meta commands of doc/protocol.txt, whose answers are shorter. The server's own
// commands are those of the text protocol.
type meta struct{ text }

func (meta) appendKeyed(r []byte, c command, key []byte) []byte {
	switch c {
	case remove:
		r = append(r, "md "...)
		return append(append(r, key...), "\r\n"...)
	case gets:
		r = append(r, "mg "...)
		return append(append(r, key...), " k v c\r\n"...)
	}
	r = append(r, "mg "...)
	return append(append(r, key...), " k v\r\n"...)
}

func (meta) appendStore(r []byte, c command, key, value []byte, token uint64, ttlS uint32) []byte {
	r = append(r, "ms "...)
	r = append(append(r, key...), ' ')
	r = strconv.AppendInt(r, int64(len(value)), 10)
	switch c {
	case add:
		r = append(r, " ME"...)
	case join:
		r = append(r, " MA"...)
	case cas:
		r = append(r, " C"...)
		r = strconv.AppendUint(r, token, 10)
	}
	if ttlS > 0 {
		r = append(r, " T"...)
		r = strconv.AppendUint(r, uint64(ttlS), 10)
	}
	r = append(r, "\r\n"...)
	r = append(r, value...)
	return append(r, "\r\n"...)
}

// appendTouch is a get that asks for nothing.
func (meta) appendTouch(r []byte, key []byte, ttlS uint32) []byte {
	r = append(append(append(r, "mg "...), key...), " T"...)
	return append(strconv.AppendUint(r, uint64(ttlS), 10), "\r\n"...)
}

func (meta) readStored(c *connection, to command) error {
	line, err := c.readAnswer()
	if err != nil {
		return err
	}
	switch text := string(line); {
	case text == "HD":
		return nil
	case to == add && text == "NS", to == cas && text == "EX":
		return store.ErrConflict
	case (to == cas || to == remove) && text == "NF", to == join && text == "NS", to == touch && isMetaMiss(line, nil):
		return store.ErrNotFound
	}
	return c.Unexpected(string(to), line)
}

// readRetrieved reads "VA bytes kKEY [cTOKEN]" and the value; or EN: a miss.
func (meta) readRetrieved(c *connection, to command, key, buf []byte) (value []byte, token uint64, err error) {
	line, err := c.readAnswer()
	if err != nil {
		return nil, 0, err
	}
	if isMetaMiss(line, key) {
		return nil, 0, store.ErrNotFound
	}
	length, token, ok := parseMetaLine(line, key, to == gets)
	if !ok {
		return nil, 0, c.Unexpected("mg", line)
	}
	value, err = c.ReadValue(buf[:0], length)
	return value, token, err
}

// appendMany asks for no answer where a key is not there (q), and for one behind all keys.
func (meta) appendMany(r []byte, keys [][]byte) []byte {
	for _, key := range keys {
		r = append(append(append(r, "mg "...), key...), " k v q\r\n"...)
	}
	return append(r, "mn\r\n"...)
}

func (meta) readMany(c *connection, keys, values [][]byte, into []byte) ([]byte, error) {
	return readManyLines(c, keys, values, into, "MN", parseMetaLine)
}

// isMetaMiss takes both forms: 1.6.18 repeats the key after EN, doc/protocol.txt does not.
func isMetaMiss(line, key []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("EN"))
	if !ok || len(rest) == 0 {
		return ok
	}
	rest, ok = bytes.CutPrefix(rest, []byte(" k"))
	return ok && bytes.Equal(rest, key)
}

// parseMetaLine accepts the answer to this very key only, with the flags that were asked for, in
// their order.
func parseMetaLine(line, key []byte, withToken bool) (length int, token uint64, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("VA "))
	if !ok {
		return 0, 0, false
	}
	size, rest, ok := number(rest)
	if !ok || size > itemBytesMax {
		return 0, 0, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte("k")); !ok {
		return 0, 0, false
	}
	if rest, ok = bytes.CutPrefix(rest, key); !ok {
		return 0, 0, false
	}
	if withToken {
		if rest, ok = bytes.CutPrefix(rest, []byte(" c")); !ok {
			return 0, 0, false
		}
		if token, rest, ok = number(rest); !ok {
			return 0, 0, false
		}
	}
	return int(size), token, len(rest) == 0
}
