package tokyotyrant

import (
	"bytes"
	"errors"
	"strconv"

	"assay/store"
)

// tableHandle finds and counts records.
type tableHandle struct {
	*handle
	search search
	record []byte // that is visited, reused
}

// Query is the function search with the records' columns; where these or a key have zero bytes,
// which its answer is separated by, a search for keys, and a pipeline of gets.
func (h *tableHandle) Query(query int, values [][]byte, visit func(key, record []byte) bool) error {
	q := &h.search.queries[query]
	if !h.search.hasBytes(q.Columns) {
		if err := h.search.ask(&h.connection, q, values, columns); err != nil {
			return err
		}
		if done, err := h.visitFound(q, visit); done || err != nil {
			return err
		}
	}
	if err := h.search.ask(&h.connection, q, values, keys); err != nil {
		return err
	}
	return h.fetch(q, values, visit)
}

// Count is the function search, which is asked for the number of records, and of a union for their
// keys: it has no number of these.
func (h *tableHandle) Count(query int, values [][]byte) (records uint64, err error) {
	q := &h.search.queries[query]
	if err := h.search.ask(&h.connection, q, values, count); err != nil {
		return 0, err
	}
	if len(q.Where) > 1 {
		return uint64(len(h.search.ends)), nil
	}
	if len(h.search.ends) != 1 {
		return 0, h.GiveUp("count", errors.New("the answer is not one number"))
	}
	if records, err = strconv.ParseUint(string(h.search.element(0)), 10, 64); err != nil {
		return 0, h.GiveUp("count", errors.New("the answer is not a number"))
	}
	return records, nil
}

func (h *tableHandle) face() *tableFace { return h.handle.face.(*tableFace) }

var errMore = errors.New("more records came than were asked for")

// visitFound visits found records. done is false, and none was visited, where one can't be taken
// apart: it has a zero byte.
func (h *tableHandle) visitFound(q *store.Query, visit func(key, record []byte) bool) (done bool, err error) {
	zeros := 2*len(q.Columns) + 1 // "", key, and a name and a column each, separated by zeros
	for i := range h.search.ends {
		if bytes.Count(h.search.element(i), []byte{0}) != zeros {
			return false, nil
		}
	}
	f := h.face()
	for i := range h.search.ends {
		rest := h.search.element(i)
		next := func() (part []byte) {
			part, rest, _ = bytes.Cut(rest, []byte{0})
			return part
		}
		if len(next()) > 0 {
			return false, h.GiveUp("search", errors.New("a found record does not begin with its key"))
		}
		key := next()
		f.begin()
		for range q.Columns {
			name, from := next(), len(f.raw)
			f.raw = append(f.raw, next()...)
			f.found(name, from)
		}
		if h.record, err = f.encode(h.record[:0], q.Columns); err != nil {
			return false, err
		}
		if !visit(key, h.record) {
			break
		}
	}
	return true, nil
}

// fetch gets the records of found keys and visits those that are still what was asked for.
func (h *tableHandle) fetch(q *store.Query, values [][]byte, visit func(key, record []byte) bool) error {
	found, more := len(h.search.ends), true
	for from := 0; from < found && more; from += pipelineMax {
		to := min(from+pipelineMax, found)
		if err := h.askRecords(from, to); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			record, err := h.readMatching(q, values)
			if errors.Is(err, store.ErrNotFound) {
				continue // deleted or written since the search
			}
			if err != nil {
				return h.endAfter(err, i+1 < to)
			}
			if more {
				more = visit(h.search.element(i), record)
			}
		}
	}
	return nil
}

// askRecords sends the gets of some of the found keys.
func (h *tableHandle) askRecords(from, to int) error {
	if err := h.Begin(); err != nil {
		return err
	}
	h.Request = h.Request[:0]
	for i := from; i < to; i++ {
		h.Request = h.face().appendGet(h.Request, h.search.element(i))
	}
	return h.Send()
}

// readMatching reads a record, and what a query gives of it.
func (h *tableHandle) readMatching(q *store.Query, values [][]byte) (_ []byte, err error) {
	f := h.face()
	if err := f.readRecord(&h.connection); err != nil {
		return nil, err
	}
	if !q.Holds(values, f.column) {
		return nil, store.ErrNotFound
	}
	h.record, err = f.encode(h.record[:0], q.Columns)
	return h.record, err
}

// endAfter gives the connection up where answers are still to come.
func (h *tableHandle) endAfter(err error, toCome bool) error {
	if toCome && h.Connected() {
		return errors.Join(err, h.connection.Close())
	}
	return err
}

// DeleteQuery is the function search with the argument out: the server deletes what it finds, each
// record if it still fulfils the conditions (tctdb.c, tctdbqrysearchout2), and its hint says how many
// it deleted.
func (h *tableHandle) DeleteQuery(query int, values [][]byte) (records uint64, err error) {
	q := h.search.queries[query]
	q.Sort = -1
	if err := h.search.ask(&h.connection, &q, values, out); err != nil {
		return 0, err
	}
	_, told, found := bytes.Cut(h.search.hint, []byte(", out="))
	number, _, ended := bytes.Cut(told, []byte("\n"))
	if records, err = strconv.ParseUint(string(number), 10, 64); err != nil || !found || !ended {
		return 0, h.GiveUp("searchout", errors.New("the hint does not say how many records were deleted"))
	}
	return records, nil
}
