package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// indented is how the JSON files that people may look at are written.
func indented(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// unfinished ends the name of a file that is to be renamed when it is whole.
const unfinished = ".new"

// writeWhole makes the file path hold data, or, if it fails or the machine stops, leaves what was
// there: it writes a temporary file, syncs it and renames it.
func writeWhole(path string, data []byte) (err error) {
	temporary := path + unfinished
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return diskFull(err)
	}
	defer func() {
		if err != nil {
			os.Remove(temporary)
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err == nil {
		err = syncDirectory(filepath.Dir(path))
	}
	return diskFull(err)
}

func syncDirectory(path string) error {
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}

// lines appends whole lines to a file. It is not safe for concurrent use.
type lines struct {
	file *os.File
	size int64
}

// openLines opens a file of lines to append to, and cuts off a last line that was written by half.
func openLines(path string) (*lines, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, diskFull(err)
	}
	size, err := wholeLines(file)
	if err == nil {
		err = file.Truncate(size)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("continue %s: %w", path, err)
	}
	return &lines{file, size}, nil
}

// wholeLines returns the offset after the last newline.
func wholeLines(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	block := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		begin := max(0, end-int64(len(block)))
		part := block[:end-begin]
		if _, err := file.ReadAt(part, begin); err != nil {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] == '\n' {
				return begin + int64(i) + 1, nil
			}
		}
		end = begin
	}
	return 0, nil
}

// add appends value as one line of JSON, with one call of the kernel. If it fails, the file ends
// with the line before.
func (l *lines) add(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("append to %s: %w", l.file.Name(), err)
	}
	data = append(data, '\n')
	if _, err := l.file.WriteAt(data, l.size); err != nil {
		// A reader passes over half a line, so that a failure to cut it off does no harm.
		_ = l.file.Truncate(l.size)
		return diskFull(err)
	}
	l.size += int64(len(data))
	return nil
}

func (l *lines) close() error { return l.file.Close() }
