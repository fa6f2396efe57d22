package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
)

// ProcessAlive tells whether a process runs. A zombie, which only waits for its parent, does not.
func ProcessAlive(pid int) bool {
	if pid <= 0 {
		return false // kill(2) gives such numbers another meaning
	}
	if err := unix.Kill(pid, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return false
	}
	process, err := procfs.NewProc(pid)
	if err != nil {
		return false
	}
	stat, err := process.Stat()
	return err == nil && stat.State != "Z" && stat.State != "X"
}

// ProcessStart returns when a process began, in clock ticks since boot. A number with its start
// names one process; a number alone is reused.
func ProcessStart(pid int) (uint64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	stat, err := process.Stat()
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return stat.Starttime, nil
}

// tree returns pid and all processes below it. Ones that end meanwhile may be missing.
func tree(r roots, pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		// A child is listed under the thread that forked it.
		tasks := filepath.Join(r.proc, strconv.Itoa(pids[i]), "task")
		threads, err := readNumbers(tasks)
		if err != nil {
			continue
		}
		for _, thread := range threads {
			text, err := bounded.Kernel(tasks + "/" + strconv.Itoa(thread) + "/children")
			if err != nil {
				continue
			}
			for field := range strings.FieldsSeq(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					pids = append(pids, child)
				}
			}
		}
	}
	return pids
}

// residentOnce adds up the resident memory of processes that map the same files (the program, a trace,
// counters): what is of files or shared is in it once, as much as the largest of them has.
func residentOnce(r roots, pids []int) (bytes uint64) {
	var own, shared uint64 // pages
	for _, pid := range pids {
		// In pages: size, resident, of these shared: proc_pid_statm(5).
		fields := strings.Fields(readString(filepath.Join(r.proc, strconv.Itoa(pid), "statm")))
		if len(fields) < 3 {
			continue // it has ended
		}
		resident, residentErr := strconv.ParseUint(fields[1], 10, 64)
		mapped, mappedErr := strconv.ParseUint(fields[2], 10, 64)
		if residentErr == nil && mappedErr == nil && mapped <= resident {
			own, shared = own+resident-mapped, max(shared, mapped)
		}
	}
	return (own + shared) * uint64(os.Getpagesize())
}
