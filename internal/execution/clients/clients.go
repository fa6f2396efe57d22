// Package clients is the worker processes of a trial, on this machine and at agents: started, asked
// together or one by one, and ended. Callers ask them for a phase without knowing where they are.
package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"assay/internal/execution/agents"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
)

// ErrInterrupted says that the user stopped the run.
var ErrInterrupted = errors.New("stopped by the user")

// StopPatience is how long a worker may take to end, or a phase to stop, once the user has asked
// for it.
const StopPatience = 2 * time.Second

// Process is a worker as a trial asks it: of this machine, or of an agent.
type Process interface {
	Send(control.Request) (Pending, error)
	CallContext(ctx context.Context, r control.Request, timeout time.Duration, result any) error
	Hung(why string) error
	Kill()
	End(patience time.Duration) error
	Left() int
	PID() int // 0: it is on another machine
}

// Pending is a request that was sent and not yet answered.
type Pending interface {
	Wait(timeout time.Duration, result any) (done bool, err error)
}

// ownWorker is a process of this machine.
type ownWorker struct{ *conductor.Worker }

func (w ownWorker) Send(r control.Request) (Pending, error) { return w.Worker.Send(r) }

// AgentWorker is a worker of an agent, as a trial asks it.
type AgentWorker struct{ *agents.Worker }

// Send sends a request to the agent's worker.
func (w AgentWorker) Send(r control.Request) (Pending, error) { return w.Worker.Send(r) }

// Client is one worker process of a trial: the only one, or one of those that its clients are.
type Client struct {
	Process
	Away    *AgentWorker // nil: it is of this machine
	Number  int          // from 0 on
	threads int          // that the phases give it at most
	Gone    error        // why its process ended, or was killed, before its time; nil: it was not

	dismissed bool // it was killed at the end
}

// Clients are the worker processes of a trial.
type Clients struct {
	Context context.Context // ends at the user's Ctrl-C
	Timeout time.Duration   // of a step
	All     []*Client
	Opened  bool // the store has been opened once
}

// Start starts a worker on some CPUs, none: on all, which does so many threads at most.
func (cs *Clients) Start(cpus []int, command []string, threads int, log io.Writer) error {
	w, err := conductor.StartOn(cpus, command, log)
	if err != nil {
		return err
	}
	cs.All = append(cs.All, &Client{Process: ownWorker{w}, Number: len(cs.All), threads: threads})
	return nil
}

// StartAway starts a worker for each of some processes, which do so many threads each, parted over the
// agents in their order.
func (cs *Clients) StartAway(present []*agents.Agent, processes []int) error {
	first, all := len(cs.All), make([]*Client, len(processes))
	var started sync.WaitGroup
	errs := make([]error, len(processes))
	for i, threads := range processes {
		started.Go(func() {
			w, err := present[i*len(present)/len(processes)].StartWorker(cs.Context, cs.Timeout)
			if errs[i] = err; err == nil {
				all[i] = &Client{Process: AgentWorker{w}, Away: &AgentWorker{w}, Number: first + i, threads: threads}
			}
		})
	}
	started.Wait()
	cs.All = append(cs.All, slices.DeleteFunc(all, func(c *Client) bool { return c == nil })...)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w", err)
	}
	return nil
}

// Here are the clients of this machine that live, and away those of agents.
func (cs *Clients) Here() []*Client {
	return slices.DeleteFunc(cs.Living(), func(c *Client) bool { return c.Away != nil })
}

// Away returns the clients of agents.
func (cs *Clients) Away() []*Client {
	return slices.DeleteFunc(cs.Living(), func(c *Client) bool { return c.Away == nil })
}

// AwayNumbered are those of agents by their numbers among them.
func (cs *Clients) AwayNumbered(numbers []int) (named []*Client, err error) {
	all := slices.DeleteFunc(slices.Clone(cs.All), func(c *Client) bool { return c.Away == nil })
	for _, number := range numbers {
		if number >= len(all) || all[number].Gone != nil {
			return nil, fmt.Errorf("the phase needs the agents' process %d, which is gone", number+1)
		}
		named = append(named, all[number])
	}
	return named, nil
}

// End ends all workers, and says how many processes they left behind.
func (cs *Clients) End() (left int, err error) {
	patience := cs.Timeout
	if cs.Context.Err() != nil {
		patience = StopPatience
	}
	err = cs.InParallel(cs.All, func(c *Client) error {
		if err := c.End(patience); !c.dismissed {
			return err
		}
		return nil
	})
	for _, c := range cs.All {
		left += c.Left()
	}
	return left, err
}

