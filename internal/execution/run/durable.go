package run

import (
	"assay/internal/base/finding"
	"assay/internal/evidence/host"
	"assay/internal/evidence/record"
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

// watchSyncs finds the disk that a store has to flush, in a class that survives a power cut.
func (t *trial) watchSyncs() {
	kind := t.store.Description.Kind
	if t.cell.Durability != store.D3 || kind == store.None {
		return
	}
	switch {
	case t.store.Outlives():
		t.syncsWhy = "a server's disk is not known"
	case t.data == "":
		t.syncsWhy = "the store has no files"
	default:
		var err error
		if t.syncs, err = host.NewSyncCounter(t.data); err != nil {
			t.syncs, t.syncsWhy = nil, err.Error()
		}
	}
	if t.syncs == nil && !t.run.toldSyncs {
		t.run.toldSyncs = true
		t.run.view.Message("durability claims are not checked against the disk's flushes: " + t.syncsWhy)
	}
}

// syncsDone is what a trial's disk had done at some moment.
type syncsDone struct {
	count uint64
	err   error
}

func (t *trial) syncsNow() (s syncsDone) {
	if t.syncs != nil {
		s.count, s.err = t.syncs.Done()
	}
	return s
}

// syncsOf holds the writes that a phase acknowledged against what the disk did since it began; nil
// where the phase promises nothing.
func (t *trial) syncsOf(p *record.Phase, before syncsDone) *record.Syncs {
	if t.syncs == nil && t.syncsWhy == "" || p.Load || p.Threads == 0 {
		return nil
	}
	s := &record.Syncs{Acknowledged: syncedWrites(p)}
	s.Least = (s.Acknowledged + uint64(p.Threads) - 1) / uint64(p.Threads)
	if t.syncs == nil {
		s.Why = t.syncsWhy
		return s
	}
	now := t.syncsNow()
	for _, err := range []error{before.err, now.err} {
		if err != nil {
			s.Why = err.Error()
			return s
		}
	}
	done := now.count - before.count
	s.Done, s.Counted, s.Disk = &done, t.syncs.Counts(), t.syncs.Disk
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
