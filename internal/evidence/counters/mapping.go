package counters

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"assay/internal/base/memfile"
)

// makeFile gives an empty file so many zeros, and maps it shared. Where there are parts, only these
// have memory.
func makeFile(file *os.File, size int, parts ...[2]int64) ([]byte, error) {
	allocate := func() error { return memfile.Allocate(file, int64(size)) }
	if len(parts) > 0 {
		allocate = func() error { return memfile.AllocateParts(file, int64(size), parts...) }
	}
	if err := allocate(); err != nil {
		return nil, err
	}
	return mapShared(file, size, 0)
}

// openFile maps a file that another process made.
func openFile(name string, flags int) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < pageBytes || info.Size()%8 != 0 {
		return nil, fmt.Errorf("%s has %d bytes: too short, or cut", name, info.Size())
	}
	return mapShared(file, int(info.Size()), flags)
}

func mapShared(file *os.File, size, flags int) ([]byte, error) {
	data, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|flags)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", file.Name(), err)
	}
	return data, nil
}
