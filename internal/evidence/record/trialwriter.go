package record

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
)

// TrialWriter writes one trial's directory. Its methods may be called from several goroutines; none
// may be after End.
type TrialWriter struct {
	run *Writer
	id  string

	mu     sync.Mutex
	series heldLines
	log    boundedLog
}

// Sample appends one line to series.jsonl. An error for which IsFull holds says that the trial
// can't go on; the sample is kept in memory then, and written by a later call or by End, if there
// is room.
func (t *TrialWriter) Sample(s Sample) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.series.add(s)
}

// Log returns the trial's worker.log. Writing to it never fails, so that a worker is not stopped by
// its log: what is above 16 MiB is dropped, what a full disk does not take is kept in memory for
// End, and other errors of the disk are reported by End.
func (t *TrialWriter) Log() io.Writer { return &t.log }

// LogEnd returns the last bytes that were written to the log, at most so many.
func (t *TrialWriter) LogEnd(bytes int) ([]byte, error) { return t.log.end(bytes) }

// MetFullDisk says if the trial's samples or its log met a full disk.
func (t *TrialWriter) MetFullDisk() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.series.metFull || t.log.metFullDisk()
}

// End writes what a full disk had kept back, then digests and trial.json, and closes the trial's
// files. The result's Plan, and what of samples and log is missing, are filled in. Until trial.json
// stands there whole, the trial has not ended. An error may also be about the samples or the log
// alone; trial.json is then there anyway.
func (t *TrialWriter) End(result *Trial) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	complete := *result
	complete.Plan, _ = t.run.planned(t.id)
	directory := trialDirectory(t.run.directory, t.id)
	settleErr := errors.Join(t.series.settle(), t.log.settle())
	complete.SamplesMissing, complete.LogBytesMissing = t.series.missing, t.log.missing
	// The samples and the log must not be less durable than the result that they explain.
	syncErr := errors.Join(t.series.file.Sync(), t.log.file.Sync())
	closeErr := t.closeFiles()
	text, err := indented(&complete)
	if err == nil {
		err = t.run.withReserve(func() error { return writeDigests(directory, text) })
	}
	if err == nil {
		err = t.run.withReserve(func() error { return writeWhole(filepath.Join(directory, trialFile), text) })
	}
	if err == nil {
		err = t.run.Event(EventTrialEnded, t.id, string(complete.State))
	}
	if err = errors.Join(err, settleErr, syncErr, closeErr); err != nil {
		return fmt.Errorf("record the end of trial %s: %w", t.id, err)
	}
	return nil
}

// Abandon closes the trial's files without a result: the trial counts as interrupted, and --resume
// does it again.
func (t *TrialWriter) Abandon() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closeFiles()
}

func (t *TrialWriter) closeFiles() error {
	return errors.Join(t.series.close(), t.log.file.Close())
}
