package redis

import (
	"bytes"
	"errors"

	"assay/store"
)

// leanHandle is one connection of this package's own.
type leanHandle struct {
	connection
	columns  columns
	watching bool   // the server watches a key for a transaction that was not begun
	current  []byte // the value that compare-and-swap compares, reused
}

// exchange sends what stands in r, in the time of an operation that has begun.
func (h *leanHandle) exchange(r []byte) error {
	h.Request = r
	return h.Send()
}

func (h *leanHandle) Get(key, buf []byte) ([]byte, error) {
	if err := h.Begin(); err != nil {
		return nil, err
	}
	if err := h.exchange(h.columns.appendGet(h.Request[:0], key)); err != nil {
		return nil, err
	}
	return h.columns.readGet(h.connection, buf[:0])
}

func (h *leanHandle) Put(key, value []byte) error {
	if err := h.columns.fits(value); len(h.columns.names) > 0 && err != nil {
		return err
	}
	if err := h.Begin(); err != nil {
		return err
	}
	if err := h.exchange(h.columns.appendPut(h.Request[:0], key, value)); err != nil {
		return err
	}
	return h.columns.readPut(h.connection)
}

func (h *leanHandle) Delete(key []byte) error {
	if err := h.Begin(); err != nil {
		return err
	}
	if err := h.exchange(appendDelete(h.Request[:0], key)); err != nil {
		return err
	}
	deleted, err := h.integer("DEL", 0, 1)
	if err == nil && deleted == 0 {
		return store.ErrNotFound
	}
	return err
}

func appendDelete(r, key []byte) []byte { return appendBulk(append(r, "*2\r\n$3\r\nDEL\r\n"...), key) }

// Add is SET with NX, and on hashes a transaction.
func (h *leanHandle) Add(key, value []byte) error {
	if len(h.columns.names) > 0 {
		return h.addHash(key, value)
	}
	if err := h.Begin(); err != nil {
		return err
	}
	r := append(h.Request[:0], "*4\r\n$3\r\nSET\r\n"...)
	r = append(appendBulk(appendBulk(r, key), value), "$2\r\nNX\r\n"...)
	if err := h.exchange(r); err != nil {
		return err
	}
	kind, n, line, err := h.reply("SET NX")
	switch {
	case err != nil:
		return err
	case kind == simpleReply && string(line) == "+OK":
		return nil
	case kind == bulkReply && n == absent:
		return store.ErrConflict
	}
	return h.Unexpected("SET NX", line)
}

func (h *leanHandle) addHash(key, value []byte) error {
	if err := h.columns.fits(value); err != nil {
		return err
	}
	r, err := h.watch(key)
	if err != nil {
		return err
	}
	if err := h.exchange(appendBulk(append(r, "*2\r\n$6\r\nEXISTS\r\n"...), key)); err != nil {
		return err
	}
	if err := h.watched(); err != nil {
		return err
	}
	there, err := h.integer("EXISTS", 0, 1)
	if err != nil {
		return err
	}
	if there == 1 {
		return store.ErrConflict
	}
	return h.commit(key, value)
}

// CompareAndSwap watches the key, reads and compares. What follows is done only if nobody wrote the
// key since, so that what is replaced is old, in one step of the server's own.
func (h *leanHandle) CompareAndSwap(key, old, value []byte) error {
	if err := h.columns.fits(value); len(h.columns.names) > 0 && err != nil {
		return err
	}
	r, err := h.watch(key)
	if err != nil {
		return err
	}
	if err := h.exchange(h.columns.appendGet(r, key)); err != nil {
		return err
	}
	if err := h.watched(); err != nil {
		return err
	}
	now, err := h.columns.readGet(h.connection, h.current[:0])
	if err != nil {
		return err
	}
	h.current = now[:0]
	if !bytes.Equal(now, old) {
		return store.ErrConflict
	}
	return h.commit(key, value)
}

// watch begins the operation and returns the beginning of its request. A transaction that came to
// nothing left its watch behind, which would make this one fail: it is taken back with this
// request, and costs no round trip of its own.
func (h *leanHandle) watch(key []byte) ([]byte, error) {
	if !h.Connected() {
		h.watching = false
	}
	if err := h.Begin(); err != nil {
		return nil, err
	}
	r := h.Request[:0]
	if h.watching {
		r = append(r, "*1\r\n$7\r\nUNWATCH\r\n"...)
	}
	return appendBulk(append(r, "*2\r\n$5\r\nWATCH\r\n"...), key), nil
}

// watched reads the replies to what watch appended. Where the server refuses, what follows has no
// meaning: the connection is given up.
func (h *leanHandle) watched() error {
	if h.watching {
		if err := h.status("UNWATCH", "OK"); err != nil {
			return errors.Join(err, h.Close())
		}
	}
	h.watching = true
	if err := h.status("WATCH", "OK"); err != nil {
		return errors.Join(err, h.Close())
	}
	return nil
}

// commit stores the value in a transaction, of which EXEC says if it took place.
func (h *leanHandle) commit(key, value []byte) error {
	r := append(h.Request[:0], "*1\r\n$5\r\nMULTI\r\n"...)
	r = append(h.columns.appendPut(r, key, value), "*1\r\n$4\r\nEXEC\r\n"...)
	if err := h.exchange(r); err != nil {
		return err
	}
	err := h.status("MULTI", "OK")
	if h.Connected() {
		err = errors.Join(err, h.status("queue the write", "QUEUED"))
	}
	if !h.Connected() {
		return err
	}
	n, failed := h.array("EXEC") // it takes the watch back, whatever it answers
	h.watching = false
	switch {
	case err != nil || failed != nil:
		return errors.Join(err, failed)
	case n == absent:
		return store.ErrConflict
	case n != 1:
		return h.GiveUp("EXEC", errors.New("another number of answers than commands"))
	}
	return h.columns.readPut(h.connection)
}

// Apply is a pipeline: all commands in one write, all replies in one round trip.
func (h *leanHandle) Apply(writes []store.Write) error {
	if len(h.columns.names) > 0 {
		for i := range writes {
			if err := h.columns.fits(writes[i].Value); err != nil && !writes[i].Delete {
				return err
			}
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := h.Begin(); err != nil {
		return err
	}
	r := h.Request[:0]
	for i := range writes {
		if writes[i].Delete {
			r = appendDelete(r, writes[i].Key)
		} else {
			r = h.columns.appendPut(r, writes[i].Key, writes[i].Value)
		}
	}
	if err := h.exchange(r); err != nil {
		return err
	}
	var first error
	for i := range writes {
		var err error
		if writes[i].Delete {
			_, err = h.integer("DEL", 0, 1)
		} else {
			err = h.columns.readPut(h.connection)
		}
		if first == nil {
			first = err
		}
		if err != nil && !h.Connected() {
			break // there is nothing left to be read
		}
	}
	return first
}
