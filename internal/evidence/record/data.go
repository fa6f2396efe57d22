package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/base/owned"
)

// A trial's data directory is made like this, so that only what Assay made for this run is ever
// removed:
//
//	ROOT/PLACE/.assay-data   the marker: which run and which trial it is
//	ROOT/PLACE/store/        the store's directory, empty at first
//
// ROOT is the user's, and never removed or emptied; or data/ of the run directory. All paths below
// ROOT are followed through an os.Root, which does not leave it by symbolic links.
const (
	markerFile     = ".assay-data"
	storeDirectory = "store"
)

// marker is .assay-data.
type marker struct {
	Run   string `json:"run"` // Header.ID
	Trial string `json:"trial"`
}

// dataPlace is where a trial's data stands.
type dataPlace struct {
	root, place string
	note        *owned.Note
}

// DataDirectory makes an empty directory for the files of a trial's store and returns its path.
// root is an existing directory to make it in; "" is the run directory's own data/. What an
// interrupted try of the same trial of this run left there is removed first; anything else that
// stands in the way is an error.
func (w *Writer) DataDirectory(root, trial string) (string, error) {
	if _, planned := w.planned(trial); !planned {
		return "", fmt.Errorf("make a data directory: trial %s is not in the plan", trial)
	}
	where, err := w.placeOf(root, trial)
	if err != nil {
		return "", fmt.Errorf("make a data directory: %w", err)
	}
	if err := w.remove(where, trial); err != nil {
		return "", fmt.Errorf("make a data directory: %w", err)
	}
	path, err := filepath.Abs(filepath.Join(where.root, where.place))
	if err != nil {
		return "", fmt.Errorf("make a data directory: %w", err)
	}
	if where.note, err = owned.Write(owned.Thing{Kind: owned.Data, Path: path}); err != nil {
		return "", fmt.Errorf("make a data directory: %w", err)
	}
	if err := w.makeData(where, trial); err != nil {
		where.note.Keep()
		return "", fmt.Errorf("make a data directory: %w", diskFull(err))
	}
	w.mu.Lock()
	w.data[trial] = where
	w.mu.Unlock()
	return filepath.Join(where.root, where.place, storeDirectory), nil
}

// RemoveData removes what DataDirectory made for the trial, with all the store's files. It removes
// nothing that does not carry this run's and this trial's marker.
func (w *Writer) RemoveData(trial string) error {
	w.mu.Lock()
	where, made := w.data[trial]
	w.mu.Unlock()
	if !made {
		return fmt.Errorf("remove the data of trial %s: it has no data directory", trial)
	}
	if err := w.unmountData(trial); err != nil { // or remove would go into a file system that can't be removed
		return fmt.Errorf("remove the data of trial %s: %w", trial, err)
	}
	if err := w.remove(where, trial); err != nil {
		return fmt.Errorf("remove the data of trial %s: %w", trial, err)
	}
	where.note.Done()
	w.mu.Lock()
	delete(w.data, trial)
	w.mu.Unlock()
	return nil
}

// CleanData removes the data directory of a trial whose run was killed, if its marker is there.
func CleanData(path string) error {
	where := dataPlace{root: filepath.Dir(path), place: filepath.Base(path)}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return where.remove(func(marker) bool { return true }, "of any run")
}

func (w *Writer) placeOf(root, trial string) (dataPlace, error) {
	if root != "" {
		// It must be there: a mistyped root would put the data on another disk than the one to be
		// measured.
		info, err := os.Stat(root)
		if err != nil {
			return dataPlace{}, err
		}
		if !info.IsDir() {
			return dataPlace{}, fmt.Errorf("%s is not a directory", root)
		}
		return dataPlace{root: root, place: "assay-" + w.header.ID + "-" + trial}, nil
	}
	own := filepath.Join(w.directory, dataDirectory)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return dataPlace{}, diskFull(err)
	}
	if info, err := os.Lstat(own); err != nil {
		return dataPlace{}, err
	} else if !info.IsDir() {
		return dataPlace{}, fmt.Errorf("%s is not a directory of the run's own", own)
	}
	return dataPlace{root: own, place: trial}, nil
}

func (w *Writer) makeData(where dataPlace, trial string) error {
	root, err := os.OpenRoot(where.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir(where.place, 0o755); err != nil {
		return err
	}
	place, err := root.OpenRoot(where.place)
	if err != nil {
		return err
	}
	defer place.Close()
	text, err := json.Marshal(marker{Run: w.header.ID, Trial: trial})
	if err != nil {
		return err
	}
	if err := place.WriteFile(markerFile, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return place.Mkdir(storeDirectory, 0o755)
}

// remove removes a trial's place if it is there and ours.
func (w *Writer) remove(where dataPlace, trial string) error {
	return where.remove(func(m marker) bool { return m.Run == w.header.ID && m.Trial == trial }, fmt.Sprintf("of trial %q of run %q", trial, w.header.ID))
}

// remove removes a place that bears the right marker. whose says which that is.
func (where dataPlace) remove(ours func(marker) bool, whose string) error {
	root, err := os.OpenRoot(where.root)
	if err != nil {
		return err
	}
	defer root.Close()
	full := filepath.Join(where.root, where.place)
	info, err := root.Lstat(where.place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory: Assay did not make it and won't remove it", full)
	}
	if root.Remove(where.place) == nil {
		return nil // it was empty: a kill came before its marker was written
	}
	place, err := root.OpenRoot(where.place)
	if err != nil {
		return err
	}
	defer place.Close()
	if unwritten(place) {
		if err := place.Remove(markerFile); err != nil {
			return err
		}
		return root.Remove(where.place)
	}
	if err := checkMarker(place, full, ours, whose); err != nil {
		return err
	}
	if err := owned.CheckNoMounts(full); err != nil { // a bind mount of the user's would be emptied
		return err
	}
	// The marker goes last: what a kill leaves in between is then still known to be ours.
	if err := place.RemoveAll(storeDirectory); err != nil {
		return err
	}
	return root.RemoveAll(where.place)
}

// unwritten reports whether a kill came while the marker was written: it is empty, and alone.
func unwritten(place *os.Root) bool {
	names, err := fs.ReadDir(place.FS(), ".")
	if err != nil || len(names) != 1 || names[0].Name() != markerFile {
		return false
	}
	info, err := place.Lstat(markerFile)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func checkMarker(place *os.Root, full string, ours func(marker) bool, whose string) error {
	info, err := place.Lstat(markerFile) // a link could lead to the marker of another place
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s has no %s: Assay did not make it and won't remove it", full, markerFile)
	}
	if err != nil {
		return err
	}
	text, err := place.ReadFile(markerFile)
	if err != nil {
		return err
	}
	var found marker
	if err := json.Unmarshal(text, &found); err != nil {
		return damaged(filepath.Join(full, markerFile), text, 1, err)
	}
	if !ours(found) {
		return fmt.Errorf("%s is of trial %q of run %q, not %s: Assay won't remove it", full, found.Trial, found.Run, whose)
	}
	return nil
}
