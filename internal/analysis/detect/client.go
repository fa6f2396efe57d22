package detect

import (
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// When the client is what limits a server's rate. Half of a machine that both used up is not enough:
// the kernel then gives each what it asks for, and neither has a limit of its own.
const (
	cpuLimitShare    = 0.9 // of its CPUs: no more is to be had, as sampling and the kernel take a part
	serverIdleShare  = 0.9 // of one CPU: below it, even a server of one thread has time left
	serverOtherShare = 0.8 // of the client's use, where both have the same CPUs
)

// detectClientBound names the arms with a server in most of whose trials the client's CPUs were used
// up and the server's were not. Under open load the client's use says nothing: it waits for due
// times by looking at the clock.
func detectClientBound(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if t.Open {
			return
		}
		var evidence []finding.Evidence
		var most clientUse
		used := r.Used()
		for _, o := range used {
			if u, known := clientUseOf(o.Phase, run.Environment.CPUs, run.Experiment.CPUs); known && u.bound() {
				m := finding.New(finding.SeenClientBoundParams{ClientCpus: u.client, LimitCpus: u.limit,
					ServerCpus: u.server})
				evidence = append(evidence, seenIn(o, m))
				if u.client > most.client {
					most = u
				}
			}
		}
		if 2*len(evidence) <= len(used) {
			return
		}
		p := finding.ClientBoundParams{At: atOf(t, r.Arm),
			ClientCpus: most.client, LimitCpus: most.limit, ServerCpus: most.server}
		found = append(found, placed(t, r.Arm, p, evidence...))
	})
	return found
}

// clientUse is what both ends of a phase used, in CPUs: seconds of CPU time a second.
type clientUse struct {
	client, server float64
	limit          float64 // of the client: its CPUs, or its threads if they are fewer
	shared         bool    // both have the same CPUs
}

// clientUseOf returns known = false for a phase without a server, or whose use was not measured.
func clientUseOf(p *record.Phase, machine int, pinned *experiment.CPUs) (u clientUse, known bool) {
	if p == nil || p.Process.CPUSeconds == nil || p.Process.ServerCPUSeconds == nil || p.ElapsedNS <= 0 || machine <= 0 {
		return u, false
	}
	seconds := time.Duration(p.ElapsedNS).Seconds()
	u.client, u.server = *p.Process.CPUSeconds/seconds, *p.Process.ServerCPUSeconds/seconds
	u.shared = pinned == nil || len(pinned.Client) == 0 || len(pinned.Server) == 0 || overlap(pinned.Client, pinned.Server)
	available := float64(machine)
	if pinned != nil && len(pinned.Client) > 0 {
		available = float64(len(pinned.Client))
	}
	if u.shared {
		available -= u.server // it had these
	}
	u.limit = min(available, float64(p.Threads))
	return u, true
}

func overlap(a, b experiment.CPUList) bool {
	for _, cpu := range a {
		for _, other := range b {
			if cpu == other {
				return true
			}
		}
	}
	return false
}

// bound reports whether the client had no more CPU time to use, and the server had.
func (u clientUse) bound() bool {
	if u.limit <= 0 || u.client < cpuLimitShare*u.limit {
		return false
	}
	return u.server < serverIdleShare && (!u.shared || u.server < serverOtherShare*u.client)
}
