package redis

import (
	"errors"

	"assay/drivers/internal/wire"
	"assay/store"
)

// leanClient builds the requests of the lean client, and reads their answers.
//
// What reads an answer changes the client only once the whole answer is here: a lane reads it again
// from its beginning until it is.
type leanClient struct {
	connection
	columns  columns
	watching bool // the server watches a key for a transaction that was not begun
}

func (d *db) newClient(endpoint string) leanClient {
	c := leanClient{connection: newConnection(endpoint, d.timeout, d.entry), columns: newColumns(d.columns)}
	c.Reconnects, c.Bound = &d.reconnects, &d.Bound
	return c
}

func appendDelete(r, key []byte) []byte { return appendBulk(append(r, "*2\r\n$3\r\nDEL\r\n"...), key) }

func (c *leanClient) readDeleted() error {
	deleted, err := c.integer("DEL", 0, 1)
	if err == nil && deleted == 0 {
		return store.ErrNotFound
	}
	return err
}

func appendAdd(r, key, value []byte) []byte {
	r = append(r, "*4\r\n$3\r\nSET\r\n"...)
	return append(appendBulk(appendBulk(r, key), value), "$2\r\nNX\r\n"...)
}

func (c *leanClient) readAdded() error {
	kind, n, line, err := c.reply("SET NX")
	switch {
	case err != nil:
		return err
	case kind == simpleReply && string(line) == "+OK":
		return nil
	case n == absent && (kind == bulkReply || kind == nullReply):
		return store.ErrConflict
	}
	return c.Unexpected("SET NX", line)
}

// appendWatch begins a transaction's first request. A transaction that came to nothing left its
// watch behind, which would make this one fail: it is taken back with this request, and costs no
// round trip of its own.
func (c *leanClient) appendWatch(r, key []byte) []byte {
	if !c.Connected() {
		c.watching = false
	}
	if c.watching {
		r = append(r, "*1\r\n$7\r\nUNWATCH\r\n"...)
	}
	return appendBulk(append(r, "*2\r\n$5\r\nWATCH\r\n"...), key)
}

// readWatched reads the replies to what appendWatch appended. Where the server refuses, what
// follows has no meaning: the connection is given up.
func (c *leanClient) readWatched() error {
	if c.watching {
		if err := c.status("UNWATCH", "OK"); err != nil {
			return c.endAfter(err)
		}
	}
	return c.endAfter(c.status("WATCH", "OK"))
}

// endAfter gives the connection up after an error.
func (c connection) endAfter(err error) error {
	if err == nil || wire.NotHere(err) {
		return err
	}
	return errors.Join(err, c.Close())
}

func (c *leanClient) appendGetWatching(r, key []byte) []byte {
	return c.columns.appendGet(c.appendWatch(r, key), key)
}

func (c *leanClient) readGetWatching(into []byte) (value []byte, err error) {
	if err := c.readWatched(); err != nil {
		return nil, err
	}
	value, err = c.columns.readGet(c.connection, into)
	c.watching = c.watching || !wire.NotHere(err)
	return value, err
}

func (c *leanClient) appendLookWatching(r, key []byte) []byte {
	return appendBulk(append(c.appendWatch(r, key), "*2\r\n$6\r\nEXISTS\r\n"...), key)
}

func (c *leanClient) readLooked() (there bool, err error) {
	if err := c.readWatched(); err != nil {
		return false, err
	}
	n, err := c.integer("EXISTS", 0, 1)
	c.watching = c.watching || !wire.NotHere(err)
	return n == 1, err
}

// appendCommit appends a transaction that stores the value.
func (c *leanClient) appendCommit(r, key, value []byte) []byte {
	r = append(r, "*1\r\n$5\r\nMULTI\r\n"...)
	return append(c.columns.appendPut(r, key, value), "*1\r\n$4\r\nEXEC\r\n"...)
}

// readCommitted reads the replies to appendCommit, of which EXEC's says if the transaction took
// place.
func (c *leanClient) readCommitted() error {
	err := c.status("MULTI", "OK")
	if c.Connected() && !wire.NotHere(err) {
		queued := c.status("queue the write", "QUEUED")
		if wire.NotHere(queued) {
			return queued
		}
		err = errors.Join(err, queued)
	}
	if !c.Connected() || wire.NotHere(err) {
		return err
	}
	n, failed := c.array("EXEC")
	switch {
	case wire.NotHere(failed):
		return failed
	case err != nil || failed != nil:
		err = errors.Join(err, failed)
	case n == absent:
		err = store.ErrConflict
	case n != 1:
		err = c.GiveUp("EXEC", errors.New("another number of answers than commands"))
	default:
		err = c.columns.readPut(c.connection)
	}
	c.watching = c.watching && wire.NotHere(err) // EXEC takes the watch back, whatever it answers
	return err
}

// readWritten reads the replies to a batch: deletes says which of its writes are.
func (c *leanClient) readWritten(deletes []bool) (first error) {
	for _, isDelete := range deletes {
		var err error
		if isDelete {
			_, err = c.integer("DEL", 0, 1)
		} else {
			err = c.columns.readPut(c.connection)
		}
		if wire.NotHere(err) {
			return err
		}
		if first == nil {
			first = err
		}
		if err != nil && !c.Connected() {
			break // there is nothing left to be read
		}
	}
	return first
}
