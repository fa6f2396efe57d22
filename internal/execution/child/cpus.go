package child

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"assay/internal/base/linux"
)

// startOn starts a command that may use some CPUs alone; none: those of this process. The command
// inherits them from the thread that starts it, so that no thread of it ever ran elsewhere, and a
// runtime that counts its CPUs counts these.
func startOn(cpus []int, command *exec.Cmd) (err error) {
	if len(cpus) == 0 {
		return command.Start()
	}
	var own, wanted linux.CPUSet
	for _, cpu := range cpus {
		wanted.Set(cpu)
	}
	runtime.LockOSThread() // and the threads that the runtime makes meanwhile do not come from it
	defer runtime.UnlockOSThread()
	if err := linux.SchedGetaffinity(0, &own); err != nil {
		return fmt.Errorf("sched_getaffinity: %w", err)
	}
	if err := linux.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("pinning to CPUs %v: %w", cpus, err)
	}
	err = command.Start()
	return errors.Join(err, linux.SchedSetaffinity(0, &own))
}
