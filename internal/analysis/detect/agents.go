package detect

import (
	"cmp"
	"slices"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
)

// agentsShown is how many agents are named: those that did the least.
const agentsShown = 4

// detectAgents says how far apart agents began, what each did, which of them was at its own limit (the rate
// of all is then less than the store's), and whose link is slow.
func detectAgents(_ *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		starts, bound := finding.AgentStartsParams{At: atOf(t, r.Arm)}, map[string][]finding.AgentBoundParams{}
		var last *record.Phase
		used := r.Used()
		for _, o := range used {
			if len(o.Phase.Agents) == 0 {
				return
			}
			last = o.Phase
			starts.Agents, starts.ApartNS = max(starts.Agents, len(o.Phase.Agents)), max(starts.ApartNS,
				o.Phase.StartSpreadNS)
			if h := o.Phase.History; h != nil {
				starts.HistoryNS = max(starts.HistoryNS, h.ClockErrorNS)
			}
			for _, a := range o.Phase.Agents {
				starts.ErrorNS = max(starts.ErrorNS, a.ClockErrorNS)
				if p, is := agentBound(o.Phase, a); is {
					p.At = atOf(t, r.Arm)
					bound[a.Name] = append(bound[a.Name], p)
				}
			}
		}
		if last == nil {
			return
		}
		found = append(found, placed(t, r.Arm, starts), placed(t, r.Arm, agentRates(atOf(t, r.Arm), last)))
		for _, a := range last.Agents {
			if a.LinkSeconds > 0 {
				found = append(found, placed(t, r.Arm, finding.AgentLinkParams{At: atOf(t, r.Arm), Agent: a.Name,
					Bytes:   a.LinkBytes,
					Seconds: a.LinkSeconds, ErrorNS: a.ClockErrorNS}))
			}
			if of := bound[a.Name]; 2*len(of) > len(used) {
				found = append(found, placed(t, r.Arm, of[len(of)-1]))
			}
		}
	})
	return found
}

// agentBound reports whether an agent's workers had used up what their threads can, or, together with
// the agent itself, what its CPUs or a quota of them give. Under open load they wait for due times by
// looking at the clock.
func agentBound(p *record.Phase, a record.AgentShare) (b finding.AgentBoundParams, is bool) {
	seconds := time.Duration(p.ElapsedNS).Seconds()
	if seconds < useSecondsMin || p.Open || a.CPUs <= 0 {
		return b, false
	}
	var all uint64
	for _, other := range p.Agents {
		all += other.Operations
	}
	b = finding.AgentBoundParams{Agent: a.Name, Cpus: a.CPUSeconds / seconds, Limit: float64(a.Threads),
		Share: float64(a.Operations) / float64(max(all, 1))}
	given := float64(a.CPUs)
	if a.CPUQuota > 0 {
		given = min(given, a.CPUQuota)
	}
	if given <= b.Limit {
		b.Cpus, b.Limit = (a.CPUSeconds+a.AgentCPUSeconds)/seconds, given
	}
	return b, b.Cpus >= cpuLimitShare*b.Limit && b.Cpus <= useExcessMax*b.Limit
}

// agentRates says what agents did, those first that did the least.
func agentRates(at finding.At, p *record.Phase) finding.AgentRatesParams {
	told, seconds := finding.AgentRatesParams{At: at}, max(time.Duration(p.ElapsedNS).Seconds(), 1e-9)
	byRate := slices.SortedFunc(slices.Values(p.Agents),
		func(a, b record.AgentShare) int { return cmp.Compare(a.Operations, b.Operations) })
	for i, a := range byRate {
		if i == agentsShown && len(byRate) > agentsShown+1 {
			told.More = len(byRate) - i
			break
		}
		told.Agents = append(told.Agents, a.Name)
		told.Rates, told.Cpus = append(told.Rates, float64(a.Operations)/seconds), append(told.Cpus,
			a.CPUSeconds/seconds)
	}
	return told
}
