package host

import (
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// machineTree is a /proc and a /sys of one machine with one process, written by hand.
type machineTree struct {
	t *testing.T
	roots
	takes []time.Duration // one: what a costly reading takes
}

func newMachine(t *testing.T) machineTree {
	t.Helper()
	root := t.TempDir()
	m := machineTree{t, roots{filepath.Join(root, "proc"), filepath.Join(root, "sys")}, make([]time.Duration, 1)}
	if err := os.MkdirAll(m.sys, 0o755); err != nil {
		t.Fatal(err)
	}
	m.at(1)
	return m
}

func (m machineTree) write(name, text string) {
	m.t.Helper()
	path := filepath.Join(m.proc, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m machineTree) remove(names ...string) {
	m.t.Helper()
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(m.proc, name)); err != nil {
			m.t.Fatal(err)
		}
	}
}

// at writes every file with counters of n times their step.
func (m machineTree) at(n int) {
	m.write("stat", fmt.Sprintf("cpu  %d 0 %d %d %d 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
		100*n, 100*n, 100*n, 100*n)) // a quarter waits
	fields := make([]string, 50)
	for i := range fields {
		fields[i] = "0"
	}
	fields[0], fields[7], fields[9] = "S", fmt.Sprint(30*n), fmt.Sprint(4*n) // state, minflt, majflt
	fields[11], fields[12] = fmt.Sprint(100*n), fmt.Sprint(50*n)             // utime, stime
	fields[17], fields[21] = "2", "10"                                       // threads, rss in pages
	m.write("77/stat", "77 (worker) "+strings.Join(fields, " ")+"\n")
	m.write("77/io", "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 0\n")
	m.write("77/smaps_rollup", "0-1 ---p 00000000 00:00 0 [rollup]\nRss: 40 kB\nPss: 12 kB\n")
	for _, tid := range []string{"77", "78"} {
		m.write("77/task/"+tid+"/stat", "x")
		m.write("77/task/"+tid+"/status", fmt.Sprintf("Name:\tworker\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n", 20*n, 3*n))
		m.write("77/task/"+tid+"/schedstat", fmt.Sprintf("1 %d 1\n", n*250_000_000))
	}
	m.write("meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nCached: 300 kB\nDirty: 8 kB\nWriteback: 4 kB\n")
	m.write("vmstat", fmt.Sprintf("pgscan_kswapd %d\npgscan_direct %d\npgscan_direct_throttle %d\npgsteal_kswapd %d\npgsteal_direct %d\nallocstall_dma 0\nallocstall_normal %d\nallocstall_movable %d\npgmajfault %d\nworkingset_refault_anon %d\nworkingset_refault_file %d\n",
		10*n, 20*n, 999*n, 5*n, 6*n, n, n, 7*n, n, 2*n))
	for _, resource := range []string{"cpu", "io", "memory"} {
		m.write("pressure/"+resource, fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", n*500_000, n*250_000))
	}
	m.write("diskstats", fmt.Sprintf("   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n 254 0 vda %d 0 %d %d %d 0 %d %d 3 %d %d 0 0 0 0 %d %d\n",
		10*n, 100*n, 20*n, 40*n, 200*n, 120*n, 500*n, 1500*n, 5*n, 50*n))
}

// sampler looks at the tree as if the data stood on its disk.
func (m machineTree) sampler() *Sampler {
	s := newSampler(m.roots, "", 77)
	s.telemetry.device = device{disk: "vda"}
	s.telemetry.since = func(time.Time) time.Duration { return m.takes[0] }
	return s
}

// twoSeconds reads, lets the counters go on by two steps in two seconds, and reads again.
func (m machineTree) twoSeconds(s *Sampler, change func()) map[string]float64 {
	m.t.Helper()
	first := s.Sample()
	s.BeginResources(first)
	m.at(3)
	change()
	s.telemetry.pss.next, s.telemetry.files.next = time.Time{}, time.Time{}
	second := s.Sample()
	second.At = first.At.Add(2 * time.Second)
	return s.Resources(second)
}

func TestResourcesOfAMachine(t *testing.T) {
	m := newMachine(t)
	got := m.twoSeconds(m.sampler(), func() {})
	for name, want := range map[string]float64{
		"worker.cpu_system": 0.5, "worker.faults_minor": 30, "worker.faults_major": 4, "worker.threads": 2,
		"worker.run_wait": 0.5, "worker.switches_voluntary": 40, "worker.switches_involuntary": 6, "worker.pss": 12 << 10,
		"device.reads": 10, "device.writes": 40, "device.flushes": 5, "device.read": 100 * 512, "device.write": 200 * 512,
		"device.busy": 0.5, "device.queue": 1.5, "device.read_time": 2, "device.write_time": 3, "device.flush_time": 10,
		"machine.iowait": 0.25, "machine.dirty": 8 << 10, "machine.writeback": 4 << 10, "machine.cached": 300 << 10, "machine.available": 600 << 10,
		"machine.pressure_cpu": 0.5, "machine.pressure_io": 0.5, "machine.pressure_io_full": 0.25,
		"machine.pressure_memory": 0.5, "machine.pressure_memory_full": 0.25,
		"machine.reclaim_scanned": 10, "machine.reclaim_scanned_direct": 20, "machine.reclaim_freed": 5, "machine.reclaim_freed_direct": 6,
		"machine.allocation_stalls": 2, "machine.faults_major": 7, "machine.refaults": 3,
	} {
		if value, measured := got[name]; !measured || math.Abs(value-want) > 1e-9*max(1, want) {
			t.Errorf("%s: %v (measured: %v), want %v", name, value, measured, want)
		}
	}
}

// What a machine does not report is absent, and the reason is there.
func TestMissingKernelFilesGiveNoSeries(t *testing.T) {
	for _, c := range []struct {
		name   string
		remove []string
		absent []string
	}{
		{"no pressure", []string{"pressure"}, []string{"machine.pressure_cpu", "machine.pressure_io", "machine.pressure_io_full", "machine.pressure_memory", "machine.pressure_memory_full"}},
		{"no vmstat", []string{"vmstat"}, []string{"machine.reclaim_scanned", "machine.allocation_stalls", "machine.refaults", "machine.faults_major"}},
		{"no meminfo", []string{"meminfo"}, []string{"machine.dirty", "machine.writeback"}},
		{"no diskstats", []string{"diskstats"}, []string{"device.reads", "device.flushes", "device.write_time"}},
		{"no schedstat", []string{"77/task/77/schedstat", "77/task/78/schedstat"}, []string{"worker.run_wait"}},
		{"no rollup", []string{"77/smaps_rollup"}, []string{"worker.pss"}},
		{"no descriptors", []string{"77/fd"}, []string{"worker.files", "worker.sockets"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(t)
			m.write("77/task/77/stat", readString("/proc/self/stat"))
			m.write("77/task/78/stat", readString("/proc/self/stat"))
			m.remove(c.remove...)
			s := m.sampler()
			u := s.Sample()
			s.Resources(u)
			got := m.twoSeconds(s, func() {
				m.write("77/task/77/stat", readString("/proc/self/stat"))
				m.write("77/task/78/stat", readString("/proc/self/stat"))
				m.remove(c.remove...)
			})
			for _, name := range c.absent {
				if value, measured := got[name]; measured {
					t.Errorf("%s is %v", name, value)
				}
				if s.NotMeasured()[name] == "" {
					t.Errorf("nothing says why %s is not there", name)
				}
			}
			if _, measured := got["worker.threads"]; !measured {
				t.Error("what is there is missing too")
			}
		})
	}
}

func TestOldKernelsCountNoFlushes(t *testing.T) {
	m := newMachine(t)
	m.write("diskstats", " 254 0 vda 1 0 1 1 1 0 1 1 3 1 1\n")
	s := m.sampler()
	got := m.twoSeconds(s, func() { m.write("diskstats", " 254 0 vda 9 0 9 9 9 0 9 9 3 9 9\n") })
	if _, measured := got["device.flushes"]; measured || s.NotMeasured()["device.flushes"] == "" {
		t.Errorf("flushes: %v, why: %q", got["device.flushes"], s.NotMeasured()["device.flushes"])
	}
	if got["device.reads"] != 4 {
		t.Errorf("reads: %v", got["device.reads"])
	}
}

// The counter of a device of devices is there and stays 0, though there are flushes.
func TestStackedDevicesCountNoFlushes(t *testing.T) {
	m := newMachine(t)
	s := m.sampler()
	s.telemetry.device.stacked = true
	got := m.twoSeconds(s, func() {})
	for _, name := range []string{"device.flushes", "device.flush_time"} {
		if value, measured := got[name]; measured || s.NotMeasured()[name] == "" {
			t.Errorf("%s: %v, why: %q", name, value, s.NotMeasured()[name])
		}
	}
	if got["device.writes"] != 40 {
		t.Errorf("writes: %v", got["device.writes"])
	}
}

// A counter that fell, a time without operations and a first reading give no value.
func TestFirstReadingHasNoRates(t *testing.T) {
	m := newMachine(t)
	s := m.sampler()
	first := s.Sample()
	for name := range s.Resources(first) {
		if series, known := SeriesOf(name); !known || series.Kind == Rate {
			t.Errorf("the first reading has %s", name)
		}
	}
	got := m.twoSeconds(s, func() { m.at(0) })
	for _, name := range []string{"worker.faults_minor", "device.reads", "machine.reclaim_scanned", "machine.pressure_cpu"} {
		if value, measured := got[name]; measured {
			t.Errorf("%s fell, and is %v", name, value)
		}
	}
	m.at(1)
	if _, measured := m.twoSeconds(s, func() { m.at(1) })["device.read_time"]; measured {
		t.Error("a mean time of no reads")
	}
}

// Threads that end take nothing away from what they had counted, and a number that is given again
// counts from nothing.
func TestThreadsComeAndGo(t *testing.T) {
	m := newMachine(t)
	one := func(tid string) {
		m.write("77/task/"+tid+"/status", "voluntary_ctxt_switches:\t8\nnonvoluntary_ctxt_switches:\t2\n")
		m.write("77/task/"+tid+"/schedstat", "1 200000000 1\n")
	}
	for what, change := range map[string]func(){
		"a thread that ended and a new one": func() { m.remove("77/task/78"); one("79") },
		"a number that was given again":     func() { one("78") },
	} {
		m.remove("77/task/79")
		m.at(1)
		got := m.twoSeconds(m.sampler(), change)
		if math.Abs(got["worker.run_wait"]-0.35) > 1e-9 || got["worker.switches_voluntary"] != 24 || got["worker.switches_involuntary"] != 4 {
			t.Errorf("%s: waited %v, switches %v and %v", what, got["worker.run_wait"], got["worker.switches_voluntary"], got["worker.switches_involuntary"])
		}
	}
}

// Reading more often than once a second leaves the costly series out, and the cheap ones in.
func TestFrequentReadingIsThinnedOut(t *testing.T) {
	m := newMachine(t)
	s := m.sampler()
	first := s.Sample()
	s.BeginResources(first)
	var with, cheap int
	const readings = 40
	for i := 1; i <= readings; i++ {
		m.at(1 + i)
		u := s.Sample()
		u.At = first.At.Add(time.Duration(i) * 50 * time.Millisecond)
		got := s.Resources(u)
		if _, measured := got["machine.dirty"]; measured {
			with++
		}
		if _, measured := got["worker.faults_minor"]; measured {
			cheap++
		}
	}
	if with < 1 || with > 3 || cheap != readings {
		t.Errorf("of %d readings in 2 s, %d had the costly series and %d the cheap ones", readings, with, cheap)
	}
}

func TestCostlyReadingIsMadeLessOften(t *testing.T) {
	var s schedule
	now := time.Now()
	s.due(now, func() {
		for began := ThreadCPU(); ThreadCPU()-began < 5*time.Millisecond; {
		}
	})
	if wait := s.next.Sub(now); wait < 5*time.Millisecond*scheduleRarity {
		t.Errorf("the next one is due in %v", wait)
	}
	s.due(now.Add(time.Second), func() { t.Error("it was made too soon") })
}

// On a busy machine a cheap reading lasts long. It is still made in each phase.
func TestReadingThatWaitedIsMadeAgain(t *testing.T) {
	var s schedule
	now := time.Now()
	s.due(now, func() { time.Sleep(20 * time.Millisecond) })
	again := false
	s.due(now.Add(time.Second), func() { again = true })
	if !again {
		t.Errorf("the next one is due in %v", s.next.Sub(now))
	}
}

// Every series that comes out is catalogued, once, with what a reader needs.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, series := range Catalogue {
		if seen[series.Name] || series.Meaning == "" || series.Source == "" || (series.Kind != Rate && series.Kind != Gauge) {
			t.Errorf("%+v", series)
		}
		seen[series.Name] = true
		if whose, what, found := strings.Cut(series.Name, "."); !found || whose == "" || what == "" {
			t.Errorf("%s has no owner", series.Name)
		}
	}
	own := NewSampler(t.TempDir(), os.Getpid())
	u := own.Sample()
	own.BeginResources(u)
	later := own.Sample()
	later.At = later.At.Add(time.Second)
	for _, name := range slices.Concat(slices.Collect(maps.Keys(own.Resources(later))),
		slices.Collect(maps.Keys(own.NotMeasured()))) {
		if !seen[name] {
			t.Errorf("%s is not in the catalogue", name)
		}
	}
	if _, known := SeriesOf("worker.nothing"); known {
		t.Error("a series that is not there was found")
	}
}

