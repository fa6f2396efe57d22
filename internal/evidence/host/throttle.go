package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"assay/internal/base/bounded"
	"assay/internal/base/mounts"
)

// Throttling is how far the counters of what slows a worker by rule have come, CPU quota and heat:
// one reading of [Sampler.Throttling].
type Throttling struct {
	quota    map[string]quotaCounts // by cgroup directory: the worker's, and those above it
	quotaWhy string                 // why they are not known; "" if they can
	heat     map[string]heatCounts  // by directory: a CPU's core, a CPU's package
	heatWhy  string
}

// quotaCounts are those of a cgroup's bandwidth control: Documentation/scheduler/sched-bwc.rst.
type quotaCounts struct {
	periods uint64  // in which the quota was used up
	seconds float64 // held back, summed over CPUs
}

// heatCounts are those of a core or package:
// Documentation/admin-guide/thermal/intel_thermal_throttle.rst.
type heatCounts struct {
	events  uint64
	seconds *float64 // nil: an older kernel, which only counts how often
}

// Throttled is what happened between two readings. A nil pointer: not measured.
type Throttled struct {
	// QuotaSeconds is for how long threads that were ready were kept from a CPU because their
	// cgroup had used up its quota, summed over CPUs. Where several cgroups, one above the other,
	// have quotas, it is of the one that held back the most: their times may overlap. A stretch
	// counts in full when it ends, so that up to one period (most often 100 ms) may be of the time
	// before, or missing at the end.
	QuotaSeconds *float64
	QuotaPeriods *uint64 // in which that cgroup's quota was used up
	QuotaGroup   string  // its directory; "" if none held anything back

	HeatEvents  *uint64  // times that the hottest core or package slowed down
	HeatSeconds *float64 // for how long; nil as well where the kernel only counts how often

	QuotaWhy, HeatWhy string // why it was not measured; "" if it was
}

// Throttling takes a reading for the worker. It costs some ten small files: take it when a phase
// begins and when it ends, not with each sample. Cgroups above those that are mounted here (those
// of the machine, for a process in a container) can't be seen.
func (s *Sampler) Throttling() Throttling {
	var t Throttling
	var err error
	if t.quota, err = quotasOf(s.roots, s.workers[0]); err != nil {
		t.quotaWhy = err.Error()
	}
	if t.heat, err = heatOf(s.roots); err != nil {
		t.heatWhy = err.Error()
	}
	return t
}

// Since returns what happened from an earlier reading of the same sampler to this one.
func (t Throttling) Since(earlier Throttling) Throttled {
	var d Throttled
	if d.QuotaWhy = cmp.Or(earlier.quotaWhy, t.quotaWhy); d.QuotaWhy == "" {
		d.QuotaSeconds, d.QuotaPeriods = new(float64), new(uint64)
		for path, now := range t.quota {
			before, known := earlier.quota[path]
			if !known || now.periods < before.periods || now.seconds < before.seconds {
				d.QuotaSeconds, d.QuotaPeriods, d.QuotaGroup = nil, nil, ""
				d.QuotaWhy = "the worker came into another cgroup, or one was made anew, while it was looked at: " + path
				break
			}
			periods, seconds := now.periods-before.periods, now.seconds-before.seconds
			if seconds > *d.QuotaSeconds || seconds == *d.QuotaSeconds && periods > *d.QuotaPeriods {
				d.QuotaSeconds, d.QuotaPeriods, d.QuotaGroup = &seconds, &periods, path
			}
		}
	}
	if d.HeatWhy = cmp.Or(earlier.heatWhy, t.heatWhy); d.HeatWhy == "" {
		d.HeatEvents = new(uint64)
		for path, now := range t.heat {
			before, known := earlier.heat[path]
			if !known || now.events < before.events {
				continue // a CPU came meanwhile
			}
			*d.HeatEvents = max(*d.HeatEvents, now.events-before.events)
			if seconds := difference(now.seconds, before.seconds); seconds != nil && (d.HeatSeconds == nil ||
				*seconds > *d.HeatSeconds) {
				d.HeatSeconds = seconds
			}
		}
	}
	return d
}

// cpuGroups are [groupsOf] the cpu controller.
func cpuGroups(r roots, pid int) (groups []string, version int, err error) {
	return groupsOf(r, pid, "cpu", "that no quota can be seen")
}

