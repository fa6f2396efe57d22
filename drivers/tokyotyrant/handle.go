package tokyotyrant

import (
	"errors"
	"fmt"

	"assay/store"
)

// face is one of the protocols of the server's port: how requests are written and their answers
// read. A handle has one of its own.
type face interface {
	// check is an error for a key that the protocol can't carry.
	check(key []byte) error
	appendGet(r, key []byte) []byte
	// readGet appends the value to into.
	readGet(c *connection, key, into []byte) ([]byte, error)
	// appendPut appends the request of a put, a putkeep or, which has no answer, a putnr.
	appendPut(r []byte, how command, key, value []byte) ([]byte, error)
	readPut(c *connection, how command) error
	appendDelete(r, key []byte) []byte
	readDelete(c *connection) error
}

// handle waits for the answer to each request.
type handle struct {
	connection
	face     face
	noAnswer bool   // puts are putnr
	deletes  []bool // which of a batch's writes are, reused
}

var errKeyLength = fmt.Errorf("tokyotyrant: a key has 1 to %d bytes", keyBytesMax)

func checkKey(f face, key []byte) error {
	if len(key) == 0 || len(key) > keyBytesMax {
		return errKeyLength
	}
	return f.check(key)
}

// begin starts an operation on a key.
func (h *handle) begin(key []byte) error {
	if err := checkKey(h.face, key); err != nil {
		return err
	}
	return h.Begin()
}

// Close gives the connection back, once the server has done what was not answered.
func (h *handle) Close() error {
	var err error
	if h.noAnswer && h.Connected() {
		err = h.drain()
	}
	return errors.Join(err, h.connection.Close())
}

// Get is the command get.
func (h *handle) Get(key, buf []byte) ([]byte, error) {
	if err := h.begin(key); err != nil {
		return nil, err
	}
	h.Request = h.face.appendGet(h.Request[:0], key)
	if err := h.Send(); err != nil {
		return nil, err
	}
	return h.face.readGet(&h.connection, key, buf[:0])
}

// Put is the command put, or putnr.
func (h *handle) Put(key, value []byte) error {
	if h.noAnswer {
		return h.send(commandPutNR, key, value)
	}
	return h.put(commandPut, key, value)
}

// Add is the command putkeep.
func (h *handle) Add(key, value []byte) error { return h.put(commandPutKeep, key, value) }

func (h *handle) put(how command, key, value []byte) error {
	if err := h.send(how, key, value); err != nil {
		return err
	}
	return h.face.readPut(&h.connection, how)
}

// send sends the request of a put.
func (h *handle) send(how command, key, value []byte) error {
	if err := h.begin(key); err != nil {
		return err
	}
	r, err := h.face.appendPut(h.Request[:0], how, key, value)
	if err != nil {
		return err
	}
	h.Request = r
	return h.Send()
}

// Delete is the command out. The server tells if there was nothing.
func (h *handle) Delete(key []byte) error {
	if err := h.begin(key); err != nil {
		return err
	}
	h.Request = h.face.appendDelete(h.Request[:0], key)
	if err := h.Send(); err != nil {
		return err
	}
	return h.face.readDelete(&h.connection)
}

// Apply writes a batch: in one call where the face has lists, and otherwise in pipelines.
func (h *handle) Apply(writes []store.Write) error {
	for i := range writes {
		if err := checkKey(h.face, writes[i].Key); err != nil {
			return err
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if err := h.Begin(); err != nil {
		return err
	}
	part := pipelineMax
	if hasLists(h.face) {
		part = len(writes)
	}
	for from := 0; from < len(writes); from += part {
		if err := h.applyPart(writes[from:min(from+part, len(writes))]); err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) applyPart(writes []store.Write) (err error) {
	h.deletes = whichDelete(h.deletes[:0], writes)
	r, err := appendBatch(h.face, h.Request[:0], h.deletes, writes)
	if err != nil {
		return err
	}
	h.Request = r
	if err := h.Send(); err != nil {
		return err
	}
	return readBatch(&h.connection, h.face, h.deletes)
}
