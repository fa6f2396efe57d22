package bounded

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill a command's process when this one ends, however that ends.
func dieWithParent(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
