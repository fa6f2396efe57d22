package host

import (
	"fmt"
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
		s := NewSampler("", idle.Process.Pid)
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
	s := NewSampler("", idle.Process.Pid)
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
	s := NewSampler("", idle.Process.Pid)
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
	s := NewSampler("", os.Getpid())
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

// server makes processes of a server, 80 and below it 81, that have 40 MB resident each, 30 MB of
// which they share.
func (m machineTree) server() {
	for pid, children := range map[string]string{"80": "81", "81": ""} {
		m.write(pid+"/stat", pid+" (server) S "+strings.Repeat("0 ", 20)+fmt.Sprint(40_960_000/os.Getpagesize())+strings.Repeat(" 0", 28)+"\n")
		m.write(pid+"/io", "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n")
		m.write(pid+"/status", "Name:\tserver\nRssShmem:\t1000 kB\n")
		m.write(pid+"/smaps_rollup", "0-1 ---p 00000000 00:00 0 [rollup]\nRss: 40000 kB\nPss: 25000 kB\n")
		m.write(pid+"/task/"+pid+"/children", children)
	}
}

func TestMemoryThatAServersProcessesShareCountsOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m machineTree)
		want   uint64
		why    string // part of it
	}{
		{"it forked", func(machineTree) {}, 50_000 << 10, ""},
		{"one process", func(m machineTree) { m.write("80/task/80/children", "") }, 40_000 << 10, ""},
		{"its child has just ended", func(m machineTree) { m.remove("81/stat", "81/smaps_rollup") }, 25_000 << 10, ""},
		{"an old kernel", func(m machineTree) { m.remove("80/smaps_rollup", "81/smaps_rollup") }, 79_000 << 10, "no /proc/PID/smaps_rollup"},
		{"it takes long to read", func(m machineTree) { m.takes[0] = pssCostMax + 1 }, 79_000 << 10, "left out from then on"},
		{"it can't be read", func(m machineTree) { m.remove("80/smaps_rollup"); m.write("80/smaps_rollup/x", "") }, 79_000 << 10, "smaps_rollup"},
	} {
		m := newMachine(t)
		m.server()
		c.change(m)
		s := m.sampler()
		s.WatchServers(Servers{PIDs: []int{80}})
		for range 2 {
			if use := s.Sample().Server; use == nil || use.RSSBytes != c.want || (use.SharedWhy == "") != (c.why == "") || !strings.Contains(use.SharedWhy, c.why) {
				t.Errorf("%s: %+v, want %d bytes and %q", c.name, use, c.want, c.why)
			}
		}
	}
}

// Reading it several times a second would cost the server more than it tells.
func TestSharedMemoryIsReadSeldom(t *testing.T) {
	m := newMachine(t)
	m.server()
	s := m.sampler()
	s.WatchServers(Servers{PIDs: []int{80}})
	now := time.Now()
	for _, c := range []struct {
		name  string
		after time.Duration
		want  uint64
	}{{"first", 0, 50_000 << 10}, {"soon after", schedulePeriod / 2, 50_000 << 10}, {"a minute later", time.Minute, 60_000 << 10}} {
		use, _, _ := s.serverUse(now.Add(c.after))
		if use == nil || use.RSSBytes != c.want {
			t.Errorf("%s: %+v, want %d bytes", c.name, use, c.want)
		}
		m.write("80/smaps_rollup", "0-1 ---p 00000000 00:00 0 [rollup]\nRss: 40000 kB\nPss: 35000 kB\n") // its child's copy is no more the same
	}
}
