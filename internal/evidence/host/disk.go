package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
	"assay/internal/base/owned"
)

// SyncCost returns the median time of 20 appends of 4 KiB, each with fdatasync, to a new file in
// directory that has no name.
func SyncCost(directory string) (time.Duration, error) {
	const appends, appendBytes = 20, 4096
	file, err := owned.NewFile(directory)
	if err != nil {
		return 0, fmt.Errorf("measure fdatasync: %w", err)
	}
	defer file.Close()
	block := make([]byte, appendBytes)
	for i := range block {
		block[i] = byte(i*7 + 1) // zeros may be stored as nothing
	}
	costs := make([]time.Duration, appends)
	for i := range costs {
		began := time.Now()
		if _, err := file.Write(block); err != nil {
			return 0, fmt.Errorf("measure fdatasync: %w", err)
		}
		if err := linux.Fdatasync(int(file.Fd())); err != nil {
			return 0, fmt.Errorf("measure fdatasync: %w", &fs.PathError{Op: "fdatasync", Path: file.Name(), Err: err})
		}
		costs[i] = time.Since(began)
	}
	slices.Sort(costs)
	return (costs[appends/2-1] + costs[appends/2]) / 2, nil
}

// FreeBytes returns how many bytes a process without privileges can still write to the file system
// of directory.
func FreeBytes(directory string) (uint64, error) {
	free, _, err := Space(directory)
	return free, err
}

// Space returns how many bytes a process without privileges can still write to the file system of
// directory, and how many it has in all.
func Space(directory string) (freeBytes, totalBytes uint64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(directory, &stat); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: directory, Err: err}
	}
	return stat.Bavail * uint64(stat.Bsize), stat.Blocks * uint64(stat.Bsize), nil
}

// InodesFull says whether the file system of directory has inodes, and none is left for a new file.
// Its bytes may be free then.
func InodesFull(directory string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(directory, &stat) == nil && stat.Files > 0 && stat.Ffree == 0
}

// DiskUse returns the bytes that are allocated under directory (its files' blocks, and those of the
// directories below it), and how many regular files there are. A file with several names counts
// once. Files that vanish during the walk are left out; symbolic links are not followed.
func DiskUse(directory string) (bytes, files uint64, err error) {
	type inode struct{ device, number uint64 }
	linked := map[inode]bool{}
	err = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if path == directory {
			return err
		}
		if err == nil {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				stat := info.Sys().(*syscall.Stat_t)
				if stat.Nlink > 1 && !info.IsDir() {
					id := inode{uint64(stat.Dev), stat.Ino}
					if linked[id] {
						return nil
					}
					linked[id] = true
				}
				// st_blocks is in units of 512 bytes whatever the file system's block: stat(3type)
				bytes += uint64(stat.Blocks) * 512
				if info.Mode().IsRegular() {
					files++
				}
				return nil
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("measure disk use: %w", err)
	}
	return bytes, files, nil
}
