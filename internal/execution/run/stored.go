package run

import (
	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// batched is what the batches of a phase do to the number of records.
type batched int

const (
	unlooked batched = iota
	keep             // they only update
	insert           // every member inserts
	mixed            // counters can't tell how many records they make or remove
)

// stored returns how many records are live at a moment of the phase: those of before, and what was
// inserted since. It is nil where counters can't tell: where something is deleted or upserted, or
// batches do more than one thing.
func (w *watched) stored(now counters.Sample) *uint64 {
	before := liveAfter(w.trial.result.Phases)
	if before == nil {
		return nil
	}
	records := *before
	for _, total := range now.Totals {
		switch total.Operation {
		case trace.Insert, trace.Add:
			records += total.Outcomes[counters.OK]
		case trace.Batch:
			if w.batches == unlooked {
				w.batches = batchesOf(w.file)
			}
			if w.batches == mixed {
				return nil
			}
			if w.batches == insert {
				records += total.Items
			}
		case trace.Delete, trace.DeleteQuery, trace.Upsert:
			return nil
		}
	}
	return &records
}

// liveAfter returns the records that the phases left; nil: not known.
func liveAfter(phases []record.Phase) *uint64 {
	if len(phases) == 0 {
		return new(uint64)
	}
	return phases[len(phases)-1].Sizes.Records
}

func batchesOf(file *trace.File) batched {
	inserts, updates := false, false
	for i := range file.Threads {
		for _, e := range file.Threads[i].Entries {
			if !e.IsMember() {
				continue
			}
			switch e.Operation() {
			case trace.Insert:
				inserts = true
			case trace.Update:
				updates = true
			default:
				return mixed
			}
		}
	}
	switch {
	case inserts && updates:
		return mixed
	case inserts:
		return insert
	}
	return keep
}
