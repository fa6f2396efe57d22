package trace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"assay/internal/base/memfile"
)

// onDisk is where the words of a trace stand that is larger than memory should hold: in a file on a disk,
// mapped, as it will be read. Its pages are the kernel's to write out and to drop.
type onDisk struct {
	file    *os.File
	data    []byte
	offsets []threadOffsets
}

// placeOnDisk gives the threads room for so many entries each, with due times or without. The file, which
// is empty, belongs to the trace from now on: both go once no thread of it is reachable.
func (f *File) placeOnDisk(file *os.File, threads []Thread, entries func(thread int) uint64, due bool) (err error) {
	offsets, total := layoutOf(len(threads), func(i int) (words, times uint64) {
		if n := entries(i); due {
			return n, n
		} else {
			return n, 0
		}
	})
	d := &onDisk{file: file, offsets: offsets}
	if err := memfile.Allocate(file, int64(total)); err != nil {
		return errors.Join(fmt.Errorf("making a trace on disk: %w", err), file.Close())
	}
	d.data, err = unix.Mmap(int(file.Fd()), 0, int(total), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return errors.Join(fmt.Errorf("mapping a trace on disk: %w", err), file.Close())
	}
	runtime.AddCleanup(d, func(data []byte) {
		_ = unix.Munmap(data) // the data is unreachable by now
		_ = file.Close()
	}, d.data)
	for i := range threads {
		t, n := &threads[i], entries(i)
		t.disk = d
		if n == 0 {
			continue
		}
		t.Entries = unsafe.Slice((*Entry)(unsafe.Pointer(&d.data[offsets[i].entries])), n)[:0]
		if due {
			t.Due = unsafe.Slice((*uint64)(unsafe.Pointer(&d.data[offsets[i].due])), n)[:0]
		}
	}
	f.disk = d
	return nil
}

// OnDisk reports whether the trace stands in a file on a disk already.
func (f *File) OnDisk() bool { return f.disk != nil }

// FinishOnDisk writes what is missing of the file, and waits until the disk has it, so that it is not busy
// with that later. It returns the file opened once more, for the caller to close.
func (f *File) FinishOnDisk() (*os.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	f.encodeHeader(f.disk.data, f.disk.offsets)
	if err := f.disk.file.Sync(); err != nil {
		return nil, fmt.Errorf("writing a trace to disk: %w", err)
	}
	if err := unix.Madvise(f.disk.data, unix.MADV_DONTNEED); err != nil { // of a shared file: it comes back from there
		return nil, fmt.Errorf("giving back the memory of a trace on disk: %w", err)
	}
	return memfile.Again(f.disk.file)
}
