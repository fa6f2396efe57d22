package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"assay/internal/counters"
	"assay/internal/host"
	"assay/internal/live"
	"assay/internal/trace"
)

// scratchRoots are where trace and counters files may stand while a phase runs, the best first: in memory, so that
// their pages cause no writes to a disk that is being measured. Containers often have little of it.
func scratchRoots() []string { return []string{"/dev/shm", os.TempDir()} }

// scratchPrefix begins the names of scratch directories and of nothing else of Assay's: what bears it and is not locked may be removed.
const scratchPrefix = "assay-trace-"

// scratch is a directory for the files of a phase. Its maker holds a lock on it, which the kernel gives up when that process ends, however that
// happens. A process number in the name would not do: containers that share /dev/shm count processes each for itself.
type scratch struct {
	directory string
	lock      *os.File
}

// makeScratch makes a directory with room for so many bytes. The room matters: a page that can't be had when a mapped file is
// touched ends the process that touches it.
func makeScratch(needBytes uint64) (*scratch, error) {
	var short error
	for _, root := range scratchRoots() {
		free, err := host.FreeBytes(root)
		if err != nil {
			continue
		}
		if free < needBytes+needBytes/8 {
			short = fmt.Errorf("%s has %d MB free, the trace and counters of this phase take %d MB: use fewer threads or records, or make room", root, free>>20, needBytes>>20)
			continue
		}
		made, err := makeLocked(root)
		if err == nil {
			return made, nil
		}
		short = fmt.Errorf("making a directory for the trace: %w", err)
	}
	return nil, short
}

// makeLocked makes a directory and locks it. Another conductor's removeOldScratch may come between the two: then it is tried again.
func makeLocked(root string) (*scratch, error) {
	const tries = 100
	for try := 1; ; try++ {
		directory, err := os.MkdirTemp(root, scratchPrefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockDirectory(directory)
		if err == nil || errors.Is(err, errNoLocks) {
			return &scratch{directory, lock}, nil
		}
		if err = errors.Join(err, os.RemoveAll(directory)); try == tries {
			return nil, err
		}
	}
}

// errNoLocks says that a file system has no locks. Nothing is then ever removed as old there.
var errNoLocks = errors.New("the file system has no locks")

// lockDirectory locks a directory of this user's that is still there. It fails at once if somebody else holds the lock.
func lockDirectory(directory string) (lock *os.File, err error) {
	fd, err := unix.Open(directory, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", directory, err)
	}
	lock = os.NewFile(uintptr(fd), directory)
	defer func() {
		if err != nil {
			lock.Close()
			lock = nil
		}
	}()
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("lock %s: %w", directory, err)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNoLocks, directory, err)
	}
	var locked, there unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &locked), unix.Lstat(directory, &there)); err != nil {
		return nil, fmt.Errorf("lock %s: %w", directory, err)
	}
	if locked.Dev != there.Dev || locked.Ino != there.Ino || int(locked.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("lock %s: it is another's: %w", directory, fs.ErrPermission)
	}
	return lock, nil
}

// removeOldScratch removes what conductors that were killed while they made a trace have left, and returns the paths. It never touches what a
// live conductor, or another user, has made.
func removeOldScratch() (removed []string) {
	for _, root := range scratchRoots() {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue // nothing can stand there
		}
		for _, entry := range entries {
			path := filepath.Join(root, entry.Name())
			if !entry.IsDir() || !strings.HasPrefix(entry.Name(), scratchPrefix) {
				continue
			}
			lock, err := lockDirectory(path)
			if err != nil {
				continue
			}
			if os.RemoveAll(path) == nil {
				removed = append(removed, path)
			}
			lock.Close()
		}
	}
	return removed
}

// tellOldScratch removes old scratch directories and says so.
func tellOldScratch(view live.View) {
	if removed := removeOldScratch(); len(removed) > 0 {
		view.Message(fmt.Sprintf("removed %d directories of trace files that killed runs had left: %s", len(removed), strings.Join(removed, ", ")))
	}
}

// remove removes the directory and what is in it. What is mapped stays until it is unmapped.
func (s *scratch) remove() {
	if err := os.RemoveAll(s.directory); err != nil {
		fmt.Fprintln(os.Stderr, "assay: removing scratch files:", err)
	}
	if s.lock != nil {
		s.lock.Close()
	}
}

// mapped is the trace and counters file of a phase. Their names exist only until the worker has mapped them. What a conductor leaves that is
// killed before that, the next run removes.
type mapped struct {
	scratch  *scratch
	trace    string
	counters *counters.File
	name     string // of the counters file
}

// mapFiles makes the files. What goes wrong is Assay's own fault, never the store's.
func mapFiles(file *trace.File) (*mapped, error) {
	made, err := makeScratch(file.Bytes() + counters.Bytes(file))
	if err != nil {
		return nil, ownFault{err}
	}
	m := &mapped{scratch: made, trace: filepath.Join(made.directory, "trace"), name: filepath.Join(made.directory, "counters")}
	if err := file.Write(m.trace); err != nil {
		m.unlink()
		return nil, ownFault{err}
	}
	if m.counters, err = counters.Create(m.name, file); err != nil {
		m.unlink()
		return nil, ownFault{err}
	}
	return m, nil
}

// unlink removes the names.
func (m *mapped) unlink() { m.scratch.remove() }
