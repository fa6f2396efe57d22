package host

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func listenHere(t *testing.T) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func TestFindServers(t *testing.T) {
	here, other := listenHere(t), listenHere(t)
	own := []int{os.Getpid()}
	const elsewhere = "192.0.2.1:9" // an address of no machine (RFC 5737)
	for _, c := range []struct {
		name      string
		endpoints []string
		pids      []int
		why       string // part of it
	}{
		{"one", []string{here}, own, ""},
		{"two of one process", []string{here, other}, own, ""},
		{"one of two is elsewhere", []string{here, elsewhere}, own, elsewhere},
		{"elsewhere", []string{elsewhere}, nil, elsewhere},
		{"none", nil, nil, "no endpoints"},
	} {
		found := FindServers(c.endpoints)
		if !slices.Equal(found.PIDs, c.pids) || (found.Why == "") != (c.why == "") || !strings.Contains(found.Why, c.why) {
			t.Errorf("%s: %+v, want %v and %q", c.name, found, c.pids, c.why)
		}
	}
	was := forwarders
	defer func() { forwarders = was }()
	forwarders = []string{nameOf(os.Getpid())}
	if found := FindServers([]string{here}); !strings.Contains(found.Why, "passes on") || !slices.Equal(found.PIDs, own) {
		t.Errorf("a process that passes on what it hears: %+v", found)
	}
}

func TestSamplerSeesServers(t *testing.T) {
	const held = 64 << 20
	idle, server := start(t, "compute 0"), start(t, "allocate 67108864")
	pids := []int{server.Process.Pid}
	sample := func(found Servers) (before, after Usage) {
		s := NewSampler(idle.Process.Pid, "")
		s.WatchServers(found)
		return s.Sample(), s.Sample()
	}
	if !server.work() {
		t.Fatal("the server failed")
	}
	before, after := sample(Servers{PIDs: pids})
	if after.Server == nil || after.Server.RSSBytes < held || *after.RSSBytes >= held {
		t.Fatalf("the server holds %d bytes: %+v; the worker %d", held, after.Server, *after.RSSBytes)
	}
	if i := after.Since(before); i.ServerCPUSeconds == nil {
		t.Error("its CPU time is not measured")
	}
	if _, after := sample(Servers{PIDs: pids, Why: "another one is elsewhere"}); after.Server != nil {
		t.Error("a part of the servers was taken for all")
	}
	if _, after := sample(Servers{}); after.Server != nil {
		t.Error("no server was measured")
	}
	s := NewSampler(idle.Process.Pid, "")
	s.WatchServers(Servers{PIDs: pids})
	seen := s.Sample()
	server.Process.Kill()
	server.Wait()
	if gone := s.Sample(); gone.Server != nil || gone.Since(seen).ServerCPUSeconds != nil {
		t.Error("a server that has ended was measured")
	}
}

// What a server computes is not foreign, whether it can be measured or not.
func TestServersAreOfTheTrial(t *testing.T) {
	const busy = 300 * time.Millisecond
	idle, server := start(t, "compute 0"), start(t, "compute 300000000")
	s := NewSampler(idle.Process.Pid, "")
	s.WatchServers(Servers{PIDs: []int{server.Process.Pid}, Why: "another one is elsewhere"})
	before := s.Sample()
	if !server.work() {
		t.Fatal("the server failed")
	}
	after := s.Sample()
	if trial := after.machine.trial - before.machine.trial; trial < 0.8*busy.Seconds() {
		t.Errorf("the server used %v, the trial %.2f s", busy, trial)
	}
}

func TestServersWrite(t *testing.T) {
	s := NewSampler(os.Getpid(), "")
	s.WatchServers(Servers{PIDs: []int{os.Getpid()}})
	const memory = "/dev/shm"
	elsewhere, err := os.CreateTemp(memory, "assay-test-")
	if err != nil {
		t.Skipf("there is no second file system: %v", err)
	}
	defer os.Remove(elsewhere.Name())
	directory := t.TempDir()
	if why := s.ServersWrite(directory); !strings.Contains(why, elsewhere.Name()) {
		t.Errorf("a file is open on another file system: %q", why)
	}
	elsewhere.Close()
	reads, err := os.Open(elsewhere.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer reads.Close()
	here, err := os.Create(filepath.Join(directory, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	if why := s.ServersWrite(directory); why != "" {
		t.Errorf("nothing else is open for writing: %q", why)
	}
	if why := s.ServersWrite(filepath.Join(directory, "nowhere")); why == "" {
		t.Error("a directory that is not there")
	}
}
