package tarantool

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"

	"assay/store"
)

var (
	errColumns = errors.New("tarantool: the record does not have the columns that were defined")
	errInteger = errors.New("tarantool: an integer column holds no integer")
	errTuple   = errors.New("tarantool: a tuple has other fields than the space's")
	errValue   = errors.New("tarantool: the value is longer than a tuple may be with its key")
)

// check says if a value can be stored: what can't is not sent.
func (s *space) check(value []byte) error {
	if len(value) > valueBytesMax {
		return errValue
	}
	if s.columns == nil {
		return nil
	}
	for _, c := range s.columns {
		column, rest, ok := store.NextColumn(value)
		if !ok {
			return errColumns
		}
		if err := checkColumn(c, column); err != nil {
			return err
		}
		value = rest
	}
	if len(value) != 0 {
		return errColumns
	}
	return nil
}

func checkColumn(c store.Column, bytes []byte) error {
	if c.Type != store.IntegerColumn {
		return nil
	}
	if _, err := strconv.ParseInt(string(bytes), 10, 64); err != nil {
		return errInteger
	}
	return nil
}

// number is as the server expects an integer: an int64 that is not negative has a form of MessagePack's in which
// Tarantool takes it for a negative one.
func number(n int64) any {
	if n >= 0 {
		return uint64(n)
	}
	return n
}

// text is a string of MessagePack: the client writes a []byte as another type.
type text struct {
	bytes []byte
	head  [5]byte
}

// EncodeMsgpack writes the string. It keeps nothing of it.
func (t *text) EncodeMsgpack(e *msgpack.Encoder) error {
	head := t.head[:0]
	switch n := len(t.bytes); {
	case n < 1<<5:
		head = append(head, 0xa0|byte(n))
	case n <= math.MaxUint8:
		head = append(head, 0xd9, byte(n))
	case n <= math.MaxUint16:
		head = binary.BigEndian.AppendUint16(append(head, 0xda), uint16(n))
	default:
		head = binary.BigEndian.AppendUint32(append(head, 0xdb), uint32(n))
	}
	if _, err := e.Writer().Write(head); err != nil {
		return err
	}
	_, err := e.Writer().Write(t.bytes)
	return err
}

// keyTuple is a key as requests have it.
type keyTuple struct{ text }

// EncodeMsgpack writes the array of one part.
func (k *keyTuple) EncodeMsgpack(e *msgpack.Encoder) error {
	if err := e.EncodeArrayLen(1); err != nil {
		return err
	}
	return k.text.EncodeMsgpack(e)
}

func keyOf(key []byte) *keyTuple { return &keyTuple{text{bytes: key}} }

// tuple is a record as requests have it. Its value was checked.
type tuple struct {
	text
	columns []store.Column
	value   []byte
}

func (s *space) tuple(key, value []byte) *tuple {
	return &tuple{text: text{bytes: key}, columns: s.columns, value: value}
}

// EncodeMsgpack writes the array of the fields.
func (t *tuple) EncodeMsgpack(e *msgpack.Encoder) error {
	fields := 2
	if t.columns != nil {
		fields = 1 + len(t.columns)
	}
	if err := e.EncodeArrayLen(fields); err != nil {
		return err
	}
	if err := t.text.EncodeMsgpack(e); err != nil {
		return err
	}
	if t.columns == nil {
		t.text.bytes = t.value
		return t.text.EncodeMsgpack(e)
	}
	rest := t.value
	for _, c := range t.columns {
		var column []byte
		if column, rest, _ = store.NextColumn(rest); c.Type == store.IntegerColumn {
			n, err := strconv.ParseInt(string(column), 10, 64)
			if err != nil {
				return errInteger
			}
			if err := e.EncodeInt(n); err != nil {
				return err
			}
			continue
		}
		t.text.bytes = column
		if err := t.text.EncodeMsgpack(e); err != nil {
			return err
		}
	}
	return nil
}

// found counts the tuples of an answer, and reads none.
type found int

// DecodeMsgpack reads past them.
func (f *found) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return err
	}
	for range n {
		if err := d.Skip(); err != nil {
			return err
		}
	}
	*f = found(max(n, 0))
	return nil
}

// reader reads the tuples of an answer.
type reader struct {
	space *space
	visit func(key, value []byte) bool // nil: the last value stays in value
	key   []byte
	value []byte // appended to, from its length on
	found int
	ended bool // visit wants no more
}

// DecodeMsgpack reads all tuples.
func (r *reader) DecodeMsgpack(d *msgpack.Decoder) error {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return err
	}
	r.found = max(n, 0)
	for range n {
		if r.ended {
			if err := d.Skip(); err != nil {
				return err
			}
			continue
		}
		if err := r.tuple(d); err != nil {
			return err
		}
		if r.visit != nil {
			r.ended = !r.visit(r.key, r.value)
		}
	}
	return nil
}

func (r *reader) tuple(d *msgpack.Decoder) (err error) {
	fields := 2
	if r.space.columns != nil {
		fields = 1 + len(r.space.columns)
	}
	if n, err := d.DecodeArrayLen(); err != nil || n != fields {
		return errors.Join(err, errTuple)
	}
	r.value = r.value[:0]
	if r.visit == nil {
		err = d.Skip()
	} else {
		r.key, err = appendText(r.key[:0], d)
	}
	if err != nil {
		return err
	}
	if r.space.columns == nil {
		r.value, err = appendText(r.value, d)
		return err
	}
	for _, c := range r.space.columns {
		if r.value, err = appendColumn(r.value, c, d); err != nil {
			return err
		}
	}
	return nil
}

// appendText appends the next string.
func appendText(dst []byte, d *msgpack.Decoder) ([]byte, error) {
	n, err := d.DecodeBytesLen()
	if err != nil || n < 0 || n > tupleBytesMost {
		return dst, errors.Join(err, errTuple)
	}
	from := len(dst)
	dst = slices.Grow(dst, n)[:from+n]
	return dst, d.ReadFull(dst[from:])
}

// tupleBytesMost is more than any server's tuples have: a garbled length takes no memory beyond it.
const tupleBytesMost = 64 << 20

// appendColumn appends the next field in its encoded form.
func appendColumn(dst []byte, c store.Column, d *msgpack.Decoder) ([]byte, error) {
	from := len(dst)
	dst = append(dst, 0, 0)
	if c.Type == store.IntegerColumn {
		n, err := d.DecodeInt64()
		if err != nil {
			return dst, err
		}
		dst = strconv.AppendInt(dst, n, 10)
	} else {
		var err error
		if dst, err = appendText(dst, d); err != nil {
			return dst, err
		}
	}
	n := len(dst) - from - 2
	if n > store.ColumnBytesMax {
		return dst, errTuple
	}
	binary.LittleEndian.PutUint16(dst[from:], uint16(n))
	return dst, nil
}
