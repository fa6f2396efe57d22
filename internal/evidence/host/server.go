package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Servers are the processes of the servers under test.
type Servers struct {
	PIDs []int  // as of [Listeners], in the order of the endpoints
	Why  string // why what they use is not known; "": it is, and PIDs are all of them
	// Contained: each process is the first of a container, whose cgroup is looked at, too.
	Contained bool
}

// FindServers looks for the processes that listen at endpoints ("host:port", or the path of a Unix
// socket). What they use is known only if something listens at each of the endpoints on this machine,
// and is not known to pass on to others what it hears.
func FindServers(endpoints []string) Servers {
	var found Servers
	at, all := listeners(endpoints)
	for _, pids := range at {
		for _, pid := range pids {
			if slices.Contains(all, pid) && !slices.Contains(found.PIDs, pid) {
				found.PIDs = append(found.PIDs, pid)
			}
		}
	}
	for i, endpoint := range endpoints {
		if len(at[i]) == 0 {
			found.Why = fmt.Sprintf("no process that can be looked at listens at %s on this machine", endpoint)
			return found
		}
		for _, pid := range at[i] {
			if name := nameOf(pid); slices.Contains(forwarders, name) {
				found.Why = fmt.Sprintf("what listens at %s is %s, which passes on what it hears", endpoint, name)
				return found
			}
		}
	}
	if len(endpoints) == 0 {
		found.Why = "it has no endpoints"
	}
	return found
}

// forwarders are the programs that publish ports of containers or tunnel them: their own use says
// nothing of the server's. The kernel cuts names off after 15 bytes.
var forwarders = []string{"docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "pasta.avx2", "gvproxy", "conmon", "ssh", "kubectl", "socat"}

func nameOf(pid int) string {
	return strings.TrimSpace(readString(filepath.Join("/proc", strconv.Itoa(pid), "comm")))
}

// ServerUse is what the servers' processes, and those below them, have used since they began. A nil
// pointer: not measured.
type ServerUse struct {
	CPUSeconds float64
	RSSBytes   uint64 // of one process now; of several as it was last read: what they share is in it once
	// SharedWhy: why what processes share is in RSSBytes once for each, but for shared memory
	// (RssShmem); "": it is in it once.
	SharedWhy      string
	HostWriteBytes *uint64 // as in [Usage]; nil as well for processes of another user
	HostReadBytes  *uint64
}

// WatchServers makes the servers' processes part of the trial: their CPU time is not foreign, and
// not the worker's. If they are known, what they use is in each reading: [Usage].Server.
func (s *Sampler) WatchServers(found Servers) {
	s.servers, s.shared = found, map[int]*sharedMemory{}
	for _, pid := range found.PIDs {
		s.shared[pid] = &sharedMemory{since: s.telemetry.since}
	}
}

// ServersWrite says why what the kernel charges the servers for must not be taken for what they
// wrote, "" if it may: they have files open for writing that are on another file system than
// directory, where [CheckWriteCount] found the count true.
func (s *Sampler) ServersWrite(directory string) (why string) {
	var known unix.Stat_t
	if err := unix.Stat(directory, &known); err != nil {
		return err.Error()
	}
	for _, server := range s.servers.PIDs {
		for _, pid := range tree(s.roots, server) {
			elsewhere, err := writesElsewhere(s.proc, pid, uint64(known.Dev))
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have ended
				return fmt.Sprintf("the files of the server's process %d can't be looked at: %v", pid, err)
			}
			if elsewhere != "" {
				return fmt.Sprintf("the server writes %s, on a file system of which it was not tried if /proc/PID/io counts right there", elsewhere)
			}
		}
	}
	return ""
}

// writesElsewhere returns a regular file that a process has open for writing on another device; ""
// if there is none.
func writesElsewhere(proc procfs.FS, pid int, device uint64) (string, error) {
	process, err := proc.Proc(pid)
	if err != nil {
		return "", err
	}
	descriptors, err := process.FileDescriptors()
	if err != nil {
		return "", err
	}
	for _, d := range descriptors {
		target, err := writtenOn(process, strconv.Itoa(int(d)), device)
		if target != "" || err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be closed meanwhile
			return target, err
		}
	}
	return "", nil
}

