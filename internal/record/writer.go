package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"assay/internal/plan"
)

// Writer writes a run directory while the run goes on. Its methods may be called from several goroutines.
type Writer struct {
	directory string
	header    Header
	plan      map[string]plan.Trial // by ID
	lock      *lock

	mu     sync.Mutex
	events *lines
	data   map[string]dataPlace // by trial ID: where the store's files stand
}

func newWriter(directory string, header Header, trials []plan.Trial, locked *lock) (*Writer, error) {
	w := &Writer{directory: directory, header: header, plan: map[string]plan.Trial{}, lock: locked, data: map[string]dataPlace{}}
	for _, trial := range trials {
		w.plan[trial.ID] = trial
	}
	err := diskFull(makeReserve(directory))
	if err == nil {
		w.events, err = openLines(filepath.Join(directory, eventsFile))
	}
	if err != nil {
		locked.release()
		return nil, fmt.Errorf("open the run directory for writing: %w", err)
	}
	return w, nil
}

// Directory returns the run directory, as it was given.
func (w *Writer) Directory() string { return w.directory }

// Event records that something happened to the run. trial and text may be "".
func (w *Writer) Event(kind, trial, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	event := Event{At: time.Now().UTC().Truncate(time.Millisecond), Kind: kind, Trial: trial, Text: text}
	return w.withReserve(func() error { return w.events.add(event) })
}

// withReserve gives a write that matters a second try after freeing the reserve.
func (w *Writer) withReserve(write func() error) error {
	err := write()
	if IsFull(err) && freeReserve(w.directory) {
		return write()
	}
	return err
}

// Close ends the writing and unlocks the directory. Record [EventEnded] or [EventInterrupted] before it: a run without either
// was killed.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	freeReserve(w.directory)
	err := errors.Join(w.events.file.Sync(), w.events.close())
	w.lock.release()
	return err
}

func trialDirectory(directory, id string) string {
	return filepath.Join(directory, trialsDirectory, id)
}

// TrialStarted makes the trial's directory. A trial that is not in the plan, or that was started before, is an error.
func (w *Writer) TrialStarted(id string) (*TrialWriter, error) {
	if _, planned := w.plan[id]; !planned {
		return nil, fmt.Errorf("start trial %s: it is not in the plan", id)
	}
	directory := trialDirectory(w.directory, id)
	if err := os.Mkdir(directory, 0o755); err != nil {
		return nil, fmt.Errorf("start trial %s: %w", id, diskFull(err))
	}
	series, err := openLines(filepath.Join(directory, seriesFile))
	if err != nil {
		return nil, fmt.Errorf("start trial %s: %w", id, err)
	}
	log, err := os.OpenFile(filepath.Join(directory, logFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start trial %s: %w", id, diskFull(err)), series.close())
	}
	t := &TrialWriter{run: w, id: id, series: heldLines{lines: series}, log: boundedLog{file: log}}
	if err := w.Event(EventTrialStarted, id, ""); err != nil {
		return nil, errors.Join(fmt.Errorf("start trial %s: %w", id, err), t.closeFiles())
	}
	return t, nil
}
