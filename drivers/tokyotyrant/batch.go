package tokyotyrant

import (
	"errors"

	"assay/drivers/internal/wire"
	"assay/store"
)

// A batch is the functions putlist and outlist, one call for each run of puts or deletes. A face
// without them, a table, whose putlist carries no zero bytes, and a B+ tree get a pipeline of single
// writes.

// pipelineMax is how many requests a handle sends before it reads their answers: so many answers
// stand in the sockets' buffers, and the server never waits for the client to read them.
const pipelineMax = 128

func hasLists(f face) bool {
	_, lists := f.(binaryFace)
	return lists
}

// whichDelete appends for each write whether it is a delete: what the answers are read by.
func whichDelete(deletes []bool, writes []store.Write) []bool {
	for i := range writes {
		deletes = append(deletes, writes[i].Delete)
	}
	return deletes
}

// run is how many writes there are of the first one's kind.
func run(deletes []bool) int {
	n := 1
	for n < len(deletes) && deletes[n] == deletes[0] {
		n++
	}
	return n
}

func appendBatch(f face, r []byte, deletes []bool, writes []store.Write) (_ []byte, err error) {
	if hasLists(f) {
		return appendLists(r, deletes, writes)
	}
	for _, w := range writes {
		if w.Delete {
			r = f.appendDelete(r, w.Key)
		} else if r, err = f.appendPut(r, commandPut, w.Key, w.Value); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func appendLists(r []byte, deletes []bool, writes []store.Write) ([]byte, error) {
	for len(writes) > 0 {
		n := run(deletes)
		if deletes[0] {
			r = appendMisc(r, "outlist", 0, n)
		} else {
			r = appendMisc(r, "putlist", 0, 2*n)
		}
		for _, w := range writes[:n] {
			if r = appendElement(r, w.Key); w.Delete {
				continue
			}
			if len(w.Value) > argumentBytesMax {
				return nil, errValueLength
			}
			r = appendElement(r, w.Value)
		}
		deletes, writes = deletes[n:], writes[n:]
	}
	return r, nil
}

// readBatch reads all answers, also after one that tells a failure. A key that is not there is none.
func readBatch(c *connection, f face, deletes []bool) (failed error) {
	for len(deletes) > 0 {
		n := 1
		var err error
		switch {
		case hasLists(f):
			n = run(deletes)
			var done bool
			if done, err = c.none("a batch"); err == nil && !done {
				err = errRefused("a part of a batch")
			}
		case deletes[0]:
			err = f.readDelete(c)
		default:
			err = f.readPut(c, commandPut)
		}
		if wire.NotHere(err) {
			return err
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			failed = err
		}
		if !c.Connected() {
			return failed
		}
		deletes = deletes[n:]
	}
	return failed
}