// groupsOf returns the cgroups of a controller that a process is in, the innermost first, up to the
// point at which they are mounted, and the version of their files. so is what follows where there are none.
func groupsOf(r roots, pid int, controller, so string) (groups []string, version int, err error) {
	seen := mounts.Parse(readString(filepath.Join(r.proc, "self", "mountinfo")))
	membership, err := bounded.Kernel(filepath.Join(r.proc, strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return nil, 0, fmt.Errorf("find the cgroup of process %d: %w", pid, err)
	}
	version = 1
	point, path, found := cgroupV1(seen, string(membership), controller)
	if !found {
		version = 2
		point, path, found = cgroupV2(seen, string(membership), controller)
	}
	if !found {
		return nil, 0, fmt.Errorf("the %s controller of cgroups is not mounted, so %s", controller, so)
	}
	innermost := filepath.Join(point, path)
	if !strings.HasPrefix(innermost+"/", point+"/") || !exists(innermost) {
		return nil, 0, fmt.Errorf("the worker's cgroup %s is not among those that are mounted on %s", path, point)
	}
	for group := innermost; ; group = filepath.Dir(group) {
		if groups = append(groups, group); group == point {
			return groups, version, nil
		}
	}
}

// CPUQuota returns how many CPUs' time the cgroups of this process let it use; 0: as many as there are, or
// it can't be seen.
func CPUQuota() float64 { return cpuQuota(kernelRoots, os.Getpid()) }

func cpuQuota(r roots, pid int) (cpus float64) {
	groups, version, err := cpuGroups(r, pid)
	if err != nil {
		return 0
	}
	for _, group := range groups {
		text := readString(filepath.Join(group, "cpu.max"))
		if version == 1 {
			text = readString(filepath.Join(group, "cpu.cfs_quota_us")) + " " + readString(filepath.Join(group, "cpu.cfs_period_us"))
		}
		var quota, period float64
		n, _ := fmt.Sscan(text, &quota, &period)
		limited := n == 2 && quota > 0 && period > 0 // "max" and -1: none
		if limited && (cpus == 0 || quota/period < cpus) {
			cpus = quota / period
		}
	}
	return cpus
}

// quotasOf reads what the quotas of a process's cgroups held back.
func quotasOf(r roots, pid int) (map[string]quotaCounts, error) {
	groups, version, err := cpuGroups(r, pid)
	if err != nil {
		return nil, err
	}
	line, unit := throttledLine(version)
	quotas := map[string]quotaCounts{}
	for _, group := range groups {
		if counts, told, err := quotaOf(group, line, unit); err != nil {
			return nil, err
		} else if told {
			quotas[group] = counts
		}
	}
	// The machine's own root has no quota, and in version 2 no such counters; it is known by having
	// no cgroup.events.
	if len(quotas) == 0 && exists(filepath.Join(groups[len(groups)-1], "cgroup.events")) {
		return nil, fmt.Errorf("no cgroup from %s up reports its quota: the cpu controller was not delegated to it", groups[0])
	}
	return quotas, nil
}

// throttledLine is the line of cpu.stat that has the time held back, and its unit in seconds.
func throttledLine(version int) (line string, unit float64) {
	if version == 2 {
		return "throttled_usec", 1e-6
	}
	return "throttled_time", 1e-9
}

// quotaOf reads cpu.stat. A group that the controller was not handed down to has none of its lines,
// and no quota of its own.
func quotaOf(group, timeLine string, unit float64) (counts quotaCounts, told bool, err error) {
	path := filepath.Join(group, "cpu.stat")
	text, err := bounded.Kernel(path)
	if err != nil {
		return counts, false, fmt.Errorf("read how far the CPU quota was used: %w", err)
	}
	var periods, held bool
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "nr_throttled" && name != timeLine {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return counts, false, fmt.Errorf("read %s of %s: %w", name, path, err)
		}
		if name == timeLine {
			counts.seconds, held = float64(n)*unit, true
		} else {
			counts.periods, periods = n, true
		}
	}
	return counts, periods && held, nil
}

// heatOf reads how often, and in newer kernels for how long, cores and packages slowed down because
// they were hot.
func heatOf(r roots) (map[string]heatCounts, error) {
	directories, err := filepath.Glob(filepath.Join(r.sys, "devices", "system", "cpu", "cpu[0-9]*", "thermal_throttle"))
	if err != nil {
		return nil, err
	}
	heat := map[string]heatCounts{}
	for _, directory := range directories {
		for _, part := range []string{"core", "package"} {
			file := filepath.Join(directory, part+"_throttle_")
			events, told := heatNumber(file + "count")
			if !told {
				continue
			}
			counts := heatCounts{events: events}
			if milliseconds, told := heatNumber(file + "total_time_ms"); told {
				seconds := float64(milliseconds) / 1e3
				counts.seconds = &seconds
			}
			heat[file] = counts
		}
	}
	if len(heat) == 0 {
		return nil, errors.New("this kernel does not report throttling (no thermal_throttle under /sys/devices/system/cpu): a virtual machine, or a processor without such counters")
	}
	return heat, nil
}

func heatNumber(path string) (n uint64, told bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(readString(path)), 10, 64)
	return n, err == nil
}
