package run

import (
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
)

// watchStops begins to look at the workers and what else the trial measures. Of servers whose faults
// are a part of the phase, Assay knows itself.
func watchStops(clients *clients.Clients, tested *underTest, faulty bool) *host.StopWatch {
	pids := clients.Pids()
	if !faulty {
		pids = append(pids, tested.servers.PIDs...)
	}
	return host.WatchStops(pids...)
}

// stopsIn are stops in a phase that began at some moment, on the machine of an agent or ("") this one.
func stopsIn(startNS int64, stops []host.Stop, agent string) (all []record.Stop) {
	for _, one := range stops {
		if !record.KnownStop(one.Why) {
			continue // of an agent that says what none can
		}
		seconds := float64(one.ToNS-one.FromNS+one.SleptNS) / 1e9
		all = append(all, record.Stop{Why: one.Why, At: float64(one.FromNS-startNS) / 1e9, Seconds: seconds,
			Agent: agent})
	}
	return all
}

// phaseStops are those on all machines that are known once the looking has ended.
func (p *phase) phaseStops() (all []record.Stop) {
	startNS := int64(p.workers.startNS())
	if startNS == 0 {
		return nil
	}
	all = stopsIn(startNS, p.stops.Since(startNS), "")
	for _, s := range p.workers.shares {
		if s.client.Away != nil {
			all = append(all, stopsIn(startNS, s.client.Away.Stops(startNS), s.client.Away.Agent.Name)...)
		}
	}
	return all
}
