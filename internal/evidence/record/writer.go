package record

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/internal/experiment/plan"
)

// Writer writes a run directory while the run goes on. Its methods may be called from several
// goroutines.
type Writer struct {
	directory string
	header    Header
	plan      map[string]plan.Trial // by ID
	lock      *lock

	mu     sync.Mutex
	order  []plan.Trial // as in plan.json
	events *lines
	data   map[string]dataPlace // by trial ID: where the store's files stand
	mounts map[string]mounted   // by trial ID
}

func newWriter(directory string, header Header, trials []plan.Trial, locked *lock) (*Writer, error) {
	w := &Writer{directory: directory, header: header, plan: map[string]plan.Trial{}, order: trials, lock: locked,
		data: map[string]dataPlace{}, mounts: map[string]mounted{}}
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

// planned returns a trial of the plan.
func (w *Writer) planned(id string) (trial plan.Trial, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	trial, found = w.plan[id]
	return trial, found
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

// Extend adds trials to the plan. The digest of the new plan is written first, and that of the old
// one kept, so that a kill between the two files leaves a whole run.
func (w *Writer) Extend(more []plan.Trial) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.order)
	planned := maps.Clone(w.plan)
	for _, trial := range more {
		if err := checkTrialID(trial.ID); err != nil {
			return fmt.Errorf("extend the plan: %w", err)
		}
		if _, twice := planned[trial.ID]; twice {
			return fmt.Errorf("extend the plan: trial %s is in it", trial.ID)
		}
		planned[trial.ID] = trial
		all = append(all, trial)
	}
	text, err := indented(all)
	if err != nil {
		return fmt.Errorf("extend the plan: %w", err)
	}
	header := w.header
	header.Plans = append(slices.Clone(header.Plans), digestOf(text))
	if err := w.writeHeader(header); err != nil {
		return fmt.Errorf("extend the plan: %w", err)
	}
	if err := w.withReserve(func() error {
		return writeWhole(filepath.Join(w.directory, planFile), text)
	}); err != nil {
		return fmt.Errorf("extend the plan: %w", err)
	}
	w.order, w.plan = all, planned
	return nil
}

// Interrupted records that a signal stops the run: its name, or [SignalKilled].
func (w *Writer) Interrupted(at time.Time, signal string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	header := w.header
	header.Interruptions = append(slices.Clone(header.Interruptions),
		Interruption{at.UTC().Truncate(time.Millisecond), signal})
	if err := w.writeHeader(header); err != nil {
		return fmt.Errorf("record the interruption: %w", err)
	}
	return nil
}

func (w *Writer) writeHeader(header Header) error {
	if err := w.withReserve(func() error { return writeHeader(w.directory, header) }); err != nil {
		return err
	}
	w.header = header
	return nil
}

// withReserve gives a write that matters a second try after freeing the reserve.
func (w *Writer) withReserve(write func() error) error {
	err := write()
	if IsFull(err) && freeReserve(w.directory) {
		return write()
	}
	return err
}

// Close ends the writing and unlocks the directory. Record [EventEnded] or [EventInterrupted]
// before it: a run without either was killed.
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

// TrialStarted makes the trial's directory. A trial that is not in the plan, or that was started
// before, is an error.
func (w *Writer) TrialStarted(id string) (*TrialWriter, error) {
	if _, planned := w.planned(id); !planned {
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
