package drivertest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"assay/internal/execution/server"
	"assay/internal/testkit/servertest"
	"assay/store"
)

// patience is how long a server may take to start and to stop. No test waits for it.
const patience = 5 * time.Minute

// StartServers is [servertest.StartGroup].
func StartServers(t testing.TB, p server.Program, class store.Durability, options map[string]string,
	count int) *server.Group {
	t.Helper()
	return servertest.StartGroup(t, p, class, options, count)
}

// StartServer is [servertest.Start].
func StartServer(t testing.TB, p server.Program, class store.Durability, options map[string]string) *server.Instance {
	t.Helper()
	return servertest.Start(t, p, class, options)
}

// Freeze is [servertest.Freeze].
func Freeze(i *server.Instance) (thaw func()) { return servertest.Freeze(i) }

// GivesUpLate holds a handle to this: an operation whose answer does not come in time is a timeout,
// and its late answer is no other operation's. The handle's operation timeout should be short.
func GivesUpLate(t *testing.T, i *server.Instance, h store.Handle) {
	t.Helper()
	keys := [][]byte{[]byte("one"), []byte("two")}
	for _, key := range keys {
		if err := h.Put(key, key); err != nil {
			t.Fatal(err)
		}
	}
	thaw := Freeze(i)
	value, err := h.Get(keys[0], nil)
	thaw()
	if !errors.Is(err, store.ErrTimeout) {
		t.Errorf("a get at a server that does not answer: %q, %v", value, err)
	}
	for right := 0; right < 3; {
		value, err := h.Get(keys[1], nil)
		if errors.Is(err, store.ErrTimeout) {
			continue // a busy machine
		}
		if err != nil || !bytes.Equal(value, keys[1]) {
			t.Fatalf("after it: %q, %v", value, err)
		}
		right++
	}
	for _, key := range keys {
		if err := h.Delete(key); err != nil {
			t.Error(err)
		}
	}
}
