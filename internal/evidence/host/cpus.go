package host

import (
	"errors"
	"fmt"
	"path/filepath"
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

// Cores is how many cores the CPUs are threads of that the trial's processes may use; without a way to tell, as
// many as CPUs. 0: nothing is known.
func (s *Sampler) Cores() int { return cores(s.roots, s.cpus) }

func cores(r roots, cpus []int) int {
	seen := map[string]bool{}
	for _, cpu := range cpus {
		siblings := filepath.Join(r.sys, "devices/system/cpu", fmt.Sprintf("cpu%d", cpu), "topology/thread_siblings_list")
		text, err := bounded.Kernel(siblings)
		if err != nil {
			return len(cpus)
		}
		seen[strings.TrimSpace(string(text))] = true
	}
	return len(seen)
}
