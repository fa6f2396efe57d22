package redis

import (
	"bytes"
	"fmt"

	"assay/drivers/internal/wire"
	"assay/store"
)

// lane is one connection of an asynchronous client: it does not wait, and has up to asked's length
// requests on its way.
type lane struct {
	leanClient
	asked    []asked // requests without an answer, oldest first, in a ring
	first, n int
	value    []byte // what was read, reused
}

// asked is what the answer to a request is read by. Its buffers are reused.
type asked struct {
	operation       store.Operation
	commits         bool // a transaction, whose second half is on the way
	key, old, value []byte
	deletes         []bool
}

// Loop is of [store.Asynchronous].
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	if d.client != lean || d.slots != nil {
		return nil, fmt.Errorf("redis: asynchronous handles are of client %s and one server: %w",
			lean, store.ErrRefused)
	}
	speakers := make([]wire.Speaker, lanes)
	for i := range speakers {
		speakers[i] = &lane{leanClient: d.newClient(d.members[0].endpoint), asked: make([]asked, pipeline)}
	}
	return wire.NewLoop(speakers, pipeline)
}

func (l *lane) Link() *wire.Connection { return l.Connection }

func (l *lane) Ask(r *store.Request) error {
	if err := l.fits(r); err != nil {
		return err
	}
	a := &l.asked[(l.first+l.n)%len(l.asked)]
	a.operation, a.commits = r.Operation, false
	switch r.Operation {
	case store.OpGet:
		l.Request = l.columns.appendGet(l.Request, r.Key)
	case store.OpPut:
		l.Request = l.columns.appendPut(l.Request, r.Key, r.Value)
	case store.OpDelete:
		l.Request = appendDelete(l.Request, r.Key)
	case store.OpApply:
		l.Request, a.deletes = l.columns.appendWrites(l.Request, a.deletes[:0], r.Writes)
	case store.OpAdd:
		if len(l.columns.names) == 0 {
			l.Request = appendAdd(l.Request, r.Key, r.Value)
			break
		}
		l.Request = l.appendLookWatching(l.Request, r.Key)
		a.key, a.value = append(a.key[:0], r.Key...), append(a.value[:0], r.Value...)
	case store.OpCompareAndSwap:
		l.Request = l.appendGetWatching(l.Request, r.Key)
		a.key, a.value = append(a.key[:0], r.Key...), append(a.value[:0], r.Value...)
		a.old = append(a.old[:0], r.Old...)
	}
	l.n++
	return nil
}

// fits says if what is to be stored has the columns that were defined.
func (l *lane) fits(r *store.Request) error {
	switch r.Operation {
	case store.OpApply:
		return l.columns.fitAll(r.Writes)
	case store.OpPut, store.OpAdd, store.OpCompareAndSwap:
		if len(l.columns.names) > 0 {
			return l.columns.fits(r.Value)
		}
	}
	return nil
}

func (l *lane) Answer() (value []byte, more bool, err error) {
	a := &l.asked[l.first]
	switch {
	case a.commits:
		err = l.readCommitted()
	case a.operation == store.OpGet:
		value, err = l.keep(l.columns.readGet(l.connection, l.value[:0]))
	case a.operation == store.OpPut:
		err = l.columns.readPut(l.connection)
	case a.operation == store.OpDelete:
		err = l.readDeleted()
	case a.operation == store.OpApply:
		err = l.readWritten(a.deletes)
	case a.operation == store.OpAdd && len(l.columns.names) == 0:
		err = l.readAdded()
	default:
		if err = l.readFirstHalf(a); err == nil {
			a.commits = true
			l.Request = l.appendCommit(l.Request, a.key, a.value)
			return nil, true, nil
		}
	}
	if wire.NotHere(err) {
		return nil, false, err
	}
	if l.first++; l.first == len(l.asked) {
		l.first = 0
	}
	l.n--
	return value, false, err
}

// readFirstHalf reads what a transaction hangs on; [store.ErrConflict] if it is not to be begun.
func (l *lane) readFirstHalf(a *asked) error {
	if a.operation == store.OpAdd {
		there, err := l.readLooked()
		if err == nil && there {
			err = store.ErrConflict
		}
		return err
	}
	now, err := l.keep(l.readGetWatching(l.value[:0]))
	if err == nil && !bytes.Equal(now, a.old) {
		err = store.ErrConflict
	}
	return err
}

// keep keeps the buffer that a value was read into, which may have grown.
func (l *lane) keep(value []byte, err error) ([]byte, error) {
	if cap(value) > cap(l.value) {
		l.value = value
	}
	return value, err
}

func (l *lane) Forget() { l.first, l.n, l.watching = 0, 0, false }
