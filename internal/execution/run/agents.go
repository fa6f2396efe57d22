package run

import (
	"context"
	"fmt"

	"assay/internal/execution/agents"
)

// gatherAgents starts what the experiment's agents need, and waits until they are there; end is to be
// called when the run is over.
func (r *running) gatherAgents(ctx context.Context) (end func(), err error) {
	if len(r.experiment.Agents) == 0 {
		return func() {}, nil
	}
	o := r.options.Agents
	o.Agents = r.experiment.Agents
	hub, err := agents.NewHub(o)
	if err != nil {
		return nil, err
	}
	end = func() {
		hub.Close()
		for why, count := range hub.Refused() {
			r.view.Message(fmt.Sprintf("agents' messages that were refused as %s: %d", why, count))
		}
	}
	present, err := hub.Gather(ctx)
	if err == nil {
		err = r.reachable(present)
	}
	if err != nil {
		end()
		return nil, err
	}
	r.hub = hub
	return end, nil
}

// reachable refuses servers that Assay starts where agents are on other machines: they listen on
// loopback.
func (r *running) reachable(present []*agents.Agent) error {
	for _, a := range present {
		if a.IsHere() {
			continue
		}
		for _, s := range r.experiment.Stores {
			if s.Server != nil {
				return fmt.Errorf("the agent %s is on another machine (%s), and Assay starts %s on this one's loopback\n"+
					"start the server where agents reach it, and name it: %s@HOST:PORT", a.Name, a.Host, s.Name, s.Driver)
			}
		}
	}
	return nil
}

// startAway starts the workers of the agents, one for each process, which are parted over the agents
// as threads are over processes. The trial has a client of this machine beside them: it opens the store
// first, loads, and reads back.
func (t *trial) startAway(processes []int) error {
	present, err := t.run.hub.Gather(t.clients.Context)
	if err != nil {
		return fmt.Errorf("%w: %w", agents.ErrLost, err)
	}
	return t.clients.StartAway(present[:t.run.experiment.AgentsIn(t.cell)], processes)
}
