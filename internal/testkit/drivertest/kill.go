package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"assay/internal/execution/server"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// write is one of those that KeepsWrites does.
type write struct{ thread, n int }

func (w write) key() []byte   { return fmt.Appendf(nil, "key-%d-%d", w.thread, w.n) }
func (w write) value() []byte { return fmt.Appendf(nil, "value %d", w.n) }

// KeepsWrites kills a server of the test's own while four threads write, starts it again, and looks
// for each acknowledged write. The operation that meets the killed server must be an error, and
// none of the store's answers; the handles then connect anew by themselves.
func KeepsWrites(t *testing.T, driver store.Driver, p server.Program, class store.Durability, given map[string]string) {
	t.Helper()
	servertest.SkipSlow(t, p)
	const threads, killAfter = 4, 300
	i := servertest.Start(t, p, class, nil)
	c := Config(t, driver.Describe(), class, given)
	c.Endpoints = []string{i.Endpoint()}
	s, err := driver.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // the store's own connection goes with the server
	acknowledged, ended := make(chan write), make(chan error)
	var handles [threads]store.Handle
	for thread := range threads {
		if handles[thread], err = s.Handle(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = handles[thread].Close() }()
	}
	for thread, h := range handles {
		go func() {
			for n := 0; ; n++ {
				w := write{thread, n}
				if err := h.Put(w.key(), w.value()); err != nil {
					ended <- err
					return
				}
				acknowledged <- w
			}
		}()
	}
	var last [threads]int
	for running, seen := threads, 0; running > 0; {
		select {
		case w := <-acknowledged:
			last[w.thread] = w.n + 1
			if seen++; seen == killAfter {
				servertest.Crash(t, i)
			}
		case err := <-ended:
			running--
			if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
				t.Errorf("put at a killed server: %v", err)
			}
			if seen < killAfter {
				t.Errorf("a put failed before the kill: %v", err)
			}
		}
	}
	if t.Failed() {
		return
	}
	servertest.Restart(t, i)
	for thread, writes := range last {
		reconnect(t, handles[thread])
		for n := range writes {
			w := write{thread, n}
			if got, err := handles[thread].Get(w.key(), nil); err != nil || !bytes.Equal(got, w.value()) {
				t.Fatalf("acknowledged write %s of %d: %q, %v", w.key(), writes, got, err)
			}
		}
	}
}

// reconnect uses a handle until the server answers. A library may give the error of its last try to
// connect for a while, without another try.
func reconnect(t *testing.T, h store.Handle) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		_, err := h.Get([]byte("no-such-key"), nil)
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the handle does not connect anew: %v", err)
		}
	}
}
