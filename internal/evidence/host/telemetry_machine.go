package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/prometheus/procfs/blockdevice"

	"assay/internal/base/bounded"
)

// machine reads what the whole machine does with its memory, and what its tasks wait for.
func (t *telemetry) machine(v values) {
	if m, err := t.proc.Meminfo(); err != nil {
		v.missing(err, "machine.dirty", "machine.writeback", "machine.cached", "machine.available")
	} else {
		for name, kibibytes := range map[string]*uint64{
			"machine.dirty": m.Dirty, "machine.writeback": m.Writeback, "machine.cached": m.Cached, "machine.available": m.MemAvailable,
		} {
			if kibibytes == nil {
				v.missing(errors.New("/proc/meminfo does not have it"), name)
				continue
			}
			v.gauge(name, float64(*kibibytes<<10))
		}
	}
	t.pressure(v)
	t.reclaim(v)
}

// pressure reads the kernel's pressure stall information: Documentation/accounting/psi.rst. The
// machine's "full" of the CPU is left out: it is not defined, and written as 0.
func (t *telemetry) pressure(v values) {
	for _, resource := range []string{"cpu", "io", "memory"} {
		some := "machine.pressure_" + resource
		full := some + "_full"
		if resource == "cpu" {
			full = ""
		}
		stats, err := t.proc.PSIStatsForResource(resource)
		if err != nil {
			err = fmt.Errorf("no pressure stall information (kernel option psi=1): %w", err)
			v.missing(err, some)
			if full != "" {
				v.missing(err, full)
			}
			continue
		}
		if stats.Some != nil {
			v.rate(some, float64(stats.Some.Total)/1e6)
		}
		if stats.Full != nil && full != "" {
			v.rate(full, float64(stats.Full.Total)/1e6)
		}
	}
}

// reclaim reads /proc/vmstat, which procfs has no reader for. Names that end in _ are sums over all
// lines that begin so: kernels have one for each zone, or for anonymous and file pages.
func (t *telemetry) reclaim(v values) {
	lines := []struct{ name, line string }{
		{"machine.reclaim_scanned", "pgscan_kswapd"}, {"machine.reclaim_scanned_direct", "pgscan_direct"},
		{"machine.reclaim_freed", "pgsteal_kswapd"}, {"machine.reclaim_freed_direct", "pgsteal_direct"},
		{"machine.allocation_stalls", "allocstall_"}, {"machine.faults_major", "pgmajfault"}, {"machine.refaults", "workingset_refault_"},
	}
	path := filepath.Join(t.roots.proc, "vmstat")
	text, err := bounded.Kernel(path)
	sums := map[string]float64{}
	if err == nil {
		for line := range strings.Lines(string(text)) {
			name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
			for _, wanted := range lines {
				if name != wanted.line && !(strings.HasSuffix(wanted.line, "_") && strings.HasPrefix(name, wanted.line)) {
					continue
				}
				if count, err := strconv.ParseUint(number, 10, 64); err == nil {
					sums[wanted.name] += float64(count)
				}
			}
		}
	}
	for _, wanted := range lines {
		if sum, found := sums[wanted.name]; found {
			v.rate(wanted.name, sum)
		} else if err != nil {
			v.missing(err, wanted.name)
		} else {
			v.missing(fmt.Errorf("%s has no %s", path, wanted.line), wanted.name)
		}
	}
}

// device is the disk that holds the data directory.
type device struct {
	disk    string // "vda"; "" if there is none
	stacked bool   // made of other devices: LVM, LUKS, RAID
	why     error
}

// deviceOf finds the disk of a directory: of a partition, the whole disk, which alone has a queue
// and counts flushes.
func deviceOf(r roots, directory string) device {
	var stat unix.Stat_t
	if err := unix.Stat(directory, &stat); err != nil {
		return device{why: fmt.Errorf("find the device of %s: %w", directory, err)}
	}
	return diskOf(r, uint64(stat.Dev))
}

// diskOf returns the disk of a file system, by the device number of its files.
func diskOf(r roots, dev uint64) device {
	number := fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev))
	path, err := filepath.EvalSymlinks(filepath.Join(r.sys, "dev", "block", number))
	if err != nil {
		return device{why: errors.New("the data directory's file system is not on one disk: memory, a network, or several disks")}
	}
	if exists(filepath.Join(path, "partition")) {
		path = filepath.Dir(path)
	}
	below, err := os.ReadDir(filepath.Join(path, "slaves")) // none there: a disk of its own
	return device{disk: filepath.Base(path), stacked: err == nil && len(below) > 0}
}

const sectorBytes = 512 // of /proc/diskstats, whatever the device has: Documentation/admin-guide/iostats.rst

func (t *telemetry) readDevice(v values) {
	if t.device.disk == "" {
		if t.device.why != nil {
			v.missingPrefix(t.device.why, "device.")
		}
		return
	}
	stats, err := t.diskstats()
	if err != nil {
		v.missingPrefix(err, "device.")
		return
	}
	v.rate("device.reads", float64(stats.ReadIOs))
	v.rate("device.writes", float64(stats.WriteIOs))
	v.rate("device.read", float64(stats.ReadSectors*sectorBytes))
	v.rate("device.write", float64(stats.WriteSectors*sectorBytes))
	v.rate("device.busy", float64(stats.IOsTotalTicks)/1e3)
	v.rate("device.queue", float64(stats.WeightedIOTicks)/1e3)
	v.mean("device.read_time", float64(stats.ReadTicks), float64(stats.ReadIOs))
	v.mean("device.write_time", float64(stats.WriteTicks), float64(stats.WriteIOs))
	const fieldsWithFlushes = 20 // since Linux 5.5
	if stats.IoStatsCount < fieldsWithFlushes {
		v.missing(errors.New("this kernel does not count flushes (Linux 5.5 and later do)"), "device.flushes", "device.flush_time")
		return
	}
	if t.device.stacked { // a flush has no request of its own there, and the counter stays 0: block/blk-flush.c
		v.missing(fmt.Errorf("%s is made of other devices, and the kernel counts no flushes of such ones", t.device.disk), "device.flushes", "device.flush_time")
		return
	}
	v.rate("device.flushes", float64(stats.FlushRequestsCompleted))
	v.mean("device.flush_time", float64(stats.TimeSpentFlushing), float64(stats.FlushRequestsCompleted))
}

func (t *telemetry) diskstats() (blockdevice.Diskstats, error) {
	var none blockdevice.Diskstats
	disks, err := blockdevice.NewFS(t.roots.proc, t.roots.sys)
	if err != nil {
		return none, err
	}
	all, err := disks.ProcDiskstats()
	if err != nil {
		return none, err
	}
	for _, d := range all {
		if d.DeviceName == t.device.disk {
			return d, nil
		}
	}
	return none, fmt.Errorf("/proc/diskstats has no %s", t.device.disk)
}

// readLimit reads the trial's cgroup.
func (t *telemetry) readLimit(v values) {
	if t.group == nil {
		return
	}
	c := t.group.counts()
	if c.used != nil {
		v.gauge("limit.memory", float64(*c.used))
	}
	if c.cache != nil {
		v.gauge("limit.cache", float64(*c.cache))
	}
	if c.hits != nil {
		v.rate("limit.hits", float64(*c.hits))
	}
}
