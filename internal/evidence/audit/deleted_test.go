package audit

import (
	"testing"

	"pgregory.net/rapid"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

// deletedShapes are records with groups, and queries by them.
func deletedShapes(t *rapid.T) (*keyval.RecordShape, []*keyval.QueryShape) {
	columns := []keyval.Column{
		{Name: "group", Type: store.IntegerColumn, Sequence: &keyval.Sequence{Divide: 3, Modulo: 4}},
		{Name: "text", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "x "}},
		{Name: "proof", Type: store.BytesColumn, Proof: keyval.StampBytes},
	}
	record, err := keyval.NewRecordShape(columns)
	if err != nil {
		t.Fatal(err)
	}
	var shapes []*keyval.QueryShape
	for _, where := range []keyval.Condition{
		{Column: "group", Is: store.Equal}, {Column: "group", Is: store.Range, Span: 2}, {Column: "text", Is: store.Prefix, Bytes: 3},
	} {
		shape, err := record.NewQueryShape(columns, keyval.Query{Where: [][]keyval.Condition{{where}}})
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, shape)
	}
	return record, shapes
}

// What one thread did after another is certain: deletes by query took what they found and nothing
// else, and whatever is otherwise is seen. Of threads at the same time, what really happened is never
// flagged.
func TestDeletesByQuery(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const records = 30
		record, shapes := deletedShapes(t)
		alone := rapid.Bool().Draw(t, "alone")
		there, last := map[uint64]uint64{}, map[uint64]uint64{}
		var phases []Phase
		for number := 1; number <= rapid.IntRange(1, 3).Draw(t, "phases"); number++ {
			f := &trace.File{Groups: 1, Threads: make([]trace.Thread, 1)}
			if !alone {
				f.Threads = make([]trace.Thread, 2)
			}
			for i := range shapes {
				f.Amounts[i] = uint32(i)
			}
			for i := range f.Threads {
				for range rapid.IntRange(1, 12).Draw(t, "entries") {
					o := rapid.SampledFrom([]trace.Operation{trace.Upsert, trace.Upsert, trace.Delete, trace.DeleteQuery, trace.Read}).Draw(t, "operation")
					index := uint64(rapid.IntRange(0, records-1).Draw(t, "index"))
					f.Threads[i].Entries = append(f.Threads[i].Entries, trace.MakeEntry(o, index, uint8(rapid.IntRange(0, len(shapes)-1).Draw(t, "query")), false))
				}
			}
			p := Phase{Number: number, Trace: f, Record: record, Queries: shapes, Doubt: make([]uint32, len(f.Threads)),
				Attempted: make([]uint64, len(f.Threads)), Acknowledged: make([]uint64, len(f.Threads))}
			for steps := rapid.IntRange(1, 40).Draw(t, "steps"); steps > 0; steps-- {
				i := 0
				if len(f.Threads) > 1 {
					i = rapid.IntRange(0, 1).Draw(t, "thread")
				}
				n := uint64(len(f.Threads[i].Entries))
				sequence := p.Attempted[i]
				p.Attempted[i], p.Acknowledged[i] = sequence+1, sequence+1
				do(f.Threads[i].Entries[sequence%n], keyval.Version(number, i, sequence), shapes, there, last)
			}
			phases = append(phases, p)
		}
		var indexes []uint64
		for index := range uint64(records) {
			indexes = append(indexes, index)
		}
		x := Expect(phases, indexes)
		for i, index := range indexes {
			version, is := there[index]
			word := version
			if !is {
				word = counters.ObservedMiss
			}
			if judged := x.Judge(i, word); judged != Right {
				t.Fatalf("record %d, as it is (there: %v): %s", index, is, judged)
			}
			if x.MustBeThere(i) && !is || is && !x.MayBeThere(i) {
				t.Fatalf("record %d (there: %v) must %v, may %v", index, is, x.MustBeThere(i), x.MayBeThere(i))
			}
			if !alone {
				continue
			}
			if was, put := last[index]; put && !is && x.Judge(i, was) != Stale {
				t.Fatalf("record %d was deleted, and is there: %s", index, x.Judge(i, was))
			}
			if is && x.Judge(i, counters.ObservedMiss) != Lost {
				t.Fatalf("record %d was not deleted, and is gone: %s", index, x.Judge(i, counters.ObservedMiss))
			}
		}
	})
}

// do does one operation to a correct store.
func do(e trace.Entry, version uint64, shapes []*keyval.QueryShape, there, last map[uint64]uint64) {
	switch e.Operation() {
	case trace.Upsert:
		there[e.Index()], last[e.Index()] = version, version
	case trace.Delete:
		delete(there, e.Index())
	case trace.DeleteQuery:
		var asked keyval.Asked
		shape := shapes[e.SizeClass()]
		shape.Ask(&asked, e.Index())
		for index := range there {
			if shape.Holds(&asked, index) {
				delete(there, index)
			}
		}
	}
}
