package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/base/owned"
	"assay/internal/execution/event"
)

// runDirectory is a directory for a run, and which ones were made for it.
type runDirectory struct {
	path string
	made []string // outermost first
}

// makeRunDirectory makes the directory that the user named (out), with those above it, or takes it
// if it is there. Where he named none, it makes one here: of two runs that begin in the same
// second, one has "-2" behind its name.
func makeRunDirectory(out, experiment string, now time.Time) (runDirectory, error) {
	if out == "" {
		path, err := makeUnique(fmt.Sprintf("assay-%s-%s", experiment, now.Format("20060102-150405")))
		if err != nil {
			return runDirectory{}, failed(err)
		}
		return runDirectory{path, []string{path}}, nil
	}
	made, err := makeAll(out)
	place := runDirectory{out, made}
	if err != nil {
		place.removeIfEmpty()
		return runDirectory{}, usage(fmt.Errorf("--out %s: can't be made: %w", out, err))
	}
	return place, nil
}

// samePlaceMax is how many runs may begin in one second.
const samePlaceMax = 1000

// makeUnique makes a directory of a name that was free until then: looking first would let two runs
// find the same one.
func makeUnique(name string) (string, error) {
	for n := 1; n <= samePlaceMax; n++ {
		path := name
		if n > 1 {
			path = fmt.Sprintf("%s-%d", name, n)
		}
		err := os.Mkdir(path, 0o755)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("making the run directory: %w\n--out names another place", err)
		}
	}
	return "", fmt.Errorf("making the run directory: %s and %d more exist\n--out names another place", name, samePlaceMax-1)
}

// makeAll is os.MkdirAll that says what it made, outermost first, also where it fails.
func makeAll(path string) (made []string, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, nil
	}
	if above := filepath.Dir(path); above != path {
		if made, err = makeAll(above); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(path, 0o755); err == nil {
		return append(made, path), nil
	} else if info, statErr := os.Stat(path); statErr != nil || !info.IsDir() { // another may have made it just now
		return made, err
	}
	return made, nil
}

// removeIfEmpty takes away what was made and holds nothing: a run that was refused leaves no trace.
func (d runDirectory) removeIfEmpty() {
	for _, path := range slices.Backward(d.made) {
		if err := os.Remove(path); err != nil {
			return // it holds the run
		}
	}
}

// checkDataRoot makes sure that stores can have directories in the one that --data names, before
// anything else is made.
func (f *runFlags) checkDataRoot() error {
	if f.data == "" {
		return nil
	}
	if info, err := os.Stat(f.data); err != nil || !info.IsDir() {
		return usage(fmt.Errorf("--data %s: expected an existing directory", f.data))
	}
	if err := tryWriting(f.data); err != nil {
		return usage(fmt.Errorf("--data %s: stores can't have directories there: %w", f.data, err))
	}
	return nil
}

// tryWriting makes a directory in another and removes it: permissions alone don't tell of a file
// system that is read-only.
func tryWriting(directory string) error {
	tried, err := owned.NewDirectory(directory, "tried")
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		return pathErr.Err // its path is of no use to the reader
	}
	if err != nil {
		return err
	}
	return tried.Remove()
}

// placed tells a view where the run stands.
type placed struct {
	event.View
	directory string
}

func (p placed) RunStarted(r event.Run) {
	r.Directory = p.directory
	p.View.RunStarted(r)
}
