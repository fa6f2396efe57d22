package redis

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"assay/store"
)

// columns are the fields of hashes, as they stand in requests. There are none where records are
// strings.
type columns struct {
	names []string
	bulks [][]byte // each name as a bulk
	all   []byte   // one after the other
}

func newColumns(names []string) columns {
	c := columns{names: names}
	for _, name := range names {
		c.bulks = append(c.bulks, appendBulk(nil, name))
		c.all = appendBulk(c.all, name)
	}
	return c
}

var errColumns = errors.New("redis: the record does not have the columns that were defined")

// fits says if a record has just these columns: what is not to be stored is not sent.
func (c *columns) fits(record []byte) error {
	ok := true
	for range c.names {
		if _, record, ok = store.NextColumn(record); !ok {
			return errColumns
		}
	}
	if len(record) != 0 {
		return errColumns
	}
	return nil
}

// fitAll says if what a batch puts has these columns.
func (c *columns) fitAll(writes []store.Write) error {
	for i := range writes {
		if len(c.names) > 0 && !writes[i].Delete {
			if err := c.fits(writes[i].Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendWrites appends a batch's commands, and to deletes which of them are.
func (c *columns) appendWrites(r []byte, deletes []bool, writes []store.Write) ([]byte, []bool) {
	for i := range writes {
		if deletes = append(deletes, writes[i].Delete); writes[i].Delete {
			r = appendDelete(r, writes[i].Key)
		} else {
			r = c.appendPut(r, writes[i].Key, writes[i].Value)
		}
	}
	return r, deletes
}

// appendPut appends the command that stores a value. Its reply is read by readPut.
func (c *columns) appendPut(r, key, value []byte) []byte {
	if len(c.names) == 0 {
		r = append(r, "*3\r\n$3\r\nSET\r\n"...)
		return appendBulk(appendBulk(r, key), value)
	}
	r = append(r, '*')
	r = strconv.AppendInt(r, int64(2+2*len(c.names)), 10)
	r = append(r, "\r\n$4\r\nHSET\r\n"...)
	r = appendBulk(r, key)
	for _, name := range c.bulks {
		var column []byte
		column, value, _ = store.NextColumn(value)
		r = appendBulk(append(r, name...), column)
	}
	return r
}

// appendPutFor appends the command that stores a string for a time. Its reply is read by readPut.
func appendPutFor(r, key, value []byte, ttl time.Duration) []byte {
	r = append(r, "*5\r\n$3\r\nSET\r\n"...)
	r = append(appendBulk(appendBulk(r, key), value), "$2\r\nPX\r\n"...)
	var digits [20]byte
	return appendBulk(r, strconv.AppendInt(digits[:0], ttl.Milliseconds(), 10))
}

// readPut reads the reply to appendPut.
func (c *columns) readPut(from connection) error {
	if len(c.names) == 0 {
		return from.status("SET", "OK")
	}
	_, err := from.integer("HSET", 0, len(c.names)) // fields that were not there before
	return err
}

// appendGet appends the command that reads a value. Its reply is read by readGet.
func (c *columns) appendGet(r, key []byte) []byte {
	if len(c.names) == 0 {
		return appendBulk(append(r, "*2\r\n$3\r\nGET\r\n"...), key)
	}
	r = append(r, '*')
	r = strconv.AppendInt(r, int64(2+len(c.names)), 10)
	r = append(r, "\r\n$5\r\nHMGET\r\n"...)
	return append(appendBulk(r, key), c.all...)
}

// errHashString: PEXPIRE would do it to hashes too, and no experiment asks for that.
var errHashString = fmt.Errorf("redis: hashes are not touched, appended to and exchanged: %w", store.ErrRefused)

// errHashMany: HMGET is of one hash.
var errHashMany = errors.New("redis: hashes are read one by one: no command reads several")

// appendMany appends the command that reads several strings. Its reply is read by readMany.
func appendMany(r []byte, keys [][]byte) []byte {
	r = appendHead(r, 1+len(keys), "MGET")
	for _, key := range keys {
		r = appendBulk(r, key)
	}
	return r
}

// readMany appends what is there to into, and leaves the other values as they are.
func (c connection) readMany(values [][]byte, into []byte) ([]byte, error) {
	n, err := c.array("MGET")
	if err != nil {
		return into, err
	}
	if n != len(values) {
		return into, c.GiveUp("MGET", errors.New("another number of values than was asked for"))
	}
	for i := range values {
		from := len(into)
		longer, err := c.bulk("MGET", into)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return into, c.endAfter(err) // the rest of the array is still to come
		}
		into = longer
		values[i] = into[from:len(into):len(into)]
	}
	return into, nil
}

var errPart = errors.New("redis: HMGET: a part of the record's columns is not there")

// readGet appends the value, a record in its encoded form, to into.
func (c *columns) readGet(from connection, into []byte) ([]byte, error) {
	if len(c.names) == 0 {
		return from.bulk("GET", into)
	}
	n, err := from.array("HMGET")
	if err != nil {
		return nil, err
	}
	if n != len(c.names) {
		return nil, from.GiveUp("HMGET", errors.New("another number of columns than was asked for"))
	}
	missing := 0
	for range n {
		at := len(into)
		record, err := from.bulk("HMGET", append(into, 0, 0))
		if errors.Is(err, store.ErrNotFound) {
			missing++
			continue
		}
		if err != nil {
			return nil, from.endAfter(err) // the rest of the array is still to come
		}
		length := len(record) - at - 2
		if length > store.ColumnBytesMax {
			return nil, from.GiveUp("HMGET", errors.New("a column is longer than any"))
		}
		record[at], record[at+1] = byte(length), byte(length>>8)
		into = record
	}
	switch missing {
	case 0:
		return into, nil
	case n:
		return nil, store.ErrNotFound
	}
	return nil, errPart
}
