package redis_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	library "github.com/redis/go-redis/v9"

	"assay/drivers/redis"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

var (
	clients = []string{"lean", "go-redis", asynchronous, "lean" + withRESP3, asynchronous + withRESP3}
	classes = []store.Durability{store.D0, store.D1, store.D2, store.D3}
)

const (
	asynchronous = "asynchronous" // the lean client where its handles are lanes
	withRESP3    = "-resp3"       // follows the lean client's name where it speaks RESP3
)

func open(t *testing.T, endpoint string, class store.Durability, given map[string]string) (store.Store, store.Handle) {
	t.Helper()
	client, isRESP3 := strings.CutSuffix(given["client"], withRESP3)
	isAsync := client == asynchronous
	if isAsync || isRESP3 {
		given = maps.Clone(given)
		given["client"] = "lean"
	}
	if isRESP3 {
		given["resp"] = "3"
	}
	driver := redis.Driver{}
	c := drivertest.Config(t, driver.Describe(), class, given)
	c.Endpoints, c.First = []string{endpoint}, true
	s, h := drivertest.Open(t, driver, c)
	if isAsync {
		h = drivertest.Async(t, s)
	}
	return s, h
}

// another returns one more handle of a store that was opened for a client.
func another(t *testing.T, s store.Store, client string) store.Handle {
	t.Helper()
	if strings.HasPrefix(client, asynchronous) {
		return drivertest.Async(t, s)
	}
	h, err := s.Handle()
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

func startServer(t *testing.T, class store.Durability) (endpoint string) {
	t.Helper()
	return drivertest.StartServer(t, redis.Program, class, nil).Endpoint()
}

// paths runs a test on each way to a server: the lean client against the stand-in, and both clients
// against the real server.
func paths(t *testing.T, test func(t *testing.T, endpoint, client string)) {
	t.Run("stand-in/lean", func(t *testing.T) { test(t, drivertest.StartRedisStandIn(t, store.D0).Endpoint, "lean") })
	for _, client := range clients {
		t.Run("redis/"+client, func(t *testing.T) {
			t.Parallel() // the start of a server is waited for
			test(t, startServer(t, store.D0), client)
		})
	}
}

func wantGet(t *testing.T, h store.Handle, key string, want []byte) {
	t.Helper()
	got, err := h.Get([]byte(key), nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("get %s: %d bytes, %v; want %d bytes", key, len(got), err, len(want))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second(_ []byte, err error) error { return err }

func TestEveryOperation(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, endpoint, client string) {
		_, h := open(t, endpoint, store.D0, map[string]string{"client": client, "operation_timeout": "1m"})
		for i, value := range [][]byte{
			[]byte("value"), {}, []byte("\r\n$-1\r\n"), bytes.Repeat([]byte("x"), 16<<10-20), bytes.Repeat([]byte{0, 1, '\n'}, 1_000_000),
		} {
			key := fmt.Sprintf("key-%d \x00\r\n", i)
			must(t, h.Put([]byte(key), value))
			wantGet(t, h, key, value)
		}
		operate(t, h, []byte("value"), []byte("value 2"))
	})
}

// operate goes through the outcomes of each operation.
func operate(t *testing.T, h store.Handle, one, two []byte) {
	t.Helper()
	key := []byte("key")
	add, swap := h.(store.Adder).Add, h.(store.CompareAndSwapper).CompareAndSwap
	must(t, add(key, one))
	for range 2 { // what a conflict leaves behind must not make the next operation one
		if err := add(key, two); !errors.Is(err, store.ErrConflict) {
			t.Errorf("add of a key that is there: %v", err)
		}
	}
	must(t, swap(key, one, two))
	for range 2 {
		if err := swap(key, one, one); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of an old value: %v", err)
		}
	}
	wantGet(t, h, "key", two)
	must(t, h.Put(key, one)) // written since it was watched
	must(t, swap(key, one, two))
	must(t, h.(store.Batcher).Apply([]store.Write{{Key: []byte("a"), Value: one}, {Key: key, Delete: true}, {Key: []byte("a"), Value: two}, {Key: []byte("b"), Delete: true}}))
	must(t, h.(store.Batcher).Apply(nil))
	wantGet(t, h, "a", two)
	for name, err := range map[string]error{"get": second(h.Get(key, nil)), "delete": h.Delete(key), "swap": swap(key, one, two)} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of a key that is not there: %v", name, err)
		}
	}
	must(t, add(key, two))
	must(t, h.Delete(key))
}

