package drivers_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/evidence/host"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
	"assay/internal/testkit/servertest"
	"assay/internal/testkit/tyrantstandin"
	"assay/store"
)

// servers are the real ones of drivers for which nothing stands in.
var servers drivertest.Shared

// namespaces are the options that name a part of a server which a test has for itself.
var namespaces = map[string]string{
	"postgres": "schema", "mariadb": "database", "mongodb": "database", "ferretdb": "database",
	"nats": "bucket", "cassandra": "keyspace",
}

var namespace atomic.Int64

// serve fills in a server: the real one, in a name space of the test's own, which it returns, or
// what stands in for it.
func serve(t *testing.T, d store.Description, c *store.Config) (instances []*server.Instance) {
	t.Helper()
	if standIn := cmp.Or(drivertest.StandInFor(t, d.Name, c.Durability), tyrantstandin.For(t, d.Name, c.Durability)); standIn != "" {
		c.Endpoints = []string{standIn}
		return nil
	}
	if c.Durability == store.D4 {
		t.Skip("SKIPPED: D4 needs several nodes; tests in the driver's folder start them, with ASSAY_LONG=1")
	}
	program, _ := drivers.Program(d.Name)
	i := servers.Get(t, program, c.Durability)
	c.Endpoints = []string{i.Endpoint()}
	if option, ok := namespaces[d.Name]; ok {
		c.Options[option] = fmt.Sprintf("test_%d", namespace.Add(1))
	} else {
		c.First, c.Options["flush_at_open"] = true, "true"
	}
	return []*server.Instance{i}
}

// eachSQL runs a test for each driver of an SQL server, with each of its clients.
func eachSQL(t *testing.T, test func(t *testing.T, driver store.Driver, p server.Program, client string)) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		if !slices.ContainsFunc(d.Options, func(o store.Option) bool { return slices.Contains(o.Choices, "database/sql") }) {
			continue
		}
		p, _ := drivers.Program(d.Name)
		for _, client := range []string{"lean", "database/sql"} {
			t.Run(d.Name+"/"+client, func(t *testing.T) { test(t, driver, p, client) })
		}
	}
}

func sqlConfig(t *testing.T, driver store.Driver, class store.Durability, client string) store.Config {
	t.Helper()
	d := driver.Describe()
	c := drivertest.Config(t, d, class, map[string]string{"client": client})
	serve(t, d, &c)
	return c
}

func TestSQLLongestValue(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, _ server.Program, client string) {
		_, h := drivertest.Open(t, driver, sqlConfig(t, driver, store.D0, client))
		value := bytes.Repeat([]byte{0, 1, '\\', 255}, driver.Describe().ValueBytesMax/4)
		must(t, h.Put([]byte("key"), value))
		mustGet(t, h, []byte("key"), value)
		if err := h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), value[:10], nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap of another value: %v", err)
		}
		must(t, h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), value, value[:10]))
		mustGet(t, h, []byte("key"), value[:10])
		if err := h.Put([]byte("key"), append(value, 0)); err == nil {
			t.Error("a longer value was taken")
		}
		must(t, h.Delete([]byte("key")))
	})
}

// Keys that do not compress are as long as others.
func TestSQLLongestKeys(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, _ server.Program, client string) {
		_, h := drivertest.Open(t, driver, sqlConfig(t, driver, store.D0, client))
		state := uint64(1)
		for range 200 {
			key := make([]byte, driver.Describe().KeyBytesMax)
			for i := range key {
				state ^= state << 13
				state ^= state >> 7
				state ^= state << 17
				key[i] = byte(state)
			}
			must(t, h.Put(key, key))
			mustGet(t, h, key, key)
			must(t, h.Delete(key))
		}
	})
}

