package trace

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func generate(t *testing.T, s Spec) *File {
	t.Helper()
	f, err := Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var oneSize = []Size{{100, 1}}

// The checksums pin the generator: runs of other releases and machines must do the same operations.
// A change here is a change of every experiment's meaning.
func TestTracesAreTheSameEverywhere(t *testing.T) {
	mix := []Share{{Read, 0.5}, {Upsert, 0.2}, {Insert, 0.1}, {Scan, 0.1}, {ReadModifyWrite, 0.05}, {Delete, 0.05}}
	for _, c := range []struct {
		name     string
		spec     Spec
		checksum uint64
	}{
		{"zipfian", Spec{Mix: mix, Order: Order{Distribution: Zipfian, Theta: 1.1}}, 0x9788fce73c7736d1},
		{"scrambled", Spec{Mix: mix, Order: Order{Distribution: ScrambledZipfian}}, 0x3b7ecd0347ac2cf3},
		{"latest", Spec{Mix: mix, Order: Order{Distribution: Latest, Theta: 0.99}, Batch: 7}, 0xecce095180de832},
		{"exponential", Spec{Mix: mix, Order: Order{Distribution: Exponential}, Rate: 12345.6}, 0x9535ea8ca8e4ef6b},
		{"hotspot", Spec{Mix: mix, Order: Order{Distribution: Hotspot, HotRecords: 0.1, HotOperations: 0.9}, Rate: 1000, Arrivals: Constant}, 0x1ed7edeca88251b0},
		{"load over time", Spec{Mix: mix, Order: Order{Distribution: Uniform}, Rate: 1, Segments: []Segment{{Form: FormRamp, From: 100, To: 3000, Duration: 3e9},
			{Form: FormSine, From: 10, To: 2000, Every: 1e9, Duration: 25e8}}}, 0xfef1e6f8b2c1a200},
		{"multi-reads", Spec{Mix: mix, Order: Order{Distribution: Zipfian, Theta: 1.1}, MultiRead: 12}, 0x38f8a41eb7e0cb8a},
		{"shuffled load", Spec{Load: true, Order: Order{Distribution: Shuffled}}, 0x1edbea9560c0ff73},
	} {
		c.spec.Records, c.spec.Fresh, c.spec.Threads, c.spec.Seed, c.spec.ThreadEntries = 10_000, 10_000, 3, 42, 5000
		c.spec.Sizes, c.spec.Scan = []Size{{10, 1}, {1000, 2.5}}, ScanLengths{1, 1000, true}
		data, err := generate(t, c.spec).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := checksum(data); got != c.checksum {
			t.Errorf("%s: checksum %#x, want %#x", c.name, got, c.checksum)
		}
	}
}

var distributions = []Order{
	{Distribution: Sequential}, {Distribution: Shuffled}, {Distribution: Uniform}, {Distribution: Zipfian, Theta: 0.8},
	{Distribution: ScrambledZipfian}, {Distribution: Latest, Theta: 0.99}, {Distribution: Exponential},
	{Distribution: Hotspot, HotRecords: 0.3, HotOperations: 0.7},
}

func drawSpec(t *rapid.T) Spec {
	s := Spec{
		Records: rapid.Uint64Range(20, 400).Draw(t, "records"),
		Threads: rapid.IntRange(1, 5).Draw(t, "threads"),
		Order:   rapid.SampledFrom(distributions).Draw(t, "order"),
		Batch:   rapid.IntRange(0, 9).Draw(t, "batch"),
		Sizes:   []Size{{10, 1}, {30, 2}},
		Scan:    ScanLengths{Min: 2, Max: 400},
		Limit:   rapid.SampledFrom([]uint64{0, 0, 1, 7, 1000, 5000}).Draw(t, "limit"),
		Seed:    rapid.Uint64().Draw(t, "seed"), ThreadEntries: rapid.IntRange(1, 300).Draw(t, "entries"),
		Rate: rapid.SampledFrom([]float64{0, 0, 1000, 1e6}).Draw(t, "rate"), Arrivals: rapid.SampledFrom([]Arrivals{Poisson, Constant}).Draw(t, "arrivals"),
	}
	s.Fresh = s.Records + rapid.Uint64Range(0, 50).Draw(t, "gap")
	for _, o := range []Operation{Read, Insert, Upsert, Delete, Scan, ReadModifyWrite, CompareAndSwap, Add} {
		if rapid.Bool().Draw(t, o.String()) {
			s.Mix = append(s.Mix, Share{o, rapid.Float64Range(0.1, 10).Draw(t, "weight")})
		}
	}
	if len(s.Mix) == 0 {
		s.Mix = []Share{{Update, 1}, {Insert, 1}}
	}
	return s
}

// Over all groups, threads and laps, whatever their speeds, no index is inserted twice, and
// everything else works on a record that was there, or that the thread itself inserted before.
func TestFreshIndexesAreFreshAndOthersExist(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		groups := []Spec{s}
		for range rapid.IntRange(0, 2).Draw(t, "more groups") {
			g := drawSpec(t)
			g.Records, g.Fresh, g.Seed = s.Records, s.Fresh, g.Seed+1
			groups = append(groups, g)
		}
		f, err := Generate(groups...)
		if err != nil {
			t.Fatal(err)
		}
		inserted := map[uint64]bool{}
		for i := range f.Threads {
			thread, mine := &f.Threads[i], map[uint64]bool{}
			end := uint64(len(thread.Entries)) * 4
			if thread.Limit > 0 {
				end = min(end, thread.Limit)
			}
			for sequence := range end {
				e, index := thread.EntryAt(sequence)
				switch {
				case e.Operation() == Batch:
				case e.Operation().isFresh():
					if inserted[index] || index < s.Fresh {
						t.Fatalf("thread %d, entry %d: %s of index %d, which is not fresh", i, sequence, e.Operation(), index)
					}
					inserted[index], mine[index] = true, true
				case index >= s.Records && !mine[index]:
					t.Fatalf("thread %d, entry %d: %s of index %d, which was not inserted before", i, sequence, e.Operation(), index)
				}
			}
		}
	})
}

