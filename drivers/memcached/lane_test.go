package memcached_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"assay/drivers/internal/drivertest"
	"assay/store"
)

const depth = 16

// lanes opens one lane with depth operations on its way, for values key-0 … that the server has.
func lanes(t *testing.T, valueBytes int) (*drivertest.StandIn, store.Loop) {
	t.Helper()
	s := drivertest.StartStandIn(t)
	opened, h := open(t, s.Endpoint, map[string]string{"operation_timeout": "2s"})
	for i := range depth {
		if err := h.Put(laneKey(i), laneValue(i, valueBytes)); err != nil {
			t.Fatal(err)
		}
	}
	loop, err := opened.(store.Asynchronous).Loop(1, depth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loop.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, loop
}

func laneKey(i int) []byte { return fmt.Appendf(nil, "key-%d", i) }

func laneValue(i, n int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, n) }

type result struct {
	value []byte
	err   error
}

// getAll submits a get of each key at once, and returns what they ended with.
func getAll(t *testing.T, loop store.Loop) (ended []result) {
	t.Helper()
	for i := range depth {
		loop.Submit(0, &store.Request{Operation: store.OpGet, Key: laneKey(i)})
	}
	for len(ended) < depth {
		if err := loop.Reap(time.Second, func(_ int, value []byte, err error) {
			ended = append(ended, result{bytes.Clone(value), err})
		}); err != nil {
			t.Fatal(err)
		}
	}
	return ended
}

func wantAll(t *testing.T, got []result, valueBytes int) {
	t.Helper()
	for i, r := range got {
		if r.err != nil || !bytes.Equal(r.value, laneValue(i, valueBytes)) {
			t.Errorf("get %d: %d bytes, %v", i, len(r.value), r.err)
		}
	}
}

func TestAPipelineEndsInItsOrder(t *testing.T) {
	for _, valueBytes := range []int{0, 1, 1000, 4070, 4080, 4096, 100_000} {
		_, loop := lanes(t, valueBytes)
		wantAll(t, getAll(t, loop), valueBytes)
	}
}

// TestLiesToAPipeline has a server that lies to the fifth of sixteen gets on one connection. Those
// before it are right, it and those behind it fail with the cause, and the next ones, on a new
// connection, are right again. Nothing is sent twice.
func TestLiesToAPipeline(t *testing.T) {
	const at = 4
	for name, lie := range map[string]struct {
		tell func(w io.Writer)
		want error // nil: any but a miss and a timeout
	}{
		"closes in mid-answer":  {func(w io.Writer) { _, _ = io.WriteString(w, "VALUE key-4 0 100\r\nhalf"); _ = w.(io.Closer).Close() }, nil},
		"closes without answer": {func(w io.Writer) { _ = w.(io.Closer).Close() }, nil},
		"answers another get":   {func(w io.Writer) { _, _ = io.WriteString(w, "VALUE key-5 0 1\r\nf\r\nEND\r\n") }, nil},
		"answers garbage":       {func(w io.Writer) { _, _ = io.WriteString(w, "+OK\r\n") }, nil},
		"stalls":                {func(io.Writer) {}, store.ErrTimeout},
		"stalls in mid-answer":  {func(w io.Writer) { _, _ = io.WriteString(w, "VALUE key-4 0 100\r\nhalf") }, store.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			s, loop := lanes(t, 10)
			gets, lying := 0, true
			s.SetLie(func(request string, w io.Writer) bool {
				gets += strings.Count(request, "get ")
				if request == string(append([]byte("get "), laneKey(at)...)) {
					lie.tell(w)
				} else if gets <= at || !lying {
					return false
				}
				return true // what is behind the lie has no answer
			})
			got := getAll(t, loop)
			for i, r := range got[at:] {
				if r.err == nil || errors.Is(r.err, store.ErrNotFound) || errors.Is(r.err, store.ErrTimeout) != (lie.want != nil) {
					t.Errorf("get %d: %q, %v", at+i, r.value, r.err)
				}
			}
			wantAll(t, got[:at], 10)
			s.SetLie(func(request string, _ io.Writer) bool { gets++; return false })
			before := gets
			wantAll(t, getAll(t, loop), 10)
			if gets-before != depth {
				t.Errorf("%d gets were %d requests", depth, gets-before)
			}
		})
	}
}

// A server that is gone fails each operation, and each one tries to connect once.
func TestALaneWithoutAServer(t *testing.T) {
	s, loop := lanes(t, 10)
	s.SetLie(func(_ string, w io.Writer) bool { _ = w.(io.Closer).Close(); return true })
	for range 2 {
		for i, r := range getAll(t, loop) {
			if r.err == nil || errors.Is(r.err, store.ErrNotFound) {
				t.Errorf("get %d: %q, %v", i, r.value, r.err)
			}
		}
	}
	s.SetLie(nil)
	wantAll(t, getAll(t, loop), 10)
}
