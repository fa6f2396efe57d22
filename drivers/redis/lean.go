package redis

import (
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
