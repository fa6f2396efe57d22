package host

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/base/mounts"
)

// hierarchy is a tree of cgroups that the worker of a machineTree is in.
type hierarchy struct {
	machineTree
	point string
	unit  func(seconds float64) string // the line of the time
}

func (h hierarchy) stat(group string, periods int, seconds float64) {
	h.put(filepath.Join(h.point, group, "cpu.stat"), fmt.Sprintf("nr_periods 900\nnr_throttled %d\n%s\nnr_bursts 0\n", periods, h.unit(seconds)))
}

func (h hierarchy) put(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

// hierarchies are one of each version, with the worker in /pod/box/worker of a machine.
func hierarchies(t *testing.T) map[string]hierarchy {
	one := hierarchy{newMachine(t), t.TempDir(), func(s float64) string { return fmt.Sprintf("throttled_time %.0f", s*1e9) }}
	one.write("self/mountinfo", "35 31 0:32 / "+one.point+" rw - cgroup cgroup rw,cpu,cpuacct\n")
	one.write("77/cgroup", "4:memory:/elsewhere\n2:cpu,cpuacct:/pod/box/worker\n0::/\n")
	two := hierarchy{newMachine(t), t.TempDir(), func(s float64) string { return fmt.Sprintf("usage_usec 7\nthrottled_usec %.0f", s*1e6) }}
	two.write("self/mountinfo", "35 31 0:32 / "+two.point+" rw - cgroup2 cgroup2 rw\n")
	two.put(filepath.Join(two.point, "cgroup.controllers"), "cpuset cpu memory\n")
	two.put(filepath.Join(two.point, "cpu.stat"), "usage_usec 99\nuser_usec 9\n") // the machine's root has no quota
	two.write("77/cgroup", "0::/pod/box/worker\n")
	one.stat("", 0, 0)
	all := map[string]hierarchy{"version 1": one, "version 2": two}
	for _, h := range all {
		for _, group := range []string{"pod", "pod/box", "pod/box/worker"} {
			h.stat(group, 5, 2)
		}
	}
	return all
}

func TestQuotaOfTheWorkersCgroups(t *testing.T) {
	for version, h := range hierarchies(t) {
		s := h.sampler()
		before := s.Throttling()
		check := func(what string, seconds float64, periods uint64, group string) {
			t.Helper()
			d := s.Throttling().Since(before)
			if group != "" {
				group = filepath.Join(h.point, group)
			}
			if d.QuotaWhy != "" || d.QuotaSeconds == nil || math.Abs(*d.QuotaSeconds-seconds) > 1e-9 || *d.QuotaPeriods != periods || d.QuotaGroup != group {
				t.Errorf("%s, %s: %+v", version, what, d)
			}
		}
		check("nothing held back", 0, 0, "")
		h.stat("pod/box/worker", 6, 2.25)
		check("the worker's own", 0.25, 1, "pod/box/worker")
		h.stat("pod", 9, 3.5)
		check("one above held back more", 1.5, 4, "pod")
		h.stat("other", 99, 99)
		check("another one is not the worker's", 1.5, 4, "pod")
		h.stat("pod", 1, 0.5)
		if d := s.Throttling().Since(before); d.QuotaSeconds != nil || d.QuotaWhy == "" {
			t.Errorf("%s, a counter that fell: %+v", version, d)
		}
	}
}

// Without a file of it the quota is reported as not measured, and not as zero.
func TestQuotaThatCannotBeSeen(t *testing.T) {
	for what, change := range map[string]func(h hierarchy){
		"not mounted":          func(h hierarchy) { h.write("self/mountinfo", "") },
		"no membership":        func(h hierarchy) { h.remove("77/cgroup") },
		"a cgroup not mounted": func(h hierarchy) { h.write("77/cgroup", "2:cpu:/../far\n0::/../far\n") },
		"no file":              func(h hierarchy) { os.Remove(filepath.Join(h.point, "pod", "cpu.stat")) },
		"not a number":         func(h hierarchy) { h.put(filepath.Join(h.point, "pod", "cpu.stat"), "nr_throttled x\n") },
		"no lines of it": func(h hierarchy) { // a container's own root, to which the controller was not handed down
			for _, group := range []string{"", "pod", "pod/box", "pod/box/worker"} {
				h.put(filepath.Join(h.point, group, "cpu.stat"), "usage_usec 1\n")
			}
			h.put(filepath.Join(h.point, "cgroup.events"), "populated 1\n")
		},
	} {
		for version, h := range hierarchies(t) {
			s := h.sampler()
			before := s.Throttling()
			change(h)
			if d := s.Throttling().Since(before); d.QuotaSeconds != nil || d.QuotaPeriods != nil || d.QuotaWhy == "" {
				t.Errorf("%s, %s: %+v", version, what, d)
			}
		}
	}
}

func TestHeat(t *testing.T) {
	m := newMachine(t)
	s := m.sampler()
	if d := s.Throttling().Since(s.Throttling()); d.HeatEvents != nil || d.HeatSeconds != nil || d.HeatWhy == "" {
		t.Errorf("a machine that tells nothing: %+v", d)
	}
	put := func(cpu int, name string, n int) {
		hierarchy{machineTree: m}.put(filepath.Join(m.sys, "devices", "system", "cpu", fmt.Sprint("cpu", cpu), "thermal_throttle", name), strconv.Itoa(n)+"\n")
	}
	for cpu := range 12 {
		put(cpu, "core_throttle_count", 10)
	}
	before := s.Throttling()
	put(3, "core_throttle_count", 12)
	put(11, "core_throttle_count", 15)
	if d := s.Throttling().Since(before); d.HeatWhy != "" || *d.HeatEvents != 5 || d.HeatSeconds != nil {
		t.Errorf("a kernel that only counts: %+v", d)
	}
	put(3, "core_throttle_total_time_ms", 1000)
	put(3, "package_throttle_count", 1)
	put(3, "package_throttle_total_time_ms", 2000)
	before = s.Throttling()
	put(3, "core_throttle_total_time_ms", 1100)
	put(3, "package_throttle_total_time_ms", 2700)
	if d := s.Throttling().Since(before); *d.HeatEvents != 0 || d.HeatSeconds == nil ||
		math.Abs(*d.HeatSeconds-0.7) > 1e-9 {
		t.Errorf("a package that slowed down for 0.7 s: %+v", d)
	}
}

// A real child under a real quota of a hundredth of a CPU is held back. One turn on a CPU uses up its
// millisecond, so that a busy machine, which gives it few turns, leaves some of them to hold it back for.
func TestQuotaHoldsAChildBack(t *testing.T) {
	c := start(t, fmt.Sprint("compute ", int64(20*time.Millisecond)))
	group := quotaGroup(t)
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewSampler("", c.Process.Pid)
	before := s.Throttling()
	if !c.work() {
		t.Fatal("the child failed")
	}
	d := s.Throttling().Since(before)
	if d.QuotaSeconds == nil {
		t.Fatal(d.QuotaWhy)
	}
	if *d.QuotaSeconds <= 0 || *d.QuotaPeriods == 0 || !strings.Contains(d.QuotaGroup, filepath.Base(group)) {
		t.Errorf("held back %g s in %d periods of %q", *d.QuotaSeconds, *d.QuotaPeriods, d.QuotaGroup)
	}
}

// quotaGroup makes a cgroup of version 1 with a quota of a hundredth of a CPU, or skips the test.
func quotaGroup(t *testing.T) string {
	t.Helper()
	point, _, found := cgroupV1(mounts.Parse(readString("/proc/self/mountinfo")), readString("/proc/self/cgroup"), "cpu")
	if !found {
		t.Skip("the cpu controller of cgroups, version 1, is not mounted")
	}
	group := filepath.Join(point, fmt.Sprintf("assay-test-quota-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no cgroup can be made (needs root): %v", err)
	}
	// Registered after the child's own end, so run before it; the kernel removes no group with a
	// process in it.
	t.Cleanup(func() {
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			for _, pid := range strings.Fields(readString(filepath.Join(group, "cgroup.procs"))) {
				_ = os.WriteFile(filepath.Join(point, "cgroup.procs"), []byte(pid), 0o644) // one that has just ended is fine
			}
			if err := os.Remove(group); err == nil || os.IsNotExist(err) {
				return
			} else if time.Now().After(deadline) {
				t.Errorf("a cgroup was left behind: %v", err)
				return
			}
		}
	})
	for file, microseconds := range map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "1000"} {
		if err := os.WriteFile(filepath.Join(group, file), []byte(microseconds), 0o644); err != nil {
			t.Skipf("no CPU quota can be set: %v", err)
		}
	}
	return group
}