// Two handles on one key: what is replaced is what was read.
func TestTransactionThatMetAnotherIsAConflict(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, endpoint, client string) {
		s, h := open(t, endpoint, store.D0, map[string]string{"client": client, "operation_timeout": "1m"})
		must(t, h.Put([]byte("n"), []byte("0")))
		const threads, each = 4, 50
		swapped := make(chan int)
		for range threads {
			h := another(t, s, client)
			go func() {
				done := 0
				for done < each {
					now, err := h.Get([]byte("n"), nil)
					if err != nil {
						t.Error(err)
						break
					}
					now = bytes.Clone(now)
					var n int
					_, _ = fmt.Sscan(string(now), &n)
					switch err := h.(store.CompareAndSwapper).CompareAndSwap([]byte("n"), now, fmt.Append(nil, n+1)); {
					case err == nil:
						done++
					case !errors.Is(err, store.ErrConflict):
						t.Error(err)
						done = each
					}
				}
				swapped <- done
			}()
		}
		for range threads {
			<-swapped
		}
		wantGet(t, h, "n", fmt.Append(nil, threads*each))
	})
}

func TestRecordsAreHashes(t *testing.T) {
	t.Parallel()
	paths(t, func(t *testing.T, endpoint, client string) {
		given := map[string]string{"client": client, "operation_timeout": "1m"}
		s, plain := open(t, endpoint, store.D0, given)
		columns := []store.Column{{Name: "name", Type: store.TextColumn}, {Name: "n", Type: store.IntegerColumn}, {Name: "blob", Type: store.BytesColumn}}
		definer := s.(store.Definer)
		if err := definer.Define(columns, []store.Index{{Column: 0, Kind: store.OrderedIndex}},
			nil); !errors.Is(err, store.ErrRefused) {
			t.Errorf("an index: %v", err)
		}
		must(t, definer.Define(columns, nil, nil))
		h := another(t, s, client)
		record := func(name, n, blob string) (r []byte) {
			for _, column := range []string{name, n, blob} {
				r = store.AppendColumn(r, []byte(column))
			}
			return r
		}
		operate(t, h, record("Ann", "1", ""), record("", "22", strings.Repeat("\r\n\x00", 20_000)))
		must(t, h.Put([]byte("r"), record("Bo", "3", "b")))
		if _, err := plain.Get([]byte("r"), nil); err == nil {
			t.Error("the record is a string")
		}
		for name, err := range map[string]error{
			"put": h.Put([]byte("r"), []byte("no record")), "add": h.(store.Adder).Add([]byte("x"), nil),
			"batch": h.(store.Batcher).Apply([]store.Write{{Key: []byte("r"), Value: []byte{1}}}),
		} {
			if err == nil {
				t.Errorf("%s took what is no record", name)
			}
		}
		wantGet(t, h, "r", record("Bo", "3", "b"))
	})
}

// One class each: the real server's settings give it, and every other is refused, with what would
// give it.
func TestRealServerGivesOneClass(t *testing.T) {
	t.Parallel()
	driver := redis.Driver{}
	for _, class := range classes {
		t.Run(string(class), func(t *testing.T) {
			endpoint := startServer(t, class)
			for _, asked := range classes {
				c := drivertest.Config(t, driver.Describe(), asked, nil)
				c.Endpoints = []string{endpoint}
				s, err := driver.Open(t.Context(), c)
				switch {
				case asked == class && err != nil:
					t.Errorf("%s: %v", asked, err)
				case asked != class && (!errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "--appendonly")):
					t.Errorf("%s: expected a refusal that says what would give it, got %v", asked, err)
				}
				if err == nil {
					must(t, s.Close())
				}
			}
		})
	}
}

