package riak

import (
	"bytes"
	"errors"

	"assay/store"
)

// requests are the parts of requests that are the same for each key, made once.
type requests struct{ get, put, remove []byte }

// newRequests puts the bucket and the quorums into each.
func newRequests(bucket string, q quorums, returnDeleted bool) requests {
	all := requests{
		get:    appendString(appendHead(nil, getRequest), bucketField, bucket),
		put:    appendString(appendHead(nil, putRequest), bucketField, bucket),
		remove: appendString(appendHead(nil, deleteRequest), bucketField, bucket),
	}
	all.get = appendQuorum(appendQuorum(all.get, getRField, q.r), getPRField, q.pr)
	if returnDeleted {
		all.get = appendNumber(all.get, getDeletedVClockField, 1)
	}
	all.put = appendQuorum(appendQuorum(appendQuorum(all.put, putWField, q.w), putDWField, q.dw),
		putPWField, q.pw)
	if q.nodeConfirms > 0 {
		all.put = appendNumber(all.put, putNodeConfirmsField, uint64(q.nodeConfirms))
	}
	d := q.ofDelete()
	all.remove = appendQuorum(appendQuorum(appendQuorum(all.remove, deleteWField, d.w),
		deleteDWField, d.dw), deletePWField, d.pw)
	all.remove = appendQuorum(appendQuorum(all.remove, deleteRField, d.r), deletePRField, d.pr)
	return all
}

// leanHandle is a connection to one node.
type leanHandle struct {
	connection
	requests *requests
	resolver *resolver
	last     lastGet
}

// lastGet is the vector clock of the last get, which the put that follows it of the same key sends
// back: so the node knows which values it replaces. It stands in the connection's answer, which
// stays as it is until the next read.
type lastGet struct {
	key    []byte
	vclock []byte // nil: none
}

func (c *lastGet) keep(key, vclock []byte) {
	c.key, c.vclock = append(c.key[:0], key...), vclock
}

// take returns the vector clock for a key, once.
func (c *lastGet) take(key []byte) []byte {
	vclock := c.vclock
	c.vclock = nil
	if vclock != nil && bytes.Equal(c.key, key) {
		return vclock
	}
	return nil
}

var (
	errKey      = errors.New("riak: a key has 1 to 32768 bytes")
	errValue    = errors.New("riak: the value is longer than 52363264 bytes")
	errSiblings = errors.New("riak: the record has siblings (option siblings: error)")
)

func check(key, value []byte) error {
	if len(key) == 0 || len(key) > keyBytesMax {
		return errKey
	}
	if len(value) > valueBytesMax {
		return errValue
	}
	return nil
}

// Get returns the value as it stands in the answer, which is not read again before the next call.
func (h *leanHandle) Get(key, _ []byte) ([]byte, error) {
	h.last.take(nil)
	if err := check(key, nil); err != nil {
		return nil, err
	}
	if err := h.Begin(); err != nil {
		return nil, err
	}
	r := appendBytes(append(h.Request[:0], h.requests.get...), keyField, key)
	message, err := h.exchange("get", r, getResponse)
	if err != nil {
		return nil, err
	}
	answer, err := parseFound(message)
	if err != nil {
		return nil, h.malformed("get")
	}
	h.last.keep(key, answer.vclock)
	return h.resolver.value(answer.newest, answer.siblings)
}

func (h *leanHandle) Put(key, value []byte) error {
	vclock := h.last.take(key)
	if err := check(key, value); err != nil {
		return err
	}
	if err := h.Begin(); err != nil {
		return err
	}
	r := appendBytes(append(h.Request[:0], h.requests.put...), keyField, key)
	if vclock != nil {
		r = appendBytes(r, putVClockField, vclock)
	}
	_, err := h.exchange("put", appendContent(r, value), putResponse)
	return err
}

// Delete sends no vector clock: the node reads the record's own, so that all siblings go. It does
// not tell if there was a record.
func (h *leanHandle) Delete(key []byte) error {
	h.last.take(nil)
	if err := check(key, nil); err != nil {
		return err
	}
	if err := h.Begin(); err != nil {
		return err
	}
	r := appendBytes(append(h.Request[:0], h.requests.remove...), keyField, key)
	_, err := h.exchange("delete", r, deleteResponse)
	return err
}

func (h *leanHandle) Close() error { return h.connection.Close() }

var _ store.Handle = (*leanHandle)(nil)
