package host

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// telemetry turns counters of the kernel into the series of [Catalogue]. Each counter keeps its own
// baseline, because what is costly to read is read more seldom than the rest.
type telemetry struct {
	roots    roots
	proc     procfs.FS
	device   device
	group    *MemoryGroup // nil: no memory limit
	baseline map[string]point
	why      map[string]string             // series → why it has no values
	since    func(time.Time) time.Duration // how long a costly reading takes: time.Since, but for tests

	seconds   schedule // what is cheap, but not for several times a second
	threads   schedule
	files     schedule
	pss       schedule
	sockets   schedule
	serverFds schedule
	seen      map[int]threadCounts // by thread id
	threadly  threadCounts         // sums over all threads, those that have ended included

	connections connections
}

// roots are where the kernel's files stand; others in tests.
type roots struct{ proc, sys string }

var kernelRoots = roots{"/proc", "/sys"}

type point struct {
	value float64
	at    time.Time
}

// schedule makes a reading rare enough that it uses at most one part in scheduleRarity of a CPU,
// and at most about one a second.
type schedule struct{ next time.Time }

const (
	scheduleRarity = 500
	// connectionsRarity is less, so that a leak has the second in which it began also where there are
	// 10,000 connections.
	connectionsRarity = 20
	// a little less than a second, so that samples of a second never miss a turn
	schedulePeriod = 900 * time.Millisecond
)

// due runs read if its time has come.
func (s *schedule) due(now time.Time, read func()) { s.dueFor(now, scheduleRarity, read) }

// dueFor does so for a reading that may use one part in rarity of a CPU.
func (s *schedule) dueFor(now time.Time, rarity time.Duration, read func()) {
	if now.Before(s.next) {
		return
	}
	// CPU time, for on a busy machine a reading of 0.1 ms can last for 10: the phase would end before
	// the next one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := ThreadCPU()
	read()
	s.next = now.Add(max(schedulePeriod, (ThreadCPU()-began)*rarity))
}

// values are the series of one reading.
type values struct {
	*telemetry
	at  time.Time
	out map[string]float64
}

func (v values) gauge(name string, value float64) { v.out[name] = value }

// rate takes a counter's value so far. The first reading gives no rate, and neither does one that
// fell.
func (v values) rate(name string, value float64) {
	before, known := v.baseline[name]
	v.baseline[name] = point{value, v.at}
	if seconds := v.at.Sub(before.at).Seconds(); known && value >= before.value && seconds > 0 {
		v.out[name] = (value - before.value) / seconds
	}
}

// mean takes two counters, a time so far in ms and how often, and gives the mean time since the
// reading before; none if there was nothing.
func (v values) mean(name string, milliseconds, times float64) {
	count, total := name+" count", name+" total"
	n, known := v.baseline[count]
	t := v.baseline[total]
	v.baseline[count], v.baseline[total] = point{times, v.at}, point{milliseconds, v.at}
	if known && times > n.value && milliseconds >= t.value {
		v.out[name] = (milliseconds - t.value) / (times - n.value)
	}
}

// missing notes why series have no values.
func (v values) missing(err error, names ...string) {
	for _, name := range names {
		v.why[name] = err.Error()
	}
}

// missingPrefix does so for all series of a source.
func (v values) missingPrefix(err error, prefix string) {
	for _, s := range Catalogue {
		if strings.HasPrefix(s.Name, prefix) {
			v.why[s.Name] = err.Error()
		}
	}
}

// BeginResources makes the next call of [Sampler.Resources] read everything and count from now on:
// call it when a phase begins.
func (s *Sampler) BeginResources(u Usage) {
	t := &s.telemetry
	clear(t.baseline)
	again := func() {
		t.seconds, t.threads, t.files, t.sockets, t.serverFds = schedule{}, schedule{}, schedule{}, schedule{},
			schedule{}
	}
	again()
	t.seen, t.threadly = nil, threadCounts{}
	s.Resources(u)
	again()
}