func TestForeignServersAreRefused(t *testing.T) {
	driver := redis.Driver{}
	s := drivertest.StartRedisStandIn(t, store.D0)
	s.Info["role"] = "slave"
	c := drivertest.Config(t, driver.Describe(), store.D0, nil)
	c.Endpoints = []string{s.Endpoint}
	if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "a replica") {
		t.Errorf("a replica: %v", err)
	}
	s = drivertest.StartRedisStandIn(t, store.D3)
	s.Info["aof_last_write_status"] = "err"
	c = drivertest.Config(t, driver.Describe(), store.D3, nil)
	c.Endpoints = []string{s.Endpoint}
	if _, err := driver.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "aof_last_write_status") {
		t.Errorf("a log that can't be written: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	driver := redis.Driver{}
	for name, change := range map[string]func(*store.Config){
		"no endpoint": func(c *store.Config) { c.Endpoints = nil },
		"no time":     func(c *store.Config) { c.Options["operation_timeout"] = "0s" },
		"no database": func(c *store.Config) { c.Options["database"] = "-1" },
		"D4":          func(c *store.Config) { c.Durability = store.D4 },
	} {
		c := drivertest.Config(t, driver.Describe(), store.D0, nil)
		c.Endpoints = []string{"127.0.0.1:1"}
		change(&c)
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := drivertest.Config(t, driver.Describe(), store.D0, nil)
	c.Endpoints = []string{"127.0.0.1:1"}
	if _, err := driver.Open(t.Context(), c); err == nil || errors.Is(err, store.ErrRefused) {
		t.Errorf("nobody listens there: %v", err)
	}
}

func TestReportsSettingsAndStatisticsOfTheRealServer(t *testing.T) {
	t.Parallel()
	for client, resp := range map[string]string{"lean": "2", "go-redis": "3", "lean" + withRESP3: "3"} {
		s, h := open(t, startServer(t, store.D3), store.D3, map[string]string{"client": client})
		client, _ = strings.CutSuffix(client, withRESP3)
		must(t, h.Put([]byte("key"), []byte("value")))
		got := s.Settings()
		for name, want := range map[string]string{"driver.resp": resp, "appendfsync": "always", "appendonly": "yes", "maxmemory-policy": "noeviction", "driver.evicts": "false"} {
			if got[name] != want {
				t.Errorf("%s is %q, expected %q", name, got[name], want)
			}
		}
		if !strings.HasPrefix(got["driver.client"], client) || got["version"] == "" {
			t.Errorf("client %q, version %q", got["driver.client"], got["version"])
		}
		stats := s.(store.Inspector).Inspect()
		for _, name := range []string{"used_memory_bytes", "wal_bytes", "connections", "total_commands_processed"} {
			if stats.Stats[name] <= 0 {
				t.Errorf("%s is %v", name, stats.Stats[name])
			}
		}
		if stats.Stats["records"] != 1 || stats.Stats["evicted_keys"] != 0 || stats.Busy {
			t.Errorf("statistics: %+v", stats)
		}
	}
}

// Start fails where the server does not report what it was asked for: so each option and setting
// reaches it.
func TestServerObeysItsOptions(t *testing.T) {
	t.Parallel()
	options := map[string]string{"save": "none", "memory_bytes": "64MiB", "memory_policy": "allkeys-lru", "io_threads": "2", "connections_max": "50"}
	i := drivertest.StartServer(t, redis.Program, store.D0, options)
	for name, expected := range map[string]string{
		"save": "", "maxmemory": "67108864", "maxmemory-policy": "allkeys-lru", "io-threads": "2", "maxclients": "50", "appendonly": "no",
	} {
		if got, told := i.Settings[name]; got != expected || !told {
			t.Errorf("it tells %s = %q (%v), expected %q", name, got, told, expected)
		}
	}
	s, _ := open(t, i.Endpoint(), store.D0, nil)
	if evicts := s.Settings()["driver.evicts"]; evicts != "true" {
		t.Errorf("driver.evicts is %q", evicts)
	}
	if !redis.Program.Same("maxmemory", "64mb", "67108864") || !redis.Program.Same("maxmemory", "64M", "64000000") || redis.Program.Same("maxmemory", "64mb", "64") || redis.Program.Same("save", "", "60 1") {
		t.Error("units of memory are not the server's")
	}
}

func TestServerDefaultsAreKept(t *testing.T) {
	t.Parallel()
	bare := redis.Program
	bare.Asked = func(i *server.Instance) map[string]string {
		return map[string]string{"port": strconv.Itoa(i.Port), "bind": server.Host, "dir": i.Directory}
	}
	s, _ := open(t, drivertest.StartServer(t, bare, store.D0, nil).Endpoint(), store.D0, nil)
	own, ours := s.Settings(), drivertest.StartServer(t, redis.Program, store.D0, nil).Settings
	for name, value := range own {
		if told, asked := ours[name]; asked && told != value {
			t.Errorf("%s is %q where Assay starts it with all defaults, and the server's own default is %q", name, told, value)
		}
	}
}

// A handle is one connection on both paths, batches and transactions included, and the store has
// one more.
func TestEachHandleHasOneConnection(t *testing.T) {
	t.Parallel()
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			s, h := open(t, startServer(t, store.D0), store.D0, map[string]string{"client": client, "operation_timeout": "1m"})
			received := func() float64 { return s.(store.Inspector).Inspect().Stats["total_connections_received"] }
			operate(t, h, []byte("1"), []byte("2"))
			before := received()
			for range 5 {
				h := another(t, s, client)
				operate(t, h, []byte("1"), []byte("2"))
			}
			if opened := received() - before; opened != 5 {
				t.Errorf("5 handles opened %v connections", opened)
			}
		})
	}
}

