package host

import (
	"fmt"
	"os"
	"runtime"

	"github.com/prometheus/procfs"

	"assay/internal/base/linux"
	"assay/internal/base/owned"
)

// The probe's file, and what is then written in it.
const (
	probeChunkBytes = 1 << 20 // a write of this size makes large folios, where the file system has them
	probeChunks     = 4
	probePages      = 16
	probePageBytes  = 4096
	probePageStep   = 389 // pages from one write to the next, modulo the file's: prime, so that none comes twice
)

// writeCountOff is how far from 1 the count may be for each byte written, to be taken for true.
const writeCountOff = 0.1

// CheckWriteCount says if /proc/PID/io counts what is written in directory: perByte is by how many
// bytes its write_bytes grew for each byte that was written in place to a file, nil if that could
// not be tried; why is a reason not to show the count, "" if it is true. The file is removed.
//
// The kernel charges a folio of the page cache whole when a page of it becomes dirty
// (folio_account_dirtied in mm/page-writeback.c), though it may write that page only. Up to some
// kernel a folio was a page; ext4 has larger ones since Linux 6.16.
func CheckWriteCount(directory string) (perByte *float64, why string) {
	runtime.LockOSThread() // threads are counted each for itself, and others may write
	defer runtime.UnlockOSThread()
	return checkWriteCount(directory, threadWriteBytes)
}

func checkWriteCount(directory string, counted func() (uint64, error)) (perByte *float64, why string) {
	ratio, err := writeCountPerByte(directory, counted)
	switch {
	case err != nil:
		return nil, fmt.Sprintf("it could not be tried if /proc/PID/io counts right here: %v", err)
	case ratio > 1+writeCountOff:
		why = fmt.Sprintf("/proc/PID/io counts %.3g bytes here for each byte that is written: the kernel charges large folios of the page cache whole", ratio)
	case ratio < 1-writeCountOff:
		why = fmt.Sprintf("/proc/PID/io counts %.3g bytes here for each byte that is written: the files are in memory, or are not written through the page cache", ratio)
	}
	return &ratio, why
}

func writeCountPerByte(directory string, counted func() (uint64, error)) (ratio float64, err error) {
	file, err := owned.NewFile(directory)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	chunk := make([]byte, probeChunkBytes)
	for i := range chunk {
		chunk[i] = byte(i*7 + 1) // zeros may be stored as nothing
	}
	for range probeChunks {
		if _, err := file.Write(chunk); err != nil {
			return 0, err
		}
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	before, err := counted()
	if err != nil {
		return 0, err
	}
	const pages = probeChunks * probeChunkBytes / probePageBytes
	for i := range probePages {
		if _, err := file.WriteAt(chunk[1:1+probePageBytes], int64(i*probePageStep%pages)*probePageBytes); err != nil {
			return 0, err
		}
		if err := linux.Fdatasync(int(file.Fd())); err != nil {
			return 0, os.NewSyscallError("fdatasync", err)
		}
	}
	after, err := counted()
	if err != nil {
		return 0, err
	}
	return float64(after-before) / (probePages * probePageBytes), nil
}

func threadWriteBytes() (uint64, error) {
	io, err := threadIO()
	return io.WriteBytes, err
}

// threadIO reads the counters of the calling thread.
func threadIO() (procfs.ProcIO, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return procfs.ProcIO{}, err
	}
	thread, err := proc.Thread(os.Getpid(), linux.Gettid())
	if err != nil {
		return procfs.ProcIO{}, err
	}
	return thread.IO()
}
