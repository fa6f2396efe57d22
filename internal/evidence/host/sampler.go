package host

import (
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// Usage is what the processes of a trial have used since they began, and what stands on the disk:
// one reading of [Sampler.Sample]. A nil pointer: not measured.
type Usage struct {
	At         time.Time
	CPUSeconds *float64 // of the worker and the processes below it, all threads
	RSSBytes   *uint64  // of the worker and the processes below it, now; what several workers map is in it once
	// what they caused to be sent to the storage layer: /proc/PID/io write_bytes; nil as well after
	// [Sampler.IgnoreWrites]
	HostWriteBytes *uint64
	HostReadBytes  *uint64
	MajorFaults    *uint64

	Server *ServerUse // nil: there is none, or not all of its processes can be looked at; see [Sampler.WatchServers]

	DiskBytes *uint64 // blocks allocated under the data directory
	Files     *uint64

	machine    *machineTime
	worker     *processUse
	kernelTick float64 // seconds
}

// machineTime is CPU time since boot, in seconds over all CPUs.
type machineTime struct {
	all, busy, steal float64
	idle             float64
	waited           float64 // idle, while something waited for the disk
	trial            float64 // used by the worker, the conductor and the trial's other processes

	cpus  int     // that these times are of
	parts int     // that each of the first three lines is the sum of, each cut off to clock ticks
	cut   int     // numbers that trial is the sum of, each cut off to clock ticks
	took  float64 // seconds from the reading's begin to its end
}

// Interval is what happened between two readings. A nil pointer: not measured in both.
type Interval struct {
	Seconds        float64
	CPUSeconds     *float64
	HostWriteBytes *uint64
	HostReadBytes  *uint64
	MajorFaults    *uint64

	ServerCPUSeconds     *float64
	ServerHostWriteBytes *uint64
	ServerHostReadBytes  *uint64

	Steal         *float64 // share (0 to 1) of the CPUs' time that the hypervisor took
	Foreign       *float64 // share (0 to 1) of the CPUs' time that processes used which are not this trial's
	StealWithin   *Bounds  // what Steal can have been
	ForeignWithin *Bounds  // what Foreign can have been
	CPUs          int      // that those four are shares of: those which the trial's processes may use; 0: not known
}

// Since returns what happened from an earlier reading of the same sampler to this one. The kernel
// counts CPU time in ticks of 10 ms, so that Steal and Foreign are coarse over less than a second;
// the bounds say how coarse.
func (u Usage) Since(earlier Usage) Interval {
	i := Interval{
		Seconds:        u.At.Sub(earlier.At).Seconds(),
		CPUSeconds:     difference(u.CPUSeconds, earlier.CPUSeconds),
		HostWriteBytes: difference(u.HostWriteBytes, earlier.HostWriteBytes),
		HostReadBytes:  difference(u.HostReadBytes, earlier.HostReadBytes),
		MajorFaults:    difference(u.MajorFaults, earlier.MajorFaults),
	}
	if now, was := u.Server, earlier.Server; now != nil && was != nil {
		i.ServerCPUSeconds = difference(&now.CPUSeconds, &was.CPUSeconds)
		i.ServerHostWriteBytes = difference(now.HostWriteBytes, was.HostWriteBytes)
		i.ServerHostReadBytes = difference(now.HostReadBytes, was.HostReadBytes)
	}
	if u.machine == nil || earlier.machine == nil {
		return i
	}
	all := u.machine.all - earlier.machine.all
	if all <= 0 {
		return i // not one tick has passed
	}
	steal := share(u.machine.steal-earlier.machine.steal, all)
	foreign := share((u.machine.busy-earlier.machine.busy)-(u.machine.trial-earlier.machine.trial), all)
	i.Steal, i.Foreign, i.CPUs = &steal, &foreign, u.machine.cpus
	i.StealWithin = stealBounds(earlier.machine, u.machine, i.Seconds, u.kernelTick)
	i.ForeignWithin = foreignBounds(earlier.machine, u.machine, i.Seconds, u.kernelTick)
	return i
}

// difference returns now − before. A counter that fell is not a measurement: a process below the
// worker ended unwaited.
func difference[T float64 | uint64](now, before *T) *T {
	if now == nil || before == nil || *now < *before {
		return nil
	}
	d := *now - *before
	return &d
}

func share(part, whole float64) float64 { return min(max(part/whole, 0), 1) }

// Sampler reads what the processes of one trial use. It is not safe for concurrent use.
type Sampler struct {
	workers    []int
	servers    Servers
	serverUses []processUse          // of each, as it was last read
	shared     map[int]*sharedMemory // by server
	directory  string
	proc       procfs.FS
	procError  error

	walkCost time.Duration // of the walk before
	walkNext time.Time

	kernelTick float64 // seconds

	cpus []int // that the trial's processes may use; nil: all of the machine

	writesIgnored bool

	roots     roots
	tree      []int // the workers and what runs below them
	treeNext  time.Time
	telemetry telemetry
}

// A walk of the data directory that takes longer than walkCheap is made so seldom that it uses at
// most one part in walkRarity of a CPU: a store with many files must not be slowed by being looked
// at.
const (
	walkCheap  = 200 * time.Microsecond
	walkRarity = 300
)

// treeRarity bounds what looking for children costs: one part in so many of a CPU. A hundred workers
// have a thousand threads, and each may have children.
const treeRarity = 200

// NewSampler makes a sampler for worker processes and what runs below them. directory is where the
// store's files stand; "" if they can't be seen. The calling process belongs to the trial as well,
// and so do servers: see [Sampler.WatchServers].
func NewSampler(directory string, pids ...int) *Sampler {
	s := newSampler(kernelRoots, directory, pids...)
	s.cpus = OwnCPUs()
	return s
}

func newSampler(r roots, directory string, pids ...int) *Sampler {
	s := &Sampler{workers: pids, directory: directory, roots: r, tree: pids, kernelTick: kernelTickSeconds()}
	s.proc, s.procError = procfs.NewFS(r.proc)
	s.telemetry = telemetry{roots: r, proc: s.proc, baseline: map[string]point{}, why: map[string]string{},
		since: time.Since}
	if directory != "" {
		s.telemetry.device = deviceOf(r, directory)
	}
	return s
}

// Within says which CPUs the trial's processes may use, where those are fewer than the calling process may
// use. What others use of the rest takes nothing from the trial.
func (s *Sampler) Within(cpus []int) { s.cpus = cpus }

// WatchLimit makes the series of a memory limit part of [Sampler.Resources].
func (s *Sampler) WatchLimit(g *MemoryGroup) { s.telemetry.group = g }

// IgnoreWrites leaves out what /proc/PID/io says of writes, because it is not true: see
// [CheckWriteCount]. why is what [Sampler.NotMeasured] says of it.
func (s *Sampler) IgnoreWrites(why string) {
	s.writesIgnored, s.telemetry.why["worker.write"] = true, why
}

// Sample takes one reading. It costs a fraction of a millisecond, and the walk of the data
// directory; see BenchmarkSample. Where that walk is costly, DiskBytes and Files are nil in most
// readings.
func (s *Sampler) Sample() Usage {
	u := Usage{At: time.Now(), kernelTick: s.kernelTick}
	if s.procError == nil {
		s.processes(&u)
	}
	if s.directory != "" && !u.At.Before(s.walkNext) {
		s.walk(&u)
	}
	return u
}

func (s *Sampler) walk(u *Usage) {
	began := time.Now()
	bytes, files, err := DiskUse(s.directory)
	s.walkCost = time.Since(began)
	if s.walkCost > walkCheap {
		s.walkNext = began.Add(s.walkCost * walkRarity)
	}
	if err == nil {
		u.DiskBytes, u.Files = &bytes, &files
	}
}

func (s *Sampler) processes(u *Usage) {
	if !u.At.Before(s.treeNext) { // looking for children costs as much as all the rest
		s.tree = nil
		for _, pid := range s.workers {
			s.tree = append(s.tree, tree(s.roots, pid)...)
		}
		s.treeNext = u.At.Add(max(schedulePeriod, time.Since(u.At)*treeRarity))
	}
	worker := s.add(s.tree, true)
	if len(s.workers) > 1 {
		worker.rssBytes = residentOnce(s.roots, s.tree)
	}
	if worker.found {
		u.worker = &worker
		u.CPUSeconds, u.RSSBytes, u.MajorFaults = &worker.cpuSeconds, &worker.rssBytes, &worker.majorFaults
		if worker.ioKnown {
			u.HostReadBytes = &worker.readBytes
			if !s.writesIgnored {
				u.HostWriteBytes = &worker.writeBytes
			}
		}
	}
	server, serverCPU, serverProcesses := s.serverUse(u.At)
	u.Server = server
	stat, err := s.proc.Stat()
	if err != nil || !worker.found {
		return
	}
	m := timeOf(stat, s.cpus)
	m.trial = worker.cpuSeconds
	const own, withChildren = 2, 4 // user and system, and the same of children
	// Not what ran below the conductor: the worker does, and would count twice once it is waited
	// for.
	m.trial += s.add([]int{os.Getpid()}, false).cpuSeconds
	m.cut = own + withChildren*len(s.tree)
	m.trial += serverCPU
	m.cut += withChildren * serverProcesses
	m.took = time.Since(u.At).Seconds()
	u.machine = &m
}

// timeOf sums over some CPUs; nil, or as many as there are: the machine's own sum, which is cut off but once.
func timeOf(stat procfs.Stat, cpus []int) (m machineTime) {
	times := []procfs.CPUStat{stat.CPUTotal}
	m.cpus = len(stat.CPU)
	if cpus != nil && len(cpus) < m.cpus {
		times = nil
		for _, cpu := range cpus {
			if of, is := stat.CPU[int64(cpu)]; is {
				times = append(times, of)
			}
		}
		m.cpus = len(times)
	}
	m.parts = len(times)
	for _, t := range times { // guest time is in User already
		m.idle, m.waited, m.steal = m.idle+t.Idle, m.waited+t.Iowait, m.steal+t.Steal
		m.busy += t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ
	}
	m.all = m.busy + m.idle + m.waited + m.steal
	return m
}

// processUse is summed over processes. What an ended child had used is with its parent as soon as
// that has waited for it (proc_pid_stat(5), fields cutime and cstime), so that sums over a tree do
// not fall.
type processUse struct {
	found                 bool
	cpuSeconds            float64
	systemSeconds         float64
	rssBytes              uint64
	minorFaults           uint64
	majorFaults           uint64
	threads               uint64
	ioKnown               bool
	readBytes, writeBytes uint64
}

// add sums over processes and, if below, what their ended children had used.
func (s *Sampler) add(pids []int, below bool) processUse {
	const ticksPerSecond = 1 / clockTickSeconds
	use := processUse{ioKnown: true}
	for _, p := range pids {
		process, err := s.proc.Proc(p)
		if err != nil {
			continue
		}
		stat, err := process.Stat()
		if err != nil {
			continue
		}
		use.found = true
		use.cpuSeconds += stat.CPUTime()
		use.rssBytes += uint64(stat.ResidentMemory())
		use.majorFaults += uint64(stat.MajFlt)
		use.minorFaults += uint64(stat.MinFlt)
		use.systemSeconds += float64(stat.STime) / ticksPerSecond
		use.threads += uint64(stat.NumThreads)
		if !below {
			continue
		}
		use.cpuSeconds += float64(stat.CUTime+stat.CSTime) / ticksPerSecond
		use.systemSeconds += float64(stat.CSTime) / ticksPerSecond
		use.majorFaults += uint64(stat.CMajFlt)
		use.minorFaults += uint64(stat.CMinFlt)
		io, err := process.IO()
		if err != nil { // another user's process
			use.ioKnown = false
			continue
		}
		use.readBytes += io.ReadBytes
		use.writeBytes += io.WriteBytes
	}
	return use
}

// ForeignShare watches the machine for a while and returns the share (0 to 1) of its CPU time that
// other processes used, those below this one not counted; nil: not measured.
func ForeignShare(while time.Duration) *float64 {
	s := NewSampler("", os.Getpid())
	before := s.Sample()
	time.Sleep(while)
	return s.Sample().Since(before).Foreign
}
