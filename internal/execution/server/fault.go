package server

import (
	"context"
	"syscall"
	"time"
)

// Freeze stops the server's processes (SIGSTOP): its connections stay, and nothing answers.
func (i *Instance) Freeze() error {
	if _, err := i.Halt(); err != nil {
		return err
	}
	return i.Died()
}

// Revive undoes a fault: a server that was killed is started again, and a frozen one goes on. It is for
// the goroutine that did it; others may ask meanwhile whether the server died.
func (i *Instance) Revive(ctx context.Context, patience time.Duration) error {
	if i.life.down.Load() {
		return i.Restart(ctx, patience)
	}
	i.thaw()
	return nil
}

// thaw lets stopped processes go on; those that run are not touched by it.
func (i *Instance) thaw() {
	select {
	case <-i.Exited():
		return // its number may be another's
	default:
	}
	for _, pid := range i.Processes() {
		_ = syscall.Kill(pid, syscall.SIGCONT) // ESRCH: it has ended
	}
}
