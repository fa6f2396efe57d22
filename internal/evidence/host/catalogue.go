package host

import (
	"fmt"
	"strings"
)

// Kind is how the values of a series are to be read.
type Kind string

const (
	// Rate: how much came in a second, over the time since the series was last read.
	Rate Kind = "rate"
	// Gauge: what was there at the moment of reading.
	Gauge Kind = "gauge"
)

// Series is one thing that is measured beside the rate of operations.
type Series struct {
	// Name: "worker.run_wait": whose, then what; in record.Sample.Resources, in reports and on the
	// command line.
	Name    string
	Unit    string // of the value: "B", "B/s", "1/s", "cores", "share", "ms"; "" for a number of things
	Kind    Kind
	Meaning string // half a sentence, for a reader of the report
	Source  string // where it comes from, as a file of /proc or /sys
}

// Catalogue names each series, in the order in which a reader should see them. A share is 0 to 1. A
// unit of cores is seconds in a second: two threads that wait all the time are 2 cores. A series
// that the machine does not report has no values.
var Catalogue = []Series{
	{"worker.cpu", "cores", Rate, "CPU that the worker used", "/proc/PID/stat"},
	{"worker.cpu_system", "cores", Rate, "of that in the kernel", "/proc/PID/stat"},
	{"worker.run_wait", "cores", Rate, "threads of the worker that were ready and waited for a CPU", "/proc/PID/task/*/schedstat"},
	{"worker.switches_voluntary", "1/s", Rate, "times that a thread of the worker gave the CPU up, to wait for something", "/proc/PID/task/*/status"},
	{"worker.switches_involuntary", "1/s", Rate, "times that a thread of the worker had the CPU taken away", "/proc/PID/task/*/status"},
	{"worker.rss", "B", Gauge, "memory of the worker that is resident, mapped files included; what several workers map is in it once", "/proc/PID/stat"},
	{"worker.pss", "B", Gauge, "the same, with shared pages parted between those who share them", "/proc/PID/smaps_rollup"},
	{"worker.faults_minor", "1/s", Rate, "page faults of the worker that needed no disk", "/proc/PID/stat"},
	{"worker.faults_major", "1/s", Rate, "page faults of the worker that had to read from the disk", "/proc/PID/stat"},
	{"worker.read", "B/s", Rate, "bytes that the worker caused to be read from the storage layer", "/proc/PID/io"},
	{"worker.write", "B/s", Rate, "bytes that the worker caused to be sent to the storage layer", "/proc/PID/io"},
	{"worker.threads", "", Gauge, "threads of the worker", "/proc/PID/stat"},
	{"worker.files", "", Gauge, "open files of the worker, sockets not counted", "/proc/PID/fd"},
	{"worker.sockets", "", Gauge, "open sockets of the worker", "/proc/PID/fd"},
	{WorkerConnections, "", Gauge, "of these, connections to the store's endpoints", "sock_diag(7), /proc/PID/fd"},

	{"server.cpu", "cores", Rate, "CPU that the server used", "/proc/PID/stat"},
	{"server.rss", "B", Gauge, "memory of the server that is resident, mapped files included", "/proc/PID/stat"},
	{"server.read", "B/s", Rate, "bytes that the server caused to be read from the storage layer", "/proc/PID/io"},
	{"server.write", "B/s", Rate, "bytes that the server caused to be sent to the storage layer", "/proc/PID/io"},
	{"server.threads", "", Gauge, "threads of the server", "/proc/PID/stat"},
	{"server.files", "", Gauge, "open files of the server, sockets not counted", "/proc/PID/fd"},
	{"server.sockets", "", Gauge, "open sockets of the server", "/proc/PID/fd"},
	{"server.container_cpu", "cores", Rate, "CPU that the server's container used, processes that have ended included", "cgroup cpu"},
	{"server.container_held", "cores", Rate, "threads in the server's container that were ready, and had no CPU because of its limit", "cgroup cpu"},
	{"server.container_memory", "B", Gauge, "memory that counts to the server's container, page cache included", "cgroup memory"},
	{"server.container_cache", "B", Gauge, "page cache of that", "cgroup memory"},
	{"server.connections", "", Gauge, "connections from this machine to the server", "sock_diag(7)"},

	{"data.bytes", "B", Gauge, "blocks allocated under the data directory", "stat(2) of each file"},
	{"data.files", "", Gauge, "files under the data directory", "stat(2) of each file"},
	{"data.free", "B", Gauge, "bytes still free on the data directory's file system", "statfs(2)"},

	{"device.reads", "1/s", Rate, "reads that the data device completed", "/proc/diskstats"},
	{"device.writes", "1/s", Rate, "writes that the data device completed", "/proc/diskstats"},
	{"device.flushes", "1/s", Rate, "flushes of the data device's cache: what a sync waits for", "/proc/diskstats"},
	{"device.read", "B/s", Rate, "bytes read from the data device", "/proc/diskstats"},
	{"device.write", "B/s", Rate, "bytes written to the data device", "/proc/diskstats"},
	{"device.busy", "share", Rate, "time in which the data device had something to do", "/proc/diskstats"},
	{"device.queue", "", Rate, "requests at the data device, on average over the time", "/proc/diskstats"},
	{"device.read_time", "ms", Gauge, "mean time of a read that completed since the reading before", "/proc/diskstats"},
	{"device.write_time", "ms", Gauge, "mean time of a write that completed since the reading before", "/proc/diskstats"},
	{"device.flush_time", "ms", Gauge, "mean time of a flush that completed since the reading before", "/proc/diskstats"},

	{"machine.iowait", "share", Rate, "CPU time in which nothing ran and something waited for the disk", "/proc/stat"},
	{"machine.steal", "share", Rate, "CPU time that the hypervisor took", "/proc/stat"},
	{"machine.foreign", "share", Rate, "CPU time of processes that are not this trial's", "/proc/stat"},
	{"machine.dirty", "B", Gauge, "page cache that waits to be written", "/proc/meminfo"},
	{"machine.writeback", "B", Gauge, "page cache that is being written", "/proc/meminfo"},
	{"machine.cached", "B", Gauge, "page cache in all", "/proc/meminfo"},
	{"machine.available", "B", Gauge, "memory that can be had without swapping", "/proc/meminfo"},
	{"machine.pressure_cpu", "share", Rate, "time in which some task waited for a CPU", "/proc/pressure/cpu"},
	{"machine.pressure_io", "share", Rate, "time in which some task waited for the disk", "/proc/pressure/io"},
	{"machine.pressure_io_full", "share", Rate, "time in which all tasks that had work waited for the disk", "/proc/pressure/io"},
	{"machine.pressure_memory", "share", Rate, "time in which some task waited for memory", "/proc/pressure/memory"},
	{"machine.pressure_memory_full", "share", Rate, "time in which all tasks that had work waited for memory", "/proc/pressure/memory"},
	{"machine.reclaim_scanned", "1/s", Rate, "pages that the kernel looked at in the background to make room", "/proc/vmstat pgscan_kswapd"},
	{"machine.reclaim_scanned_direct", "1/s", Rate, "pages that tasks had to look at themselves to make room", "/proc/vmstat pgscan_direct"},
	{"machine.reclaim_freed", "1/s", Rate, "pages that the kernel freed in the background", "/proc/vmstat pgsteal_kswapd"},
	{"machine.reclaim_freed_direct", "1/s", Rate, "pages that tasks freed themselves", "/proc/vmstat pgsteal_direct"},
	{"machine.allocation_stalls", "1/s", Rate, "allocations that waited until room was made", "/proc/vmstat allocstall_*"},
	{"machine.faults_major", "1/s", Rate, "page faults of the whole machine that had to read from the disk", "/proc/vmstat pgmajfault"},
	{"machine.refaults", "1/s", Rate, "pages that were read again soon after they had been dropped: the cache is too small", "/proc/vmstat workingset_refault_*"},

	{NetworkReceived, "B/s", Rate, "bytes received by the interface on the way to the server, of all processes", "/sys/class/net/*/statistics"},
	{NetworkSent, "B/s", Rate, "bytes sent by it", "/sys/class/net/*/statistics"},
	{"network.packets_received", "1/s", Rate, "packets received by it", "/sys/class/net/*/statistics"},
	{"network.packets_sent", "1/s", Rate, "packets sent by it", "/sys/class/net/*/statistics"},
	{"network.dropped", "1/s", Rate, "packets that it dropped or missed", "/sys/class/net/*/statistics"},
	{NetworkCapacity, "B/s", Gauge, "what it can carry in each direction", "/sys/class/net/*/speed"},
	{NetworkRTT, "ms", Gauge, "smoothed round trip of a connection to the server, the median one", "sock_diag(7) tcp_info"},
	{NetworkRTTMax, "ms", Gauge, "the same, of the connection with the longest", "sock_diag(7) tcp_info"},
	{NetworkResent, "1/s", Rate, "segments that connections to the server sent again", "sock_diag(7) tcp_info"},
	{NetworkSegments, "1/s", Rate, "TCP segments that the whole machine sent", "/proc/net/snmp"},
	{NetworkDelayedACK, "1/s", Rate, "acknowledgements that the kernel held back for up to 40 ms, of all connections", "/proc/net/netstat"},
	{NetworkOverflows, "1/s", Rate, "connections refused because a listen queue of this machine was full", "/proc/net/netstat"},

	{"limit.memory", "B", Gauge, "memory that counts against the trial's limit", "cgroup memory"},
	{"limit.cache", "B", Gauge, "page cache of that", "cgroup memory"},
	{"limit.hits", "1/s", Rate, "times that the limit was hit and room had to be made within it", "cgroup memory"},
}

// SeriesOf finds a series by its name. For a series of one server of several, its meaning says so.
func SeriesOf(name string) (Series, bool) {
	number, in := ServerNumber(name)
	i, known := catalogued[in]
	if !known {
		return Series{}, false
	}
	s := Catalogue[i]
	if number > 0 {
		s.Name, s.Meaning = name, strings.Replace(s.Meaning, "the server", fmt.Sprintf("server %d", number), 1)
	}
	return s, true
}

var catalogued = func() map[string]int {
	positions := make(map[string]int, len(Catalogue))
	for i, s := range Catalogue {
		positions[s.Name] = i
	}
	return positions
}()
