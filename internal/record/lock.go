package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"assay/internal/owned"
)

// lock keeps a second process from writing into a run directory. The kernel gives it up when the
// process ends, however that happens: a killed run leaves no stale lock behind. The file stays,
// since removing it would let two processes lock two files of one name.
type lock struct {
	file *os.File
	note *owned.Note // of what a kill leaves in the directory
}

// takeLock fails at once, naming the other process, if the directory is locked.
func takeLock(directory string) (*lock, error) {
	path := filepath.Join(directory, lockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the run directory: %w", err)
	}
	if err := checkOwnLock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the run directory: %w", err), file.Close())
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the run directory: flock %s: %w", path, err)
		}
		return nil, fmt.Errorf("%s is being written by %s: wait until it ends, or give another --out", directory, holder(file))
	}
	l := &lock{file: file}
	path, err = filepath.Abs(directory)
	if err == nil {
		l.note, err = owned.Write(owned.Thing{Kind: owned.Run, Path: path})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the run directory: %w", err), file.Close())
	}
	if err := l.sign(); err != nil {
		l.release()
		return nil, fmt.Errorf("lock the run directory: %w", err)
	}
	return l, nil
}

// checkOwnLock refuses a file that this package did not write: it would be written over.
func checkOwnLock(file *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(io.NewSectionReader(file, 0, pidBytesMax+1), pidBytesMax+1))
	if err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink > 1 || strings.Trim(string(text), "0123456789\n") != "" || len(text) > pidBytesMax {
		return fmt.Errorf("%s is not a lock of Assay's, and stays as it is", file.Name())
	}
	return nil
}

const pidBytesMax = 20

// sign writes the process's number, for the message that a second process gives.
func (l *lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func (l *lock) release() {
	l.note.Done()
	l.file.Close()
}

func holder(file *os.File) string {
	text, err := io.ReadAll(io.LimitReader(file, pidBytesMax))
	pid := strings.TrimSpace(string(text))
	if err != nil || pid == "" {
		return "another process"
	}
	return "process " + pid
}
