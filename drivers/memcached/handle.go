package memcached

import (
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// handle waits for the answer to each request.
type handle struct {
	wire.Handle
	*speaker
}

func newHandle(c connection) *handle {
	s := newSpeaker(c, 1)
	return &handle{wire.Blocking(s), s}
}

// CompareAndSwap fetches the value and its token, compares, and stores with the token: the server
// stores only if the item was not written since, so that what is replaced is old, in one step of
// the server's own.
// PutFor is a set with an expiry.
func (h *handle) PutFor(key, value []byte, ttl time.Duration) error {
	return h.Do(store.Request{Operation: store.OpPut, Key: key, Value: value, TTL: ttl})
}

func (h *handle) CompareAndSwap(key, old, value []byte) error {
	return h.Do(store.Request{Operation: store.OpCompareAndSwap, Key: key, Old: old, Value: value})
}
