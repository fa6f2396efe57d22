package trace

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func requests() *File {
	f := &File{Groups: 1, Operations: []Operation{Read, Update, Request}, Threads: make([]Thread, 1)}
	f.Amounts[0], f.Amounts[1], f.Amounts[2] = 300, 3, 1
	f.Threads[0] = Thread{Entries: []Entry{
		MakeEntry(Update, 7, 0, false), MakeEntry(Read, 7, 0, false), MakeEntry(Update, 7, 0, false),
		MakeEntry(Request, 7, 1, false),
		MakeEntry(Read, 9, 0, true), MakeEntry(Request, 9, 2, true),
	}, Stride: 10, Limit: 10}
	return f
}

func TestBrokenRequestsAreRefused(t *testing.T) {
	if _, err := requests().Encode(); err != nil {
		t.Fatal(err)
	}
	at := func(p int, e Entry) func(*File) { return func(f *File) { f.Threads[0].Entries[p] = e } }
	for says, change := range map[string]func(*File){
		"belong to no request":   at(5, MakeEntry(Read, 9, 0, true)),
		"stands after 0":         at(0, MakeEntry(Request, 7, 2, false)),
		"3 steps stands after 5": at(3, MakeEntry(Read, 7, 0, false)),
		"1 steps stands after 3": at(3, MakeEntry(Request, 7, 2, false)),
		"several keys":           at(1, MakeEntry(Read, 8, 0, false)),
		"on several keys":        at(4, MakeEntry(Read, 9, 0, false)),
		"cuts a request":         func(f *File) { f.Threads[0].Limit = 8 },
		"is not about one key": func(f *File) {
			f.Flags = FlagHistory
			f.Threads[0].Entries[3] = f.Threads[0].Entries[3].Record()
		},
		"scan can't be a step": func(f *File) {
			f.Operations = []Operation{Read, Update, Scan, Request}
			f.Threads[0].Entries[1] = MakeEntry(Scan, 7, 0, false)
		},
		"3 steps stands after 4": func(f *File) {
			f.Threads[0].Entries = append([]Entry{MakeEntry(Read, 7, 0, false)}, f.Threads[0].Entries...)
			f.Threads[0].Limit = 0
		},
	} {
		f := requests()
		if change(f); says == "3 steps stands after 5" {
			f.Threads[0].Entries[5] = MakeEntry(Request, 7, 1, false)
		}
		if _, err := f.Encode(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error that says %q, got %v", says, err)
		}
	}
}

// Each request has its steps in their order on one key, in every lap; limits and due times are of
// requests; and a request that begins with an insert is about a key that no other one has.
func TestRequestsAreWholeAndOnOneKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		s.Mix, s.Batch = nil, 0
		if s.Order.Distribution == Latest {
			s.Order = Order{Distribution: Uniform}
		}
		first := rapid.SampledFrom([]Operation{Insert, Update, Read}).Draw(t, "first")
		s.Request = []Step{{Operation: first, Bytes: 300}, {Operation: Read}, {Operation: Update}}
		if first == Read {
			s.Request[0].Bytes = 0
		}
		f, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		keys, done := map[uint64]bool{}, uint64(0)
		for i := range f.Threads {
			thread := &f.Threads[i]
			if len(thread.Entries)%4 != 0 || thread.Limit%4 != 0 {
				t.Fatalf("thread %d has %d entries and a limit of %d", i, len(thread.Entries), thread.Limit)
			}
			done += f.Count(i, thread.Limit)[slices.Index(f.Operations, Request)]
			for sequence := range 2 * uint64(len(thread.Entries)) {
				e, index := thread.EntryAt(sequence)
				_, of := thread.EntryAt(sequence / 4 * 4)
				want := append(s.Request, Step{Operation: Request})[sequence%4]
				if e.Operation() != want.Operation || index != of || want.Bytes > 0 && f.Amounts[e.SizeClass()] != 300 {
					t.Fatalf("thread %d, entry %d: %s of index %d and %d bytes", i, sequence, e.Operation(), index, f.Amounts[e.SizeClass()])
				}
				if e.Operation() == Insert && (keys[index] || index < s.Fresh) {
					t.Fatalf("index %d is not fresh", index)
				}
				keys[index] = keys[index] || e.Operation() == Insert
			}
			for p := range thread.Due {
				if thread.Due[p] != thread.Due[p/4*4] {
					t.Fatalf("thread %d: a request is due at several moments", i)
				}
			}
		}
		if s.Limit > 0 && done > s.Limit || s.Limit > 0 && s.Rate == 0 && done != s.Limit {
			t.Fatalf("%d requests, want %d", done, s.Limit)
		}
	})
}

func TestImpossibleRequestsAreRefused(t *testing.T) {
	steps := []Step{{Operation: Update}, {Operation: Read}}
	for says, s := range map[string]Spec{
		"beside no mix":     {Request: steps, Mix: []Share{{Read, 1}}},
		"no batches":        {Request: steps, Batch: 10},
		"no order latest":   {Request: steps, Order: Order{Distribution: Latest, Theta: 0.99}},
		"no step":           {Request: []Step{{Operation: Scan}}},
		"first step or":     {Request: []Step{{Operation: Read}, {Operation: Insert}}},
		"load some first":   {Request: steps, Records: 0},
		"a load has no mix": {Request: steps, Load: true, Records: 10, Order: Order{Distribution: Sequential}},
	} {
		s.Threads, s.Sizes = 1, oneSize
		if s.Records == 0 && says != "load some first" {
			s.Records = 10
		}
		if s.Order.Distribution == "" {
			s.Order.Distribution = Uniform
		}
		s.Fresh = s.Records
		if _, err := Generate(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error that says %q, got %v", says, err)
		}
	}
}
