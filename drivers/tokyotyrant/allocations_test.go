package tokyotyrant

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"assay/drivers/internal/wire"
	"assay/store"
)

// canned answers each request with the same bytes.
type canned struct{ answer []byte }

func (c *canned) Read(into []byte) (int, error)  { return copy(into, c.answer), nil }
func (c *canned) Write(from []byte) (int, error) { return len(from), nil }
func (c *canned) Close() error                   { return nil }
func (c *canned) SetDeadline(time.Time) error    { return nil }

// The steady path allocates nothing.
func TestSteadyPathAllocations(t *testing.T) {
	key, value := []byte("key"), bytes.Repeat([]byte("v"), 1000)
	buf := make([]byte, 0, 2000)
	l := newLayout([]store.Column{{Name: "a", Type: store.TextColumn}, {Name: "b", Type: store.TextColumn}}, nil)
	l.plain = false
	l.queries = []store.Query{{Where: [][]store.Condition{{{Column: 0, Is: store.Equal}}}, Sort: -1,
		Limit: 10, Columns: []int{0, 1}}}
	record := store.AppendColumn(store.AppendColumn(nil, value[:400]), value[:400])
	elements := func(elements ...string) []byte {
		answer := appendNumber([]byte{0}, len(elements))
		for _, e := range elements {
			answer = appendElement(answer, []byte(e))
		}
		return answer
	}
	column := string(value[:400])
	scanned := string(hintMark) + "scanning the whole table\n"
	for _, test := range []struct {
		name  string
		face  face
		value []byte
		// answers
		get, put []byte
	}{
		{"binary", binaryFace{}, value, appendElement([]byte{0}, value), []byte{0}},
		{"memcached", memcachedFace{}, value, fmt.Appendf(nil, "VALUE key 0 1000\r\n%s\r\nEND\r\n", value),
			[]byte("STORED\r\n")},
		{"http", httpFace{}, value, fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n%s", value),
			[]byte("HTTP/1.1 201 Created\r\nContent-Length: 8\r\n\r\nCreated\n")},
		{"table", &tableFace{layout: l}, record, elements("a", column, "b", column), elements()},
	} {
		t.Run(test.name, func(t *testing.T) {
			socket := &canned{}
			h := newHandle(&speaker{connection: connection{Connection: wire.Connection{Server: "canned",
				Timeout: time.Minute}}, face: test.face, asked: make([]asked, 1)}, false)
			h.Use(socket)
			holds := func(what string, answer []byte, operation func() error) {
				t.Helper()
				socket.answer = answer
				allocations := testing.AllocsPerRun(100, func() {
					if err := operation(); err != nil {
						t.Fatal(what, ": ", err)
					}
				})
				if allocations > 0 {
					t.Errorf("%s: %v allocations", what, allocations)
				}
			}
			holds("put", test.put, func() error { return h.Put(key, test.value) })
			holds("get", test.get, func() error {
				got, err := h.Get(key, buf)
				if err == nil && !bytes.Equal(got, test.value) {
					return fmt.Errorf("got %d bytes", len(got))
				}
				return err
			})
			if test.name != "table" {
				return
			}
			th := &tableHandle{handle: h, search: search{layout: l}}
			found, values := 0, [][]byte{value[:400]}
			visit := func(_, _ []byte) bool { found++; return true }
			element := "\x00key\x00a\x00" + column + "\x00b\x00" + column
			holds("query", elements(element, element, scanned), func() error { return th.Query(0, values, visit) })
			if found == 0 {
				t.Error("query: nothing was found")
			}
			holds("count", elements("12", scanned), func() error {
				n, err := th.Count(0, values)
				if n != 12 {
					return fmt.Errorf("counted %d: %v", n, err)
				}
				return err
			})
		})
	}
}
