package tell

import (
	"regexp"
	"slices"
	"strings"

	"assay/internal/analysis/facts"
	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/presentation/model"
)

// pseudo is the end of a Go pseudo-version: date and commit.
var pseudo = regexp.MustCompile(`-(?:0\.)?\d{14}-([0-9a-f]{7})[0-9a-f]{5}$`)

// agentsBegan is how far apart agents began a measured phase at most, and how exactly that is known.
func agentsBegan(tables []*facts.Table) (p finding.AgentsBeganParams) {
	facts.EachMeasured(tables, func(_ *facts.Table, r *facts.Row) {
		for _, o := range r.Used() {
			p.Agents, p.ApartNS = max(p.Agents, len(o.Phase.Agents)), max(p.ApartNS, o.Phase.StartSpreadNS)
			for _, a := range o.Phase.Agents {
				p.ErrorNS = max(p.ErrorNS, a.ClockErrorNS)
			}
		}
	})
	return p
}

// onOf says how agents began, what the runs were on: each machine once, then the versions of what was measured.
func onOf(runs []*record.Run, tables [][]*facts.Table, stores []model.Store) (on []finding.Message) {
	if began := agentsBegan(slices.Concat(tables...)); began.Agents > 0 {
		on = append(on, finding.New(began))
	}
	var seen []finding.MachineParams
	for _, run := range runs {
		e := run.Environment
		machine := finding.MachineParams{CPU: e.CPU, Cores: e.CPUs, MemoryBytes: e.MemoryBytes, Device: e.Device,
			Filesystem: e.Filesystem, Kernel: shortKernel(e.Kernel)}
		if machine.CPU == "" || slices.Contains(seen, machine) {
			continue
		}
		seen = append(seen, machine)
		on = append(on, finding.New(machine))
	}
	var versions []string
	for _, s := range stores {
		version := s.Version // of the library, which is the server's client where its settings tell the server's own
		if at := slices.IndexFunc(s.Settings, func(f model.Fact) bool { return f.Name == "version" }); at >= 0 && s.Settings[at].Value != "" {
			version = s.Settings[at].Value
		}
		name := s.Driver
		if s.Program != nil && s.Program.Product != "" {
			name = s.Program.Product // "valkey", by Redis's protocol
		}
		if text := strings.TrimSpace(name + " " + pseudo.ReplaceAllString(version, "+$1")); version != "" && !slices.Contains(versions, text) {
			versions = append(versions, text)
		}
	}
	if len(versions) > 0 {
		on = append(on, finding.New(finding.VersionsParams{Versions: versions}))
	}
	return on
}

// shortKernel leaves the build out: "Linux 6.1.0-18-amd64".
func shortKernel(kernel string) string {
	words := strings.Fields(kernel)
	return strings.Join(words[:min(len(words), 2)], " ")
}
