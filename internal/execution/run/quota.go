package run

import (
	"strings"

	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
)

// quotaWay is how this machine mounts a file system of a stated size; the zero value: the
// experiment asks for none.
type quotaWay struct {
	by      string // host.QuotaLoop or host.QuotaTmpfs
	caution string // for the record
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
