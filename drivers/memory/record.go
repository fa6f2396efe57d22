package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	"assay/store"
)

// table keeps records with columns: rows in shards by key, and for each index a hash map from what
// it finds by to its rows. Locks are taken in one order: a row shard's, then a posting shard's, and
// of the latter one at a time.
type table struct {
	seed    maphash.Seed
	columns []store.Column
	queries []store.Query
	rows    [shards]rowShard
	indexes []*index
}

type rowShard struct {
	lock  sync.RWMutex
	rows  map[string]*row
	bytes int // of keys and columns
}

// row is never changed once it is in the table, but for its places in the indexes: an overwrite
// makes a new one.
type row struct {
	key     []byte
	columns [][]byte
	entries []entry
}

// entry is a value by which an index finds a row.
type entry struct {
	index *index
	value []byte
	place int // where the row stands in its posting; guarded by the posting's lock
}

// entry returns the row's entry for a value; nil: there is none.
func (r *row) entry(x *index, value []byte) *entry {
	for i := range r.entries {
		if e := &r.entries[i]; e.index == x && bytes.Equal(e.value, value) {
			return e
		}
	}
	return nil
}

func (r *row) bytes() int {
	n := len(r.key)
	for _, column := range r.columns {
		n += len(column)
	}
	return n
}

func (r *row) appendRecord(dst []byte) []byte {
	for _, column := range r.columns {
		dst = store.AppendColumn(dst, column)
	}
	return dst
}

// index finds rows by the bytes of one column, or by each word of it. It is a hash map: it finds
// nothing by ranges, by the beginnings of texts, or in an order.
type index struct {
	store.Index
	postings [shards]postingShard
}

type postingShard struct {
	lock sync.RWMutex
	rows map[string]*posting
}

// posting is the rows with the same bytes in a column, in no order.
type posting struct{ rows []*row }

// Define gives the store a table instead of its map.
func (m *db) Define(columns []store.Column, indexes []store.Index, queries []store.Query) error {
	t := &table{seed: m.seed, columns: columns, queries: queries}
	for i := range t.rows {
		t.rows[i].rows = make(map[string]*row)
	}
	for _, asked := range indexes {
		x := &index{Index: asked}
		for i := range x.postings {
			x.postings[i].rows = make(map[string]*posting)
		}
		t.indexes = append(t.indexes, x)
	}
	m.table = t
	return nil
}

func (t *table) shard(key []byte) *rowShard { return &t.rows[maphash.Bytes(t.seed, key)%shards] }

func (t *table) posting(x *index, value []byte) *postingShard {
	return &x.postings[maphash.Bytes(t.seed, value)%shards]
}

var errNotARecord = errors.New("memory: a value that is no record of the columns that were defined")

// newRow takes a record apart.
func (t *table) newRow(key, record []byte) (*row, error) {
	columns := make([][]byte, len(t.columns))
	for i := range columns {
		var ok bool
		if columns[i], record, ok = store.NextColumn(record); !ok {
			return nil, errNotARecord
		}
	}
	if len(record) > 0 {
		return nil, errNotARecord
	}
	return t.makeRow(key, columns), nil
}

// makeRow takes over the list of columns, and copies their bytes and the key's into one piece of
// memory.
func (t *table) makeRow(key []byte, columns [][]byte) *row {
	r := &row{key: key, columns: columns, entries: make([]entry, 0, len(t.indexes))}
	memory := append(make([]byte, 0, r.bytes()), key...)
	r.key = memory[:len(key):len(key)]
	for i, column := range columns {
		start := len(memory)
		memory = append(memory, column...)
		columns[i] = memory[start:len(memory):len(memory)]
	}
	for _, x := range t.indexes {
		column := r.columns[x.Column]
		if x.Kind == store.OrderedIndex {
			r.entries = append(r.entries, entry{index: x, value: column})
			continue
		}
		for word, rest := store.NextWord(column); len(word) > 0; word, rest = store.NextWord(rest) {
			if r.entry(x, word) == nil {
				r.entries = append(r.entries, entry{index: x, value: word})
			}
		}
	}
	return r
}

// put needs the shard's lock.
func (t *table) put(s *rowShard, r *row) {
	old := s.rows[string(r.key)]
	s.rows[string(r.key)] = r
	s.bytes += r.bytes()
	if old != nil {
		s.bytes -= old.bytes()
		for i := range old.entries {
			if e := &old.entries[i]; r.entry(e.index, e.value) == nil {
				t.remove(e, old)
			}
		}
	}
	for i := range r.entries {
		e := &r.entries[i]
		var was *entry
		if old != nil {
			was = old.entry(e.index, e.value)
		}
		t.insert(e, r, was)
	}
}

