// Package memory is the driver "memory": a hash map in the worker's own memory, in shards. It is a
// reference for what a store can do that has neither files nor order, and lets the whole of Assay
// run without an engine.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"assay/store"
)

// shards is many more than the threads of any machine, so that two threads seldom want the same
// lock.
const shards = 256

// Driver opens maps.
type Driver struct{}

// Describe says what the map can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "memory",
		Summary: "sharded hash map in the worker's memory, without files",
		Licence: "NONE",
		Kind:    store.Memory,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: "nothing is written to a file"},
		},
		HandlesShareable: true,
		Expiry:           &store.Expiry{UnitNS: int64(time.Millisecond)},
		TokenIndexes:     true,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note:             "closing it drops its records",
	}
}

// Open makes an empty map.
func (Driver) Open(_ context.Context, c store.Config) (store.Store, error) {
	if c.Durability != store.D0 {
		return nil, fmt.Errorf("memory can't reach %s: its records die with the process: %w", c.Durability, store.ErrRefused)
	}
	m := &db{seed: maphash.MakeSeed()}
	for i := range m.shards {
		m.shards[i].values = make(map[string][]byte)
	}
	return m, nil
}

type db struct {
	seed   maphash.Seed
	shards [shards]shard
	table  *table // instead of the shards, where columns were defined
}

type shard struct {
	lock   sync.RWMutex
	values map[string][]byte
	ends   map[string]time.Time // of values that were stored for a time; nil: there was none yet
	bytes  int                  // of keys and values
	_      [72]byte             // rounds a shard up to two cache lines, so that neighbours' locks do not share one
}

func (m *db) shard(key []byte) *shard { return &m.shards[maphash.Bytes(m.seed, key)%shards] }

// Handle costs nothing.
func (m *db) Handle() (store.Handle, error) {
	if m.table != nil {
		return tableHandle{m.table}, nil
	}
	return &handle{m}, nil
}

func (m *db) Settings() map[string]string {
	return map[string]string{"shards": strconv.Itoa(shards)}
}

func (m *db) Close() error {
	for i := range m.shards {
		m.shards[i].values, m.shards[i].ends = nil, nil
	}
	m.table = nil
	return nil
}

func (m *db) Inspect() store.Inspection {
	var records, size int
	if m.table != nil {
		records, size = m.table.inspect()
	}
	for i := range m.shards {
		s := &m.shards[i]
		s.lock.RLock()
		records += len(s.values)
		size += s.bytes
		s.lock.RUnlock()
	}
	return store.Inspection{Stats: map[string]float64{"records": float64(records), "records_bytes": float64(size)}}
}

type handle struct{ *db }

func (h *handle) Close() error { return nil }

func (h *handle) Get(key, buf []byte) ([]byte, error) {
	s := h.shard(key)
	s.lock.RLock()
	defer s.lock.RUnlock()
	value, ok := s.values[string(key)]
	if !ok || s.isOver(key) {
		return nil, store.ErrNotFound
	}
	return append(buf[:0], value...), nil
}

func (h *handle) Put(key, value []byte) error {
	s := h.shard(key)
	s.lock.Lock()
	s.put(key, value)
	s.lock.Unlock()
	return nil
}

// PutFor looks at the time when the value is read, as an exact store does: what is over is dropped when
// its key is written again.
func (h *handle) PutFor(key, value []byte, ttl time.Duration) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	s.put(key, value)
	if s.ends == nil {
		s.ends = make(map[string]time.Time)
	}
	s.ends[string(key)] = time.Now().Add(ttl)
	return nil
}

// Touch gives a value another end.
func (h *handle) Touch(key []byte, ttl time.Duration) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, ok := s.values[string(key)]; !ok || s.isOver(key) {
		return store.ErrNotFound
	}
	if s.ends == nil {
		s.ends = make(map[string]time.Time)
	}
	s.ends[string(key)] = time.Now().Add(ttl)
	return nil
}

// Append leaves the value's end as it is.
func (h *handle) Append(key, part []byte) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	value, ok := s.values[string(key)]
	if !ok || s.isOver(key) {
		return store.ErrNotFound
	}
	s.values[string(key)] = append(value, part...)
	s.bytes += len(part)
	return nil
}

// GetAndSet copies the old value before it puts the new one in its place.
func (h *handle) GetAndSet(key, value, buf []byte) ([]byte, error) {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	old, ok := s.values[string(key)]
	if ok = ok && !s.isOver(key); ok {
		buf = append(buf[:0], old...)
	}
	s.put(key, value)
	if !ok {
		return nil, store.ErrNotFound
	}
	return buf, nil
}

// isOver says if the time of key's value has come. Shards without such values look at no clock.
func (s *shard) isOver(key []byte) bool {
	if s.ends == nil {
		return false
	}
	end, ends := s.ends[string(key)]
	return ends && !time.Now().Before(end)
}

// put overwrites a value of the same length in place: readers copy under the lock.
func (s *shard) put(key, value []byte) {
	if s.ends != nil {
		delete(s.ends, string(key))
	}
	old, ok := s.values[string(key)]
	if ok {
		s.bytes += len(value) - len(old)
		if len(old) == len(value) {
			copy(old, value)
			return
		}
	} else {
		s.bytes += len(key) + len(value)
	}
	s.values[string(key)] = bytes.Clone(value)
}

func (h *handle) Delete(key []byte) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	if old, ok := s.values[string(key)]; ok {
		s.bytes -= len(key) + len(old)
		delete(s.values, string(key))
		delete(s.ends, string(key))
	}
	return nil
}

// MultiGet takes one lock after the other, so that others may write between two keys.
func (h *handle) MultiGet(keys, values [][]byte, buf []byte) (calls int, err error) {
	for i, key := range keys {
		s, from := h.shard(key), len(buf)
		s.lock.RLock()
		if value, ok := s.values[string(key)]; ok && !s.isOver(key) {
			buf = append(buf, value...)
			values[i] = buf[from:len(buf):len(buf)]
		}
		s.lock.RUnlock()
	}
	return 1, nil
}

// Apply takes one lock after the other, so that others may see a part of a batch.
func (h *handle) Apply(writes []store.Write) error {
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

func (h *handle) Add(key, value []byte) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, ok := s.values[string(key)]; ok && !s.isOver(key) {
		return store.ErrConflict
	}
	s.put(key, value)
	return nil
}

func (h *handle) CompareAndSwap(key, old, value []byte) error {
	s := h.shard(key)
	s.lock.Lock()
	defer s.lock.Unlock()
	now, ok := s.values[string(key)]
	if !ok || s.isOver(key) {
		return store.ErrNotFound
	}
	if !bytes.Equal(now, old) {
		return store.ErrConflict
	}
	s.put(key, value)
	return nil
}
