package run

import (
	"errors"
	"fmt"
	"os"

	"assay/internal/base/format"
	"assay/internal/base/memfile"
	"assay/internal/evidence/counters"
	"assay/internal/evidence/host"
	"assay/internal/experiment/trace"
)

// mapped is the trace, counters and history of a phase, in files without a name that the worker
// opens by /proc/PID/fd/N.
type mapped struct {
	trace        *os.File
	countersFile *os.File
	counters     *counters.File
	historyFile  *os.File // nil: the trace has no recorded entries
	history      *counters.History
}

// mapFiles makes the files of a phase that so many processes do. What goes wrong is Assay's own fault, never the store's.
func mapFiles(file *trace.File, processes int) (_ *mapped, err error) {
	m := &mapped{}
	defer func() {
		if err != nil {
			m.forget()
			_ = m.unmap() // the first error says more
			err = ownFault{err}
		}
	}()
	need, room := file.Bytes()+counters.Bytes(file, processes), historyRoom(file)
	if room > 0 {
		need += counters.HistoryBytes(len(file.Threads), room)
	}
	if err := checkRoom(need); err != nil {
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
	if m.counters, err = counters.CreateIn(m.countersFile, file, processes); err != nil {
		return nil, err
	}
	if err := memfile.SealSize(m.countersFile); err != nil {
		return nil, err
	}
	if room == 0 {
		return m, nil
	}
	if m.historyFile, err = memfile.Create("assay-history"); err != nil {
		return nil, err
	}
	if m.history, err = counters.CreateHistory(m.historyFile, len(file.Threads), room); err != nil {
		return nil, err
	}
	return m, memfile.SealSize(m.historyFile)
}

// unmap gives the memory of the counters and the history back.
func (m *mapped) unmap() (err error) {
	if m.counters != nil {
		err = m.counters.Unmap()
	}
	if m.history != nil {
		err = errors.Join(err, m.history.Unmap())
	}
	return err
}

// forget closes the files, once the worker has mapped them. The conductor's own map of the counters
// stays.
func (m *mapped) forget() {
	for _, file := range []*os.File{m.trace, m.countersFile, m.historyFile} {
		if file != nil {
			_ = file.Close() // memory: there is nothing to lose
		}
	}
}

// checkRoom refuses a phase for whose files there is too little memory: the kernel would kill a
// process for them, and perhaps the store.
func checkRoom(needBytes uint64) error {
	free := host.AvailableBytes()
	if need := needBytes + needBytes/8; free > 0 && free < need {
		return fmt.Errorf("the trace and counters of this phase need %s of memory, %s are available\nuse fewer threads or records, or free some memory",
			format.Bytes(float64(need)), format.Bytes(float64(free)))
	}
	return nil
}
