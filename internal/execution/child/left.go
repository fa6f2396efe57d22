package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
)

// A child may start processes that outlive it: a server that goes into the background leaves its
// process group and its parent. This process is therefore the subreaper (prctl(2)) of everything
// below it: what loses its parent becomes its child, and is found there. A mark in the environment
// says whose it is, and so does a directory that is open; both also after this process was killed.
const markName = "ASSAY_OWNER"

var (
	becomeOnce = sync.OnceValue(func() error { return linux.Prctl(linux.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
	ownMark    = sync.OnceValue(func() string { return markOf(os.Getpid()) })
)

// markOf identifies a process: the namespaces of its number and of its clocks, the number, and its
// start in clock ticks since boot. "": it is not there.
func markOf(pid int) string {
	if start := statField(pid, startField); start != "" {
		return fmt.Sprintf("%s-%d-%s", namespace(), pid, start)
	}
	return ""
}

// namespace is the numbers of this process's PID and time namespaces. In another PID namespace, a
// container's, numbers are of other processes; in another time namespace the kernel gives another
// start of the same process.
func namespace() string { return namespaceOf("pid") + "." + namespaceOf("time") }

func namespaceOf(kind string) string {
	link, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return "0"
	}
	return strings.Trim(link, kind+":[]")
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
	text, err := bounded.Kernel(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	if fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); field < len(fields) {
		return fields[field]
	}
	return ""
}

// mark returns the environment of a new child.
func mark(inherited []string) (environment []string, name string) {
	for _, setting := range inherited {
		if !strings.HasPrefix(setting, markName+"=") { // that of an owner above this one
			environment = append(environment, setting)
		}
	}
	name = fmt.Sprintf("%s-%d", ownMark(), made.Add(1))
	return append(environment, markName+"="+name), name
}

// directoryFD is the first descriptor after the standard ones, where exec.Cmd puts ExtraFiles.
const directoryFD = 3

// directory identifies one, also after it was removed.
type directory struct {
	device, inode uint64
}

func identify(file *os.File) (directory, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return directory{}, fmt.Errorf("look at %s: %w", file.Name(), err)
	}
	return directory{uint64(stat.Dev), stat.Ino}, nil
}

// directoryOf returns what a process has open where a child has its directory; none: nothing that
// can be looked at. Anybody's process is looked at, so that what it has open may be in a file system
// whose server does not answer.
func directoryOf(pid int) directory {
	var stat unix.Stat_t
	if linux.StatCached(filepath.Join("/proc", strconv.Itoa(pid), "fd", strconv.Itoa(directoryFD)), &stat) != nil ||
		stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return directory{}
	}
	return directory{uint64(stat.Dev), stat.Ino}
}

// markOn returns the mark that a process bears; "": none.
func markOn(pid int) string {
	text, err := bounded.Kernel(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
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

// EndLeft ends what the child has left behind, once it has itself ended, says how many processes those
// were, and which could not be ended. Beside others, what bears no sign of any child is ended by
// the last of them to go.
func (c *Child) EndLeft() (ended int, left []int) {
	const patience = 2 * time.Second
	deadline := time.Now().Add(patience)
	seen := map[int]bool{}
	for {
		found := c.Left()
		if len(found) == 0 || time.Now().After(deadline) {
			return len(seen), found
		}
		for _, pid := range found {
			seen[pid] = true
			// a child of this process: its number can't be another's before it is waited for
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		time.Sleep(time.Millisecond) // what they have left in turn comes next
	}
}

// Left returns the processes that the child has left behind: those that have lost their parent.
func (c *Child) Left() (pids []int) {
	self, session := strconv.Itoa(os.Getpid()), statField(os.Getpid(), sessionField)
	alone := true
	children.Range(func(_, other any) bool { alone = other == c; return alone })
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return nil
	}
	defer tasks.Close()
	threads, err := tasks.Readdirnames(-1) // a pattern would look at each file before it is read
	if err != nil {
		return nil
	}
	for _, thread := range threads {
		text, err := bounded.Kernel("/proc/self/task/" + thread + "/children")
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			if _, waited := children.Load(pid); waited || statField(pid, parentField) != self {
				continue
			}
			// What has cleared its environment has no mark. One in another session was never this
			// process's own child.
			unmarked := alone && statField(pid, sessionField) != session && markOn(pid) == ""
			// One that has ended meanwhile, and was waited for elsewhere, has neither.
			if (unmarked || c.owns(pid)) && statField(pid, parentField) == self {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// owns says if a process bears a sign of this child.
func (c *Child) owns(pid int) bool {
	return markOn(pid) == c.mark || statField(pid, groupField) == strconv.Itoa(c.PID()) ||
		c.directory != directory{} && directoryOf(pid) == c.directory
}

// EndLeft ends the processes of children whose owner was killed, and returns their numbers. It
// touches only processes of this user that bear the mark of an owner that is gone.
func EndLeft() (ended []int) {
	return endWhere(func(pid int) bool {
		name := markOn(pid)
		return name != "" && ownerGone(name)
	})
}

// EndLeftIn ends the processes that have a directory open which a killed owner gave to its child,
// and returns their numbers. The caller knows that the owner is gone.
func EndLeftIn(path string) (ended []int, err error) {
	held, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // its processes, if any, are found by their marks
	}
	if err != nil {
		return nil, err
	}
	defer held.Close()
	whose, err := identify(held)
	if err != nil {
		return nil, err
	}
	return endWhere(func(pid int) bool { return directoryOf(pid) == whose }), nil
}

func endWhere(belongs func(pid int) bool) (ended []int) {
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
		if belongs(pid) && statField(pid, stateField) != "Z" && endProcess(pid, began) {
			ended = append(ended, pid)
		}
	}
	return ended
}

// ownerGone reads a mark: that of the owner, and the child's count. Of another PID namespace, nothing
// is known; of another time namespace, only whether there is a process of that number.
func ownerGone(name string) bool {
	parts := strings.Split(name, "-")
	if len(parts) != 4 {
		return false
	}
	numbers, clocks, _ := strings.Cut(parts[0], ".")
	if numbers != namespaceOf("pid") {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	if _, err := os.Stat(filepath.Join("/proc", parts[1])); errors.Is(err, os.ErrNotExist) {
		return true
	}
	if clocks != namespaceOf("time") {
		return false
	}
	found := markOf(pid)
	return found != "" && found != strings.Join(parts[:3], "-") // "": it ends just now, or can't be looked at
}

// endPatience is how long a process may take to end after SIGKILL: it gives its memory back first.
const endPatience = 2 * time.Second

// endProcess kills a process if it is still the one that began then, and waits for its end: what it
// has mounted or open is then free.
func endProcess(pid int, began string) bool {
	fd, err := linux.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if statField(pid, startField) != began || linux.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) != nil {
		return false
	}
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(endPatience.Milliseconds()))
	return true
}
