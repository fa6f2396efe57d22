package drivertest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assay/internal/testkit/loopback"
	"assay/internal/testkit/riakstandin"
	"assay/store"
)

// StandIn answers memcached's text protocol, as far as the driver speaks it, and lies where a test
// wants it to.
type StandIn struct {
	Endpoint string

	// lie, if it returns true, has written the answer to this request line itself (or nothing, for
	// a stall).
	lie func(request string, w io.Writer) bool

	lock  sync.Mutex
	items map[string]item
	token uint64
}

type item struct {
	value []byte
	token uint64
}

// StartStandIn listens on loopback until the test ends.
func StartStandIn(t testing.TB) *StandIn {
	t.Helper()
	s := &StandIn{items: make(map[string]item)}
	s.Endpoint = loopback.Listen(t, s.serve)
	return s
}

// StandInFor returns the endpoint of a stand-in for the server of a driver that gives a class; ""
// if there is none.
func StandInFor(t testing.TB, driver string, class store.Durability) (endpoint string) {
	t.Helper()
	switch driver {
	case "memcached":
		return StartStandIn(t).Endpoint
	case "redis":
		return StartRedisStandIn(t, class).Endpoint
	case "riak":
		return riakstandin.Start(t, riakNodes).Endpoints[0]
	}
	return ""
}

// riakNodes are enough for D4.
const riakNodes = 3

func (s *StandIn) serve(socket net.Conn) {
	r := bufio.NewReader(socket)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		answer, err := s.answer(strings.TrimRight(line, "\r\n"), r, socket)
		if err != nil {
			return
		}
		if _, err := io.WriteString(socket, answer); err != nil {
			return
		}
	}
}

func (s *StandIn) answer(line string, r io.Reader, w io.Writer) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "ERROR\r\n", nil
	}
	var value []byte
	if stores := words[0] == "set" || words[0] == "add" || words[0] == "cas"; stores {
		if len(words) < 5 {
			return "ERROR\r\n", nil
		}
		length, err := strconv.Atoi(words[4])
		if err != nil {
			return "CLIENT_ERROR bad command line format\r\n", nil
		}
		value = make([]byte, length+2)
		if _, err := io.ReadFull(r, value); err != nil {
			return "", err
		}
		if string(value[length:]) != "\r\n" {
			return "", errors.New("a value without its end")
		}
		value = value[:length]
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lie != nil && s.lie(line, w) {
		return "", nil
	}
	switch words[0] {
	case "version":
		return "VERSION stand-in\r\n", nil
	case "stats":
		return fmt.Sprintf("STAT curr_items %d\r\nSTAT version stand-in\r\nEND\r\n", len(s.items)), nil
	}
	if len(words) < 2 {
		return "ERROR\r\n", nil
	}
	return s.operate(words, value), nil
}

// operate is called with the lock held.
func (s *StandIn) operate(words []string, value []byte) string {
	key := words[1]
	old, there := s.items[key]
	switch words[0] {
	case "get", "gets":
		if !there {
			return "END\r\n"
		}
		token := ""
		if words[0] == "gets" {
			token = fmt.Sprintf(" %d", old.token)
		}
		return fmt.Sprintf("VALUE %s 0 %d%s\r\n%s\r\nEND\r\n", key, len(old.value), token, old.value)
	case "delete":
		if !there {
			return "NOT_FOUND\r\n"
		}
		delete(s.items, key)
		return "DELETED\r\n"
	case "add":
		if there {
			return "NOT_STORED\r\n"
		}
	case "cas":
		if !there {
			return "NOT_FOUND\r\n"
		}
		if words[5] != strconv.FormatUint(old.token, 10) {
			return "EXISTS\r\n"
		}
	case "set":
	default:
		return "ERROR\r\n"
	}
	s.token++
	s.items[key] = item{value, s.token}
	return "STORED\r\n"
}

// SetLie makes the server lie, from its next request on; nil: no more.
func (s *StandIn) SetLie(lie func(request string, w io.Writer) bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.lie = lie
}
