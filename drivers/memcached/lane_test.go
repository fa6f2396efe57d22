package memcached_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"assay/internal/testkit/drivertest"
	"assay/store"
)

const (
	depth       = 16
	laneTimeout = 2 * time.Second
)

// lanes opens one lane with depth operations on its way, for values key-0 … that the server has.
func lanes(t *testing.T, pin func(*testing.T, store.Loop), valueBytes int) (*drivertest.StandIn, store.Loop) {
	t.Helper()
	s := drivertest.StartStandIn(t)
	opened, h := open(t, s.Endpoint, map[string]string{"operation_timeout": laneTimeout.String()})
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
	pin(t, loop)
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

func TestPipelineEndsInItsOrder(t *testing.T) {
	for _, valueBytes := range []int{0, 1, 1000, 4070, 4080, 4096, 8170, 8192, 65_500, 65_536, 200_000} {
		drivertest.EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
			_, loop := lanes(t, pin, valueBytes)
			wantAll(t, getAll(t, loop), valueBytes)
		})
	}
}

// A socket that is full takes the rest of the requests later, in their order.
func TestLaneWaitsForRoom(t *testing.T) {
	drivertest.EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
		_, loop := lanes(t, pin, 10)
		const valueBytes = 1 << 20
		left := depth
		put := func(_ int, _ []byte, err error) {
			if left--; err != nil {
				t.Error(err)
			}
		}
		for i := range depth {
			r := store.Request{Operation: store.OpPut, Key: laneKey(i), Value: laneValue(i, valueBytes)}
			loop.Submit(0, &r)
			if i%4 == 3 { // also behind a request of which the socket took a part
				reapOnce(t, loop, 0, put)
			}
		}
		for left > 0 {
			reapOnce(t, loop, time.Second, put)
		}
		wantAll(t, getAll(t, loop), valueBytes)
	})
}

// Operations end, and others take their places, while the socket has taken only a part of what was asked for.
func TestLaneRefillsBesideAFullSocket(t *testing.T) {
	drivertest.EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
		_, loop := lanes(t, pin, 10)
		const valueBytes, all = 1 << 20, 4 * depth
		begun, ended := 0, 0
		put := func() {
			loop.Submit(0, &store.Request{Operation: store.OpPut, Key: laneKey(begun % depth),
				Value: laneValue(begun%depth, valueBytes)})
			begun++
		}
		for begun < depth {
			put()
		}
		for ended < all {
			reapOnce(t, loop, time.Second, func(_ int, _ []byte, err error) {
				if ended++; err != nil {
					t.Fatal(err)
				}
				if begun < all {
					put()
				}
			})
		}
		wantAll(t, getAll(t, loop), valueBytes)
	})
}

func reapOnce(t *testing.T, loop store.Loop, wait time.Duration, ended store.Ended) {
	t.Helper()
	if err := loop.Reap(wait, ended); err != nil {
		t.Fatal(err)
	}
}

// A loop works on after it was pinned, and pinned again.
func TestLoopIsPinnedAgain(t *testing.T) {
	_, loop := lanes(t, func(*testing.T, store.Loop) {}, 10)
	for range 3 {
		t.Run("", func(t *testing.T) {
			drivertest.Pin(t, loop)
			wantAll(t, getAll(t, loop), 10)
		})
		wantAll(t, getAll(t, loop), 10)
	}
}

// TestLiesToAPipeline has a server that lies to the fifth of sixteen gets on one connection. Those
// before it are right, it and those behind it fail with the cause, and the next ones, on a new
// connection, are right again. Nothing is sent twice.
func TestLiesToAPipeline(t *testing.T) {
	drivertest.EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
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
				s, loop := lanes(t, pin, 10)
				gets := 0
				var before io.Writer // the connection that is given up: the server may still read what was sent on it
				s.SetLie(func(request string, w io.Writer) bool {
					before = w
					gets += strings.Count(request, "get ")
					if request == string(append([]byte("get "), laneKey(at)...)) {
						lie.tell(w)
					} else if gets <= at {
						return false
					}
					return true // what is behind the lie has no answer
				})
				got := getAll(t, loop)
				for i, r := range got[at:] {
					if r.err == nil || errors.Is(r.err, store.ErrNotFound) || errors.Is(r.err,
						store.ErrTimeout) != (lie.want != nil) {
						t.Errorf("get %d: %q, %v", at+i, r.value, r.err)
					}
				}
				wantAll(t, got[:at], 10)
				again := 0
				s.SetLie(func(_ string, w io.Writer) bool {
					if w != before {
						again++
					}
					return false
				})
				wantAll(t, getAll(t, loop), 10)
				s.SetLie(nil) // what the lie has counted is read under the stand-in's lock
				if again != depth {
					t.Errorf("%d gets were %d requests", depth, again)
				}
			})
		}
	})
}

// A server that is gone fails each operation, and each one tries to connect once.
func TestLaneWithoutAServer(t *testing.T) {
	drivertest.EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
		s, loop := lanes(t, pin, 10)
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
	})
}

// Lanes read into one buffer: what has come of one lane's answers is not overwritten by another's.
func TestLanesKeepTheirParts(t *testing.T) {
	drivertest.EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
		s := drivertest.StartStandIn(t)
		opened, h := open(t, s.Endpoint, nil)
		const lanes, each = 300, 4 // more than a ring has buffers or submissions
		value := func(i int) []byte { return laneValue(i%20, 5_000*(i%7)+i) }
		for i := range lanes * each {
			if err := h.Put(laneKey(i), value(i)); err != nil {
				t.Fatal(err)
			}
		}
		loop, err := opened.(store.Asynchronous).Loop(lanes, each)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := loop.Close(); err != nil {
				t.Error(err)
			}
		}()
		pin(t, loop)
		for range 3 {
			for i := range lanes * each {
				loop.Submit(i%lanes, &store.Request{Operation: store.OpGet, Key: laneKey(i)})
			}
			var ended [lanes]int
			for left := lanes * each; left > 0; {
				if err := loop.Reap(time.Second, func(lane int, got []byte, err error) {
					i := ended[lane]*lanes + lane
					if err != nil || !bytes.Equal(got, value(i)) {
						t.Errorf("get %d: %d bytes, want %d; %v", i, len(got), len(value(i)), err)
					}
					ended[lane]++
					left--
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// An operation that waited for a new connection is not timed before it is sent, also where the loop
// comes back to it late.
func TestLateLoopDoesNotTimeOutUnsentRequests(t *testing.T) {
	drivertest.EachInterface(t, func(t *testing.T, pin func(*testing.T, store.Loop)) {
		s, loop := lanes(t, pin, 10)
		s.SetLie(func(_ string, w io.Writer) bool { _ = w.(io.Closer).Close(); return true })
		getAll(t, loop)
		s.SetLie(nil)
		loop.Submit(0, &store.Request{Operation: store.OpGet, Key: laneKey(0)})
		var got []result
		reap := func() {
			if err := loop.Reap(0, func(_ int, value []byte, err error) {
				got = append(got, result{bytes.Clone(value), err})
			}); err != nil {
				t.Fatal(err)
			}
		}
		reap() // begins to connect
		time.Sleep(laneTimeout + 100*time.Millisecond)
		for len(got) == 0 {
			reap()
		}
		wantAll(t, got, 10)
	})
}
