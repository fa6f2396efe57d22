package misbehave

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"assay/store"
)

// honest is a store that keeps every promise: a map in memory, and a file to which each write is
// appended.
type honest struct {
	lock    sync.RWMutex
	values  map[string][]byte
	keys    []string // in order, with those that were deleted since they came
	fresh   []string // not in keys yet: a scan sorts only where some have come
	file    *os.File
	pending []byte // what was acknowledged and not yet written to the file, by a store that lies about it
	sync    bool
}

func openHonest(c store.Config) (*honest, error) {
	h := &honest{values: map[string][]byte{}, sync: c.Durability == store.D3}
	var err error
	if h.file, err = os.OpenFile(filepath.Join(c.Directory, "log"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if err := h.replay(); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the log: %w", err), h.file.Close())
	}
	return h, nil
}

// A record of the log: length of the key, length of the value or deleted, both as uint32; key;
// value.
const deleted = 1<<32 - 1

func (h *honest) replay() error {
	in := bufio.NewReader(h.file)
	for {
		var head [8]byte
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // a record that was cut was not acknowledged
		} else if err != nil {
			return err
		}
		length := binary.LittleEndian.Uint32(head[4:])
		body := make([]byte, int(binary.LittleEndian.Uint32(head[:]))+int(length%deleted))
		if _, err := io.ReadFull(in, body); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return err
		}
		key := string(body[:binary.LittleEndian.Uint32(head[:])])
		if length == deleted {
			delete(h.values, key)
		} else {
			h.set(key, body[len(key):])
		}
	}
}

// apply does all writes at once, and appends them to the log with one call, unless buffered.
func (h *honest) apply(writes []store.Write, buffered bool) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.append(writes, buffered)
}

// change does one write that is made of the value that is there.
func (h *honest) change(key []byte, buffered bool, made func(old []byte) ([]byte, error)) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	old, ok := h.values[string(key)]
	if !ok {
		return store.ErrNotFound
	}
	value, err := made(old)
	if err != nil {
		return err
	}
	return h.append([]store.Write{{Key: key, Value: value}}, buffered)
}

// set needs the lock.
func (h *honest) set(key string, value []byte) {
	if _, there := h.values[key]; !there {
		h.fresh = append(h.fresh, key)
	}
	h.values[key] = value
}

// append needs the lock.
func (h *honest) append(writes []store.Write, buffered bool) error {
	for _, w := range writes {
		length := uint32(len(w.Value))
		if w.Delete {
			length = deleted
		}
		h.pending = binary.LittleEndian.AppendUint32(h.pending, uint32(len(w.Key)))
		h.pending = binary.LittleEndian.AppendUint32(h.pending, length)
		h.pending = append(append(h.pending, w.Key...), w.Value...)
		if w.Delete {
			delete(h.values, string(w.Key))
		} else {
			h.set(string(w.Key), append([]byte{}, w.Value...))
		}
	}
	if buffered {
		return nil
	}
	return h.flush()
}

func (h *honest) flush() error {
	_, err := h.file.Write(h.pending)
	h.pending = h.pending[:0]
	if err == nil && h.sync {
		err = h.file.Sync()
	}
	return err
}

func (h *honest) get(key []byte) ([]byte, error) {
	h.lock.RLock()
	defer h.lock.RUnlock()
	value, ok := h.values[string(key)]
	if !ok {
		return nil, store.ErrNotFound
	}
	return value, nil // never changed in place
}

// record is one record of a scan.
type record struct {
	key   string
	value []byte
}

func (h *honest) from(start []byte) []record {
	h.lock.Lock()
	defer h.lock.Unlock()
	if len(h.fresh) > 0 {
		h.keys, h.fresh = append(h.keys, h.fresh...), h.fresh[:0]
		slices.Sort(h.keys)
		h.keys = slices.Compact(h.keys) // one that was deleted came again
	}
	at, _ := slices.BinarySearch(h.keys, string(start))
	found := make([]record, 0, len(h.keys)-at)
	for _, key := range h.keys[at:] {
		if value, there := h.values[key]; there {
			found = append(found, record{key, value})
		}
	}
	return found
}

func (h *honest) close(drop bool) error {
	h.lock.Lock()
	defer h.lock.Unlock()
	var err error
	if drop {
		err = h.file.Truncate(0)
	} else {
		err = h.flush()
	}
	return errors.Join(err, h.file.Close())
}
