package riak_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"assay/drivers/riak"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/riakstandin"
	"assay/store"
)

func frame(code byte, message ...byte) string { return string(riakstandin.Message(code, message)) }

func found(contents ...[]byte) string {
	return string(riakstandin.Found(contents, []byte("clock")))
}

var lies = drivertest.Protocol{
	Key:    riakstandin.KeyOfGet,
	Found:  func(_ string, value []byte) string { return found(riakstandin.Content(value, 1, false)) },
	Missed: frame(10),
	Failed: []string{string(riakstandin.Error("overload"))},
	Garbled: map[string]string{
		"no code":                     string(binary.BigEndian.AppendUint32(nil, 0)),
		"a length of 4 GiB":           "\xff\xff\xff\xff\x0a",
		"of a write":                  frame(12),
		"an unknown code":             frame(77, '?'),
		"a field without an end":      frame(10, 0x0a, 0x7f, 1),
		"a tag without a value":       frame(10, 0x0a),
		"a varint without an end":     frame(10, bytes.Repeat([]byte{255}, 20)...),
		"a fixed number":              frame(10, 0x09, 1, 2, 3, 4, 5, 6, 7, 8),
		"a content without a value":   frame(10, 0x0a, 2, 0x58, 1),
		"a value that is a number":    frame(10, 0x0a, 2, 0x08, 1),
		"a content that is a number":  frame(10, 0x08, 1),
		"an error that is no message": frame(0, 0x0a, 9),
	},
	Acknowledged: []string{"of a write"},
	NotSaid:      "0x",
	Told: map[string]func(string, []byte) string{
		"timeout": func(string, []byte) string { return string(riakstandin.Error("timeout")) },
		"miss":    func(string, []byte) string { return found(riakstandin.Content(nil, 1, true)) }, // a tombstone
	},
}

func TestLies(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		t.Parallel()
		told := lies
		if client != "lean" {
			told.Garbled, told.Checks, told.Unbounded = nil, true, true
		}
		c := riakstandin.Start(t, 1)
		drivertest.BearsLies(t, c.Endpoints[0], told, func(t *testing.T, endpoint string,
			given map[string]string) (store.Store, store.Handle) {
			given["client"] = client
			config := drivertest.Config(t, riak.Driver{}.Describe(), store.D0, given)
			config.Endpoints = []string{endpoint}
			return drivertest.Open(t, riak.Driver{}, config)
		})
	})
}

// A second answer is not that of the next operation.
func TestSecondAnswerIsAnError(t *testing.T) {
	c := riakstandin.Start(t, 1)
	s, h := open(t, c)
	put(t, h, "key", "v")
	c.SetLie(func(_ riakstandin.Request, w io.Writer) bool {
		_, _ = io.WriteString(w, frame(10)+frame(10))
		return true
	})
	wantMiss(t, h, "key")
	c.SetLie(nil)
	if got, err := h.Get([]byte("key"), nil); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("%q, %v", got, err)
	}
	wantGet(t, h, "key", "v")
	if n := stat(s, "reconnects"); n != 1 {
		t.Errorf("%v reconnects", n)
	}
}

// Writes that are acknowledged and dropped are missed when they are read.
func TestDroppedWritesAreMissed(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		c := riakstandin.Start(t, 1)
		_, h := open(t, c, "client="+client)
		dropped, puts := 0, 0
		c.SetLie(func(r riakstandin.Request, w io.Writer) bool {
			if r.Code != riakstandin.Put {
				return false
			}
			if puts++; puts%7 != 0 {
				return false
			}
			dropped++
			_, _ = w.Write(riakstandin.Message(12, nil))
			return true
		})
		missed := 0
		for i := range 100 {
			put(t, h, fmt.Sprint(i), "v")
		}
		for i := range 100 {
			if _, err := h.Get(fmt.Append(nil, i), nil); errors.Is(err, store.ErrNotFound) {
				missed++
			}
		}
		if missed != dropped || dropped == 0 {
			t.Errorf("%d writes were dropped, %d missed", dropped, missed)
		}
	})
}

// A put whose time is over may have been done: it is a timeout, whichever client waits for it.
func TestTimeoutOfAPut(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		c := riakstandin.Start(t, 1)
		_, h := open(t, c, "client="+client, "operation_timeout=1s")
		c.SetLie(func(r riakstandin.Request, _ io.Writer) bool { return r.Code == riakstandin.Put })
		if err := h.Put([]byte("key"), []byte("v")); !errors.Is(err, store.ErrTimeout) {
			t.Errorf("put: %v", err)
		}
		if puts := c.Counts().Puts; puts != 1 {
			t.Errorf("the put was sent %d times", puts)
		}
	})
}

// A value larger than any buffer comes whole, and so does the small one after it.
func TestLargeValues(t *testing.T) {
	eachClient(t, func(t *testing.T, client string) {
		_, h := open(t, riakstandin.Start(t, 1), "client="+client)
		large := strings.Repeat("0123456789abcdef", 1<<16)
		put(t, h, "large", large)
		put(t, h, "small", "s")
		wantGet(t, h, "large", large)
		wantGet(t, h, "small", "s")
		wantGet(t, h, "large", large)
	})
}
