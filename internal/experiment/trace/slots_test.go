package trace

import (
	"slices"
	"strings"
	"testing"
)

// asking is a trace that asks three questions, two of them by one operation.
func asking(t *testing.T) *File {
	f := &File{Groups: 1, Threads: make([]Thread, 1)}
	f.Amounts[0], f.Amounts[1] = 4, 2
	f.Threads[0].Entries = []Entry{
		MakeEntry(Read, 1, 9, false), MakeEntry(Query, 1, 0, false), MakeEntry(Count, 5, 0, false), MakeEntry(Query,
			7, 1, false),
		MakeEntry(Query, 8, 0, false),
	}
	if err := f.ListSlots(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSlots(t *testing.T) {
	f := asking(t)
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Operation{Read, Query, Query, Count}; !slices.Equal(got.Operations, want) ||
		!slices.Equal(got.Queries, []uint8{0, 2, 4, 4}) {
		t.Fatalf("slots %v of queries %v", got.Operations, got.Queries)
	}
	slots := got.Slots()
	for p, want := range []int{0, 2, 3, 1, 2} {
		if at := slots.Of(got.Threads[0].Entries[p]); at != want {
			t.Errorf("entry %d has slot %d, expected %d", p, at, want)
		}
	}
	if counts := got.Count(0, 8); !slices.Equal(counts, []uint64{2, 1, 3, 2}) {
		t.Errorf("after 8 entries: %v", counts)
	}
}

func TestBrokenSlotsAreRefused(t *testing.T) {
	for _, c := range []struct {
		says   string
		change func(*File)
	}{
		{"query by query 2 is not in the header's list", func(f *File) { f.Queries[1] = 3 }},
		{"count by query 4 is not in the header's list", func(f *File) { f.Operations, f.Queries = f.Operations[:3], f.Queries[:3] }},
		{"out of order", func(f *File) { f.Queries[1], f.Queries[2] = 4, 2 }},
		{"out of order", func(f *File) { f.Queries[1] = 4 }},
		{"read asks query 1", func(f *File) { f.Queries[0] = 1 }},
		{"each with an operation and a query", func(f *File) { f.Queries = f.Queries[:2] }},
	} {
		f := asking(t)
		c.change(f)
		if _, err := f.Encode(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("expected an error that says %q, got %v", c.says, err)
		}
	}
	f := asking(t)
	f.Amounts[0] = 300
	if err := f.ListSlots(); err == nil || !strings.Contains(err.Error(), "asks query 300") {
		t.Errorf("a query without a place in the header: %v", err)
	}
}
