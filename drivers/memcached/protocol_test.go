package memcached_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/drivers/memcached"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

var protocols = []string{"text", "meta", "binary", "udp"}

// startWithUDP runs the real server, which speaks each protocol, until the test ends.
func startWithUDP(t testing.TB) (endpoint string) {
	t.Helper()
	return drivertest.StartServer(t, memcached.Program, store.D0, map[string]string{"udp": "true"}).Endpoint()
}

func TestEachProtocolDoesEachOperation(t *testing.T) {
	t.Parallel()
	endpoint := startWithUDP(t)
	text, reader := open(t, endpoint, nil)
	for _, protocol := range protocols {
		given := map[string]string{"protocol": protocol, "operation_timeout": "1m"}
		s, h := open(t, endpoint, given)
		t.Run(protocol, func(t *testing.T) { operate(t, h, reader, protocol) })
		if told := s.Settings(); told["driver.protocol"] != protocol || told["maxbytes"] != text.Settings()["maxbytes"] {
			t.Errorf("%s: settings: %v", protocol, told)
		}
		if told := s.(store.Inspector).Inspect().Stats; told["curr_items"] == 0 || told["cmd_set"] == 0 {
			t.Errorf("%s: statistics: %v", protocol, told)
		}
		if protocol == "udp" {
			if _, err := s.(store.Asynchronous).Loop(1, 1); !errors.Is(err, store.ErrRefused) {
				t.Errorf("asynchronous by UDP: %v", err)
			}
			continue
		}
		t.Run(protocol+" lane", func(t *testing.T) { operate(t, drivertest.Async(t, s), reader, protocol+"-lane") })
	}
}

// operate goes through the outcomes of each operation. What one protocol has stored, the text
// protocol reads.
func operate(t *testing.T, h, reader store.Handle, name string) {
	for i, value := range [][]byte{
		[]byte("value"), {}, []byte("\r\nEND\r\n"), bytes.Repeat([]byte("x"), 1380), bytes.Repeat([]byte("y"), 16<<10-20),
		bytes.Repeat([]byte{0, 1, '\n'}, 20_000),
	} {
		key := fmt.Sprintf("%s-%d", name, i)
		if err := h.Put([]byte(key), value); err != nil {
			t.Fatal(err)
		}
		wantGet(t, h, key, value)
		wantGet(t, reader, key, value)
	}
	key := []byte(strings.Repeat("k", 250-len(name)) + name)
	add, swap := h.(store.Adder).Add, h.(store.CompareAndSwapper).CompareAndSwap
	if err := add(key, []byte("one")); err != nil {
		t.Error(err)
	}
	if err := add(key, []byte("two")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("add of a key that is there: %v", err)
	}
	if err := swap(key, []byte("one"), []byte("two")); err != nil {
		t.Error(err)
	}
	if err := swap(key, []byte("one"), []byte("three")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap of an old value: %v", err)
	}
	wantGet(t, reader, string(key), []byte("two"))
	if err := h.Delete(key); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"get": second(h.Get(key, nil)), "delete": h.Delete(key), "swap": swap(key, nil, nil),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of a key that is not there: %v", what, err)
		}
	}
	if err := h.Put(key, make([]byte, 1<<20+1)); err == nil {
		t.Error("a value above 1 MiB was taken")
	}
	wantGet(t, h, name+"-0", []byte("value"))
}

