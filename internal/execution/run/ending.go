package run

import (
	"assay/internal/execution/server"
	"errors"
	"fmt"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/record"
	"assay/internal/execution/clients"
	"assay/internal/experiment"
)

// roomAfterFullDisk looks, once the files of a trial that met a full disk are gone, if that made
// room. The error is that others fill the disk: the trial then tells nothing of its store, and no
// other can be run.
func (t *trial) roomAfterFullDisk() error {
	if !t.disk.full && !t.writer.MetFullDisk() {
		return nil
	}
	if took := t.disk.othersTook(); took > 0 {
		if i := slices.IndexFunc(t.result.Marks, isFullMark); i >= 0 {
			t.disk.met.OthersTook = took // which() has set it
			t.result.Marks[i].Message = finding.New(*t.disk.met)
		}
	}
	return t.run.writer.EnsureRoom(t.run.options.DataRoot)
}

// explain puts before the error of a trial what the kernel knows of its cause.
func (t *trial) explain(err error) error {
	switch {
	case err == nil || errors.Is(err, clients.ErrInterrupted) || errors.Is(err, errRunDirectory):
		return err
	case t.memory.killed():
		t.result.Cause = finding.CauseMemory
		return fmt.Errorf("killed by the kernel at its memory limit of %s: %w", sizeText(uint64(t.cell.MemoryLimit)), err)
	case t.disk.noRoom(err):
		full := t.disk.which()
		t.disk.full, t.result.Cause = true, finding.CauseDiskFull
		t.result.markFull(*full)
		return fmt.Errorf("%s%s: %w", finding.Text(finding.New(*full)), busError(err), err)
	}
	return err
}

// blame puts the server's death before the error that it led to.
func blame(died, err error) error {
	switch {
	case died == nil || errors.Is(err, clients.ErrInterrupted) || errors.Is(err, server.ErrDied):
		return err
	case err == nil:
		return died
	}
	return fmt.Errorf("%w; then: %w", died, err)
}

// judgeDisk says what a phase that ended early by its files means for the trial. A full disk marks
// it: operations failed. A quota does not, unless the records that later phases count on are not
// all there.
func (t *trial) judgeDisk(p *experiment.Phase, result *record.Phase) error {
	switch {
	case result.EndedBy == record.EndedQuota && p.Load:
		t.result.Cause = finding.CauseQuota
		return fmt.Errorf("the load reached the disk quota of %s before all %d records were stored: fewer records, or a larger disk_quota",
			sizeText(uint64(t.cell.DiskQuota)), t.cell.Records)
	case t.disk.data != "" && vanished(t.disk.data):
		t.result.mark(p.Name, finding.Bare(finding.MarkDataGone))
	case result.EndedBy != record.EndedDiskFull && p.Load && refusedForRoom(result) != "":
		// A short load ends before its samples see that it fails. Later phases would count on
		// records that are not there.
		t.result.Cause = finding.CauseDiskFull
		return fmt.Errorf("the load met a full disk: %s", refusedForRoom(result))
	case result.EndedBy == record.EndedDiskFull:
		t.disk.full = true
		full := t.disk.which()
		full.Records = result.Sizes.Records
		t.result.markFull(*full)
		if p.Load {
			return errors.New("the disk was full before all records were loaded")
		}
	}
	return nil
}

// failedLoad says what failed of a load for no fault that was asked for: the records that later phases
// count on are then not there. nil: nothing did.
func failedLoad(result *record.Phase) error {
	for _, m := range result.Marks() {
		if m.Message.Code == finding.MarkFailed {
			return fmt.Errorf("a part of the load failed: %s", finding.Text(m.Message))
		}
	}
	return nil
}

func isFullMark(m finding.Mark) bool { return m.Fault() == finding.FaultDiskFull }

func sizeText(bytes uint64) string {
	for _, unit := range []struct {
		name  string
		bytes uint64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= unit.bytes {
			return fmt.Sprintf("%.4g %s", float64(bytes)/float64(unit.bytes), unit.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
