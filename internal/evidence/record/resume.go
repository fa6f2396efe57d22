package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/experiment/plan"
)

// Resume opens a run directory to do the trials that have no result yet, or were interrupted; left
// holds them in the plan's order, and is empty if there is nothing to do. What such trials had
// recorded is moved aside, to trials/ID.interrupted-N. An experiment that is not the one that the
// run began with is refused. The directory stays locked until [Writer.Close].
func Resume(directory string) (w *Writer, left []plan.Trial, err error) {
	if _, err := readHeader(directory); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("resume %s: it is not a run directory: it has no %s", directory, headerFile)
		}
		return nil, nil, fmt.Errorf("resume %s: %w", directory, err)
	}
	locked, err := takeLock(directory)
	if err != nil {
		return nil, nil, err
	}
	run, err := resumable(directory)
	if err != nil {
		locked.release()
		return nil, nil, fmt.Errorf("resume %s: %w", directory, err)
	}
	for _, trial := range run.Plan {
		if result := run.Trials[trial.ID]; result == nil || result.State == Interrupted {
			left = append(left, trial)
		}
	}
	for _, trial := range left {
		if err := moveAside(directory, trial.ID); err != nil {
			locked.release()
			return nil, nil, fmt.Errorf("resume %s: %w", directory, err)
		}
	}
	if w, err = newWriter(directory, run.Header, run.Plan, locked); err != nil {
		return nil, nil, err
	}
	if err := w.noteKill(run); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("resume %s: %w", directory, err), w.Close())
	}
	text := fmt.Sprintf("%d of %d trials are left", len(left), len(run.Plan))
	if err := w.Event(EventResumed, "", text); err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return w, left, nil
}

// noteKill records that the run before this one was ended without a word, and when it last wrote
// something.
func (w *Writer) noteKill(run *Run) error {
	if len(run.Events) > 0 {
		last := run.Events[len(run.Events)-1]
		if last.Kind == EventEnded || last.Kind == EventInterrupted {
			return nil
		}
		if n := len(run.Header.Interruptions); n > 0 && !run.Header.Interruptions[n-1].At.Before(last.At) {
			return nil // by a second Ctrl-C: the first one is recorded
		}
		return w.Interrupted(w.lastWrite(run, last.At), SignalKilled)
	}
	return w.Interrupted(run.Header.Created, SignalKilled)
}

// lastWrite returns when a sample was last written; at: no later than the last event.
func (w *Writer) lastWrite(run *Run, at time.Time) time.Time {
	for _, trial := range run.Plan {
		if run.Trials[trial.ID] != nil {
			continue
		}
		aside, err := filepath.Glob(filepath.Join(globEscape(trialDirectory(w.directory, trial.ID))+".interrupted-*", seriesFile))
		if err != nil {
			continue
		}
		for _, path := range aside {
			if info, err := os.Stat(path); err == nil && info.ModTime().After(at) {
				at = info.ModTime()
			}
		}
	}
	return at
}

// resumable reads a run whose experiment and plan are whole and the ones that it began with.
func resumable(directory string) (*Run, error) {
	run, err := Open(directory)
	if err != nil {
		return nil, err
	}
	for _, f := range run.Faults {
		if f.File != experimentFile && f.File != planFile {
			continue
		}
		if f.Code == FaultMissing {
			return nil, fmt.Errorf("it was stopped before %s was written: remove it and begin again", f.File)
		}
		return nil, fmt.Errorf("%s: %s: put it back, or begin a new run", f.File, f.What)
	}
	return run, nil
}

// moveAside renames what a trial that did not end had recorded. Nothing of it is lost.
func moveAside(directory, id string) error {
	from := trialDirectory(directory, id)
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.interrupted-%d", from, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Rename(from, to)
	}
}

// CleanRun removes from the directory of a run that was killed what only a run under way needs: the
// reserve, and files that were to be renamed when they were whole. What was recorded stays, for
// reports and for --resume.
func CleanRun(directory string) error {
	if info, err := os.Lstat(filepath.Join(directory, lockFile)); errors.Is(err, fs.ErrNotExist) {
		return nil // it is gone, or was not begun
	} else if err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a lock of Assay's", filepath.Join(directory, lockFile))
	}
	locked, _, err := tryLock(directory)
	if err != nil {
		return err
	}
	if locked == nil {
		return nil // resumed, with a note of its own
	}
	defer locked.Close()
	freeReserve(directory)
	trials, err := filepath.Glob(filepath.Join(globEscape(directory), trialsDirectory, "*"))
	if err != nil {
		return err
	}
	for _, place := range append(trials, directory) {
		for _, name := range []string{headerFile, SourceFile, experimentFile, environmentFile, planFile, trialFile,
			digestsFile} {
			if err := os.Remove(filepath.Join(place, name+unfinished)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// globEscape keeps a directory's name from being taken for a pattern.
func globEscape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
