package run

import (
	"assay/internal/base/finding"
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
		if stopCodes[one.Why] == "" {
			continue // of an agent that says what none can
		}
		seconds := float64(one.ToNS-one.FromNS+one.SleptNS) / 1e9
		all = append(all, record.Stop{Why: one.Why, At: float64(one.FromNS-startNS) / 1e9, Seconds: seconds, Agent: agent})
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

// stopMarks returns a mark for each way in which a phase was stopped, on each machine.
func stopMarks(p *record.Phase) (marks []finding.Mark) {
	type way struct{ why, agent string }
	seconds, first, order := map[way]float64{}, map[way]float64{}, []way{}
	for _, s := range p.Stops {
		w := way{s.Why, s.Agent}
		if _, seen := seconds[w]; !seen {
			first[w], order = s.At, append(order, w)
		}
		seconds[w] += s.Seconds
	}
	for _, w := range order {
		m := finding.New(finding.StopParams{Code: stopCodes[w.why], Agent: w.agent, Seconds: seconds[w], AtS: first[w]})
		marks = append(marks, finding.Mark{Phase: p.Name, Message: m})
	}
	return marks
}

var stopCodes = map[string]finding.Code{
	host.StoppedBySignal:   finding.MarkStoppedSignal,
	host.StoppedByDebugger: finding.MarkStoppedDebugger,
	host.StoppedFrozen:     finding.MarkStoppedFrozen,
	host.StoppedGap:        finding.MarkStoppedGap,
	host.StoppedSuspend:    finding.MarkStoppedSuspend,
}

// stoppedNS is for how long something stood still in a phase.
func stoppedNS(p *record.Phase) (ns int64) {
	for _, s := range p.Stops {
		ns += int64(s.Seconds * 1e9)
	}
	return ns
}