func TestSteadyPathDoesNotAllocate(t *testing.T) {
	s, h := open(t, startServer(t, store.D0), store.D0, map[string]string{"operation_timeout": "1m"})
	key, value, buf := []byte("key"), bytes.Repeat([]byte("v"), 1000), make([]byte, 0, 2000)
	record := store.AppendColumn(store.AppendColumn(nil, []byte("Ann")), bytes.Repeat([]byte("v"), 1000))
	must(t, s.(store.Definer).Define([]store.Column{{Name: "a", Type: store.TextColumn}, {Name: "b", Type: store.BytesColumn}}, nil, nil))
	hashes, err := s.Handle()
	must(t, err)
	defer func() { must(t, hashes.Close()) }()
	for name, x := range map[string]struct {
		h     store.Handle
		value []byte
	}{"strings": {h, value}, "hashes": {hashes, record}} {
		writes := []store.Write{{Key: []byte(name), Value: x.value}, {Key: []byte(name), Delete: true}}
		swapper, adder, batcher := x.h.(store.CompareAndSwapper), x.h.(store.Adder), x.h.(store.Batcher)
		allocations := testing.AllocsPerRun(200, func() {
			must(t, adder.Add(key, x.value))
			if err := adder.Add(key, x.value); !errors.Is(err, store.ErrConflict) {
				t.Fatal(err)
			}
			must(t, x.h.Put(key, x.value))
			must(t, second(x.h.Get(key, buf)))
			must(t, swapper.CompareAndSwap(key, x.value, x.value))
			must(t, batcher.Apply(writes))
			must(t, x.h.Delete(key))
			if _, err := x.h.Get(key, buf); !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations in eight operations", name, allocations)
		}
	}
}

// Nothing is deleted without being told, then at a trial's first opening only, and in no other
// database.
func TestFlushesOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	endpoint := startServer(t, store.D0)
	_, h := open(t, endpoint, store.D0, nil)
	must(t, h.Put([]byte("key"), []byte("value")))
	_, other := open(t, endpoint, store.D0, map[string]string{"database": "3", "flush_at_open": "true"})
	if _, err := other.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another database: %v", err)
	}
	wantGet(t, h, "key", []byte("value"))
	driver := redis.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D0, map[string]string{"flush_at_open": "true"})
	c.Endpoints = []string{endpoint}
	_, reopened := drivertest.Open(t, driver, c)
	wantGet(t, reopened, "key", []byte("value"))
	s, emptied := open(t, endpoint, store.D0, map[string]string{"flush_at_open": "true"})
	if held, known := s.(store.Holder).Held(); held != 1 || !known {
		t.Errorf("the server is said to have held %d records (known: %v), expected 1", held, known)
	}
	if _, err := emptied.Get([]byte("key"), nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a flush: %v", err)
	}
}

// A login and TLS are the same on both paths, and the same as other drivers'.
func TestLogsInAndKeepsThePassword(t *testing.T) { drivertest.LogsIn(t, redis.Driver{}, redis.Program) }

func TestVerifiesTLS(t *testing.T) { drivertest.VerifiesTLS(t, redis.Driver{}, redis.Program) }