// writtenOn returns what a descriptor is open on, if that is a regular file of another device and
// it may be written through it.
func writtenOn(process procfs.Proc, descriptor string, device uint64) (string, error) {
	link := filepath.Join("/proc", strconv.Itoa(process.PID), "fd", descriptor)
	var open unix.Stat_t
	if err := unix.Stat(link, &open); err != nil || open.Mode&unix.S_IFMT != unix.S_IFREG ||
		uint64(open.Dev) == device {
		return "", err
	}
	info, err := process.FDInfo(descriptor)
	if err != nil {
		return "", err
	}
	flags, err := strconv.ParseInt(info.Flags, 8, 64)
	if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY {
		return "", err
	}
	return os.Readlink(link)
}

// serverUse adds up the servers. Their CPU time, and of how many processes it is the sum, is the
// trial's even if use is nil.
func (s *Sampler) serverUse(now time.Time) (use *ServerUse, cpuSeconds float64, processes int) {
	sum, ioKnown, complete := ServerUse{}, true, s.servers.Why == "" && len(s.servers.PIDs) > 0
	var reads, writes uint64
	s.serverUses = s.serverUses[:0]
	for _, pid := range s.servers.PIDs {
		pids := tree(s.roots, pid)
		one := s.add(pids, true)
		cpuSeconds += one.cpuSeconds
		processes += len(pids)
		sum.CPUSeconds += one.cpuSeconds
		bytes, why := s.shared[pid].of(s.proc, now, pids, one.rssBytes)
		sum.RSSBytes, sum.SharedWhy = sum.RSSBytes+bytes, cmp.Or(sum.SharedWhy, why)
		one.rssBytes = bytes
		s.serverUses = append(s.serverUses, one)
		reads, writes = reads+one.readBytes, writes+one.writeBytes
		ioKnown, complete = ioKnown && one.ioKnown, complete && one.found
	}
	if !complete {
		return nil, cpuSeconds, processes
	}
	if ioKnown {
		sum.HostReadBytes, sum.HostWriteBytes = &reads, &writes
	}
	return &sum, cpuSeconds, processes
}

// sharedMemory is what a server of several processes holds. A child that it forked shares nearly
// all of its memory with it, and both count that as resident: Redis saves so. Only the proportional
// sizes say it, which are costly to read: see pssCostMax.
type sharedMemory struct {
	schedule
	since func(time.Time) time.Duration // how long it takes to read
	bytes uint64                        // when it was last read
	why   string                        // why it can't be read, or not any more
}

// of returns the memory of a server's processes, whose resident sizes add up to rss, and why what
// they share is in it more than once.
func (m *sharedMemory) of(proc procfs.FS, now time.Time, pids []int, rss uint64) (bytes uint64, why string) {
	if len(pids) < 2 {
		return rss, ""
	}
	if m.why == "" {
		m.due(now, func() { m.read(proc, pids) })
	}
	if m.why != "" {
		return rss - min(sharedAgain(proc, pids), rss), m.why // read one after the other
	}
	return m.bytes, ""
}

// read adds up proportional sizes: a page that n processes share is an n-th of a page in each.
func (m *sharedMemory) read(proc procfs.FS, pids []int) {
	m.bytes = 0
	for _, pid := range pids {
		process, err := proc.Proc(pid)
		if err != nil {
			continue
		}
		began := time.Now()
		rollup, err := process.ProcSMapsRollup()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			m.why = err.Error()
			return
		}
		m.bytes += rollup.Pss
		if cost := m.since(began); cost > pssCostMax {
			m.why = fmt.Sprintf("reading smaps_rollup took %d ms, in which the server could map no memory, so that it was left out from then on", cost.Milliseconds())
			return
		}
	}
	if m.bytes == 0 {
		m.why = "this kernel has no /proc/PID/smaps_rollup"
	}
}

// sharedAgain returns how much of the summed resident memory of processes is shared memory (a
// database's buffers) that another of them counts too.
func sharedAgain(proc procfs.FS, pids []int) (bytes uint64) {
	var most uint64
	for _, pid := range pids {
		process, err := proc.Proc(pid)
		if err != nil {
			continue
		}
		status, err := process.NewStatus()
		if err != nil {
			continue
		}
		bytes, most = bytes+status.RssShmem, max(most, status.RssShmem)
	}
	return bytes - most
}
