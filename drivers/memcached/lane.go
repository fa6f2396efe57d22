package memcached

import (
	"bytes"
	"fmt"

	"assay/drivers/internal/wire"
	"assay/store"
)

// lane is one connection of an asynchronous client: it does not wait, and has up to asked's length
// requests on its way.
type lane struct {
	connection
	asked    []asked // requests without an answer, oldest first, in a ring
	first, n int
	value    []byte // what was read, reused
}

// asked is what the answer to a request is read by. Its buffers are reused.
type asked struct {
	command command
	key     []byte
	old     []byte // of compare-and-swap, whose first request is gets
	value   []byte
	swap    bool
}

// Loop is of [store.Asynchronous].
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	if d.client != lean || len(d.members) > 1 || d.protocol == udpProtocol {
		return nil, fmt.Errorf("memcached: asynchronous handles are of client %s, one server and TCP: %w", lean, store.ErrRefused)
	}
	speakers := make([]wire.Speaker, lanes)
	for i := range speakers {
		speakers[i] = &lane{connection: d.newConnection(d.members[0].endpoint), asked: make([]asked, pipeline)}
	}
	return wire.NewLoop(speakers, pipeline)
}

func (l *lane) Link() *wire.Connection { return &l.Connection }

var commandOf = [...]command{
	store.OpGet: get, store.OpPut: set, store.OpDelete: remove, store.OpAdd: add, store.OpCompareAndSwap: gets,
}

func (l *lane) Ask(r *store.Request) error {
	if err := checkKey(r.Key); err != nil {
		return err
	}
	a := &l.asked[(l.first+l.n)%len(l.asked)]
	a.command, a.swap = commandOf[r.Operation], r.Operation == store.OpCompareAndSwap
	switch a.command {
	case set, add:
		l.Request = l.protocol.appendStore(l.Request, a.command, r.Key, r.Value, 0)
	case remove:
		l.Request = l.protocol.appendKeyed(l.Request, remove, r.Key)
	default:
		l.Request = l.protocol.appendKeyed(l.Request, a.command, r.Key)
		a.key = append(a.key[:0], r.Key...)
	}
	if a.swap {
		a.old, a.value = append(a.old[:0], r.Old...), append(a.value[:0], r.Value...)
	}
	l.n++
	return nil
}

func (l *lane) Answer() (value []byte, more bool, err error) {
	a := &l.asked[l.first]
	var token uint64
	switch a.command {
	case get, gets:
		if value, token, err = l.protocol.readRetrieved(&l.connection, a.command, a.key, l.value); value != nil {
			l.value = value
		}
	default:
		err = l.protocol.readStored(&l.connection, a.command)
	}
	switch {
	case wire.NotHere(err):
		return nil, false, err
	case a.command == gets && err == nil && !bytes.Equal(value, a.old):
		err = store.ErrConflict
	case a.command == gets && err == nil:
		a.command = cas
		l.Request = l.protocol.appendStore(l.Request, cas, a.key, a.value, token)
		return nil, true, nil
	}
	if l.first++; l.first == len(l.asked) {
		l.first = 0
	}
	l.n--
	return value, false, err
}

func (l *lane) Forget() { l.first, l.n = 0, 0 }
