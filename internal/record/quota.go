package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/host"
)

// mounted is mount.json: the one file system that may be mounted for a trial under way. It is written before the mount is made and
// removed after it is gone, so that --resume knows what a kill left.
type mounted struct {
	Trial string `json:"trial"`
	Root  string `json:"root,omitempty"` // absolute; "": data/ of the run directory
	By    string `json:"by"`             // host.QuotaLoop or host.QuotaTmpfs
}

// MountData mounts a file system of so many bytes in what DataDirectory made for the trial, and returns an empty directory in it for the
// store's files, to use in place of DataDirectory's. RemoveData unmounts it.
func (w *Writer) MountData(trial, by string, bytes int64) (directory string, err error) {
	w.mu.Lock()
	where, made := w.data[trial]
	w.mu.Unlock()
	if !made {
		return "", fmt.Errorf("mount a file system for trial %s: it has no data directory", trial)
	}
	if err := w.unmountData(); err != nil { // of a trial before: mount.json has room for one
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, err)
	}
	m := mounted{Trial: trial, By: by}
	if where.root != filepath.Join(w.directory, dataDirectory) {
		if m.Root, err = filepath.Abs(where.root); err != nil {
			return "", fmt.Errorf("mount a file system for trial %s: %w", trial, err)
		}
	}
	if err := writeJSON(w.directory, mountFile, m); err != nil {
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, err)
	}
	q := host.QuotaMount{By: by, Directory: filepath.Join(where.root, where.place), Bytes: bytes}
	if err := q.Mount(); err != nil {
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, diskFull(err))
	}
	// Not the file system's root: that holds lost+found, and stores want an empty directory.
	directory = filepath.Join(q.Point(), storeDirectory)
	if err := os.Mkdir(directory, 0o755); err != nil {
		return "", fmt.Errorf("mount a file system for trial %s: %w", trial, err)
	}
	return directory, nil
}

// unmountData takes away the file system that mount.json tells of, if there is one. It touches only what carries the marker
// of this run and trial.
func (w *Writer) unmountData() error {
	path := filepath.Join(w.directory, mountFile)
	var m mounted
	if err := readJSON(path, &m); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	_, planned := w.planned(m.Trial)
	if !planned || m.By != host.QuotaLoop && m.By != host.QuotaTmpfs {
		return fmt.Errorf("%s does not tell of a trial of this run: remove it by hand, once nothing is mounted below its data directory", path)
	}
	where, err := w.placeOf(m.Root, m.Trial)
	if err != nil {
		return err
	}
	if err := w.unmountPlace(where, m); err != nil {
		return err
	}
	return os.Remove(path)
}

func (w *Writer) unmountPlace(where dataPlace, m mounted) error {
	root, err := os.OpenRoot(where.root)
	if err != nil {
		return err
	}
	defer root.Close()
	place, err := root.OpenRoot(where.place) // does not follow a link out of the root
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer place.Close()
	full := filepath.Join(where.root, where.place)
	if err := w.checkMarker(place, full, m.Trial); err != nil {
		return err
	}
	return host.QuotaMount{By: m.By, Directory: full}.Unmount()
}

// removeLeftMount takes away the file system that a killed conductor left, and the data directory around it, which may stand in
// another root than the one that the run goes on with.
func (w *Writer) removeLeftMount() error {
	var m mounted
	if err := readJSON(filepath.Join(w.directory, mountFile), &m); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := os.Stat(m.Root); m.Root != "" && errors.Is(err, fs.ErrNotExist) {
		return os.Remove(filepath.Join(w.directory, mountFile)) // with the root, all that was in it is gone
	}
	if err := w.unmountData(); err != nil {
		return err
	}
	where, err := w.placeOf(m.Root, m.Trial)
	if err != nil {
		return err
	}
	return w.remove(where, m.Trial)
}
