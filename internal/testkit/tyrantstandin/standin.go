// Package tyrantstandin stands in for a Tokyo Tyrant server in tests: no package has the real one. It was
// written from the protocol (spex.html of Tokyo Tyrant 1.1.41) and Tokyo Cabinet's abstract API, as
// far as the driver speaks it, and lies where a test wants it to. What it and the real server were
// seen to do differently stands in docs/servers/tokyo-tyrant.md.
package tyrantstandin

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assay/store"

	"assay/internal/testkit/loopback"
)

// The kinds of database, as stat reports them.
const (
	Hash       = "hash"
	MemoryHash = "on-memory hash"
	Tree       = "B+ tree"
	Table      = "table"
)

// Server is a stand-in.
type Server struct {
	Endpoint string
	kind     string

	lock    sync.Mutex
	lie     func(what string, answer []byte) []byte
	records map[string][]byte            // of all kinds but a table
	rows    map[string]map[string]string // of a table
	indexes map[string]string            // of a table: the kind by the column
	counts  map[string]int               // of commands
}

// Start listens on loopback until the test ends.
func Start(t testing.TB, kind string) *Server {
	t.Helper()
	s := &Server{kind: kind, records: map[string][]byte{}, rows: map[string]map[string]string{},
		indexes: map[string]string{}, counts: map[string]int{}}
	s.Endpoint = loopback.Listen(t, s.serve)
	return s
}

// For returns the endpoint of a stand-in for the server of a driver that gives a class; "" if there
// is none.
func For(t testing.TB, driver string, class store.Durability) (endpoint string) {
	t.Helper()
	kind := map[string]string{"tokyotyrant": Hash, "tokyotyrant-btree": Tree, "tokyotyrant-table": Table}[driver]
	if kind == "" {
		return ""
	}
	if kind == Hash && class == store.D0 {
		kind = MemoryHash
	}
	return Start(t, kind).Endpoint
}

// SetLie makes the server answer what lie returns in place of its answer; nil from lie: it hangs
// up; an empty answer: it stays silent. What was asked is the command, or the function of misc.
func (s *Server) SetLie(lie func(what string, answer []byte) []byte) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.lie = lie
}

// request is what a connection asks for, and how it wants the answer.
type request struct {
	what       string
	key, value []byte
	arguments  [][]byte // of misc
	format     func(a answer) []byte
}

// answer is what the server found or did.
type answer struct {
	done     bool
	value    []byte   // of get
	elements [][]byte // of misc
}

func (s *Server) serve(socket net.Conn) {
	r := bufio.NewReader(socket)
	for {
		first, err := r.Peek(1)
		if err != nil {
			return
		}
		var asked request
		switch {
		case first[0] == 0xC8:
			asked, err = readBinary(r)
		default:
			asked, err = readText(r)
		}
		if err != nil {
			return
		}
		out := s.answer(asked)
		if out == nil {
			return
		}
		if _, err := socket.Write(out); err != nil {
			return
		}
	}
}

func (s *Server) answer(asked request) []byte {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.counts[asked.what]++
	out := asked.format(s.do(asked))
	if s.lie != nil {
		return s.lie(asked.what, out)
	}
	return out
}

// do is called with the lock held.
func (s *Server) do(asked request) answer {
	key := string(asked.key)
	switch asked.what {
	case "sync":
		return answer{done: true}
	case "vanish":
		clear(s.records)
		clear(s.rows)
		return answer{done: true}
	case "rnum":
		return answer{done: true, value: binary.BigEndian.AppendUint64(nil, s.size())}
	case "stat":
		return answer{done: true, value: s.stat()}
	}
	if s.kind == Table {
		return s.doTable(asked)
	}
	old, there := s.records[key]
	switch asked.what {
	case "get":
		return answer{done: there, value: old}
	case "putkeep":
		if there {
			return answer{}
		}
		fallthrough
	case "put", "putnr":
		s.records[key] = asked.value
		return answer{done: true}
	case "out":
		delete(s.records, key)
		return answer{done: there}
	case "misc putlist":
		for pair := range slices.Chunk(asked.arguments, 2) {
			if _, there := s.records[string(pair[0])]; there && s.kind == Tree {
				continue // a duplicate: get gives the first
			}
			s.records[string(pair[0])] = pair[1]
		}
		return answer{done: true}
	case "misc outlist":
		for _, key := range asked.arguments {
			delete(s.records, string(key))
		}
		return answer{done: true}
	case "misc range":
		return s.scan(asked.arguments)
	}
	return answer{}
}

func (s *Server) size() uint64 { return uint64(len(s.records) + len(s.rows)) }

func (s *Server) stat() []byte {
	text := fmt.Sprintf("version\tstand-in\ntype\t%s\nrnum\t%d\nsize\t1000\nmemsize\t1000\nmemrss\t1000\nru_user\t0.5\nru_sys\t0.5\n",
		s.kind, s.size())
	for _, name := range []string{"put", "putkeep", "putnr", "out", "get", "misc"} {
		text += fmt.Sprintf("cnt_%s\t%d\n", name, s.counts[name])
	}
	return []byte(text)
}

