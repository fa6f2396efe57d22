// Package child starts processes that end with this one, and ends what they leave behind.
package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Child is a process that this one has started, with all that it starts in turn.
type Child struct {
	command   *exec.Cmd
	mark      string    // in its environment
	directory directory // that it has open; none: nothing is told by it
}

// Options say how a child is started, beside its command.
type Options struct {
	// DeathSignal is what it gets when this process dies. 0: SIGKILL.
	DeathSignal syscall.Signal
	// Directory is opened in the child, and so in all that it starts: what overwrites its own
	// environment, as servers do to show a title in ps, is still known by it. "": none is.
	Directory string
}

var (
	made     atomic.Uint64
	children sync.Map // pid → *Child, of those whose end is waited for
)

// Start starts command in a process group of its own, so that Ctrl-C on the terminal reaches this
// process alone. It dies with this process, even by SIGKILL. The caller must call Wait.
func Start(command *exec.Cmd, o Options) (*Child, error) {
	c := &Child{command: command}
	if err := becomeOnce(); err != nil {
		return nil, fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
	}
	if o.Directory != "" {
		held, err := os.Open(o.Directory)
		if err != nil {
			return nil, err
		}
		defer held.Close()
		if c.directory, err = identify(held); err != nil {
			return nil, err
		}
		command.ExtraFiles = []*os.File{held} // descriptor directoryFD
	}
	command.Env, c.mark = mark(command.Environ())
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if o.DeathSignal != 0 {
		command.SysProcAttr.Pdeathsig = o.DeathSignal
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	children.Store(c.PID(), c)
	return c, nil
}

// PID returns the process id, which is that of its group too.
func (c *Child) PID() int { return c.command.Process.Pid }

// Wait waits until the process has ended, ends what it has left behind, and says how many processes
// those were. It is called once; err is that of [exec.Cmd.Wait].
func (c *Child) Wait() (left int, err error) {
	waitUnreaped(c.PID())
	left = c.endLeft()
	err = c.command.Wait()
	children.Delete(c.PID())
	return left, err
}

// waitUnreaped waits until a child has ended, and leaves it to be waited for: its number, and that
// of its group, stay its own.
func waitUnreaped(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Kill ends the process and its group at once. It must not be called after Wait has returned: the
// number may be another's by then.
func (c *Child) Kill() { c.SignalGroup(syscall.SIGKILL) }

// SignalGroup sends a signal to the process and its group; as for Kill, before Wait has returned.
func (c *Child) SignalGroup(s syscall.Signal) {
	_ = syscall.Kill(-c.PID(), s) // ESRCH: it is gone
}

// Signal sends a signal to the process alone; as for Kill, before Wait has returned.
func (c *Child) Signal(s syscall.Signal) {
	_ = syscall.Kill(c.PID(), s)
}