// Handles meet a server that is killed and comes back: an error, and then its answers, with all that
// was acknowledged. Rule survives-kill of the kit holds each class; here the strongest is enough.
func TestAcknowledgedWritesSurviveTheServersProcess(t *testing.T) {
	for _, p := range drivers.Programs() {
		driver, err := driverNamed(p.Driver)
		must(t, err)
		d := driver.Describe()
		for _, claim := range d.Durability {
			weaker := claim.Class == store.D1 && claims(d, store.D3) && os.Getenv("ASSAY_LONG") == ""
			if claim.Class != store.D1 && claim.Class != store.D3 || weaker {
				continue
			}
			for _, client := range clientsOf(d) {
				t.Run(fmt.Sprint(d.Name, "/", client, "/", claim.Class), func(t *testing.T) {
					t.Parallel()
					given := map[string]string{"operation_timeout": "20s"} // etcd waits it out
					if client != "" {
						given["client"] = client
					}
					drivertest.KeepsWrites(t, driver, p, claim.Class, given)
				})
			}
		}
	}
}

func claims(d store.Description, class store.Durability) bool {
	_, does := d.Claim(class)
	return does
}

// clientsOf returns the choices of a driver's option client; one empty choice if it has none.
func clientsOf(d store.Description) []string {
	for _, o := range d.Options {
		if o.Name == "client" {
			return o.Choices
		}
	}
	return []string{""}
}

// An operation whose answer does not come in time is a timeout, and its late answer is no other
// operation's.
func TestSQLLateAnswersAreGivenUp(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, p server.Program, client string) {
		c := sqlConfig(t, driver, store.D0, client)
		c.Options["operation_timeout"] = "2s"
		_, h := drivertest.Open(t, driver, c)
		drivertest.GivesUpLate(t, servers.Get(t, p, store.D0), h)
	})
}

// A deadlock's victim is a conflict, and nothing of its batch was done.
func TestSQLDeadlocksAreConflicts(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, _ server.Program, client string) {
		s, h := drivertest.Open(t, driver, sqlConfig(t, driver, store.D0, client))
		other, err := s.Handle()
		must(t, err)
		defer func() { must(t, other.Close()) }()
		const half = 200
		batch := func(h store.Handle, first int, value string) error {
			var writes []store.Write
			for i := range 2 * half {
				writes = append(writes, store.Write{Key: fmt.Appendf(nil, "key-%03d", (i+first)%(2*half)), Value: []byte(value)})
			}
			return h.(store.Batcher).Apply(writes)
		}
		must(t, batch(h, 0, "before"))
		conflicts := 0
		for round := 0; round < 100 && conflicts == 0; round++ {
			mine, theirs := fmt.Sprint("mine", round), fmt.Sprint("theirs", round)
			done := make(chan error)
			go func() { done <- batch(other, half, theirs) }()
			errs := []error{batch(h, 0, mine), <-done}
			for i, err := range errs {
				if err == nil {
					continue
				}
				if !errors.Is(err, store.ErrConflict) || errs[1-i] != nil {
					t.Fatal(errs)
				}
				conflicts++
				for key := range 2 * half {
					mustGet(t, h, fmt.Appendf(nil, "key-%03d", key), []byte([]string{theirs, mine}[i]))
				}
			}
		}
		if conflicts == 0 {
			t.Skip("SKIPPED: no deadlock came about")
		}
	})
}

func TestSQLSteadyPathAllocations(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, _ server.Program, client string) {
		if client != "lean" {
			t.Skip("SKIPPED: database/sql allocates, and so do those that use it")
		}
		_, h := drivertest.Open(t, driver, sqlConfig(t, driver, store.D0, client))
		key, value, buf := []byte("key"), bytes.Repeat([]byte("v"), 1000), make([]byte, 0, 2000)
		allocations := testing.AllocsPerRun(200, func() {
			must(t, h.Put(key, value))
			mustGet(t, h, key, value)
			_, err := h.Get(key, buf)
			must(t, err)
			must(t, h.Delete(key))
		})
		t.Logf("%v allocations in four operations", allocations)
		if allocations > 30 { // the libraries' own: rows, results, values in interfaces
			t.Errorf("%v allocations in four operations", allocations)
		}
	})
}

