package run

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/agents"
	"assay/internal/execution/clients"
	"assay/internal/execution/control"
)

// prepareAway prepares the share of an agent's worker, and holds the trace that the agent has made
// against this one's.
func (w *workers) prepareAway(s *share, request control.Prepare) (control.Prepared, error) {
	prepared, err := s.client.Away.Prepare(w.clients.Context, agents.Share{Prepare: request, Specs: w.specs,
		Processes: len(w.shares),
		Recorded:  w.recorded, HistoryRoom: w.room},
		w.files.Counters, w.clients.Timeout)
	if w.clients.Context.Err() != nil {
		return prepared.Prepared, clients.ErrInterrupted
	}
	if err == nil && prepared.Digest != w.file.Digest(s.first, s.first+s.count) {
		err = errors.New("its trace is not the one that was made here of the same seed")
	}
	return prepared.Prepared, err
}

// awayShares are the agents' workers of the phase that live.
func (w *workers) awayShares() (workers []*agents.Worker) {
	for _, s := range w.shares {
		if s.client.Away != nil && s.client.Gone == nil {
			workers = append(workers, s.client.Away.Worker)
		}
	}
	return workers
}

// look copies what agents' workers have counted by now. fresh says if all of it is of this moment.
func (w *workers) look(histograms bool, patience time.Duration) (fresh bool) {
	workers := w.awayShares()
	return len(workers) == 0 || agents.Look(workers, histograms, patience)
}

// agentsPatience is how long a sample waits at most for the agents' counters: what is late is in the next
// one.
const agentsPatience = 500 * time.Millisecond

// lookLast copies the final counters. They are asked for until they are there, or the agent is lost:
// what an agent that is there knows, no figure of the phase is without. fresh says if all of it is of
// this moment.
func (w *workers) lookLast() (fresh bool) {
	fresh = true
	for done := w.look(true, time.Second); !done; done = agents.LookOn(w.awayShares(), true, time.Second) {
		if w.loseLost() {
			fresh = false
		}
	}
	for _, s := range w.shares {
		switch {
		case s.client.Away == nil || s.heard:
		case s.client.Gone == nil:
			s.client.Away.Refresh()
			s.heard = true
		case s.client.Away.Agent.Lost() == nil: // its worker is gone, what that has counted is not
			s.heard = agents.Look([]*agents.Worker{s.client.Away.Worker}, true, time.Second)
		}
	}
	return fresh
}

// unheard says of each thread whether it may have gone on after its last counters that were heard; nil:
// none has.
func (w *workers) unheard() []bool {
	return w.threadsOf(func(s *share) bool { return s.client.Away != nil && !s.heard })
}

// lost says of each thread whether it is of an agent's worker that something took away: what it left
// undone is not its store's; nil: none is.
func (w *workers) lost() []bool {
	return w.threadsOf(func(s *share) bool {
		gone := s.client.Gone
		return s.client.Away != nil && (!s.heard || errors.Is(gone, agents.ErrLost) || errors.Is(gone, agents.ErrTaken))
	})
}

// unheardOf adds what is not known of a share to that of other shares of its agent.
func (w *workers) unheardOf(s *share, of *record.Unheard) *record.Unheard {
	if of == nil {
		of = &record.Unheard{AtS: s.client.Away.LookedAt(), Most: new(uint64)}
	}
	of.Threads, of.AtS = of.Threads+s.count, min(of.AtS, s.client.Away.LookedAt())
	counted, now := w.file.Counted(), w.files.Counters.Sample(false)
	entries := func(thread int, n uint64) (operations uint64) {
		for slot, count := range w.file.Count(thread, n) {
			if counted[w.file.Operations[slot]] {
				operations += count
			}
		}
		return operations
	}
	for i := s.first; i < s.first+s.count; i++ {
		of.Least += entries(i, now.Acknowledged[i])
		if limit := w.file.Threads[i].Limit; limit == 0 {
			of.Most = nil // it had a time, and no number
		} else if of.Most != nil {
			*of.Most += entries(i, limit)
		}
	}
	return of
}

// histories copies what the agents' threads have recorded of keys. What can't be had any more counts as
// dropped, from the first operation on.
func (w *workers) histories() {
	if w.specs == nil || w.files.History == nil {
		return
	}
	var all sync.WaitGroup
	for _, s := range w.shares {
		all.Go(func() {
			err := s.client.Gone
			if err == nil {
				err = s.client.Away.History(w.clients.Context, s.first, s.count, w.files.History, w.clients.Timeout)
			}
			for i := s.first; err != nil && i < s.first+s.count; i++ {
				head, _ := w.files.History.Thread(i)
				head.Count, head.Dropped = 0, max(head.Dropped, 1)
			}
			if err != nil && s.client.Gone == nil && w.clients.Context.Err() == nil {
				w.message(fmt.Sprintf("the history of keys that %s has recorded: %v", s.client.Away.Agent.Name, err))
			}
		})
	}
	all.Wait()
}

