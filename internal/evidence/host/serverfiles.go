package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SyncCounter finds the disk that the servers' files are on, by what their processes have open for
// writing. The error says why it is not known, or that there is none.
func (s Servers) SyncCounter() (*SyncCounter, error) {
	files, err := s.written()
	if err != nil {
		return nil, err
	}
	return syncCounterOf(kernelRoots, files)
}

// written returns a file on each device that the servers' processes write to.
func (s Servers) written() (files map[uint64]string, err error) {
	if s.Why != "" {
		return nil, errors.New(s.Why)
	}
	if len(s.PIDs) == 0 {
		return nil, errors.New("the server's processes are not known")
	}
	files = map[uint64]string{}
	for _, top := range s.PIDs {
		for _, pid := range tree(kernelRoots, top) {
			if err := writtenBy(pid, files); err != nil && !errors.Is(err, fs.ErrNotExist) { // it has ended
				return nil, fmt.Errorf("the server's files can't be looked at: %w", err)
			}
		}
	}
	return files, nil
}

func syncCounterOf(r roots, files map[uint64]string) (*SyncCounter, error) {
	if len(files) == 0 {
		return nil, errors.New("the server has no file open for writing")
	}
	disk := ""
	for dev, name := range files {
		found := diskOf(r, dev)
		switch {
		case found.disk == "":
			return nil, fmt.Errorf("the server writes %s, which is on no disk: memory, a network, or several disks", name)
		case found.stacked:
			return nil, fmt.Errorf("the server writes to %s, which is made of other devices: its flushes are not counted",
				found.disk)
		case disk != "" && found.disk != disk:
			return nil, fmt.Errorf("the server writes to %s and %s: whose flushes count is not known", disk, found.disk)
		}
		disk = found.disk
	}
	c, err := untriedSyncCounter(r, disk)
	if err == nil && queueOf(r, disk, "write_cache") != "write back" {
		c.writes = true // no flush need reach such a disk, and none is tried in a server's directory
	}
	return c, err
}

// writtenBy adds the files that a process has open for writing, but for those that are its standard
// streams, which the starter of the server has set.
func writtenBy(pid int, files map[uint64]string) error {
	directory := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	names, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	var streams [3]unix.Stat_t
	for i := range streams {
		_ = unix.Stat(filepath.Join(directory, strconv.Itoa(i)), &streams[i]) // it may be closed
	}
	for _, n := range names {
		path := filepath.Join(directory, n.Name())
		link, err := os.Readlink(path)
		named := strings.HasPrefix(link, "/") && !strings.HasPrefix(link, "/memfd:") && !strings.HasSuffix(link, " (deleted)")
		if err != nil || !named {
			continue // what has no name outlives no process
		}
		var stat unix.Stat_t
		if unix.Stat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if opened, err := os.Lstat(path); err != nil || opened.Mode()&0o200 == 0 {
			continue // the link's mode is how the file was opened: proc_pid_fd(5)
		}
		isStream := false
		for i := range streams {
			isStream = isStream || streams[i].Dev == stat.Dev && streams[i].Ino == stat.Ino
		}
		if !isStream {
			files[uint64(stat.Dev)] = link
		}
	}
	return nil
}
