package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// threadCounts are what the kernel counts for each thread.
type threadCounts struct {
	waitedNS, voluntary, involuntary uint64
}

// readThreads adds up all threads of the processes: /proc/PID/schedstat and the switches of
// /proc/PID/status are of the main thread alone. What a thread had counted stays in the sums when
// it ends, but for its last stretch.
func (t *telemetry) readThreads(v values, pids []int) {
	const threadsMax = 4096
	names := []string{"worker.run_wait", "worker.switches_voluntary", "worker.switches_involuntary"}
	seen := map[int]threadCounts{}
	waits := true
	for _, pid := range pids {
		threads, err := t.proc.AllThreads(pid)
		if err != nil {
			continue // it has ended
		}
		if len(seen)+len(threads) > threadsMax {
			v.missing(fmt.Errorf("the worker has more than %d threads", threadsMax), names...)
			return
		}
		for _, thread := range threads {
			status, err := thread.NewStatus()
			if err != nil {
				continue
			}
			counts := threadCounts{voluntary: status.VoluntaryCtxtSwitches,
				involuntary: status.NonVoluntaryCtxtSwitches}
			if s, err := thread.Schedstat(); err == nil {
				counts.waitedNS = s.WaitingNanoseconds
			} else if errors.Is(err, fs.ErrNotExist) {
				if _, err := thread.Stat(); err == nil { // the thread is there, the file is not
					waits = false
				}
			}
			seen[thread.PID] = counts
			before := t.seen[thread.PID]
			if counts.waitedNS < before.waitedNS || counts.voluntary < before.voluntary {
				before = threadCounts{} // the number was given to another thread
			}
			t.threadly.waitedNS += counts.waitedNS - before.waitedNS
			t.threadly.voluntary += counts.voluntary - before.voluntary
			t.threadly.involuntary += counts.involuntary - min(before.involuntary, counts.involuntary)
		}
	}
	t.seen = seen
	if len(seen) == 0 {
		v.missing(errors.New("no thread of the worker can be looked at"), names...)
		return
	}
	if waits {
		v.rate("worker.run_wait", float64(t.threadly.waitedNS)/1e9)
	} else {
		v.missing(errors.New("this kernel has no /proc/PID/schedstat"), "worker.run_wait")
	}
	v.rate("worker.switches_voluntary", float64(t.threadly.voluntary))
	v.rate("worker.switches_involuntary", float64(t.threadly.involuntary))
}

// readFiles counts descriptors by what they are open on.
func (t *telemetry) readFiles(v values, pids []int) {
	files, sockets, err := t.descriptors(pids)
	if err != nil {
		v.missing(err, "worker.files", "worker.sockets")
		return
	}
	v.gauge("worker.files", float64(files))
	v.gauge("worker.sockets", float64(sockets))
}

// descriptors counts what processes have open: files with a name, and sockets.
func (t *telemetry) descriptors(pids []int) (files, sockets int, err error) {
	for _, pid := range pids {
		process, err := t.proc.Proc(pid)
		if err != nil {
			continue
		}
		targets, err := process.FileDescriptorTargets()
		if err != nil {
			if _, gone := t.proc.Proc(pid); gone != nil {
				continue // it has ended since
			}
			return 0, 0, err
		}
		for _, target := range targets {
			if strings.HasPrefix(target, "socket:") {
				sockets++
			} else if strings.HasPrefix(target, "/") {
				files++
			}
		}
	}
	return files, sockets, nil
}

// pssCostMax ends the reading of smaps_rollup: the kernel walks all page tables for it, some 10 ms
// a GiB, and the process can't map memory meanwhile. A measurement must not make the stalls that it
// then finds.
const pssCostMax = 20 * time.Millisecond

func (t *telemetry) readPSS(v values, pids []int) {
	if t.why["worker.pss"] != "" {
		return
	}
	began := time.Now()
	var sum uint64
	for _, pid := range pids {
		process, err := t.proc.Proc(pid)
		if err != nil {
			continue
		}
		rollup, err := process.ProcSMapsRollup()
		if err != nil {
			v.missing(err, "worker.pss")
			return
		}
		sum += rollup.Pss
	}
	if sum > 0 {
		v.gauge("worker.pss", float64(sum))
	}
	if cost := t.since(began); cost > pssCostMax {
		v.missing(fmt.Errorf("reading it took %d ms, in which the worker could map no memory, so that it was left out from then on", cost.Milliseconds()), "worker.pss")
	}
}
