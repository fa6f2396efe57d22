package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"assay/internal/base/linux"
)

// IsFull says if an error is that of a full disk, or of a user's quota on it.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// diskFull adds to an error of a full disk what to do.
func diskFull(err error) error {
	if IsFull(err) {
		return fmt.Errorf("%w: the disk is full: what was recorded before can still be read; free some space and go on with --resume", err)
	}
	return err
}

const (
	reserveBytes = 1 << 20
	roomBytes    = 1 << 20 // beyond the reserve: less than that, and a trial would end before it told anything
)

// EnsureRoom sets the reserve aside again, if it was given up, and makes sure that the run
// directory and the data root ("": the run directory) have room for another trial. It is called
// while no trial has data, so that an error for which IsFull holds means: somebody else fills the
// disk. What it tries out leaves no name behind.
func (w *Writer) EnsureRoom(dataRoot string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := makeReserve(w.directory)
	if err == nil {
		err = tryRoom(w.directory)
	}
	full := w.directory
	if err == nil && dataRoot != "" {
		err, full = tryRoom(dataRoot), dataRoot
	}
	switch {
	case err == nil:
		return nil
	case IsFull(err):
		return fmt.Errorf("the disk of %s is full, something else fills it: %w\nfree some space; what was recorded can be read", full, err)
	}
	return fmt.Errorf("look for room on the disk of %s: %w", full, err)
}

// makeReserve makes a file whose only use is to be removed when the disk is full, so that a last
// trial.json and the last events can still be written. One that is there is kept.
func makeReserve(directory string) error {
	path := filepath.Join(directory, reserveFile)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	err = allocate(file, reserveBytes)
	if err != nil {
		return errors.Join(err, os.Remove(path)) // part of it may have been had; the end of the run can use that
	}
	return nil
}

// freeReserve tells whether there was something to free.
func freeReserve(directory string) bool {
	return os.Remove(filepath.Join(directory, reserveFile)) == nil
}

// tryRoom writes to a file without a name: open(2), O_TMPFILE.
func tryRoom(directory string) error {
	file, err := os.OpenFile(directory, os.O_WRONLY|linux.O_TMPFILE, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		return nil // this file system or kernel has no such files: the trial will tell
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return allocate(file, roomBytes)
}

func allocate(file *os.File, bytes int64) error {
	err := linux.Fallocate(int(file.Fd()), 0, 0, bytes)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil // this file system can't reserve
	}
	if err != nil {
		return &os.PathError{Op: "fallocate", Path: file.Name(), Err: err}
	}
	return nil
}