func TestDeviceOfADirectory(t *testing.T) {
	sys := filepath.Join(t.TempDir(), "sys")
	directory := t.TempDir()
	if d := deviceOf(roots{"/proc", sys}, directory); d.disk != "" || d.why == nil {
		t.Errorf("a device without an entry in /sys: %+v", d)
	}
	number := deviceNumber(t, directory)
	partition := filepath.Join(sys, "devices", "sda", "sda1")
	for _, path := range []string{partition, filepath.Join(sys, "dev", "block")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../devices/sda/sda1", filepath.Join(sys, "dev", "block", number)); err != nil {
		t.Fatal(err)
	}
	if d := deviceOf(roots{"/proc", sys}, directory); d.disk != "sda1" {
		t.Errorf("a whole disk: %+v", d)
	}
	if err := os.WriteFile(filepath.Join(partition, "partition"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if d := deviceOf(roots{"/proc", sys}, directory); d.disk != "sda" || d.stacked {
		t.Errorf("a partition's disk: %+v", d)
	}
	if err := os.MkdirAll(filepath.Join(sys, "devices", "sda", "slaves", "sdb"), 0o755); err != nil {
		t.Fatal(err)
	}
	if d := deviceOf(roots{"/proc", sys}, directory); d.disk != "sda" || !d.stacked {
		t.Errorf("a disk that is made of another: %+v", d)
	}
}

func deviceNumber(t *testing.T, directory string) string {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Stat(directory, &stat); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
}

// BenchmarkResources is a reading of everything, as it is made about once a second.
func BenchmarkResources(b *testing.B) {
	s := NewSampler(b.TempDir(), os.Getpid())
	for b.Loop() {
		u := s.Sample()
		s.BeginResources(u)
	}
}

// The kernel's files of a network are read twice: the second reading gives the difference.
func TestNetworkSeries(t *testing.T) {
	m := newMachine(t)
	at := func(n int) {
		m.write("net/snmp", fmt.Sprintf("Ip: Forwarding\nIp: 1\nTcp: RtoMin OutSegs\nTcp: 200 %d\n", 1000*n))
		m.write("net/netstat", fmt.Sprintf("TcpExt: DelayedACKs ListenOverflows\nTcpExt: %d %d\n", 10*n, n))
		m.write("net/dev", fmt.Sprintf("Inter-|   Receive  |  Transmit\n face |bytes packets\n"+
			"  lo: 9 9 0 9 0 0 0 0 9 9 0 9 0 0 0 0\neth9: %d %d 0 %d 0 0 0 0 %d %d 0 %d 0 0 0 0\n",
			5000*n, 50*n, 2*n, 7000*n, 70*n, n))
		if err := os.MkdirAll(filepath.Join(m.sys, "class", "net", "eth9"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.sys, "class", "net", "eth9", "speed"), []byte("100\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := newSampler(m.roots, "")
	s.telemetry.connections = connections{servers: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:1")}, link: "eth9"}
	start := time.Now()
	read := func(n int) map[string]float64 {
		at(n)
		v := values{&s.telemetry, start.Add(time.Duration(n) * 2 * time.Second), map[string]float64{}}
		s.telemetry.readNetwork(v)
		return v.out
	}
	read(1)
	want := map[string]float64{NetworkReceived: 2500, NetworkSent: 3500, "network.packets_received": 25, "network.packets_sent": 35, "network.dropped": 1.5,
		NetworkCapacity: 12.5e6, NetworkSegments: 500, NetworkDelayedACK: 5, NetworkOverflows: 0.5}
	if got := read(2); !maps.Equal(got, want) {
		t.Errorf("%v, expected %v; not told: %v", got, want, s.NotMeasured())
	}
}

// A connection of this test's own tells of its path, and loopback is the way to it.
func TestConnectionsReportTheirPath(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s := NewSampler("", os.Getpid())
	s.WatchConnections([]string{listener.Addr().String()})
	resources := s.Resources(s.Sample())
	if why := s.NotMeasured()[WorkerConnections]; why != "" {
		t.Skip("connections can't be listed here: ", why)
	}
	if resources[WorkerConnections] != 1 || resources[NetworkRTT] <= 0 ||
		resources[NetworkRTTMax] < resources[NetworkRTT] {
		t.Errorf("%v", resources)
	}
	if link := s.telemetry.connections.link; link == "" {
		t.Errorf("no interface on the way to %s: %v", listener.Addr(), s.telemetry.connections.linkWhy)
	}
}
