package host

import (
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/procfs/blockdevice"

	"assay/internal/base/linux"
)

// OwnDisk is the block device of a file system that holds one trial's files and nothing else, such
// as a [QuotaMount]'s loop device: what is written to it, the trial caused.
type OwnDisk struct {
	directory string
	disk      string // "loop3"
	stats     blockdevice.FS
}

// NewOwnDisk finds the device of a directory that is on such a file system.
func NewOwnDisk(directory string) (*OwnDisk, error) {
	found := deviceOf(kernelRoots, directory)
	if found.disk == "" {
		return nil, found.why
	}
	stats, err := blockdevice.NewFS(kernelRoots.proc, kernelRoots.sys)
	if err != nil {
		return nil, err
	}
	return &OwnDisk{directory, found.disk, stats}, nil
}

// Written lets the kernel write everything that waits in the page cache for this disk, and returns
// the bytes that it has been sent since it was there: the file system's journal and metadata are
// among them.
func (d *OwnDisk) Written() (bytes uint64, err error) {
	directory, err := os.Open(d.directory)
	if err != nil {
		return 0, err
	}
	syncErr := os.NewSyscallError("syncfs", linux.Syncfs(int(directory.Fd())))
	if err := errors.Join(syncErr, directory.Close()); err != nil {
		return 0, fmt.Errorf("write out the trial's disk: %w", err)
	}
	stat, _, err := d.stats.SysBlockDeviceStat(d.disk)
	if err != nil {
		return 0, err
	}
	return stat.WriteSectors * sectorBytes, nil
}
