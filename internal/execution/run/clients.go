package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
)

// process is a worker as a trial asks it: of this machine, or of an agent.
type process interface {
	Send(control.Request) (pending, error)
	CallContext(ctx context.Context, r control.Request, timeout time.Duration, result any) error
	Hung(why string) error
	Kill()
	End(patience time.Duration) error
	Left() int
	PID() int // 0: it is on another machine
}

// pending is a request that was sent and not yet answered.
type pending interface {
	Wait(timeout time.Duration, result any) (done bool, err error)
}

// ownWorker is a process of this machine.
type ownWorker struct{ *conductor.Worker }

func (w ownWorker) Send(r control.Request) (pending, error) { return w.Worker.Send(r) }

// client is one worker process of a trial: the only one, or one of those that its clients are.
type client struct {
	process
	away    *awayWorker // nil: it is of this machine
	number  int         // from 0 on
	threads int         // that the phases give it at most
	gone    error       // why its process ended, or was killed, before its time; nil: it was not

	dismissed bool // it was killed at the end
}

// clients are the worker processes of a trial.
type clients struct {
	ctx     context.Context // ends at the user's Ctrl-C
	timeout time.Duration   // of a step
	all     []*client
	opened  bool // the store has been opened once
}

// start starts a worker on some CPUs, none: on all, which does so many threads at most.
func (cs *clients) start(cpus []int, command []string, threads int, log io.Writer) error {
	w, err := conductor.StartOn(cpus, command, log)
	if err != nil {
		return err
	}
	cs.all = append(cs.all, &client{process: ownWorker{w}, number: len(cs.all), threads: threads})
	return nil
}

// here are the clients of this machine that live, and away those of agents.
func (cs *clients) here() []*client {
	return slices.DeleteFunc(cs.living(), func(c *client) bool { return c.away != nil })
}

func (cs *clients) away() []*client {
	return slices.DeleteFunc(cs.living(), func(c *client) bool { return c.away == nil })
}

// awayNumbered are those of agents by their numbers among them.
func (cs *clients) awayNumbered(numbers []int) (named []*client, err error) {
	all := slices.DeleteFunc(slices.Clone(cs.all), func(c *client) bool { return c.away == nil })
	for _, number := range numbers {
		if number >= len(all) || all[number].gone != nil {
			return nil, fmt.Errorf("the phase needs the agents' process %d, which is gone", number+1)
		}
		named = append(named, all[number])
	}
	return named, nil
}

// end ends all workers, and says how many processes they left behind.
func (cs *clients) end() (left int, err error) {
	patience := cs.timeout
	if cs.ctx.Err() != nil {
		patience = stopPatience
	}
	err = cs.inParallel(cs.all, func(c *client) error {
		if err := c.End(patience); !c.dismissed {
			return err
		}
		return nil
	})
	for _, c := range cs.all {
		left += c.Left()
	}
	return left, err
}

// kill ends what is left of the workers at once.
func (cs *clients) kill() {
	for _, c := range cs.all {
		c.Kill()
	}
}

// living are the clients whose process has not ended before its time.
func (cs *clients) living() (all []*client) {
	for _, c := range cs.all {
		if c.gone == nil {
			all = append(all, c)
		}
	}
	return all
}

// first is the client that does alone what one is enough for.
func (cs *clients) first() *client {
	if living := cs.living(); len(living) > 0 {
		return living[0]
	}
	return cs.all[0]
}

func (cs *clients) pids() (pids []int) {
	for _, c := range cs.all {
		if pid := c.PID(); pid != 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// inParallel does something with each of some clients, and returns the error of the first of them
// that met one.
func (cs *clients) inParallel(among []*client, do func(*client) error) error {
	errs := make([]error, len(among))
	var all sync.WaitGroup
	for i, c := range among {
		all.Go(func() { errs[i] = do(c) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return cs.of(among[i], err)
		}
	}
	return nil
}

// of says of which process an error is, where there are several.
func (cs *clients) of(c *client, err error) error {
	if err == nil || len(cs.all) == 1 || errors.Is(err, errInterrupted) {
		return err
	}
	if c.away != nil {
		return fmt.Errorf("%s: %w", c.away.Agent.Name, err)
	}
	return fmt.Errorf("process %d of %d: %w", c.number+1, len(cs.all), err)
}

// call asks the first client for a step. The user's Ctrl-C ends it at once.
func (cs *clients) call(r control.Request, result any) error {
	c := cs.first()
	return cs.of(c, cs.ask(c, r, result))
}

// ask asks one client.
func (cs *clients) ask(c *client, r control.Request, result any) error {
	err := c.CallContext(cs.ctx, r, cs.timeout, result)
	if err != nil && cs.ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// open opens the store in each client, or for a load in the first alone. request says how, but for
// who opens it first; loadThreads is how many threads a load has, 0: it is none. define gives the
// records their columns; nil: they have none. opened is what the first client told.
func (cs *clients) open(request control.Open, define *control.Define, loadThreads int) (opened control.Opened, err error) {
	first := cs.all[0]
	if err := cs.openIn(first, request, max(first.threads, loadThreads), !cs.opened, define, &opened); err != nil {
		return opened, cs.of(first, err)
	}
	cs.opened = true
	if loadThreads > 0 {
		return opened, nil
	}
	return opened, cs.inParallel(cs.all[1:], func(c *client) error {
		return cs.openIn(c, request, c.threads, false, define, new(control.Opened))
	})
}

func (cs *clients) openIn(c *client, request control.Open, threads int, first bool, define *control.Define, opened *control.Opened) error {
	request.First, request.Threads, request.PoolHandles = first, threads, min(request.PoolHandles, threads)
	if err := cs.ask(c, control.Request{Command: control.CommandOpen, Open: &request}, opened); err != nil {
		return err
	}
	if define == nil {
		return nil
	}
	if err := cs.ask(c, control.Request{Command: control.CommandDefine, Define: define}, nil); err != nil {
		return fmt.Errorf("define: %w", err)
	}
	return nil
}

// close closes the store in each client that has it open, in the first one last: what is done to
// the store when nobody has it open any more is then done once. A server that Assay has started is
// thrown away, and a hundred clients that each look whether they are the last take minutes: all but
// the first are ended as they are.
func (cs *clients) close(dismiss bool) error {
	request := control.Request{Command: control.CommandClose}
	living := cs.living()
	var err error
	if others := living[1:]; dismiss {
		for _, c := range others {
			c.dismissed = true
			c.Kill()
		}
	} else {
		err = cs.inParallel(others, func(c *client) error { return cs.ask(c, request, nil) })
	}
	return errors.Join(err, cs.of(living[0], cs.ask(living[0], request, nil)))
}

// readers returns how many threads, but at most so many of each client and in all, read records back
// or delete them, and how they
// are parted over the clients that live.
func (cs *clients) readers(each, most int) (threads int, layout []int) {
	for _, c := range cs.here() {
		if n := min(each, c.threads, most-threads); n > 0 {
			layout = append(layout, n)
			threads += n
		}
	}
	return threads, layout
}
