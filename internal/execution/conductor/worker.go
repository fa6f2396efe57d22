// Package conductor starts a worker process, talks to it with deadlines, and ends it: the other
// side of package control. It knows nothing of experiments.
package conductor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/execution/child"
	"assay/internal/execution/control"
)

// Worker is a running worker process. Its methods are called from one goroutine, but Kill may be
// called from any.
type Worker struct {
	process    *child.Child
	stdin      io.WriteCloser
	replies    chan reply
	exited     chan struct{}
	exitErr    error
	words      *lastWords
	nextID     int64
	broken     error // why no more requests can be made
	ending     sync.Once
	leftBehind int // processes that it left behind
}

type reply struct {
	reply control.Reply
	err   error
}

// ErrDied is wrapped by errors that say that the worker's process ended by itself.
var ErrDied = errors.New("the worker died")

// ErrHung is wrapped by errors that say that the worker did not answer in time. It has been killed.
var ErrHung = errors.New("the worker did not answer")

// withoutJVMOptions leaves out the variables whose options a JVM takes before or after those of its command
// line, some with more weight: an experiment that states a heap would be run with another one.
func withoutJVMOptions(environment []string) (kept, ignored []string) {
	for _, setting := range environment {
		name, value, _ := strings.Cut(setting, "=")
		if value != "" && slices.Contains([]string{"_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"}, name) {
			ignored = append(ignored, name)
			continue
		}
		kept = append(kept, setting)
	}
	return kept, ignored
}

// Start starts a worker. What it writes to standard error goes to log, and the line that tells why
// it died to the error that says so. It dies with this process.
func Start(command []string, log io.Writer) (*Worker, error) { return StartOn(nil, command, log) }

// StartOn is Start of a worker that may use some CPUs alone; none: those of this process.
func StartOn(cpus []int, command []string, log io.Writer) (*Worker, error) {
	if len(command) == 0 {
		return nil, errors.New("starting a worker: no command")
	}
	program := exec.Command(command[0], command[1:]...)
	w := &Worker{replies: make(chan reply, 1), exited: make(chan struct{}), words: &lastWords{log: log}}
	program.Stderr = w.words
	var ignored []string
	if program.Env, ignored = withoutJVMOptions(os.Environ()); len(ignored) > 0 {
		_, _ = fmt.Fprintf(log, "assay: workers don't get %s: options of a JVM stand in the experiment (java: {flags: [...]})\n",
			strings.Join(ignored, ", ")) // a log that can't be written to is seen when the worker writes
	}
	program.WaitDelay = grandchildrenGrace // for grandchildren that hold standard error open
	var err error
	if w.stdin, err = program.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", command[0], err)
	}
	// Not StdoutPipe: Wait would close that before all is read, and waiting for its end first would
	// hang on a grandchild that holds it open.
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting worker %s: %w", command[0], err), w.stdin.Close())
	}
	program.Stdout = theirs
	w.process, err = child.Start(program, child.Options{CPUs: cpus})
	if closeErr := theirs.Close(); err == nil && closeErr != nil {
		w.process.Kill()
		_, waitErr := w.process.Wait()
		err = errors.Join(closeErr, waitErr)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting worker %s: %w", strings.Join(command, " "), err), stdout.Close())
	}
	go w.read(stdout)
	go func() {
		w.leftBehind, w.exitErr = w.process.Wait()
		if err := stdout.SetReadDeadline(time.Now().Add(grandchildrenGrace)); err != nil {
			_ = stdout.Close() // the reader must end, one way or the other
		}
		close(w.exited)
	}()
	return w, nil
}

// grandchildrenGrace is how long the pipes of a worker that is gone are still read, if its children
// hold them open.
const grandchildrenGrace = 2 * time.Second

// read passes replies on until the worker closes its standard output.
func (w *Worker) read(stdout *os.File) {
	defer stdout.Close()
	defer close(w.replies)
	lines := control.NewLines(bufio.NewReader(stdout))
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			return
		}
		var r control.Reply
		if err == nil {
			r, err = control.ParseReply(line)
		}
		w.replies <- reply{r, err}
		if err != nil {
			_, _ = io.Copy(io.Discard, stdout) // the channel is out of step: nothing after this line can be trusted
			return
		}
	}
}

// Left returns how many processes the worker had left behind when it ended. They were killed.
func (w *Worker) Left() int {
	select {
	case <-w.exited:
		return w.leftBehind
	default:
		return 0
	}
}

// PID returns the process id.
func (w *Worker) PID() int { return w.process.PID() }

// Pending is a request that was sent and not yet answered.
type Pending struct {
	worker  *Worker
	command string
	id      int64
}

// Send sends a request without waiting for its reply.
func (w *Worker) Send(r control.Request) (*Pending, error) {
	if w.broken != nil {
		return nil, fmt.Errorf("%s: %w", r.Command, w.broken)
	}
	r.ID = w.nextID + 1
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Command, err)
	}
	return w.SendLine(r.Command, func(int64) []byte { return line })
}

