package finds

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/evidence/audit"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

// simulated is a store that does each operation at some moment between its begin and its end, and a
// worker that records every scan.
type simulated struct {
	file     *trace.File
	keys     keyval.KeyShape
	there    map[uint64]bool
	threads  []simulatedThread
	recorded [][]counters.Recorded
	skips    bool  // each scan leaves out its first record, and takes the next
	process  []int // of each thread; nil: all see how far all are
}

// sees is how far a thread is, as another one sees it.
func (s *simulated) sees(from, to int, count uint64) uint64 {
	if s.process != nil && s.process[from] != s.process[to] {
		return 0
	}
	return count
}

type simulatedThread struct {
	attempted, acknowledged uint64
	state                   int // 0: idle; 1: begun; 2: done
	before                  []uint64
	stable                  map[uint64]bool // of a scan: what was there when it began, and stays
	found                   []uint64
}

// step takes a thread one state on.
func (s *simulated) step(i int) {
	t := &s.threads[i]
	e, index := s.file.Threads[i].EntryAt(t.acknowledged)
	switch t.state {
	case 0:
		t.attempted++
		t.before = t.before[:0]
		for k := range s.threads {
			t.before = append(t.before, s.sees(i, k, s.threads[k].acknowledged))
		}
		t.stable = maps.Clone(s.there)
	case 1:
		s.apply(t, e, index)
	case 2:
		if e.Operation() == trace.Scan {
			f := counters.Find{Recorded: counters.MakeRecorded(0, 1, t.acknowledged, counters.OK,
				uint64(len(t.found))), Before: t.before, Found: t.found}
			for k := range s.threads {
				f.After = append(f.After, s.sees(i, k, s.threads[k].attempted))
			}
			s.recorded[i] = counters.AppendFind(s.recorded[i], &f)
		}
		t.acknowledged++
	}
	t.state = (t.state + 1) % 3
}

func (s *simulated) apply(t *simulatedThread, e trace.Entry, index uint64) {
	switch o := e.Operation(); o {
	case trace.Delete:
		delete(s.there, index)
	case trace.Scan:
		t.found = nil
		for _, key := range slices.Sorted(maps.Keys(s.there)) { // keys are in the order of their indexes
			if key >= index && len(t.found) < int(s.file.Amounts[e.SizeClass()])+1 {
				t.found = append(t.found, key)
			}
		}
		if s.skips && len(t.found) > 1 {
			t.found = t.found[1:]
		}
		t.found = t.found[:min(len(t.found), int(s.file.Amounts[e.SizeClass()]))]
	default:
		s.there[index] = true
	}
}

func simulate(t *rapid.T, mix []trace.Operation, skips bool) (*simulated, *Result) {
	records, threads := rapid.Uint64Range(1, 40).Draw(t, "records"), rapid.IntRange(1, 4).Draw(t, "threads")
	spec := trace.Spec{Records: records, Fresh: records, Threads: threads, ThreadEntries: rapid.IntRange(4, 40).Draw(t, "entries"),
		Seed: rapid.Uint64().Draw(t, "seed"), Sizes: []trace.Size{{Bytes: 30, Weight: 1}}, Scan: trace.ScanLengths{Min: 2, Max: 12},
		Order: trace.Order{Distribution: trace.Uniform}, Mix: []trace.Share{{Operation: trace.Scan, Weight: 3}}}
	for _, o := range mix {
		spec.Mix = append(spec.Mix, trace.Share{Operation: o, Weight: 1})
	}
	file, err := trace.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	file.Flags |= trace.FlagHistory | trace.FlagFinds
	s := &simulated{file: file, keys: keyval.KeyShape{Format: keyval.Binary, Bytes: 16}, there: map[uint64]bool{},
		threads: make([]simulatedThread, threads), recorded: make([][]counters.Recorded, threads), skips: skips}
	if rapid.Bool().Draw(t, "agents") {
		for range threads {
			s.process = append(s.process, rapid.IntRange(0, 1).Draw(t, "process"))
		}
	}
	for i := range records {
		s.there[i] = true
	}
	for range rapid.IntRange(10, 400).Draw(t, "steps") {
		s.step(rapid.IntRange(0, threads-1).Draw(t, "thread"))
	}
	var begun []uint64
	for i := range s.threads {
		begun = append(begun, s.threads[i].attempted)
	}
	loaded := audit.IndexesOf(trace.Span{Below: records})
	result := Check(file, func(i int) []counters.Recorded { return s.recorded[i] }, begun,
		Known{Keys: s.keys, Before: audit.Presence{Certain: loaded, Possible: loaded}, Doubt: make([]uint32, threads),
			Process: s.process})
	return s, result
}

// Whatever comes between the begin and the end of its operations, an honest store is not accused.
func TestHonestStoresAreNeverAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, r := simulate(t, []trace.Operation{trace.Insert, trace.Upsert, trace.Delete, trace.Add}, false)
		if r != nil && (r.Missing > 0 || r.Beyond > 0 || r.NotJudged > 0) {
			t.Fatalf("%+v", r)
		}
	})
}

// Beside inserts, a scan that leaves out a record which was loaded is found each time.
func TestSkippingScansAreFound(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		s, r := simulate(t, []trace.Operation{trace.Insert}, true)
		if r == nil {
			return
		}
		skipped := uint64(0)
		for i := range s.recorded {
			_, finds := counters.CutFinds(s.file, i, s.recorded[i])
			for _, f := range finds {
				if e, index := s.file.Threads[i].EntryAt(f.Sequence()); e.Operation() == trace.Scan &&
					len(f.Found) > 0 && f.Found[0] != index {
					skipped++ // scans begin at loaded records
				}
			}
		}
		if r.MissingIn != skipped {
			t.Fatalf("%d scans left out their first record: %+v", skipped, r)
		}
		found += int(skipped)
	})
	if found == 0 {
		t.Error("no scan left out a record: nothing was tested")
	}
}

// What a worker writes into its history is read within it.
func TestHistoriesOfNonsenseAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := simulate(t, []trace.Operation{trace.Insert}, false)
		for i := range s.recorded {
			for k := range s.recorded[i] {
				if rapid.IntRange(0, 3).Draw(t, "changed") == 0 {
					s.recorded[i][k].BeginNS = rapid.Uint64().Draw(t, "word")
				}
			}
		}
		loaded := audit.IndexesOf(trace.Span{Below: 10})
		Check(s.file, func(i int) []counters.Recorded { return s.recorded[i] }, make([]uint64, len(s.threads)),
			Known{Keys: s.keys, Before: audit.Presence{Certain: loaded}, Doubt: make([]uint32, len(s.threads))})
	})
}
