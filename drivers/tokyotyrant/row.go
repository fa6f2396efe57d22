package tokyotyrant

import (
	"bytes"
	"encoding/binary"
	"errors"

	"assay/store"
)

var (
	errColumns  = errors.New("tokyotyrant: the value does not have the columns that were defined")
	errZeroByte = errors.New("tokyotyrant: putnr ends a column at a zero byte: write: put carries it")
	errPart     = errors.New("tokyotyrant: a part of the record's columns is not there")
	errLong     = errors.New("tokyotyrant: a column of the record is longer than any")
)

// tableFace is the binary protocol of a table.
type tableFace struct {
	*layout
	name  []byte // of the column that is read, reused
	spans []span // of each column in raw, reused
	raw   []byte
}

type span struct{ from, to int }

func (f *tableFace) check([]byte) error { return nil }

func (f *tableFace) appendGet(r, key []byte) []byte {
	return appendElement(appendMisc(r, "get", noUpdateLog, 1), key)
}

func (f *tableFace) readGet(c *connection, _, into []byte) ([]byte, error) {
	if err := f.readRecord(c); err != nil {
		return nil, err
	}
	return f.encode(into, f.all)
}

// readRecord reads the answer to a get.
func (f *tableFace) readRecord(c *connection) error {
	n, done, err := c.elements("get")
	if err != nil {
		return err
	}
	if !done {
		return store.ErrNotFound
	}
	if n%2 != 0 {
		return c.GiveUp("get", errors.New("the answer has a column's name without its value"))
	}
	f.begin()
	for range n / 2 {
		if f.name, err = c.element("get", f.name[:0]); err != nil {
			return err
		}
		from := len(f.raw)
		if f.raw, err = c.element("get", f.raw); err != nil {
			return err
		}
		f.found(f.name, from)
	}
	return nil
}

// begin forgets the columns of the record before.
func (f *tableFace) begin() {
	f.raw, f.spans = f.raw[:0], f.spans[:0]
	for range f.names {
		f.spans = append(f.spans, span{-1, -1})
	}
}

// found notes that the column of a name, if the layout has it, stands at the end of raw.
func (f *tableFace) found(name []byte, from int) {
	for i := range f.names {
		if bytes.Equal(f.names[i], name) && f.spans[i].from < 0 {
			f.spans[i] = span{from, len(f.raw)}
			return
		}
	}
	f.raw = f.raw[:from]
}

// encode appends these columns of the record to into.
func (f *tableFace) encode(into []byte, columns []int) ([]byte, error) {
	for _, i := range columns {
		s := f.spans[i]
		switch {
		case s.from < 0:
			return nil, errPart
		case f.plain:
			return append(into, f.raw[s.from:s.to]...), nil
		case s.to-s.from > store.ColumnBytesMax:
			return nil, errLong
		}
		into = store.AppendColumn(into, f.raw[s.from:s.to])
	}
	return into, nil
}

// column returns the bytes of one that the record has.
func (f *tableFace) column(i int) []byte {
	s := f.spans[i]
	if s.from < 0 {
		return nil
	}
	return f.raw[s.from:s.to]
}

// next splits the first column off a value.
func (f *tableFace) next(value []byte) (column, rest []byte, ok bool) {
	if f.plain {
		return value, nil, len(value) <= argumentBytesMax
	}
	return store.NextColumn(value)
}

func (f *tableFace) appendPut(r []byte, how command, key, value []byte) ([]byte, error) {
	if how == commandPutNR {
		return f.appendPutNR(r, key, value)
	}
	function := "put"
	if how == commandPutKeep {
		function = "putkeep"
	}
	r = appendElement(appendMisc(r, function, 0, 1+2*len(f.names)), key)
	for i := range f.names {
		column, rest, ok := f.next(value)
		if !ok {
			return nil, errColumns
		}
		r, value = appendElement(appendElement(r, f.names[i]), column), rest
	}
	if len(value) > 0 {
		return nil, errColumns
	}
	return r, nil
}

// appendPutNR appends a putnr, whose value the server splits at zero bytes into names and columns.
func (f *tableFace) appendPutNR(r, key, value []byte) ([]byte, error) {
	r = append(r, magic, byte(commandPutNR))
	r = appendNumber(appendNumber(r, len(key)), 0)
	r = append(r, key...)
	from := len(r)
	for i := range f.names {
		column, rest, ok := f.next(value)
		if !ok {
			return nil, errColumns
		}
		if bytes.IndexByte(column, 0) >= 0 {
			return nil, errZeroByte
		}
		if i > 0 {
			r = append(r, 0)
		}
		r, value = append(append(append(r, f.names[i]...), 0), column...), rest
	}
	if len(value) > 0 {
		return nil, errColumns
	}
	binary.BigEndian.PutUint32(r[from-len(key)-4:], uint32(len(r)-from))
	return r, nil
}

func (f *tableFace) readPut(c *connection, how command) error {
	done, err := c.none("put")
	return stored(how, done, err)
}

func (f *tableFace) appendDelete(r, key []byte) []byte { return appendKeyed(r, commandOut, key) }

func (f *tableFace) readDelete(c *connection) error { return deleted(c.code()) }
