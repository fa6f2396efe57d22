package trace

import (
	"math"
	"slices"
	"testing"
)

func TestTimed(t *testing.T) {
	head := func(o Operation) Entry { return MakeEntry(o, 1, 0, false) }
	thread := Thread{Entries: []Entry{head(Read), head(Batch), head(Insert).Member(), head(Insert).Member(),
		head(Update)}}
	const every, operations = 7, 300_000
	seen := map[Operation]uint64{}
	kinds := []Operation{Read, Batch, Update}
	last, total := int64(-1), uint64(0)
	for n := NextTimed(every, -1); n < operations; n = NextTimed(every, n) {
		if gap := n - last; gap < 1 || gap > 2*every-1 {
			t.Fatalf("operation %d is timed after %d: expected 1 to %d operations later", n, last, 2*every-1)
		}
		seen[kinds[n%3]]++
		total++
		last = n
	}
	if share := float64(total) / operations; math.Abs(share*every-1) > 0.02 {
		t.Errorf("one operation in %.3f is timed, expected one in %d", 1/share, every)
	}
	f := &File{TimedEvery: every, Threads: []Thread{thread}}
	if err := f.ListSlots(); err != nil {
		t.Fatal(err)
	}
	counts := f.Timed(0, operations)
	for _, o := range kinds {
		timed := counts[slices.Index(f.Operations, o)]
		if timed != seen[o] {
			t.Errorf("%s: %d are timed, expected %d", o, timed, seen[o])
		}
		if share := float64(timed) / float64(total); math.Abs(share-1.0/3) > 0.01 {
			t.Errorf("%s, a third of the operations, is %.3f of the sample", o, share)
		}
	}
}

func TestSampledIsRefused(t *testing.T) {
	spec := Spec{Records: 10, Fresh: 10, Threads: 1, Mix: []Share{{Read, 1}}, Order: Order{Distribution: Uniform},
		Limit: 100}
	for name, change := range map[string]func(*Spec){
		"none":          func(s *Spec) { s.TimedEvery = 1 },
		"too few":       func(s *Spec) { s.TimedEvery = TimedEveryMax + 1 },
		"open load":     func(s *Spec) { s.TimedEvery, s.Rate, s.Arrivals = 10, 1000, Poisson },
		"handle times":  func(s *Spec) { s.TimedEvery, s.HandleTimes = 10, true },
		"with requests": func(s *Spec) { s.TimedEvery, s.Mix, s.Request = 10, nil, []Step{{Operation: Read}} },
	} {
		of := spec
		change(&of)
		if _, err := Generate(of); err == nil {
			t.Errorf("%s: a trace was made", name)
		}
	}
	spec.TimedEvery = 10
	if f, err := Generate(spec); err != nil || f.Flags&FlagSampled == 0 || f.TimedEvery != 10 {
		t.Errorf("got %v, %v: expected a trace with one operation in 10 timed", f, err)
	}
}
