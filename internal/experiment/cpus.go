package experiment

import (
	"slices"
	"strconv"
	"strings"
)

// CPUs pins each end of a trial to CPUs of its own. Nil or empty: the kernel places it.
type CPUs struct {
	Client CPUList `json:"client,omitempty"` // the worker's, whatever the store
	Server CPUList `json:"server,omitempty"` // of a server that Assay starts; another's is never pinned
}

// CPUList are CPUs by the kernel's numbers, sorted.
type CPUList []int

// String writes the list as files have it: "0-2,5".
func (l CPUList) String() string {
	var parts []string
	for i := 0; i < len(l); {
		last := i
		for last+1 < len(l) && l[last+1] == l[last]+1 {
			last++
		}
		part := strconv.Itoa(l[i])
		if last > i {
			part += "-" + strconv.Itoa(l[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ",")
}

// cpuMax is one less than what a kernel's set of CPUs holds.
const cpuMax = 1023

// CPUListForm is a list of CPUs as the kernel writes it.
type CPUListForm CPUList

func (f *CPUListForm) fromNode(n *node, path string) *Error {
	if n.kind == null {
		return nil
	}
	list, ok := parseCPUs(n.text)
	if n.kind != scalar || !ok {
		return n.expected(path, `numbers of CPUs such as "0", "0-3" or "0,2"`)
	}
	*f = CPUListForm(list)
	return nil
}

func parseCPUs(text string) (list CPUList, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, errFrom := strconv.Atoi(strings.TrimSpace(low))
		to, errTo := strconv.Atoi(strings.TrimSpace(high))
		if errFrom != nil || errTo != nil || from < 0 || to < from || to > cpuMax {
			return nil, false
		}
		for cpu := from; cpu <= to; cpu++ {
			list = append(list, cpu)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

// cpus refuses to pin a server where none is started: whoever wrote it believes that it has an
// effect.
func (r *resolver) cpus() *Error {
	f := r.file.CPUs
	if len(f.Client)+len(f.Server) == 0 {
		return nil
	}
	started := slices.ContainsFunc(r.e.Stores, func(s Store) bool { return s.Server != nil })
	if len(f.Server) > 0 && !started {
		return r.fail([]string{"cpus", "server"}, "cpus.server has no effect: Assay starts no server").
			hint("expected server: start at one of the stores; a server that you name is never pinned")
	}
	r.e.CPUs = &CPUs{Client: CPUList(f.Client), Server: CPUList(f.Server)}
	return nil
}
