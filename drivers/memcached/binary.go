package memcached

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/drivers/internal/wire"
	"assay/store"
)

// binaryForm is the binary protocol, of memcached's protocol_binary.h. Its frames tell their length,
// so that any answer that is an error leaves the place in the stream known.
type binaryForm struct{}

// A frame is a header, extras, a key and a value. Numbers are big-endian.
const (
	headerBytes  = 24
	requestMagic = 0x80
	answerMagic  = 0x81
)

type opcode byte

const (
	opSet     opcode = 0x01
	opAdd     opcode = 0x02
	opDelete  opcode = 0x04
	opFlush   opcode = 0x08
	opNoop    opcode = 0x0a
	opVersion opcode = 0x0b
	opGetK    opcode = 0x0c // its answer has the key
	opGetKQ   opcode = 0x0d // likewise, and a key that is not there has no answer
	opAppend  opcode = 0x0e
	opStat    opcode = 0x10
	opTouch   opcode = 0x1c
	opLogins  opcode = 0x20 // SASL: its mechanisms
	opLogin   opcode = 0x21 // SASL
)

func opcodeFor(c command) opcode {
	switch c {
	case get, gets:
		return opGetK
	case add:
		return opAdd
	case remove:
		return opDelete
	case join:
		return opAppend
	case touch:
		return opTouch
	}
	return opSet
}

// Statuses of an answer.
const (
	statusDone      = 0x00
	statusNoKey     = 0x01
	statusKeyExists = 0x02
	statusNotStored = 0x05
	statusLogin     = 0x20 // no login yet, or a wrong one
)

// appendFrame appends a request's header and all that stands before its value.
func appendFrame(r []byte, op opcode, extras, key []byte, valueBytes int, token uint64) []byte {
	r = append(r, requestMagic, byte(op))
	r = binary.BigEndian.AppendUint16(r, uint16(len(key)))
	r = append(r, byte(len(extras)), 0, 0, 0) // data type, bucket
	r = binary.BigEndian.AppendUint32(r, uint32(len(extras)+len(key)+valueBytes))
	r = append(r, 0, 0, 0, 0) // opaque
	r = binary.BigEndian.AppendUint64(r, token)
	return append(append(r, extras...), key...)
}

func (binaryForm) appendKeyed(r []byte, c command, key []byte) []byte {
	return appendFrame(r, opcodeFor(c), nil, key, 0, 0)
}

func (binaryForm) appendStore(r []byte, c command, key, value []byte, token uint64, ttlS uint32) []byte {
	if c != cas {
		token = 0
	}
	if c == join {
		return append(appendFrame(r, opAppend, nil, key, len(value), 0), value...)
	}
	var extras [8]byte // flags and expiry
	binary.BigEndian.PutUint32(extras[4:], ttlS)
	return append(appendFrame(r, opcodeFor(c), extras[:], key, len(value), token), value...)
}

func (binaryForm) appendTouch(r []byte, key []byte, ttlS uint32) []byte {
	return appendFrame(r, opTouch, binary.BigEndian.AppendUint32(nil, ttlS), key, 0, 0)
}

// head is what an answer's header tells.
type head struct {
	status           uint16
	extras, key, all int // bytes: of two parts, and of the whole body
	token            uint64
}

// readHead reads the header of the answer to op.
func readHead(c *wire.Connection, op opcode) (head, error) {
	h, _, err := readEither(c, op, op)
	return h, err
}

// readEither reads the header of the answer to one of two.
func readEither(c *wire.Connection, one, other opcode) (h head, of opcode, err error) {
	raw, err := c.ReadBytes(headerBytes)
	if err != nil {
		return head{}, 0, err
	}
	of = opcode(raw[1])
	h = head{
		status: binary.BigEndian.Uint16(raw[6:]),
		extras: int(raw[4]), key: int(binary.BigEndian.Uint16(raw[2:])), all: int(binary.BigEndian.Uint32(raw[8:])),
		token: binary.BigEndian.Uint64(raw[16:]),
	}
	if raw[0] != answerMagic || of != one && of != other || h.extras+h.key > h.all || h.all > itemBytesMax {
		return head{}, 0, c.Unexpected("read answer", raw)
	}
	return h, of, nil
}

