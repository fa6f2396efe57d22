package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// PageCache is how much of a directory's files is in the page cache.
type PageCache struct {
	FileBytes     uint64 `json:"file_bytes"`     // of all files
	ResidentBytes uint64 `json:"resident_bytes"` // of them, in memory: whole pages
}

// DropPages makes the files of a directory durable (fsync) and takes their pages out of the page
// cache (posix_fadvise, DONTNEED), and of nothing else: the machine's other caches stay, and it
// needs no privilege. It returns what is in the page cache after it: pages that a process has
// mapped stay there.
func DropPages(directory string) (PageCache, error) {
	err := eachFile(directory, func(f *os.File, size int64) error {
		if err := f.Sync(); err != nil {
			return fmt.Errorf("syncing %s: %w", f.Name(), err)
		}
		if err := linux.Fadvise(int(f.Fd()), 0, 0, linux.FADV_DONTNEED); err != nil {
			return fmt.Errorf("dropping the pages of %s: %w", f.Name(), err)
		}
		return nil
	})
	if err != nil {
		return PageCache{}, err
	}
	return PagesOf(directory)
}

// PagesOf asks the kernel (mincore) how much of a directory's files is in the page cache.
func PagesOf(directory string) (PageCache, error) {
	var sum PageCache
	err := eachFile(directory, func(f *os.File, size int64) error {
		resident, err := residentBytes(f, size)
		sum.FileBytes += uint64(size)
		sum.ResidentBytes += resident
		return err
	})
	return sum, err
}

// eachFile visits the regular files under a directory. One that a store deletes meanwhile is left
// out.
func eachFile(directory string, visit func(f *os.File, size int64) error) error {
	return filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing %s: %w", path, err)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("opening a file of the store: %w", err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("looking at %s: %w", path, err)
		}
		return visit(f, info.Size())
	})
}

// residentBytes maps a file without touching it and counts its pages in memory.
func residentBytes(f *os.File, size int64) (uint64, error) {
	if size == 0 {
		return 0, nil
	}
	mapped, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return 0, fmt.Errorf("mapping %s to see what of it is in memory: %w", f.Name(), err)
	}
	defer unix.Munmap(mapped)
	page := os.Getpagesize()
	in := make([]byte, (int(size)+page-1)/page)
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[0])), uintptr(size),
		uintptr(unsafe.Pointer(&in[0]))); errno != 0 {
		return 0, fmt.Errorf("asking what of %s is in memory: %w", f.Name(), errno)
	}
	var pages uint64
	for _, state := range in {
		pages += uint64(state & 1)
	}
	return pages * uint64(page), nil
}
