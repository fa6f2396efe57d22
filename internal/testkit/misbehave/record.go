package misbehave

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/store"
)

// What behaviours do with columns. Records are kept in their encoded form here, which no driver of
// a store may do: the kit can't see it, and these drivers are there to be caught at other things.

var errNoQuery = errors.New("a query that was not defined")

// Define takes columns and ordered indexes; there is nothing to be made of them.
func (d *db) Define(columns []store.Column, indexes []store.Index, queries []store.Query) error {
	if d.define != nil {
		if err := d.define(d, indexes); err != nil {
			return err
		}
	}
	for _, index := range indexes {
		if index.Kind != store.OrderedIndex && !d.takesWords {
			return fmt.Errorf("no index of kind %s: %w", index.Kind, store.ErrRefused)
		}
	}
	d.columns, d.indexes, d.queries = slices.Clone(columns), slices.Clone(indexes), slices.Clone(queries)
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

// holds says if a record fulfils a query's conditions.
func holds(q *store.Query, values [][]byte, value []byte) bool {
	return q.Holds(values, func(column int) []byte { return columnOf(value, column) })
}

// with returns all records that a query finds, in its order.
func (h *handle) with(q *store.Query, values [][]byte) []record {
	return sorted(q, slices.DeleteFunc(h.honest.from(nil), func(r record) bool { return !holds(q, values, r.value) }))
}

func sorted(q *store.Query, found []record) []record {
	if q.Sort < 0 {
		return found
	}
	slices.SortFunc(found, func(a, b record) int {
		if q.Descending {
			a, b = b, a
		}
		return cmp.Compare(numberOf(columnOf(a.value, q.Sort)), numberOf(columnOf(b.value, q.Sort)))
	})
	return found
}

func numberOf(decimal []byte) int64 {
	n, _ := strconv.ParseInt(string(decimal), 10, 64)
	return n
}

func (h *handle) find(query int, values [][]byte) (*store.Query, []record, error) {
	if query >= len(h.queries) {
		return nil, nil, errNoQuery
	}
	q := &h.queries[query]
	if h.finds != nil {
		return q, h.finds(h, q, values), nil
	}
	return q, h.with(q, values), nil
}

// Query looks through everything.
func (h *handle) Query(query int, values [][]byte, visit func(key, record []byte) bool) error {
	q, found, err := h.find(query, values)
	if err != nil {
		return err
	}
	limit := min(len(found), q.Limit)
	if h.pastLimit {
		limit = len(found)
	}
	given := make([]record, limit)
	for i, r := range found[:limit] {
		given[i].key = r.key
		for _, column := range h.gives(q) {
			given[i].value = store.AppendColumn(given[i].value, columnOf(r.value, column))
		}
	}
	if h.pastLimit {
		for _, r := range given {
			visit([]byte(r.key), r.value)
		}
		return nil
	}
	return walk(given, visit)
}

// gives returns the columns that a query gives.
func (h *handle) gives(q *store.Query) []int {
	if h.allColumns {
		return slices.Sorted(slices.Values(q.Columns))
	}
	return q.Columns
}

// Count counts what Query would find.
func (h *handle) Count(query int, values [][]byte) (uint64, error) {
	_, found, err := h.find(query, values)
	if h.counted != nil {
		return h.counted(uint64(len(found))), err
	}
	return uint64(len(found)), err
}

// DeleteQuery deletes what Query would find.
func (h *handle) DeleteQuery(query int, values [][]byte) (uint64, error) {
	if query >= len(h.queries) {
		return 0, errNoQuery
	}
	h.swap.Lock()
	defer h.swap.Unlock()
	q := h.queries[query]
	q.Sort = -1
	gone := h.with(&q, values)
	told := uint64(len(gone))
	if h.deletes != nil {
		gone, told = h.deletes(h, gone)
	}
	var writes []store.Write
	for _, r := range gone {
		writes = append(writes, store.Write{Key: []byte(r.key), Delete: true})
	}
	return told, h.honest.apply(writes, h.buffered)
}

// deleteMore deletes the first record that is not one of those.
func deleteMore(h *handle, matching []record) ([]record, uint64) {
	told := uint64(len(matching))
	for _, r := range h.honest.from(nil) {
		if !slices.ContainsFunc(matching, func(m record) bool { return m.key == r.key }) {
			return append(matching, r), told
		}
	}
	return matching, told
}

func deleteLess(_ *handle, matching []record) ([]record, uint64) {
	return matching[min(1, len(matching)):], uint64(len(matching))
}

func deleteEstimated(_ *handle, matching []record) ([]record, uint64) {
	return matching, estimate(uint64(len(matching)))
}

// Explain says what a store with such indexes would do.
func (h *handle) Explain(query int, _ [][]byte, _ bool) (store.Plan, error) {
	if query >= len(h.queries) {
		return store.Plan{}, errNoQuery
	}
	if h.explained != store.IndexUntold {
		return store.Plan{Use: h.explained, Index: "any"}, nil
	}
	where := h.queries[query].Where
	if len(where) == 1 {
		for _, c := range where[0] {
			if slices.Contains(h.indexes, store.Index{Column: c.Column, Kind: store.OrderedIndex}) &&
				c.Is != store.Has {
				return store.Plan{Use: store.IndexFinds, Index: h.columns[c.Column].Name, Text: "by index"}, nil
			}
		}
	}
	return store.Plan{Use: store.IndexNone, Text: "by looking at all"}, nil
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

func findDeleted(h *handle, q *store.Query, values [][]byte) []record {
	found := h.with(q, values)
	h.previous.Range(func(key, old any) bool {
		_, err := h.honest.get([]byte(key.(string)))
		if errors.Is(err, store.ErrNotFound) && holds(q, values, old.([]byte)) {
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

func findOverwrittenTwice(h *handle, q *store.Query, values [][]byte) []record {
	var found []record
	for _, r := range h.with(q, values) {
		found = append(found, r)
		if _, overwritten := h.previous.Load(r.key); overwritten {
			found = append(found, r)
		}
	}
	return found
}

// findAlike compares all bytes but the last one.
func findAlike(h *handle, q *store.Query, values [][]byte) []record {
	return slices.DeleteFunc(h.honest.from(nil), func(r record) bool {
		alike := [][]byte{}
		for _, value := range values {
			alike = append(alike, value[:max(0, len(value)-1)])
		}
		return !q.Holds(alike, func(column int) []byte {
			bytes := columnOf(r.value, column)
			return bytes[:max(0, len(bytes)-1)]
		})
	})
}

func findAllButOne(h *handle, q *store.Query, values [][]byte) []record {
	found := h.with(q, values)
	return found[:max(0, len(found)-1)]
}

// findMost drops every 1,000th of all records that queries find.
func findMost(h *handle, q *store.Query, values [][]byte) []record {
	return slices.DeleteFunc(h.with(q, values), func(record) bool { return h.dropped.Add(1)%1000 == 0 })
}

// SortingTakes is how much longer [SlowSorts] takes for a query in an order.
const SortingTakes = 5 * time.Millisecond

func findSlowly(h *handle, q *store.Query, values [][]byte) []record {
	if q.Sort >= 0 {
		time.Sleep(SortingTakes)
	}
	return h.with(q, values)
}

// changed answers another query in place of the one that was asked, with the same values.
func changed(change func(q *store.Query)) func(h *handle, q *store.Query, values [][]byte) []record {
	return func(h *handle, q *store.Query, values [][]byte) []record {
		other := *q
		other.Where = nil
		for _, all := range q.Where {
			other.Where = append(other.Where, slices.Clone(all))
		}
		change(&other)
		return h.with(&other, values)
	}
}

func firstConditions(q *store.Query) {
	for i := range q.Where {
		q.Where[i] = q.Where[i][:1]
	}
}

func firstAlternative(q *store.Query) { q.Where = q.Where[:min(1, len(q.Where))] }
func noOrder(q *store.Query)          { q.Sort = -1 }
func noWords(q *store.Query) {
	for _, all := range q.Where {
		for i := range all {
			if all[i].Is == store.Has {
				all[i].Is = store.Equal
			}
		}
	}
}

// findThenSort takes the first that it meets, and sorts those.
func findThenSort(h *handle, q *store.Query, values [][]byte) []record {
	unsorted := *q
	unsorted.Sort = -1
	found := h.with(&unsorted, values)
	if q.Descending {
		return sorted(q, found[:min(len(found), max(q.Limit, 1))])
	}
	return sorted(q, found[max(0, len(found)-max(q.Limit, 1)):])
}

// findPastRange takes the end of a range for a part of it.
func findPastRange(h *handle, q *store.Query, values [][]byte) []record {
	longer := slices.Clone(values)
	at := 0
	for _, all := range q.Where {
		for _, c := range all {
			if c.Is == store.Range {
				longer[at+1] = strconv.AppendInt(nil, numberOf(longer[at+1])+1, 10)
			}
			at += c.Is.Values()
		}
	}
	return h.with(q, longer)
}

// estimate rounds up, as a planner's statistics might.
func estimate(n uint64) uint64 { return (n + 15) / 16 * 16 }

// silentHandle has all abilities of a handle but that of [store.Explainer]: its method is another.
type silentHandle struct {
	*handle
}

// Explain has another signature than that of the ability.
func (silentHandle) Explain() {}

// bare hides all abilities: it has the methods of its interfaces only.
type bareStore struct{ store.Store }
type bareHandle struct{ store.Handle }

func (s bareStore) Handle() (store.Handle, error) {
	h, err := s.Store.Handle()
	return bareHandle{h}, err
}