// The least of the quotas of a process's cgroups is what it has; none, and one that can't be read, is 0.
func TestCPUQuotaOfAProcess(t *testing.T) {
	for version, h := range hierarchies(t) {
		set := func(group, quota, period string) {
			if version == "version 1" {
				h.put(filepath.Join(h.point, group, "cpu.cfs_quota_us"), quota+"\n")
				h.put(filepath.Join(h.point, group, "cpu.cfs_period_us"), period+"\n")
				return
			}
			h.put(filepath.Join(h.point, group, "cpu.max"), strings.Replace(quota, "-1", "max", 1)+" "+period+"\n")
		}
		for _, step := range []struct {
			group, quota, period string
			want                 float64
		}{{"", "-1", "100000", 0}, {"pod", "250000", "100000", 2.5}, {"pod/box/worker", "-1", "100000", 2.5}, {"pod/box", "10000", "50000", 0.2}, {"pod", "x", "y", 0.2}} {
			set(step.group, step.quota, step.period)
			if got := cpuQuota(h.roots, 77); got != step.want {
				t.Errorf("%s: with %s of %s in %q: %g CPUs, expected %g", version, step.quota, step.period, step.group, got, step.want)
			}
		}
		if got := cpuQuota(h.roots, 78); got != 0 {
			t.Errorf("%s: of no process: %g", version, got)
		}
	}
}
