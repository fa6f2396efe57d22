package drivertest

import (
	"runtime"
	"testing"
	"time"

	"assay/store"
)

// Async returns a handle of a store's asynchronous form: one lane, with one operation on its way,
// which is waited for. So tests of handles hold for lanes too.
func Async(t testing.TB, s store.Store) store.Handle {
	t.Helper()
	loop, err := s.(store.Asynchronous).Loop(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := &asyncHandle{loop: loop}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Pin pins a loop that has such a form, as the worker does, until the test ends. The test calls it,
// and the loop, from its own goroutine.
func Pin(t testing.TB, loop store.Loop) {
	t.Helper()
	p, ok := loop.(store.Pinner)
	if !ok {
		return
	}
	runtime.LockOSThread()
	if err := p.Pin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Unpin(); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
}

// EachInterface runs a test with a loop that waits by epoll, and with one that is pinned.
func EachInterface(t *testing.T, test func(t *testing.T, pin func(*testing.T, store.Loop))) {
	t.Helper()
	t.Run("epoll", func(t *testing.T) { test(t, func(*testing.T, store.Loop) {}) })
	t.Run("pinned", func(t *testing.T) {
		test(t, func(t *testing.T, loop store.Loop) {
			t.Log("waits by", loop.(store.Pinner).Interface())
			Pin(t, loop)
		})
	})
}

type asyncHandle struct {
	loop store.Loop
	buf  []byte
}

func (h *asyncHandle) do(r store.Request) (value []byte, err error) {
	h.loop.Submit(0, &r)
	for done := false; !done; {
		failed := h.loop.Reap(time.Second, func(_ int, v []byte, e error) {
			h.buf = append(h.buf[:0], v...)
			value, err, done = h.buf, e, true
		})
		if failed != nil {
			return nil, failed
		}
	}
	return value, err
}

func (h *asyncHandle) change(o store.Operation, key, old, value []byte) error {
	_, err := h.do(store.Request{Operation: o, Key: key, Old: old, Value: value})
	return err
}

func (h *asyncHandle) Get(key, _ []byte) ([]byte, error) {
	value, err := h.do(store.Request{Operation: store.OpGet, Key: key})
	if err != nil {
		return nil, err
	}
	return value, nil
}

func (h *asyncHandle) Put(key, value []byte) error { return h.change(store.OpPut, key, nil, value) }
func (h *asyncHandle) Add(key, value []byte) error { return h.change(store.OpAdd, key, nil, value) }
func (h *asyncHandle) Delete(key []byte) error     { return h.change(store.OpDelete, key, nil, nil) }

func (h *asyncHandle) CompareAndSwap(key, old, value []byte) error {
	return h.change(store.OpCompareAndSwap, key, old, value)
}

func (h *asyncHandle) Apply(writes []store.Write) error {
	if len(writes) == 0 {
		return nil
	}
	_, err := h.do(store.Request{Operation: store.OpApply, Writes: writes})
	return err
}

func (h *asyncHandle) Close() error {
	if h.loop == nil {
		return nil
	}
	loop := h.loop
	h.loop = nil
	return loop.Close()
}
