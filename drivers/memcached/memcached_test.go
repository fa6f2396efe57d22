package memcached_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"assay/drivers/memcached"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/store"
)

func open(t *testing.T, endpoint string, given map[string]string) (store.Store, store.Handle) {
	t.Helper()
	return openAs(t, endpoint, given, true)
}

func openAs(t *testing.T, endpoint string, given map[string]string, first bool) (store.Store, store.Handle) {
	t.Helper()
	driver := memcached.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D0, given)
	c.Endpoints, c.First = []string{endpoint}, first
	return drivertest.Open(t, driver, c)
}

// clients are both ways to a server.
var clients = []string{"lean", "gomemcache"}

// forms runs a test on a handle of each client, and on a lane of the asynchronous form.
func forms(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("handle", func(t *testing.T) { test(t, open) })
	t.Run(library, func(t *testing.T) {
		test(t, func(t *testing.T, endpoint string, given map[string]string) (store.Store, store.Handle) {
			t.Helper()
			given = maps.Clone(given)
			if given == nil {
				given = map[string]string{}
			}
			given["client"] = "gomemcache"
			return open(t, endpoint, given)
		})
	})
	t.Run("lane", func(t *testing.T) {
		test(t, func(t *testing.T, endpoint string, given map[string]string) (store.Store, store.Handle) {
			t.Helper()
			s, _ := open(t, endpoint, given)
			return s, drivertest.Async(t, s)
		})
	})
}

// library is the form of gomemcache.
const library = "gomemcache"

type opener func(t *testing.T, endpoint string, given map[string]string) (store.Store, store.Handle)

// servers runs a test against the stand-in and against the real server.
func servers(t *testing.T, test func(t *testing.T, endpoint string)) {
	t.Run("stand-in", func(t *testing.T) { test(t, drivertest.StartStandIn(t).Endpoint) })
	t.Run("memcached", func(t *testing.T) { test(t, startServer(t)) })
}

func wantGet(t *testing.T, h store.Handle, key string, want []byte) {
	t.Helper()
	got, err := h.Get([]byte(key), nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("get %s: %d bytes, %v; want %d bytes", key, len(got), err, len(want))
	}
}

func TestEveryOperation(t *testing.T) {
	t.Parallel()
	forms(t, testEveryOperation)
}

func testEveryOperation(t *testing.T, open opener) {
	servers(t, func(t *testing.T, endpoint string) {
		_, h := open(t, endpoint, nil)
		longest := memcached.Driver{}.Describe()
		for i, value := range [][]byte{
			[]byte("value"), {}, []byte("\r\nEND\r\n"), bytes.Repeat([]byte("x"), 16<<10-20), bytes.Repeat([]byte{0, 1, '\n'}, 100_000),
			bytes.Repeat([]byte("v"), longest.ValueBytesMax),
		} {
			key := fmt.Sprintf("key-%d", i)
			if err := h.Put([]byte(key), value); err != nil {
				t.Fatal(err)
			}
			wantGet(t, h, key, value)
		}
		key := []byte("key-0")
		if err := h.(store.Adder).Add(key, []byte("v")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("add of a key that is there: %v", err)
		}
		if err := h.(store.Adder).Add([]byte("new"), []byte("v")); err != nil {
			t.Error(err)
		}
		swapper := h.(store.CompareAndSwapper)
		if err := swapper.CompareAndSwap(key, []byte("value"), []byte("value 2")); err != nil {
			t.Error(err)
		}
		if err := swapper.CompareAndSwap(key, []byte("value"), []byte("value 3")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of an old value: %v", err)
		}
		wantGet(t, h, "key-0", []byte("value 2"))
		if err := h.Delete(key); err != nil {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"get": second(h.Get(key, nil)), "delete": h.Delete(key), "swap": swapper.CompareAndSwap(key, nil, nil),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of a key that is not there: %v", name, err)
			}
		}
	})
}

func second(_ []byte, err error) error { return err }

func TestKeysThatTheProtocolCannotCarryAreNotSent(t *testing.T) {
	forms(t, testKeysThatTheProtocolCannotCarryAreNotSent)
}