// text reads the body of an answer that has no record: a server's word for an error, or a number.
func (h head) text(c *wire.Connection) ([]byte, error) {
	if h.all > wire.LineBytesMax {
		return nil, c.GiveUp("read answer", fmt.Errorf("an answer without a record has %d bytes", h.all))
	}
	return c.ReadBytes(h.all)
}

// failed reads the rest of an answer that says that nothing was done. A server that wants a login
// closes the connection.
func (h head) failed(c *wire.Connection) error {
	words, err := h.text(c)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		words = fmt.Appendf(nil, "status %#x", h.status)
	}
	err = c.Answered(words)
	if h.status == statusLogin {
		return errors.Join(err, c.Close())
	}
	return err
}

func (binaryForm) readStored(c *connection, to command) error {
	h, err := readHead(&c.Connection, opcodeFor(to))
	if err != nil {
		return err
	}
	switch {
	case h.status == statusDone && h.all == 0:
		return nil
	case h.status == statusDone && to == touch && h.all == h.extras: // the flags
		_, err := h.text(&c.Connection)
		return err
	case h.status == statusDone:
		return c.GiveUp(string(to), errors.New("the answer has a body"))
	case to == add && (h.status == statusKeyExists || h.status == statusNotStored), to == cas &&
		h.status == statusKeyExists:
		return h.instead(c, store.ErrConflict)
	case (to == cas || to == remove || to == touch) && h.status == statusNoKey, to == join &&
		h.status == statusNotStored:
		return h.instead(c, store.ErrNotFound)
	}
	return h.failed(&c.Connection)
}

// instead reads the rest of an answer whose status says it all.
func (h head) instead(c *connection, outcome error) error {
	if _, err := h.text(&c.Connection); err != nil {
		return err
	}
	return outcome
}

var errOtherKey = errors.New("the answer has another key")

func (binaryForm) readRetrieved(c *connection, _ command, key, buf []byte) (value []byte, token uint64, err error) {
	h, err := readHead(&c.Connection, opGetK)
	switch {
	case err != nil:
		return nil, 0, err
	case h.status == statusNoKey:
		return nil, 0, h.instead(c, store.ErrNotFound)
	case h.status != statusDone:
		return nil, 0, h.failed(&c.Connection)
	case h.key != len(key):
		return nil, 0, c.GiveUp("get", errOtherKey)
	}
	front, err := c.ReadBytes(h.extras + h.key)
	if err != nil {
		return nil, 0, err
	}
	if !bytes.Equal(front[h.extras:], key) {
		return nil, 0, c.GiveUp("get", errOtherKey)
	}
	value, err = c.ReadBody(buf[:0], h.all-h.extras-h.key)
	return value, h.token, err
}

// appendMany asks for no answer where a key is not there, and for one behind all keys.
func (binaryForm) appendMany(r []byte, keys [][]byte) []byte {
	for _, key := range keys {
		r = appendFrame(r, opGetKQ, nil, key, 0, 0)
	}
	return appendFrame(r, opNoop, nil, nil, 0, 0)
}

func (binaryForm) readMany(c *connection, keys, values [][]byte, into []byte) ([]byte, error) {
	var failed error
	for next := 0; ; {
		h, of, err := readEither(&c.Connection, opGetKQ, opNoop)
		switch {
		case err != nil:
			return into, err
		case h.status != statusDone: // the other answers follow anyway
			if failed = errors.Join(failed, h.failed(&c.Connection)); !c.Connected() {
				return into, failed
			}
		case of == opNoop && h.all > 0:
			return into, c.GiveUp("multi-get", errors.New("the answer has a body"))
		}
		if of == opNoop {
			return into, failed
		}
		if h.status != statusDone {
			continue
		}
		front, err := c.ReadBytes(h.extras + h.key)
		if err != nil {
			return into, err
		}
		for next < len(keys) && !bytes.Equal(front[h.extras:], keys[next]) {
			next++
		}
		if next == len(keys) {
			return into, c.GiveUp("multi-get", errOtherKey)
		}
		from := len(into)
		longer, err := c.ReadBody(into, h.all-h.extras-h.key)
		if err != nil {
			return into, err
		}
		into = longer
		values[next] = into[from:len(into):len(into)]
		next++
	}
}

