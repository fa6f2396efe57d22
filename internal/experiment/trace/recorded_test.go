package trace

import (
	"slices"
	"testing"
)

func TestChosenKeysAreHotAndUniform(t *testing.T) {
	f := generate(t, Spec{Mix: []Share{{Read, 1}, {Upsert, 1}}, Records: 100_000, Fresh: 100_000,
		Order: Order{Distribution: Zipfian, Theta: 0.99},
		Sizes: []Size{{100, 1}}, Threads: 2, Seed: 5})
	keys := f.ChooseKeys(256, 5)
	if len(keys) != 256 || !slices.IsSorted(keys) {
		t.Fatalf("%d keys, expected 256 in order", len(keys))
	}
	if again := f.ChooseKeys(256, 5); !slices.Equal(keys, again) {
		t.Error("the same seed chooses other keys")
	}
	if other := f.ChooseKeys(256, 6); slices.Equal(keys, other) {
		t.Error("another seed chooses the same keys")
	}
	f.RecordKeys(keys)
	times, all := map[uint64]int{}, 0
	for _, thread := range f.Threads {
		for _, e := range thread.Entries {
			all++
			if _, chosen := slices.BinarySearch(keys, e.Index()); chosen != e.IsRecorded() {
				t.Fatalf("index %d is chosen: %v, recorded: %v", e.Index(), chosen, e.IsRecorded())
			}
			if e.IsRecorded() {
				times[e.Index()]++
			}
		}
	}
	recorded, hottest := 0, 0
	for _, n := range times {
		recorded, hottest = recorded+n, max(hottest, n)
	}
	if share := float64(recorded) / float64(all); share < sampleShare/2 || share > 2*sampleShare {
		t.Errorf("%.3f of all entries are recorded", share)
	}
	if share := float64(hottest) / float64(all); share < 0.005 {
		t.Errorf("the hottest key has only %.4f of the entries", share)
	}
	if _, err := f.Encode(); err != nil {
		t.Error(err)
	}
}

// In a small load each key has more than an even part of the sample: as many are taken as fit.
func TestUniformSmallLoadIsSampledUpToTheBound(t *testing.T) {
	for _, records := range []uint64{100, 500, 2000} {
		f := generate(t, Spec{Mix: []Share{{Read, 1}, {Upsert, 1}}, Records: records, Fresh: records,
			Order: Order{Distribution: Uniform},
			Sizes: []Size{{100, 1}}, Threads: 2, Seed: 5})
		keys := len(f.ChooseKeys(256, 5))
		if share := float64(keys) / float64(records); share < 0.8*4*sampleShare ||
			share > 1.2*4*sampleShare+1/float64(records) {
			t.Errorf("%d of %d keys", keys, records)
		}
	}
}

func TestRecordedBatchesAndWhatIsLeftOut(t *testing.T) {
	for name, mix := range map[string][]Share{"reads alone": {{Read, 1}}, "inserts alone": {{Insert, 1}}} {
		f := generate(t, Spec{Mix: mix, Records: 100, Fresh: 100, Order: Order{Distribution: Uniform},
			Sizes: []Size{{100, 1}}, Threads: 1, Seed: 1})
		if keys := f.ChooseKeys(16, 1); len(keys) != 0 {
			t.Errorf("%s: %d keys, though nothing overwrites any", name, len(keys))
		}
	}
	f := generate(t, Spec{Mix: []Share{{Update, 1}, {Insert, 1}, {Scan, 1}}, Records: 100, Fresh: 100,
		Order: Order{Distribution: Uniform},
		Sizes: []Size{{100, 1}}, Scan: ScanLengths{Min: 1, Max: 2}, Batch: 10, Threads: 1, Seed: 1})
	f.RecordKeys(f.ChooseKeys(16, 1))
	batches, members, head := 0, 0, Entry(0)
	for _, e := range f.Threads[0].Entries {
		if e.Operation() == Batch {
			head = e
		}
		if !e.IsRecorded() {
			continue
		}
		switch {
		case e.Operation() == Batch:
			batches++
		case !e.IsMember() || !head.IsRecorded() || e.Grows() || e.Operation() != Update:
			t.Fatalf("entry %#x is recorded", uint64(e))
		default:
			members++
		}
	}
	if batches == 0 || members < batches {
		t.Errorf("%d batches and %d members are recorded", batches, members)
	}
	if _, err := f.Encode(); err != nil {
		t.Error(err)
	}
}
