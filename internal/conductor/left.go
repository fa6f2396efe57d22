package conductor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A worker may start processes that outlive it: a server that goes into the background leaves its process group and its
// parent. This process is therefore the subreaper (prctl(2)) of everything below it: what loses its parent becomes its
// child, and is found there. A mark in the environment says whose it is, also after this process was killed.
const markName = "ASSAY_WORKER"

var (
	workersMade atomic.Uint64
	workers     sync.Map // pid → *Worker, of those whose end is waited for
	becomeOnce  = sync.OnceValue(func() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
	ownMark     = sync.OnceValue(func() string { return markOf(os.Getpid()) })
)

// markOf names a process for good: the namespace of its number, the number, and its start in clock ticks since boot.
// "": it is not there.
func markOf(pid int) string {
	if start := statField(pid, startField); start != "" {
		return fmt.Sprintf("%s-%d-%s", namespace(), pid, start)
	}
	return ""
}

// namespace is the number of this process's PID namespace. In another one, a container's, numbers are of other processes.
func namespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.Trim(link, "pid:[]")
}

// The fields of /proc/PID/stat after the name, counted from 0: proc_pid_stat(5).
const (
	stateField   = 0
	parentField  = 1
	groupField   = 2
	sessionField = 3
	startField   = 19
)

func statField(pid, field int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	if fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); field < len(fields) {
		return fields[field]
	}
	return ""
}

// mark returns the environment of a new worker.
func mark() (environment []string, name string) {
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, markName+"=") { // that of a conductor above this one
			environment = append(environment, setting)
		}
	}
	name = fmt.Sprintf("%s-%d", ownMark(), workersMade.Add(1))
	return append(environment, markName+"="+name), name
}

// markOn returns the mark that a process bears; "": none.
func markOn(pid int) string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return ""
	}
	for setting := range strings.SplitSeq(string(text), "\x00") {
		if value, found := strings.CutPrefix(setting, markName+"="); found {
			return value
		}
	}
	return ""
}

// waitUnreaped waits until a child has ended, and leaves it to be waited for: its number, and that of its group, stay its own.
func waitUnreaped(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// endLeft ends what the worker has left behind, once the worker itself has ended, and returns how many processes that were.
func (w *Worker) endLeft() (ended int) {
	const patience = 2 * time.Second
	deadline := time.Now().Add(patience)
	seen := map[int]bool{}
	for {
		found := w.left()
		if len(found) == 0 || time.Now().After(deadline) {
			return len(seen)
		}
		for _, pid := range found {
			seen[pid] = true
			_ = unix.Kill(pid, unix.SIGKILL) // a child of this process: its number can't be another's before it is waited for
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		time.Sleep(time.Millisecond) // what they have left in turn comes next
	}
}

// left returns the children of this process that were the worker's.
func (w *Worker) left() (pids []int) {
	self, session := strconv.Itoa(os.Getpid()), statField(os.Getpid(), sessionField)
	alone := true
	workers.Range(func(_, other any) bool { alone = other == w; return alone })
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil || statField(pid, parentField) != self {
				continue
			}
			if _, waited := workers.Load(pid); waited {
				continue
			}
			// What has cleared its environment has no mark. One in another session was never this process's own child.
			unmarked := alone && statField(pid, sessionField) != session && markOn(pid) == ""
			if unmarked || markOn(pid) == w.mark || statField(pid, groupField) == strconv.Itoa(w.PID()) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// EndLeft ends the processes of workers whose conductor was killed, and returns their numbers. It touches only processes
// of this user that bear the mark of a conductor that is gone.
func EndLeft() (ended []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		began := statField(pid, startField)
		if name := markOn(pid); name != "" && conductorGone(name) && statField(pid, stateField) != "Z" && endProcess(pid, began) {
			ended = append(ended, pid)
		}
	}
	return ended
}

// conductorGone reads a mark: that of the conductor, and the worker's count. Of another namespace, nothing is known.
func conductorGone(name string) bool {
	parts := strings.Split(name, "-")
	if len(parts) != 4 || parts[0] != namespace() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && pid > 0 && markOf(pid) != strings.Join(parts[:3], "-")
}

// endProcess kills a process if it is still the one that began then.
func endProcess(pid int, began string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return statField(pid, startField) == began && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
