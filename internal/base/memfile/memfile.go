// Package memfile makes the files that conductor and worker share. They are memory without a name
// (memfd_create(2)): they end with the processes that have them open, so a kill at any moment
// leaves nothing behind. They are sealed, so a worker that truncates one gets EPERM. The conductor
// would otherwise die of SIGBUS at its next look.
//
// # Decisions
//
//   - Trace and counters files have no name (memfd_create), and seals. A conductor that is killed
//     leaves no shared memory behind; workers die with it (PDEATHSIG). A worker that truncates its
//     counters gets an error, where the conductor would die of SIGBUS. The price: a worker in
//     another PID namespace, or of another user, can't open them.
package memfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// Create makes an empty file. name is for /proc/PID/maps alone. The caller closes it once the
// worker has mapped it.
func Create(name string) (*os.File, error) {
	const flags = linux.MFD_CLOEXEC | linux.MFD_ALLOW_SEALING
	// vm.memfd_noexec may demand MFD_NOEXEC_SEAL; kernels before 6.3 do not know it.
	fd, err := linux.MemfdCreate(name, flags|linux.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		fd, err = linux.MemfdCreate(name, flags)
	}
	if err != nil {
		return nil, fmt.Errorf("making a file in memory: memfd_create: %w", err)
	}
	return named(fd), nil
}

// Again opens a file once more; each of the two is closed by itself.
func Again(file *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s again: %w", file.Name(), err)
	}
	return named(fd), nil
}

// named gives a descriptor the name by which other processes open it.
func named(fd int) *os.File {
	return os.NewFile(uintptr(fd), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
}

// Allocate gives the file its size and all its pages. Without that, a full memory would be a SIGBUS
// in the process that touches a page first.
func Allocate(file *os.File, bytes int64) error {
	err := linux.Fallocate(int(file.Fd()), 0, 0, bytes)
	if errors.Is(err, unix.EOPNOTSUPP) { // a file on a disk, in tests
		err = file.Truncate(bytes)
	}
	if err != nil {
		return fmt.Errorf("making %s of %d bytes: %w", file.Name(), bytes, err)
	}
	return nil
}

// AllocateParts gives the file its size, and pages to these parts of it alone: from a byte on, so many.
// The others are holes, which must not be touched.
func AllocateParts(file *os.File, bytes int64, parts ...[2]int64) error {
	err := file.Truncate(bytes)
	for _, p := range parts {
		if err == nil && p[1] > 0 {
			err = linux.Fallocate(int(file.Fd()), 0, p[0], p[1])
		}
	}
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) { // that is a file on a disk, in tests
		return fmt.Errorf("making parts of %s, of %d bytes: %w", file.Name(), bytes, err)
	}
	return nil
}

// SealSize fixes the size, for every process that has the file open or mapped.
func SealSize(file *os.File) error { return seal(file, linux.F_SEAL_SHRINK|linux.F_SEAL_GROW) }

// SealAll also keeps the content. It fails while the file is mapped for writing.
func SealAll(file *os.File) error {
	return seal(file, linux.F_SEAL_SHRINK|linux.F_SEAL_GROW|linux.F_SEAL_WRITE)
}

func seal(file *os.File, seals int) error {
	if _, err := unix.FcntlInt(file.Fd(), linux.F_ADD_SEALS, seals|linux.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("sealing %s: %w", file.Name(), err)
	}
	return nil
}