// onOneClock puts a history of a phase that took so long on the conductor's clock. All workers of an
// agent have its one clock.
func (w *workers) onOneClock(h *audit.History, elapsedNS int64) {
	type clock struct {
		number        int
		shift, within int64
	}
	of := map[*agents.Agent]clock{}
	for _, s := range w.shares {
		if s.client.Away == nil {
			continue
		}
		a := s.client.Away.Agent
		c, known := of[a]
		if !known {
			c.number = len(of) + 1
			c.shift, c.within = s.client.Away.Clock(w.startAt, max(elapsedNS, 0))
			of[a] = c
		}
		h.OnClock(s.first, s.count, c.number, c.shift, c.within)
	}
}

// loseLost notes agents that were lost between the end of their share and the last look.
func (w *workers) loseLost() (lost bool) {
	for _, s := range w.shares {
		if s.client.Away == nil || s.client.Gone != nil {
			continue
		}
		if err := s.client.Away.Agent.Lost(); err != nil {
			w.lose(s, err)
			lost = true
		}
	}
	return lost
}

// stopAgents asks the agents' workers to end the phase.
func (w *workers) stopAgents() {
	for _, worker := range w.awayShares() {
		worker.Stop()
	}
}

// lateCounts is how long an agent's last counters may take without its link being told to be slow.
const lateCounts = time.Second

// agentShares are what each agent did of the phase, in the order of its threads.
func (w *workers) agentShares() (all []record.AgentShare) {
	at := map[*agents.Agent]int{}
	counted := w.file.Counted()
	for _, s := range w.shares {
		if s.client.Away == nil {
			continue
		}
		a := s.client.Away.Agent
		i, known := at[a]
		if !known {
			i = len(all)
			at[a] = i
			all = append(all, record.AgentShare{Name: a.Name, Host: a.Host, CPUs: a.CPUs, CPUQuota: a.Quota})
			for _, gap := range a.Gaps(w.startAt) {
				from := max(gap.FromNS, w.startAt)
				if all[i].SilentSeconds == 0 {
					all[i].SilentAt = float64(from-w.startAt) / 1e9
				}
				all[i].SilentSeconds += float64(gap.ToNS-from) / 1e9
			}
		}
		r := &all[i]
		part := w.files.Counters.Part(s.first, s.first+s.count).Sample(false)
		for slot, o := range w.file.Operations {
			if counted[o] {
				r.Operations += part.Totals[slot].Operations()
			}
		}
		used := s.client.Away.Usage()
		r.Threads, r.Processes, r.LatenessMaxNS = r.Threads+s.count, r.Processes+1, max(r.LatenessMaxNS,
			part.LatenessMaxNS)
		r.CPUSeconds, r.RSSBytes, r.AgentCPUSeconds =
			r.CPUSeconds+used.CPUSeconds, r.RSSBytes+used.RSSBytes, max(r.AgentCPUSeconds, used.AgentCPUSeconds)
		if !s.heard {
			r.Unheard = w.unheardOf(s, r.Unheard)
		} else if link := s.client.Away.Link(); link.Took > lateCounts {
			r.LinkBytes, r.LinkSeconds = r.LinkBytes+uint64(link.Bytes), max(r.LinkSeconds, link.Took.Seconds())
		}
		if ns, errorNS := s.client.Away.Start(); ns > 0 {
			r.StartNS, r.ClockErrorNS = max(r.StartNS, ns-w.startAt), max(r.ClockErrorNS, errorNS)
		}
	}
	return all
}

// addUsage adds to a reading what agents of other machines use: this one's kernel does not see it.
func (w *workers) addUsage(usage host.Usage) host.Usage {
	for _, s := range w.shares {
		if s.client.Away == nil || s.client.Away.Agent.IsHere() || usage.CPUSeconds == nil || usage.RSSBytes == nil {
			continue
		}
		used := s.client.Away.Usage()
		cpu, rss := *usage.CPUSeconds+used.CPUSeconds, *usage.RSSBytes+used.RSSBytes
		usage.CPUSeconds, usage.RSSBytes = &cpu, &rss
	}
	return usage
}

// detach ends the copying into the phase's counters, which are to be unmapped.
func (w *workers) detach() {
	for _, s := range w.shares {
		if s.client.Away != nil {
			s.client.Away.Detach()
		}
	}
}
