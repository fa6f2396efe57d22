package redis

import (
	"math"
	"strconv"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// leanHandle is one connection of this package's own, which waits for the answer to each request.
type leanHandle struct {
	wire.Handle
	*speaker
	number []byte // what an increment adds, in decimal, reused
}

func newLeanHandle(s *speaker) *leanHandle { return &leanHandle{Handle: wire.Blocking(s), speaker: s} }

// PutFor is SET with PX.
func (h *leanHandle) PutFor(key, value []byte, ttl time.Duration) error {
	return h.Do(store.Request{Operation: store.OpPut, Key: key, Value: value, TTL: ttl})
}

func (h *leanHandle) CompareAndSwap(key, old, value []byte) error {
	return h.Do(store.Request{Operation: store.OpCompareAndSwap, Key: key, Old: old, Value: value})
}

// Apply is a pipeline: all commands in one write, all replies in one round trip.
func (h *leanHandle) Apply(writes []store.Write) error { return h.ApplyParts(writes, len(writes)) }

// MultiGet is one MGET.
func (h *leanHandle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	if len(h.columns.names) > 0 {
		return 0, errHashMany
	}
	if err := h.Begin(); err != nil {
		return 0, err
	}
	if err := h.exchange(appendMany(h.Request[:0], keys)); err != nil {
		return 0, err
	}
	_, err = h.readMany(values, buf)
	return 1, err
}

// exchange sends a request that has no [store.Request].
func (h *leanHandle) exchange(r []byte) error {
	h.Request = r
	return h.Send()
}

// askKey sends a command whose first argument is a key, of strings alone.
func (h *leanHandle) askKey(name string, key, argument []byte) error {
	if len(h.columns.names) > 0 {
		return errHashString
	}
	if err := h.Begin(); err != nil {
		return err
	}
	return h.exchange(appendBulk(appendBulk(appendHead(h.Request[:0], 3, name), key), argument))
}

// Touch is PEXPIRE, which is done to what is there alone.
func (h *leanHandle) Touch(key []byte, ttl time.Duration) error {
	h.number = strconv.AppendInt(h.number[:0], ttl.Milliseconds(), 10)
	if err := h.askKey("PEXPIRE", key, h.number); err != nil {
		return err
	}
	done, err := h.integer("PEXPIRE", 0, 1)
	if err == nil && done == 0 {
		return store.ErrNotFound
	}
	return err
}

// Append is APPEND, which makes a string of the part where there is none.
func (h *leanHandle) Append(key, part []byte) error {
	if err := h.askKey("APPEND", key, part); err != nil {
		return err
	}
	_, err := h.integer("APPEND", len(part), math.MaxInt) // how long the string is now
	return err
}

// GetAndSet is GETSET, which all versions have. A string's expiry ends with it.
func (h *leanHandle) GetAndSet(key, value, buf []byte) ([]byte, error) {
	if err := h.askKey("GETSET", key, value); err != nil {
		return nil, err
	}
	return h.bulk("GETSET", buf[:0])
}
