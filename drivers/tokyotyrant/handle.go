package tokyotyrant

import (
	"errors"

	"assay/drivers/internal/wire"
	"assay/store"
)

// handle waits for the answer to each request. Get is the command get, Add putkeep and Delete out:
// the server tells if there was nothing.
type handle struct {
	wire.Handle
	*speaker
	noAnswer bool // puts are putnr
}

func newHandle(s *speaker, noAnswer bool) *handle {
	return &handle{Handle: wire.Blocking(s), speaker: s, noAnswer: noAnswer}
}

// Close gives the connection back, once the server has done what was not answered.
func (h *handle) Close() error {
	var err error
	if h.noAnswer && h.Connected() {
		err = h.drain()
	}
	return errors.Join(err, h.connection.Close())
}

// Put is the command put, or putnr.
func (h *handle) Put(key, value []byte) error {
	if !h.noAnswer {
		return h.Handle.Put(key, value)
	}
	if err := checkKey(h.face, key); err != nil {
		return err
	}
	if err := h.Begin(); err != nil {
		return err
	}
	r, err := h.face.appendPut(h.Request[:0], commandPutNR, key, value)
	if err != nil {
		return err
	}
	h.Request = r
	return h.Send()
}

// Apply writes a batch: in one call where the face has lists, and otherwise in pipelines.
func (h *handle) Apply(writes []store.Write) error {
	if hasLists(h.face) {
		return h.ApplyParts(writes, len(writes))
	}
	return h.ApplyParts(writes, pipelineMax)
}
