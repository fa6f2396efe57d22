package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// TrialWriter writes one trial's directory. Its methods may be called from several goroutines; none may be after End.
type TrialWriter struct {
	run *Writer
	id  string

	mu     sync.Mutex
	series *lines
	log    boundedLog
}

// Sample appends one line to series.jsonl.
func (t *TrialWriter) Sample(s Sample) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.series.add(s)
}

// Log returns the trial's worker.log. Writing to it never fails, so that a worker is not stopped by its log: what is
// above 16 MiB is dropped, and an error of the disk is reported by End.
func (t *TrialWriter) Log() io.Writer { return &t.log }

// End writes trial.json and closes the trial's files. The result's Plan is filled in from the plan. Until trial.json stands there
// whole, the trial has not ended. An error may also be about the samples or the log alone; trial.json is then there all the same.
func (t *TrialWriter) End(result *Trial) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	complete := *result
	complete.Plan = t.run.plan[t.id]
	directory := trialDirectory(t.run.directory, t.id)
	// The samples and the log must not be less durable than the result that they explain.
	syncErr := errors.Join(t.series.file.Sync(), t.log.file.Sync())
	closeErr := t.closeFiles()
	err := t.run.withReserve(func() error { return writeJSON(directory, trialFile, &complete) })
	if err == nil {
		err = t.run.Event(EventTrialEnded, t.id, string(complete.State))
	}
	if err = errors.Join(err, syncErr, closeErr); err != nil {
		return fmt.Errorf("record the end of trial %s: %w", t.id, err)
	}
	return nil
}

// Abandon closes the trial's files without a result: the trial counts as interrupted, and --resume does it again.
func (t *TrialWriter) Abandon() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closeFiles()
}

func (t *TrialWriter) closeFiles() error {
	return errors.Join(t.series.close(), t.log.close())
}

// boundedLog is a file that takes at most logBytesMax bytes.
type boundedLog struct {
	mu    sync.Mutex
	file  *os.File
	bytes int
	err   error // the first one
}

const logBytesMax = 16 << 20

func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.bytes >= logBytesMax {
		return len(p), nil
	}
	kept := p[:min(len(p), logBytesMax-l.bytes)]
	l.bytes += len(kept)
	if _, err := l.file.Write(kept); err != nil {
		l.err = diskFull(err)
	} else if l.bytes == logBytesMax {
		_, err := fmt.Fprintf(l.file, "\n(Assay: the log is cut here, after %d MiB)\n", logBytesMax>>20)
		l.err = diskFull(err)
	}
	return len(p), nil
}

func (l *boundedLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	closeErr := l.file.Close()
	if l.err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(l.file.Name()), l.err)
	}
	return closeErr
}
