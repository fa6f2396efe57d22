package host

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

func TestListeners(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		endpoint := net.JoinHostPort("127.0.0.1", port)
		if got := Listeners([]string{endpoint}); !slices.Equal(got, []int{os.Getpid()}) {
			t.Errorf("at %s, heard at %s: got processes %v, want this one, %d", address, endpoint, got, os.Getpid())
		}
		// 192.0.2.0/24 is for documentation (RFC 5737): the port is the same, the machine is
		// another.
		if got := Listeners([]string{net.JoinHostPort("192.0.2.1", port), "nonsense"}); len(got) > 0 {
			t.Errorf("elsewhere: got processes %v, want none", got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := Listeners([]string{endpoint}); len(got) > 0 {
			t.Errorf("no process listens at %s any more: got %v", endpoint, got)
		}
	}
}

// What the kernel says when it is asked, its tables say too: of each kind of listener, and of no
// connection.
func TestListeningSocketsOfBothSources(t *testing.T) {
	if _, err := askListening(); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	for _, address := range []string{"127.0.0.1:0", ":0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("SKIPPED: %v", err) // no IPv6 here
			continue
		}
		t.Cleanup(func() { _ = l.Close() })
		at := l.Addr().(*net.TCPAddr).AddrPort()
		at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		asked, err := askListening()
		if err != nil {
			t.Fatal(err)
		}
		for source, all := range map[string][]tcpSocket{"asked": asked, "read": readListening()} {
			of := slices.DeleteFunc(slices.Clone(all), func(s tcpSocket) bool { return s.local.Port() != at.Port() })
			if len(of) != 1 || of[0].local != at || of[0].inode == 0 {
				t.Errorf("%s, heard at %s: got %+v, want one that is there", source, at, of)
			}
		}
	}
}

// A server's processes are found at each endpoint that they hear, and once in all.
func TestListenersOfEachEndpoint(t *testing.T) {
	var endpoints []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		endpoints = append(endpoints, l.Addr().String())
	}
	self := []int{os.Getpid()}
	at, all := listeners(append(endpoints, "127.0.0.1:1"))
	if want := [][]int{self, self, nil}; !slices.Equal(all, self) || !slices.EqualFunc(at, want, slices.Equal) {
		t.Errorf("got %v and in all %v, want %v and %v", at, all, want, self)
	}
}

func TestTopmostProcesses(t *testing.T) {
	parents := map[int]int{10: 1, 30: 10, 20: 30, 40: 1}
	for _, c := range []struct{ pids, top []int }{
		{nil, nil}, {[]int{40, 10}, []int{10, 40}}, {[]int{10, 30}, []int{10}},
		{[]int{20, 30, 40}, []int{30, 40}}, {[]int{10, 20}, []int{10, 20}},
	} {
		if got := topmost(c.pids, parents); !slices.Equal(got, c.top) {
			t.Errorf("of %v: got %v, want %v", c.pids, got, c.top)
		}
	}
}

func BenchmarkFindServers(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	before := ProcessCPU()
	for b.Loop() {
		if found := FindServers([]string{l.Addr().String()}); found.Why != "" {
			b.Fatal(found.Why)
		}
	}
	b.ReportMetric(float64(ProcessCPU()-before)/float64(b.N), "cpu-ns/op")
}
