package tarantool

import (
	"bytes"
	"errors"
	"strconv"

	iproto "github.com/tarantool/go-iproto"
	tarantool "github.com/tarantool/go-tarantool/v2"

	"assay/store"
)

// handle is a connection, which multiplexes the requests of many threads.
type handle struct {
	link         *link
	space        space
	tellsDeletes bool // the engine answers a delete with what it removed
}

func (h *handle) Close() error { return h.link.Close() }

// primary is the number of a space's first index. The client knows no names, for which it would read the
// server's schema; without a number it panics.
const primary = 0

// Get is a select by the primary key.
func (h *handle) Get(key, buf []byte) ([]byte, error) {
	r := reader{space: &h.space, value: buf}
	request := tarantool.NewSelectRequest(h.space.id).Index(primary).Iterator(tarantool.IterEq).Limit(1).Key(keyOf(key))
	if err := h.link.do("select", request, &r); err != nil {
		return nil, err
	}
	if r.found == 0 {
		return nil, store.ErrNotFound
	}
	return r.value, nil
}

func (h *handle) replace(key, value []byte) tarantool.Request {
	return tarantool.NewReplaceRequest(h.space.id).Tuple(h.space.tuple(key, value))
}

func (h *handle) remove(key []byte) tarantool.Request {
	return tarantool.NewDeleteRequest(h.space.id).Index(primary).Key(keyOf(key))
}

// Put is a replace.
func (h *handle) Put(key, value []byte) error {
	if err := h.space.check(value); err != nil {
		return err
	}
	var n found
	return h.link.do("replace", h.replace(key, value), &n)
}

// Delete tells what was not there, where the engine does.
func (h *handle) Delete(key []byte) error {
	var n found
	if err := h.link.do("delete", h.remove(key), &n); err != nil {
		return err
	}
	if n == 0 && h.tellsDeletes {
		return store.ErrNotFound
	}
	return nil
}

// Add is an insert.
func (h *handle) Add(key, value []byte) error {
	if err := h.space.check(value); err != nil {
		return err
	}
	var n found
	err := h.link.do("insert", tarantool.NewInsertRequest(h.space.id).Tuple(h.space.tuple(key, value)), &n)
	if is(err, iproto.ER_TUPLE_FOUND) {
		return store.ErrConflict
	}
	return err
}

// update changes fields of one tuple in one step; it makes none.
func (h *handle) update(key []byte, changes *tarantool.Operations) error {
	var n found
	request := tarantool.NewUpdateRequest(h.space.id).Index(primary).Key(keyOf(key)).Operations(changes)
	if err := h.link.do("update", request, &n); err != nil {
		return err
	}
	if n == 0 {
		return store.ErrNotFound
	}
	return nil
}

var (
	errNoColumns = errors.New("tarantool: no columns were defined")
	errOneValue  = errors.New("tarantool: records with columns are not appended to")
)

// Append is an update that splices the part in at the value's end.
func (h *handle) Append(key, part []byte) error {
	const valueField, end = 1, -1
	if h.space.columns != nil {
		return errOneValue
	}
	return h.update(key, tarantool.NewOperations().Splice(valueField, end, 0, string(part)))
}

// Modify is an update that assigns fields.
func (h *handle) Modify(key []byte, columns []int, values [][]byte) error {
	if h.space.columns == nil {
		return errNoColumns
	}
	changes := tarantool.NewOperations()
	for i, column := range columns {
		c := h.space.columns[column]
		if err := checkColumn(c, values[i]); err != nil {
			return err
		}
		if c.Type != store.IntegerColumn {
			changes.Assign(1+column, &text{bytes: values[i]})
			continue
		}
		n, err := strconv.ParseInt(string(values[i]), 10, 64)
		if err != nil {
			return errInteger
		}
		changes.Assign(1+column, number(n))
	}
	return h.update(key, changes)
}

// Increment is an update that adds to a field.
func (h *handle) Increment(key []byte, column int, by int64) error {
	if h.space.columns == nil {
		return errNoColumns
	}
	return h.update(key, tarantool.NewOperations().Add(1+column, number(by)))
}

// Apply sends all requests at once, each key's last: nothing promises that the server does those of one key
// in order.
func (h *handle) Apply(writes []store.Write) error {
	last := make(map[string]int, len(writes))
	for i := range writes {
		if err := h.space.check(writes[i].Value); err != nil && !writes[i].Delete {
			return err
		}
		last[string(writes[i].Key)] = i
	}
	if len(writes) == 0 {
		return nil
	}
	c, err := h.link.connection()
	if err != nil {
		return err
	}
	futures := make([]*tarantool.Future, 0, len(last))
	for i := range writes {
		switch w := &writes[i]; {
		case last[string(w.Key)] != i:
		case w.Delete:
			futures = append(futures, c.Do(h.remove(w.Key)))
		default:
			futures = append(futures, c.Do(h.replace(w.Key, w.Value)))
		}
	}
	var failed error
	for _, f := range futures {
		var n found
		if err := f.GetTyped(&n); err != nil && failed == nil {
			failed = failure("pipeline", err)
		}
	}
	return failed
}

// Scan asks for as many records as the caller will take, and for more behind them if it goes on.
func (h *handle) Scan(start []byte, limit int, visit func(key, value []byte) bool) error {
	r := reader{space: &h.space, visit: visit}
	size, from, iterator := min(max(limit, 1), pageMax), start, tarantool.IterGe
	for {
		request := tarantool.NewSelectRequest(h.space.id).Index(primary).
			Iterator(iterator).Limit(uint32(size)).Key(keyOf(from))
		if err := h.link.do("select", request, &r); err != nil {
			return err
		}
		if r.ended || r.found < size {
			return nil
		}
		from, iterator = bytes.Clone(r.key), tarantool.IterGt
	}
}

// DeletePrefix deletes the first records that a scan finds.
func (h *handle) DeletePrefix(prefix []byte, atMost int) (deleted int, err error) {
	var writes []store.Write
	err = h.Scan(prefix, atMost, func(key, _ []byte) bool {
		if bytes.HasPrefix(key, prefix) {
			writes = append(writes, store.Write{Key: bytes.Clone(key), Delete: true})
		}
		return bytes.HasPrefix(key, prefix) && len(writes) < atMost
	})
	if err != nil {
		return 0, err
	}
	return len(writes), h.Apply(writes)
}
