package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/base/format"
	"assay/internal/base/owned"
)

// ErrNoRoom is wrapped by errors of [NewRoom] where the machine or the rights do not allow it.
var ErrNoRoom = errors.New("no cgroup whose limits can be changed")

// Controllers of cgroups that a [Room] limits by. They are named as in version 2.
const (
	RoomCPU    = "cpu"
	RoomMemory = "memory"
	RoomDisk   = "io"
)

// controllerV1 is a controller's name in version 1.
func controllerV1(controller string) string {
	if controller == RoomDisk {
		return "blkio"
	}
	return controller
}

// Room is what the processes of a server may use, which can be changed while they run: a cgroup of each
// of some controllers, or in version 2 one of all. Without limits it changes nothing. One goroutine at a
// time may use it.
type Room struct {
	groups  []roomGroup
	entered map[int]bool
	limits  RoomLimits // in force
}

// roomGroup is one cgroup of a room.
type roomGroup struct {
	path        string
	origin      string // where its processes came from
	version     int
	controllers []string
	note        *owned.Note
}

// RoomLimits are the limits of a room. A zero is none.
type RoomLimits struct {
	CPUs        float64 // CPU time a second
	MemoryBytes uint64  // page cache included
	Disk        string  // MAJOR:MINOR that the rest is of; see [DiskNumber]

	ReadIOPS, WriteIOPS   uint64
	ReadBytes, WriteBytes uint64 // a second
}

// NewRoom makes a room with some controllers below, or as near as may be to, the cgroups that a
// process is in. The process is not in it yet.
func NewRoom(pid int, controllers ...string) (*Room, error) {
	return newRoom(kernelRoots, pid, controllers)
}

func newRoom(r roots, pid int, controllers []string) (*Room, error) {
	room := &Room{entered: map[int]bool{}}
	for _, controller := range controllers {
		if err := room.make(r, pid, controller, controllers); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoRoom, err), room.Remove())
		}
	}
	return room, nil
}

// make makes the cgroup of one controller, unless that of another has it: version 1 may mount several
// together, and version 2 always does.
func (r *Room) make(from roots, pid int, controller string, all []string) error {
	groups, version, err := groupsOf(from, pid, controllerV1(controller), "it can't limit anything")
	if err != nil || version == 2 {
		var err2 error
		if groups, version, err2 = groupsOf(from, pid, controller, "it can't limit anything"); err2 != nil {
			return err2
		}
	}
	parent := groups[0]
	if version == 2 {
		if parent = handsDown(groups, all); parent == "" {
			return fmt.Errorf("no cgroup above process %d hands down the controllers %s: as root, write +NAME of each to cgroup.subtree_control of one",
				pid, format.List(all))
		}
	}
	for i := range r.groups {
		if filepath.Dir(r.groups[i].path) == parent {
			r.groups[i].controllers = append(r.groups[i].controllers, controller)
			return nil
		}
	}
	path := filepath.Join(parent, groupName(pid, time.Now()))
	note, err := owned.Write(owned.Thing{Kind: owned.Group, Path: path})
	if err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		note.Done()
		return fmt.Errorf("make a cgroup (run as root, or hand one to this user): %w", err)
	}
	r.groups = append(r.groups, roomGroup{path: path, origin: groups[0], version: version,
		controllers: []string{controller}, note: note})
	return nil
}

// handsDown returns the innermost group below which groups have all of some controllers; "": none. A group
// that holds processes can't have such below it.
func handsDown(groups, controllers []string) string {
	for _, group := range groups {
		handed := strings.Fields(readString(filepath.Join(group, "cgroup.subtree_control")))
		if !slices.ContainsFunc(controllers, func(c string) bool { return !slices.Contains(handed, c) }) {
			return group
		}
	}
	return ""
}

// Enter puts processes into the room. What they have allocated before counts where it was, and those that
// they start later are in it, too. One that has ended is passed over.
func (r *Room) Enter(pids ...int) error {
	for _, pid := range pids {
		if r.entered[pid] {
			continue
		}
		for _, g := range r.groups {
			if err := g.write("cgroup.procs", strconv.Itoa(pid)); err != nil {
				if _, gone := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); gone != nil {
					break
				}
				return err
			}
		}
		r.entered[pid] = true
	}
	return nil
}

// Limit sets limits beside none: call it in a room whose limits were lifted. On an error none is in force.
func (r *Room) Limit(l RoomLimits) error {
	err := r.set(l)
	if err != nil {
		err = errors.Join(err, r.Lift())
	}
	return err
}

func (r *Room) set(l RoomLimits) error {
	r.limits = l
	if l.CPUs > 0 {
		if err := r.writeAll(RoomCPU, cpuFiles(l.CPUs)); err != nil {
			return err
		}
	}
	if l.MemoryBytes > 0 {
		if err := r.limitMemory(l.MemoryBytes); err != nil {
			return err
		}
	}
	if l.Disk != "" {
		return r.writeAll(RoomDisk, diskFiles(l))
	}
	return nil
}

