package run

import (
	"cmp"
	"errors"
	"slices"

	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
)

// roomAfterFullDisk looks, once the files of a trial that met a full disk are gone, if that made
// room. The error is that others fill the disk: the trial then tells nothing of its store, and no
// other can be run.
func (t *trial) roomAfterFullDisk() error {
	if !t.full && !t.writer.MetFullDisk() {
		return nil
	}
	t.tellWhatOthersTook()
	return t.run.writer.EnsureRoom(t.run.options.DataRoot)
}

// noteFree notes what is free before the store makes its files.
func (t *trial) noteFree() {
	if t.mountsQuota() {
		return
	}
	if free, err := host.FreeBytes(t.dataDisk()); err == nil {
		t.freeBefore = free
	}
}

func (t *trial) dataDisk() string { return cmp.Or(t.run.options.DataRoot, t.run.options.Directory) }

// tellWhatOthersTook adds to the marks of a full disk that it was not the store alone that filled
// it. A tenth of what was free may be the run's own files, or what a file system keeps for itself.
func (t *trial) tellWhatOthersTook() {
	free, err := host.FreeBytes(t.dataDisk())
	if err != nil || free >= t.freeBefore-t.freeBefore/10 {
		return
	}
	if i := slices.IndexFunc(t.result.Marks, isFullMark); i >= 0 {
		mark := &t.result.Marks[i]
		mark.Message = mark.With("others_took", t.freeBefore-free)
	}
}

// meetFullDisk ends a phase whose samples found no room. They are kept until the store's files are
// gone. The final check goes on: it writes no more than them, and one that is cut short says
// nothing.
func (w *watched) meetFullDisk() {
	if w.result.Number != finalCheckNumber {
		w.stop(record.EndedDiskFull)
	}
}

// markFull marks the trial, in the phase that was the last to end, as one that met a full disk. The
// mark stands before the others of the phase, whose cause it is.
func (t *trial) markFull(full finding.Message) {
	if slices.ContainsFunc(t.result.Marks, isFullMark) {
		return // the phase that met it first is the one that tells
	}
	mark := finding.Mark{Message: full}
	if n := len(t.result.Phases); n > 0 {
		mark.Phase = t.result.Phases[n-1].Name
	}
	at := slices.IndexFunc(t.result.Marks, func(m finding.Mark) bool { return m.Phase == mark.Phase })
	if at < 0 {
		at = len(t.result.Marks)
	}
	t.result.Marks = slices.Insert(t.result.Marks, at, mark)
}

func isFullMark(m finding.Mark) bool { return m.Fault() == finding.FaultDiskFull }

// logEndBytes is how much of the worker's log is looked through: more than the stacks of a Go
// program that dies.
const logEndBytes = 1 << 20

// logSaysFull says if the worker's log tells of a full disk. Its last words may not: an engine that
// panics because its log can't be written may die in its own deferred functions, before the panic's
// text is printed, but after it has complained of its other files.
func (t *trial) logSaysFull() bool {
	text, err := t.writer.LogEnd(logEndBytes)
	if err != nil {
		t.run.view.Message("looking for the cause in the worker's log: " + err.Error())
		return false
	}
	return saysFull(string(text))
}

// onceFull joins errors, but leaves out what only says again that the disk is full.
func onceFull(first error, more ...error) error {
	all := []error{first}
	for _, err := range more {
		if !record.IsFull(first) || !record.IsFull(err) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
