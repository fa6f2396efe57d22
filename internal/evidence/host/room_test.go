package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// roomTree is a machine whose cgroups of a version are plain directories, with process 77 in /x.
func roomTree(t *testing.T, version int, handedDown string) (m machineTree, point string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	m, point = newMachine(t), t.TempDir()
	put := func(path, text string) { hierarchy{machineTree: m}.put(filepath.Join(point, path), text) }
	if version == 2 {
		m.write("self/mountinfo", "35 31 0:32 / "+point+" rw - cgroup2 cgroup2 rw\n")
		m.write("77/cgroup", "0::/x\n")
		put("cgroup.controllers", "cpuset cpu io memory\n")
		put("cgroup.subtree_control", handedDown)
		put("x/cgroup.procs", "77\n")
		return m, point
	}
	mountinfo, membership := "", ""
	for i, controller := range strings.Fields(handedDown) {
		name, _, _ := strings.Cut(controller, ",")
		mountinfo += fmt.Sprintf("%d 31 0:%d / %s rw - cgroup cgroup rw,%s\n", 35+i, 32+i, filepath.Join(point, name), controller)
		membership += fmt.Sprintf("%d:%s:/x\n", 9-i, controller)
		put(name+"/x/cgroup.procs", "77\n")
	}
	m.write("self/mountinfo", mountinfo)
	m.write("77/cgroup", membership+"0::/x\n")
	return m, point
}

