package read

import (
	"slices"
	"strconv"
	"strings"

	"assay/internal/experiment"
)

// cpuMax is one less than what a kernel's set of CPUs holds.
const cpuMax = 1023

// CPUListForm is a list of CPUs as the kernel writes it.
type CPUListForm experiment.CPUList

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

func parseCPUs(text string) (list experiment.CPUList, ok bool) {
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
	started := slices.ContainsFunc(r.e.Stores, func(s experiment.Store) bool { return s.Server != nil })
	if len(f.Server) > 0 && !started {
		return r.fail([]string{"cpus", "server"}, "cpus.server has no effect: Assay starts no server").
			hint("expected server: start at one of the stores; a server that you name is never pinned")
	}
	r.e.CPUs = &experiment.CPUs{Client: experiment.CPUList(f.Client), Server: experiment.CPUList(f.Server)}
	return nil
}
