package record

import "assay/internal/evidence/host"

// Sizes are what stands where, after a phase and its drain. Nil: not measured.
type Sizes struct {
	// Keys and values that are live, by the trace's arithmetic.
	LogicalBytes *uint64 `json:"logical_bytes"`
	DiskBytes    *uint64 `json:"disk_bytes"`    // blocks allocated under the data directory
	Files        *uint64 `json:"files"`         // regular files there
	Records      *uint64 `json:"records"`       // that are live, by the trace's arithmetic
	Drained      bool    `json:"drained"`       // the store said that it has no background work left
	DrainSeconds float64 `json:"drain_seconds"` // until it said so, or the drain was given up

	// Logical bytes ÷ the trial's memory (bytes of memory).
	DataToMemory *float64 `json:"data_to_memory"`
}

// Process is what the worker process used during the phase and, of servers under test, what their
// processes did. Nil: not measured.
type Process struct {
	// User and system time of all threads, processes below the worker included. Under open load a part of it
	// is waiting until operations are due: Assay's workers sleep, and spin a quarter of the processors at most.
	// So reports show no CPU time of an operation there; their JSON has it (`cpu_ns_per_op`).
	CPUSeconds *float64 `json:"cpu_seconds"`
	// The largest resident memory that was sampled. It may be above a memory limit, as pages charged to
	// others count too: [Memory.PeakBytes] is what counted against that.
	RSSMaxBytes   *uint64 `json:"rss_max_bytes"`
	HostReadBytes *uint64 `json:"host_read_bytes"` // that came from the storage layer: /proc/PID/io
	MajorFaults   *uint64 `json:"major_faults"`    // page faults that had to read from disk

	// What went to the storage layer in the phase: docs/run-directory.md, "Host writes".
	HostWriteBytes *uint64 `json:"host_write_bytes"`
	// The same of the phase and its drain together.
	HostWriteBytesDrained *uint64 `json:"host_write_bytes_drained,omitempty"`
	// What they come from: process, disk or server. "": not measured.
	HostWriteSource string `json:"host_write_source,omitempty"`
	// Why they were not measured.
	HostWriteWhy string `json:"host_write_not_measured,omitempty"`

	// CPU time that the workers used to prepare the phase: it is in no rate.
	CPUSecondsBefore *float64 `json:"cpu_seconds_before,omitempty"`
	// Host writes of that time.
	HostWriteBytesBefore *uint64 `json:"host_write_bytes_before,omitempty"`
	// What came from the storage layer in that time.
	HostReadBytesBefore *uint64 `json:"host_read_bytes_before,omitempty"`
	// CPU time of the workers from the end of the phase to that of its drain.
	CPUSecondsAfter *float64 `json:"cpu_seconds_after,omitempty"`

	// As cpu_seconds, of the server under test: the processes below it included, several servers together.
	ServerCPUSeconds *float64 `json:"server_cpu_seconds,omitempty"`
	// As rss_max_bytes, of the server under test.
	ServerRSSMaxBytes *uint64 `json:"server_rss_max_bytes,omitempty"`
	// Why memory that the server's processes share counts once for each, but for RssShmem. "": it counts
	// once.
	ServerSharedWhy string `json:"server_shared_not_measured,omitempty"`
	// As host_read_bytes, of the server under test.
	ServerHostReadBytes *uint64 `json:"server_host_read_bytes,omitempty"`
	// Why something of the server is not known. "": all is, or there is none.
	ServerWhy string `json:"server_not_measured,omitempty"`
}

// What host writes come from.
const (
	WritesOfProcess = "process" // /proc/PID/io write_bytes, found true by host.CheckWriteCount: pages of files, counted when they become dirty
	WritesOfDisk    = "disk"    // the counter of the trial's own disk: host.OwnDisk
	WritesOfServer  = "server"  // as WritesOfProcess, but of the server under test, and without what the worker wrote
)

// WritesNowhere is Process.HostWriteWhy of a store that has no files.
const WritesNowhere = "it keeps everything in memory"

// Stop is a time in which something outside stopped the worker, a server under test or the machine. The
// conductor looks every 50 ms at the worker, the servers under test, the freezer of their cgroups, and the
// clocks; each agent likewise. Shorter stops may not be seen. A phase with a stop is marked
// machine-disturbed (stopped); its time is neither a stall nor a decline of the store. As many time-outs as
// there are threads are not marked as errors then: each may have had one operation on its way.
type Stop struct {
	// How: signal (state T), debugger (state t), frozen (cgroup), gap (a wait of 50 ms took 550 ms or more:
	// Assay itself did not run), suspend (CLOCK_BOOTTIME against CLOCK_MONOTONIC).
	Why     string  `json:"why"`
	At      float64 `json:"t"`       // seconds since the phase began
	Seconds float64 `json:"seconds"` // from the look before it to the look after it
	// The agent whose worker, or machine, was stopped. "": those of this machine.
	Agent string `json:"agent,omitempty"`
}