// Of two swaps on one value, one is a conflict: the token decides, not what was read.
func TestEachProtocolSwapsInOneStep(t *testing.T) {
	t.Parallel()
	endpoint := startWithUDP(t)
	for _, protocol := range protocols {
		s, h := open(t, endpoint, map[string]string{"protocol": protocol, "operation_timeout": "1m"})
		const threads, each = 4, 50
		key := []byte("n-" + protocol)
		if err := h.Put(key, []byte("0")); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range threads {
			h, err := s.Handle()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = h.Close() }()
			all.Go(func() {
				for done := 0; done < each; {
					now, err := h.Get(key, nil)
					if err != nil {
						t.Error(err)
						return
					}
					now = bytes.Clone(now)
					var n int
					_, _ = fmt.Sscan(string(now), &n)
					switch err := h.(store.CompareAndSwapper).CompareAndSwap(key, now, fmt.Append(nil, n+1)); {
					case err == nil:
						done++
					case !errors.Is(err, store.ErrConflict):
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		wantGet(t, h, string(key), fmt.Append(nil, threads*each))
	}
}

func TestNoProtocolAllocates(t *testing.T) {
	endpoint := startWithUDP(t)
	for _, protocol := range protocols {
		_, h := open(t, endpoint, map[string]string{"protocol": protocol})
		allocatesNothing(t, protocol, h)
	}
}

// mail stands between a client and the real server by UDP. Its way may change what the server's
// answer to the next request becomes.
type mail struct {
	endpoint string
	lock     sync.Mutex
	requests int
	way      func(answer [][]byte) [][]byte
}

// startMail hands requests on, one at a time, and collects each answer before it goes on.
func startMail(t *testing.T, server string) *mail {
	t.Helper()
	here, tcp := listenTwice(t) // statistics are asked for by TCP
	real, err := net.Dial("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = here.Close(), tcp.Close(), real.Close() })
	m := &mail{endpoint: here.LocalAddr().String()}
	relay := &drivertest.Liar{} // which does not lie
	go func() {
		for {
			client, err := tcp.Accept()
			if err != nil {
				return
			}
			go relay.Relay(client, server)
		}
	}()
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, client, err := here.ReadFrom(buffer)
			if err != nil {
				return // the test has ended
			}
			if _, err := real.Write(buffer[:n]); err != nil {
				return
			}
			var answer [][]byte
			for total := 1; len(answer) < total; {
				n, err := real.Read(buffer)
				if err != nil {
					return
				}
				answer = append(answer, bytes.Clone(buffer[:n]))
				total = int(binary.BigEndian.Uint16(buffer[4:]))
			}
			m.lock.Lock()
			m.requests++
			if m.way != nil {
				answer, m.way = m.way(answer), nil
			}
			m.lock.Unlock()
			for _, one := range answer {
				_, _ = here.WriteTo(one, client)
			}
		}
	}()
	return m
}

// listenTwice listens at one port by both.
func listenTwice(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	for {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err == nil {
			return udp, tcp
		}
		_ = tcp.Close()
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
}

func (m *mail) set(way func(answer [][]byte) [][]byte) (requestsBefore int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.way = way
	return m.requests
}

func TestDatagramsThatAreLostLateTwiceAndOutOfOrder(t *testing.T) {
	t.Parallel()
	m := startMail(t, startWithUDP(t))
	s, h := open(t, m.endpoint, map[string]string{"protocol": "udp", "operation_timeout": "2s"})
	large, other := bytes.Repeat([]byte("0123456789"), 1000), bytes.Repeat([]byte("z"), 9000)
	for key, value := range map[string][]byte{"large": large, "other": other} {
		if err := h.Put([]byte(key), value); err != nil {
			t.Fatal(err)
		}
	}
	var late [][]byte
	for name, test := range map[string]struct {
		way  func(answer [][]byte) [][]byte
		fine bool
		is   error
	}{
		"out of order": {way: func(a [][]byte) [][]byte {
			a[0], a[1], a[3], a[6] = a[6], a[3], a[0], a[1]
			return a
		}, fine: true},
		"twice":           {way: func(a [][]byte) [][]byte { return append([][]byte{a[0], a[0], a[1], a[0], a[2], a[1]}, a[2:]...) }, fine: true},
		"of another":      {way: func(a [][]byte) [][]byte { return append([][]byte{renumbered(a[0])}, a...) }, fine: true},
		"a short one":     {way: func(a [][]byte) [][]byte { return append([][]byte{{1, 2, 3}}, a...) }, fine: true},
		"one is lost":     {way: func(a [][]byte) [][]byte { return append(a[:2:2], a[3:]...) }, is: store.ErrTimeout},
		"all are lost":    {way: func(a [][]byte) [][]byte { late = a; return nil }, is: store.ErrTimeout},
		"a wrong total":   {way: func(a [][]byte) [][]byte { a[1][5]++; return a }},
		"none of none":    {way: func(a [][]byte) [][]byte { a[0][5] = 0; return a }},
		"ends too early":  {way: func(a [][]byte) [][]byte { a[0][5] = 1; return a[:1] }},
		"another request": {way: func(a [][]byte) [][]byte { return [][]byte{renumbered(a[0])} }, is: store.ErrTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			before := m.set(test.way)
			got, err := h.Get([]byte("large"), nil)
			if test.fine && (err != nil || !bytes.Equal(got, large)) || !test.fine && (err == nil || errors.Is(err,
				store.ErrNotFound)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("expected %v, got %v", test.is, err)
			}
			if sent := m.set(nil) - before; sent != 1 {
				t.Errorf("%d requests", sent)
			}
			m.set(func(a [][]byte) [][]byte { return append(late, a...) })
			wantGet(t, h, "other", other)
		})
	}
	if stats := s.(store.Inspector).Inspect().Stats; stats["reconnects"] == 0 {
		t.Errorf("statistics: %v", stats)
	}
}

// renumbered is a datagram of another request.
func renumbered(datagram []byte) []byte {
	datagram = bytes.Clone(datagram)
	datagram[0] ^= 0xff
	return datagram
}

func TestRequestLongerThanADatagramIsNotSent(t *testing.T) {
	t.Parallel()
	m := startMail(t, startWithUDP(t))
	_, h := open(t, m.endpoint, map[string]string{"protocol": "udp"})
	before := m.set(nil)
	if err := h.Put([]byte("key"), make([]byte, 65_479)); err == nil || !strings.Contains(err.Error(), "datagram") {
		t.Error(err)
	}
	if sent := m.set(nil) - before; sent != 0 {
		t.Errorf("%d requests", sent)
	}
	if err := h.Put([]byte("key"), make([]byte, 65_478)); err != nil {
		t.Error(err)
	}
	wantGet(t, h, "key", make([]byte, 65_478))
}

func TestProtocolsRefuseOptionsTheyLack(t *testing.T) {
	plain := startServer(t) // which has no UDP
	t.Setenv("SOMEBODYS_LOGIN", "me:hunter2")
	driver := memcached.Driver{}
	for name, given := range map[string]map[string]string{
		"gomemcache":  {"client": "gomemcache", "protocol": "meta"},
		"UDP and TLS": {"protocol": "udp", "tls": "true"},
		"a login":     {"protocol": "udp", "credentials_env": "SOMEBODYS_LOGIN"},
	} {
		c := drivertest.Config(t, driver.Describe(), store.D0, given)
		c.Endpoints = []string{plain}
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := drivertest.Config(t, driver.Describe(), store.D0, map[string]string{"protocol": "udp"})
	c.Endpoints = []string{plain}
	if _, err := driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "by UDP") {
		t.Errorf("a server without UDP: %v", err)
	}
}

func TestNoServerByUDPWithALogin(t *testing.T) {
	if _, err := memcached.Program.Find(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	directory, err := os.MkdirTemp("", "assay-server-") // the server runs as another user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	if err := os.Chmod(directory, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, demand := range []string{"tls", "login"} {
		_, err := server.Start(t.Context(), memcached.Program, server.Request{
			Directory: directory, Log: t.Output(), Class: store.D0, Options: map[string]string{"udp": "true", demand: "true"}, Patience: time.Minute,
		})
		if !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", demand, err)
		}
	}
}

// BenchmarkProtocols prints the client's CPU time beside the time of an operation.
func BenchmarkProtocols(b *testing.B) {
	endpoint := startWithUDP(b)
	driver := memcached.Driver{}
	for _, protocol := range protocols {
		c := drivertest.Config(b, driver.Describe(), store.D0, map[string]string{"protocol": protocol})
		c.Endpoints = []string{endpoint}
		_, h := drivertest.Open(b, driver, c)
		key, value, buf := []byte("user0000000000001234"), make([]byte, 100), make([]byte, 0, 200)
		measure := func(name string, operation func() error) {
			b.Run(protocol+"/"+name, func(b *testing.B) {
				before := cpu(b)
				for b.Loop() {
					if err := operation(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
			})
		}
		measure("put", func() error { return h.Put(key, value) })
		measure("get", func() error { return second(h.Get(key, buf)) })
	}
}

// cpu is the CPU time of this process, in nanoseconds.
func cpu(b *testing.B) int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
