package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs/blockdevice"

	"assay/internal/base/linux"
	"assay/internal/base/owned"
)

// SyncCounter counts what a disk did that a sync has to wait for.
type SyncCounter struct {
	Disk   string // "nvme0n1"
	writes bool   // writes are counted as well as flushes
	stats  blockdevice.FS
}

// What a SyncCounter counts.
const (
	SyncFlushes = "flushes"
	SyncWrites  = "flushes and writes"
)

// NewSyncCounter finds the disk of a directory and tries it with a few syncs of its own. Where
// these are no flushes (the disk has no volatile cache, or is made of others), and where a write
// can be forced to the medium without one (FUA), writes are counted as well: no sync of new data
// does without.
func NewSyncCounter(directory string) (*SyncCounter, error) {
	return newSyncCounter(kernelRoots, directory)
}

func newSyncCounter(r roots, directory string) (*SyncCounter, error) {
	found := deviceOf(r, directory)
	if found.disk == "" {
		return nil, found.why
	}
	c, err := untriedSyncCounter(r, found.disk)
	if err != nil {
		return nil, err
	}
	tried, flushes, writes, err := c.try(directory)
	switch {
	case err != nil:
		return nil, err
	case writes+flushes < tried:
		return nil, fmt.Errorf("%d syncs were %d flushes and %d writes of %s: it does not count them", tried, flushes, writes, found.disk)
	case flushes < tried:
		c.writes = true
	}
	return c, nil
}

// untriedSyncCounter counts writes as well wherever they may do without a flush. What the kernel does
// not report of a queue counts as the case that accuses no store.
func untriedSyncCounter(r roots, disk string) (*SyncCounter, error) {
	stats, err := blockdevice.NewFS(r.proc, r.sys)
	if err != nil {
		return nil, err
	}
	return &SyncCounter{Disk: disk, stats: stats, writes: queueOf(r, disk, "fua") != "0"}, nil
}

func queueOf(r roots, disk, name string) string {
	return strings.TrimSpace(readString(filepath.Join(r.sys, "block", disk, "queue", name)))
}

// SyncFloor returns the fastest of a few syncs of 4 KiB that are written over, which is the least
// that a sync of the disk waits for: no file grows, so that no other block is written.
func SyncFloor(directory string) (fastest time.Duration, err error) {
	const tries, blockBytes = 8, 4096
	file, err := owned.NewFile(directory)
	if err != nil {
		return 0, fmt.Errorf("time a sync: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	block := make([]byte, blockBytes)
	for i := range tries + 1 {
		block[0] = byte(i)
		if _, err := file.WriteAt(block, 0); err != nil {
			return 0, fmt.Errorf("time a sync: %w", err)
		}
		began := time.Now()
		if err := linux.Fdatasync(int(file.Fd())); err != nil {
			return 0, fmt.Errorf("time a sync: %w", err)
		}
		if took := time.Since(began); i == 1 || i > 1 && took < fastest { // the first makes the file grow
			fastest = took
		}
	}
	return fastest, nil
}

// On reports whether a directory is on the disk that is counted.
func (c *SyncCounter) On(directory string) bool {
	return deviceOf(kernelRoots, directory).disk == c.Disk
}

// try does a few syncs and returns how many, and by how much the counters rose. Others can only add
// to them.
func (c *SyncCounter) try(directory string) (tried, flushes, writes uint64, err error) {
	const appends, appendBytes = 4, 4096
	file, err := owned.NewFile(directory)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("try a sync: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	flushedBefore, writtenBefore, err := c.read()
	if err != nil {
		return 0, 0, 0, err
	}
	block := make([]byte, appendBytes)
	for i := range block {
		block[i] = byte(i*7 + 1)
	}
	for range appends {
		if _, err := file.Write(block); err != nil {
			return 0, 0, 0, fmt.Errorf("try a sync: %w", err)
		}
		if err := linux.Fdatasync(int(file.Fd())); err != nil {
			return 0, 0, 0, fmt.Errorf("try a sync: %w", err)
		}
	}
	flushed, written, err := c.read()
	return appends, flushed - flushedBefore, written - writtenBefore, err
}

func (c *SyncCounter) read() (flushes, writes uint64, err error) {
	stat, _, err := c.stats.SysBlockDeviceStat(c.Disk)
	return stat.FlushRequestsCompleted, stat.WriteIOs, err
}

// Done returns what was counted since the disk was there.
func (c *SyncCounter) Done() (uint64, error) {
	flushes, writes, err := c.read()
	if c.writes {
		flushes += writes
	}
	return flushes, err
}

// Counts says what is counted: [SyncFlushes] or [SyncWrites].
func (c *SyncCounter) Counts() string {
	if c.writes {
		return SyncWrites
	}
	return SyncFlushes
}
