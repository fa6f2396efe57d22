package host

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
)

// Why something was stopped.
const (
	StoppedBySignal   = "signal"   // SIGSTOP or the like: the process' state is T
	StoppedByDebugger = "debugger" // traced and stopped: its state is t
	StoppedFrozen     = "frozen"   // its cgroup is
	StoppedGap        = "gap"      // this process did not run either: a stop, a paused machine, or no processor for it
	StoppedSuspend    = "suspend"  // the machine slept
)

// Stopped tells whether processes are kept from running by something outside of them. One look
// costs a read of a file or two for each process.
type Stopped struct {
	roots    roots
	pids     []int
	freezers []string // files that say whether the processes' cgroups are frozen
	slept    int64    // ns of CLOCK_BOOTTIME − CLOCK_MONOTONIC at the look before
}

// NewStopped looks at processes that are there already.
func NewStopped(pids ...int) *Stopped { return newStopped(kernelRoots, pids...) }

func newStopped(r roots, pids ...int) *Stopped {
	s := &Stopped{roots: r, pids: pids, slept: sleptNS()}
	for _, pid := range pids {
		text, err := bounded.Kernel(filepath.Join(r.proc, strconv.Itoa(pid), "cgroup"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(fields) != 3 {
				continue
			}
			var files []string
			switch fields[1] {
			case "":
				files = []string{filepath.Join(r.sys, "fs/cgroup", fields[2], "cgroup.events"), filepath.Join(r.sys, "fs/cgroup/unified", fields[2], "cgroup.events")}
			case "freezer":
				files = []string{filepath.Join(r.sys, "fs/cgroup/freezer", fields[2], "freezer.state")}
			}
			for _, file := range files {
				if exists(file) {
					s.freezers = append(s.freezers, file)
				}
			}
		}
	}
	return s
}

// Look returns why one of the processes is stopped now; "": none is known to be.
func (s *Stopped) Look() string {
	for _, pid := range s.pids {
		text, err := bounded.Kernel(filepath.Join(s.roots.proc, strconv.Itoa(pid), "stat"))
		if err != nil {
			continue
		}
		// The state follows the name, which may hold anything: proc_pid_stat(5).
		if end := bytes.LastIndexByte(text, ')'); end >= 0 && end+2 < len(text) {
			switch text[end+2] {
			case 'T':
				return StoppedBySignal
			case 't':
				return StoppedByDebugger
			}
		}
	}
	for _, file := range s.freezers {
		text, err := bounded.Kernel(file)
		if err == nil && (bytes.Contains(text, []byte("frozen 1")) || bytes.HasPrefix(text, []byte("FROZEN"))) {
			return StoppedFrozen
		}
	}
	return ""
}

// SleptNS returns for how long the machine has been suspended since the call before.
func (s *Stopped) SleptNS() int64 {
	const readingsApart = 10_000_000 // between which the thread may have waited for a processor
	before := s.slept
	s.slept = sleptNS()
	if slept := s.slept - before; slept > readingsApart {
		return slept
	}
	return 0
}

// sleptNS is how long the machine has been suspended since it booted.
func sleptNS() int64 {
	least := int64(1) << 62
	for range 2 { // the smaller one is that with less time between its readings
		var boot, monotonic unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic) != nil || unix.ClockGettime(linux.CLOCK_BOOTTIME,
			&boot) != nil {
			return 0
		}
		least = min(least, boot.Nano()-monotonic.Nano())
	}
	return least
}
