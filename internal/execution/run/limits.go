package run

import (
	"fmt"
	"slices"

	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/experiment"
	"assay/store"
)

// cpus are those that the experiment pins client and server to; none: the kernel places them.
func (r *running) cpus() experiment.CPUs {
	if r.experiment.CPUs == nil {
		return experiment.CPUs{}
	}
	return *r.experiment.CPUs
}

// checkLimits refuses an experiment whose memory limit or CPUs can't be set here, before anything
// is made: an experiment without them would be another one.
func checkLimits(e *experiment.Experiment) error {
	if e.CPUs != nil {
		if err := host.CheckCPUs(slices.Concat(e.CPUs.Client, e.CPUs.Server)); err != nil {
			return fmt.Errorf("the experiment's cpus: %w", err)
		}
	}
	if err := raiseFiles(e); err != nil {
		return err
	}
	if !slices.ContainsFunc(e.Cells, func(c experiment.Cell) bool { return c.MemoryLimit > 0 }) {
		return nil
	}
	if err := host.CheckMemoryLimit(); err != nil {
		return fmt.Errorf("the experiment has a memory_limit that can't be set here: %w. Without the limit: --set memory_limit=none", err)
	}
	return nil
}

// filesBeside is how many files a worker or a server may have open beside its connections.
const filesBeside = 256

// filesUsual is the soft limit with which processes mostly begin.
const filesUsual = 1024

// raiseFiles lets workers and servers have as many connections as the experiment asks for.
func raiseFiles(e *experiment.Experiment) error {
	most := 0
	for _, s := range e.Stores {
		if s.Description.Kind != store.Server {
			continue
		}
		for _, cell := range e.Cells {
			most = max(most, e.ConnectionsMax(s, cell))
		}
	}
	if most+filesBeside <= filesUsual { // nothing is changed for servers that need nothing
		return nil
	}
	if err := host.RaiseFiles(uint64(most + filesBeside)); err != nil {
		return fmt.Errorf("the experiment opens %s connections: %w", format.Count(uint64(most)), err)
	}
	return nil
}