func TestGroupsKeepTheirThreadsAndTimes(t *testing.T) {
	insert := Spec{Mix: []Share{{Insert, 1}}, Order: Order{Distribution: Sequential}, Sizes: oneSize, Records: 100,
		Fresh: 100, Threads: 2, ThreadEntries: 50}
	paced := Spec{Mix: []Share{{Read, 1}}, Order: Order{Distribution: Uniform}, Records: 100, Fresh: 100,
		Threads: 3, ThreadEntries: 50,
		Rate: 1000, FromNS: 5e9, UntilNS: 7e9, EndNS: 2e9}
	f, err := Generate(insert, paced)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.GroupThreads(); !slices.Equal(got, []int{0, 2, 5}) || f.Groups != 2 {
		t.Fatalf("groups at %v, of %d", got, f.Groups)
	}
	alone, later := f.Part(0, 2), f.Part(2, 5)
	if !alone.Has(Insert) || alone.Has(Read) || later.Has(Insert) || !later.Has(Read) ||
		!slices.Equal(alone.Does(), []bool{false, true}) || !slices.Equal(later.Does(), []bool{true, false}) {
		t.Error("the parts do not have the operations of their groups")
	}
	if alone.Threads[0].Due != nil || alone.Threads[0].UntilNS != 0 {
		t.Errorf("closed load has due times or an end: %+v", alone.Threads[0])
	}
	operations := uint64(0)
	for _, thread := range later.Threads {
		operations += thread.Limit
		if thread.FromNS != 5e9 || thread.UntilNS != 7e9 || thread.Due[0] < 5e9 {
			t.Errorf("from %d to %d ns, the first is due at %d", thread.FromNS, thread.UntilNS, thread.Due[0])
		}
		if last := thread.DueOf(thread.Limit - 1); last >= 7e9 {
			t.Errorf("an operation is due at %d, after the group's end", last)
		}
	}
	if operations < 1800 || operations > 2200 {
		t.Errorf("%d operations are due in 2 s at 1000 a second", operations)
	}
	if data, err := f.Encode(); err != nil {
		t.Error(err)
	} else if back, err := Decode(data); err != nil || !slices.Equal(back.GroupThreads(), f.GroupThreads()) {
		t.Errorf("read back: %v", err)
	}
}

func TestLimitsAreInOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		s.Limit = rapid.Uint64Range(1, 5000).Draw(t, "operations")
		f, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		var done uint64
		for i := range f.Threads {
			if f.Threads[i].Limit == 0 && len(f.Threads[i].Entries) > 0 {
				t.Fatalf("thread %d has no limit", i)
			}
			for _, n := range f.Count(i, f.Threads[i].Limit) {
				done += n
			}
		}
		if done != s.Limit {
			t.Fatalf("%d operations, want %d", done, s.Limit)
		}
	})
}

func TestEachPassVisitsEveryRecordOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		s.Order, s.Limit = rapid.SampledFrom(distributions[:2]).Draw(t, "visiting"), 0
		s.Mix = append(slices.DeleteFunc(s.Mix, func(m Share) bool { return m.Operation == Read }), Share{Read, 1})
		f, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		visits := make([]int, s.Records)
		for _, thread := range f.Threads {
			for _, e := range thread.Entries {
				if o := e.Operation(); o != Batch && !o.isFresh() {
					visits[e.Index()]++
				}
			}
		}
		if slices.Min(visits) != slices.Max(visits) || visits[0] == 0 {
			t.Fatalf("records are visited %d to %d times", slices.Min(visits), slices.Max(visits))
		}
	})
}

func TestLoadStoresEveryRecordOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{
			Load: true, Records: rapid.Uint64Range(1, 3000).Draw(t, "records"), Threads: rapid.IntRange(1, 6).Draw(t, "threads"),
			Order: rapid.SampledFrom(distributions[:2]).Draw(t, "order"), Batch: rapid.IntRange(0, 50).Draw(t, "batch"),
			Sizes: oneSize, ThreadEntries: rapid.IntRange(1, 2000).Draw(t, "entries"),
		}
		s.Fresh = s.Records
		f, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		stored := make([]int, s.Records)
		for i := range f.Threads {
			for sequence := range f.Threads[i].Limit {
				if e, index := f.Threads[i].EntryAt(sequence); e.Operation() == Insert {
					stored[index]++
				}
			}
		}
		if slices.Min(stored) != 1 || slices.Max(stored) != 1 {
			t.Fatalf("records are stored %d to %d times", slices.Min(stored), slices.Max(stored))
		}
	})
}

func TestSequentialLoadOfABillionIsSmall(t *testing.T) {
	f := generate(t, Spec{Load: true, Records: 1e9, Fresh: 1e9, Threads: 4, Order: Order{Distribution: Sequential},
		Batch: 1000, Sizes: oneSize})
	entries, records := 0, uint64(0)
	for i := range f.Threads {
		entries += len(f.Threads[i].Entries)
		records += f.Count(i, f.Threads[i].Limit)[slices.Index(f.Operations, Batch)] * 1000
	}
	if entries > DefaultSpreadEntries || records != 1e9 {
		t.Errorf("%d entries for %d records", entries, records)
	}
}

func TestMixKeepsItsWeights(t *testing.T) {
	s := Spec{
		Mix: []Share{{Read, 50}, {Update, 30}, {Insert, 10}, {Scan, 8}, {ReadModifyWrite, 2}}, Records: 1000,
		Fresh: 1000, Threads: 2,
		Order: Order{Distribution: Uniform}, Sizes: oneSize, Scan: ScanLengths{1, 100, false}, Seed: 9,
	}
	for _, batch := range []int{0, 20} {
		s.Batch = batch
		counts := make([]int, operationsMax)
		for _, thread := range generate(t, s).Threads {
			for _, e := range thread.Entries {
				if e.Operation() != Batch {
					counts[e.Operation()]++
				}
			}
		}
		weights := [operationsMax]float64{Read: 0.5, Update: 0.3, Insert: 0.1, Scan: 0.08, ReadModifyWrite: 0.02}
		if batch == 0 {
			if p := fits(counts, func(o int) float64 { return weights[o] }); p < accepted {
				t.Errorf("the mix does not fit: p = %g", p)
			}
			weights[Read], weights[Update] = 0.49, 0.31
			if p := fits(counts, func(o int) float64 { return weights[o] }); p > refused {
				t.Errorf("the check can't tell a mix that is a little wrong: p = %g", p)
			}
			continue
		}
		total := 0
		for _, n := range counts {
			total += n
		}
		for o, w := range weights { // whole batches are drawn: the spread is that of batches
			if got := float64(counts[o]) / float64(total); math.Abs(got-w) > 0.01 {
				t.Errorf("in batches, %s are %.3f of the records, want %.3f", Operation(o), got, w)
			}
		}
	}
}