// Without a login, others on the machine could have a server that Assay starts write files as its
// user.
func TestStartedServerDemandsALogin(t *testing.T) {
	t.Parallel()
	defaults, err := store.Resolve(redis.Program.Options, nil)
	must(t, err)
	guarded := drivertest.StartServer(t, redis.Program, store.D0, map[string]string{"login": defaults["login"]})
	stranger := library.NewClient(&library.Options{Addr: guarded.Endpoint()})
	defer func() { must(t, stranger.Close()) }()
	for _, command := range []string{"config set dir /", "eval return(1) 0", "module list", "get key"} {
		words := strings.Fields(command)
		arguments := make([]any, len(words))
		for i, word := range words {
			arguments[i] = word
		}
		if err := stranger.Do(t.Context(), arguments...).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// A server with a password and no users, and a connection that works on another database.
func TestLogsInAsTheDefaultUser(t *testing.T) {
	guarded := drivertest.StartServer(t, redis.Program, store.D0, map[string]string{"login": "true"})
	t.Setenv("SOMEBODYS_LOGIN", ":"+guarded.Guard.Password)
	for _, client := range clients {
		_, h := open(t, guarded.Endpoint(), store.D0, map[string]string{"client": client, "credentials_env": "SOMEBODYS_LOGIN", "database": "1"})
		must(t, h.Put([]byte("key"), []byte("value")))
	}
}

// A server that does not know AUTH, or go-redis's HELLO, answers with the arguments.
func TestNoErrorRepeatsThePassword(t *testing.T) {
	const secret = "hunter2"
	t.Setenv("SOMEBODYS_LOGIN", "me:"+secret)
	s := drivertest.StartRedisStandIn(t, store.D0)
	repeat := func(request []string, w io.Writer) bool {
		if !slices.Contains(request, secret) {
			return false
		}
		_, _ = fmt.Fprintf(w, "-ERR unknown command '%s', with args beginning with: %q\r\n", request[0], request[1:])
		return true
	}
	driver := redis.Driver{}
	for _, client := range []string{"lean", "go-redis"} {
		c := drivertest.Config(t, driver.Describe(), store.D0, map[string]string{"client": client, "credentials_env": "SOMEBODYS_LOGIN"})
		c.Endpoints = []string{s.Endpoint}
		s.SetLie(nil)
		opened, err := driver.Open(t.Context(), c)
		must(t, err)
		s.SetLie(repeat)
		_, handleErr := opened.Handle()
		_, openErr := driver.Open(t.Context(), c)
		for _, err := range []error{handleErr, openErr} {
			if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "unknown command") {
				t.Errorf("%s: %v", client, err)
			}
		}
		must(t, opened.Close())
	}
}

// A password that is changed in the run is an error of each operation that connects anew.
func TestPasswordThatIsChangedInTheRun(t *testing.T) {
	t.Parallel()
	for _, client := range clients {
		t.Run(client, func(t *testing.T) {
			guarded := drivertest.StartServer(t, redis.Program, store.D0, map[string]string{"login": "true"})
			admin := library.NewClient(&library.Options{Addr: guarded.Endpoint(), Password: guarded.Guard.Password,
				PoolSize: 1})
			defer func() { must(t, admin.Close()) }()
			set := func(password string) {
				must(t, admin.ConfigSet(t.Context(), "requirepass", password).Err())
				must(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
			}
			given := guarded.Guard.DriverOptions()
			given["client"], given["operation_timeout"] = client, "1m"
			s, h := open(t, guarded.Endpoint(), store.D0, given)
			must(t, h.Put([]byte("key"), []byte("value")))
			set("another")
			for i := range 3 {
				_, err := h.Get([]byte("key"), nil)
				if err == nil || errors.Is(err, store.ErrNotFound) || strings.Contains(err.Error(), guarded.Guard.Password) || i > 0 && !strings.Contains(err.Error(), "WRONGPASS") {
					t.Errorf("get %d: %v", i, err)
				}
			}
			if h, err := s.Handle(); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
				t.Errorf("another handle: %v, %v", h, err)
			}
			set(guarded.Guard.Password)
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				_, err := h.Get([]byte("key"), nil)
				if err == nil {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("with the right password again: %v", err)
				}
			}
			if again := s.(store.Inspector).Inspect().Stats["reconnects"]; again != 1 {
				t.Errorf("%v reconnects", again)
			}
		})
	}
}