// Resources returns the series of [Catalogue] that can be had now, by name, but those that stand in
// u (worker.cpu, worker.rss, worker.read, worker.write, data.bytes, machine.steal,
// machine.foreign). u is the reading of [Sampler.Sample] just before. Cheap series are read at each
// call, the others about once a second, and costly ones as seldom as keeps them below 0.2 % of a
// CPU each. What is not read in a call is absent, and so is what the machine does not report.
func (s *Sampler) Resources(u Usage) map[string]float64 {
	t := &s.telemetry
	v := values{t, u.At, map[string]float64{}}
	t.fromUsage(v, u)
	if s.procError != nil {
		return v.out
	}
	t.seconds.due(u.At, func() {
		t.machine(v)
		t.readDevice(v)
		t.readLimit(v)
		t.readNetwork(v)
		t.containers(v, s.servers)
		if s.directory != "" {
			t.space(v, s.directory)
		}
	})
	pids := s.tree
	t.threads.due(u.At, func() { t.readThreads(v, pids) })
	t.files.due(u.At, func() { t.readFiles(v, pids) })
	t.pss.due(u.At, func() { t.readPSS(v, pids) })
	t.sockets.dueFor(u.At, connectionsRarity, func() { t.readConnections(v, pids) })
	t.servers(v, s.serverUses)
	t.serverFds.due(u.At, func() { t.serverFiles(v, s.servers.PIDs) })
	return v.out
}

// fromUsage takes what a reading of the worker and of /proc/stat holds anyway.
func (t *telemetry) fromUsage(v values, u Usage) {
	if w := u.worker; w != nil {
		v.rate("worker.cpu_system", w.systemSeconds)
		v.rate("worker.faults_minor", float64(w.minorFaults))
		v.rate("worker.faults_major", float64(w.majorFaults))
		v.gauge("worker.threads", float64(w.threads))
	}
	if u.Files != nil {
		v.gauge("data.files", float64(*u.Files))
	}
	if m := u.machine; m != nil {
		before, known := t.baseline["machine all"]
		waited := t.baseline["machine waited"]
		t.baseline["machine all"], t.baseline["machine waited"] = point{m.all, v.at}, point{m.waited, v.at}
		if all := m.all - before.value; known && all > 0 && m.waited >= waited.value {
			v.gauge("machine.iowait", share(m.waited-waited.value, all))
		}
	}
}

func (t *telemetry) space(v values, directory string) {
	free, err := FreeBytes(directory)
	if err != nil {
		v.missing(err, "data.free")
		return
	}
	v.gauge("data.free", float64(free))
}

// NotMeasured returns for each series that the readings so far could not get why that is so.
func (s *Sampler) NotMeasured() map[string]string { return maps.Clone(s.telemetry.why) }

// NotMeasured tries what can be measured here beside the rate, for stores whose files stand in
// directory, and returns for each series that can't be had why that is so. Series of a memory limit
// are left out: see [CheckMemoryLimit].
func NotMeasured(directory string) map[string]string {
	s := NewSampler(directory, unix.Getpid())
	u := s.Sample()
	s.Resources(u)
	why := maps.Clone(s.telemetry.why)
	if s.procError != nil {
		for _, series := range Catalogue {
			if !strings.HasPrefix(series.Name, "data.") {
				why[series.Name] = s.procError.Error()
			}
		}
	}
	if u.HostReadBytes == nil {
		why["worker.read"], why["worker.write"] = "/proc/PID/io can't be read", "/proc/PID/io can't be read"
	}
	for _, series := range Catalogue {
		if strings.HasPrefix(series.Name, "limit.") {
			delete(why, series.Name)
		}
	}
	return why
}

// ProcessCPU returns the CPU time that this process has used.
func ProcessCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(fmt.Sprintf("clock_gettime(CLOCK_PROCESS_CPUTIME_ID): %v", err)) // every Linux has it
	}
	return time.Duration(t.Nano())
}

// ThreadCPU returns the CPU time of the calling thread. Lock the goroutine to its thread between
// two calls.
func ThreadCPU() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(fmt.Sprintf("clock_gettime(CLOCK_THREAD_CPUTIME_ID): %v", err)) // every Linux has it
	}
	return time.Duration(t.Nano())
}
