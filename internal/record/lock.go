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
)

// lock keeps a second process from writing into a run directory. The kernel gives it up when the process ends, however
// that happens: a killed run leaves no stale lock behind. The file stays, since removing it would let two processes lock
// two files of one name.
type lock struct{ file *os.File }

// takeLock fails at once, naming the other process, if the directory is locked.
func takeLock(directory string) (*lock, error) {
	path := filepath.Join(directory, lockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the run directory: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the run directory: flock %s: %w", path, err)
		}
		return nil, fmt.Errorf("%s is being written by %s: wait until it ends, or give another --out", directory, holder(file))
	}
	l := &lock{file}
	if err := l.sign(); err != nil {
		l.release()
		return nil, fmt.Errorf("lock the run directory: %w", err)
	}
	return l, nil
}

// sign writes the process's number, for the message that a second process gives.
func (l *lock) sign() error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func (l *lock) release() { l.file.Close() }

func holder(file *os.File) string {
	const longestPID = 20
	text, err := io.ReadAll(io.LimitReader(file, longestPID))
	pid := strings.TrimSpace(string(text))
	if err != nil || pid == "" {
		return "another process"
	}
	return "process " + pid
}
