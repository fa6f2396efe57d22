package detect_test

import (
	"fmt"
	"math"
	"testing"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/testkit/resulttest"
	"assay/store"
)

// TestClientBound has the use of both ends in place of that of the clean run's arm elm, which has 4
// threads on a machine of 4 CPUs.
//
// Fault (servers): the client is slower than the server
// Assay: `client-bound`, with the CPUs that each used
func TestClientBound(t *testing.T) {
	use := func(client, server float64, pinned *experiment.CPUs, trialsMax int) func(run *record.Run) {
		return func(run *record.Run) {
			run.Environment.CPUs = 4
			for i := range run.Experiment.Cells {
				run.Experiment.Cells[i].CPUs = pinned
			}
			for i, trial := range resulttest.Trials(run, "elm") {
				p := resulttest.PhaseOf(trial, "put")
				p.Threads = 4
				seconds := float64(p.ElapsedNS) / 1e9
				c, s := client*seconds, server*seconds
				p.Process.CPUSeconds = &c
				if i < trialsMax {
					p.Process.ServerCPUSeconds = &s
				}
			}
			elm := &run.Experiment.Stores[resulttest.Trials(run, "elm")[0].Plan.Store]
			elm.Description.Kind, elm.Server = store.Server, &experiment.Server{}
		}
	}
	short := func(plant func(*record.Run)) func(run *record.Run) {
		return func(run *record.Run) {
			for _, trial := range resulttest.Trials(run, "elm") {
				resulttest.PhaseOf(trial, "put").ElapsedNS /= 1000
			}
			plant(run)
		}
	}
	// Each arm is a store of a server: the same one for all, or one for each.
	clients := func(same bool) func(run *record.Run) {
		return func(run *record.Run) {
			use(0.97, 0.4, &experiment.CPUs{Client: experiment.CPUList{0}, Server: experiment.CPUList{1}}, 1<<10)(run)
			for i := range run.Experiment.Stores {
				s := &run.Experiment.Stores[i]
				s.Server, s.Endpoints = nil, []string{"127.0.0.1:1"}
				if !same {
					s.Endpoints = []string{fmt.Sprint("127.0.0.1:", i+1)}
				}
			}
		}
	}
	apart := &experiment.CPUs{Client: experiment.CPUList{0}, Server: experiment.CPUList{1}}
	found := []finding.Code{finding.ClientBound}
	const all = 1 << 10
	expect(t, resulttest.CleanRun, []planted{
		{"its own CPU is used up", use(0.97, 0.4, apart, all), found, finding.Params{"client_cpus": 0.97, "limit_cpus": 1.0, "server_cpus": 0.4}},
		{"it leaves the server a tenth", use(3.4, 0.3, nil, all), found, finding.Params{"limit_cpus": 3.7}},
		{"both have used up theirs", use(0.97, 0.96, apart, all), nil, nil},
		{"the server's own CPU is used up", use(0.6, 0.98, apart, all), nil, nil},
		{"each waits for the other", use(0.5, 0.4, apart, all), nil, nil},
		{"they share what there is", use(2.0, 1.9, nil, all), nil, nil},
		{"the arms are clients of one server", clients(true), []finding.Code{finding.ServerKept}, nil},
		{"the arms are servers", clients(false), append([]finding.Code{finding.ServerKept}, found...), nil},
		{"in one trial of several", use(0.97, 0.4, apart, 1), nil, nil},
		{"no server", use(0.97, 0.4, apart, 0), nil, nil},
		{"more than there is", use(2.46, 0.1, apart, all), nil, nil},
		{"too short to be known", short(use(0.97, 0.4, apart, all)), nil, nil},
	})
}

// TestAgentBound has two agents do the phase of elm, of which the second did a quarter.
func TestAgentBound(t *testing.T) {
	agents := func(second record.AgentShare, cpus float64) func(run *record.Run) {
		return func(run *record.Run) {
			for _, trial := range resulttest.Trials(run, "elm") {
				p := resulttest.PhaseOf(trial, "put")
				second.Name, second.Operations, second.CPUSeconds, second.ClockErrorNS = "load2", 1000, cpus*float64(p.ElapsedNS)/1e9, 1
				p.Agents = []record.AgentShare{{Name: "load1", CPUs: 4, Threads: 2, Operations: 3000, CPUSeconds: 0.5 * float64(p.ElapsedNS) / 1e9, ClockErrorNS: 1}, second}
			}
		}
	}
	told := []finding.Code{finding.AgentStarts, finding.AgentRates}
	found := append([]finding.Code{finding.AgentBound}, told...)
	expect(t, resulttest.CleanRun, []planted{
		{"its CPUs are used up", agents(record.AgentShare{CPUs: 2, Threads: 8}, 1.95), found, finding.Params{"agent": "load2", "cpus": 1.95, "limit": 2, "share": 0.25}},
		{"its threads use a CPU each", agents(record.AgentShare{CPUs: 4, Threads: 1}, 0.97), found, finding.Params{"agent": "load2", "limit": 1, "share": 0.25}},
		{"its quota is used up", agents(record.AgentShare{CPUs: 4, CPUQuota: 0.2, Threads: 2}, 0.2), found, finding.Params{"agent": "load2", "cpus": 0.2, "limit": 0.2, "share": 0.25}},
		{"it waits", agents(record.AgentShare{CPUs: 4, CPUQuota: 3, Threads: 2}, 1), told, nil},
	})
}

// TestWakeUps has a wake-up that takes a part of elm's own median latency. The clean run's arms have
// no server until one is planted.
//
// Fault (servers): waking client and server is a third of the median and more
// Assay: `wake-ups`, with the client's CPU time an operation
func TestWakeUps(t *testing.T) {
	served := func(part float64, change func(*record.Phase)) func(run *record.Run) {
		return func(run *record.Run) {
			shortest := math.Inf(1)
			for _, trial := range resulttest.Trials(run, "elm") {
				p := resulttest.PhaseOf(trial, "put")
				client, server := 0.1, 0.1
				p.Process.CPUSeconds, p.Process.ServerCPUSeconds = &client, &server
				shortest = min(shortest, p.Operations[0].Service.Quantile(0.5))
				if change != nil {
					change(p)
				}
			}
			run.Environment.WakeUp = &host.WakeUp{SameCPU: part * shortest, OtherCPU: 2 * part * shortest}
		}
	}
	found := []finding.Code{finding.WakeUps}
	expect(t, resulttest.CleanRun, []planted{
		{"half of the median", served(0.25, nil), found, finding.Params{"arm": "elm"}},
		{"a tenth of it", served(0.05, nil), nil, nil},
		{"behind a pipeline", served(0.25, func(p *record.Phase) { p.Pipeline = 16 }), nil, nil},
		{"of a store without a server", served(0.25, func(p *record.Phase) { p.Process.ServerCPUSeconds = nil }), nil, nil},
	})
}