func (s *Server) scan(arguments [][]byte) answer {
	if s.kind != Tree || len(arguments) < 2 {
		return answer{}
	}
	limit, err := strconv.Atoi(string(arguments[1]))
	if err != nil {
		return answer{}
	}
	var keys []string
	for key := range s.records {
		if key >= string(arguments[0]) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	found := answer{done: true}
	for _, key := range keys[:min(limit, len(keys))] {
		found.elements = append(found.elements, []byte(key), s.records[key])
	}
	return found
}

// readBinary reads a request of the binary protocol.
func readBinary(r *bufio.Reader) (asked request, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return asked, err
	}
	read := func(n uint32) (b []byte) {
		if err == nil {
			b = make([]byte, n)
			_, err = io.ReadFull(r, b)
		}
		return b
	}
	number := func() uint32 {
		if b := read(4); err == nil {
			return binary.BigEndian.Uint32(b)
		}
		return 0
	}
	asked.format = func(a answer) []byte { return code(a.done) }
	valued := func(a answer) []byte {
		if !a.done {
			return code(false)
		}
		return element(code(true), a.value)
	}
	switch head[1] {
	case 0x10, 0x11, 0x18:
		asked.what = map[byte]string{0x10: "put", 0x11: "putkeep", 0x18: "putnr"}[head[1]]
		keyBytes, valueBytes := number(), number()
		asked.key, asked.value = read(keyBytes), read(valueBytes)
		if head[1] == 0x18 {
			asked.format = func(answer) []byte { return []byte{} }
		}
	case 0x20:
		asked.what, asked.key = "out", read(number())
	case 0x30:
		asked.what, asked.key = "get", read(number())
		asked.format = valued
	case 0x70:
		asked.what = "sync"
	case 0x72:
		asked.what = "vanish"
	case 0x80:
		asked.what = "rnum"
		asked.format = func(a answer) []byte { return append(code(true), a.value...) }
	case 0x88:
		asked.what, asked.format = "stat", valued
	case 0x90:
		nameBytes, _, count := number(), number(), number()
		asked.what = "misc " + string(read(nameBytes))
		for range count {
			asked.arguments = append(asked.arguments, read(number()))
		}
		asked.format = func(a answer) []byte {
			out := binary.BigEndian.AppendUint32(code(a.done), uint32(len(a.elements)))
			for _, e := range a.elements {
				out = element(out, e)
			}
			return out
		}
	default:
		return asked, fmt.Errorf("unknown command %#x", head[1])
	}
	return asked, err
}

func code(done bool) []byte {
	if done {
		return []byte{0}
	}
	return []byte{1}
}

func element(out, bytes []byte) []byte {
	return append(binary.BigEndian.AppendUint32(out, uint32(len(bytes))), bytes...)
}

// readText reads a request of the memcached or the HTTP face.
func readText(r *bufio.Reader) (asked request, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return asked, err
	}
	words := strings.Fields(line)
	switch {
	case len(words) == 3 && strings.HasPrefix(words[2], "HTTP/1."):
		return readHTTP(r, words[0], strings.TrimPrefix(words[1], "/"))
	case len(words) == 2 && words[0] == "get":
		asked.what, asked.key = "get", []byte(words[1])
		asked.format = func(a answer) []byte {
			if !a.done {
				return []byte("END\r\n")
			}
			return fmt.Appendf(nil, "VALUE %s 0 %d\r\n%s\r\nEND\r\n", words[1], len(a.value), a.value)
		}
	case len(words) == 2 && words[0] == "delete":
		asked.what, asked.key, asked.format = "out", []byte(words[1]), either("DELETED\r\n", "NOT_FOUND\r\n")
	case len(words) == 5 && (words[0] == "set" || words[0] == "add"):
		length, err := strconv.Atoi(words[4])
		if err != nil {
			return asked, err
		}
		value := make([]byte, length+2)
		if _, err := io.ReadFull(r, value); err != nil {
			return asked, err
		}
		asked.what, asked.key, asked.value = "put", []byte(words[1]), value[:length]
		asked.format = either("STORED\r\n", "SERVER_ERROR unexpected\r\n")
		if words[0] == "add" {
			asked.what, asked.format = "putkeep", either("STORED\r\n", "NOT_STORED\r\n")
		}
	default:
		return asked, fmt.Errorf("unknown request %q", line)
	}
	return asked, nil
}

func either(done, not string) func(answer) []byte {
	return func(a answer) []byte {
		if a.done {
			return []byte(done)
		}
		return []byte(not)
	}
}

func readHTTP(r *bufio.Reader, method, path string) (asked request, err error) {
	length, mode := 0, ""
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return asked, err
		}
		name, value, more := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return asked, err
			}
		case "x-tt-pdmode":
			mode = value
		}
		if !more {
			break
		}
	}
	if asked.key, err = decode(path); err != nil {
		return asked, err
	}
	asked.value = make([]byte, length)
	if _, err := io.ReadFull(r, asked.value); err != nil {
		return asked, err
	}
	reply := func(done string, not string) func(answer) []byte {
		return func(a answer) []byte {
			status, body := not, []byte(not[4:]+"\n")
			if a.done {
				if status, body = done, []byte(done[4:]+"\n"); asked.what == "get" {
					body = a.value
				}
			}
			return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s",
				status, len(body), body)
		}
	}
	switch {
	case method == "GET":
		asked.what, asked.format = "get", reply("200 OK", "404 Not Found")
	case method == "DELETE":
		asked.what, asked.format = "out", reply("200 OK", "404 Not Found")
	case method == "PUT" && mode == "1":
		asked.what, asked.format = "putkeep", reply("201 Created", "409 Conflict")
	case method == "PUT":
		asked.what, asked.format = "put", reply("201 Created", "500 Internal Server Error")
	default:
		return asked, fmt.Errorf("unknown method %q", method)
	}
	return asked, nil
}

func decode(path string) (key []byte, err error) {
	for len(path) > 0 {
		if path[0] != '%' {
			key, path = append(key, path[0]), path[1:]
			continue
		}
		if len(path) < 3 {
			return nil, fmt.Errorf("a path that ends in %q", path)
		}
		b, err := strconv.ParseUint(path[1:3], 16, 8)
		if err != nil {
			return nil, err
		}
		key, path = append(key, byte(b)), path[3:]
	}
	return bytes.Clone(key), nil
}