// A store holds as many connections as its description says: what the worker's process holds in a
// trial is judged by that. One that was used at opening, and is closed a little later, is waited for.
func TestConnectionsAreThoseDescribed(t *testing.T) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		if d.Kind != store.Server {
			continue
		}
		for _, client := range clientsOf(d) {
			t.Run(strings.TrimSuffix(d.Name+"/"+client, "/"), func(t *testing.T) {
				given := map[string]string{}
				if client != "" {
					given["client"] = client
				}
				c := drivertest.Config(t, d, d.Durability[0].Class, given)
				instances := serve(t, d, &c)
				s, h := drivertest.Open(t, driver, c)
				handles := []store.Handle{h}
				for range 3 {
					h, err := s.Handle()
					must(t, err)
					t.Cleanup(func() { must(t, h.Close()) })
					handles = append(handles, h)
				}
				for i, h := range handles {
					must(t, h.Put(fmt.Append(nil, "key-", i), []byte("value")))
				}
				s.(store.Inspector).Inspect()
				want := len(handles)*max(d.ConnectionsEach, 1) + d.ConnectionsOwn
				holdsConnections(t, c.Endpoints, instances, want)
				for i, h := range handles { // a server of several tests is left empty
					must(t, h.Delete(fmt.Append(nil, "key-", i)))
				}
				if a, ok := s.(store.Asynchronous); ok && d.Abilities.Async {
					if loop, err := a.Loop(10, 1); err == nil { // only of the lean client
						holdsConnections(t, c.Endpoints, instances, want+10)
						must(t, loop.Close())
						holdsConnections(t, c.Endpoints, instances, want)
					}
				}
				if d.HandlePools {
					var threads sync.WaitGroup
					for i := range 4 {
						threads.Go(func() {
							if err := h.Put(fmt.Append(nil, "key-", i), []byte("value")); err != nil {
								t.Error(err)
							}
						})
					}
					threads.Wait()
					holdsConnections(t, c.Endpoints, instances, want, want+1, want+2, want+3)
					for i := range 4 {
						must(t, h.Delete(fmt.Append(nil, "key-", i)))
					}
				}
			})
		}
	}
}

// A handle of memcached's driver has a connection to each of several servers.
func TestConnectionsToSeveralServers(t *testing.T) {
	driver, err := driverNamed("memcached")
	must(t, err)
	d := driver.Describe()
	for _, client := range clientsOf(d) {
		t.Run(client, func(t *testing.T) {
			c := drivertest.Config(t, d, store.D0, map[string]string{"client": client})
			program, _ := drivers.Program(d.Name)
			for range 3 {
				c.Endpoints = append(c.Endpoints, servertest.Start(t, program, store.D0, nil).Endpoint())
			}
			_, h := drivertest.Open(t, driver, c)
			for i := range 30 {
				must(t, h.Put(fmt.Append(nil, "key-", i), []byte("value")))
			}
			holdsConnections(t, c.Endpoints, nil, len(c.Endpoints)*(1+d.ConnectionsOwn))
		})
	}
}

// holdsConnections waits until this process has one of the numbers of connections to endpoints,
// without those that the servers below it have to themselves, as etcd's gateway has.
func holdsConnections(t *testing.T, endpoints []string, instances []*server.Instance, want ...int) {
	t.Helper()
	count := func(pid int) int {
		sampler := host.NewSampler("", pid)
		sampler.WatchConnections(endpoints)
		n, counted := sampler.Resources(sampler.Sample())["worker.connections"]
		if !counted {
			t.Skip("SKIPPED: ", sampler.NotMeasured()["worker.connections"])
		}
		return int(n)
	}
	got := 0
	for ended := time.Now().Add(time.Minute); time.Now().Before(ended); time.Sleep(50 * time.Millisecond) {
		got = count(os.Getpid())
		for _, i := range instances {
			got -= count(i.PID())
		}
		if slices.Contains(want, got) {
			return
		}
	}
	t.Errorf("%v connections, want %v", got, want)
}