// SendLine sends a line as it is, for requests that [control.Request] can't say. line makes it from
// the id that the reply is expected to have; command names it in errors.
func (w *Worker) SendLine(command string, line func(id int64) []byte) (*Pending, error) {
	if w.broken != nil {
		return nil, fmt.Errorf("%s: %w", command, w.broken)
	}
	w.nextID++
	if _, err := w.stdin.Write(append(line(w.nextID), '\n')); err != nil {
		// The pipe is closed because the worker is gone: its exit says more than the pipe.
		if died := w.waitDeath(time.Second); died != nil {
			err = died
		}
		w.broken = err
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return &Pending{w, command, w.nextID}, nil
}

// Wait waits up to a time for the reply and decodes its result into result, unless that is nil.
// done says if the request has ended, well or not; if it has not, Wait may be called again. The
// error is a *control.Error where the worker said no, and wraps ErrDied where it is gone.
func (p *Pending) Wait(timeout time.Duration, result any) (done bool, err error) {
	return p.wait(context.Background(), timeout, result)
}

func (p *Pending) wait(ctx context.Context, timeout time.Duration, result any) (done bool, err error) {
	select {
	case r, ok := <-p.worker.replies: // however short the timeout
		return true, p.take(r, ok, result)
	default:
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case r, ok := <-p.worker.replies:
		return true, p.take(r, ok, result)
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, nil
	}
}

func (p *Pending) take(r reply, ok bool, result any) error {
	w := p.worker
	switch {
	case !ok:
		if w.broken = w.waitDeath(5 * time.Second); w.broken == nil {
			w.broken = errors.New("the worker closed its standard output but lives on")
		}
	case r.err != nil:
		w.broken = r.err
	case r.reply.ID != p.id:
		w.broken = fmt.Errorf("the worker answered request %d, but %d was asked", r.reply.ID, p.id)
	case r.reply.Error != nil:
		return r.reply.Error
	case result != nil:
		if err := json.Unmarshal(r.reply.Result, result); err != nil {
			w.broken = fmt.Errorf("the worker's result can't be read: %w", err)
		} else if texts, outside := result.(interface{ Bound() }); outside {
			texts.Bound()
		}
	}
	if w.broken != nil {
		return fmt.Errorf("%s: %w", p.command, w.broken)
	}
	return nil
}

// Call sends a request and waits for its reply; a worker that takes longer than the timeout is
// killed.
func (w *Worker) Call(r control.Request, timeout time.Duration, result any) error {
	return w.CallContext(context.Background(), r, timeout, result)
}

// CallContext is [Worker.Call], but a worker that has not answered when ctx ends is killed at once.
// The error is then that of ctx.
func (w *Worker) CallContext(ctx context.Context, r control.Request, timeout time.Duration, result any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pending, err := w.Send(r)
	if err != nil {
		return err
	}
	done, err := pending.wait(ctx, timeout, result)
	switch {
	case done:
		return err
	case ctx.Err() != nil:
		w.Kill()
		w.broken = fmt.Errorf("%s: %w", r.Command, ctx.Err())
		return w.broken
	}
	return w.Hung(fmt.Sprintf("%s took longer than %v", r.Command, timeout))
}

// Hung kills the worker and returns an error that says why.
func (w *Worker) Hung(why string) error {
	w.Kill()
	w.broken = fmt.Errorf("%w: %s; it was killed", ErrHung, why)
	return w.broken
}

// waitDeath returns an error that wraps ErrDied if the process ends within the time.
func (w *Worker) waitDeath(timeout time.Duration) error {
	select {
	case <-w.exited:
		if w.exitErr == nil {
			return fmt.Errorf("%w: it exited with status 0 before it was asked to", ErrDied)
		}
		return w.death()
	case <-time.After(timeout):
		return nil
	}
}

// death says how the process ended, in its own last words where it had any.
func (w *Worker) death() error {
	if words := w.words.String(); words != "" {
		return fmt.Errorf("%w: %w; it last wrote: %s", ErrDied, w.exitErr, words)
	}
	return fmt.Errorf("%w: %w", ErrDied, w.exitErr)
}

// End closes the control channel and waits for the process to end by itself; after the timeout it
// is killed. It returns an error if the process had to be killed or ended with a status other than
// 0.
func (w *Worker) End(timeout time.Duration) error {
	var err error
	w.ending.Do(func() {
		// closed: it is gone already
		if closeErr := w.stdin.Close(); closeErr != nil && !errors.Is(closeErr, os.ErrClosed) {
			err = fmt.Errorf("closing the worker's standard input: %w", closeErr)
		}
		go func() { // no more requests: lets the reader go on to the end
			for range w.replies {
			}
		}()
		select {
		case <-w.exited:
			if w.exitErr != nil {
				err = w.death()
			}
		case <-time.After(timeout):
			w.Kill()
			<-w.exited
			err = fmt.Errorf("%w: it did not end within %v and was killed", ErrHung, timeout)
		}
	})
	return err
}

// Kill ends the process and its group at once.
func (w *Worker) Kill() {
	select {
	case <-w.exited:
		return // its id may be another's by now
	default:
		w.process.Kill()
	}
}