// Kill ends what is left of the workers at once.
func (cs *Clients) Kill() {
	for _, c := range cs.All {
		c.Kill()
	}
}

// Living are the clients whose process has not ended before its time.
func (cs *Clients) Living() (all []*Client) {
	for _, c := range cs.All {
		if c.Gone == nil {
			all = append(all, c)
		}
	}
	return all
}

// first is the client that does alone what one is enough for.
func (cs *Clients) first() *Client {
	if living := cs.Living(); len(living) > 0 {
		return living[0]
	}
	return cs.All[0]
}

// Pids returns the processes on this machine.
func (cs *Clients) Pids() (pids []int) {
	for _, c := range cs.All {
		if pid := c.PID(); pid != 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// InParallel does something with each of some clients, and returns the error of the first of them
// that met one.
func (cs *Clients) InParallel(among []*Client, do func(*Client) error) error {
	errs := make([]error, len(among))
	var all sync.WaitGroup
	for i, c := range among {
		all.Go(func() { errs[i] = do(c) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return cs.Of(among[i], err)
		}
	}
	return nil
}

// Of says of which process an error is, where there are several.
func (cs *Clients) Of(c *Client, err error) error {
	if err == nil || len(cs.All) == 1 || errors.Is(err, ErrInterrupted) {
		return err
	}
	if c.Away != nil {
		return fmt.Errorf("%s: %w", c.Away.Agent.Name, err)
	}
	return fmt.Errorf("process %d of %d: %w", c.Number+1, len(cs.All), err)
}

// Call asks the first client for a step. The user's Ctrl-C ends it at once.
func (cs *Clients) Call(r control.Request, result any) error {
	c := cs.first()
	return cs.Of(c, cs.Ask(c, r, result))
}

// Ask asks one client.
func (cs *Clients) Ask(c *Client, r control.Request, result any) error {
	err := c.CallContext(cs.Context, r, cs.Timeout, result)
	if err != nil && cs.Context.Err() != nil {
		return ErrInterrupted
	}
	return err
}

// Open opens the store in each client, or for a load in the first alone. request says how, but for
// who opens it first; loadThreads is how many threads a load has, 0: it is none. define gives the
// records their columns; nil: they have none. opened is what the first client told.
func (cs *Clients) Open(request control.Open, define *control.Define, loadThreads int) (opened control.Opened,
	err error) {
	first := cs.All[0]
	if err := cs.openIn(first, request, max(first.threads, loadThreads), !cs.Opened, define, &opened); err != nil {
		return opened, cs.Of(first, err)
	}
	cs.Opened = true
	if loadThreads > 0 {
		return opened, nil
	}
	return opened, cs.InParallel(cs.All[1:], func(c *Client) error {
		return cs.openIn(c, request, c.threads, false, define, new(control.Opened))
	})
}

func (cs *Clients) openIn(c *Client, request control.Open, threads int, first bool, define *control.Define,
	opened *control.Opened) error {
	request.First, request.Threads, request.PoolHandles = first, threads, min(request.PoolHandles, threads)
	if err := cs.Ask(c, control.Request{Command: control.CommandOpen, Open: &request}, opened); err != nil {
		return err
	}
	if define == nil {
		return nil
	}
	if err := cs.Ask(c, control.Request{Command: control.CommandDefine, Define: define}, nil); err != nil {
		return fmt.Errorf("define: %w", err)
	}
	return nil
}

// Close closes the store in each client that has it open, in the first one last: what the last client
// does to the store is then done once. A server that Assay has started is thrown away, and a hundred
// clients that each look whether they are the last take minutes: all but the first are ended without.
func (cs *Clients) Close(dismiss bool) error {
	request := control.Request{Command: control.CommandClose}
	living := cs.Living()
	var err error
	if others := living[1:]; dismiss {
		for _, c := range others {
			c.dismissed = true
			c.Kill()
		}
	} else {
		err = cs.InParallel(others, func(c *Client) error { return cs.Ask(c, request, nil) })
	}
	return errors.Join(err, cs.Of(living[0], cs.Ask(living[0], request, nil)))
}

// Readers returns how many threads, but at most so many of each client and in all, read records back
// or delete them, and how they
// are parted over the clients that live.
func (cs *Clients) Readers(each, most int) (threads int, layout []int) {
	for _, c := range cs.Here() {
		if n := min(each, c.threads, most-threads); n > 0 {
			layout = append(layout, n)
			threads += n
		}
	}
	return threads, layout
}