func testKeysThatTheProtocolCannotCarryAreNotSent(t *testing.T, open opener) {
	s := drivertest.StartStandIn(t)
	_, h := open(t, s.Endpoint, nil)
	s.SetLie(func(request string, _ io.Writer) bool { t.Errorf("sent: %q", request); return false })
	for _, key := range []string{"", "a b", "a\r\nset b 0 0 0\r\n\r\n", "a\x00", "\x7f", strings.Repeat("k", 251)} {
		k := []byte(key)
		for name, err := range map[string]error{
			"get": second(h.Get(k, nil)), "put": h.Put(k, nil), "delete": h.Delete(k), "add": h.(store.Adder).Add(k, nil),
			"swap": h.(store.CompareAndSwapper).CompareAndSwap(k, nil, nil),
		} {
			if err == nil || errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of %.20q: %v", name, key, err)
			}
		}
	}
}

// TestInvalidAnswersToWritesAreErrors are errors too, and not acknowledgements.
func TestInvalidAnswersToWritesAreErrors(t *testing.T) { forms(t, testInvalidAnswersToWritesAreErrors) }

func testInvalidAnswersToWritesAreErrors(t *testing.T, open opener) {
	s := drivertest.StartStandIn(t)
	_, h := open(t, s.Endpoint, nil)
	for _, answer := range []string{"END\r\n", "STORE\r\n", "STORED \r\n", "EXISTS\r\n", "SERVER_ERROR object too large for cache\r\n", "ERROR\r\n"} {
		s.SetLie(func(_ string, w io.Writer) bool { _, _ = io.WriteString(w, answer); return true })
		for name, err := range map[string]error{
			"put": h.Put([]byte("key"), []byte("v")), "add": h.(store.Adder).Add([]byte("key"), []byte("v")), "delete": h.Delete([]byte("key")),
		} {
			if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s, answered %q: %v", name, answer, err)
			}
		}
	}
}

func TestRealServerRefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	forms(t, testRealServerRefusesWhatIsTooLarge)
}

func testRealServerRefusesWhatIsTooLarge(t *testing.T, open opener) {
	_, h := open(t, startServer(t), nil)
	if err := h.Put([]byte("large"), make([]byte, 1<<20+1)); err == nil {
		t.Error("a value above 1 MiB was taken")
	}
	if err := h.Put([]byte("small"), []byte("value")); err != nil {
		t.Errorf("and the connection is of no use after it: %v", err)
	}
	wantGet(t, h, "small", []byte("value"))
}

