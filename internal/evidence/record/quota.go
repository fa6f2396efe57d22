package record

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/base/owned"
	"assay/internal/evidence/host"
)

// mounted is a file system of a trial. Its note is what a kill leaves of it.
type mounted struct {
	host.QuotaMount
	note *owned.Note
}

// MountData mounts a file system of so many bytes in what DataDirectory made for the trial, and
// returns an empty directory in it for the store's files, to use in place of DataDirectory's.
// RemoveData unmounts it.
func (w *Writer) MountData(trial, by string, bytes int64) (directory string, err error) {
	w.mu.Lock()
	where, made := w.data[trial]
	w.mu.Unlock()
	if !made {
		return "", fmt.Errorf("mount a file system for trial %s: it has no data directory", trial)
	}
	place, err := filepath.Abs(filepath.Join(where.root, where.place))
	if err != nil {
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, err)
	}
	m := mounted{QuotaMount: host.QuotaMount{By: by, Directory: place, Bytes: bytes}}
	if m.note, err = owned.Write(owned.Thing{Kind: owned.Mount, Path: place, By: by}); err != nil {
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, err)
	}
	w.mu.Lock()
	w.mounts[trial] = m
	w.mu.Unlock()
	if err := m.Mount(); err != nil {
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, diskFull(err))
	}
	// Not the file system's root: that holds lost+found, and stores want an empty directory.
	directory = filepath.Join(where.root, where.place, filepath.Base(m.Point()), storeDirectory)
	if err := os.Mkdir(directory, 0o755); err != nil {
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, err)
	}
	return directory, nil
}

// unmountData takes away the file system of a trial, if it has one.
func (w *Writer) unmountData(trial string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, mounted := w.mounts[trial]
	if !mounted {
		return nil
	}
	if err := m.Unmount(); err != nil {
		return err
	}
	m.note.Done()
	delete(w.mounts, trial)
	return nil
}
