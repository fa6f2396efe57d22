package host

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/base/bounded"
	"assay/internal/base/linux"
)

// ErrNoCPU is wrapped by the error of [CheckCPUs].
var ErrNoCPU = errors.New("no such CPU")

// CheckCPUs says whether this process, and what it starts, may use each of these CPUs.
func CheckCPUs(cpus []int) error {
	var allowed linux.CPUSet
	if err := linux.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("sched_getaffinity: %w", err)
	}
	for _, cpu := range cpus {
		if !allowed.IsSet(cpu) {
			return fmt.Errorf("%w: %d is not among the %d that Assay may use here", ErrNoCPU, cpu, allowed.Count())
		}
	}
	return nil
}

// OwnCPUs are those that this process, and what it starts, may use; nil: not known.
func OwnCPUs() (cpus []int) {
	var allowed linux.CPUSet
	if linux.SchedGetaffinity(0, &allowed) != nil {
		return nil
	}
	for cpu, left := 0, allowed.Count(); left > 0; cpu++ {
		if allowed.IsSet(cpu) {
			cpus, left = append(cpus, cpu), left-1
		}
	}
	return cpus
}

// CPUsByCore are those of [OwnCPUs], one of each core before the second of any; nil: not known. So as many as
// can be of the first ones do not share a core.
func CPUsByCore() []int { return byCore(kernelRoots, OwnCPUs()) }

func byCore(r roots, cpus []int) (all []int) {
	cpus = slices.Clone(cpus)
	for len(cpus) > 0 {
		seen := map[string]bool{}
		var later []int
		for _, cpu := range cpus {
			core, known := coreOf(r, cpu)
			if known && seen[core] {
				later = append(later, cpu)
				continue
			}
			seen[core] = true
			all = append(all, cpu)
		}
		cpus = later
	}
	return all
}

// coreOf names the core that a CPU is a thread of.
func coreOf(r roots, cpu int) (name string, known bool) {
	siblings := filepath.Join(r.sys, "devices/system/cpu", fmt.Sprintf("cpu%d", cpu), "topology/thread_siblings_list")
	text, err := bounded.Kernel(siblings)
	return strings.TrimSpace(string(text)), err == nil
}

// Cores is how many cores the CPUs are threads of that the trial's processes may use; without a way to tell, as
// many as CPUs. 0: nothing is known.
func (s *Sampler) Cores() int { return cores(s.roots, s.cpus) }

func cores(r roots, cpus []int) int {
	seen := map[string]bool{}
	for _, cpu := range cpus {
		core, known := coreOf(r, cpu)
		if !known {
			return len(cpus)
		}
		seen[core] = true
	}
	return len(seen)
}
