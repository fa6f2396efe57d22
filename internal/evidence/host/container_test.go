package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// containerMachines are one of each version of cgroups, with process 77 as the first of a container.
func containerMachines(t *testing.T) map[string]hierarchy {
	all := hierarchies(t)
	one := all["version 1"]
	memory := t.TempDir()
	one.write("self/mountinfo", "35 31 0:32 / "+one.point+" rw - cgroup cgroup rw,cpu,cpuacct\n"+
		"36 31 0:33 / "+memory+" rw - cgroup cgroup rw,memory\n")
	one.write("77/cgroup", "4:memory:/pod/box\n2:cpu,cpuacct:/pod/box/worker\n0::/\n")
	one.put(filepath.Join(memory, "memory.limit_in_bytes"), "9223372036854771712\n")
	one.put(filepath.Join(memory, "pod/memory.limit_in_bytes"), "9223372036854771712\n")
	one.put(filepath.Join(memory, "pod/box/memory.limit_in_bytes"), "536870912\n")
	one.put(filepath.Join(memory, "pod/box/memory.usage_in_bytes"), "1000000\n")
	one.put(filepath.Join(memory, "pod/box/memory.stat"), "cache 400000\nrss 600000\n")
	one.put(filepath.Join(one.point, "pod/box/worker/cpu.cfs_quota_us"), "150000\n")
	one.put(filepath.Join(one.point, "pod/box/worker/cpu.cfs_period_us"), "100000\n")
	two := all["version 2"]
	box := filepath.Join(two.point, "pod/box/worker")
	two.put(filepath.Join(box, "memory.max"), "536870912\n")
	two.put(filepath.Join(two.point, "pod/memory.max"), "max\n")
	two.put(filepath.Join(box, "memory.current"), "1000000\n")
	two.put(filepath.Join(box, "memory.stat"), "anon 600000\nfile 400000\n")
	two.put(filepath.Join(box, "cpu.max"), "150000 100000\n")
	return all
}

// used writes what the container has used and for how long it was held back, in seconds.
func (h hierarchy) used(version string, seconds, held float64) {
	group := "pod/box/worker"
	if version == "version 1" {
		h.stat(group, 5, held)
		h.put(filepath.Join(h.point, group, "cpuacct.usage"), fmt.Sprintf("%.0f\n", seconds*1e9))
		return
	}
	h.put(filepath.Join(h.point, group, "cpu.stat"),
		fmt.Sprintf("usage_usec %.0f\nnr_throttled 5\nthrottled_usec %.0f\n", seconds*1e6, held*1e6))
}

func TestContainersCgroup(t *testing.T) {
	for version, h := range containerMachines(t) {
		h.used(version, 10, 1)
		s := h.sampler()
		s.WatchServers(Servers{PIDs: []int{77}, Contained: true})
		u := s.Sample()
		s.BeginResources(u)
		h.used(version, 13, 1.5)
		u.At = u.At.Add(2 * time.Second)
		got := s.Resources(u)
		want := map[string]float64{
			"server.container_cpu": 1.5, "server.container_held": 0.25, "server.container_memory": 1e6,
			"server.container_cache": 4e5,
		}
		for name, value := range want {
			if diff := got[name] - value; diff > 1e-9 || diff < -1e-9 {
				t.Errorf("%s: %s is %v, want %v (%s)", version, name, got[name], value, s.NotMeasured()[name])
			}
		}
		if l := limitsOfContainer(h.roots, 77); l != (ContainerLimits{CPUs: 1.5, MemoryBytes: 512 << 20}) {
			t.Errorf("%s: limits %+v", version, l)
		}
		s.WatchServers(Servers{PIDs: []int{77}}) // no container
		u.At = u.At.Add(2 * time.Second)
		if got := s.Resources(u); got["server.container_memory"] != 0 {
			t.Errorf("%s: a server without a container has its series: %v", version, got)
		}
	}
}

// A container that shares Assay's cgroup has no figures of its own, and Assay's are not taken for them.
func TestContainerInAssaysCgroupHasNoFigures(t *testing.T) {
	for version, h := range containerMachines(t) {
		h.used(version, 10, 1)
		h.write(strconv.Itoa(os.Getpid())+"/cgroup", readString(filepath.Join(h.proc, "77/cgroup")))
		s := h.sampler()
		s.WatchServers(Servers{PIDs: []int{77}, Contained: true})
		s.BeginResources(s.Sample())
		if why := s.NotMeasured()["server.container_cpu"]; why == "" {
			t.Errorf("%s: nothing says why", version)
		}
	}
}

// Under a trial's memory limit, the memory is that limit's to tell.
func TestContainerUnderATrialsLimit(t *testing.T) {
	for version, h := range containerMachines(t) {
		h.used(version, 10, 1)
		limit := "assay-77-1700000000000000000"
		if version == "version 1" {
			h.write("77/cgroup", "4:memory:/"+limit+"\n2:cpu,cpuacct:/pod/box/worker\n0::/\n")
			groups, _, err := groupsOf(h.roots, 77, "memory", "")
			if err == nil {
				t.Fatalf("the limit's group is there before it was made: %v", groups)
			}
			_, point, _ := strings.Cut(err.Error(), "mounted on ")
			h.put(filepath.Join(point, limit, "memory.usage_in_bytes"), "7\n")
		} else {
			h.write("77/cgroup", "0::/"+limit+"\n")
			h.put(filepath.Join(h.point, limit, "memory.current"), "7\n")
			h.put(filepath.Join(h.point, limit, "cpu.stat"), "usage_usec 1\nnr_throttled 0\nthrottled_usec 0\n")
		}
		s := h.sampler()
		s.WatchServers(Servers{PIDs: []int{77}, Contained: true})
		u := s.Sample()
		s.BeginResources(u)
		u.At = u.At.Add(2 * time.Second)
		got := s.Resources(u)
		if _, told := got["server.container_memory"]; told || s.NotMeasured()["server.container_memory"] == "" {
			t.Errorf("%s: %v, %q", version, got, s.NotMeasured()["server.container_memory"])
		}
		if _, told := got["server.container_cpu"]; !told {
			t.Errorf("%s: no CPU: %v", version, got)
		}
	}
}
