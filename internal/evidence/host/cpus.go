package host

import (
	"errors"
	"fmt"

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
