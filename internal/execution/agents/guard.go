package agents

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
	"assay/internal/execution/child"
)

// An agent that is stopped (SIGSTOP, a debugger, Ctrl-Z) can't keep its own lease, and its workers
// would go on without it. A guard is a process beside it that does: the agent tells it again and again
// that it runs, and which workers it has. When that has not come for the lease, the guard ends the
// workers. It holds each by a descriptor: a number may be another process's by then.

// The guard counts its own looks and not the time, so that a machine that was paused as a whole, or a
// guard that was stopped with its agent, ends nothing.
const guardLooks = 20 // in a lease

// guard is the agent's side.
type guard struct {
	mu      sync.Mutex
	process *child.Child
	in      io.WriteCloser
	exited  chan struct{}
}

// startGuard starts a guard. An agent without a command for one has none.
func startGuard(command []string, log io.Writer) (*guard, error) {
	if len(command) == 0 {
		return nil, nil
	}
	c := exec.Command(command[0], command[1:]...)
	c.Stderr, c.WaitDelay = log, time.Second
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	process, err := child.Start(c, child.Options{})
	if err != nil {
		return nil, fmt.Errorf("starting the guard of the agent's workers: %w", err)
	}
	g := &guard{process: process, in: in, exited: make(chan struct{})}
	go func() {
		_, _ = process.Wait() // however it ended
		close(g.exited)
	}()
	return g, nil
}

// tell writes a line: what is not taken at once is of a guard that is stopped, or gone.
func (g *guard) tell(format string, values ...any) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if pipe, is := g.in.(interface{ SetWriteDeadline(time.Time) error }); is {
		_ = pipe.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // a pipe has deadlines
	}
	_, _ = fmt.Fprintf(g.in, format+"\n", values...) // as above
}

func (g *guard) beat(lease time.Duration) { g.tell("beat %d", lease) }
func (g *guard) watch(pid int)            { g.tell("watch %d", pid) }
func (g *guard) forget(pid int)           { g.tell("forget %d", pid) }

func (g *guard) end() {
	if g == nil {
		return
	}
	_ = g.in.Close() // it may be gone
	select {
	case <-g.exited:
	case <-time.After(endPatience):
		g.process.Kill()
		<-g.exited
	}
}

// Guard ends the workers of an agent that does not say for its lease that it runs, until the input ends.
func Guard(in io.Reader, log io.Writer) error {
	lines := make(chan string)
	var failed error
	go func() {
		defer close(lines)
		s := bufio.NewScanner(in)
		for s.Scan() {
			lines <- s.Text()
		}
		failed = s.Err()
	}()
	agent, workers := os.Getppid(), map[int]int{}
	every, silent := time.Hour, 0
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return failed
			}
			word, value, _ := strings.Cut(line, " ")
			n, err := strconv.Atoi(value)
			if err != nil || n <= 1 {
				return fmt.Errorf("the guard can't read %q", line)
			}
			switch word {
			case "beat":
				if silent = 0; every != time.Duration(n)/guardLooks {
					every = max(time.Duration(n)/guardLooks, time.Millisecond)
					ticker.Reset(every)
				}
			case "watch":
				if fd, err := linux.PidfdOpen(n, 0); err == nil { // else it has ended
					workers[n] = fd
				}
			case "forget":
				if fd, watched := workers[n]; watched {
					_ = unix.Close(fd) // of a process that has ended
					delete(workers, n)
				}
			}
		case <-ticker.C:
			if silent++; silent <= guardLooks || len(workers) == 0 {
				continue
			}
			if os.Getppid() != agent {
				return nil // it died, and its workers with it
			}
			fmt.Fprintf(log, "assay agent: it did not run for its lease: its workers were ended\n")
			for _, fd := range workers {
				_ = linux.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // it may have ended by itself
				_ = unix.Close(fd)                                  // as above
			}
			clear(workers)
		}
	}
}