// insert puts a row at the end of a posting, or in the place of the row that it overwrites.
func (t *table) insert(e *entry, r *row, was *entry) {
	s := t.posting(e.index, e.value)
	s.lock.Lock()
	defer s.lock.Unlock()
	p := s.rows[string(e.value)]
	if was != nil {
		e.place = was.place
		p.rows[e.place] = r
		return
	}
	if p == nil {
		p = &posting{}
		s.rows[string(e.value)] = p
	}
	e.place = len(p.rows)
	p.rows = append(p.rows, r)
}

// remove lets the last row of the posting take the place.
func (t *table) remove(e *entry, r *row) {
	s := t.posting(e.index, e.value)
	s.lock.Lock()
	defer s.lock.Unlock()
	p := s.rows[string(e.value)]
	last := len(p.rows) - 1
	p.rows[e.place] = p.rows[last]
	p.rows[e.place].entry(e.index, e.value).place = e.place
	p.rows[last] = nil
	p.rows = p.rows[:last]
	if last == 0 {
		delete(s.rows, string(e.value))
	}
}

func (t *table) inspect() (records, size int) {
	for i := range t.rows {
		s := &t.rows[i]
		s.lock.RLock()
		records += len(s.rows)
		size += s.bytes
		s.lock.RUnlock()
	}
	return records, size
}

// tableHandle is a handle of a store with columns: a type of its own, so that the plain one does
// not ask at each operation.
type tableHandle struct{ *table }

func (h tableHandle) Close() error { return nil }

func (h tableHandle) Get(key, buf []byte) ([]byte, error) {
	s := h.shard(key)
	s.lock.RLock()
	r := s.rows[string(key)]
	s.lock.RUnlock()
	if r == nil {
		return nil, store.ErrNotFound
	}
	return r.appendRecord(buf[:0]), nil
}

func (h tableHandle) Put(key, record []byte) error {
	r, err := h.newRow(key, record)
	if err != nil {
		return err
	}
	s := h.shard(key)
	s.lock.Lock()
	h.put(s, r)
	s.lock.Unlock()
	return nil
}

func (h tableHandle) Delete(key []byte) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	r := s.rows[string(key)]
	if r != nil {
		h.drop(s, r)
	}
	return nil
}

// drop needs the shard's lock.
func (t *table) drop(s *rowShard, r *row) {
	delete(s.rows, string(r.key))
	s.bytes -= r.bytes()
	for i := range r.entries {
		t.remove(&r.entries[i], r)
	}
}

// DeleteQuery keeps all shards locked meanwhile, in their order, so that it is one step.
func (h tableHandle) DeleteQuery(query int, values [][]byte) (records uint64, err error) {
	if query >= len(h.queries) {
		return 0, errNoQuery
	}
	q := &h.queries[query]
	for i := range h.rows {
		h.rows[i].lock.Lock()
		defer h.rows[i].lock.Unlock()
	}
	found := h.found(q, values)
	for _, r := range found {
		h.drop(h.shard(r.key), r)
	}
	return uint64(len(found)), nil
}

// found returns the rows that fulfil a query's conditions. It needs the locks of all shards.
func (t *table) found(q *store.Query, values [][]byte) (rows []*row) {
	take := func(r *row) {
		if q.Holds(values, func(column int) []byte { return r.columns[column] }) {
			rows = append(rows, r)
		}
	}
	x, value := t.indexFor(q, values)
	if x == nil {
		for i := range t.rows {
			for _, r := range t.rows[i].rows {
				take(r)
			}
		}
		return rows
	}
	s := t.posting(x, value)
	s.lock.RLock()
	defer s.lock.RUnlock()
	if p := s.rows[string(value)]; p != nil {
		for _, r := range p.rows {
			take(r)
		}
	}
	return rows
}