func TestReportsSettingsAndStatisticsOfTheRealServer(t *testing.T) {
	t.Parallel()
	s, h := open(t, startServer(t), nil)
	if err := h.Put([]byte("key"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	if got := s.Settings(); got["maxbytes"] != "67108864" || got["item_size_max"] != "1048576" || got["version"] == "" {
		t.Errorf("settings: %v", got)
	}
	if got := s.(store.Inspector).Inspect(); got.Stats["curr_items"] != 1 || got.Stats["cmd_set"] != 1 || got.Busy {
		t.Errorf("statistics: %+v", got)
	}
}

// TestEachHandleHasOneConnection counts the server's connections: one for each handle, and one of the store
// for statistics.
func TestEachHandleHasOneConnection(t *testing.T) {
	t.Parallel()
	endpoint := startServer(t)
	s, first := open(t, endpoint, nil)
	if _, err := first.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) { // the server has accepted it now
		t.Fatal(err)
	}
	// Not those that are open: the one that looked whether the server was up may not be gone yet.
	count := func() float64 { return s.(store.Inspector).Inspect().Stats["total_connections"] }
	before := count()
	for range 5 {
		h, err := s.Handle()
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := h.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	}
	if after := count(); after != before+5 {
		t.Errorf("5 handles opened %v connections", after-before)
	}
}

func TestSteadyPathDoesNotAllocate(t *testing.T) {
	_, h := open(t, startServer(t), nil)
	allocatesNothing(t, "lean", h)
}

// allocatesNothing holds an operation of each kind to no allocation.
func allocatesNothing(t *testing.T, what string, h store.Handle) {
	t.Helper()
	key, value, buf := []byte("key"), bytes.Repeat([]byte("v"), 1000), make([]byte, 0, 2000)
	swapper := h.(store.CompareAndSwapper)
	allocations := testing.AllocsPerRun(200, func() {
		if err := h.Put(key, value); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Get(key, buf); err != nil {
			t.Fatal(err)
		}
		if err := swapper.CompareAndSwap(key, value, value); err != nil {
			t.Fatal(err)
		}
		if err := h.Delete(key); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Get(key, buf); !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Errorf("%s: %v allocations in five operations", what, allocations)
	}
}

func TestRefusals(t *testing.T) {
	driver := memcached.Driver{}
	d := driver.Describe()
	for name, change := range map[string]func(*store.Config){
		"no endpoint":      func(c *store.Config) { c.Endpoints = nil },
		"one server twice": func(c *store.Config) { c.Endpoints = []string{"127.0.0.1:1", "127.0.0.1:1"} },
		"too few weights":  func(c *store.Config) { c.Endpoints, c.Options["weights"] = []string{"127.0.0.1:1", "127.0.0.1:2"}, "1" },
		"no time":          func(c *store.Config) { c.Options["operation_timeout"] = "0s" },
	} {
		c := drivertest.Config(t, d, store.D0, nil)
		c.Endpoints = []string{"127.0.0.1:1"}
		change(&c)
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := drivertest.Config(t, d, store.D0, nil)
	c.Endpoints = []string{"127.0.0.1:1"}
	if _, err := driver.Open(t.Context(), c); err == nil || errors.Is(err, store.ErrRefused) {
		t.Errorf("nobody listens there: %v", err)
	}
}

// Nothing is deleted on a server without being told (the option is off by default), and then at a
// trial's first opening only.
func TestFlushesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	endpoint := startServer(t)
	_, h := open(t, endpoint, nil)
	if err := h.Put([]byte("key"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	_, again := open(t, endpoint, nil)
	wantGet(t, again, "key", []byte("value"))
	_, reopened := openAs(t, endpoint, map[string]string{"flush_at_open": "true"}, false)
	wantGet(t, reopened, "key", []byte("value"))
	s, emptied := open(t, endpoint, map[string]string{"flush_at_open": "true"})
	if held, known := s.(store.Holder).Held(); held != 1 || !known {
		t.Errorf("the server is said to have held %d records (known: %v), expected 1", held, known)
	}
	if _, err := emptied.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a flush: %v", err)
	}
}

// startServer runs the real server until the test ends.
func startServer(t *testing.T) (endpoint string) {
	t.Helper()
	return drivertest.StartServer(t, memcached.Program, store.D0, nil).Endpoint()
}

// Start fails where the server does not report what it was asked for: so each option reaches it.
func TestServerObeysItsOptions(t *testing.T) {
	t.Parallel()
	options := map[string]string{"memory_bytes": "100MiB", "threads": "2", "item_bytes_max": "2MiB", "connections_max": "50"}
	i := drivertest.StartServer(t, memcached.Program, store.D0, options)
	for name, expected := range map[string]string{
		"maxbytes": "104857600", "num_threads": "2", "item_size_max": "2097152", "maxconns": "50",
	} {
		if i.Settings[name] != expected {
			t.Errorf("it tells %s = %s, expected %s", name, i.Settings[name], expected)
		}
	}
}

func TestServerDefaultsAreKept(t *testing.T) {
	binary, err := memcached.Program.Find()
	if err != nil {
		t.Skipf("SKIPPED: %v, so that its defaults are not compared", err)
	}
	help, err := exec.Command(binary, "-h").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"item memory in megabytes (default: 64)", "max simultaneous connections (default: 1024)", "number of threads to use (default: 4)", "(default: 1m, min: 1k",
	} {
		if !strings.Contains(string(help), line) {
			t.Errorf("memcached -h does not say %q", line)
		}
	}
}

func TestLogsInAndKeepsThePassword(t *testing.T) {
	drivertest.LogsIn(t, memcached.Driver{}, memcached.Program)
}

// With TLS too, no connection is in the clear.
func TestLogsInBySASL(t *testing.T) {
	binary := map[string]string{"protocol": "binary"}
	drivertest.LogsInBy(t, memcached.Driver{}, memcached.Program, map[string]string{"login_by": "sasl"}, binary)
	both := drivertest.StartServer(t, memcached.Program, store.D0, map[string]string{"login": "true", "login_by": "sasl", "tls": "true"})
	given := both.Guard.DriverOptions()
	maps.Copy(given, binary)
	s, h := open(t, both.Endpoint(), given)
	if err := h.Put([]byte("key"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	wantGet(t, h, "key", []byte("value"))
	told := s.Settings()
	if told["driver.login"] != "yes" || told["driver.tls"] != "verified" || told["auth_enabled_sasl"] != "yes" {
		t.Errorf("settings: %v", told)
	}
	alone := drivertest.StartServer(t, memcached.Program, store.D0, map[string]string{"login": "true", "login_by": "sasl"})
	maps.Copy(binary, alone.Guard.DriverOptions())
	s, _ = open(t, alone.Endpoint(), binary)
	lane := drivertest.Async(t, s)
	if err := lane.Put([]byte("key"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	wantGet(t, lane, "key", []byte("value"))
}

// A server of the binary protocol that asks for no login is not shown the password either.
func TestSendsNoPasswordBySASLToAServerThatAsksForNone(t *testing.T) {
	t.Setenv("SOMEBODYS_LOGIN", "me:hunter2")
	driver := memcached.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D0, map[string]string{"protocol": "binary", "credentials_env": "SOMEBODYS_LOGIN"})
	c.Endpoints = []string{startServer(t)}
	if _, err := driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "asks for no login") {
		t.Error(err)
	}
}

func TestVerifiesTLS(t *testing.T) {
	t.Parallel()
	drivertest.VerifiesTLS(t, memcached.Driver{}, memcached.Program)
}

// A server that asks for no login would take the password for a record, which anybody can read.
func TestSendsNoPasswordToAServerThatAsksForNone(t *testing.T) {
	const secret = "hunter2"
	t.Setenv("SOMEBODYS_LOGIN", "me:"+secret)
	s := drivertest.StartStandIn(t)
	s.SetLie(func(request string, _ io.Writer) bool {
		if !strings.HasPrefix(request, "version") {
			t.Errorf("sent: %q", request)
		}
		return false
	})
	driver := memcached.Driver{}
	for _, client := range clients {
		c := drivertest.Config(t, driver.Describe(), store.D0, map[string]string{"client": client, "credentials_env": "SOMEBODYS_LOGIN"})
		c.Endpoints = []string{s.Endpoint}
		if _, err := driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "asks for no login") {
			t.Errorf("%s: %v", client, err)
		}
	}
	for _, login := range []string{":password", "a b:password", "a:pass\rword"} {
		t.Setenv("SOMEBODYS_LOGIN", login)
		c := drivertest.Config(t, driver.Describe(), store.D0, map[string]string{"credentials_env": "SOMEBODYS_LOGIN"})
		c.Endpoints = []string{s.Endpoint}
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) || strings.Contains(err.Error(), "word") && !strings.Contains(err.Error(), "a password no") {
			t.Errorf("%q: %v", login, err)
		}
	}
}

// A server that repeats a request in its error does not bring the password into a message.
func TestNoErrorRepeatsThePassword(t *testing.T) {
	const secret = "hunter2"
	t.Setenv("SOMEBODYS_LOGIN", "me:"+secret)
	s := drivertest.StartStandIn(t)
	s.SetLie(func(request string, w io.Writer) bool {
		answer := "CLIENT_ERROR unauthenticated\r\n"
		if strings.HasPrefix(request, "set") {
			answer = "CLIENT_ERROR what is me " + secret + "\r\n"
		}
		_, _ = io.WriteString(w, answer)
		return true
	})
	driver := memcached.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D0, map[string]string{"credentials_env": "SOMEBODYS_LOGIN"})
	c.Endpoints = []string{s.Endpoint}
	if _, err := driver.Open(t.Context(), c); err == nil || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
}

// A handle that connects anew is counted once, however often it could not.
func TestCountsReconnects(t *testing.T) {
	t.Parallel()
	for _, given := range []map[string]string{
		{"client": "lean"}, {"client": "gomemcache"}, {"protocol": "meta"}, {"protocol": "binary"}, {"lane": "yes"},
	} {
		t.Run(fmt.Sprint(given), func(t *testing.T) {
			i := drivertest.StartServer(t, memcached.Program, store.D0, nil)
			isLane := given["lane"] != ""
			if isLane {
				given = nil
			}
			s, _ := open(t, i.Endpoint(), given)
			var handles []store.Handle
			for range 3 {
				handles = append(handles, another(t, s, isLane))
			}
			missAll := func() (failed int) {
				for _, h := range handles {
					if _, err := h.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
						failed++
					}
				}
				return failed
			}
			reconnects := func() float64 { return s.(store.Inspector).Inspect().Stats["reconnects"] }
			if failed := missAll(); failed > 0 || reconnects() != 0 {
				t.Fatalf("%d gets failed, %v reconnects, before anything happened", failed, reconnects())
			}
			servertest.Crash(t, i)
			for range 3 { // of which each but the first tries to connect
				if failed := missAll(); failed != len(handles) {
					t.Errorf("%d of %d gets failed without a server", failed, len(handles))
				}
			}
			if again := reconnects(); again != 0 {
				t.Errorf("%v reconnects without a server", again)
			}
			servertest.Restart(t, i)
			if failed := missAll(); failed > 0 || reconnects() != float64(len(handles)) {
				t.Errorf("%d gets failed, %v reconnects of %d handles", failed, reconnects(), len(handles))
			}
		})
	}
}

