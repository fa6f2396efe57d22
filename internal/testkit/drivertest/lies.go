package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/testkit/loopback"
	"assay/store"
)

// Protocol is how a server speaks, as far as [BearsLies] lies in it.
type Protocol struct {
	// Key returns the key that a request gets; "": it is another request.
	Key func(request []byte) string
	// Found returns the answer to a get, and Missed that for a key which is not there.
	Found  func(key string, value []byte) string
	Missed string
	// Failed are answers that say why nothing was done; the first is counted with others.
	Failed []string
	// Garbled are answers to a get of the key "key" that are none, by what is wrong with them. They
	// are none to a put either, but for those that are named in Acknowledged.
	Garbled      map[string]string
	Acknowledged []string
	// Told are further answers to a get of a key, by how they must be counted.
	Told map[string]func(key string, value []byte) string
	// Unbounded says that the client takes an answer of any length.
	Unbounded bool
	// NotSaid is in no error; "": all may be said.
	NotSaid string
	// Checks says that a client whose connection was closed fails operations until it has looked
	// whether its server is up.
	Checks bool
}

// Opener opens a handle at an endpoint.
type Opener func(t *testing.T, endpoint string, options map[string]string) (store.Store, store.Handle)

// noise is of none of the protocols.
const noise = "HTTP/1.1 400 Bad Request\r\n\r\n"

// BearsLies puts a liar between a driver and a server. No lie may pass for a value, a miss or an
// acknowledgement; what is counted must be what the liar has told; no operation may be sent twice;
// and after each lie the next operation must be right again.
func BearsLies(t *testing.T, endpoint string, p Protocol, open Opener) {
	l := StartLiar(t, endpoint)
	patient := func(t *testing.T) store.Handle {
		_, h := open(t, l.Endpoint, map[string]string{"operation_timeout": "1m"})
		return h
	}
	t.Run("garbled", func(t *testing.T) { p.garbles(t, l, patient(t)) })
	t.Run("counted", func(t *testing.T) { p.counts(t, l, patient) })
	t.Run("stalled", func(t *testing.T) { p.stalls(t, l, open) })
	t.Run("flooded", func(t *testing.T) { p.floods(t, l, open) })
	t.Run("gone", func(t *testing.T) { p.hangsUp(t, l, patient) })
}

func (p Protocol) garbles(t *testing.T, l *Liar, h store.Handle) {
	key, right := []byte("key"), []byte("right")
	mustPut(t, h, key, right)
	answers := map[string]string{}
	maps.Copy(answers, p.Garbled)
	if !p.Checks {
		answers["nothing of the protocol"] = noise
	}
	for i, failed := range p.Failed {
		answers[fmt.Sprint("failure ", i)] = failed
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		answer := func(_ []byte, w io.WriteCloser) bool { return say(w, answers[name]) }
		sent := l.Once(answer)
		value, err := h.Get(key, nil)
		if outcome(value, err, nil) != "error" || p.NotSaid != "" && strings.Contains(err.Error(), p.NotSaid) {
			t.Errorf("%s: get: %.40q, %v", name, value, err)
		}
		if n := sent(); n != 1 {
			t.Errorf("%s: the get was sent %d times", name, n)
		}
		wantGet(t, h, name, key, right)
		sent = l.Once(answer)
		if err := h.Put(key, []byte("lost")); (err == nil) != slices.Contains(p.Acknowledged, name) {
			t.Errorf("%s: put: %v", name, err)
		}
		if n := sent(); n != 1 {
			t.Errorf("%s: the put was sent %d times", name, n)
		}
		wantGet(t, h, name, key, right)
	}
}