func TestLatestFollowsTheInserts(t *testing.T) {
	const records, theta = 10_000, 0.99
	f := generate(t, Spec{
		Mix: []Share{{Read, 95}, {Insert, 5}}, Records: records, Fresh: records, Threads: 1,
		Order: Order{Distribution: Latest, Theta: theta},
		Sizes: oneSize, Seed: 5, ThreadEntries: 200_000,
	})
	thread := &f.Threads[0]
	n := uint64(len(thread.Entries))
	for _, lap := range []uint64{0, 1, 3} {
		newest := uint64(records) + lap*thread.Stride
		back := make([]int, 1000)
		within := 0
		for p := range n {
			e, index := thread.EntryAt(lap*n + p)
			if e.Operation() == Insert {
				if index != newest {
					t.Fatalf("lap %d inserts %d, want %d", lap, index, newest)
				}
				newest++
			} else if d := newest - 1 - index; d < 1000 {
				back[d]++
				within++
			}
		}
		if p := fits(back, zipfProbability(1000, theta)); p < accepted {
			t.Errorf("lap %d: reads counted back from the newest record are no zipfian: p = %g", lap, p)
		}
		if p := fits(back, zipfProbability(1000, theta+0.03)); p > refused {
			t.Errorf("lap %d: the check can't tell another theta: p = %g", lap, p)
		}
		if within < int(n)/2 {
			t.Errorf("lap %d: only %d reads of %d are near the newest record", lap, within, n)
		}
	}
}

func TestDueTimes(t *testing.T) {
	for _, arrivals := range []Arrivals{Poisson, Constant} {
		s := Spec{
			Mix: []Share{{Read, 1}}, Records: 100, Fresh: 100, Threads: 4, Order: Order{Distribution: Uniform},
			Rate:     50_000,
			Arrivals: arrivals, EndNS: 20e9, ThreadEntries: 60_000, // four laps and a bit
		}
		f := generate(t, s)
		var operations uint64
		for i := range f.Threads {
			thread := &f.Threads[i]
			operations += thread.Limit
			n := uint64(len(thread.Due))
			due := func(k uint64) uint64 { return thread.Due[k%n] + k/n*thread.LapNS }
			if due(thread.Limit-1) >= s.EndNS || due(thread.Limit) < s.EndNS {
				t.Errorf("%s: thread %d does %d operations, but the last is due at %d and the next at %d, with the end at %d",
					arrivals, i, thread.Limit, due(thread.Limit-1), due(thread.Limit), s.EndNS)
			}
			gaps := make([]int, 50) // exponential gaps by their quantile
			for k := uint64(1); k < n; k++ {
				share := -math.Expm1(-float64(thread.Due[k]-thread.Due[k-1]) * s.Rate / 4 / 1e9)
				gaps[min(int(share*50), 49)]++
			}
			p := fits(gaps, func(int) float64 { return 1.0 / 50 })
			if arrivals == Poisson && p < accepted || arrivals == Constant && p > refused {
				t.Errorf("%s: gaps fit an exponential distribution with p = %g", arrivals, p)
			}
		}
		if want := uint64(20 * 50_000); operations < want*99/100 || operations > want*101/100 {
			t.Errorf("%s: %d operations in 20 s at 50,000 a second", arrivals, operations)
		}
	}
}

func TestScanLengths(t *testing.T) {
	for _, lengths := range []ScanLengths{{1, 100, false}, {5, 5, false}, {1, 100, true}, {1, 100_000, false}} {
		f := generate(t, Spec{Mix: []Share{{Scan, 1}}, Records: 10, Fresh: 10, Threads: 1,
			Order: Order{Distribution: Uniform}, Scan: lengths})
		seen := map[uint32]int{}
		for _, e := range f.Threads[0].Entries {
			seen[f.Amounts[e.SizeClass()]]++
		}
		if seen[uint32(lengths.Min)] == 0 || seen[uint32(lengths.Max)] == 0 {
			t.Errorf("%+v: the ends of the range never come", lengths)
		}
		if want := min(lengths.Max-lengths.Min+1, scanClasses); len(seen) != want {
			t.Errorf("%+v: %d lengths, want %d", lengths, len(seen), want)
		}
		if lengths.Zipfian && seen[1] < 10*seen[100] {
			t.Errorf("%+v: zipfian scans are not mostly short", lengths)
		}
	}
}

