package misbehave

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"assay/store"
)

// What behaviours do with columns. Records are kept in their encoded form here, which no driver of
// a store may do: the kit can't see it, and these drivers are there to be caught at other things.

var errNoColumns = errors.New("no columns were defined")

// Define takes columns and ordered indexes; there is nothing to be made of them.
func (d *db) Define(columns []store.Column, indexes []store.Index) error {
	if d.define != nil {
		if err := d.define(d, indexes); err != nil {
			return err
		}
	}
	for _, index := range indexes {
		if index.Kind != store.OrderedIndex {
			return fmt.Errorf("no index of kind %s: %w", index.Kind, store.ErrRefused)
		}
	}
	d.columns = slices.Clone(columns)
	return nil
}

// keeps returns what the driver keeps of a value.
func (d *db) keeps(value []byte) ([]byte, error) {
	if d.columns == nil {
		return value, nil
	}
	record := make([][]byte, len(d.columns))
	rest := value
	for i := range record {
		var ok bool
		if record[i], rest, ok = store.NextColumn(rest); !ok {
			return nil, errors.New("a record that ends early")
		}
	}
	if len(rest) > 0 {
		return nil, errors.New("a record of more columns than were defined")
	}
	if d.keep != nil {
		d.keep(d.columns, record)
	}
	var kept []byte
	for _, column := range record {
		kept = store.AppendColumn(kept, column)
	}
	return kept, nil
}

func columnOf(record []byte, position int) []byte {
	var column []byte
	for range position + 1 {
		column, record, _ = store.NextColumn(record)
	}
	return column
}

// with returns all records that have the value in a column.
func (h *handle) with(column int, value []byte) []record {
	return slices.DeleteFunc(h.honest.from(nil), func(r record) bool { return !bytes.Equal(columnOf(r.value, column), value) })
}

func (h *handle) find(column int, value []byte) ([]record, error) {
	if h.columns == nil {
		return nil, errNoColumns
	}
	if h.finds != nil {
		return h.finds(h, column, value), nil
	}
	return h.with(column, value), nil
}

// Query looks through everything.
func (h *handle) Query(column int, value []byte, limit int, visit func(key, record []byte) bool) error {
	found, err := h.find(column, value)
	if err != nil {
		return err
	}
	if h.pastLimit {
		for _, r := range found {
			visit([]byte(r.key), r.value)
		}
		return nil
	}
	return walk(found[:min(len(found), limit)], visit)
}

// Count counts what Query would find.
func (h *handle) Count(column int, value []byte) (uint64, error) {
	found, err := h.find(column, value)
	if h.counted != nil {
		return h.counted(uint64(len(found))), err
	}
	return uint64(len(found)), err
}

// The lies about columns.

func keepNothingOfTheLast(_ []store.Column, record [][]byte) { record[len(record)-1] = nil }

// keepDoubles keeps integers as JavaScript and some protocols do.
func keepDoubles(columns []store.Column, record [][]byte) {
	for i, c := range columns {
		if n, err := strconv.ParseFloat(string(record[i]), 64); err == nil && c.Type == store.IntegerColumn {
			record[i] = strconv.AppendInt(nil, int64(n), 10)
		}
	}
}

func keepTrimmed(columns []store.Column, record [][]byte) {
	for i, c := range columns {
		if c.Type == store.TextColumn {
			record[i] = bytes.TrimRight(record[i], " ")
		}
	}
}

func keepSwapped(_ []store.Column, record [][]byte) {
	if len(record) > 1 {
		record[0], record[1] = record[1], record[0]
	}
}

// refuseAsFailed refuses an index as if the store had tried.
func refuseAsFailed(_ *db, indexes []store.Index) error {
	if slices.ContainsFunc(indexes, func(x store.Index) bool { return x.Kind == store.TokenIndex }) {
		return errors.New("no such index")
	}
	return nil
}

func emptyAtDefine(d *db, _ []store.Index) error {
	for _, r := range d.honest.from(nil) {
		if err := d.honest.apply([]store.Write{{Key: []byte(r.key), Delete: true}}, false); err != nil {
			return err
		}
	}
	return nil
}

// rememberDeleted deletes, and keeps what the index said.
func rememberDeleted(h *handle, key []byte) error {
	if old, err := h.honest.get(key); err == nil {
		h.previous.Store(string(key), old)
	}
	return h.write(store.Write{Key: key, Delete: true})
}

func findDeleted(h *handle, column int, value []byte) []record {
	found := h.with(column, value)
	h.previous.Range(func(key, old any) bool {
		_, err := h.honest.get([]byte(key.(string)))
		if errors.Is(err, store.ErrNotFound) && bytes.Equal(columnOf(old.([]byte), column), value) {
			found = append(found, record{key.(string), old.([]byte)})
		}
		return true
	})
	return found
}

// rememberOverwritten puts, and adds to the index what was in it already.
func rememberOverwritten(h *handle, key, value []byte) error {
	if old, err := h.honest.get(key); err == nil {
		h.previous.Store(string(key), old)
	}
	return h.write(store.Write{Key: key, Value: value})
}

func findOverwrittenTwice(h *handle, column int, value []byte) []record {
	var found []record
	for _, r := range h.with(column, value) {
		found = append(found, r)
		if _, overwritten := h.previous.Load(r.key); overwritten {
			found = append(found, r)
		}
	}
	return found
}

// findAlike compares all bytes but the last one.
func findAlike(h *handle, column int, value []byte) []record {
	start := value[:max(0, len(value)-1)]
	return slices.DeleteFunc(h.honest.from(nil), func(r record) bool { return !bytes.HasPrefix(columnOf(r.value, column), start) })
}

func findAllButOne(h *handle, column int, value []byte) []record {
	found := h.with(column, value)
	return found[:max(0, len(found)-1)]
}

// estimate rounds up, as a planner's statistics might.
func estimate(n uint64) uint64 { return (n + 15) / 16 * 16 }

// bare hides all abilities: it has the methods of its interfaces only.
type bareStore struct{ store.Store }
type bareHandle struct{ store.Handle }

func (s bareStore) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return bareHandle{h}, err
}
