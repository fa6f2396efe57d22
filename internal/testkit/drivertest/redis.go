package drivertest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/testkit/loopback"
	"assay/store"
)

// RedisStandIn answers RESP2 and RESP3, as far as the driver speaks it, and lies where a test wants it to.
type RedisStandIn struct {
	Endpoint string

	// Settings are what it tells of itself.
	Settings map[string]string
	// Info is what it tells of its state, beside the number of its records.
	Info map[string]string

	// lie, if it returns true, has written the answer to this request itself (or nothing, for a
	// stall).
	lie func(request []string, w io.Writer) bool

	lock    sync.Mutex
	strings map[string]string
	hashes  map[string]map[string]string
	changes map[string]int // how often each key was written: what WATCH compares
	written map[string]time.Time
	nothing string // a bulk that is not there, in the protocol of the request
}

// StartRedisStandIn listens on loopback until the test ends. Its settings give a durability class.
func StartRedisStandIn(t testing.TB, class store.Durability) *RedisStandIn {
	t.Helper()
	s := &RedisStandIn{
		Settings: map[string]string{
			"appendonly": "yes", "appendfsync": map[store.Durability]string{store.D1: "no", store.D2: "everysec", store.D3: "always"}[class],
			"no-appendfsync-on-rewrite": "no", "maxmemory": "0", "maxmemory-policy": "noeviction", "requirepass": "hunter2",
		},
		Info: map[string]string{
			"redis_version": "stand-in", "role": "master", "cluster_enabled": "0", "connected_clients": "1", "used_memory": "1000",
			"aof_last_write_status": "ok", "aof_last_bgrewrite_status": "ok", "aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0",
		},
		strings: map[string]string{}, hashes: map[string]map[string]string{}, changes: map[string]int{},
		written: map[string]time.Time{},
	}
	if class == store.D0 {
		s.Settings["appendonly"] = "no"
	}
	s.Endpoint = loopback.Listen(t, s.serve)
	return s
}

// Forget drops the strings that were written at moments of a kind, as a crash may.
func (s *RedisStandIn) Forget(lost func(written time.Time) bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	maps.DeleteFunc(s.strings, func(key, _ string) bool { return lost(s.written[key]) })
}

// SetLie makes the server lie, from its next request on; nil: no more.
func (s *RedisStandIn) SetLie(lie func(request []string, w io.Writer) bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.lie = lie
}

// redisSession is what the server knows of a connection.
type redisSession struct {
	watched map[string]int
	queued  [][]string
	inMulti bool
	resp3   bool
}

func (s *RedisStandIn) serve(socket net.Conn) {
	r, w := bufio.NewReader(socket), bufio.NewWriter(socket)
	session := &redisSession{watched: map[string]int{}}
	for {
		request, err := readRequest(r)
		if err != nil {
			return
		}
		answer, lied := s.answer(request, session, &liar{w, socket})
		if lied {
			continue
		}
		_, _ = w.WriteString(answer)
		if r.Buffered() == 0 && w.Flush() != nil { // as the real one: the answers to a pipeline in one write
			return
		}
	}
}

// liar writes a lie behind the answers that wait for the end of a pipeline.
type liar struct {
	answers *bufio.Writer
	socket  net.Conn
}

func (l *liar) Write(p []byte) (int, error) {
	if err := l.answers.Flush(); err != nil {
		return 0, err
	}
	return l.socket.Write(p)
}

func (l *liar) Close() error { return l.socket.Close() }

func readRequest(r *bufio.Reader) ([]string, error) {
	count, err := readNumber(r, '*')
	if err != nil {
		return nil, err
	}
	request := make([]string, count)
	for i := range request {
		length, err := readNumber(r, '$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, length+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		if string(text[length:]) != "\r\n" {
			return nil, errors.New("a bulk without its end")
		}
		request[i] = string(text[:length])
	}
	return request, nil
}

func readNumber(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("expected %q, got %q", kind, line)
	}
	return strconv.Atoi(strings.TrimRight(line[1:], "\r\n"))
}