func TestImpossibleSpecsAreRefused(t *testing.T) {
	good := func() Spec {
		return Spec{Mix: []Share{{Read, 1}}, Records: 10, Fresh: 10, Threads: 1,
			Order: Order{Distribution: Uniform}, Sizes: oneSize}
	}
	generate(t, good())
	for _, c := range []struct {
		says   string
		change func(*Spec)
	}{
		{"threads", func(s *Spec) { s.Threads = 0 }},
		{"fresh", func(s *Spec) { s.Fresh = 9 }},
		{"load some first", func(s *Spec) { s.Records, s.Fresh = 0, 0 }},
		{"upsert", func(s *Spec) { s.Mix = []Share{{Update, 1}, {Delete, 1}} }},
		{"upsert", func(s *Spec) { s.Mix, s.Deleted = []Share{{Update, 1}}, true }},
		{"twice", func(s *Spec) { s.Mix = []Share{{Read, 1}, {Read, 2}} }},
		{"no operation of a mix", func(s *Spec) { s.Mix = []Share{{Batch, 1}} }},
		{"weight", func(s *Spec) { s.Mix = []Share{{Read, 0}} }},
		{"weight", func(s *Spec) { s.Mix = []Share{{Read, math.NaN()}} }},
		{"sizes", func(s *Spec) { s.Mix, s.Sizes = []Share{{Insert, 1}}, nil }},
		{"scans", func(s *Spec) { s.Mix = []Share{{Scan, 1}} }},
		{"theta", func(s *Spec) { s.Order = Order{Distribution: Zipfian} }},
		{"0.99 only", func(s *Spec) { s.Order = Order{Distribution: ScrambledZipfian, Theta: 0.5} }},
		{"hot records", func(s *Spec) { s.Order = Order{Distribution: Hotspot} }},
		{"unknown order", func(s *Spec) { s.Order = Order{Distribution: "zipf"} }},
		{"fewer threads", func(s *Spec) { s.Order, s.Threads = Order{Distribution: Shuffled}, 11 }},
		{"without a rate", func(s *Spec) { s.EndNS = 1 }},
		{"rate", func(s *Spec) { s.Rate = math.Inf(1) }},
		{"order is sequential or shuffled", func(s *Spec) { s.Load, s.Mix = true, nil }},
		{"draws at random", func(s *Spec) { s.Order, s.Records, s.Fresh = Order{Distribution: Shuffled}, 1e9, 1e9 }},
		{"multiple of the batch", func(s *Spec) {
			s.Load, s.Mix, s.Batch, s.Order, s.Records, s.Fresh = true, nil, 100, Order{Distribution: Sequential},
				1e9+1, 1e9+1
		}},
		{"more than 256", func(s *Spec) {
			s.Mix = []Share{{Insert, 1}}
			for n := range 300 {
				s.Sizes = append(s.Sizes, Size{1000 + n, 1})
			}
		}},
	} {
		s := good()
		c.change(&s)
		if _, err := Generate(s); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want an error that says %q, got %v", c.says, err)
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for _, o := range distributions {
		b.Run(o.Distribution, func(b *testing.B) {
			const entries = 1 << 20
			s := Spec{
				Mix: []Share{{Read, 1}, {Upsert, 1}}, Records: entries, Fresh: entries, Threads: 1, Order: o,
				Sizes:         oneSize,
				ThreadEntries: entries, Entries: entries,
			}
			for b.Loop() {
				if _, err := Generate(s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
		})
	}
}

func TestCountingThreadsWriteTheSameKeysWithoutEnd(t *testing.T) {
	f, err := Generate(Spec{Mix: []Share{{Upsert, 1}}, Order: Order{Distribution: Counting},
		Sizes: []Size{{Bytes: 40, Weight: 1}}, Threads: 3, ThreadEntries: 64})
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Threads {
		for sequence := range uint64(1000) {
			if e, index := f.Threads[i].EntryAt(sequence); index != sequence || e.Operation() != Upsert {
				t.Fatalf("thread %d, entry %d: %s of index %d", i, sequence, e.Operation(), index)
			}
		}
	}
	if _, err := Generate(Spec{Mix: []Share{{Upsert, 1}, {Read, 1}}, Records: 10, Fresh: 10,
		Order: Order{Distribution: Counting}, Sizes: []Size{{Bytes: 40, Weight: 1}}, Threads: 1}); err == nil {
		t.Error("reads in the order counting were accepted")
	}
}

// A trace that takes long can be given up while it is made.
func TestMakingCanBeStopped(t *testing.T) {
	stopped, asked := errors.New("stopped"), 0
	s := Spec{Mix: []Share{{Upsert, 1}}, Records: 1 << 20, Fresh: 1 << 20, Order: Order{Distribution: Uniform},
		Sizes: []Size{{Bytes: 100, Weight: 1}}, Threads: 2, Seed: 1, Stopped: func() error {
			if asked++; asked == 3 {
				return stopped
			}
			return nil
		}}
	if _, err := Generate(s); !errors.Is(err, stopped) || asked != 3 {
		t.Errorf("%v after %d questions", err, asked)
	}
}

// Each value has one of the TTLs, as often as their weights say, and what takes none has none.
func TestTTLsAreMixed(t *testing.T) {
	f, err := Generate(Spec{
		Mix:     []Share{{Read, 40}, {Upsert, 50}, {ReadModifyWrite, 10}},
		Records: 1000, Fresh: 1000, Order: Order{Distribution: Uniform}, Sizes: []Size{{100, 1}, {200, 1}},
		TTLs: []TTL{{MS: 1000, Weight: 3}, {MS: 0, Weight: 1}}, Expires: true, Threads: 2, Seed: 1,
		ThreadEntries: 20000, Entries: 40000,
	})
	if err != nil {
		t.Fatal(err)
	}
	if f, err = roundTrip(t, f); err != nil {
		t.Fatal(err)
	}
	upserts, ending := 0, 0
	for i := range f.Threads {
		for _, e := range f.Threads[i].Entries {
			ttl := f.TTLs[e.SizeClass()]
			switch {
			case e.Operation() == ReadModifyWrite && ttl > 0:
				t.Fatal("a read-modify-write has a TTL")
			case e.Operation() == Upsert:
				if upserts++; ttl == 1000 {
					ending++
				}
			}
		}
	}
	if share := float64(ending) / float64(upserts); !f.Expires() || share < 0.73 || share > 0.77 {
		t.Errorf("%.3f of %d upserts have a TTL, want 0.75", share, upserts)
	}
}

func roundTrip(t *testing.T, f *File) (*File, error) {
	t.Helper()
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return Decode(data)
}

// Pauses have the mean that was asked for, and stand beside their operations.
func TestPauses(t *testing.T) {
	for _, exponential := range []bool{false, true} {
		f, err := Generate(Spec{
			Mix: []Share{{Read, 1}}, Records: 100, Fresh: 100, Order: Order{Distribution: Uniform}, Threads: 2, Seed: 1,
			ThinkNS: 10_000_000, ThinkExponential: exponential, ThreadEntries: 5000, Entries: 10000,
		})
		if err != nil {
			t.Fatal(err)
		}
		if f, err = roundTrip(t, f); err != nil {
			t.Fatal(err)
		}
		for i := range f.Threads {
			sum, longest := 0.0, uint64(0)
			for _, pause := range f.Threads[i].Pauses {
				sum, longest = sum+float64(pause), max(longest, pause)
			}
			mean := sum / float64(len(f.Threads[i].Entries))
			if f.Threads[i].Due != nil || mean < 9_999_990 || mean > 10_000_010 ||
				exponential != (longest > 50_000_000) {
				t.Errorf("exponential %v: pauses of %v ns on average, the longest of %d", exponential, mean, longest)
			}
		}
	}
}

// A short phase of many threads has no lap that takes longer to look at than to do.
func TestShortPhaseHasAShortLap(t *testing.T) {
	for _, c := range []struct {
		threads int
		records uint64
		forNS   uint64
		entries int // of a thread
	}{
		{20, 1000, 0, DefaultEntries / 20},
		{20, 1000, 1e9, entriesASecond / 20},
		{20, 1000, 2e9, 2 * entriesASecond / 20},
		{20, 1000, 1e6, entriesLeast / 20},
		{20, 1000, 3600e9, DefaultEntries / 20},
		{20, 1000, 1e19, DefaultEntries / 20},
		{1, 1000, 1e9, DefaultThreadEntries},
		{20, 2_000_000, 1e9, 2_000_000 / 20}, // a lap reaches all records
	} {
		s := Spec{Threads: c.threads, Records: c.records, ForNS: c.forNS}
		if got := s.lapEntries(); got != c.entries {
			t.Errorf("%d threads, %d records, %d ns: %d entries, want %d", c.threads, c.records, c.forNS, got, c.entries)
		}
	}
}
