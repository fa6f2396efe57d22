package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"assay/internal/base/finding"
	"assay/internal/base/format"
	"assay/internal/execution/conductor"
	"assay/internal/execution/control"
	"assay/internal/experiment"
	"assay/store"
)

// client is one worker process of a trial: the only one, or one of those that its clients are.
type client struct {
	*conductor.Worker
	number  int   // from 0 on
	threads int   // that the phases give it at most
	gone    error // why its process ended, or was killed, before its time; nil: it was not

	dismissed bool // it was killed at the end
}

// startClients starts as many workers as the trial's clients are processes.
func (t *trial) startClients() error {
	command := t.store.Worker
	if len(command) == 0 {
		command = t.run.options.Worker
	}
	for i, threads := range t.run.experiment.ProcessThreads(t.cell) {
		w, err := conductor.StartOn(t.run.cpus().Client, command, t.writer.Log())
		if err != nil {
			t.result.Cause = finding.CauseNoWorker
			return err
		}
		t.clients = append(t.clients, &client{Worker: w, number: i, threads: threads})
	}
	return nil
}

// endClients ends all workers. err is how the trial ended so far.
func (t *trial) endClients(ctx context.Context, err error) error {
	patience := t.run.experiment.StepTimeout
	if ctx.Err() != nil {
		patience = stopPatience
	}
	endErr := t.inParallel(t.clients, func(c *client) error {
		if err := c.End(patience); !c.dismissed {
			return err
		}
		return nil
	})
	if err == nil {
		err = endErr
	}
	left := 0
	for _, c := range t.clients {
		left += c.Left()
	}
	if left > 0 {
		t.run.view.Message(fmt.Sprintf("the worker of trial %s left %s behind: killed", t.plan.ID, format.Plural(left, "process", "")))
	}
	return err
}

// killClients ends what is left of the workers at once.
func (t *trial) killClients() {
	for _, c := range t.clients {
		c.Kill()
	}
}

// living are the clients whose process has not ended before its time.
func (t *trial) living() (all []*client) {
	for _, c := range t.clients {
		if c.gone == nil {
			all = append(all, c)
		}
	}
	return all
}

// first is the client that does alone what one is enough for.
func (t *trial) first() *client {
	if living := t.living(); len(living) > 0 {
		return living[0]
	}
	return t.clients[0]
}

func (t *trial) pids() (pids []int) {
	for _, c := range t.clients {
		pids = append(pids, c.PID())
	}
	return pids
}

// inParallel does something with each of some clients, and returns the error of the first of them
// that met one.
func (t *trial) inParallel(among []*client, do func(*client) error) error {
	errs := make([]error, len(among))
	var all sync.WaitGroup
	for i, c := range among {
		all.Go(func() { errs[i] = do(c) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return t.of(among[i], err)
		}
	}
	return nil
}

// of says of which process an error is, where there are several.
func (t *trial) of(c *client, err error) error {
	if err == nil || len(t.clients) == 1 || errors.Is(err, errInterrupted) {
		return err
	}
	return fmt.Errorf("process %d of %d: %w", c.number+1, len(t.clients), err)
}

// call asks the first client for a step. The user's Ctrl-C ends it at once.
func (t *trial) call(r control.Request, result any) error {
	c := t.first()
	return t.of(c, t.ask(c, r, result))
}

// ask asks one client.
func (t *trial) ask(c *client, r control.Request, result any) error {
	err := c.CallContext(t.ctx, r, t.run.experiment.StepTimeout, result)
	if err != nil && t.ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// open opens the store in a durability class: in the first client alone for a load. Loads use the
// driver's weakest class, unless the server has one class only: they are not measured, and a sync a
// record would take hours.
func (t *trial) open(class store.Durability, load bool) error {
	first, threads := t.clients[0], t.clients[0].threads
	if load {
		threads = max(threads, t.run.experiment.LoadThreads(t.cell))
	}
	var opened control.Opened
	if err := t.openIn(first, class, threads, !t.opened, &opened); err != nil {
		return t.of(first, err)
	}
	t.opened = true
	t.eventual = t.store.Description.Eventual || opened.Eventual
	t.result.Settings, t.result.Abilities, t.result.Version = opened.Settings, opened.Abilities, opened.Version
	if load {
		return nil
	}
	return t.inParallel(t.clients[1:], func(c *client) error { return t.openIn(c, class, c.threads, false, nil) })
}

func (t *trial) openIn(c *client, class store.Durability, threads int, first bool, opened *control.Opened) error {
	var others control.Opened
	if opened == nil {
		opened = &others
	}
	err := t.ask(c, control.Request{Command: control.CommandOpen, Open: &control.Open{
		Driver: t.store.Driver, First: first, Directory: t.workerDirectory(), Endpoints: t.endpoints(), Durability: class,
		LossWindowNS: int64(t.cell.LossWindow), Options: t.driverOptions(), Handles: t.cell.Handles,
		PoolHandles: min(t.cell.PoolHandles, threads), Pipeline: t.cell.Pipeline, Threads: threads,
	}}, opened)
	if err != nil {
		return err
	}
	return t.define(c)
}

// closeAll closes the store in each client that has it open, in the first one last: what is done to
// the store when nobody has it open any more is then done once. A server that Assay has started is
// thrown away, and a hundred clients that each look whether they are the last take minutes: all but
// the first are ended as they are.
func (t *trial) closeAll() error {
	request := control.Request{Command: control.CommandClose}
	living := t.living()
	var err error
	if others := living[1:]; t.server != nil {
		for _, c := range others {
			c.dismissed = true
			c.Kill()
		}
	} else {
		err = t.inParallel(others, func(c *client) error { return t.ask(c, request, nil) })
	}
	return errors.Join(err, t.of(living[0], t.ask(living[0], request, nil)))
}

// readers returns how many threads, but at most so many, read records back or delete them, and how they
// are parted over the clients that live.
func (t *trial) readers(most int) (threads int, layout []int) {
	each := t.cell.Threads / max(t.cell.Processes, 1)
	for _, c := range t.living() {
		if n := min(each, c.threads, most-threads); n > 0 {
			layout = append(layout, n)
			threads += n
		}
	}
	return threads, layout
}

// layout returns how the threads of a phase are parted over the clients.
func (t *trial) layout(p *experiment.Phase, threads int) []int {
	if p.Load {
		return []int{threads}
	}
	return p.ProcessThreads(t.cell)
}
