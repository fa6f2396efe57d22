package memory

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"assay/store"
)

// table keeps records with columns: rows in shards by key, and for each index a hash map from a
// column's bytes to its rows. Locks are taken in one order: a row shard's, then a posting shard's,
// and of the latter one at a time.
type table struct {
	seed     maphash.Seed
	columns  int
	rows     [shards]rowShard
	indexes  []*index
	byColumn []*index // by column; nil where it has no index
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
	places  []int // by index: where the row stands in its posting; guarded by the posting's lock
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

// index finds rows by the bytes of one column. It is a hash map, and serves for the kind "ordered":
// nothing asks for the order.
type index struct {
	position int // in table.indexes and row.places
	column   int
	postings [shards]postingShard
}

type postingShard struct {
	lock sync.RWMutex
	rows map[string]*posting
}

// posting is the rows with the same bytes in a column, in no order.
type posting struct{ rows []*row }

// Define gives the store a table instead of its map.
func (m *db) Define(columns []store.Column, indexes []store.Index) error {
	t := &table{seed: m.seed, columns: len(columns), byColumn: make([]*index, len(columns))}
	for i := range t.rows {
		t.rows[i].rows = make(map[string]*row)
	}
	for _, asked := range indexes {
		if asked.Kind != store.OrderedIndex {
			return fmt.Errorf("memory: an index of kind %s of %s: there are hash maps of whole columns only: %w", asked.Kind, columns[asked.Column].Name, store.ErrRefused)
		}
		x := &index{position: len(t.indexes), column: asked.Column}
		for i := range x.postings {
			x.postings[i].rows = make(map[string]*posting)
		}
		t.indexes = append(t.indexes, x)
		t.byColumn[asked.Column] = x
	}
	m.table = t
	return nil
}

func (t *table) shard(key []byte) *rowShard { return &t.rows[maphash.Bytes(t.seed, key)%shards] }

func (t *table) posting(x *index, value []byte) *postingShard {
	return &x.postings[maphash.Bytes(t.seed, value)%shards]
}

var errNotARecord = errors.New("memory: a value that is no record of the columns that were defined")

// newRow takes a record apart. The columns lie in one piece of memory, but for their lengths.
func (t *table) newRow(key, record []byte) (*row, error) {
	r := &row{columns: make([][]byte, t.columns), places: make([]int, len(t.indexes))}
	memory := append(make([]byte, 0, len(key)+len(record)), key...)
	r.key = memory[:len(key):len(key)]
	for i := range r.columns {
		column, rest, ok := store.NextColumn(record)
		if !ok {
			return nil, errNotARecord
		}
		start := len(memory)
		memory = append(memory, column...)
		r.columns[i] = memory[start:len(memory):len(memory)]
		record = rest
	}
	if len(record) > 0 {
		return nil, errNotARecord
	}
	return r, nil
}

// put needs the shard's lock.
func (t *table) put(s *rowShard, r *row) {
	old := s.rows[string(r.key)]
	s.rows[string(r.key)] = r
	s.bytes += r.bytes()
	if old != nil {
		s.bytes -= old.bytes()
	}
	for _, x := range t.indexes {
		if old != nil && bytes.Equal(old.columns[x.column], r.columns[x.column]) {
			t.replace(x, old, r)
			continue
		}
		if old != nil {
			t.remove(x, old)
		}
		t.insert(x, r)
	}
}

func (t *table) insert(x *index, r *row) {
	value := r.columns[x.column]
	s := t.posting(x, value)
	s.lock.Lock()
	defer s.lock.Unlock()
	p := s.rows[string(value)]
	if p == nil {
		p = &posting{}
		s.rows[string(value)] = p
	}
	r.places[x.position] = len(p.rows)
	p.rows = append(p.rows, r)
}

func (t *table) replace(x *index, old, r *row) {
	value := r.columns[x.column]
	s := t.posting(x, value)
	s.lock.Lock()
	defer s.lock.Unlock()
	r.places[x.position] = old.places[x.position]
	s.rows[string(value)].rows[r.places[x.position]] = r
}

// remove lets the last row of the posting take the place.
func (t *table) remove(x *index, r *row) {
	value := r.columns[x.column]
	s := t.posting(x, value)
	s.lock.Lock()
	defer s.lock.Unlock()
	p := s.rows[string(value)]
	place, last := r.places[x.position], len(p.rows)-1
	p.rows[place] = p.rows[last]
	p.rows[place].places[x.position] = place
	p.rows[last] = nil
	p.rows = p.rows[:last]
	if last == 0 {
		delete(s.rows, string(value))
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
	if r == nil {
		return nil
	}
	delete(s.rows, string(key))
	s.bytes -= r.bytes()
	for _, x := range h.indexes {
		h.remove(x, r)
	}
	return nil
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

// Query visits rows under the lock of the index, or of a shard of rows. visit must not write to the
// store.
func (h tableHandle) Query(column int, value []byte, limit int, visit func(key, record []byte) bool) error {
	var record []byte
	take := func(r *row) bool {
		record = r.appendRecord(record[:0])
		limit--
		return visit(r.key, record) && limit > 0
	}
	if x := h.byColumn[column]; x != nil {
		s := h.posting(x, value)
		s.lock.RLock()
		defer s.lock.RUnlock()
		if p := s.rows[string(value)]; p != nil {
			for _, r := range p.rows {
				if !take(r) {
					break
				}
			}
		}
		return nil
	}
	h.eachWith(column, value, take)
	return nil
}

// eachWith looks at every row.
func (t *table) eachWith(column int, value []byte, visit func(*row) bool) {
	for i := range t.rows {
		if !t.rows[i].eachWith(column, value, visit) {
			return
		}
	}
}

func (s *rowShard) eachWith(column int, value []byte, visit func(*row) bool) (goOn bool) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	for _, r := range s.rows {
		if bytes.Equal(r.columns[column], value) && !visit(r) {
			return false
		}
	}
	return true
}

func (h tableHandle) Count(column int, value []byte) (records uint64, err error) {
	if x := h.byColumn[column]; x != nil {
		s := h.posting(x, value)
		s.lock.RLock()
		defer s.lock.RUnlock()
		if p := s.rows[string(value)]; p != nil {
			records = uint64(len(p.rows))
		}
		return records, nil
	}
	h.eachWith(column, value, func(*row) bool { records++; return true })
	return records, nil
}

var errNoColumns = errors.New("memory: no columns were defined")

// Query and Count are abilities of every handle, for they are told from types; without columns
// there is nothing to ask for.
func (h *handle) Query(int, []byte, int, func(key, record []byte) bool) error { return errNoColumns }

// Count likewise.
func (h *handle) Count(int, []byte) (uint64, error) { return 0, errNoColumns }
