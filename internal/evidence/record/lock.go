package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/base/bounded"
	"assay/internal/base/owned"
	"assay/internal/evidence/host"
)

// lock keeps a second process from writing into a run directory. The kernel gives it up when the
// process ends, however that happens: a killed run leaves no stale lock behind. The file stays,
// since removing it would let two processes lock two files of one name.
type lock struct {
	file *os.File
	note *owned.Note // of what a kill leaves in the directory
}

// A process that cleans up after a killed run holds its lock for moments, without its number.
const (
	cleaningMax  = 10 * time.Second
	cleaningPoll = 5 * time.Millisecond
)

// takeLock fails at once, naming the other process, if a run under way holds the directory. It
// waits for one that only cleans up.
func takeLock(directory string) (*lock, error) {
	file, err := waitForLock(directory)
	if err != nil {
		return nil, err
	}
	l := &lock{file: file}
	path, err := filepath.Abs(directory)
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

func waitForLock(directory string) (*os.File, error) {
	for deadline := time.Now().Add(cleaningMax); ; time.Sleep(cleaningPoll) {
		file, holder, err := tryLock(directory)
		if err != nil {
			return nil, fmt.Errorf("lock the run directory: %w", err)
		}
		if file != nil {
			return file, nil
		}
		by := "another process"
		if holder > 0 {
			by = fmt.Sprintf("process %d", holder)
		}
		if host.ProcessAlive(holder) || time.Now().After(deadline) {
			return nil, fmt.Errorf("%s is being written by %s: wait until it ends, or give another --out", directory, by)
		}
	}
}

// tryLock returns no file if another process holds the directory, and the number of the run that
// wrote into it last, or 0.
func tryLock(directory string) (_ *os.File, holder int, err error) {
	path := filepath.Join(directory, lockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, 0, err
	}
	if holder, err = ownLock(file); err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, 0, fmt.Errorf("flock %s: %w", path, err)
		}
		return nil, holder, nil
	}
	return file, holder, nil
}

// ownLock returns the number that a run wrote, or 0. It refuses a file that this package did not
// write: it would be written over.
func ownLock(file *os.File) (pid int, err error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return 0, err
	}
	text, err := bounded.Read(io.NewSectionReader(file, 0, pidBytesMax+1), pidBytesMax+1)
	if err != nil {
		return 0, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink > 1 || strings.Trim(string(text), "0123456789\n") != "" || len(text) > pidBytesMax {
		return 0, fmt.Errorf("%s is not a lock of Assay's, and stays as it is", file.Name())
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, nil // it is being signed, or its process was killed before
	}
	return pid, nil
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
