package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/internal/base/bounded"
	"assay/internal/base/mounts"
	"assay/internal/base/owned"
)

// ErrNoMemoryLimit is wrapped by errors of [LimitMemory] where the machine or the rights do not
// allow a limit.
var ErrNoMemoryLimit = errors.New("no memory limit")

// LimitMemory puts the process pid into a new cgroup that may hold at most so many bytes, page
// cache included and with no swap beside it. Call it before the process opens files: pages that
// were cached before count where they were. Processes that pid starts later are under the same
// limit. Remove the group when the process has ended.
//
// It writes the few files itself, in version 1 and 2 of cgroups: containerd/cgroups would bring
// eight modules, a D-Bus client and an eBPF compiler among them.
func LimitMemory(pid int, limitBytes int64) (*MemoryGroup, error) {
	group, err := newMemoryGroup(pid)
	if err != nil {
		return nil, err
	}
	if err := group.enter(pid, limitBytes); err != nil {
		return nil, errors.Join(err, group.Remove())
	}
	return group, nil
}

// CheckMemoryLimit says whether [LimitMemory] will work here, by trying it on a cgroup without
// processes. The error wraps [ErrNoMemoryLimit] and says how to get the right.
func CheckMemoryLimit() error {
	const anyLimit = 64 << 20
	group, err := newMemoryGroup(os.Getpid())
	if err != nil {
		return err
	}
	return errors.Join(group.limit(anyLimit), group.Remove())
}

// MemoryGroup is a cgroup that was made for one process.
type MemoryGroup struct {
	path   string
	origin string // where its process came from
	files  memoryFiles
	note   *owned.Note // nil in tests
}

// groupNames are the names of the cgroups that [LimitMemory] makes: the process, and when in ns
// since 1970.
var groupNames = regexp.MustCompile(`^assay-[0-9]{1,10}-[0-9]{19}$`)

func groupName(pid int, now time.Time) string { return fmt.Sprintf("assay-%d-%d", pid, now.UnixNano()) }

