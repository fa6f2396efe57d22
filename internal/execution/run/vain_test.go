package run

import (
	"testing"

	"assay/internal/evidence/record"
	"assay/internal/experiment/trace"
)

// aTrace is a trace of one operation an entry, a thread for each list.
func aTrace(stride uint64, threads ...[]trace.Entry) *trace.File {
	f := &trace.File{}
	for _, entries := range threads {
		f.Threads = append(f.Threads, trace.Thread{Entries: entries, Stride: stride})
	}
	return f
}

func entries(o trace.Operation, indexes ...uint64) (all []trace.Entry) {
	for _, i := range indexes {
		all = append(all, trace.MakeEntry(o, i, 0, false))
	}
	return all
}

func TestMayDelete(t *testing.T) {
	t.Parallel()
	loaded := trace.Spans{{Below: 4}}
	grows := []trace.Entry{trace.MakeEntry(trace.Delete, 0, 0, true)}
	for name, c := range map[string]struct {
		file  *trace.File
		begun []uint64
		may   trace.Spans
		gone  []uint64
		want  uint64
	}{
		"each record once":                        {aTrace(0, entries(trace.Delete, 0, 1, 2, 3)), []uint64{4}, loaded, nil, 4},
		"laps find nothing more":                  {aTrace(0, entries(trace.Delete, 0, 1, 2, 3)), []uint64{4000}, loaded, nil, 4},
		"only what was begun":                     {aTrace(0, entries(trace.Delete, 0, 1, 2, 3)), []uint64{2}, loaded, nil, 2},
		"two threads on the same records":         {aTrace(0, entries(trace.Delete, 0, 1), entries(trace.Delete, 1, 2)), []uint64{2, 2}, loaded, nil, 3},
		"records that were never there":           {aTrace(0, entries(trace.Delete, 3, 4, 5)), []uint64{3}, loaded, nil, 1},
		"records that an earlier phase deleted":   {aTrace(0, entries(trace.Delete, 0, 1, 2)), []uint64{3}, loaded, []uint64{1, 2}, 1},
		"records that are put again":              {aTrace(0, entries(trace.Delete, 0), entries(trace.Update, 0, 1)), []uint64{9, 6}, loaded, nil, 4},
		"an index that grows, of what is there":   {aTrace(1, grows), []uint64{100}, loaded, nil, 4},
		"members of batches, which are no delete": {aTrace(0, append(entries(trace.Batch, 0), entries(trace.Upsert, 1)...)), []uint64{2}, loaded, nil, 0},
	} {
		v := vanishing{gone: indexSet{}}
		for _, i := range c.gone {
			v.gone.add(i)
		}
		if most, known := v.mayDelete(c.file, 0, len(c.file.Threads), c.begun, c.may); most != c.want || !known {
			t.Errorf("%s: %d, %v; expected %d", name, most, known, c.want)
		}
	}
	if _, known := (vanishing{}).mayDelete(aTrace(0, entries(trace.Delete, 0)), 0, 1, []uint64{1}, nil); known {
		t.Error("where records of others have the same keys, nothing is known")
	}
	if _, known := (vanishing{}).mayDelete(aTrace(1, grows), 0, 1, []uint64{2 * lapsMax}, loaded); known {
		t.Error("too many to look at, and known")
	}
}

func TestRecordsThatDeletesLeaveAreKnown(t *testing.T) {
	t.Parallel()
	var v vanishing
	if v = v.after(aTrace(0, entries(trace.Read, 1)), []uint64{1}, []uint64{1}); v.deletes || v.gone != nil {
		t.Errorf("after reads: %+v", v)
	}
	v = v.after(aTrace(0, entries(trace.Delete, 1, 2, 40_000), entries(trace.Update, 2)), []uint64{3, 1},
		[]uint64{3, 0})
	if !v.deletes || !v.gone.has(1) || v.gone.has(2) || !v.gone.has(40_000) || v.gone.has(3) {
		t.Errorf("2 may have been put again, and 3 was not deleted: %+v", v)
	}
	if v = v.after(aTrace(0, entries(trace.Delete, 5)), []uint64{1}, []uint64{0}); v.gone.has(5) {
		t.Error("a delete that was not acknowledged has deleted for certain")
	}
	if v = v.after(aTrace(0, entries(trace.Insert, 1)), []uint64{1}, []uint64{1}); v.gone.has(1) ||
		!v.gone.has(40_000) {
		t.Error("what was put is there again, and nothing else")
	}
}

func TestNoteVain(t *testing.T) {
	t.Parallel()
	slots := []record.Operation{{OK: 90, Miss: 10}, {OK: 100}, {OK: 3, Miss: 97}, {OK: 100, Items: 30},
		{OK: 100, Items: 1000}, {OK: 50}}
	deletable := uint64(20)
	noteVain(slots, []trace.Operation{trace.Delete, trace.Delete, trace.Read, trace.Scan, trace.Scan, trace.Update},
		&deletable)
	for i, want := range []uint64{80, 80, 97, 70, 0, 0} {
		if got := slots[i].Vain; got == nil || *got != want {
			t.Errorf("slot %d: %v, expected %d", i, got, want)
		}
	}
	noteVain(slots[1:2], []trace.Operation{trace.Delete}, nil)
	if *slots[1].Vain != 0 {
		t.Error("of deletes that a store does not tell from others, and the trace does not, nothing is known")
	}
}
