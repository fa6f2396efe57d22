package run

import (
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
	"assay/store"
)

// A sync that a write waits for ends within that write. Each thread has one write under way, so a
// flush of the disk covers one write a thread at most, however a store groups its commits: threads
// × flushes bounds the writes that can be durable. Flushes of other programs are counted too, so
// that this accuses nobody falsely, and a store that never syncs is found out wherever it
// acknowledges more than syncsSlack × threads × (flushes of everything else + syncsSpare).
const (
	syncsSlack = 2
	syncsSpare = 16
)

// syncCheck holds acknowledged writes against what the disk of a trial did. A nil one holds nothing:
// the class promises no syncs.
type syncCheck struct {
	counter *host.SyncCounter // nil: why
	why     string            // why they can't be counted
}

// newSyncCheck finds the disk that a store has to flush in a class, where its files are.
func newSyncCheck(s experiment.Store, class store.Durability, data string) *syncCheck {
	if class != store.D3 || s.Description.Kind == store.None {
		return nil
	}
	switch {
	case s.Outlives():
		return &syncCheck{why: "a server's disk is not known"}
	case data == "":
		return &syncCheck{why: "the store has no files"}
	}
	counter, err := host.NewSyncCounter(data)
	if err != nil {
		return &syncCheck{why: err.Error()}
	}
	return &syncCheck{counter: counter}
}

// tellUnchecked says once in a run that syncs are not counted.
func (r *running) tellUnchecked(c *syncCheck) {
	if c != nil && c.counter == nil && !r.toldSyncs {
		r.toldSyncs = true
		r.view.Message("durability claims are not checked against the disk's flushes: " + c.why)
	}
}

// syncsDone is what a trial's disk had done at some moment.
type syncsDone struct {
	count uint64
	err   error
}

func (c *syncCheck) now() (s syncsDone) {
	if c != nil && c.counter != nil {
		s.count, s.err = c.counter.Done()
	}
	return s
}

// of holds the writes that a phase acknowledged against what the disk did since it began; nil where
// the phase promises nothing.
func (c *syncCheck) of(p *record.Phase, before syncsDone) *record.Syncs {
	if c == nil || p.Load || p.Threads == 0 {
		return nil
	}
	s := &record.Syncs{Acknowledged: syncedWrites(p)}
	s.Least = (s.Acknowledged + uint64(p.Threads) - 1) / uint64(p.Threads)
	if c.counter == nil {
		s.Why = c.why
		return s
	}
	now := c.now()
	for _, err := range []error{before.err, now.err} {
		if err != nil {
			s.Why = err.Error()
			return s
		}
	}
	done := now.count - before.count
	s.Done, s.Counted, s.Disk = &done, c.counter.Counts(), c.counter.Disk
	return s
}

// syncedWrites are the operations of a phase that changed something for certain. A delete may have
// found nothing where the store does not tell.
func syncedWrites(p *record.Phase) (n uint64) {
	for _, o := range p.Calls() {
		if code, _ := trace.ParseOperation(o.Name); code.Changes() && code != trace.Delete {
			n += o.OK
		}
	}
	return n
}

// tooFewSyncs returns a mark if the disk can't have done what the writes need.
func tooFewSyncs(p *record.Phase) []finding.Mark {
	s := p.Syncs
	if s == nil || s.Done == nil || s.Acknowledged <= syncsSlack*uint64(p.Threads)*(*s.Done+syncsSpare) {
		return nil
	}
	return []finding.Mark{{Phase: p.Name, Message: finding.New(finding.MarkTooFewSyncs, "acknowledged", s.Acknowledged,
		"threads", p.Threads, "least", s.Least, "done", *s.Done, "counted", s.Counted, "disk", s.Disk)}}
}