// another returns one more handle, or a lane.
func another(t *testing.T, s store.Store, isLane bool) store.Handle {
	t.Helper()
	if isLane {
		return drivertest.Async(t, s)
	}
	h, err := s.Handle()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// A password that is changed in the run is an error of each operation that connects anew, and
// nothing is done without a login.
func TestPasswordThatIsChangedInTheRun(t *testing.T) {
	t.Setenv("SOMEBODYS_LOGIN", "me:hunter2")
	forms(t, func(t *testing.T, open opener) {
		s := drivertest.StartStandIn(t)
		var let, cut atomic.Bool
		let.Store(true)
		in := map[io.Writer]bool{} // connections that have logged in
		s.SetLie(func(request string, w io.Writer) bool {
			switch {
			case cut.Swap(false):
				_ = w.(io.Closer).Close()
			case strings.HasPrefix(request, "set login ") && let.Load():
				in[w] = true
				_, _ = io.WriteString(w, "STORED\r\n")
			case strings.HasPrefix(request, "set login "):
				_, _ = io.WriteString(w, "CLIENT_ERROR authentication failure\r\n")
			case !in[w]:
				if !strings.HasPrefix(request, "version") {
					t.Errorf("sent without a login: %q", request)
				}
				_, _ = io.WriteString(w, "CLIENT_ERROR unauthenticated\r\n")
			default:
				return false
			}
			return true
		})
		opened, h := open(t, s.Endpoint, map[string]string{"credentials_env": "SOMEBODYS_LOGIN"})
		if err := h.Put([]byte("key"), []byte("value")); err != nil {
			t.Fatal(err)
		}
		let.Store(false)
		cut.Store(true)
		for i := range 3 {
			_, err := h.Get([]byte("key"), nil)
			if err == nil || errors.Is(err, store.ErrNotFound) || strings.Contains(err.Error(), "hunter2") || i > 0 && !strings.Contains(err.Error(), "user and password") {
				t.Errorf("get %d: %v", i, err)
			}
		}
		if again := opened.(store.Inspector).Inspect().Stats["reconnects"]; again != 0 {
			t.Errorf("%v reconnects", again)
		}
		let.Store(true)
		wantGet(t, h, "key", []byte("value"))
	})
}
