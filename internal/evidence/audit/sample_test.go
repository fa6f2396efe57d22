package audit

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/experiment/trace"
)

// everything put in a world, by walking each thread from its first entry to its last.
func putIn(phases []Phase) (indexes []uint64) {
	for _, p := range phases {
		for i := range p.Trace.Threads {
			for sequence := range p.Attempted[i] {
				switch e, index := p.Trace.Threads[i].EntryAt(sequence); e.Operation() {
				case trace.Insert, trace.Add, trace.Upsert, trace.Update:
					indexes = append(indexes, index)
				}
			}
		}
	}
	slices.Sort(indexes)
	return slices.Compact(indexes)
}

func TestSampleIsDrawnFromAllThatWasPut(t *testing.T) {
	spans, climbs, scattered := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, rapid.Bool().Draw(t, "may fail"))
		phases := w.phases
		if rapid.Bool().Draw(t, "without the load") {
			phases = phases[1:]
		}
		for _, p := range partsOf(phases) {
			switch first, last := p.index(0), p.index(p.records-1); {
			case last-first == p.records-1:
				spans++
			case last-first >= 2*(p.records-1):
				climbs++
			default:
				scattered++
			}
		}
		put, seed := putIn(phases), rapid.Uint64().Draw(t, "seed")
		all, of := Sample(phases, 1<<40, seed)
		if !slices.Equal(all, put) || of != uint64(len(put)) {
			t.Fatalf("drew %v of %d, put were %v", all, of, put)
		}
		n := rapid.IntRange(0, len(put)).Draw(t, "n")
		some, of := Sample(phases, uint64(n), seed)
		if len(some) != n || of != uint64(len(put)) || !slices.IsSorted(some) ||
			len(slices.Compact(slices.Clone(some))) != n {
			t.Fatalf("asked for %d different records of %d, got %v of %d", n, len(put), some, of)
		}
		for _, index := range some {
			if _, found := slices.BinarySearch(put, index); !found {
				t.Fatalf("record %d was never put", index)
			}
		}
		if again, _ := Sample(phases, uint64(n), seed); !slices.Equal(some, again) {
			t.Fatal("the same seed drew another sample")
		}
		f := VerifyTrace(some, 3)
		if _, err := f.Encode(); err != nil {
			t.Fatal(err)
		}
		var read []uint64
		for _, thread := range f.Threads {
			for _, e := range thread.Entries {
				read = append(read, e.Index())
			}
		}
		if !slices.Equal(read, some) {
			t.Fatalf("reads %v, want %v", read, some)
		}
	})
	if spans == 0 || climbs == 0 || scattered == 0 {
		t.Errorf("of the parts, %d look like spans, %d like climbs, %d like neither: not everything was tested", spans, climbs, scattered)
	}
}

// counting is what the preset of the same keys does: threads that upsert 0, 1, 2 … each, at
// different speeds.
func counting(done ...uint64) Phase {
	f, err := trace.Generate(trace.Spec{
		Mix: []trace.Share{{Operation: trace.Upsert, Weight: 1}}, Order: trace.Order{Distribution: trace.Counting},
		Sizes: []trace.Size{{Bytes: 30, Weight: 1}}, Threads: len(done), ThreadEntries: 64,
	})
	if err != nil {
		panic(err)
	}
	return Phase{Number: 1, Trace: f, Attempted: done, Acknowledged: done, Doubt: make([]uint32, len(done))}
}

// loaded is a bulk load by laps, with which any number of records costs nothing.
func loaded(records uint64) Phase {
	f, err := trace.Generate(trace.Spec{
		Load: true, Records: records, Fresh: records, Threads: 2,
		Order: trace.Order{Distribution: trace.Sequential}, Sizes: []trace.Size{{Bytes: 30, Weight: 1}},
		ThreadEntries: 1 << 10,
	})
	if err != nil {
		panic(err)
	}
	done := []uint64{f.Threads[0].Limit, f.Threads[1].Limit}
	return Phase{Trace: f, ZeroVersions: true, Attempted: done, Acknowledged: done, Doubt: make([]uint32, 2)}
}

func TestUpsertsOfTheSameKeysAreSampledOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		phases []Phase
		of     uint64
	}{
		{"three threads", []Phase{counting(1000, 200, 1001)}, 1001},
		{"beyond a load", []Phase{loaded(600), counting(1000, 200)}, 1000},
		{"within a load", []Phase{loaded(5000), counting(1000, 200)}, 5000},
		{"twice", []Phase{counting(1000), counting(900)}, 1000},
		{"among what others inserted", []Phase{insertedByTwo(1000, 70, 200), fixedUpserts(5, 1001, 1139, 1140, 1141, 1141, 1398, 1400)}, 270 + 4},
	} {
		indexes, of := Sample(c.phases, 100, 7)
		if of != c.of || len(indexes) != 100 {
			t.Errorf("%s: %d drawn of %d, want 100 of %d", c.name, len(indexes), of, c.of)
		}
	}
}

