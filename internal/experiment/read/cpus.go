package read

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"assay/internal/base/format"
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

// CPUsForm is how many CPUs a trial may use, which ones, or which each end may.
type CPUsForm struct {
	Number int // that both ends share; 0: their numbers are given
	Both   CPUListForm
	CPUsFile
}

func (f *CPUsForm) fromNode(n *node, path string) *Error {
	switch {
	case n.kind == table:
		return decodeStruct(n, reflect.ValueOf(&f.CPUsFile).Elem(), path)
	case n.kind == scalar && strings.ContainsAny(n.text, "-,"):
		return f.Both.fromNode(n, path)
	}
	number, ok := parseWhole(n.text)
	if n.kind != scalar || n.quoted || !ok || number < 1 || number > cpuMax+1 {
		return n.expected(path, fmt.Sprintf("a whole number of CPUs from 1 to %d, which ones such as 0-3, or {client: 0, server: 1-3}", cpuMax+1))
	}
	f.Number = int(number)
	return nil
}

// resolved are the CPUs without those that a number takes, which depend on the machine; nil: none are given.
func (f CPUsForm) resolved() *experiment.CPUs {
	switch {
	case f.Number > 0:
		return &experiment.CPUs{Number: f.Number, Together: true}
	case len(f.Both) > 0:
		return &experiment.CPUs{Together: true, Client: experiment.CPUList(f.Both), Server: experiment.CPUList(f.Both)}
	case len(f.Client)+len(f.Server) > 0:
		return &experiment.CPUs{Client: experiment.CPUList(f.Client), Server: experiment.CPUList(f.Server)}
	}
	return nil
}

// refuseCPUs refuses to pin a server where none is started: it would have no effect.
func refuseCPUs(r *resolver, parts []string, c experiment.Cell) *Error {
	at := c.CPUs
	if at == nil {
		return nil
	}
	started := slices.ContainsFunc(r.e.Stores, func(s experiment.Store) bool { return s.Server != nil })
	if len(at.Server) > 0 && !at.Together && !started {
		return r.fail(append(slices.Clone(parts), "server"), "cpus.server has no effect: Assay starts no server").
			hint("expected server: start at one of the stores; a server that you name is never pinned")
	}
	return nil
}

// ownCPUs are those that a trial may use here, in the order in which a number takes them; nil: not known.
func (r *resolver) ownCPUs() []int {
	if r.drivers.OwnCPUs == nil {
		return nil
	}
	return r.drivers.OwnCPUs()
}

// takeCPUs says which CPUs the cells have that ask for a number. Where there are fewer, a run does not begin; its
// plan can be seen.
func (r *resolver) takeCPUs() *Error {
	most, here := 0, r.ownCPUs()
	for i := range r.e.Cells {
		at := r.e.Cells[i].CPUs
		if at == nil || at.Number == 0 {
			continue
		}
		most = max(most, at.Number)
		own := slices.Clone(here)
		for cpu := len(own); cpu < at.Number; cpu++ {
			own = append(own, cpu)
		}
		list := slices.Sorted(slices.Values(own[:at.Number]))
		r.e.Cells[i].CPUs = &experiment.CPUs{Number: at.Number, Together: true,
			Client: list, Server: slices.Clone(list)}
	}
	if here != nil && most > len(here) {
		r.note("%s: Assay may use %d here, and a run would not begin", format.Plural(most, "CPU", ""), len(here))
	}
	return nil
}
