package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/base/mounts"
)

// limitBytes leaves room beside what a test process takes itself, which is most of 20 MiB under the
// race detector: beside dirty pages alone the kernel then kills it at times.
const limitBytes = 96 << 20

// limited starts a child under a limit, or skips the test where there can be none.
func limited(t *testing.T, role string, environment ...string) (*child, *MemoryGroup) {
	t.Helper()
	c := start(t, role, environment...)
	group, err := newMemoryGroup(c.Process.Pid)
	if errors.Is(err, ErrNoMemoryLimit) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		if err := group.Remove(); err != nil {
			t.Error(err)
		}
		if exists(group.path) {
			t.Error("the cgroup was left behind")
		}
	})
	if err := group.enter(c.Process.Pid, limitBytes); err != nil {
		t.Fatal(err)
	}
	return c, group
}

func TestMemoryLimitCountsPageCache(t *testing.T) {
	c, group := limited(t, fmt.Sprint("write ", 4*limitBytes), "ASSAY_TEST_FILE="+filepath.Join(t.TempDir(), "file"))
	if !c.work() {
		t.Fatal("page cache must be given back, not kill the process")
	}
	peak, err := strconv.ParseUint(strings.TrimSpace(readString(filepath.Join(group.path, group.files.peak))), 10, 64)
	if err != nil {
		t.Skipf("this kernel does not tell the peak: %v", err)
	}
	if peak > limitBytes+limitBytes/16 || peak < limitBytes/4 {
		t.Errorf("at most %d bytes were used; the limit is %d and the file has %d", peak, limitBytes, 4*limitBytes)
	}
}

func TestMemoryLimitBoundsAllocation(t *testing.T) {
	role := fmt.Sprint("allocate ", 4*limitBytes)
	if free := start(t, role); !free.work() {
		t.Fatal("without a limit, the child must be able to allocate")
	}
	if c, _ := limited(t, role); c.work() {
		t.Errorf("a process with a limit of %d bytes got %d", limitBytes, 4*limitBytes)
	}
}

