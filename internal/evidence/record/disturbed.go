package record

import (
	"math"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
)

// Thresholds of marks. What is below them is still shown, and may be a finding.
const (
	// TakenShareMax: of the CPUs that a phase could use, what other processes or the hypervisor took. Up to here it
	// is noise like any other, which the blocks show (docs/error-rates.md: "hypervisor takes").
	TakenShareMax = 0.25
	// Of the phase's length: a store that a quota holds back for 100 ms in ten seconds shows it in
	// its p99.
	throttledShareMax = 0.01
)

// machineMarks returns marks for a measured phase that had less of the machine than it should, even
// if all counters err on its side.
func (p *Phase) machineMarks() (marks []finding.Mark) {
	m := p.Machine
	if !p.Measured || m == nil || m.tolerated || p.EndedBy == EndedInterrupted || p.EndedBy == EndedFailed {
		return nil
	}
	mark := func(of finding.Parameters) { marks = append(marks, p.mark(of)) }
	if m.Steal != nil && m.Steal.Least > TakenShareMax {
		mark(finding.MarkStealParams{Least: m.Steal.Least, Most: m.Steal.Most})
	}
	if taken := m.Taken(); taken != nil && taken.Least > TakenShareMax {
		mark(finding.MarkForeignParams{Least: taken.Least, Most: taken.Most})
	}
	if m.QuotaSeconds != nil && *m.QuotaSeconds > throttledShareMax*m.Seconds {
		mark(finding.MarkQuotaParams{Group: m.QuotaGroup, Periods: *m.QuotaPeriods, HeldS: *m.QuotaSeconds,
			Seconds: m.Seconds})
	}
	if m.HeatSeconds != nil && *m.HeatSeconds > throttledShareMax*m.Seconds {
		mark(finding.MarkHeatParams{HeldS: *m.HeatSeconds, Seconds: m.Seconds})
	}
	return marks
}

// Taken is what other processes took of the CPUs that the phase could use, as a share (0 to 1): what they used
// beyond the spare ones. Where none is spare, it is Foreign. nil: not known.
func (m *Machine) Taken() *host.Bounds {
	if m.Foreign == nil || m.Spare <= 0 || m.Spare >= m.CPUs {
		return m.Foreign
	}
	spare, cpus := float64(m.Spare), float64(m.CPUs)
	of := func(share float64) float64 { return max(share*cpus-spare, 0) / (cpus - spare) }
	return &host.Bounds{Least: of(m.Foreign.Least), Most: of(m.Foreign.Most)}
}

// SpareCPUs is how many of some CPUs a phase had no use for, so that others may use as many and take nothing
// from it: cores that are left where its threads, a server's as many, what its processes used on average
// (cpuSeconds in a phase of so many seconds), and one for work in the background have one each.
func SpareCPUs(cores, threads int, server bool, cpuSeconds, seconds float64) int {
	if server {
		threads *= 2
	}
	if seconds > 0 {
		threads = max(threads, int(math.Ceil(cpuSeconds/seconds)))
	}
	return max(cores-threads-1, 0)
}

// stopMarks returns a mark for each way in which a phase was stopped, on each machine.
func (p *Phase) stopMarks() (marks []finding.Mark) {
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

// stoppedNS is for how long something was stopped in a phase.
func (p *Phase) stoppedNS() (ns int64) {
	for _, s := range p.Stops {
		ns += int64(s.Seconds * 1e9)
	}
	return ns
}

// KnownStop reports whether something may stand still for a reason: one of package host's words.
func KnownStop(why string) bool { return stopCodes[why] != "" }

// HeldNS is for how long a thread of the phase may have waited for a CPU: no longer than others are
// known to have used CPUs, or its own kind where there are more threads than CPUs, and while it was
// stopped.
func (p *Phase) HeldNS(cpus int) int64 {
	var seconds float64
	if m := p.Machine; m != nil {
		for _, others := range []*host.Bounds{m.Foreign, m.Steal} {
			if others != nil {
				seconds += max(others.Least, 0) * float64(cpus) * m.Seconds
			}
		}
		if m.QuotaSeconds != nil {
			seconds += *m.QuotaSeconds
		}
	}
	if p.Threads > cpus && p.Process.CPUSeconds != nil {
		seconds += *p.Process.CPUSeconds
	}
	return int64(seconds*1e9) + p.stoppedNS()
}

// Tolerate says whether what the phase had to do without is only told, and costs its trial no rank: the
// experiment's busy_machine says so.
func (m *Machine) Tolerate(yes bool) { m.tolerated = yes }

// cpus is how many CPUs the machine of a phase has; 0: not known.
func (p *Phase) cpus() int {
	if p.Machine == nil {
		return 0
	}
	return p.Machine.CPUs
}

// agentMarks returns a mark for each agent that sent nothing for a time, or was lost.
func (p *Phase) agentMarks() (marks []finding.Mark) {
	for _, a := range p.Agents {
		if u := a.Unheard; u != nil {
			m := finding.New(finding.AgentUnheardParams{Agent: a.Name, AtS: u.AtS, Least: u.Least, Most: u.Most})
			marks = append(marks, finding.Mark{Phase: p.Name, Message: m})
		}
		if a.SilentSeconds > 0 {
			m := finding.New(finding.AgentSilentParams{Agent: a.Name, Seconds: a.SilentSeconds, AtS: a.SilentAt})
			marks = append(marks, finding.Mark{Phase: p.Name, Message: m})
		}
	}
	return marks
}

// confinedMarks returns a mark for each way in which something outside changed what the phase's processes
// may have.
func (p *Phase) confinedMarks() (marks []finding.Mark) {
	for _, c := range p.Confined {
		marks = append(marks, p.mark(finding.MarkConfinedParams{What: c.What, From: c.From, To: c.To}))
	}
	return marks
}
