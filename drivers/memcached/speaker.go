package memcached

import (
	"bytes"
	"fmt"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// speaker builds the requests of a connection and reads their answers, for a handle that waits and
// for a lane that does not.
type speaker struct {
	connection
	asked []asked // by slot
}

// asked is what the answer to a request is read by. Its buffers are reused.
type asked struct {
	command command
	key     []byte
	old     []byte // of compare-and-swap, whose first request is gets
	value   []byte
}

func newSpeaker(c connection, pipeline int) *speaker {
	return &speaker{connection: c, asked: make([]asked, pipeline)}
}

// Loop is of [store.Asynchronous].
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	if d.client != lean || len(d.members) > 1 || d.protocol == udpProtocol {
		return nil, fmt.Errorf("memcached: asynchronous handles are of client %s, one server and TCP: %w", lean, store.ErrRefused)
	}
	speakers := make([]wire.Speaker, lanes)
	for i := range speakers {
		speakers[i] = newSpeaker(d.newConnection(d.members[0].endpoint), pipeline)
	}
	return wire.NewLoop(speakers, pipeline)
}

func (s *speaker) Link() *wire.Connection { return &s.Connection }

var commandOf = [...]command{
	store.OpGet: get, store.OpPut: set, store.OpDelete: remove, store.OpAdd: add, store.OpCompareAndSwap: gets,
}

func (s *speaker) Ask(slot int, r *store.Request) error {
	if err := checkKey(r.Key); err != nil {
		return err
	}
	a := &s.asked[slot]
	a.command = commandOf[r.Operation]
	switch a.command {
	case set, add:
		return s.store(a.command, r.Key, r.Value, 0, r.TTL)
	case gets:
		a.old, a.value = append(a.old[:0], r.Old...), append(a.value[:0], r.Value...)
		fallthrough
	case get:
		a.key = append(a.key[:0], r.Key...)
	}
	s.Request = s.protocol.appendKeyed(s.Request, a.command, r.Key)
	return nil
}

// store appends a storage command, which by UDP is one datagram.
func (s *speaker) store(c command, key, value []byte, token uint64, ttl time.Duration) error {
	from := len(s.Request)
	s.Request = s.protocol.appendStore(s.Request, c, key, value, token, uint32(ttl/time.Second))
	if s.Network != nil && len(s.Request) > requestBytesMax {
		s.Request = s.Request[:from]
		return errDatagram
	}
	return nil
}

func (s *speaker) Answer(slot int, into []byte) (value []byte, more bool, err error) {
	a := &s.asked[slot]
	if a.command != get && a.command != gets {
		return nil, false, s.protocol.readStored(&s.connection, a.command)
	}
	value, token, err := s.protocol.readRetrieved(&s.connection, a.command, a.key, into)
	if err != nil || a.command == get {
		return value, false, err
	}
	if !bytes.Equal(value, a.old) {
		return value, false, store.ErrConflict
	}
	a.command = cas
	err = s.store(cas, a.key, a.value, token, 0)
	return value, err == nil, err
}