// RemoveMemoryGroup removes a cgroup that a process that is gone has made. The kernel removes none
// that holds a process.
func RemoveMemoryGroup(path string) error {
	if !groupNames.MatchString(filepath.Base(path)) {
		return fmt.Errorf("%s is no cgroup of Assay's", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// MemoryUse is what a limited process and its page cache used. A nil pointer: not measured.
type MemoryUse struct {
	PeakBytes *uint64 // the most that counted against the limit
	Hits      *uint64 // times that the limit was reached and room had to be made within it
	Kills     *uint64 // processes that the kernel killed because no room could be made
}

// Use returns what the group's processes have used so far; also after they have ended.
func (g *MemoryGroup) Use() MemoryUse {
	c := g.counts()
	return MemoryUse{PeakBytes: c.peak, Hits: c.hits, Kills: c.kills}
}

// memoryCounts are the figures of a group. A nil pointer: the kernel does not report.
type memoryCounts struct{ used, peak, cache, hits, kills *uint64 }

func (g *MemoryGroup) counts() memoryCounts {
	return memoryCounts{
		used: g.number(g.files.used, ""), peak: g.number(g.files.peak, ""), cache: g.number("memory.stat", g.files.cache),
		hits: g.number(g.files.hits, g.files.hitsKey), kills: g.number(g.files.kills, "oom_kill"),
	}
}

// number reads a file that is a number, or one of its lines: "key number".
func (g *MemoryGroup) number(file, key string) *uint64 {
	for line := range strings.Lines(readString(filepath.Join(g.path, file))) {
		text := strings.TrimSpace(line)
		if key != "" {
			rest, found := strings.CutPrefix(text, key+" ")
			if !found {
				continue
			}
			text = rest
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
		if err != nil {
			return nil
		}
		return &n
	}
	return nil
}

// memoryFiles are the names of a cgroup version's files.
type memoryFiles struct {
	limit, peak   string
	used          string
	cache         string // the page cache's line in memory.stat
	hits, hitsKey string
	kills         string // the file with the line oom_kill
	swap          string // may be missing: a kernel without swap accounting
	swapLimit     func(limitBytes int64) string
}

var (
	// v1 counts memory and swap together: Documentation/admin-guide/cgroup-v1/memory.rst.
	memoryFilesV1 = memoryFiles{
		limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", used: "memory.usage_in_bytes", cache: "cache",
		hits: "memory.failcnt", kills: "memory.oom_control", swap: "memory.memsw.limit_in_bytes",
		swapLimit: func(limitBytes int64) string { return strconv.FormatInt(limitBytes+swapSlackBytes, 10) },
	}
	// v2 counts swap by itself: Documentation/admin-guide/cgroup-v2.rst.
	memoryFilesV2 = memoryFiles{
		limit: "memory.max", peak: "memory.peak", used: "memory.current", cache: "file",
		hits: "memory.events", hitsKey: "max", kills: "memory.events", swap: "memory.swap.max",
		swapLimit: func(int64) string { return "0" },
	}
)

// memoryPlace is where a cgroup for a process can be made.
type memoryPlace struct {
	parent string
	origin string // the cgroup that the process is in
	files  memoryFiles
}

// swapSlackBytes lets version 1 meet the limit of memory before that of memory and swap: kernels
// count hits of the first one only.
const swapSlackBytes = 1 << 20

// newMemoryGroup makes an empty cgroup below, or as near as may be to, the one that pid is in.
func newMemoryGroup(pid int) (*MemoryGroup, error) {
	place, err := placeOf(pid)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(place.parent, groupName(pid, time.Now()))
	note, err := owned.Write(owned.Thing{Kind: owned.Group, Path: path})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoMemoryLimit, err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		note.Done()
		return nil, fmt.Errorf("%w: make a cgroup (run as root, or hand a cgroup to this user: systemd-run --user --scope -p Delegate=yes): %w", ErrNoMemoryLimit, err)
	}
	return &MemoryGroup{path: path, origin: place.origin, files: place.files, note: note}, nil
}

func placeOf(pid int) (memoryPlace, error) {
	seen, err := mounts.Seen()
	if err != nil {
		return memoryPlace{}, fmt.Errorf("%w: %w", ErrNoMemoryLimit, err)
	}
	membership, err := bounded.Kernel(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return memoryPlace{}, fmt.Errorf("%w: find the cgroup of process %d: %w", ErrNoMemoryLimit, pid, err)
	}
	if point, path, found := cgroupV1(seen, string(membership), "memory"); found {
		origin := existingOr(filepath.Join(point, path), point)
		return memoryPlace{origin, origin, memoryFilesV1}, nil
	}
	if point, path, found := cgroupV2(seen, string(membership), "memory"); found {
		origin := existingOr(filepath.Join(point, path), point)
		// A cgroup that holds processes can't have cgroups with controllers below it, so an
		// ancestor may have to do.
		for parent := origin; ; parent = filepath.Dir(parent) {
			if slices.Contains(strings.Fields(readString(filepath.Join(parent, "cgroup.subtree_control"))), "memory") {
				return memoryPlace{parent, origin, memoryFilesV2}, nil
			}
			if parent == point {
				return memoryPlace{}, fmt.Errorf("%w: no cgroup above process %d hands the memory controller down: as root, write +memory to cgroup.subtree_control of one, or start Assay with systemd-run --user --scope -p Delegate=yes", ErrNoMemoryLimit, pid)
			}
		}
	}
	return memoryPlace{}, fmt.Errorf("%w: the memory controller of cgroups is not mounted", ErrNoMemoryLimit)
}

// MemoryBytes returns how much memory a process of this one's cgroup can have, page cache included:
// the machine's, or less where the cgroup or one above it has a limit. 0: not known.
func MemoryBytes() uint64 {
	least := memoryBytes()
	place, err := placeOf(os.Getpid())
	if err != nil {
		return least
	}
	for path := place.origin; exists(filepath.Join(path, place.files.limit)); path = filepath.Dir(path) {
		g := MemoryGroup{path: path}
		if limit := g.number(place.files.limit, ""); limit != nil && *limit < least { // "max", or near 2⁶³: none
			least = *limit
		}
	}
	return least
}

// cgroupV1 returns the mount point of a controller of version 1 and the process's path in it.
func cgroupV1(seen []mounts.Mount, membership, controller string) (point, path string, found bool) {
	for _, m := range seen {
		if m.FileSystem != "cgroup" || !slices.Contains(strings.Split(m.Options, ","), controller) {
			continue
		}
		for line := range strings.Lines(membership) {
			fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), controller) {
				return m.Point, below(m.Root, fields[2]), true
			}
		}
	}
	return "", "", false
}

// cgroupV2 returns the mount point of version 2, if it has the controller, and the process's path
// in it.
func cgroupV2(seen []mounts.Mount, membership, controller string) (point, path string, found bool) {
	for _, m := range seen {
		if m.FileSystem != "cgroup2" {
			continue
		}
		controllers := strings.Fields(readString(filepath.Join(m.Point, "cgroup.controllers")))
		if !slices.Contains(controllers, controller) {
			continue
		}
		for line := range strings.Lines(membership) {
			if path, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
				return m.Point, below(m.Root, path), true
			}
		}
	}
	return "", "", false
}

