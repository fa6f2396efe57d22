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

// datagramHandle reads one key at a time: the server parts its answer to several into datagrams that do
// not tell how many they are.
type datagramHandle struct{ oneByOne }

type oneByOne interface {
	store.Handle
	store.Adder
	store.CompareAndSwapper
	store.Expirer
	store.Toucher
	store.Appender
}

// PutFor is a set with an expiry.
func (h *handle) PutFor(key, value []byte, ttl time.Duration) error {
	return h.Do(store.Request{Operation: store.OpPut, Key: key, Value: value, TTL: ttl})
}

// Touch gives an item another expiry.
func (h *handle) Touch(key []byte, ttl time.Duration) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return h.change(touch, h.protocol.appendTouch(h.Request[:0], key, uint32(ttl/time.Second)))
}

// Append leaves the item's flags and expiry as they are.
func (h *handle) Append(key, part []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	h.Request = h.Request[:0]
	if err := h.store(join, key, part, 0, 0); err != nil {
		return err
	}
	return h.change(join, h.Request)
}

// change sends a request that has no [store.Request], and reads what became of it.
func (h *handle) change(c command, request []byte) error {
	h.Request = request
	if err := h.connection.Begin(); err != nil {
		return err
	}
	if err := h.connection.Send(); err != nil {
		return err
	}
	return h.protocol.readStored(&h.connection, c)
}

// MultiGet asks for all keys before it reads the first answer.
func (h *handle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	if err := h.askMany(keys); err != nil {
		return 0, err
	}
	_, err = h.protocol.readMany(&h.connection, keys, values, buf)
	return 1, err
}

func (h *handle) askMany(keys [][]byte) error {
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	h.Request = h.protocol.appendMany(h.Request[:0], keys)
	if err := h.connection.Begin(); err != nil {
		return err
	}
	return h.connection.Send()
}

// CompareAndSwap fetches the value and its token, compares, and stores with the token: the server
// stores only if the item was not written since, so that what is replaced is old, in one step of
// the server's own.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	return h.Do(store.Request{Operation: store.OpCompareAndSwap, Key: key, Old: old, Value: value})
}
