package host

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
)

// SyncCalls counts how often processes, and those that they start, sync files: by the tracepoint of
// the file system, which every way to ask for a sync passes (fsync, fdatasync, msync, O_DSYNC,
// io_uring), and which costs nothing elsewhere, as those of system calls would.
//
// Two ways do not pass it in the process itself, and make the count unknown: a file that is open with
// O_DIRECT and O_DSYNC, whose writes may be forced to the medium without a sync, and the kernel's
// asynchronous I/O, which syncs in threads of the kernel's own.
type SyncCalls struct {
	pids []int
	fds  []int
}

// syncEvents are the tracepoints of a file system, by its magic number: the sync of a file, and of all.
var syncEvents = map[int64][]string{
	linux.EXT4_SUPER_MAGIC:  {"ext4/ext4_sync_file_enter", "ext4/ext4_sync_fs"},
	linux.XFS_SUPER_MAGIC:   {"xfs/xfs_file_fsync", "xfs/xfs_fs_sync_fs"},
	linux.BTRFS_SUPER_MAGIC: {"btrfs/btrfs_sync_file", "btrfs/btrfs_sync_fs"},
}

// syncThreadsMax bounds how many threads are watched: each needs a descriptor for each tracepoint.
const syncThreadsMax = 1000

// NewSyncCalls watches processes that sync the file systems of some paths. They should be idle: a
// thread that another one starts meanwhile may count twice, which accuses no store.
func NewSyncCalls(pids []int, paths ...string) (c *SyncCalls, err error) {
	var events []uint64
	for _, path := range paths {
		var stat unix.Statfs_t
		if err := unix.Statfs(path, &stat); err != nil {
			return nil, &os.PathError{Op: "statfs", Path: path, Err: err}
		}
		names, known := syncEvents[int64(stat.Type)]
		if !known {
			return nil, fmt.Errorf("the file system of %s has no tracepoint for syncs", path)
		}
		for _, name := range names {
			event, err := tracepoint(kernelRoots, name)
			switch {
			case errors.Is(err, fs.ErrNotExist) && name != names[0]: // an older kernel
			case err != nil:
				return nil, err
			case !slices.Contains(events, event):
				events = append(events, event)
			}
		}
	}
	c = new(SyncCalls)
	seen := map[int]bool{}
	for again := true; again; {
		again = false
		c.pids = c.pids[:0]
		for _, pid := range pids {
			c.pids = append(c.pids, tree(kernelRoots, pid)...)
		}
		threads, err := threadsOf(c.pids)
		if err == nil && len(threads) > syncThreadsMax {
			err = fmt.Errorf("the processes have %d threads: at most %d are watched", len(threads), syncThreadsMax)
		}
		for _, thread := range threads {
			if err == nil && !seen[thread] {
				seen[thread], again = true, true
				err = c.watch(thread, events)
			}
		}
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// tracepoint returns the number of one. Reading it takes a tracefs that is mounted and the right to, or to
// be root: it is mounted then for this process alone, for as long as it is read.
func tracepoint(r roots, name string) (uint64, error) {
	mounts, err := bounded.Kernel(filepath.Join(r.proc, "self/mounts"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "tracefs" {
			return tracepointIn(fields[1], name)
		}
	}
	root, err := linux.DetachedMount("tracefs")
	if err != nil {
		return 0, fmt.Errorf("no tracefs is mounted, and it can't be: %w", err)
	}
	defer root.Close()
	return tracepointIn(fmt.Sprintf("/proc/self/fd/%d", root.Fd()), name)
}

func tracepointIn(tracefs, name string) (uint64, error) {
	text, err := bounded.Kernel(filepath.Join(tracefs, "events", name, "id"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// CheckSyncCalls says why the syncs of processes that write below a directory can't be counted; nil: they can.
func CheckSyncCalls(directory string) error {
	c, err := NewSyncCalls([]int{os.Getpid()}, directory)
	if err != nil {
		return err
	}
	return c.Close()
}

func threadsOf(pids []int) (threads []int, err error) {
	for _, pid := range pids {
		names, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if thread, err := strconv.Atoi(n.Name()); err == nil {
				threads = append(threads, thread)
			}
		}
	}
	return threads, nil
}

func (c *SyncCalls) watch(thread int, events []uint64) error {
	for _, event := range events {
		fd, err := linux.PerfEventOpen(&linux.PerfEventAttr{
			Type: linux.PERF_TYPE_TRACEPOINT, Size: uint32(unsafe.Sizeof(linux.PerfEventAttr{})), Config: event,
			Bits: linux.PerfBitInherit,
		}, thread, -1, -1, linux.PERF_FLAG_FD_CLOEXEC)
		switch {
		case errors.Is(err, unix.ESRCH): // it has ended
		case err != nil:
			return os.NewSyscallError("perf_event_open", err)
		default:
			c.fds = append(c.fds, fd)
		}
	}
	return nil
}

// Done returns how many syncs the processes have asked for since they are watched. The error says why
// it is not known.
func (c *SyncCalls) Done() (calls uint64, err error) {
	for _, pid := range c.pids {
		if why := syncsUnseen(pid); why != "" {
			return 0, fmt.Errorf("process %d: %s", pid, why)
		}
	}
	var word [8]byte
	for _, fd := range c.fds {
		if _, err := unix.Read(fd, word[:]); err != nil {
			return 0, os.NewSyscallError("read a counter of syncs", err)
		}
		calls += binary.NativeEndian.Uint64(word[:])
	}
	return calls, nil
}

// syncsUnseen says why a process may sync and not be seen; "": all that it syncs is.
func syncsUnseen(pid int) (why string) {
	directory := filepath.Join("/proc", strconv.Itoa(pid))
	maps, err := bounded.Kernel(filepath.Join(directory, "maps"))
	if err != nil {
		return "it has ended, or can't be looked at: what came after it is not watched"
	}
	if bytes.Contains(maps, []byte("[aio]")) {
		return "it may sync by the kernel's asynchronous I/O"
	}
	infos, _ := filepath.Glob(filepath.Join(directory, "fdinfo", "*")) // fails for a bad pattern only
	for _, name := range infos {
		if flags, err := openFlags(name); err == nil && flags&linux.O_DIRECT != 0 && flags&unix.O_DSYNC != 0 {
			return "a file is open with O_DIRECT and O_DSYNC"
		}
	}
	return ""
}

func openFlags(name string) (int64, error) {
	text, err := bounded.Kernel(name)
	if err != nil {
		return 0, err // it was closed meanwhile
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if octal, found := strings.CutPrefix(lines.Text(), "flags:"); found {
			return strconv.ParseInt(strings.TrimSpace(octal), 8, 64)
		}
	}
	return 0, errors.New("no flags in " + name)
}

// Close ends the watch.
func (c *SyncCalls) Close() (err error) {
	for _, fd := range c.fds {
		err = errors.Join(err, unix.Close(fd))
	}
	c.fds = nil
	return err
}

// SyncCalls watches the servers' processes, as [NewSyncCalls] does, on the file systems of what they
// have open for writing.
func (s Servers) SyncCalls() (*SyncCalls, error) {
	files, err := s.written()
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, path := range files {
		paths = append(paths, path)
	}
	if len(paths) == 0 {
		return nil, errors.New("the server has no file open for writing")
	}
	return NewSyncCalls(s.PIDs, paths...)
}
