package host

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A server at a Unix socket is found by its path, by another path to it and by the relative path that it
// was bound by, and connections to it are counted once.
func TestUnixSockets(t *testing.T) {
	directory, err := os.MkdirTemp("", "socket") // t.TempDir is too long for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	t.Chdir(directory)
	other, link := filepath.Join(directory, "other.sock"), directory+"-link"
	if err := os.Symlink(directory, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(link) })
	for name, bound := range map[string]string{"absolute.sock": filepath.Join(directory, "absolute.sock"), "relative.sock": "relative.sock"} {
		l, err := net.Listen("unix", bound)
		if err != nil {
			t.Fatal(err)
		}
		for _, endpoint := range []string{filepath.Join(directory, name), filepath.Join(link, name)} {
			if got := Listeners([]string{endpoint}); !slices.Equal(got, []int{os.Getpid()}) {
				t.Errorf("bound to %s: got processes %v at %s, want this one, %d", bound, got, endpoint, os.Getpid())
			}
			if found := FindServers([]string{endpoint}); found.Why != "" {
				t.Error(found.Why)
			}
			if found := FindServers([]string{endpoint, other}); found.Why == "" {
				t.Errorf("nothing listens at %s, and a server was found there", other)
			}
			counts(t, l, []string{other, endpoint})
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// counts holds the numbers of connections to the second of two endpoints, at which l listens, against those
// that it opens.
func counts(t *testing.T, l net.Listener, endpoints []string) {
	t.Helper()
	s := NewSampler("", os.Getpid())
	s.WatchConnections(endpoints)
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for want := range 3 {
		s.telemetry.sockets = schedule{}
		values := s.Resources(s.Sample())
		n, counted := values[WorkerConnections]
		if !counted {
			t.Skip("SKIPPED: ", s.NotMeasured()[WorkerConnections])
		}
		first, second := values["server1.connections"], values["server2.connections"]
		if n != float64(want) || second != n || first != 0 {
			t.Errorf("%v connections, %v at the first and %v at the second endpoint, want %d at the second", n, first, second, want)
		}
		c, err := net.Dial("unix", endpoints[1])
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c, accepted)
	}
}
