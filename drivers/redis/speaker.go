package redis

import (
	"bytes"
	"fmt"

	"assay/drivers/internal/wire"
	"assay/store"
)

// speaker does the operations on one connection, for a handle that waits for each answer and for a
// lane that does not.
type speaker struct {
	leanClient
	asked []asked // by slot
}

// asked is what the answer to a request is read by. Its buffers are reused.
type asked struct {
	operation       store.Operation
	commits         bool // a transaction, whose second half is on the way
	key, old, value []byte
	deletes         []bool
}

func (d *db) newSpeaker(endpoint string, pipeline int) *speaker {
	return &speaker{leanClient: d.newClient(endpoint), asked: make([]asked, pipeline)}
}

// Loop is of [store.Asynchronous].
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	if d.client != lean || d.slots != nil || d.fromReplica {
		return nil, fmt.Errorf("redis: asynchronous handles are of client %s and one server, the primary: %w",
			lean, store.ErrRefused)
	}
	speakers := make([]wire.Speaker, lanes)
	for i := range speakers {
		speakers[i] = d.newSpeaker(d.members[0].endpoint, pipeline)
	}
	return wire.NewLoop(speakers, pipeline)
}

func (s *speaker) Link() *wire.Connection { return s.Connection }

// Ask begins an operation. Add is SET with NX, and on hashes a transaction. Compare-and-swap watches
// the key, reads and compares. What follows is done only if nobody wrote the key since, so that what
// is replaced is old, in one step of the server's own. A batch is a pipeline.
func (s *speaker) Ask(slot int, r *store.Request) error {
	if err := s.fits(r); err != nil {
		return err
	}
	a := &s.asked[slot]
	a.operation, a.commits = r.Operation, false
	switch r.Operation {
	case store.OpGet:
		s.Request = s.columns.appendGet(s.Request, r.Key)
	case store.OpPut:
		if r.TTL > 0 {
			s.Request = appendPutFor(s.Request, r.Key, r.Value, r.TTL)
			break
		}
		s.Request = s.columns.appendPut(s.Request, r.Key, r.Value)
	case store.OpDelete:
		s.Request = appendDelete(s.Request, r.Key)
	case store.OpApply:
		s.Request, a.deletes = s.columns.appendWrites(s.Request, a.deletes[:0], r.Writes)
	case store.OpAdd:
		if len(s.columns.names) == 0 {
			s.Request = appendAdd(s.Request, r.Key, r.Value)
			break
		}
		s.Request = s.appendLookWatching(s.Request, r.Key)
		a.key, a.value = append(a.key[:0], r.Key...), append(a.value[:0], r.Value...)
	case store.OpCompareAndSwap:
		s.Request = s.appendGetWatching(s.Request, r.Key)
		a.key, a.value = append(a.key[:0], r.Key...), append(a.value[:0], r.Value...)
		a.old = append(a.old[:0], r.Old...)
	}
	return nil
}

// errHashTTL: HSET has no expiry, and a second command would be a second step.
var errHashTTL = fmt.Errorf("redis: a hash is not stored with an expiry in one step: %w", store.ErrRefused)

// fits says if what is to be stored has the columns that were defined.
func (s *speaker) fits(r *store.Request) error {
	switch r.Operation {
	case store.OpApply:
		return s.columns.fitAll(r.Writes)
	case store.OpPut:
		if len(s.columns.names) > 0 && r.TTL > 0 {
			return errHashTTL
		}
	}
	switch r.Operation {
	case store.OpPut, store.OpAdd, store.OpCompareAndSwap:
		if len(s.columns.names) > 0 {
			return s.columns.fits(r.Value)
		}
	}
	return nil
}

func (s *speaker) Answer(slot int, into []byte) (value []byte, more bool, err error) {
	a := &s.asked[slot]
	switch {
	case a.commits:
		return nil, false, s.readCommitted()
	case a.operation == store.OpGet:
		value, err = s.columns.readGet(s.connection, into)
		return value, false, err
	case a.operation == store.OpPut:
		return nil, false, s.columns.readPut(s.connection)
	case a.operation == store.OpDelete:
		return nil, false, s.readDeleted()
	case a.operation == store.OpApply:
		return nil, false, s.readWritten(a.deletes)
	case a.operation == store.OpAdd && len(s.columns.names) == 0:
		return nil, false, s.readAdded()
	}
	if value, err = s.readFirstHalf(a, into); err != nil {
		return value, false, err
	}
	a.commits = true
	s.Request = s.appendCommit(s.Request, a.key, a.value)
	return value, true, nil
}

// readFirstHalf reads what a transaction hangs on; [store.ErrConflict] if it is not to be begun.
func (s *speaker) readFirstHalf(a *asked, into []byte) (now []byte, err error) {
	if a.operation == store.OpAdd {
		there, err := s.readLooked()
		if err == nil && there {
			err = store.ErrConflict
		}
		return nil, err
	}
	now, err = s.readGetWatching(into)
	if err == nil && !bytes.Equal(now, a.old) {
		err = store.ErrConflict
	}
	return now, err
}