// Lift takes away the limits that are in force.
func (r *Room) Lift() (err error) {
	l := r.limits
	if l.CPUs > 0 {
		err = r.writeAll(RoomCPU, cpuFiles(0))
	}
	if l.MemoryBytes > 0 {
		err = errors.Join(err, r.writeAll(RoomMemory, [2][]groupFile{
			{{"memory.memsw.limit_in_bytes", "-1", true}, {"memory.limit_in_bytes", "-1", false}},
			{{"memory.swap.max", "max", true}, {"memory.max", "max", false}}}))
	}
	if l.Disk != "" {
		err = errors.Join(err, r.writeAll(RoomDisk, diskFiles(RoomLimits{Disk: l.Disk})))
	}
	if err == nil {
		r.limits = RoomLimits{}
	}
	return err
}

// limitMemory refuses a limit below what can't be given back: version 1 answers EBUSY then, and
// version 2 would kill.
func (r *Room) limitMemory(bytes uint64) error {
	for _, g := range r.groups {
		m := MemoryGroup{path: g.path}
		held := m.number("memory.stat", cmp.Or(map[int]string{1: "total_rss"}[g.version], "anon"))
		if slices.Contains(g.controllers, RoomMemory) && held != nil && *held > bytes {
			return fmt.Errorf("it holds %s beside its page cache, more than %s", format.Bytes(float64(*held)), format.Limit(bytes))
		}
	}
	limit := strconv.FormatUint(bytes, 10)
	return r.writeAll(RoomMemory, [2][]groupFile{
		{{"memory.limit_in_bytes", limit, false}, {"memory.memsw.limit_in_bytes", memoryFilesV1.swapLimit(int64(bytes)), true}},
		{{"memory.swap.max", memoryFilesV2.swapLimit(int64(bytes)), true}, {"memory.max", limit, false}}})
}

// groupFile is a file of a cgroup and what is written to it.
type groupFile struct {
	name, text string
	optional   bool // a kernel may have none
}

// periodUS is the kernel's default, over which a quota is summed up.
const periodUS = 100_000

// cpuFiles give CPU time, in each version; 0: without a limit.
func cpuFiles(cpus float64) [2][]groupFile {
	quota, most := "-1", "max"
	if cpus > 0 {
		quota = strconv.FormatInt(max(int64(cpus*periodUS+0.5), 1000), 10) // the kernel's least
		most = quota
	}
	period := strconv.Itoa(periodUS)
	return [2][]groupFile{{{"cpu.cfs_period_us", period, false}, {"cpu.cfs_quota_us", quota, false}},
		{{"cpu.max", most + " " + period, false}}}
}

// diskFiles limit what a disk does, in each version: Documentation/admin-guide/cgroup-v1/blkio-controller.rst
// and cgroup-v2.rst.
func diskFiles(l RoomLimits) (files [2][]groupFile) {
	var words []string
	for _, one := range []struct {
		v1, v2 string
		most   uint64
	}{{"read_iops", "riops", l.ReadIOPS}, {"write_iops", "wiops", l.WriteIOPS},
		{"read_bps", "rbps", l.ReadBytes}, {"write_bps", "wbps", l.WriteBytes}} {
		text := "max"
		if one.most > 0 {
			text = strconv.FormatUint(one.most, 10)
		}
		words = append(words, one.v2+"="+text)
		files[0] = append(files[0], groupFile{"blkio.throttle." + one.v1 + "_device", fmt.Sprintf("%s %d", l.Disk, one.most), false})
	}
	files[1] = []groupFile{{"io.max", l.Disk + " " + strings.Join(words, " "), false}}
	return files
}

// writeAll writes the files of a controller, of the version that its group has.
func (r *Room) writeAll(controller string, files [2][]groupFile) error {
	for _, g := range r.groups {
		if !slices.Contains(g.controllers, controller) {
			continue
		}
		for _, file := range files[g.version-1] {
			if file.optional && !exists(filepath.Join(g.path, file.name)) {
				continue
			}
			if err := g.write(file.name, file.text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g roomGroup) write(file, text string) error {
	if err := os.WriteFile(filepath.Join(g.path, file), []byte(text), 0o644); err != nil {
		return fmt.Errorf("set %s to %s: %w", file, text, err)
	}
	return nil
}

// Remove takes the room away. Processes that still run go back to where they came from.
func (r *Room) Remove() error {
	var failed []error
	for _, g := range r.groups {
		failed = append(failed, (&MemoryGroup{path: g.path, origin: g.origin, note: g.note}).Remove())
	}
	r.groups = nil
	return errors.Join(failed...)
}

// CheckRoom says whether [NewRoom] will work here, by trying it without processes, and limits on it.
func CheckRoom(l RoomLimits, controllers ...string) error {
	room, err := NewRoom(os.Getpid(), controllers...)
	if err != nil {
		return err
	}
	if err = room.Limit(l); err != nil {
		err = fmt.Errorf("%w: %w", ErrNoRoom, err)
	}
	return errors.Join(err, room.Remove())
}

// DiskNumber returns MAJOR:MINOR of the disk on which a directory is.
func DiskNumber(directory string) (string, error) { return diskNumber(kernelRoots, directory) }

func diskNumber(r roots, directory string) (string, error) {
	d := deviceOf(r, directory)
	if d.why != nil {
		return "", d.why
	}
	number := strings.TrimSpace(readString(filepath.Join(r.sys, "block", d.disk, "dev")))
	if number == "" {
		return "", fmt.Errorf("the kernel does not report the number of the disk %s", d.disk)
	}
	return number, nil
}
