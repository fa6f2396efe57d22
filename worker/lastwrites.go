package worker

import (
	"slices"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// lastWrites are, of a phase that appended and of each of its threads, the sequence numbers of the last
// acknowledged writes by index; nil: some of the thread's writes may have been left out.
type lastWrites [][]map[uint64]uint64 // by phase number, and thread

// lastWritesOf lists those of all phases before a verify phase, in which nothing is written any more.
func (s *session) lastWritesOf(verify *phase) lastWrites {
	if !s.appends || verify.trace.Flags&trace.FlagRecordVersions == 0 || s.eventual() {
		return nil
	}
	all := make(lastWrites, keyval.PhaseMax+1)
	for number, p := range s.phases {
		if p == verify || !slices.Contains(p.trace.Operations, trace.Append) {
			continue
		}
		all[number] = make([]map[uint64]uint64, len(p.trace.Threads))
		for thread := range all[number] {
			if !p.failedWrites(thread) {
				all[number][thread] = p.lastChanges(thread)
			}
		}
	}
	return all
}

// eventual reports whether reads may return what was there before the last write.
func (s *session) eventual() bool {
	teller, ok := s.store.(store.EventualTeller)
	return s.hosted.description.Eventual || ok && teller.Eventual()
}

// lastChanges returns the sequence numbers of a thread's last acknowledged changes, by index. One that deleted
// a record counts: nothing of the thread that came before it may be there.
func (p *phase) lastChanges(thread int) map[uint64]uint64 {
	t := &p.trace.Threads[thread]
	n, acknowledged := uint64(len(t.Entries)), p.counters.Thread(thread).Acknowledged
	last := map[uint64]uint64{}
	for i, e := range t.Entries {
		position := uint64(i)
		if acknowledged <= position {
			break
		}
		if o := e.Operation(); !e.Grows() && (o.Writes() || o.Deletes()) {
			sequence := (acknowledged-1-position)/n*n + position
			last[e.Index()] = max(last[e.Index()], sequence)
		}
	}
	return last
}

// lacks reports whether a value lacks the last part of a thread, another one of whose is there: nothing can have
// begun the value anew in between.
func (l lastWrites) lacks(parts []valuePart, index uint64) bool {
	if l == nil {
		return false
	}
	for i, part := range parts {
		if slices.ContainsFunc(parts[i+1:], func(later valuePart) bool { return later.writer == part.writer }) {
			continue // that one is its last
		}
		number, thread, _ := keyval.SplitVersion(part.writer)
		if number >= len(l) || thread >= len(l[number]) {
			continue
		}
		if last, written := l[number][thread][index]; written && last > part.sequence {
			return true
		}
	}
	return false
}
