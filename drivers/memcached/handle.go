package memcached

import (
	"bytes"

	"assay/store"
)

// handle waits for the answer to each request.
type handle struct {
	connection
	current []byte // the value that compare-and-swap compares, reused
}

func (h *handle) Close() error { return h.connection.Close() }

// begin starts an operation on a key.
func (h *handle) begin(key []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return h.Begin()
}

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	value, _, err := h.retrieve(get, key, buf)
	return value, err
}

func (h *handle) retrieve(c command, key, buf []byte) (value []byte, token uint64, err error) {
	if err := h.begin(key); err != nil {
		return nil, 0, err
	}
	h.Request = h.protocol.appendKeyed(h.Request[:0], c, key)
	if err := h.Send(); err != nil {
		return nil, 0, err
	}
	return h.protocol.readRetrieved(&h.connection, c, key, buf)
}

// Put is the command set.
func (h *handle) Put(key, value []byte) error { return h.store(set, key, value, 0) }

func (h *handle) Add(key, value []byte) error { return h.store(add, key, value, 0) }

func (h *handle) store(c command, key, value []byte, token uint64) error {
	if err := h.begin(key); err != nil {
		return err
	}
	h.Request = h.protocol.appendStore(h.Request[:0], c, key, value, token)
	if h.Network != nil && len(h.Request) > requestBytesMax {
		return errDatagram
	}
	if err := h.Send(); err != nil {
		return err
	}
	return h.protocol.readStored(&h.connection, c)
}

// CompareAndSwap fetches the value and its token, compares, and stores with the token: the server
// stores only if the item was not written since, so that what is replaced is old, in one step of
// the server's own.
func (h *handle) CompareAndSwap(key, old, value []byte) error {
	now, token, err := h.retrieve(gets, key, h.current)
	if err != nil {
		return err
	}
	h.current = now[:0]
	if !bytes.Equal(now, old) {
		return store.ErrConflict
	}
	return h.store(cas, key, value, token)
}

func (h *handle) Delete(key []byte) error {
	if err := h.begin(key); err != nil {
		return err
	}
	h.Request = h.protocol.appendKeyed(h.Request[:0], remove, key)
	if err := h.Send(); err != nil {
		return err
	}
	return h.protocol.readStored(&h.connection, remove)
}
