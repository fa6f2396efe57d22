package run

import (
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/counters"
	"assay/internal/host"
	"assay/internal/trace"
)

// scratchRoots are where trace and counters files may stand while a phase runs, the best first: in memory, so that
// their pages cause no writes to a disk that is being measured. Containers often have little of it.
func scratchRoots() []string { return []string{"/dev/shm", os.TempDir()} }

// makeScratch makes a directory with room for so many bytes. The room matters: a page that can't be had when a mapped file is
// touched ends the process that touches it.
func makeScratch(needBytes uint64) (string, error) {
	var short error
	for _, root := range scratchRoots() {
		free, err := host.FreeBytes(root)
		if err != nil {
			continue
		}
		if free < needBytes+needBytes/8 {
			short = fmt.Errorf("%s has %d MB free, the trace and counters of this phase take %d MB: use fewer threads or records, or make room", root, free>>20, needBytes>>20)
			continue
		}
		directory, err := os.MkdirTemp(root, "assay-")
		if err == nil {
			return directory, nil
		}
		short = fmt.Errorf("making a directory for the trace: %w", err)
	}
	return "", short
}

// mapped is the trace and counters file of a phase. Their names exist only until the worker has mapped them, so that
// nothing is left behind, however this process ends.
type mapped struct {
	directory string
	trace     string
	counters  *counters.File
	name      string // of the counters file
}

func mapFiles(file *trace.File) (*mapped, error) {
	directory, err := makeScratch(file.Bytes() + counters.Bytes(file))
	if err != nil {
		return nil, err
	}
	m := &mapped{directory: directory, trace: filepath.Join(directory, "trace"), name: filepath.Join(directory, "counters")}
	if err := file.Write(m.trace); err != nil {
		m.unlink()
		return nil, err
	}
	if m.counters, err = counters.Create(m.name, file); err != nil {
		m.unlink()
		return nil, err
	}
	return m, nil
}

// unlink removes the names; what is mapped stays until it is unmapped.
func (m *mapped) unlink() {
	if err := os.RemoveAll(m.directory); err != nil {
		fmt.Fprintln(os.Stderr, "assay: removing scratch files:", err)
	}
}
