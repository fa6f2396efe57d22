package detect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/plan"
)

// When the client is what limits a server's rate. Half of a machine that both used up is not enough:
// the kernel then gives each what it asks for, and neither has a limit of its own.
const (
	cpuLimitShare    = 0.9 // of its CPUs: no more is to be had, as sampling and the kernel take a part
	serverIdleShare  = 0.9 // of one CPU: below it, even a server of one thread has time left
	serverOtherShare = 0.8 // of the client's use, where both have the same CPUs
)

// Use below this length is not known: the kernel counts it in ticks of 10 ms for each process, and it is
// read a little before a phase and after it. Nor is use of more than there is, by more than both explain.
const (
	useSecondsMin = 0.5
	useExcessMax  = 1.1 // of its CPUs
)

// detectClientBound names the arms with a server in most of whose trials the client's CPUs were used
// up and the server's were not. Under open load the client's use says nothing: it waits for due
// times by looking at the clock. Where the arms are clients of one server, their limit is what is compared.
func detectClientBound(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if t.Open || comparesClients(run, t) {
			return
		}
		var evidence []finding.Evidence
		var most clientUse
		used := r.Used()
		for _, o := range used {
			if u, known := clientUseOf(o.Phase, run.Environment.CPUs, t.Parameters.CPUs); known && u.bound() {
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

// comparesClients reports whether the arms of a table are several clients of one server.
func comparesClients(run *record.Run, t *facts.Table) bool {
	servers, clients := map[string]bool{}, map[string]bool{}
	for _, r := range t.Rows {
		if r.Store < 0 || r.Role == plan.AA || len(r.Used()) == 0 {
			continue
		}
		s := &run.Experiment.Stores[r.Store]
		servers[serverOf(s, r.Used()[0].Trial)] = true
		clients[fmt.Sprint(s.Driver, s.Options, s.Worker, s.JVM)] = true
	}
	return len(servers) == 1 && !servers[""] && len(clients) > 1
}

// serverOf is what tells a store's server from others: where it is, or the program that Assay started and how
// it was set. "": there is none, or it is not known.
func serverOf(s *experiment.Store, trial *record.Trial) string {
	switch {
	case s.Server == nil:
		return strings.Join(s.Endpoints, " ")
	case trial == nil || trial.Server == nil || trial.Server.Product == "":
		return ""
	}
	started := trial.Server
	return fmt.Sprint(started.Product, started.Version, started.SHA256, started.Options, s.Server.Settings,
		s.Server.Each, s.Server.Count)
}

// detectWakeUps names the arms with a server on this machine of whose median latency waking both ends
// takes more than [host.WakeUpShareMax]: a figure of the machine, and of how the client waits, as much
// as of the store. Behind a pipeline an end finds more to do before it sleeps, and in open load the
// client looks at the clock in place of sleeping.
func detectWakeUps(run *record.Run, tables []*facts.Table) (found []finding.Finding) {
	wakeUp := run.Environment.WakeUp
	facts.EachMeasured(tables, func(t *facts.Table, r *facts.Row) {
		if t.Open {
			return
		}
		used := r.Used()
		for _, o := range used {
			if p := o.Phase; p == nil || p.Process.ServerCPUSeconds == nil || p.Pipeline > 1 {
				return
			}
		}
		at := slices.IndexFunc(r.Points, func(p facts.Point) bool { return p.Quantile == 0.5 })
		if at < 0 || len(used) == 0 {
			return
		}
		median := r.Points[at].NS
		if share := wakeUp.ShareOf(median); share > host.WakeUpShareMax {
			found = append(found, placed(t, r.Arm, finding.WakeUpsParams{At: atOf(t, r.Arm), Share: share,
				WakeUpNS: wakeUp.CheapestNS(), MedianNS: median, ClientNS: clientNS(used)}))
		}
	})
	return found
}

// clientNS is the client's CPU time an operation, over phases; nil: not known of all.
func clientNS(used []*facts.Observation) *float64 {
	seconds, done := 0.0, uint64(0)
	for _, o := range used {
		if o.Phase.Process.CPUSeconds == nil {
			return nil
		}
		seconds, done = seconds+*o.Phase.Process.CPUSeconds, done+facts.DoneOf(o.Phase)
	}
	return facts.Divided(finding.Known(seconds*1e9), float64(done))
}

// clientUse is what both ends of a phase used, in CPUs: seconds of CPU time a second.
type clientUse struct {
	client, server float64
	limit          float64 // of the client: its CPUs, or its threads if they are fewer
	shared         bool    // both have the same CPUs
}

// clientUseOf returns known = false for a phase without a server, or whose use was not measured or is too
// short for it.
func clientUseOf(p *record.Phase, machine int, pinned *experiment.CPUs) (u clientUse, known bool) {
	if p == nil || p.Process.CPUSeconds == nil || p.Process.ServerCPUSeconds == nil || p.ElapsedNS <= 0 ||
		machine <= 0 {
		return u, false
	}
	seconds := time.Duration(p.ElapsedNS).Seconds()
	u.client, u.server = *p.Process.CPUSeconds/seconds, *p.Process.ServerCPUSeconds/seconds
	u.shared = pinned == nil || len(pinned.Client) == 0 || len(pinned.Server) == 0 || overlap(pinned.Client,
		pinned.Server)
	available := float64(machine)
	if pinned != nil && len(pinned.Client) > 0 {
		available = float64(len(pinned.Client))
	}
	if u.shared {
		available -= u.server // it had these
	}
	u.limit = min(available, float64(p.Threads))
	return u, seconds >= useSecondsMin && u.client <= useExcessMax*u.limit
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
