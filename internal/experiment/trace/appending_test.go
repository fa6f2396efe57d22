package trace

import (
	"math"
	"testing"
)

// Between two puts of a record, a thread appends at most so many parts, numbered from 1, in every lap; the weight
// of append counts the updates too.
func TestAppendsAreBounded(t *testing.T) {
	for name, s := range map[string]Spec{
		"uniform":  {Mix: []Share{{Append, 50}, {Read, 50}}, Order: Order{Distribution: Uniform}},
		"hot":      {Mix: []Share{{Append, 60}, {Update, 20}, {Read, 20}}, Order: Order{Distribution: Zipfian, Theta: 1.2}},
		"deletes":  {Mix: []Share{{Append, 60}, {Delete, 20}, {CompareAndSwap, 20}}, Order: Order{Distribution: Zipfian, Theta: 1.2}},
		"in order": {Mix: []Share{{Append, 100}}, Order: Order{Distribution: Sequential}},
		"fills":    {Mix: []Share{{Append, 50}, {Read, 50}}, Fill: true, Order: Order{Distribution: Zipfian, Theta: 1.2}},
	} {
		t.Run(name, func(t *testing.T) {
			const parts = 3
			s.Records, s.Fresh, s.Threads, s.Seed, s.Sizes, s.ThreadEntries = 5000, 5000, 2, 7, oneSize, 20_000
			s.Append = AppendSpec{Bytes: 40, Parts: parts}
			f := generate(t, s)
			if err := f.check(); err != nil {
				t.Fatal(err)
			}
			appends, all := 0, 0
			for i := range f.Threads {
				thread, held := &f.Threads[i], map[uint64]uint32{}
				for sequence := range uint64(3 * len(thread.Entries)) {
					e, index := thread.EntryAt(sequence)
					all++
					switch o := e.Operation(); {
					case o == Append:
						appends++
						before, put := held[index]
						if !put || f.PartOf(e) != before+1 || f.PartOf(e) > parts || f.Amounts[e.SizeClass()] != 40 {
							t.Fatalf("entry %d appends part %d of %d bytes to a record with %d (put: %v)", sequence, f.PartOf(e),
								f.Amounts[e.SizeClass()], before, put)
						}
						held[index]++
					case o == Update || o == Upsert:
						held[index] = 0
					case o.Changes():
						delete(held, index)
					}
				}
			}
			if name != "uniform" {
				return
			}
			if share := float64(appends) / float64(all); math.Abs(share-0.5*parts/(parts+1)) > 0.02 {
				t.Errorf("%.3f of the operations append", share)
			}
		})
	}
}

func TestImpossibleAppendsAreRefused(t *testing.T) {
	good := Spec{Mix: []Share{{Append, 1}}, Records: 10, Fresh: 10, Threads: 1, Sizes: oneSize,
		Order: Order{Distribution: Uniform}, Append: AppendSpec{Bytes: 40, Parts: 2}}
	if _, err := Generate(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Spec){
		"no parts":   func(s *Spec) { s.Append.Parts = 0 },
		"many parts": func(s *Spec) { s.Append.Parts = AppendPartsMax + 1 },
		"no bytes":   func(s *Spec) { s.Append.Bytes = 0 },
		"batches":    func(s *Spec) { s.Batch = 5 },
		"TTL":        func(s *Spec) { s.Expires = true },
		"latest":     func(s *Spec) { s.Order = Order{Distribution: Latest, Theta: 1} },
	} {
		s := good
		if change(&s); s.check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTouchesHaveATTL(t *testing.T) {
	s := Spec{Mix: []Share{{Touch, 1}, {Read, 1}}, Records: 10, Fresh: 10, Threads: 1, Sizes: oneSize, Expires: true,
		Order: Order{Distribution: Uniform}, TTLs: []TTL{{MS: 0, Weight: 9}, {MS: 300, Weight: 1}}}
	f := generate(t, s)
	for _, e := range f.Threads[0].Entries {
		if ttl := f.TTLs[e.SizeClass()]; e.Operation() == Touch && ttl != 300 {
			t.Fatalf("a touch gives %d ms", ttl)
		}
	}
	if s.TTLs = nil; s.check() == nil {
		t.Error("touches without a TTL: no error")
	}
}
