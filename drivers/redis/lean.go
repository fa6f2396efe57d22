package redis

import (
	"bytes"

	"assay/store"
)

// leanHandle is one connection of this package's own, which waits for the answer to each request.
type leanHandle struct {
	leanClient
	deletes []bool // which of a batch's writes are, reused
	current []byte // the value that compare-and-swap compares, reused
	number  []byte // what an increment adds, in decimal, reused
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
	return h.readDeleted()
}

// Add is SET with NX, and on hashes a transaction.
func (h *leanHandle) Add(key, value []byte) error {
	if len(h.columns.names) > 0 {
		return h.addHash(key, value)
	}
	if err := h.Begin(); err != nil {
		return err
	}
	if err := h.exchange(appendAdd(h.Request[:0], key, value)); err != nil {
		return err
	}
	return h.readAdded()
}

func (h *leanHandle) addHash(key, value []byte) error {
	if err := h.columns.fits(value); err != nil {
		return err
	}
	if err := h.Begin(); err != nil {
		return err
	}
	if err := h.exchange(h.appendLookWatching(h.Request[:0], key)); err != nil {
		return err
	}
	there, err := h.readLooked()
	if err != nil {
		return err
	}
	if there {
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
	if err := h.Begin(); err != nil {
		return err
	}
	if err := h.exchange(h.appendGetWatching(h.Request[:0], key)); err != nil {
		return err
	}
	now, err := h.readGetWatching(h.current[:0])
	if err != nil {
		return err
	}
	h.current = now[:0]
	if !bytes.Equal(now, old) {
		return store.ErrConflict
	}
	return h.commit(key, value)
}

// commit stores the value in a transaction.
func (h *leanHandle) commit(key, value []byte) error {
	if err := h.exchange(h.appendCommit(h.Request[:0], key, value)); err != nil {
		return err
	}
	return h.readCommitted()
}

// Apply is a pipeline: all commands in one write, all replies in one round trip.
func (h *leanHandle) Apply(writes []store.Write) error {
	if len(writes) == 0 {
		return nil
	}
	if err := h.sendWrites(writes); err != nil {
		return err
	}
	return h.readWritten(h.deletes)
}

// sendWrites sends a batch, whose answers readWritten reads.
func (h *leanHandle) sendWrites(writes []store.Write) error {
	if err := h.columns.fitAll(writes); err != nil {
		return err
	}
	if err := h.Begin(); err != nil {
		return err
	}
	var r []byte
	r, h.deletes = h.columns.appendWrites(h.Request[:0], h.deletes[:0], writes)
	return h.exchange(r)
}
