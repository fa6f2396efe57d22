package audit

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/trace"
)

func TestEveryRecordBelowTheBoundIsThere(t *testing.T) {
	raised := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, rapid.Bool().Draw(t, "may fail"))
		below := PresentBelow(w.phases)
		for index := range below {
			if word, there := w.truth[index]; !there || word == counters.ObservedMiss {
				t.Fatalf("record %d is not there, but PresentBelow returned %d", index, below)
			}
		}
		if below > 0 {
			raised++
		}
	})
	if raised == 0 {
		t.Error("no world had a bound above 0: nothing was tested")
	}
}

func TestBoundGoesUpWithInsertsAndDownWithDeletes(t *testing.T) {
	one := func(o trace.Operation, index, stride uint64, grows bool) *trace.File {
		return &trace.File{Groups: 1, Operations: []trace.Operation{o},
			Threads: []trace.Thread{{Entries: []trace.Entry{trace.MakeEntry(o, index, 0, grows)}, Stride: stride}}}
	}
	phase := func(number int, f *trace.File, acknowledged uint64, doubt uint32) Phase {
		return Phase{Number: number, Trace: f, Attempted: []uint64{acknowledged},
			Acknowledged: []uint64{acknowledged}, Doubt: []uint32{doubt}}
	}
	load := phase(0, one(trace.Insert, 0, 1, true), 100, 0)
	load.ZeroVersions, load.Trace.Threads[0].Limit = true, 100
	inserts := phase(1, one(trace.Insert, 100, 1, true), 50, 0)
	two := Phase{Number: 2, Trace: &trace.File{Groups: 1, Operations: []trace.Operation{trace.Insert},
		Threads: []trace.Thread{
			{Entries: []trace.Entry{trace.MakeEntry(trace.Insert, 100, 0, true)}, Stride: 2},
			{Entries: []trace.Entry{trace.MakeEntry(trace.Insert, 101, 0, true)}, Stride: 2},
		}}, Attempted: []uint64{30, 8}, Acknowledged: []uint64{30, 7}, Doubt: make([]uint32, 2)}
	upserts := phase(3, one(trace.Upsert, 0, 1, true), 70, 0)
	for _, c := range []struct {
		name   string
		phases []Phase
		want   uint64
	}{
		{"nothing", nil, 0},
		{"a load", []Phase{load}, 100},
		{"a load and inserts", []Phase{load, inserts}, 150},
		{"inserts in doubt", []Phase{load, phase(1, inserts.Trace, 50, 1<<trace.Insert)}, 100},
		{"inserts over a gap", []Phase{load, phase(1, one(trace.Insert, 120, 1, true), 50, 0)}, 100},
		{"two threads, one of them slower", []Phase{load, two}, 100 + 2*7 + 1},
		{"upserts without a load", []Phase{upserts}, 70},
		{"a delete of record 40, once", []Phase{load, phase(4, one(trace.Delete, 40, 0, false), 3, 0)}, 40},
		{"a delete that was not tried", []Phase{load, phase(4, one(trace.Delete, 40, 0, false), 0, 0)}, 100},
		{"a delete of an inserted record", []Phase{load, inserts, phase(4, one(trace.Delete, 140, 0, false), 1, 0)}, 140},
		{"deleted, and put again", []Phase{load, phase(4, one(trace.Delete, 40, 0, false), 1, 0), upserts}, 70},
	} {
		if got := PresentBelow(c.phases); got != c.want {
			t.Errorf("%s: each record below %d is there, want %d", c.name, got, c.want)
		}
	}
	if got := LowestDeleted(inserts.Trace); got != math.MaxUint64 {
		t.Errorf("inserts delete record %d", got)
	}
	if got := LowestDeleted(one(trace.Delete, 40, 3, true)); got != 40 {
		t.Errorf("deletes from record 40 on: %d", got)
	}
}
