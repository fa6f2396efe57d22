// Package child starts processes that end with this one, and ends what they leave behind.
package child

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// Child is a process that this one has started, with all that it starts in turn.
type Child struct {
	command   *exec.Cmd
	mark      string    // in its environment
	directory directory // that it has open; none: it is not looked for by that

	mu    sync.Mutex
	ended bool // its number may be another's
}

// Options say how a child is started, beside its command.
type Options struct {
	// DeathSignal is what it gets when this process dies. 0: SIGKILL.
	DeathSignal syscall.Signal
	// Directory is opened in the child, and so in all that it starts: what overwrites its own
	// environment, as servers do to show a title in ps, is still known by it. "": none is.
	Directory string
	// CPUs are those that it, and all that it starts, may use. None: those of this process.
	CPUs []int
}

var (
	made     atomic.Uint64
	children sync.Map // pid → *Child, of those whose end is waited for
)

// Start starts command in a process group of its own, so that Ctrl-C on the terminal reaches this
// process alone. It dies with this process, even by SIGKILL. The caller must call Wait.
func Start(command *exec.Cmd, o Options) (*Child, error) {
	if !linux.Measures {
		return nil, errors.New("measuring needs Linux; here Assay reports, compares and analyzes what was measured")
	}
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
	linux.DieWithParent(command.SysProcAttr, cmp.Or(o.DeathSignal, syscall.SIGKILL))
	if err := startOn(o.CPUs, command); err != nil {
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
	left, _ = c.EndLeft()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	err = c.command.Wait()
	children.Delete(c.PID())
	return left, err
}

// waitUnreaped waits until a child has ended, and leaves it to be waited for: its number, and that
// of its group, stay its own.
func waitUnreaped(pid int) {
	for {
		err := linux.Waitid(linux.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Kill ends the process and its group at once. Kill and Signal may be called from any goroutine and
// at any time.
func (c *Child) Kill() { c.send(-c.PID(), syscall.SIGKILL) }

// Signal sends a signal to the process alone.
func (c *Child) Signal(s syscall.Signal) { c.send(c.PID(), s) }

// Ask sends a signal to the process and its group: what a shell has started must hear of it too.
func (c *Child) Ask(s syscall.Signal) { c.send(-c.PID(), s) }

func (c *Child) send(to int, s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		_ = syscall.Kill(to, s) // ESRCH: it is gone
	}
}
