package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/base/owned"
)

// output is standard output as commands have it (cobra's OutOrStdout). It keeps the first error, so
// that a write whose error is ignored, as of a help text or of a table's line, still ends the
// program with status 1.
type output struct {
	file *os.File
	err  error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// isStandardOutput says if a path that a user gave is standard output: "-", or another name of it,
// as /dev/stdout.
func isStandardOutput(path string) bool {
	if path == "-" {
		return true
	}
	named, err := os.Stat(path)
	if err != nil {
		return false
	}
	stdout, err := os.Stdout.Stat()
	return err == nil && os.SameFile(named, stdout)
}

// writeTarget writes what a user named: "-" is standard output. What is there and is no regular
// file, as a device or a pipe, is written in place; a regular file is replaced whole, or, where
// that fails, stays as it was. Symbolic links are followed, never replaced.
func writeTarget(path string, stdout io.Writer, write func(io.Writer) error) error {
	if isStandardOutput(path) {
		return write(stdout)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = writeInPlace(path, 0, write) // not what its links lead to: that may have no name
	} else if path, linkErr := throughLinks(path); linkErr != nil {
		err = linkErr
	} else {
		err = writeWhole(path, write)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// errThere says that a file stands where a new one was to be written.
var errThere = errors.New("exists; name another file")

// writeNew is [writeTarget] for a file that must not be there yet: a regular file is never changed.
func writeNew(path string, stdout io.Writer, write func(io.Writer) error) error {
	if isStandardOutput(path) {
		return write(stdout)
	}
	var err error
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		err = writeInPlace(path, 0, write)
	} else if target, linkErr := throughLinks(path); linkErr != nil {
		err = linkErr
	} else {
		err = writeInPlace(target, os.O_CREATE|os.O_EXCL, write)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			_ = os.Remove(target) // half a file would keep the next try from writing it; it may never have been made
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s %w", path, errThere)
	case err != nil:
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// linksMax is the number of symbolic links that are followed, as in the kernel.
const linksMax = 40

// throughLinks follows symbolic links, also to a file that is still to be made.
func throughLinks(path string) (string, error) {
	for range linksMax {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil // not a link, or not there; what it is, its writing shows
		}
		if !filepath.IsAbs(to) {
			// Not filepath.Join: where the directory is a link itself, ".." leads elsewhere than
			// the text says.
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}

// writeInPlace writes into what a name stands for. flags are those of os.OpenFile besides O_WRONLY.
func writeInPlace(path string, flags int, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|flags, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// writeWhole writes a file beside its name and then puts it there, so that a failure leaves what
// stood there before.
func writeWhole(path string, write func(io.Writer) error) error {
	place, err := owned.NewPlace(filepath.Dir(path), "output")
	if err != nil {
		return err
	}
	file, err := os.OpenFile(place.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return errors.Join(err, place.Remove())
	}
	err = errors.Join(write(file), file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(place.Path, path)
	}
	return errors.Join(err, place.Remove())
}
