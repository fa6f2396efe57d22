package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNoMemoryLimit is wrapped by errors of [LimitMemory] where the machine or the rights do not allow a limit.
var ErrNoMemoryLimit = errors.New("no memory limit")

// LimitMemory puts the process pid into a new cgroup that may hold at most so many bytes, page cache included and with
// no swap beside it. Call it before the process opens files: pages that were cached before count where they were. Processes that pid starts
// later are under the same limit. undo takes the cgroup away; call it when the process has ended (a process that still
// runs goes back to where it came from, without a limit).
//
// It writes the few files itself, in version 1 and 2 of cgroups: containerd/cgroups would bring eight modules, a D-Bus client and an eBPF
// compiler among them.
func LimitMemory(pid int, limitBytes int64) (undo func() error, err error) {
	group, err := newMemoryGroup(pid)
	if err != nil {
		return nil, err
	}
	if err := group.enter(pid, limitBytes); err != nil {
		return nil, errors.Join(err, group.remove())
	}
	return group.remove, nil
}

// memoryGroup is a cgroup that was made for one process.
type memoryGroup struct {
	path   string
	origin string // where its process came from
	files  memoryFiles
}

// memoryFiles are the names of a cgroup version's files.
type memoryFiles struct {
	limit, peak string
	swap        string // may be missing: a kernel without swap accounting
	swapLimit   func(limitBytes int64) string
}

var (
	// v1 counts memory and swap together: Documentation/admin-guide/cgroup-v1/memory.rst.
	memoryFilesV1 = memoryFiles{
		limit: "memory.limit_in_bytes", peak: "memory.max_usage_in_bytes", swap: "memory.memsw.limit_in_bytes",
		swapLimit: func(limitBytes int64) string { return strconv.FormatInt(limitBytes, 10) },
	}
	// v2 counts swap by itself: Documentation/admin-guide/cgroup-v2.rst.
	memoryFilesV2 = memoryFiles{
		limit: "memory.max", peak: "memory.peak", swap: "memory.swap.max",
		swapLimit: func(int64) string { return "0" },
	}
)

// newMemoryGroup makes an empty cgroup below, or as near as may be to, the one that pid is in.
func newMemoryGroup(pid int) (*memoryGroup, error) {
	mounts := parseMounts(readString("/proc/self/mountinfo"))
	membership, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, fmt.Errorf("%w: find the cgroup of process %d: %w", ErrNoMemoryLimit, pid, err)
	}
	name := fmt.Sprintf("assay-%d-%d", pid, time.Now().UnixNano())
	if point, path, found := memoryV1(mounts, string(membership)); found {
		origin := existingOr(filepath.Join(point, path), point)
		return makeMemoryGroup(origin, origin, name, memoryFilesV1)
	}
	if point, path, found := memoryV2(mounts, string(membership)); found {
		origin := existingOr(filepath.Join(point, path), point)
		// A cgroup that holds processes can't have cgroups with controllers below it, so an ancestor may have to do.
		for parent := origin; ; parent = filepath.Dir(parent) {
			if slices.Contains(strings.Fields(readString(filepath.Join(parent, "cgroup.subtree_control"))), "memory") {
				return makeMemoryGroup(parent, origin, name, memoryFilesV2)
			}
			if parent == point {
				return nil, fmt.Errorf("%w: no cgroup above process %d hands the memory controller down (cgroup.subtree_control)", ErrNoMemoryLimit, pid)
			}
		}
	}
	return nil, fmt.Errorf("%w: the memory controller of cgroups is not mounted", ErrNoMemoryLimit)
}

func makeMemoryGroup(parent, origin, name string, files memoryFiles) (*memoryGroup, error) {
	path := filepath.Join(parent, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("%w: make a cgroup (run as root, or delegate a cgroup to this user): %w", ErrNoMemoryLimit, err)
	}
	return &memoryGroup{path: path, origin: origin, files: files}, nil
}

// memoryV1 returns the mount point of version 1's memory controller and the process's path in it.
func memoryV1(mounts []mount, membership string) (point, path string, found bool) {
	for _, m := range mounts {
		if m.filesystem != "cgroup" || !slices.Contains(strings.Split(m.options, ","), "memory") {
			continue
		}
		for line := range strings.Lines(membership) {
			fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), "memory") {
				return m.point, below(m.root, fields[2]), true
			}
		}
	}
	return "", "", false
}

// memoryV2 returns the mount point of version 2, if it has the memory controller, and the process's path in it.
func memoryV2(mounts []mount, membership string) (point, path string, found bool) {
	for _, m := range mounts {
		if m.filesystem != "cgroup2" || !slices.Contains(strings.Fields(readString(filepath.Join(m.point, "cgroup.controllers"))), "memory") {
			continue
		}
		for line := range strings.Lines(membership) {
			if path, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
				return m.point, below(m.root, path), true
			}
		}
	}
	return "", "", false
}

// below returns path as seen from a mount of root: in containers, only a part of the hierarchy is mounted.
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

func (g *memoryGroup) enter(pid int, limitBytes int64) error {
	if err := g.write(g.files.limit, strconv.FormatInt(limitBytes, 10)); err != nil {
		return err
	}
	if exists(filepath.Join(g.path, g.files.swap)) {
		if err := g.write(g.files.swap, g.files.swapLimit(limitBytes)); err != nil {
			return err
		}
	}
	return g.write("cgroup.procs", strconv.Itoa(pid))
}

func (g *memoryGroup) write(file, text string) error {
	if err := os.WriteFile(filepath.Join(g.path, file), []byte(text), 0o644); err != nil {
		return fmt.Errorf("%w: set %s to %s: %w", ErrNoMemoryLimit, file, text, err)
	}
	return nil
}

// remove takes the cgroup away. The kernel needs a moment after the last process has ended, so it tries for a while.
func (g *memoryGroup) remove() error {
	const patience = 2 * time.Second
	deadline := time.Now().Add(patience)
	for {
		err := os.Remove(g.path)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove the cgroup of a trial: %w", err)
		}
		for pid := range bytes.FieldsSeq([]byte(readString(filepath.Join(g.path, "cgroup.procs")))) {
			// An error means that the process has just ended, or the removal will fail and say so.
			_ = os.WriteFile(filepath.Join(g.origin, "cgroup.procs"), pid, 0o644)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
