package record

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How far below a directory run directories are looked for, and how many are found at most.
const (
	FindDepth = 2
	FindMax   = 2000
)

// Find returns the run directories in a directory, itself among them, up to FindDepth folders deep.
// Hidden folders are passed over, and so is what can't be read.
func Find(directory string) (found []string) {
	var look func(directory string, depth int)
	look = func(directory string, depth int) {
		if len(found) >= FindMax {
			return
		}
		if info, err := os.Stat(filepath.Join(directory, headerFile)); err == nil && info.Mode().IsRegular() {
			found = append(found, directory)
			return
		}
		if depth == 0 {
			return
		}
		entries, _ := os.ReadDir(directory)
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				look(filepath.Join(directory, e.Name()), depth-1)
			}
		}
	}
	look(directory, FindDepth)
	return found
}

// Newest is the run directory below a directory that was begun last. The error wraps fs.ErrNotExist
// where there is none.
func Newest(directory string) (newest string, err error) {
	var created time.Time
	for _, candidate := range Find(directory) {
		header, err := readHeader(candidate)
		if err == nil && (newest == "" || header.Created.After(created)) {
			newest, created = candidate, header.Created
		}
	}
	if newest == "" {
		return "", fmt.Errorf("no run directory in %s, up to %d folders deep: %w", directory, FindDepth, fs.ErrNotExist)
	}
	return newest, nil
}