// below returns path as seen from a mount of root: in containers, only a part of the hierarchy is
// mounted.
func below(root, path string) string {
	if root == "/" {
		return path
	}
	if rest, found := strings.CutPrefix(path, root); found && (rest == "" || rest[0] == '/') {
		return rest
	}
	return path
}

func existingOr(path, otherwise string) string {
	if exists(path) {
		return path
	}
	return otherwise
}

func (g *MemoryGroup) enter(pid int, limitBytes int64) error {
	if err := g.limit(limitBytes); err != nil {
		return err
	}
	return g.write("cgroup.procs", strconv.Itoa(pid))
}

// Add puts more processes under the same limit. What they have allocated before counts where it
// was.
func (g *MemoryGroup) Add(pids ...int) error {
	for _, pid := range pids {
		if err := g.write("cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, syscall.ESRCH) { // it has ended
			return err
		}
	}
	return nil
}

func (g *MemoryGroup) limit(limitBytes int64) error {
	if err := g.write(g.files.limit, strconv.FormatInt(limitBytes, 10)); err != nil {
		return err
	}
	if exists(filepath.Join(g.path, g.files.swap)) {
		if err := g.write(g.files.swap, g.files.swapLimit(limitBytes)); err != nil {
			return err
		}
	}
	return nil
}

func (g *MemoryGroup) write(file, text string) error {
	if err := os.WriteFile(filepath.Join(g.path, file), []byte(text), 0o644); err != nil {
		return fmt.Errorf("%w: set %s to %s: %w", ErrNoMemoryLimit, file, text, err)
	}
	return nil
}

// Remove takes the cgroup away; once more does no harm. A process that still runs in it goes back
// to where it came from, without a limit. The kernel needs a moment after the last process has
// ended, so it tries for a while.
func (g *MemoryGroup) Remove() error {
	const patience = 2 * time.Second
	deadline := time.Now().Add(patience)
	for {
		err := os.Remove(g.path)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			g.note.Done()
			return nil
		}
		if time.Now().After(deadline) {
			g.note.Keep()
			return fmt.Errorf("remove the cgroup of a trial: %w", err)
		}
		for pid := range bytes.FieldsSeq([]byte(readString(filepath.Join(g.path, "cgroup.procs")))) {
			// An error means that the process has just ended, or the removal will fail and say so.
			_ = os.WriteFile(filepath.Join(g.origin, "cgroup.procs"), pid, 0o644)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// AvailableBytes returns how much memory can still be had without swapping, by the machine's
// account and by that of this process's cgroup and those above it. 0: not known.
func AvailableBytes() uint64 {
	machine := MemoryGroup{path: "/proc", files: memoryFiles{}}
	var least uint64
	if kB := machine.number("meminfo", "MemAvailable:"); kB != nil {
		least = *kB << 10
	}
	place, err := placeOf(os.Getpid())
	if err != nil {
		return least
	}
	for path := place.origin; exists(filepath.Join(path, place.files.limit)); path = filepath.Dir(path) {
		g := MemoryGroup{path: path, files: place.files}
		c, limit := g.counts(), g.number(place.files.limit, "")
		if limit == nil || c.used == nil || c.cache == nil { // "max": no limit
			continue
		}
		if free := *limit - min(*limit, *c.used-min(*c.used, *c.cache)); free < least {
			least = free
		}
	}
	return least
}
