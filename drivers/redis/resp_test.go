package redis

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"assay/store"
)

// FuzzHead holds the parser to its inverse: what it accepts, written out again, is the line.
func FuzzHead(f *testing.F) {
	for _, seed := range []string{"+OK", "-ERR no", ":0", ":-1", ":9223372036854775807", "$-1", "$0", "$536870912", "$536870913", "*2", "*-1", "*-2", "$-0", ":00", "$1x", "%1", "", "$", "$-", "_", "_1", "%2", "%-1", "=15"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, resp3 := range []bool{false, true} {
			holdHead(t, line, resp3)
		}
	})
}

func holdHead(t *testing.T, line []byte, resp3 bool) {
	kind, n, ok := parseHead(line, resp3)
	switch {
	case !ok || kind == simpleReply || kind == errorReply:
		return
	case kind == nullReply:
		if string(line) != "_" || !resp3 || n != absent {
			t.Errorf("accepted %q as nothing", line)
		}
		return
	}
	if again := fmt.Sprintf("%c%d", kind, n); again != string(line) {
		t.Errorf("accepted %q as %q", line, again)
	}
	lengths := kind == bulkReply || kind == verbatimReply
	if lengths && (n < absent || n > bulkBytesMax) || kind != integerReply && !lengths && (n < absent || n > arrayMax) {
		t.Errorf("accepted the length %d", n)
	}
}

// FuzzReplies lets a server answer anything to each request: nothing may panic or hang, and what is
// accepted as a value is what a valid reply says.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		"$5\r\nvalue\r\n", "$-1\r\n", "+OK\r\n", ":1\r\n", "*-1\r\n", "*1\r\n+OK\r\n", "-ERR no\r\n", "$5\r\nval", "$100000\r\nx", "*2\r\n$1\r\na\r\n$-1\r\n",
		"+OK\r\n$1\r\nv\r\n+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n", "$5\r\nvalueXX", "\r\n", "+OK\n", "_\r\n", "%1\r\n", "=9\r\ntxt:value\r\n", "*2\r\n_\r\n_\r\n",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, answer []byte, hashes bool) {
		for _, resp3 := range []bool{false, true} {
			holdReplies(t, answer, hashes, resp3)
		}
	})
}

func holdReplies(t *testing.T, answer []byte, hashes, resp3 bool) {
	var names []string
	value := []byte("v")
	if hashes {
		names, value = []string{"a", "b"}, store.AppendColumn(store.AppendColumn(nil, []byte("x")), nil)
	}
	for name, operate := range map[string]func(h *leanHandle) error{
		"get": func(h *leanHandle) error {
			got, err := h.Get([]byte("k"), nil)
			if err == nil && !hashes && !bytes.HasPrefix(answer, fmt.Appendf(nil, "$%d\r\n%s\r\n", len(got), got)) {
				t.Errorf("%q was taken for the value %q", answer, got)
			}
			return err
		},
		"put":    func(h *leanHandle) error { return h.Put([]byte("k"), value) },
		"delete": func(h *leanHandle) error { return h.Delete([]byte("k")) },
		"add":    func(h *leanHandle) error { return h.Add([]byte("k"), value) },
		"swap":   func(h *leanHandle) error { return h.CompareAndSwap([]byte("k"), value, value) },
		"batch": func(h *leanHandle) error {
			return h.Apply([]store.Write{{Key: []byte("k"), Value: value}, {Key: []byte("k"), Delete: true}})
		},
	} {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			_, _ = server.Read(make([]byte, 4096))
			_, _ = server.Write(answer)
		}()
		c := newConnection("", time.Minute, entry{resp3: resp3})
		c.Greet = nil
		h := newLeanHandle(&speaker{leanClient: leanClient{connection: c, columns: newColumns(names)},
			asked: make([]asked, 1)})
		h.Use(client)
		err := operate(h)
		if err == nil && (len(answer) == 0 || answer[0] == errorReply) {
			t.Errorf("%s: %q was taken for a success", name, answer)
		}
		_, _ = io.Copy(io.Discard, client)
		if err := h.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
}

func TestHashesAreThePartsOfARecord(t *testing.T) {
	c := newColumns([]string{"name", "n"})
	record := store.AppendColumn(store.AppendColumn(nil, []byte("Ann")), []byte("7"))
	request := string(c.appendPut(nil, []byte("k"), record))
	if want := "*6\r\n$4\r\nHSET\r\n$1\r\nk\r\n$4\r\nname\r\n$3\r\nAnn\r\n$1\r\nn\r\n$1\r\n7\r\n"; request != want {
		t.Errorf("put is %q", request)
	}
	for _, bad := range [][]byte{nil, record[:4], record[:5], append(bytes.Clone(record), 0, 0), []byte(strings.Repeat("x", 100))} {
		if err := c.fits(bad); err == nil {
			t.Errorf("%q was taken for a record of two columns", bad)
		}
	}
	if err := c.fits(record); err != nil {
		t.Error(err)
	}
}
