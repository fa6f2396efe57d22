package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The most bytes that are read of a file. The largest real ones, series of a day's trial, have 100
// MB.
const (
	smallBytesMax = 1 << 20   // run.json, digests
	plainBytesMax = 64 << 20  // experiment, plan, environment, trial.json
	linesBytesMax = 512 << 20 // series.jsonl, events.jsonl
)

// errNotPlain says that something stands where a regular file belongs.
var errNotPlain = errors.New("not a regular file")

// reader reads the files of a run directory, and nothing else: no symbolic link, pipe or device on
// the way is followed.
type reader struct{ root *os.Root }

func openReader(directory string) (reader, error) {
	root, err := os.OpenRoot(directory)
	return reader{root}, err
}

func (r reader) close() { _ = r.root.Close() } // nothing was written

// open opens a regular file. name is relative to the run directory.
func (r reader) open(name string) (*os.File, fs.FileInfo, error) {
	for i, c := range name {
		if c != filepath.Separator {
			continue
		}
		if info, err := r.root.Lstat(name[:i]); err != nil {
			return nil, nil, err
		} else if !info.IsDir() {
			return nil, nil, &fs.PathError{Op: "read", Path: name[:i], Err: errors.New("not a directory")}
		}
	}
	before, err := r.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: %s", errNotPlain, kindOf(before))}
	}
	file, err := r.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("it was replaced meanwhile")}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// read returns a file's bytes. name is relative to the run directory.
func (r reader) read(name string, bytesMax int64) ([]byte, error) {
	file, info, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > bytesMax {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%d bytes, more than %d", info.Size(), bytesMax)}
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead) // once, rather than by doubling
	_, err = data.ReadFrom(io.LimitReader(file, bytesMax))
	return data.Bytes(), err
}

func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode.IsDir():
		return "a directory"
	}
	return strings.TrimSpace(info.Mode().String())
}