// counts has the server lie in most of its answers to four threads, each way as often.
func (p Protocol) counts(t *testing.T, l *Liar, open func(*testing.T) store.Handle) {
	const threads, each, records = 4, 400, 20
	value := func(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%02d,", i), 50) }
	first := open(t)
	for i := range records {
		mustPut(t, first, fmt.Appendf(nil, "%02d", i), value(i))
	}
	type way struct {
		outcome string
		tell    func(key string, right []byte, w io.WriteCloser) bool
	}
	ways := []way{
		{"error", func(_ string, _ []byte, w io.WriteCloser) bool { return say(w, p.Failed[0]) }},
		{"miss", func(_ string, _ []byte, w io.WriteCloser) bool { return say(w, p.Missed) }},
		{"wrong", func(key string, right []byte, w io.WriteCloser) bool { // that of another record
			return say(w, p.Found(key, bytes.Repeat([]byte("xx,"), len(right)/3)))
		}},
		{"wrong", func(key string, right []byte, w io.WriteCloser) bool { // corrupt
			right[77] ^= 1
			return say(w, p.Found(key, right))
		}},
		{"ok", func(string, []byte, io.WriteCloser) bool { return false }},
	}
	for is, answer := range p.Told {
		ways = append(ways, way{is, func(key string, right []byte, w io.WriteCloser) bool {
			return say(w, answer(key, right))
		}})
	}
	if !p.Checks {
		ways = append(ways, []way{
			{"error", func(_ string, _ []byte, w io.WriteCloser) bool { return hangUp(w, "") }},
			{"error", func(key string, right []byte, w io.WriteCloser) bool {
				whole := p.Found(key, right)
				return hangUp(w, whole[:len(whole)-100])
			}},
			{"error", func(_ string, _ []byte, w io.WriteCloser) bool { return say(w, noise) }},
		}...)
	}
	told, gets := map[string]int{}, 0 // under the liar's lock
	l.Lie(func(request []byte, w io.WriteCloser) bool {
		key := p.Key(request)
		if key == "" {
			return false
		}
		var i int
		_, _ = fmt.Sscan(key, &i)
		way := ways[gets%len(ways)]
		gets++
		told[way.outcome]++
		return way.tell(key, value(i), w)
	})
	counted := map[string]int{}
	var lock sync.Mutex
	var all sync.WaitGroup
	for thread := range threads {
		h := open(t)
		all.Go(func() {
			for n := range each {
				i := (thread + n) % records
				got, err := h.Get(fmt.Appendf(nil, "%02d", i), nil)
				is := outcome(got, err, value(i))
				lock.Lock()
				counted[is]++
				lock.Unlock()
			}
		})
	}
	all.Wait()
	l.Lie(nil)
	if gets != threads*each {
		t.Errorf("%d operations were %d requests: something was sent twice, or not at all", threads*each, gets)
	}
	if !maps.Equal(counted, told) {
		t.Errorf("counted %v, the server did %v", counted, told)
	}
}

// stalls has the server answer late, and by half: each is a timeout, and what comes late is no other
// operation's. Only the handle that meets this is impatient.
func (p Protocol) stalls(t *testing.T, l *Liar, open Opener) {
	one, two := []byte("one"), []byte("two")
	_, patient := open(t, l.Endpoint, map[string]string{"operation_timeout": "1m"})
	mustPut(t, patient, one, []byte("1"))
	mustPut(t, patient, two, []byte("2"))
	_, h := open(t, l.Endpoint, map[string]string{"operation_timeout": "300ms"})
	release, late := make(chan struct{}), make(chan struct{})
	var told sync.Once
	l.Lie(func(request []byte, w io.WriteCloser) bool {
		if p.Key(request) != "one" {
			return false
		}
		told.Do(func() {
			go func() {
				defer close(late)
				<-release
				say(w, p.Found("one", []byte("1"))) // the reader may have gone
			}()
		})
		return true
	})
	if value, err := h.Get(one, nil); !errors.Is(err, store.ErrTimeout) {
		t.Errorf("got %q, %v", value, err)
	}
	close(release)
	<-late
	wantSoon(t, h, two, []byte("2"))
	l.Lie(func(request []byte, w io.WriteCloser) bool {
		whole := p.Found("two", bytes.Repeat([]byte("v"), 100))
		return p.Key(request) != "" && say(w, whole[:len(whole)-50])
	})
	if value, err := h.Get(two, nil); !errors.Is(err, store.ErrTimeout) {
		t.Errorf("half an answer: got %q, %v", value, err)
	}
	l.Lie(nil)
	wantSoon(t, h, two, []byte("2"))
}

// floods has the server answer with much more than the store was ever given.
func (p Protocol) floods(t *testing.T, l *Liar, open Opener) {
	if p.Unbounded {
		t.Skip("the client takes answers of any length")
	}
	key, right := []byte("key"), []byte("right")
	s, h := open(t, l.Endpoint, map[string]string{"operation_timeout": "1m"})
	s.(store.Expecter).Expect(len(right))
	mustPut(t, h, key, right)
	flood := p.Found(string(key), make([]byte, 16<<20))
	// What is announced is refused before it comes: else the client has memory for all of it.
	for name, text := range map[string]string{"a flood": flood, "an announced flood": flood[:64]} {
		sent := l.Once(func(_ []byte, w io.WriteCloser) bool {
			go func() { say(w, text) }() // it is not read to its end
			return true
		})
		value, err := h.Get(key, nil)
		if err == nil || !strings.Contains(err.Error(), "at once, expected at most") || len(value) > 0 {
			t.Errorf("%s: got %d bytes, %v", name, len(value), err)
		}
		if n := sent(); n != 1 {
			t.Errorf("%s: asked %d times", name, n)
		}
		wantGet(t, h, name, key, right)
	}
	longer := bytes.Repeat(right, 1000)
	l.Once(func(_ []byte, w io.WriteCloser) bool { return say(w, p.Found(string(key), longer)) })
	wantGet(t, h, "a lie that is not much longer: for the worker to see", key, longer)
	wantGet(t, h, "it", key, right)
}

// ReadsNoFlood holds a store to the length of values that it was opened for: a record that is much
// longer is not read, and the next operation is right again.
func ReadsNoFlood(t *testing.T, d store.Driver, c store.Config) {
	t.Helper()
	key, right := []byte("key"), []byte("right")
	s, h := Open(t, d, c)
	mustPut(t, h, key, make([]byte, 6<<20))
	s.(store.Expecter).Expect(len(right))
	value, err := h.Get(key, nil)
	if err == nil || !strings.Contains(err.Error(), "at once, expected at most") || len(value) > 0 {
		t.Errorf("got %d bytes, %v", len(value), err)
	}
	mustPut(t, h, key, right)
	wantGet(t, h, "a flood", key, right)
	if scanner, is := h.(store.Scanner); is {
		seen := 0
		err := scanner.Scan(key, 2, func(_, value []byte) bool { seen += len(value); return true })
		if err != nil || seen != len(right) {
			t.Errorf("a scan saw %d bytes, %v", seen, err)
		}
	}
	if err := h.Delete(key); err != nil {
		t.Error(err)
	}
}

// hangsUp has the server close its connections: each operation fails once, and the next one after it
// came back connects anew.
func (p Protocol) hangsUp(t *testing.T, l *Liar, open func(*testing.T) store.Handle) {
	key := []byte("no-such-key")
	for name, operate := range map[string]func(h store.Handle) error{
		"get":    func(h store.Handle) error { _, err := h.Get(key, nil); return err },
		"put":    func(h store.Handle) error { return h.Put(key, nil) },
		"delete": func(h store.Handle) error { return h.Delete(key) },
		"add": func(h store.Handle) error {
			if h, has := h.(store.Adder); has {
				return h.Add(key, nil)
			}
			return nil
		},
		"swap": func(h store.Handle) error {
			if h, has := h.(store.CompareAndSwapper); has {
				return h.CompareAndSwap(key, nil, nil)
			}
			return nil
		},
		"batch": func(h store.Handle) error {
			if h, has := h.(store.Batcher); has {
				return h.Apply([]store.Write{{Key: key}})
			}
			return nil
		},
	} {
		h := open(t)
		if _, err := h.Get(key, nil); !errors.Is(err, store.ErrNotFound) { // it is connected now
			t.Errorf("%s: a get before it: %v", name, err)
		}
		sent := l.Once(func(_ []byte, w io.WriteCloser) bool { return hangUp(w, "") })
		err := operate(h)
		n := sent()
		if optional := []string{"add", "swap", "batch"}; n == 0 && slices.Contains(optional, name) {
			continue // it has no such ability
		}
		if outcome(nil, err, nil) != "error" || n != 1 {
			t.Errorf("%s, sent %d times: %v", name, n, err)
		}
		for p.Checks && outcomeOf(h, key) == "error" {
			time.Sleep(time.Millisecond)
		}
		if _, err := h.Get(key, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: a get after it came back: %v", name, err)
		}
	}
}

// outcome is how a worker counts what a get has returned.
func outcome(got []byte, err error, want []byte) string {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "miss"
	case errors.Is(err, store.ErrConflict):
		return "conflict"
	case errors.Is(err, store.ErrTimeout):
		return "timeout"
	case err != nil:
		return "error"
	case bytes.Equal(got, want):
		return "ok"
	}
	return "wrong"
}

