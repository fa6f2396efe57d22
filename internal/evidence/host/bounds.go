package host

import (
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// Bounds are what a share (0 to 1) of the machine's CPU time was at least and at most, with all
// that its counters can be off by.
type Bounds struct {
	Least float64 `json:"least"` // the lower bound
	Most  float64 `json:"most"`  // the upper bound
}

// clockTickSeconds is the unit (USER_HZ) of CPU times in /proc, on every architecture that Go
// knows. What is left of a tick is cut off.
const clockTickSeconds = 0.01

// kernelTickSeconds returns how often the kernel looks at what a CPU does: 1 / CONFIG_HZ, as the
// coarse clocks tell it.
func kernelTickSeconds() float64 {
	var resolution unix.Timespec
	if err := linux.ClockGetres(linux.CLOCK_REALTIME_COARSE, &resolution); err != nil || resolution.Nano() <= 0 {
		return clockTickSeconds // the longest that kernels are built with
	}
	return float64(resolution.Nano()) / float64(time.Second)
}

// foreignBounds returns the bounds of the share that processes of others used between two readings,
// T seconds apart, on n CPUs.
//
//	foreign = n·T − idle − iowait − steal − trial        in seconds of CPU time, all of them differences
//
// A difference of two numbers that were cut off to whole units is off by less than one unit,
// whichever of them the cut fell on. So, with a clock tick of 10 ms and a kernel tick of 1 to 10
// ms:
//
//   - idle, iowait and steal are cut off to clock ticks, each once for the whole machine, or once for each
//     CPU where the trial may use but some: 3 clock ticks for each such part;
//
// - the trial's CPU time is the sum of k numbers cut off to clock ticks: user and system of each of
// its processes and, but for the conductor,
//
//	the two of its children that ended: k clock ticks, k = 4·(processes of the worker and the servers) + 2;
//
// - the time of a thread that runs is brought up to date at each kernel tick, and at most n run at
// once: n kernel ticks;
// - a kernel that goes on ticking on idle CPUs (nohz=off) counts idle time as a whole kernel tick
// for what it meets: n kernel ticks;
//   - the readings are not made in one moment. Meanwhile n CPUs go on: n times what each of the two readings took.
//
// Busy time that was counted, rather than left over by idle time, is a second view of the same. It
// is made of whole ticks, each counted for the process that runs then, so that work of less than a tick may be counted
// many times over or never; it can only widen the bounds. Where nohz=off makes idle time such a
// sample too, work in step with the ticks can evade both views.
func foreignBounds(earlier, now *machineTime, seconds, kernelTick float64) *Bounds {
	n := float64(now.cpus)
	whole := n * seconds
	if now.cpus == 0 || now.cpus != earlier.cpus || seconds <= 0 {
		return nil // a CPU came or went
	}
	trial := now.trial - earlier.trial
	left := whole - (now.idle - earlier.idle) - (now.waited - earlier.waited) - (now.steal - earlier.steal) - trial
	counted := now.busy - earlier.busy - trial
	off := clockTickSeconds*float64(3*now.parts+max(now.cut, earlier.cut)) + 2*n*kernelTick + n*(earlier.took+now.took)
	return &Bounds{Least: share(min(left, counted)-off, whole), Most: share(max(left, counted)+off, whole)}
}

// stealBounds does the same for what the hypervisor took. The number is cut off to clock ticks
// once for each part, and a CPU tells of it at its next kernel tick. A stretch that began before the first
// reading counts in full when it ends.
func stealBounds(earlier, now *machineTime, seconds, kernelTick float64) *Bounds {
	n := float64(now.cpus)
	whole := n * seconds
	if now.cpus == 0 || now.cpus != earlier.cpus || seconds <= 0 {
		return nil
	}
	stolen, off := now.steal-earlier.steal, clockTickSeconds*float64(now.parts)+n*kernelTick+n*(earlier.took+now.took)
	return &Bounds{Least: share(stolen-off, whole), Most: share(stolen+off, whole)}
}
