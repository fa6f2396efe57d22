package trace

import (
	"math"
	"strings"
	"testing"
)

// Every call has as many reads as it was asked for, all of different records, and the records that are
// read and written keep their shares.
func TestMultiReads(t *testing.T) {
	for name, order := range map[string]Order{
		"uniform": {Distribution: Uniform}, "sequential": {Distribution: Sequential},
		"a few hot": {Distribution: Zipfian, Theta: 3}, "hotspot": {Distribution: Hotspot, HotRecords: 0.1, HotOperations: 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			const keys = 8
			f := generate(t, Spec{Mix: []Share{{Read, 80}, {Update, 20}}, Order: order, Records: 100, Fresh: 100,
				Threads: 3, Seed: 7,
				Sizes: oneSize, MultiRead: keys, Batch: 5, ThreadEntries: 5000})
			if err := f.check(); err != nil {
				t.Fatal(err)
			}
			reads, updates := 0, 0
			for i := range f.Threads {
				entries := f.Threads[i].Entries
				for p := 0; p < len(entries); p++ {
					e := entries[p]
					n := int(f.Amounts[e.SizeClass()])
					switch e.Operation() {
					case MultiRead:
						if n != keys {
							t.Fatalf("a call of %d keys", n)
						}
						called := map[uint64]bool{}
						for _, member := range entries[p+1 : p+1+n] {
							if !member.IsMember() || member.Operation() != Read || called[member.Index()] ||
								member.Index() >= 100 {
								t.Fatalf("thread %d, entry %d: %v of %d", i, p, member.Operation(), member.Index())
							}
							called[member.Index()] = true
						}
						reads += n
					case Batch:
						updates += n
					default:
						t.Fatalf("%s by itself", e.Operation())
					}
					p += n
				}
			}
			if share := float64(reads) / float64(reads+updates); math.Abs(share-0.8) > 0.03 {
				t.Errorf("%.3f of the records are read, expected 0.8", share)
			}
		})
	}
}

func TestImpossibleMultiReadsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		s    Spec
		says string
	}{
		"latest":     {Spec{Order: Order{Distribution: Latest, Theta: 0.99}}, "no order latest"},
		"shuffled":   {Spec{Order: Order{Distribution: Shuffled}}, "no order shuffled"},
		"few":        {Spec{Order: Order{Distribution: Uniform}, Records: 7, Fresh: 7}, "a thread reads 7 records"},
		"a part":     {Spec{Order: Order{Distribution: Sequential}, Threads: 13}, "a thread reads 7 records"},
		"many":       {Spec{Order: Order{Distribution: Uniform}, MultiRead: MultiReadMax + 1}, "at most 1000"},
		"with steps": {Spec{Order: Order{Distribution: Uniform}, Request: []Step{{Operation: Read}}}, "multi-reads and fills"},
	} {
		s := c.s
		if s.Records == 0 {
			s.Records, s.Fresh = 100, 100
		}
		if s.MultiRead == 0 {
			s.MultiRead = 8
		}
		if s.Threads == 0 {
			s.Threads = 2
		}
		if s.Request == nil {
			s.Mix = []Share{{Read, 1}}
		}
		if _, err := Generate(s); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file with other members than reads is refused: a worker would read what it was to write.
func TestMembersOfMultiReads(t *testing.T) {
	for name, member := range map[string]Entry{"an update": MakeEntry(Update, 1, 0, false).Member(), "no member": MakeEntry(Read, 1, 0, false)} {
		f := &File{Groups: 1, Threads: []Thread{{Entries: []Entry{MakeEntry(MultiRead, 0, 0, false), member}}}}
		f.Amounts[0] = 1
		if err := f.ListSlots(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Encode(); err == nil || !strings.Contains(err.Error(), "should be a read in a multi-read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