func TestLimitMemoryUndo(t *testing.T) {
	c := start(t, fmt.Sprint("allocate ", 4*limitBytes))
	group, err := LimitMemory(c.Process.Pid, limitBytes)
	if errors.Is(err, ErrNoMemoryLimit) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	inside := readString(fmt.Sprintf("/proc/%d/cgroup", c.Process.Pid))
	if !strings.Contains(inside, "/assay-") {
		t.Errorf("the child is in %q", inside)
	}
	if err := group.Remove(); err != nil {
		t.Fatal(err)
	}
	if !c.work() {
		t.Error("the limit is still there")
	}
	if err := group.Remove(); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

func TestLimitMemoryOfNoProcess(t *testing.T) {
	c := start(t, "compute 1")
	c.Process.Kill()
	c.Wait()
	if _, err := LimitMemory(c.Process.Pid, limitBytes); !errors.Is(err, ErrNoMemoryLimit) {
		t.Errorf("got %v", err)
	}
}

func TestMemoryControllerIsFoundInBothVersions(t *testing.T) {
	v1 := mounts.Parse("32 31 0:32 / /cg/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 /docker/1 /cg/memory rw - cgroup cgroup rw,memory\n")
	membership := "4:memory:/docker/1/sub\n3:cpuset:/\n0::/x\n"
	if point, path, found := cgroupV1(v1, membership, "memory"); !found || point != "/cg/memory" || path != "/sub" {
		t.Errorf("version 1: %q, %q, %v", point, path, found)
	}
	if _, _, found := cgroupV1(v1[:1], membership, "memory"); found {
		t.Error("found a controller that is not mounted")
	}
	directory := t.TempDir()
	v2 := mounts.Parse("1 2 0:3 / " + directory + " rw - cgroup2 cgroup2 rw\n")
	if _, _, found := cgroupV2(v2, membership, "memory"); found {
		t.Error("a version 2 without the memory controller was taken")
	}
	if err := os.WriteFile(filepath.Join(directory, "cgroup.controllers"), []byte("cpu memory\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if point, path, found := cgroupV2(v2, membership, "memory"); !found || point != directory || path != "/x" {
		t.Errorf("version 2: %q, %q, %v", point, path, found)
	}
}

// Version 2 is not mounted everywhere, so what is written there is shown on ordinary files.
func TestVersion2Files(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "memory.swap.max"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g := &MemoryGroup{path: directory, files: memoryFilesV2}
	if err := g.enter(42, 1000); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range []string{"memory.max", "memory.swap.max", "cgroup.procs"} {
		got = append(got, readString(filepath.Join(directory, name)))
	}
	if want := []string{"1000", "0", "42"}; !slices.Equal(got, want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// number is a pointer's value; 0 for none.
func number(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

func TestUseAfterAKill(t *testing.T) {
	c, group := limited(t, fmt.Sprint("allocate ", 4*limitBytes))
	if before := group.Use(); before.Kills == nil || *before.Kills != 0 {
		t.Fatalf("before: %+v", before)
	}
	if c.work() {
		t.Fatal("it was not killed")
	}
	use := group.Use()
	if number(use.Kills) != 1 || number(use.Hits) == 0 {
		t.Errorf("kills %d, hits %d", number(use.Kills), number(use.Hits))
	}
	if use.PeakBytes != nil && (*use.PeakBytes < limitBytes/2 || *use.PeakBytes > limitBytes+limitBytes/16) {
		t.Errorf("peak %d", *use.PeakBytes)
	}
}

func TestLimitedSeries(t *testing.T) {
	c, group := limited(t, fmt.Sprint("write ", 2*limitBytes), "ASSAY_TEST_FILE="+filepath.Join(t.TempDir(), "file"))
	s := NewSampler("", c.Process.Pid)
	s.WatchLimit(group)
	u := s.Sample()
	s.BeginResources(u)
	if !c.work() {
		t.Fatal("the child failed")
	}
	u = s.Sample()
	got := s.Resources(u)
	if got["limit.memory"] > limitBytes || got["limit.cache"] <= 0 || got["limit.hits"] <= 0 {
		t.Errorf("memory %v, cache %v, hits %v", got["limit.memory"], got["limit.cache"], got["limit.hits"])
	}
}

// Version 2's figures, in files as the kernel writes them: Documentation/admin-guide/cgroup-v2.rst.
func TestVersion2Counts(t *testing.T) {
	g := &MemoryGroup{path: t.TempDir(), files: memoryFilesV2}
	if c := g.counts(); c.used != nil || c.peak != nil || c.cache != nil || c.hits != nil || c.kills != nil {
		t.Errorf("files that are not there: %+v", c)
	}
	for name, text := range map[string]string{
		"memory.current": "100\n", "memory.peak": "200\n", "memory.stat": "anon 5\nfile 60\nfile_mapped 7\n",
		"memory.events": "low 0\nhigh 0\nmax 8\noom 3\noom_kill 2\noom_group_kill 1\n",
	} {
		if err := os.WriteFile(filepath.Join(g.path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := g.counts()
	if got := []uint64{number(c.used), number(c.peak), number(c.cache), number(c.hits),
		number(c.kills)}; !slices.Equal(got, []uint64{100, 200, 60, 8, 2}) {
		t.Errorf("read %v", got)
	}
}

func TestCheckMemoryLimitLeavesNothing(t *testing.T) {
	place, placeErr := placeOf(os.Getpid())
	err := CheckMemoryLimit()
	if err != nil && !errors.Is(err, ErrNoMemoryLimit) {
		t.Fatal(err)
	}
	if placeErr != nil {
		t.Skip(placeErr)
	}
	left, globErr := filepath.Glob(filepath.Join(place.parent, fmt.Sprintf("assay-%d-*", os.Getpid())))
	if globErr != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, globErr)
	}
}

func TestOnlyMemoryGroupsAreRemoved(t *testing.T) {
	parent := t.TempDir()
	for name, goes := range map[string]bool{groupName(123, time.Now()): true, "assay-x": false, "assay-1-2": false, "system.slice": false} {
		path := filepath.Join(parent, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := RemoveMemoryGroup(path); (err == nil) != goes || exists(path) == goes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemoryBytes(t *testing.T) {
	if bytes := MemoryBytes(); bytes == 0 || bytes > memoryBytes() {
		t.Errorf("%d bytes, the machine has %d", bytes, memoryBytes())
	}
}
