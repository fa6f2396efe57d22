package host

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/bounded"
)

// Confinement is what the system lets a process have: other programs change it and nothing else tells.
type Confinement struct {
	CPUs       string // that any of its threads may use
	Scheduling string // policy and nice value of its first thread
	Cgroups    string
	Limits     string // resource limits
	Groups     string // what its cgroups let it have, a line for each file
}

// Confined is something of a process's confinement that changed.
type Confined struct {
	What string `json:"what"` // CPUs, scheduling, cgroup, limits, cgroup's limits
	From string `json:"from"` // what it was
	To   string `json:"to"`   // what it became
}

// What of a process's confinement may change.
const (
	ConfinedCPUs       = "CPUs"
	ConfinedScheduling = "scheduling"
	ConfinedCgroup     = "cgroup"
	ConfinedLimits     = "limits"
	ConfinedGroup      = "cgroup's limits"
)

// groupFiles are the files of each controller that limit what is in a cgroup, of version 1 and of 2.
var groupFiles = map[string][2][]string{
	"cpu":    {{"cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.shares"}, {"cpu.max", "cpu.weight"}},
	"memory": {{"memory.limit_in_bytes"}, {"memory.max", "memory.high"}},
	"blkio":  {{"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device", "blkio.throttle.read_iops_device", "blkio.throttle.write_iops_device"}, nil},
	"io":     {nil, {"io.max", "io.weight"}},
}

// groupLimits reads them of the cgroups that a process is in, up to where they are mounted.
func groupLimits(r roots, pid int) string {
	var lines []string
	for _, controller := range slices.Sorted(maps.Keys(groupFiles)) {
		groups, version, err := groupsOf(r, pid, controller, "")
		if err != nil {
			continue // nothing of it limits
		}
		for _, group := range groups {
			for _, file := range groupFiles[controller][version-1] {
				if text := strings.Fields(readString(filepath.Join(group, file))); len(text) > 0 {
					lines = append(lines, file+" of "+group+": "+strings.Join(text, " "))
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

// confinedTasksMax bounds how many threads of a process are looked at.
const confinedTasksMax = 1024

// ConfinementOf reads a process's confinement; false: it is not there.
func ConfinementOf(pid int) (c Confinement, known bool) { return confinementOf(kernelRoots, pid) }

func confinementOf(r roots, pid int) (c Confinement, known bool) {
	directory := filepath.Join(r.proc, strconv.Itoa(pid))
	text := func(name string) string {
		read, err := bounded.Kernel(filepath.Join(directory, name))
		known = known && err == nil
		return strings.TrimSpace(string(read))
	}
	known = true
	c.Cgroups, c.Limits = text("cgroup"), text("limits")
	c.Scheduling = schedulingOf([]byte(text("stat")))
	c.CPUs, c.Groups = allowedCPUs(directory), groupLimits(r, pid)
	return c, known && c.Scheduling != "" && c.CPUs != ""
}

// exiting is the flag of a process that ends: the kernel has taken it out of its cgroups by then.
const exiting = 0x4

// schedulingOf returns nice value, real-time priority and policy: fields 19, 40 and 41 of
// proc_pid_stat(5). "": it is not known, or the process ends.
func schedulingOf(stat []byte) string {
	end := bytes.LastIndexByte(stat, ')') // the name before it may hold anything
	if end < 0 {
		return ""
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 39 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	if flags, err := strconv.ParseUint(fields[6], 10, 64); err != nil || flags&exiting != 0 {
		return ""
	}
	return "policy " + fields[38] + ", priority " + fields[37] + ", nice " + fields[16]
}

// allowedCPUs lists the CPUs that any thread of a process may use: a thread may pin itself.
func allowedCPUs(directory string) string {
	tasks, err := os.ReadDir(filepath.Join(directory, "task"))
	if err != nil {
		return ""
	}
	allowed := map[string]bool{}
	for _, task := range tasks[:min(len(tasks), confinedTasksMax)] {
		status, err := bounded.Kernel(filepath.Join(directory, "task", task.Name(), "status"))
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(status)) {
			if list, found := strings.CutPrefix(line, "Cpus_allowed_list:"); found {
				allowed[strings.TrimSpace(list)] = true
			}
		}
	}
	return unionOf(allowed)
}

// unionOf joins lists of CPUs such as "0-3,7".
func unionOf(lists map[string]bool) string {
	var cpus []int
	for list := range lists {
		for part := range strings.SplitSeq(list, ",") {
			first, last, isRange := strings.Cut(part, "-")
			from, err := strconv.Atoi(first)
			to := from
			if isRange && err == nil {
				to, err = strconv.Atoi(last)
			}
			for cpu := from; err == nil && cpu <= to && cpu-from < 1<<16; cpu++ {
				cpus = append(cpus, cpu)
			}
		}
	}
	slices.Sort(cpus)
	var all []string
	for _, cpu := range slices.Compact(cpus) {
		all = append(all, strconv.Itoa(cpu))
	}
	return strings.Join(all, ",")
}

// Since returns what has changed since another reading.
func (c Confinement) Since(before Confinement) (changed []Confined) {
	for _, one := range []struct{ what, from, to string }{
		{ConfinedCPUs, before.CPUs, c.CPUs}, {ConfinedScheduling, before.Scheduling, c.Scheduling},
		{ConfinedCgroup, before.Cgroups, c.Cgroups}, {ConfinedLimits, before.Limits, c.Limits},
		{ConfinedGroup, before.Groups, c.Groups},
	} {
		if moved := one.what == ConfinedGroup && before.Cgroups != c.Cgroups; one.from != one.to && !moved {
			from, to := unlikeLines(one.from, one.to)
			changed = append(changed, Confined{one.what, from, to})
		}
	}
	return changed
}

// unlikeLines returns the first line in which two texts differ.
func unlikeLines(a, b string) (from, to string) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		from, to = "", ""
		if i < len(as) {
			from = as[i]
		}
		if i < len(bs) {
			to = bs[i]
		}
		if from != to {
			break
		}
	}
	clean := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	return clean(from), clean(to)
}
