package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/internal/base/format"
	"assay/internal/evidence/host"
	"assay/internal/experiment"
	"assay/store"
)

// cpus are those that the trial's client and server are pinned to; none: the kernel places them.
func (t *trial) cpus() experiment.CPUs {
	if t.cell.CPUs == nil {
		return experiment.CPUs{}
	}
	return *t.cell.CPUs
}

// pinned are the CPUs that all of the trial's processes are pinned to; nil: some may use any.
func (t *trial) pinned() []int {
	at := t.cpus()
	if len(at.Client) == 0 || len(t.tested.servers.PIDs) > 0 && (t.tested.own == nil || len(at.Server) == 0) {
		return nil
	}
	all := slices.Clone([]int(at.Client))
	if t.tested.own != nil {
		all = append(all, at.Server...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// checkLimits refuses an experiment whose memory limit or CPUs can't be set here, before anything
// is made: an experiment without them would be another one.
func checkLimits(e *experiment.Experiment, o Options) error {
	for _, c := range e.Cells {
		if c.CPUs == nil {
			continue
		}
		if err := host.CheckCPUs(slices.Concat(c.CPUs.Client, c.CPUs.Server)); err != nil {
			return fmt.Errorf("the experiment's cpus: %w", err)
		}
	}
	if err := raiseFiles(e); err != nil {
		return err
	}
	if err := checkRooms(e, o); err != nil {
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

// checkQuotaMount refuses an experiment whose disk quotas can't be mounted here, before anything is
// made.
func checkQuotaMount(e *experiment.Experiment, o Options) (quotaWay, error) {
	quota := func(c experiment.Cell) bool { return c.DiskQuota > 0 }
	files := func(s experiment.Store) bool { return s.KeepsFiles() }
	if e.DiskQuotaBy != experiment.QuotaByMount || !slices.ContainsFunc(e.Cells, quota) ||
		!slices.ContainsFunc(e.Stores, files) {
		return quotaWay{}, nil
	}
	where, err := existing(o.DataRoot, o.Directory)
	if err != nil {
		return quotaWay{}, err
	}
	by, whyNotLoop, err := host.CheckQuotaMount(where)
	if err != nil {
		return quotaWay{}, fmt.Errorf("the experiment has disk_quota_by: mount, which can't be done here: %w. "+
			"With disk_quota_by: stop, the conductor ends the phase at that size instead: --set disk_quota_by=stop", err)
	}
	return quotaWayOf(e, by, whyNotLoop)
}

func quotaWayOf(e *experiment.Experiment, by, whyNotLoop string) (quotaWay, error) {
	if by == host.QuotaLoop {
		return quotaWay{by: by}, nil
	}
	if slices.ContainsFunc(e.Cells, func(c experiment.Cell) bool { return c.DiskQuota > 0 && c.MemoryLimit > 0 }) {
		return quotaWay{}, fmt.Errorf("the experiment has disk_quota_by: mount and a memory_limit, which can't be done here: %w: without a loop device (%s) the disk would be "+
			"a tmpfs, whose pages count against the limit. With disk_quota_by: stop, the two go together: --set disk_quota_by=stop", host.ErrNoQuotaMount, whyNotLoop)
	}
	return quotaWay{by: by, caution: "the file system is in memory: what is stored counts as memory, and a sync costs nothing. No loop device: " + whyNotLoop}, nil
}

// existing returns the directory below which data directories are going to stand, or the nearest
// above it that is there.
func existing(dataRoot, runDirectory string) (string, error) {
	if dataRoot != "" {
		return dataRoot, nil
	}
	directory, err := filepath.Abs(runDirectory)
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(directory)
		if !errors.Is(err, os.ErrNotExist) {
			return directory, err
		}
		directory = filepath.Dir(directory)
	}
}
