package host

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// containerGroup is the cgroup of a container in which a server runs. It counts what its processes
// leave out: those that have ended, page cache, memory of the kernel, and time without a CPU.
type containerGroup struct {
	memory *MemoryGroup // nil: a memory limit of the trial has taken the server out of it
	cpu    string
	// acct is the group that counts CPU time: in version 1 of a controller of its own.
	acct    string
	version int
}

// containerOf finds the cgroup of the container whose first process is pid, in version 1 or 2.
func containerOf(r roots, pid int) (c containerGroup, err error) {
	cpu, version, err := cpuGroups(r, pid)
	if err != nil {
		return c, fmt.Errorf("find the container's cgroup: %w", err)
	}
	if own, _, err := cpuGroups(r, os.Getpid()); err == nil && own[0] == cpu[0] {
		return c, errors.New("the container has no cgroup of its own: it is in Assay's")
	}
	c = containerGroup{cpu: cpu[0], acct: cpu[0], version: version}
	if version == 1 {
		acct, _, err := groupsOf(r, pid, "cpuacct", "the container's CPU time is not counted")
		if err != nil {
			return c, err
		}
		c.acct = acct[0]
	}
	memory, version, err := groupsOf(r, pid, "memory", "the container's memory is not counted")
	if err != nil {
		return c, err
	}
	if groupNames.MatchString(filepath.Base(memory[0])) {
		return c, nil
	}
	c.memory = &MemoryGroup{path: memory[0], files: memoryFilesOf(version)}
	return c, nil
}

func memoryFilesOf(version int) memoryFiles {
	if version == 1 {
		return memoryFilesV1
	}
	return memoryFilesV2
}

// cpuSeconds is what all processes of the container have used since it began.
func (c *containerGroup) cpuSeconds() (seconds float64, told bool) {
	group := MemoryGroup{path: c.acct}
	used, unit := group.number("cpuacct.usage", ""), 1e-9
	if c.version == 2 {
		used, unit = group.number("cpu.stat", "usage_usec"), 1e-6
	}
	if used == nil {
		return 0, false
	}
	return float64(*used) * unit, true
}

// heldSeconds is for how long threads that were ready had no CPU because of the container's limit.
func (c *containerGroup) heldSeconds() (seconds float64, told bool) {
	line, unit := throttledLine(c.version)
	counts, told, err := quotaOf(c.cpu, line, unit)
	return counts.seconds, told && err == nil
}

// containers takes what the cgroups of the servers' containers count.
func (t *telemetry) containers(v values, servers Servers) {
	if !servers.Contained {
		return
	}
	for i, pid := range servers.PIDs {
		name := func(series string) string { return ServerSeries("server.container_"+series, i+1, len(servers.PIDs)) }
		c, err := containerOf(t.roots, pid)
		if err != nil {
			if !exists(filepath.Join(t.roots.proc, fmt.Sprint(pid))) {
				continue // it has ended
			}
			v.missing(err, name("cpu"), name("memory"), name("cache"), name("held"))
			continue
		}
		if seconds, told := c.cpuSeconds(); told {
			v.rate(name("cpu"), seconds)
		}
		if seconds, told := c.heldSeconds(); told {
			v.rate(name("held"), seconds)
		}
		if c.memory == nil {
			v.missing(errors.New("the trial's memory limit holds worker and server together"), name("memory"), name("cache"))
			continue
		}
		counts := c.memory.counts()
		if counts.used != nil {
			v.gauge(name("memory"), float64(*counts.used))
		}
		if counts.cache != nil {
			v.gauge(name("cache"), float64(*counts.cache))
		}
	}
}

// ContainerLimits are what the cgroups of a container, and those above it, let it have.
type ContainerLimits struct {
	CPUs        float64 // 0: as many as there are
	MemoryBytes uint64  // page cache included; 0: as much as there is
}

// LimitsOfContainer returns the limits of the container whose first process is pid.
func LimitsOfContainer(pid int) ContainerLimits { return limitsOfContainer(kernelRoots, pid) }

func limitsOfContainer(r roots, pid int) (l ContainerLimits) {
	l.CPUs = cpuQuota(r, pid)
	groups, version, err := groupsOf(r, pid, "memory", "")
	if err != nil {
		return l
	}
	least, files := uint64(unlimitedBytes), memoryFilesOf(version)
	for _, group := range slices.DeleteFunc(groups, func(g string) bool { return strings.HasPrefix(filepath.Base(g), "assay-") }) {
		limit := (&MemoryGroup{path: group}).number(files.limit, "")
		if limit != nil && *limit < least { // "max", or near 2⁶³: none
			least = *limit
		}
	}
	if least < unlimitedBytes {
		l.MemoryBytes = least
	}
	return l
}

// unlimitedBytes is more than any machine has; version 1 says so much where there is no limit.
const unlimitedBytes = math.MaxInt64 / 2
