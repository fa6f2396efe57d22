package run

import (
	"testing"

	"assay/internal/evidence/counters"
	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

func TestStoredRecords(t *testing.T) {
	total := func(o trace.Operation, ok, items uint64) counters.Total {
		total := counters.Total{Operation: o, Items: items}
		total.Outcomes[counters.OK] = ok
		return total
	}
	thousand := uint64(1000)
	after := func(records *uint64) []record.Phase { return []record.Phase{{Sizes: record.Sizes{Records: records}}} }
	for _, c := range []struct {
		name   string
		before []record.Phase
		file   batched
		totals []counters.Total
		want   int64 // -1: not known
	}{
		{"the first phase", nil, unlooked, []counters.Total{total(trace.Insert, 7, 0)}, 7},
		{"inserts and reads", after(&thousand), unlooked, []counters.Total{total(trace.Read, 50, 0), total(trace.Insert, 7, 0), total(trace.Add, 3, 0)}, 1010},
		{"updates", after(&thousand), unlooked, []counters.Total{total(trace.Update, 50, 0)}, 1000},
		{"batches of inserts", after(&thousand), insert, []counters.Total{total(trace.Batch, 2, 200)}, 1200},
		{"batches of updates", after(&thousand), keep, []counters.Total{total(trace.Batch, 2, 200)}, 1000},
		{"mixed batches", after(&thousand), mixed, []counters.Total{total(trace.Batch, 2, 200)}, -1},
		{"deletes", after(&thousand), unlooked, []counters.Total{total(trace.Delete, 2, 0), total(trace.Insert, 2, 0)}, -1},
		{"after what is not known", after(nil), unlooked, []counters.Total{total(trace.Insert, 2, 0)}, -1},
	} {
		r := &readings{phaseInput: &phaseInput{holdings: &holdings{before: liveAfter(c.before)}}, batches: c.file}
		got := r.records(counters.Sample{Totals: c.totals})
		if (got == nil) != (c.want < 0) || got != nil && *got != uint64(c.want) {
			t.Errorf("%s: %v, want %d", c.name, got, c.want)
		}
	}
}
