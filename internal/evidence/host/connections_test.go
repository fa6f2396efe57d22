package host

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// What is connected to the endpoint is counted: neither what listens, nor the other end in the
// same process, nor connections elsewhere, nor closed ones.
func TestConnectionsToTheEndpoint(t *testing.T) {
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				if _, err := l.Accept(); err != nil {
					return
				}
			}
		}()
		return l
	}
	dial := func(l net.Listener) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	endpoint, elsewhere := listen(), listen()
	s := NewSampler("", os.Getpid())
	count := func() (float64, bool) {
		s.telemetry.sockets = schedule{}
		n, counted := s.Resources(s.Sample())["worker.connections"]
		return n, counted
	}
	if n, counted := count(); counted {
		t.Errorf("%v connections, and no endpoints to count at", n)
	}
	s.WatchConnections([]string{endpoint.Addr().String(), "not.an.endpoint"})
	dial(elsewhere)
	for i := range 5 {
		if n, counted := count(); n != float64(i) || !counted {
			t.Errorf("%v connections (%v), want %d", n, counted, i)
		}
		dial(endpoint)
	}
	if err := dial(endpoint).Close(); err != nil {
		t.Fatal(err)
	}
	if n, _ := count(); n != 5 {
		t.Errorf("%v connections after one was closed, want 5", n)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = child.Process.Kill(), child.Wait() }) // "signal: killed"
	other := NewSampler("", child.Process.Pid)
	other.WatchConnections([]string{endpoint.Addr().String()})
	if n, counted := other.Resources(other.Sample())["worker.connections"]; n != 0 || !counted {
		t.Errorf("%v connections (%v) of another process, want 0", n, counted)
	}
}

// What is known of the samples before does not make a count wrong: a descriptor's number is given
// to another socket, a connection is held twice, and a file stands between sockets.
func TestConnectionsAreCountedAnew(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := NewSampler("", os.Getpid())
	s.WatchConnections([]string{l.Addr().String()})
	var open []int
	check := func(what string) {
		t.Helper()
		s.telemetry.sockets = schedule{}
		if n, _ := s.Resources(s.Sample())["worker.connections"]; n != float64(len(open)) {
			t.Fatalf("%s: %v connections, want %d", what, n, len(open))
		}
	}
	dial := func(family int) {
		t.Helper()
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		var to unix.Sockaddr = &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
		if family == unix.AF_INET6 {
			to = &unix.SockaddrInet6{Port: port, Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}}
		}
		if err := unix.Connect(fd, to); err != nil {
			t.Fatal(err)
		}
		open = append(open, fd)
	}
	hangUp := func(i int) {
		_ = unix.Close(open[i])
		open = slices.Delete(open, i, i+1)
	}
	t.Cleanup(func() {
		for len(open) > 0 {
			hangUp(0)
		}
	})
	for range 20 {
		dial(unix.AF_INET)
	}
	check("at first")
	for range 5 {
		hangUp(3)
	}
	check("5 closed")
	for range 5 {
		dial(unix.AF_INET)
	}
	check("5 in the numbers of those that were closed")
	hangUp(len(open) - 1)
	dial(unix.AF_INET)
	check("one in the number of the last")
	for range descriptorsBetween + 10 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
	}
	dial(unix.AF_INET)
	check("one behind many files")
	second, err := unix.Dup(open[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(second) })
	check("one held twice")
	dial(unix.AF_INET6)
	check("an IPv6 socket to the IPv4 address")
}