// insertedByTwo inserts from first on, each thread every other record.
func insertedByTwo(first uint64, done ...uint64) Phase {
	f := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Insert}}
	for i := range done {
		f.Threads = append(f.Threads, trace.Thread{Entries: []trace.Entry{trace.MakeEntry(trace.Insert,
			first+uint64(i), 0, true)}, Stride: 2})
	}
	return Phase{Number: 1, Trace: f, Attempted: done, Acknowledged: done, Doubt: make([]uint32, len(done))}
}

func fixedUpserts(indexes ...uint64) Phase {
	var t trace.Thread
	for _, index := range indexes {
		t.Entries = append(t.Entries, trace.MakeEntry(trace.Upsert, index, 0, false))
	}
	done := []uint64{uint64(len(indexes))}
	return Phase{Number: 2, Trace: &trace.File{Groups: 1, Operations: []trace.Operation{trace.Upsert},
		Threads: []trace.Thread{t}}, Attempted: done, Acknowledged: done, Doubt: []uint32{0}}
}

// In the order latest an upsert meets what its thread inserted, lap after lap: there is nothing to
// list.
func TestUpsertsOfTheNewestRecordsAreNotListed(t *testing.T) {
	f, err := trace.Generate(trace.Spec{
		Mix:     []trace.Share{{Operation: trace.Insert, Weight: 1}, {Operation: trace.Upsert, Weight: 1}},
		Records: 1000, Fresh: 1000, Threads: 2,
		Order: trace.Order{Distribution: trace.Latest, Theta: 0.99}, Sizes: []trace.Size{{Bytes: 30, Weight: 1}},
		ThreadEntries: 1 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	done := []uint64{50_000_000, 50_000_000}
	phases := []Phase{{Number: 1, Trace: f, Attempted: done, Acknowledged: done, Doubt: make([]uint32, 2)}}
	inserts := f.Threads[0].CountItems(done[0])[trace.Insert] + f.Threads[1].CountItems(done[1])[trace.Insert]
	bytes := allocated(func() {
		if _, of := Sample(phases, 1000, 1); of <= inserts || of > inserts+1000 {
			t.Errorf("drawn of %d records: %d were inserted, and at most 1000 others upserted", of, inserts)
		}
	})
	if bytes > 4<<20 {
		t.Errorf("a sample of 1000 records took %d bytes of memory", bytes)
	}
}

func allocated(do func()) (bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A stride of 100 over 1.2 M records never meets index 9,999, 19,999 …: a store that drops every
// 10,000th write passed.
func TestNoPeriodOfLossesPassesBetweenTheSamples(t *testing.T) {
	const records, n, period, seeds = 1_200_000, 12_000, 10_000, 200
	phases := []Phase{loaded(records)}
	found, met := 0, 0
	for seed := range uint64(seeds) {
		indexes, _ := Sample(phases, n, seed)
		hits := 0
		for i, index := range indexes {
			if from := uint64(i) * records / n; index < from || index >= from+records/n {
				t.Fatalf("seed %d: sample %d is record %d, not of its stratum", seed, i, index)
			}
			if index%period == period-1 {
				hits++
			}
		}
		if met += hits; hits > 0 {
			found++
		}
	}
	// 120 lost records, each sampled with n ÷ records = 1 %: 1.2 in the mean, and at least one in 1
	// − 0.99^120 = 70 % of samples.
	want := 1 - math.Pow(1-float64(n)/records, records/period)
	if share := float64(found) / seeds; math.Abs(share-want) > 4*math.Sqrt(want*(1-want)/seeds) {
		t.Errorf("a period of %d was seen by %.0f %% of samples, expected %.0f %%", period, 100*share, 100*want)
	}
	if mean := float64(met) / seeds; mean < 0.9 || mean > 1.5 {
		t.Errorf("%.2f lost records a sample, expected 1.2", mean)
	}
}

func TestRecordsAreCountedWithoutAList(t *testing.T) {
	phases := []Phase{loaded(100_000_000)}
	bytes := allocated(func() {
		if indexes, of := Sample(phases, 1000, 1); of != 100_000_000 || len(indexes) != 1000 {
			t.Errorf("%d drawn of %d", len(indexes), of)
		}
	})
	if bytes > 1<<20 {
		t.Errorf("a sample of 1000 records took %d bytes of memory", bytes)
	}
}
