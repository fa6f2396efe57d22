package tokyotyrant

import (
	"fmt"

	"assay/drivers/internal/wire"
	"assay/store"
)

// lane is one connection of an asynchronous client: it does not wait, and has up to asked's length
// requests on its way.
type lane struct {
	connection
	face     face
	asked    []asked // requests without an answer, oldest first, in a ring
	first, n int
	value    []byte // what was read, reused
}

// asked is what the answer to a request is read by. Its buffers are reused.
type asked struct {
	operation store.Operation
	key       []byte
	deletes   []bool
}

// Loop is of [store.Asynchronous].
func (d *db) Loop(lanes, pipeline int) (store.Loop, error) {
	if d.noAnswer {
		return nil, fmt.Errorf("%s: write: putnr has no answer that asynchronous handles could wait for: %w",
			d.name, store.ErrRefused)
	}
	speakers := make([]wire.Speaker, lanes)
	for i := range speakers {
		l := &lane{connection: d.connection(d.timeout), face: d.face(), asked: make([]asked, pipeline)}
		l.Reconnects = &d.reconnects
		speakers[i] = l
	}
	return wire.NewLoop(speakers, pipeline)
}

func (l *lane) Link() *wire.Connection { return &l.Connection }

func (l *lane) Ask(r *store.Request) (err error) {
	a := &l.asked[(l.first+l.n)%len(l.asked)]
	a.operation = r.Operation
	request := l.Request
	if r.Operation == store.OpApply {
		request, err = l.askBatch(a, request, r.Writes)
	} else {
		request, err = l.askOne(a, request, r)
	}
	if err == nil {
		l.Request = request
		l.n++
	}
	return err
}

func (l *lane) askBatch(a *asked, request []byte, writes []store.Write) ([]byte, error) {
	for i := range writes {
		if err := checkKey(l.face, writes[i].Key); err != nil {
			return nil, err
		}
	}
	a.deletes = whichDelete(a.deletes[:0], writes)
	return appendBatch(l.face, request, a.deletes, writes)
}

func (l *lane) askOne(a *asked, request []byte, r *store.Request) ([]byte, error) {
	if err := checkKey(l.face, r.Key); err != nil {
		return nil, err
	}
	switch r.Operation {
	case store.OpPut:
		return l.face.appendPut(request, commandPut, r.Key, r.Value)
	case store.OpAdd:
		return l.face.appendPut(request, commandPutKeep, r.Key, r.Value)
	case store.OpDelete:
		return l.face.appendDelete(request, r.Key), nil
	}
	a.key = append(a.key[:0], r.Key...)
	return l.face.appendGet(request, r.Key), nil
}

func (l *lane) Answer() (value []byte, more bool, err error) {
	a := &l.asked[l.first]
	switch a.operation {
	case store.OpPut:
		err = l.face.readPut(&l.connection, commandPut)
	case store.OpAdd:
		err = l.face.readPut(&l.connection, commandPutKeep)
	case store.OpDelete:
		err = l.face.readDelete(&l.connection)
	case store.OpApply:
		err = readBatch(&l.connection, l.face, a.deletes)
	default:
		if value, err = l.face.readGet(&l.connection, a.key, l.value[:0]); cap(value) > cap(l.value) {
			l.value = value
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

func (l *lane) Forget() { l.first, l.n = 0, 0 }
