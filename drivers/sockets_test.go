package drivers_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/drivers"
	"assay/internal/evidence/host"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

// behindSocket serves a server's endpoint at a Unix socket until the test ends.
func behindSocket(t *testing.T, name, endpoint string) (path string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "socket") // t.TempDir is too long for the address of a socket
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(directory)) })
	path = filepath.Join(directory, name)
	listener, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { must(t, listener.Close()) })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			server, err := net.Dial("tcp", endpoint)
			if err != nil {
				_ = client.Close()
				continue
			}
			for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					_, _ = io.Copy(ends[0], ends[1])
					_, _ = ends[0].Close(), ends[1].Close()
				}()
			}
		}
	}()
	return path
}

// socketNames are what sockets must be called.
var socketNames = map[string]string{"postgres": ".s.PGSQL.5432"}

// Drivers that say so reach their servers by Unix sockets: with each client, by blocking sockets and by
// lanes, and their connections are counted.
func TestUnixSockets(t *testing.T) {
	for _, driver := range drivers.All() {
		d := driver.Describe()
		if !d.UnixSockets {
			continue
		}
		for _, client := range clientsOf(d) {
			for _, threads := range []int{1, 4} {
				t.Run(fmt.Sprint(d.Name, "/", client, "/", threads), func(t *testing.T) { reachesBySocket(t, driver, client, threads) })
			}
		}
	}
}

func reachesBySocket(t *testing.T, driver store.Driver, client string, threads int) {
	given := map[string]string{}
	if client != "" {
		given["client"] = client
	}
	d := driver.Describe()
	c := drivertest.Config(t, d, d.Durability[0].Class, given)
	c.Threads, c.Handles = threads, threads
	serve(t, d, &c)
	c.Endpoints[0] = behindSocket(t, cmp.Or(socketNames[d.Name], "server.sock"), c.Endpoints[0])
	if d.Name == "ferretdb" { // it is held to the socket that its process was started with
		_, err := driver.Open(t.Context(), c)
		if !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "listens at no Unix socket") {
			t.Error(err)
		}
		return
	}
	s, h := drivertest.Open(t, driver, c)
	key, value := []byte("key"), []byte("value")
	for range 3 {
		must(t, h.Put(key, value))
		mustGet(t, h, key, value)
	}
	if s, ok := s.(store.Inspector); ok {
		s.Inspect()
	}
	want := max(d.ConnectionsEach, 1) + d.ConnectionsOwn
	holdsConnections(t, c.Endpoints, want)
	if a, ok := s.(store.Asynchronous); ok && d.Abilities.Async {
		loop, err := a.Loop(1, 1)
		if err == nil { // only of the lean client
			must(t, loop.Close())
			mustGet(t, drivertest.Async(t, s), key, value)
		}
	}
	must(t, h.Delete(key))
}

// TLS is refused at a Unix socket, and so are what a protocol has no such socket for.
func TestUnixSocketsAreRefusedWhereClientsLackThem(t *testing.T) {
	for _, test := range []struct{ driver, endpoint, option, value, want string }{
		{"redis", "/run/x.sock", "tls", "true", "no TLS at a Unix socket"},
		{"memcached", "/run/x.sock", "tls", "true", "no TLS at a Unix socket"},
		{"memcached", "/run/x.sock", "protocol", "udp", "no protocol udp at a Unix socket"},
		{"postgres", "/run/.s.PGSQL.5432", "tls", "verify", "no TLS at a Unix socket"},
		{"postgres", "/run/x.sock", "schema", "x", "called .s.PGSQL.PORT"},
		{"mariadb", "/run/x.sock", "tls", "verify", "no verified TLS at a Unix socket"},
		{"mongodb", "/run/x.sock", "tls", "verify", "no TLS at a Unix socket"},
		{"mongodb", "/run/x.socket", "database", "x", "whose name ends in sock"},
	} {
		driver, err := driverNamed(test.driver)
		must(t, err)
		d := driver.Describe()
		c := drivertest.Config(t, d, d.Durability[0].Class, map[string]string{test.option: test.value})
		c.Endpoints = []string{test.endpoint}
		if _, err := driver.Open(t.Context(), c); !errors.Is(err, store.ErrRefused) ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s at %s with %s=%s: %v, want %q", test.driver, test.endpoint, test.option, test.value, err, test.want)
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

// holdsConnections waits until this process has so many connections to endpoints.
func holdsConnections(t *testing.T, endpoints []string, want int) {
	t.Helper()
	var got float64
	for ended := time.Now().Add(time.Minute); time.Now().Before(ended); time.Sleep(50 * time.Millisecond) {
		sampler := host.NewSampler("", os.Getpid())
		sampler.WatchConnections(endpoints)
		counted := false
		if got, counted = sampler.Resources(sampler.Sample())[host.WorkerConnections]; !counted {
			t.Skip("SKIPPED: ", sampler.NotMeasured()[host.WorkerConnections])
		}
		if got == float64(want) {
			return
		}
	}
	t.Errorf("%v connections, want %d", got, want)
}
