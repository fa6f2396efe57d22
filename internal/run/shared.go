package run

import (
	"fmt"
	"os"

	"assay/internal/counters"
	"assay/internal/host"
	"assay/internal/memfile"
	"assay/internal/trace"
)

// mapped is the trace and counters of a phase, in files without a name that the worker opens by /proc/PID/fd/N.
type mapped struct {
	trace        *os.File
	countersFile *os.File
	counters     *counters.File
}

// mapFiles makes the files. What goes wrong is Assay's own fault, never the store's.
func mapFiles(file *trace.File) (_ *mapped, err error) {
	m := &mapped{}
	defer func() {
		if err != nil {
			m.forget()
			err = ownFault{err}
		}
	}()
	if err := checkRoom(file.Bytes() + counters.Bytes(file)); err != nil {
		return nil, err
	}
	if m.trace, err = memfile.Create("assay-trace"); err != nil {
		return nil, err
	}
	if err := file.WriteIn(m.trace); err != nil {
		return nil, err
	}
	if err := memfile.SealAll(m.trace); err != nil {
		return nil, err
	}
	if m.countersFile, err = memfile.Create("assay-counters"); err != nil {
		return nil, err
	}
	if m.counters, err = counters.CreateIn(m.countersFile, file); err != nil {
		return nil, err
	}
	if err := memfile.SealSize(m.countersFile); err != nil {
		_ = m.counters.Unmap() // the first error says more
		return nil, err
	}
	return m, nil
}

// forget closes the files, once the worker has mapped them. The conductor's own map of the counters stays.
func (m *mapped) forget() {
	for _, file := range []*os.File{m.trace, m.countersFile} {
		if file != nil {
			_ = file.Close() // memory: there is nothing to lose
		}
	}
}

// checkRoom refuses a phase for whose files there is too little memory: the kernel would kill a process for them, and
// perhaps the store.
func checkRoom(needBytes uint64) error {
	free := host.AvailableBytes()
	if need := needBytes + needBytes/8; free > 0 && free < need {
		return fmt.Errorf("%d MB of memory are available, the trace and counters of this phase take %d MB: use fewer threads or records, or make room", free>>20, needBytes>>20)
	}
	return nil
}