// request sends a command without a record and reads the header of its answer.
func (binaryForm) request(c *wire.Connection, op opcode, key, value []byte) (head, error) {
	c.Request = append(appendFrame(c.Request[:0], op, nil, key, len(value), 0), value...)
	if err := c.Send(); err != nil {
		return head{}, err
	}
	return readHead(c, op)
}

const plain = "PLAIN"

// login is SASL's PLAIN: an identity that is left out, the user and the password.
func (b binaryForm) login(c *wire.Connection) error {
	user, password, _ := c.Access.Login()
	h, err := b.request(c, opLogin, []byte(plain), []byte("\x00"+user+"\x00"+password))
	switch {
	case err != nil:
		return err
	case h.status == statusLogin:
		return c.GiveUp("log in", errLogin)
	case h.status != statusDone:
		return errors.Join(h.failed(c), c.Close())
	}
	_, err = h.text(c)
	return err
}

// demandsLogin asks for the mechanisms, which a server without SASL does not know.
func (b binaryForm) demandsLogin(c *wire.Connection) error {
	h, err := b.request(c, opLogins, nil, nil)
	if err != nil {
		return err
	}
	mechanisms, err := h.text(c)
	switch {
	case err != nil:
		return err
	case h.status != statusDone:
		return c.GiveUp("log in", errNoLogin)
	case !slices.Contains(strings.Fields(string(mechanisms)), plain):
		return c.GiveUp("log in", fmt.Errorf("the server takes %s, expected %s", wire.Printable(mechanisms), plain))
	}
	return nil
}

func (binaryForm) checkLogin(user, password string) error {
	if user == "" || strings.Contains(user+password, "\x00") {
		return fmt.Errorf("memcached: a user has a name, and neither it nor the password has a zero byte: %w",
			store.ErrRefused)
	}
	return nil
}

// told sends a command without a record, and returns what the server answers.
func (b binaryForm) told(c *connection, op opcode) (string, error) {
	if err := c.Begin(); err != nil {
		return "", err
	}
	h, err := b.request(&c.Connection, op, nil, nil)
	if err != nil {
		return "", err
	}
	if h.status != statusDone {
		return "", h.failed(&c.Connection)
	}
	words, err := h.text(&c.Connection)
	return string(words), err
}

func (b binaryForm) knock(c *wire.Connection) error {
	h, err := b.request(c, opVersion, nil, nil)
	if err == nil {
		_, err = h.text(c)
	}
	return err
}

// version asks for nothing before: a server that wants a login tells its version without one.
func (b binaryForm) version(c *connection) (string, error) {
	if _, err := b.told(c, opNoop); err != nil {
		return "", err
	}
	return b.told(c, opVersion)
}

func (b binaryForm) flush(c *connection) error {
	_, err := b.told(c, opFlush)
	return err
}

// stats reads a frame for each statistic, up to one without a name.
func (b binaryForm) stats(c *connection, group string, tell func(name, value string)) error {
	if err := c.Begin(); err != nil {
		return err
	}
	h, err := b.request(&c.Connection, opStat, []byte(group), nil)
	for err == nil {
		if h.status != statusDone {
			return h.failed(&c.Connection)
		}
		words, failed := h.text(&c.Connection)
		if failed != nil || h.key == 0 {
			return failed
		}
		tell(string(words[h.extras:h.extras+h.key]), string(words[h.extras+h.key:]))
		h, err = readHead(&c.Connection, opStat)
	}
	return err
}
