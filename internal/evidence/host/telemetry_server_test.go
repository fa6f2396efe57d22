package host

import (
	"net"
	"slices"
	"strings"
	"testing"
)

func TestServerSeries(t *testing.T) {
	for _, c := range []struct {
		name       string
		number, of int
		want       string
	}{
		{"server.cpu", 1, 1, "server.cpu"}, {"server.cpu", 2, 3, "server2.cpu"}, {"worker.cpu", 2, 3, "worker.cpu"},
	} {
		if got := ServerSeries(c.name, c.number, c.of); got != c.want {
			t.Errorf("%s of %d of %d is %q, want %q", c.name, c.number, c.of, got, c.want)
		}
	}
	for name, want := range map[string]int{"server2.cpu": 2, "server32.rss": 32, "server.cpu": 0, "server02.cpu": 0, "serverx.cpu": 0, "server-1.cpu": 0, "worker.cpu": 0} {
		if n, _ := ServerNumber(name); n != want {
			t.Errorf("%s is of server %d, want %d", name, n, want)
		}
	}
	if s, ok := SeriesOf("server2.write"); !ok || s.Name != "server2.write" || !strings.Contains(s.Meaning, "server 2") || s.Unit != "B/s" {
		t.Errorf("server2.write is %+v", s)
	}
	if s, ok := SeriesOf("server2.nothing"); ok {
		t.Errorf("a series that is not there is %+v", s)
	}
	names := []string{"server10.cpu", "server2.rss", "machine.steal", "other", "server2.cpu", "worker.cpu"}
	InOrder(names)
	if want := []string{"worker.cpu", "server2.cpu", "server10.cpu", "server2.rss", "machine.steal", "other"}; !slices.Equal(names, want) {
		t.Errorf("in order: %v, want %v", names, want)
	}
}

// Of two servers, one works, and one ends: only the first has values to the end, and its own.
func TestEachServerHasItsSeries(t *testing.T) {
	worker, busy, idle := start(t, "compute 0"), start(t, "allocate 67108864"), start(t, "compute 0")
	s := NewSampler("", worker.Process.Pid)
	s.WatchServers(Servers{PIDs: []int{busy.Process.Pid, idle.Process.Pid}})
	s.BeginResources(s.Sample())
	if !busy.work() {
		t.Fatal("the server failed")
	}
	now := s.Resources(s.Sample())
	if now["server1.rss"] < 64<<20 || now["server2.rss"] >= 64<<20 || now["server2.rss"] == 0 {
		t.Errorf("memory of the first that holds 64 MiB: %v", now)
	}
	for _, name := range []string{"server1.cpu", "server2.cpu", "server1.threads", "server2.files"} {
		if _, there := now[name]; !there {
			t.Errorf("there is no %s: %v", name, now)
		}
	}
	if err := idle.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = idle.Process.Wait()
	now = s.Resources(s.Sample())
	if _, there := now["server2.rss"]; there || now["server1.rss"] == 0 {
		t.Errorf("the second has ended: %v", now)
	}
	s.WatchServers(Servers{PIDs: []int{busy.Process.Pid}})
	if now = s.Resources(s.Sample()); now["server.rss"] == 0 {
		t.Errorf("one server: %v", now)
	}
}

func TestConnectionsOfEachServer(t *testing.T) {
	first, second := listenHere(t), listenHere(t)
	worker := start(t, "compute 0")
	s := NewSampler("", worker.Process.Pid)
	s.WatchConnections([]string{first, second})
	for _, to := range []string{second, first, second} {
		c, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	now := s.Resources(s.Sample())
	if why := s.NotMeasured()["worker.connections"]; why != "" {
		t.Skip("SKIPPED: ", why)
	}
	if now["server1.connections"] != 1 || now["server2.connections"] != 2 || now["worker.connections"] != 0 {
		t.Errorf("one and two of another process: %v", now)
	}
}