func outcomeOf(h store.Handle, key []byte) string {
	got, err := h.Get(key, nil)
	return outcome(got, err, nil)
}

func mustPut(t *testing.T, h store.Handle, key, value []byte) {
	t.Helper()
	if err := h.Put(key, value); err != nil {
		t.Fatal(err)
	}
}

func wantGet(t *testing.T, h store.Handle, after string, key, want []byte) {
	t.Helper()
	if got, err := h.Get(key, nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("after %s: get %s: %.40q, %v; want %.40q", after, key, got, err, want)
	}
}

// wantSoon is wantGet of an impatient handle, whose operations time out on a busy machine.
func wantSoon(t *testing.T, h store.Handle, key, want []byte) {
	t.Helper()
	for {
		got, err := h.Get(key, nil)
		if errors.Is(err, store.ErrTimeout) {
			continue
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("get %s: %.40q, %v; want %.40q", key, got, err, want)
		}
		return
	}
}

// Liar stands between a client and a server, and hands on what they say, but where it lies.
type Liar struct {
	Endpoint string
	lock     sync.Mutex
	lie      func(request []byte, w io.WriteCloser) bool
}

// StartLiar listens on loopback until the test ends.
func StartLiar(t testing.TB, server string) *Liar {
	t.Helper()
	l := &Liar{}
	l.Endpoint = loopback.Listen(t, func(client net.Conn) { l.Relay(client, server) })
	return l
}