// written are the files of the rooms below a directory, but the optional ones, by their names.
func written(t *testing.T, point string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(point, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && groupNames.MatchString(filepath.Base(filepath.Dir(path))) {
			all[d.Name()] = readString(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is written is what the kernel's documentation says, of each version, and is taken back.
func TestRoomLimitsAreSetAndLifted(t *testing.T) {
	limits := RoomLimits{CPUs: 0.5, MemoryBytes: 512 << 20, Disk: "8:0", WriteIOPS: 200, ReadBytes: 10e6}
	for _, c := range []struct {
		version     int
		handedDown  string
		set, lifted map[string]string
		groups      int
	}{
		{version: 1, handedDown: "cpu,cpuacct memory blkio", groups: 3, set: map[string]string{"cgroup.procs": "77", "cpu.cfs_period_us": "100000",
			"cpu.cfs_quota_us": "50000", "memory.limit_in_bytes": "536870912", "blkio.throttle.read_iops_device": "8:0 0",
			"blkio.throttle.write_iops_device": "8:0 200", "blkio.throttle.read_bps_device": "8:0 10000000", "blkio.throttle.write_bps_device": "8:0 0"},
			lifted: map[string]string{"cpu.cfs_quota_us": "-1", "memory.limit_in_bytes": "-1", "blkio.throttle.write_iops_device": "8:0 0",
				"blkio.throttle.read_bps_device": "8:0 0"}},
		{version: 2, handedDown: "cpu io memory pids", groups: 1, set: map[string]string{"cgroup.procs": "77", "cpu.max": "50000 100000",
			"memory.max": "536870912", "io.max": "8:0 riops=max wiops=200 rbps=10000000 wbps=max"},
			lifted: map[string]string{"cpu.max": "max 100000", "memory.max": "max", "io.max": "8:0 riops=max wiops=max rbps=max wbps=max"}},
	} {
		m, point := roomTree(t, c.version, c.handedDown)
		room, err := newRoom(m.roots, 77, []string{RoomCPU, RoomMemory, RoomDisk})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(room.Enter(77), room.Limit(limits)); err != nil {
			t.Error(err)
		}
		if got := written(t, point); len(room.groups) != c.groups || !maps.Equal(got, c.set) {
			t.Errorf("version %d: %d cgroups, %q", c.version, len(room.groups), got)
		}
		if err := room.Lift(); err != nil {
			t.Error(err)
		}
		maps.Copy(c.set, c.lifted)
		if got := written(t, point); !maps.Equal(got, c.set) {
			t.Errorf("version %d, lifted: %q, want %q", c.version, got, c.set)
		}
		for _, g := range room.groups { // what is held already can't be taken
			_ = os.WriteFile(filepath.Join(g.path, "memory.stat"), []byte("anon 600000000\ntotal_rss 600000000\n"), 0o644)
		}
		if err := room.Limit(limits); err == nil || !strings.Contains(err.Error(), "it holds 600 MB beside its page cache, more than 512 MiB") ||
			written(t, point)["io.max"] == c.set["io.max"] && room.limits != (RoomLimits{}) {
			t.Errorf("version %d: %v, in force is %+v", c.version, err, room.limits)
		}
	}
}

func TestNoRoom(t *testing.T) {
	for _, c := range []struct {
		version    int
		handedDown string
		want       string
	}{
		{1, "cpu memory", "the io controller of cgroups is not mounted, so it can't limit anything"},
		{2, "cpu", "no cgroup above process 77 hands down the controllers cpu and io"},
	} {
		m, point := roomTree(t, c.version, c.handedDown)
		_, err := newRoom(m.roots, 77, []string{RoomCPU, RoomDisk})
		if !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("version %d: %v, want %s", c.version, err, c.want)
		}
		if got := written(t, point); len(got) > 0 {
			t.Errorf("version %d: %q is left", c.version, got)
		}
	}
}

// realRoom is a room that a child is in, or the test is skipped.
func realRoom(t *testing.T, c *child, l RoomLimits, controller string) *Room {
	t.Helper()
	room, err := NewRoom(c.Process.Pid, controller)
	if errors.Is(err, ErrNoRoom) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		groups := room.groups
		if err := room.Remove(); err != nil {
			t.Error(err)
		}
		for _, g := range groups {
			if exists(g.path) {
				t.Errorf("%s is left", g.path)
			}
		}
	})
	if err := errors.Join(room.Enter(c.Process.Pid), room.Limit(l)); err != nil {
		t.Fatal(err)
	}
	return room
}

// CPU time comes no faster than the kernel's quota gives it, however busy the machine is.
func TestRoomLimitsCPUTime(t *testing.T) {
	const cpu, share = 400 * time.Millisecond, 0.25
	c := start(t, fmt.Sprint("compute ", int64(cpu)))
	room := realRoom(t, c, RoomLimits{CPUs: share}, RoomCPU)
	began := time.Now()
	if !c.work() {
		t.Fatal("it ended")
	}
	const period = periodUS * time.Microsecond
	least := time.Duration(0.95*float64(cpu)/share) - period // of which the first is given at once
	if took := time.Since(began); took < least {
		t.Errorf("%v of CPU time took %v with a quarter of a CPU", cpu, took)
	}
	if err := room.Lift(); err != nil {
		t.Error(err)
	}
}

// Writes come no faster than the given limit: of each second's share, a slice of 100 ms may be given at
// once.
func TestRoomLimitsTheDisk(t *testing.T) {
	const writes, iops = 30, 30
	file := filepath.Join(t.TempDir(), "file")
	disk, err := DiskNumber(filepath.Dir(file))
	if err != nil {
		t.Skip(err)
	}
	role, where := fmt.Sprint("direct ", writes), "ASSAY_TEST_FILE="+file
	if free := start(t, role, where); !free.work() {
		t.Skip("this file system does no direct writes")
	}
	c := start(t, role, where)
	realRoom(t, c, RoomLimits{Disk: disk, WriteIOPS: iops}, RoomDisk)
	began := time.Now()
	if !c.work() {
		t.Fatal("it ended")
	}
	if took, least := time.Since(began), time.Duration(0.95*writes/iops*1e9)-100*time.Millisecond; took < least {
		t.Errorf("%d writes took %v at %d a second", writes, took, iops)
	}
}

// writeDirect writes so many blocks to a file past the page cache, over one another.
func writeDirect(path string, blocks int) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_DIRECT, 0o600)
	if err != nil {
		return err
	}
	const blockBytes = 4096
	// Mapped memory is aligned, as direct writes need it.
	block, err := unix.Mmap(-1, 0, blockBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	for range blocks {
		if _, err := file.WriteAt(block, 0); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return errors.Join(unix.Munmap(block), file.Close())
}

// A process can't have more than its memory limit, which is lifted again.
func TestRoomLimitsMemory(t *testing.T) {
	role := fmt.Sprint("allocate ", 4*limitBytes)
	limited, lifted := start(t, role), start(t, role)
	realRoom(t, limited, RoomLimits{MemoryBytes: limitBytes}, RoomMemory)
	room := realRoom(t, lifted, RoomLimits{MemoryBytes: limitBytes}, RoomMemory)
	if limited.work() {
		t.Error("it got four times its limit")
	}
	if err := room.Lift(); err != nil {
		t.Fatal(err)
	}
	if !lifted.work() {
		t.Error("the limit is still there")
	}
}