// Syncs holds the writes that a phase acknowledged in a durability class against what the disk and the
// server did meanwhile. A sync covers at most one write of each client, however commits are grouped. A phase
// is marked durability-not-shown where broken is there, or acknowledged is more than
//
//   - clients × (n + 16), where n is done, server, or twice the phase's length divided by sync_ns;
//   - or clients × (calls + 1).
//
// What the server's counter may not have yet (lag_ns, at the phase's end and at its reading) is not held
// against it. Of a class other than D2 and D3, this is there only with broken.
type Syncs struct {
	// Operations that wrote something and ended ok, without deletes.
	Acknowledged uint64 `json:"acknowledged"`
	// Writes that may wait for one sync: threads, times the operations that each has on its way.
	Clients int    `json:"clients,omitempty"`
	Least   uint64 `json:"least"` // syncs that these need: acknowledged ÷ clients
	// What the disk did from the phase's begin to its end, for whichever program. Nil: not measured, or the
	// class promises no sync before the reply.
	Done *uint64 `json:"done"`
	// What done is: flushes, or "flushes and writes" where a sync need not be a flush (no volatile cache,
	// FUA, a disk made of others).
	Counted string `json:"counted,omitempty"`
	Disk    string `json:"disk,omitempty"` // whose they are: "nvme0n1"
	// Why the class is the store's claim alone, and done is not known: files in memory, on a network or
	// several disks, or that can't be looked at.
	Why string `json:"not_measured,omitempty"`

	// The fastest sync of 4 KiB on that disk that was seen. 0: not measured.
	SyncNS  int64   `json:"sync_ns,omitempty"`
	Server  *uint64 `json:"server,omitempty"`  // syncs by the server's own count; nil: it has none
	Counter string  `json:"counter,omitempty"` // the name that the server has for it
	LagNS   int64   `json:"lag_ns,omitempty"`  // by how much that counter may be late
	// Syncs that the store's own processes asked the kernel for, by the file system's tracepoint: no other
	// program's are in it.
	Calls    *uint64 `json:"calls,omitempty"`
	CallsWhy string  `json:"calls_not_counted,omitempty"` // why these are not known
	// The server's setting that did not give the class after the phase. "": all did.
	Broken string `json:"broken,omitempty"`
}

// Machine is how much of the machine a phase had to do without. Foreign load and steal are bounds, for the
// kernel counts CPU time in ticks: docs/statistics.md, section 14. A measured phase is marked
// machine-disturbed unless `busy_machine` is `tell`. The kind is cpu where the least is above 25 % (of
// foreign load, after the spare cores are taken off). It is throttled where a quota or heat took more than
// 1 % of the seconds. Nil: not measured, and not_measured says why.
type Machine struct {
	// Between the two readings that all of this comes from: the phase, and what it took to begin and end it.
	Seconds float64 `json:"seconds"`

	// How many CPUs the trial's processes may use: by `cpus` of the experiment, or by Assay's own affinity.
	// 0: not recorded.
	CPUs int `json:"cpus,omitempty"`
	// Cores of them that the phase had no use for: all less its threads (with a server twice as many, or as
	// many as its processes used on average) and one. Others took max(0, foreign × cpus − spare) /
	// (cpus − spare) from it.
	Spare     int  `json:"spare,omitempty"`
	tolerated bool // see Tolerate

	// Share of those CPUs' time used by processes that are not this trial's.
	Foreign *host.Bounds `json:"foreign,omitempty"`
	// Share of it that the hypervisor took.
	Steal *host.Bounds `json:"steal,omitempty"`

	// For how long a CPU quota (cgroups, version 1 or 2) kept threads from a CPU, summed over CPUs: of the
	// worker's cgroup or of the one above it that did so most. Cgroups outside of Assay's container, and
	// those of servers, are not looked at.
	QuotaSeconds *float64 `json:"quota_seconds,omitempty"`
	QuotaPeriods *uint64  `json:"quota_periods,omitempty"` // in which that quota was used up
	QuotaGroup   string   `json:"quota_group,omitempty"`   // the cgroup's directory; "": none held anything back

	// For how long the hottest core or package slowed down (thermal_throttle). Kernels that only count have
	// none, and then heat never marks a phase.
	HeatSeconds *float64 `json:"heat_seconds,omitempty"`
	HeatEvents  *uint64  `json:"heat_events,omitempty"` // how often it did

	// foreign, steal, quota, heat → why it is not known, or not closely enough to tell whether it was above
	// its limit.
	NotMeasured map[string]string `json:"not_measured,omitempty"`
}

// Telemetry is what looking at the phase cost: Assay's own share of the machine. What asking the store for
// its own counters took the worker is in [Phase.Runtime]: inspects, inspect_ns.
type Telemetry struct {
	Readings uint64 `json:"readings"` // samples taken
	// CPU that the conductor used for them: counters, machine and the lines of the series.
	CPUSeconds float64 `json:"cpu_seconds"`
}