// Relay serves one connection.
func (l *Liar) Relay(client net.Conn, server string) {
	real, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer func() { _ = real.Close() }()
	go func() { _, _ = io.Copy(client, real) }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		l.lock.Lock()
		lied := l.lie != nil && l.lie(buffer[:n], client)
		l.lock.Unlock()
		if lied {
			continue
		}
		if _, err := real.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Lie has each request from now on given to lie: if that returns true, it has written the answer
// itself (or nothing, for a stall), and the server does not see the request. nil: no more.
func (l *Liar) Lie(lie func(request []byte, w io.WriteCloser) bool) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.lie = lie
}

// Once lies to the next request. sent ends it, and returns how many requests there were.
func (l *Liar) Once(lie func(request []byte, w io.WriteCloser) bool) (sent func() int) {
	n := 0 // under the lock
	l.Lie(func(request []byte, w io.WriteCloser) bool {
		n++
		return n == 1 && lie(request, w)
	})
	return func() int {
		l.Lie(nil)
		return n
	}
}

// say and hangUp write a lie; the client may have closed its end.
func say(w io.Writer, answer string) bool {
	_, _ = io.WriteString(w, answer)
	return true
}

func hangUp(w io.WriteCloser, answer string) bool {
	_, _ = io.WriteString(w, answer)
	_ = w.Close()
	return true
}
