package drivers_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"assay/drivers"
	"assay/drivers/internal/drivertest"
	"assay/internal/server"
	"assay/store"
)

// servers are the real ones of drivers for which nothing stands in.
var servers drivertest.Shared

// namespaces are the options that name a part of a server which a test has for itself.
var namespaces = map[string]string{
	"postgres": "schema", "mariadb": "database", "mongodb": "database", "ferretdb": "database",
	"nats": "bucket",
}

var namespace atomic.Int64

// serve fills in a server: the real one, in a name space of the test's own, or what stands in for
// it.
func serve(t *testing.T, d store.Description, c *store.Config) {
	t.Helper()
	if standIn := drivertest.StandInFor(t, d.Name, c.Durability); standIn != "" {
		c.Endpoints = []string{standIn}
		return
	}
	program, _ := drivers.Program(d.Name)
	c.Endpoints = []string{servers.Get(t, program, c.Durability).Endpoint()}
	if option, ok := namespaces[d.Name]; ok {
		c.Options[option] = fmt.Sprintf("test_%d", namespace.Add(1))
	} else {
		c.First, c.Options["flush_at_open"] = true, "true"
	}
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
		must(t, h.(store.CompareAndSwapper).CompareAndSwap([]byte("key"), value, value))
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

// A server that is killed keeps what was acknowledged in D1, and D3 claims more. D0 and D2 claim
// nothing of a kill.
func TestAcknowledgedWritesSurviveTheServersProcess(t *testing.T) {
	for _, p := range drivers.Programs() {
		driver, err := driverNamed(p.Driver)
		must(t, err)
		d := driver.Describe()
		for _, claim := range d.Durability {
			if claim.Class != store.D1 && claim.Class != store.D3 {
				continue
			}
			for _, client := range clientsOf(d) {
				t.Run(fmt.Sprint(d.Name, "/", client, "/", claim.Class), func(t *testing.T) {
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
		for _, key := range []string{"one", "two"} {
			must(t, h.Put([]byte(key), []byte(key)))
		}
		signal := func(s syscall.Signal) {
			for _, pid := range servers.Get(t, p, store.D0).Processes() {
				_ = syscall.Kill(pid, s) // one of a short life may have ended
			}
		}
		signal(syscall.SIGSTOP)
		value, err := h.Get([]byte("one"), nil)
		signal(syscall.SIGCONT)
		if !errors.Is(err, store.ErrTimeout) {
			t.Errorf("a get at a server that does not answer: %q, %v", value, err)
		}
		for right := 0; right < 3; {
			value, err := h.Get([]byte("two"), nil)
			if errors.Is(err, store.ErrTimeout) {
				continue // a busy machine
			}
			if err != nil || string(value) != "two" {
				t.Fatalf("after it: %q, %v", value, err)
			}
			right++
		}
		must(t, errors.Join(h.Delete([]byte("one")), h.Delete([]byte("two"))))
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
