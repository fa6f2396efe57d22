package run

import (
	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

// batched is what the batches of a phase do to the number of records.
type batched int

const (
	unlooked batched = iota
	keep             // they only update
	insert           // every member inserts
	mixed            // counters can't report how many records they make or remove
)

// records returns how many records are live at a moment of the phase: those of before, and what was
// inserted since. It is nil where counters can't report: where something is deleted or upserted, or
// batches do more than one thing.
func (r *readings) records(now counters.Sample) *uint64 {
	before := r.holdings.before
	if before == nil {
		return nil
	}
	records := *before
	for _, total := range now.Totals {
		switch total.Operation {
		case trace.Insert, trace.Add:
			records += total.Outcomes[counters.OK]
		case trace.Batch:
			if r.batches == unlooked {
				r.batches = batchesOf(r.file)
			}
			if r.batches == mixed {
				return nil
			}
			if r.batches == insert {
				records += total.Items
			}
		case trace.Delete, trace.DeleteQuery, trace.Upsert, trace.ReadOrFill, trace.GetAndSet:
			return nil
		}
	}
	return &records
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
			case trace.Read: // of a multi-read
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