func (s *RedisStandIn) answer(request []string, session *redisSession, w io.Writer) (answer string, lied bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lie != nil && s.lie(request, w) {
		return "", true
	}
	name := strings.ToUpper(request[0])
	if session.inMulti && name != "EXEC" {
		session.queued = append(session.queued, request)
		return "+QUEUED\r\n", false
	}
	if s.nothing = "$-1\r\n"; session.resp3 {
		s.nothing = "_\r\n"
	}
	switch name {
	case "HELLO":
		if slices.Contains(request, "AUTH") && request[len(request)-1] != s.Settings["requirepass"] {
			return "-WRONGPASS invalid username-password pair or user is disabled.\r\n", false
		}
		if session.resp3 = request[1] == "3"; !session.resp3 {
			return "*2\r\n" + bulk("modules") + "*0\r\n", false
		}
		return "%2\r\n" + bulk("proto") + ":3\r\n" + bulk("modules") + "*0\r\n", false
	case "WATCH":
		session.watched[request[1]] = s.changes[request[1]]
		return "+OK\r\n", false
	case "UNWATCH":
		clear(session.watched)
		return "+OK\r\n", false
	case "MULTI":
		session.inMulti = true
		return "+OK\r\n", false
	case "EXEC":
		return s.execute(session), false
	}
	return s.operate(name, request), false
}

// execute is called with the lock held.
func (s *RedisStandIn) execute(session *redisSession) string {
	queued, watched := session.queued, maps.Clone(session.watched)
	*session = redisSession{watched: map[string]int{}, resp3: session.resp3}
	for key, changes := range watched {
		if s.changes[key] != changes {
			if session.resp3 {
				return s.nothing
			}
			return "*-1\r\n"
		}
	}
	answer := fmt.Sprintf("*%d\r\n", len(queued))
	for _, request := range queued {
		answer += s.operate(strings.ToUpper(request[0]), request)
	}
	return answer
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// operate is called with the lock held.
func (s *RedisStandIn) operate(name string, request []string) string {
	switch name {
	case "PING":
		return "+PONG\r\n"
	case "AUTH":
		if request[len(request)-1] != s.Settings["requirepass"] {
			return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
		}
		return "+OK\r\n"
	case "SELECT":
		return "+OK\r\n"
	case "DBSIZE":
		return fmt.Sprintf(":%d\r\n", len(s.strings)+len(s.hashes))
	case "FLUSHDB":
		clear(s.strings)
		clear(s.hashes)
		return "+OK\r\n"
	case "INFO":
		text := fmt.Sprintf("# Keyspace\r\ndb0:keys=%d,expires=0\r\n", len(s.strings)+len(s.hashes))
		for key, value := range s.Info {
			text += key + ":" + value + "\r\n"
		}
		return bulk(text)
	case "CONFIG":
		answer := fmt.Sprintf("*%d\r\n", 2*len(s.Settings))
		for key, value := range s.Settings {
			answer += bulk(key) + bulk(value)
		}
		return answer
	}
	if len(request) < 2 {
		return "-ERR unknown command\r\n"
	}
	return s.operateOn(request[1], name, request)
}

func (s *RedisStandIn) operateOn(key, name string, request []string) string {
	value, isString := s.strings[key]
	hash, isHash := s.hashes[key]
	there := 0
	if isString || isHash {
		there = 1
	}
	switch name {
	case "GET":
		if !isString {
			return s.nothing
		}
		return bulk(value)
	case "SET":
		if len(request) > 3 && there == 1 { // NX
			return s.nothing
		}
		s.strings[key], s.written[key] = request[2], time.Now()
		s.changes[key]++
		return "+OK\r\n"
	case "EXISTS":
		return fmt.Sprintf(":%d\r\n", there)
	case "DEL":
		delete(s.strings, key)
		delete(s.hashes, key)
		s.changes[key] += there
		return fmt.Sprintf(":%d\r\n", there)
	case "HSET":
		if !isHash {
			hash = map[string]string{}
			s.hashes[key] = hash
		}
		before := len(hash)
		for i := 2; i+1 < len(request); i += 2 {
			hash[request[i]] = request[i+1]
		}
		s.changes[key]++
		return fmt.Sprintf(":%d\r\n", len(hash)-before)
	case "HMGET":
		answer := fmt.Sprintf("*%d\r\n", len(request)-2)
		for _, field := range request[2:] {
			if column, there := hash[field]; there {
				answer += bulk(column)
			} else {
				answer += s.nothing
			}
		}
		return answer
	}
	return "-ERR unknown command\r\n"
}
