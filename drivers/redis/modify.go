package redis

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"assay/store"
)

// modifyScript sets fields of a hash that is there. HSET by itself makes a hash where there is none,
// and EXISTS before it would be a step of the client's. A script is one step of the server; it
// answers missing, or how many fields were new.
const modifyScript = "if redis.call('EXISTS',KEYS[1])==0 then return -1 end return redis.call('HSET',KEYS[1],unpack(ARGV))"

const missing = -1

// incrementScript adds to a field of a hash that is there. It answers missing, or the sum.
const incrementScript = "if redis.call('EXISTS',KEYS[1])==0 then return -1 end return redis.call('HINCRBY',KEYS[1],ARGV[1],ARGV[2])"

// appendModify appends the call of the script. Its reply is read by readModify.
func (c *columns) appendModify(r, key []byte, columns []int, values [][]byte) []byte {
	r = strconv.AppendInt(append(r, '*'), int64(4+2*len(columns)), 10)
	r = append(r, "\r\n$4\r\nEVAL\r\n"...)
	r = append(appendBulk(r, modifyScript), "$1\r\n1\r\n"...)
	r = appendBulk(r, key)
	for i, column := range columns {
		r = appendBulk(append(r, c.bulks[column]...), values[i])
	}
	return r
}

func readModify(from connection) error {
	fresh, err := from.integer("EVAL", missing, 0)
	if err == nil && fresh == missing {
		return store.ErrNotFound
	}
	return err
}

// Modify is a script of EXISTS and HSET.
func (h *leanHandle) Modify(key []byte, columns []int, values [][]byte) error {
	if len(h.columns.names) == 0 {
		return errColumns
	}
	if err := h.Begin(); err != nil {
		return err
	}
	if err := h.exchange(h.columns.appendModify(h.Request[:0], key, columns, values)); err != nil {
		return err
	}
	return readModify(h.connection)
}

// Increment is a script of EXISTS and HINCRBY.
func (h *leanHandle) Increment(key []byte, column int, by int64) error {
	if len(h.columns.names) == 0 {
		return errColumns
	}
	if err := h.Begin(); err != nil {
		return err
	}
	r := append(h.Request[:0], "*6\r\n$4\r\nEVAL\r\n"...)
	r = append(appendBulk(r, incrementScript), "$1\r\n1\r\n"...)
	r = append(appendBulk(r, key), h.columns.bulks[column]...)
	h.number = strconv.AppendInt(h.number[:0], by, 10)
	if err := h.exchange(appendBulk(r, h.number)); err != nil {
		return err
	}
	sum, err := h.integer("EVAL", missing, math.MaxInt)
	if err == nil && sum == missing {
		return store.ErrNotFound
	}
	return err
}

// Increment goes to the node that has the key.
func (c *clusterHandle) Increment(key []byte, column int, by int64) error {
	h, err := c.follow(c.of(key).Increment(key, column, by), false)
	if h == nil || err != nil {
		return err
	}
	return h.Increment(key, column, by)
}

// Increment is the same script.
func (h *libraryHandle) Increment(key []byte, column int, by int64) error {
	if len(h.fields) == 0 {
		return errColumns
	}
	sum, err := h.client.Eval(context.Background(), incrementScript, []string{string(key)}, h.fields[column],
		by).Int64()
	if err == nil && sum == missing {
		return store.ErrNotFound
	}
	return h.told("EVAL", err)
}

// Modify goes to the node that has the key.
func (c *clusterHandle) Modify(key []byte, columns []int, values [][]byte) error {
	h, err := c.follow(c.of(key).Modify(key, columns, values), false)
	if h == nil || err != nil {
		return err
	}
	return h.Modify(key, columns, values)
}

// Modify is the same script, by EVAL each time as with the lean client.
func (h *libraryHandle) Modify(key []byte, columns []int, values [][]byte) error {
	if len(h.fields) == 0 {
		return errColumns
	}
	arguments := make([]any, 0, 2*len(columns))
	for i, column := range columns {
		arguments = append(arguments, h.fields[column], values[i])
	}
	fresh, err := h.client.Eval(context.Background(), modifyScript, []string{string(key)}, arguments...).Int()
	switch {
	case err != nil:
		return h.told("EVAL", err)
	case fresh == missing:
		return store.ErrNotFound
	case fresh != 0:
		return fmt.Errorf("redis: EVAL: %d fields were not there", fresh)
	}
	return nil
}
