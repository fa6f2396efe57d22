package run

import (
	"math"

	"assay/internal/audit"
	"assay/internal/history"
	"assay/internal/keyval"
	"assay/internal/record"
	"assay/internal/spec"
	"assay/internal/trace"
)

// The sample of keys whose history is recorded.
const (
	historyKeys = 256
	// historyRecordsMax bounds the records of a phase over all threads, 32 bytes each;
	// historyThreadMax those of one thread.
	historyRecordsMax = 1 << 19
	historyThreadMax  = 1 << 17
)

// recordKeys chooses the keys whose history the phase records, and marks their entries. All arms of
// a cell have the same trace, so that recording costs them the same.
func (t *trial) recordKeys(p *spec.Phase, file *trace.File, number int) []uint64 {
	if p.Load || !t.run.experiment.Verify {
		return nil
	}
	keys := file.ChooseKeys(historyKeys, keyval.Mix(t.plan.Seed^uint64(number)<<40))
	file.RecordKeys(keys)
	return keys
}

// historyRoom returns how many records each thread has room for; 0: the trace has no recorded
// entries.
func historyRoom(file *trace.File) int {
	if file.Flags&trace.FlagHistory == 0 {
		return 0
	}
	return max(min(historyRecordsMax/len(file.Threads), historyThreadMax), 4)
}

// historyOf is what the sample showed.
func historyOf(h *audit.History, eventual bool) *record.History {
	r := &record.History{Sample: len(h.Keys), Records: uint64(len(h.Events)), Dropped: h.Dropped, Eventual: eventual, Consistency: *history.Check(h)}
	complete := int64(math.MaxInt64)
	for _, until := range h.UntilNS {
		complete = min(complete, until)
	}
	if complete < math.MaxInt64 {
		r.CompleteNS = &complete
	}
	return r
}
