package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
)

// quotaWay is how this machine mounts a file system of a stated size; the zero value: the
// experiment asks for none.
type quotaWay struct {
	by      string // host.QuotaLoop or host.QuotaTmpfs
	caution string // for the record
}

// checkQuotaMount refuses an experiment whose disk quotas can't be mounted here, before anything is
// made.
func checkQuotaMount(e *experiment.Experiment, o Options) (quotaWay, error) {
	quota := func(c experiment.Cell) bool { return c.DiskQuota > 0 }
	files := func(s experiment.Store) bool { return s.KeepsFiles() }
	if e.DiskQuotaBy != experiment.QuotaByMount || !slices.ContainsFunc(e.Cells, quota) || !slices.ContainsFunc(e.Stores, files) {
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

// mountQuota moves the trial's data to a file system of the size of its quota. own is the disk below
// that; nil: there is none.
func (d *disk) mountQuota(run *record.Writer, trial string, way quotaWay) (own *host.OwnDisk, err error) {
	if d.data, err = run.MountData(trial, way.by, int64(d.quota)); err != nil {
		return nil, err
	}
	q := &record.QuotaMount{FileSystem: "ext4", By: way.by, Bytes: d.quota, Caution: way.caution}
	if way.by == host.QuotaTmpfs {
		q.FileSystem = "tmpfs"
	} else if own, err = host.NewOwnDisk(d.data); err != nil {
		return nil, err
	}
	if q.UsableBytes, err = host.FreeBytes(d.data); err != nil {
		return nil, err
	}
	d.mount = q
	return own, nil
}

// busError explains the death of a process that wrote to a mapped page for which its file had no
// block left.
func busError(err error) string {
	text := strings.ToLower(err.Error())
	if strings.Contains(text, "bus error") || strings.Contains(text, "sigbus") {
		return ", and the store died of SIGBUS: it writes to its file through a map, and there was no block for the page"
	}
	return ""
}
