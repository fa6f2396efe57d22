package tokyotyrant

import (
	"fmt"

	"assay/drivers/internal/wire"
	"assay/store"
)

// face is one of the protocols of the server's port: how requests are written and their answers
// read. A connection has one of its own.
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

var errKeyLength = fmt.Errorf("tokyotyrant: a key has 1 to %d bytes", keyBytesMax)

func checkKey(f face, key []byte) error {
	if len(key) == 0 || len(key) > keyBytesMax {
		return errKeyLength
	}
	return f.check(key)
}

// speaker does the operations on one connection, for a handle that waits for each answer and for a
// lane that does not.
type speaker struct {
	connection
	face  face
	asked []asked // by slot
}

// asked is what the answer to a request is read by. Its buffers are reused.
type asked struct {
	operation store.Operation
	key       []byte
	deletes   []bool
}

func (d *db) newSpeaker(pipeline int) *speaker {
	s := &speaker{connection: d.connection(d.timeout), face: d.face(), asked: make([]asked, pipeline)}
	s.Reconnects, s.Bound = &d.reconnects, &d.Bound
	return s
}

// Loop is of [store.Asynchronous].
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	if d.noAnswer {
		return nil, fmt.Errorf("%s: write: putnr has no answer that asynchronous handles could wait for: %w",
			d.name, store.ErrRefused)
	}
	speakers := make([]wire.Speaker, lanes)
	for i := range speakers {
		speakers[i] = d.newSpeaker(pipeline)
	}
	return wire.NewLoop(speakers, pipeline)
}

func (s *speaker) Link() *wire.Connection { return &s.Connection }

func (s *speaker) Ask(slot int, r *store.Request) (err error) {
	a := &s.asked[slot]
	a.operation = r.Operation
	request := s.Request
	if r.Operation == store.OpApply {
		request, err = s.askBatch(a, request, r.Writes)
	} else {
		request, err = s.askOne(a, request, r)
	}
	if err == nil {
		s.Request = request
	}
	return err
}

func (s *speaker) askBatch(a *asked, request []byte, writes []store.Write) ([]byte, error) {
	for i := range writes {
		if err := checkKey(s.face, writes[i].Key); err != nil {
			return nil, err
		}
	}
	a.deletes = whichDelete(a.deletes[:0], writes)
	return appendBatch(s.face, request, a.deletes, writes)
}

func (s *speaker) askOne(a *asked, request []byte, r *store.Request) ([]byte, error) {
	if err := checkKey(s.face, r.Key); err != nil {
		return nil, err
	}
	switch r.Operation {
	case store.OpPut:
		return s.face.appendPut(request, commandPut, r.Key, r.Value)
	case store.OpAdd:
		return s.face.appendPut(request, commandPutKeep, r.Key, r.Value)
	case store.OpDelete:
		return s.face.appendDelete(request, r.Key), nil
	}
	a.key = append(a.key[:0], r.Key...)
	return s.face.appendGet(request, r.Key), nil
}

func (s *speaker) Answer(slot int, into []byte) (value []byte, more bool, err error) {
	a := &s.asked[slot]
	switch a.operation {
	case store.OpPut:
		err = s.face.readPut(&s.connection, commandPut)
	case store.OpAdd:
		err = s.face.readPut(&s.connection, commandPutKeep)
	case store.OpDelete:
		err = s.face.readDelete(&s.connection)
	case store.OpApply:
		err = readBatch(&s.connection, s.face, a.deletes)
	default:
		value, err = s.face.readGet(&s.connection, a.key, into)
	}
	return value, false, err
}
