// Package phasefiles makes the files that a phase's processes share: trace, counters and history,
// in memory, without a name. A worker opens them by /proc/PID/fd/N. The conductor makes them for
// the workers of its machine, an agent for those of its own.
package phasefiles

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

// Files are the trace, counters and history of a phase.
type Files struct {
	Trace        *os.File // nil: its processes are on other machines
	CountersFile *os.File
	Counters     *counters.File
	HistoryFile  *os.File // nil: the trace has no recorded entries
	History      *counters.History
}

// Make makes the files of a phase that so many processes do, with room for so many records of each
// thread's history; 0: none is recorded. What goes wrong is Assay's own fault, never the store's.
func Make(file *trace.File, processes, historyRoom int) (*Files, error) {
	return request{file, processes, historyRoom, nil}.make(true, nil)
}

// MakeWith does so where the trace is written already: see WriteTrace. The caller keeps that file.
func MakeWith(written *os.File, file *trace.File, processes, historyRoom int) (*Files, error) {
	return request{file, processes, historyRoom, nil}.make(true, written)
}

// WriteTrace writes the trace that several phases will have. Nobody can change it: it is sealed.
func WriteTrace(file *trace.File) (written *os.File, err error) {
	if !file.OnDisk() {
		if err := CheckRoom(file.Bytes()); err != nil {
			return nil, err
		}
	}
	return writeTrace(file)
}

func writeTrace(file *trace.File) (written *os.File, err error) {
	if file.OnDisk() {
		return file.FinishOnDisk()
	}
	if written, err = memfile.Create("assay-trace"); err != nil {
		return nil, err
	}
	if err = file.WriteIn(written); err == nil {
		err = memfile.SealAll(written)
	}
	if err != nil {
		_ = written.Close() // memory: there is nothing to lose
		return nil, err
	}
	return written, nil
}

// MakeShare makes the files of one of several processes, the others of which are on other machines:
// the whole trace, but memory for the counters of its own threads alone.
func MakeShare(file *trace.File, processes, historyRoom int, share counters.Share) (*Files, error) {
	return request{file, processes, historyRoom, &share}.make(true, nil)
}

// MakeCounters makes the counters and the history alone, of a phase that so many processes of other
// machines do.
func MakeCounters(file *trace.File, processes, historyRoom int) (*Files, error) {
	return request{file, processes, historyRoom, nil}.make(false, nil)
}

// request says which files are made.
type request struct {
	file                   *trace.File
	processes, historyRoom int
	share                  *counters.Share // nil: all threads
}

// written is the trace's file; nil: it is yet to be written.
func (r request) make(withTrace bool, written *os.File) (_ *Files, err error) {
	if err := CheckRoom(r.bytes(withTrace && written == nil)); err != nil {
		return nil, err
	}
	m := &Files{}
	switch {
	case written != nil:
		m.Trace, err = memfile.Again(written)
	case withTrace:
		m.Trace, err = writeTrace(r.file)
	}
	if err == nil {
		err = m.makeCounters(r)
	}
	if err != nil {
		m.Forget()
		_ = m.Unmap() // the first error says more
		return nil, err
	}
	return m, nil
}

// bytes is how much memory the files take.
func (r request) bytes(withTrace bool) (need uint64) {
	if need = counters.Bytes(r.file, r.processes); r.share != nil {
		need = counters.ShareBytes(r.file, r.processes, *r.share)
	}
	if withTrace && !r.file.OnDisk() {
		need += r.file.Bytes()
	}
	if r.historyRoom > 0 {
		need += counters.HistoryBytes(len(r.file.Threads), r.historyRoom)
	}
	return need
}

func (m *Files) makeCounters(r request) (err error) {
	if m.CountersFile, err = memfile.Create("assay-counters"); err != nil {
		return err
	}
	if r.share != nil {
		m.Counters, err = counters.CreateShareIn(m.CountersFile, r.file, r.processes, *r.share)
	} else {
		m.Counters, err = counters.CreateIn(m.CountersFile, r.file, r.processes)
	}
	if err != nil {
		return err
	}
	if err := memfile.SealSize(m.CountersFile); err != nil || r.historyRoom == 0 {
		return err
	}
	if m.HistoryFile, err = memfile.Create("assay-history"); err != nil {
		return err
	}
	if m.History, err = counters.CreateHistory(m.HistoryFile, len(r.file.Threads), r.historyRoom); err != nil {
		return err
	}
	return memfile.SealSize(m.HistoryFile)
}

// Unmap gives the memory of the counters and the history back.
func (m *Files) Unmap() (err error) {
	if m.Counters != nil {
		err = m.Counters.Unmap()
	}
	if m.History != nil {
		err = errors.Join(err, m.History.Unmap())
	}
	return err
}

// Forget closes the files, once the workers have mapped them. The own map of the counters stays.
func (m *Files) Forget() {
	for _, file := range []*os.File{m.Trace, m.CountersFile, m.HistoryFile} {
		if file != nil {
			_ = file.Close() // memory: there is nothing to lose
		}
	}
}

// CheckRoom refuses a phase for whose files there is too little memory: the kernel would kill a
// process for them, and perhaps the store.
func CheckRoom(needBytes uint64) error {
	free := host.AvailableBytes()
	if need := needBytes + needBytes/8; free > 0 && free < need {
		return fmt.Errorf("the trace and counters of this phase need %s of memory, %s are available\nuse fewer threads or records, or free some memory",
			format.Bytes(float64(need)), format.Bytes(float64(free)))
	}
	return nil
}