func (h tableHandle) Apply(writes []store.Write) error {
	for _, w := range writes {
		var err error
		if w.Delete {
			err = h.Delete(w.Key)
		} else {
			err = h.Put(w.Key, w.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (h tableHandle) Add(key, record []byte) error {
	r, err := h.newRow(key, record)
	if err != nil {
		return err
	}
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.rows[string(key)] != nil {
		return store.ErrConflict
	}
	h.put(s, r)
	return nil
}

func (h tableHandle) CompareAndSwap(key, old, record []byte) error {
	was, err := h.newRow(key, old)
	if err != nil {
		return err
	}
	r, err := h.newRow(key, record)
	if err != nil {
		return err
	}
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	now := s.rows[string(key)]
	if now == nil {
		return store.ErrNotFound
	}
	if !slices.EqualFunc(now.columns, was.columns, bytes.Equal) {
		return store.ErrConflict
	}
	h.put(s, r)
	return nil
}

// Modify makes a new row of the old one and the new columns.
func (h tableHandle) Modify(key []byte, columns []int, values [][]byte) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	now := s.rows[string(key)]
	if now == nil {
		return store.ErrNotFound
	}
	changed := slices.Clone(now.columns)
	for i, at := range columns {
		changed[at] = values[i]
	}
	h.put(s, h.makeRow(key, changed))
	return nil
}

// Increment makes a new row, as Modify does.
func (h tableHandle) Increment(key []byte, column int, by int64) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	now := s.rows[string(key)]
	if now == nil {
		return store.ErrNotFound
	}
	n, err := strconv.ParseInt(string(now.columns[column]), 10, 64)
	if err != nil {
		return fmt.Errorf("memory: increment: %w", err)
	}
	changed := slices.Clone(now.columns)
	changed[column] = strconv.AppendInt(nil, n+by, 10)
	h.put(s, h.makeRow(key, changed))
	return nil
}

// Query visits rows under the lock of the index, or of a shard of rows; those of an order after it
// has seen all. visit must not write to the store.
func (h tableHandle) Query(query int, values [][]byte, visit func(key, record []byte) bool) error {
	if query >= len(h.queries) {
		return errNoQuery
	}
	q := &h.queries[query]
	var record []byte
	left := q.Limit
	take := func(r *row) bool {
		record = record[:0]
		for _, column := range q.Columns {
			record = store.AppendColumn(record, r.columns[column])
		}
		left--
		return visit(r.key, record) && left > 0
	}
	if q.Sort < 0 {
		h.each(q, values, take)
		return nil
	}
	var found []*row
	h.each(q, values, func(r *row) bool { found = append(found, r); return true })
	slices.SortFunc(found, func(a, b *row) int {
		if q.Descending {
			a, b = b, a
		}
		return compareIntegers(a.columns[q.Sort], b.columns[q.Sort])
	})
	for _, r := range found {
		if !take(r) {
			break
		}
	}
	return nil
}

// compareIntegers compares decimal numbers without zeros in front.
func compareIntegers(a, b []byte) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), bytes.Compare(a, b))
}

// each visits the rows that a query finds, in no order, until visit returns false.
func (t *table) each(q *store.Query, values [][]byte, visit func(*row) bool) {
	holds := func(r *row) bool {
		return q.Holds(values, func(column int) []byte { return r.columns[column] })
	}
	x, value := t.indexFor(q, values)
	if x == nil {
		for i := range t.rows {
			if !t.rows[i].each(holds, visit) {
				return
			}
		}
		return
	}
	s := t.posting(x, value)
	s.lock.RLock()
	defer s.lock.RUnlock()
	if p := s.rows[string(value)]; p != nil {
		for _, r := range p.rows {
			if holds(r) && !visit(r) {
				return
			}
		}
	}
}

// indexFor returns an index that finds all rows of a query, and the value that it finds them by;
// nil: there is none, and all rows must be looked at.
func (t *table) indexFor(q *store.Query, values [][]byte) (x *index, value []byte) {
	if len(q.Where) != 1 {
		return nil, nil
	}
	for _, c := range q.Where[0] {
		for _, x := range t.indexes {
			if x.Column == c.Column && (c.Is == store.Equal && x.Kind == store.OrderedIndex || c.Is == store.Has &&
				x.Kind == store.TokenIndex) {
				return x, values[0]
			}
		}
		values = values[c.Is.Values():]
	}
	return nil, nil
}

func (s *rowShard) each(holds, visit func(*row) bool) (goOn bool) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	for _, r := range s.rows {
		if holds(r) && !visit(r) {
			return false
		}
	}
	return true
}

func (h tableHandle) Count(query int, values [][]byte) (records uint64, err error) {
	if query >= len(h.queries) {
		return 0, errNoQuery
	}
	h.each(&h.queries[query], values, func(*row) bool { records++; return true })
	return records, nil
}

var errNoQuery = errors.New("memory: a query that was not defined")

// Query, Count, Modify and Increment are abilities of every handle, since types decide them; without
// columns there is nothing to query or to change.
func (h *handle) Query(int, [][]byte, func(key, record []byte) bool) error { return errNoQuery }

// Count likewise.
func (h *handle) Count(int, [][]byte) (uint64, error) { return 0, errNoQuery }

// Modify likewise.
func (h *handle) Modify([]byte, []int, [][]byte) error { return errNotARecord }

// Increment likewise.
func (h *handle) Increment([]byte, int, int64) error { return errNotARecord }
