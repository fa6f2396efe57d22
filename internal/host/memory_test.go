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
)

const limitBytes = 32 << 20

// limited starts a child under a limit, or skips the test where there can be none.
func limited(t *testing.T, role string, environment ...string) (*child, *memoryGroup) {
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
		if err := group.remove(); err != nil {
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
	undo, err := LimitMemory(c.Process.Pid, limitBytes)
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
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if !c.work() {
		t.Error("the limit is still there")
	}
	if err := undo(); err != nil {
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

func TestWhereTheMemoryControllerIs(t *testing.T) {
	v1 := parseMounts("32 31 0:32 / /cg/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 /docker/1 /cg/memory rw - cgroup cgroup rw,memory\n")
	membership := "4:memory:/docker/1/sub\n3:cpuset:/\n0::/x\n"
	if point, path, found := memoryV1(v1, membership); !found || point != "/cg/memory" || path != "/sub" {
		t.Errorf("version 1: %q, %q, %v", point, path, found)
	}
	if _, _, found := memoryV1(v1[:1], membership); found {
		t.Error("found a controller that is not mounted")
	}
	directory := t.TempDir()
	v2 := parseMounts("1 2 0:3 / " + directory + " rw - cgroup2 cgroup2 rw\n")
	if _, _, found := memoryV2(v2, membership); found {
		t.Error("a version 2 without the memory controller was taken")
	}
	if err := os.WriteFile(filepath.Join(directory, "cgroup.controllers"), []byte("cpu memory\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if point, path, found := memoryV2(v2, membership); !found || point != directory || path != "/x" {
		t.Errorf("version 2: %q, %q, %v", point, path, found)
	}
}

// Version 2 is not mounted everywhere, so what is written there is shown on ordinary files.
func TestVersion2Files(t *testing.T) {
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "memory.swap.max"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g := &memoryGroup{path: directory, files: memoryFilesV2}
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
