package drivers_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"assay/drivers"
	"assay/internal/execution/server"
	"assay/internal/testkit/drivertest"
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

// serve fills in a server: the real one, in a name space of the test's own where its driver has them, or
// what stands in for it.
func serve(t *testing.T, d store.Description, c *store.Config) {
	t.Helper()
	if standIn := cmp.Or(drivertest.StandInFor(t, d.Name, c.Durability), tyrantstandin.For(t, d.Name, c.Durability)); standIn != "" {
		c.Endpoints = []string{standIn}
		return
	}
	program, starts := drivers.Program(d.Name)
	if !starts {
		t.Skipf("SKIPPED: no test starts a server for %s", d.Name)
	}
	i := servers.Get(t, program, c.Durability)
	c.Endpoints = []string{i.Endpoint()}
	if option, ok := namespaces[d.Name]; ok {
		c.Options[option] = fmt.Sprintf("test_%d", namespace.Add(1))
	}
}

// lanes is the lean client's asynchronous form.
const lanes = "lanes"

// eachSQL runs a test for each driver of an SQL server, with each of its clients.
func eachSQL(t *testing.T, test func(t *testing.T, driver store.Driver, p server.Program, client string)) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		if !slices.ContainsFunc(d.Options, func(o store.Option) bool { return slices.Contains(o.Choices, "database/sql") }) {
			continue
		}
		p, _ := drivers.Program(d.Name)
		for _, client := range []string{"lean", "database/sql", lanes} {
			if client == lanes && !d.Abilities.Async {
				continue
			}
			t.Run(d.Name+"/"+client, func(t *testing.T) { test(t, driver, p, client) })
		}
	}
}

func sqlConfig(t *testing.T, driver store.Driver, class store.Durability, client string) store.Config {
	t.Helper()
	d := driver.Describe()
	if client == lanes {
		client = "lean"
	}
	c := drivertest.Config(t, d, class, map[string]string{"client": client})
	serve(t, d, &c)
	return c
}

// openSQL opens a store, and returns a further client of it by each call of more.
func openSQL(t *testing.T, driver store.Driver, c store.Config, client string) (
	h store.Handle, more func() store.Handle) {
	t.Helper()
	s, h := drivertest.Open(t, driver, c)
	if client == lanes {
		return drivertest.Async(t, s), func() store.Handle { return drivertest.Async(t, s) }
	}
	return h, func() store.Handle {
		other, err := s.Handle()
		must(t, err)
		t.Cleanup(func() { must(t, other.Close()) })
		return other
	}
}

func TestSQLLongestValue(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, _ server.Program, client string) {
		h, _ := openSQL(t, driver, sqlConfig(t, driver, store.D0, client), client)
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
		h, _ := openSQL(t, driver, sqlConfig(t, driver, store.D0, client), client)
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

// An operation whose answer does not come in time is a timeout, and its late answer is no other
// operation's.
func TestSQLLateAnswersAreGivenUp(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, p server.Program, client string) {
		c := sqlConfig(t, driver, store.D0, client)
		c.Options["operation_timeout"] = "2s"
		h, _ := openSQL(t, driver, c, client)
		drivertest.GivesUpLate(t, servers.Get(t, p, store.D0), h)
	})
}

// A deadlock's victim is a conflict, and nothing of its batch was done.
func TestSQLDeadlocksAreConflicts(t *testing.T) {
	eachSQL(t, func(t *testing.T, driver store.Driver, _ server.Program, client string) {
		h, more := openSQL(t, driver, sqlConfig(t, driver, store.D0, client), client)
		other := more()
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
		if client == "database/sql" {
			t.Skip("SKIPPED: database/sql allocates, and so do those that use it")
		}
		h, _ := openSQL(t, driver, sqlConfig(t, driver, store.D0, client), client)
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
