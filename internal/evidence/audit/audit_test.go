package audit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
	"assay/store"
)

func (w *world) indexes() []uint64 {
	var indexes []uint64
	for index := range w.events {
		indexes = append(indexes, index)
	}
	indexes = append(indexes, 1<<40) // never written
	slices.Sort(indexes)
	return indexes
}

func (w *world) observe(indexes []uint64) []uint64 {
	words := make([]uint64, len(indexes))
	for i, index := range indexes {
		version, there := w.truth[index]
		if words[i] = version; !there {
			words[i] = counters.ObservedMiss
		}
	}
	return words
}

func TestPossibleHistoriesAreNeverFlagged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mayFail := rapid.Bool().Draw(t, "may fail")
		w := drawWorld(t, mayFail)
		indexes := w.indexes()
		counts, err := Expect(w.phases, indexes).Check(w.observe(indexes))
		if err != nil {
			t.Fatal(err)
		}
		if counts.Lost+counts.Stale+counts.Wrong+counts.Errors != 0 || counts.Right+counts.Unknown != counts.Records {
			t.Fatalf("a store that did nothing wrong was flagged: %+v", counts)
		}
		if !mayFail && counts.Unknown != 0 {
			t.Fatalf("nothing failed, but %d records could not be judged", counts.Unknown)
		}
		observed := w.observe(indexes)
		for i, word := range observed {
			if word != counters.ObservedMiss {
				observed[i] = counters.ObservedShort
			}
		}
		short, err := Expect(w.phases, indexes).Check(observed)
		if err != nil || short.Lost+short.Stale+short.Wrong+short.Errors != 0 {
			t.Fatalf("with values that tell no version, a store that did nothing wrong was flagged: %+v, %v", short, err)
		}
		for i, index := range indexes { // the judgement of such values holds for whichever write the value was of
			if observed[i] != counters.ObservedShort || Expect(w.phases, indexes).Judge(i,
				counters.ObservedShort) != Right {
				continue
			}
			puts := 0
			for _, e := range w.events[index] {
				if e.word != counters.ObservedMiss {
					puts++
				}
			}
			if puts != 1 {
				t.Fatalf("record %d was written %d times, but a value that tells no version was judged right", index, puts)
			}
		}
	})
}

// Every word that a read might return is judged as an exhaustive search over all that could have
// happened judges it.
func TestEveryPossibleObservationIsJudgedAsBySearch(t *testing.T) {
	seen := map[Judgement]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t, rapid.Bool().Draw(t, "may fail"))
		indexes := w.indexes()
		x := Expect(w.phases, indexes)
		for i, index := range indexes {
			events := w.events[index]
			inDoubt, deletesInDoubt := 0, false
			words := []uint64{counters.ObservedMiss}
			for _, e := range events {
				if e.state == doubtful {
					inDoubt++
					deletesInDoubt = deletesInDoubt || e.word == counters.ObservedMiss
				}
				words = append(words, e.word)
			}
			if inDoubt > 6 || len(events) > 60 {
				continue
			}
			slices.Sort(words)
			for _, word := range slices.Compact(words) {
				all, some := reachable(events, word)
				late := word == counters.ObservedMiss && (deletesInDoubt || putMayHaveFailedLast(events)) ||
					slices.ContainsFunc(events, func(e event) bool { return e.word == word && e.state == doubtful })
				got := x.Judge(i, word)
				seen[got]++
				want := Unknown
				switch {
				case all:
					want = Right
				case !some && late: // one that timed out may be done late
				case !some && word == counters.ObservedMiss:
					want = Lost
				case !some:
					want = Stale
				}
				if got != want {
					t.Fatalf("record %d, observed %s: judged %s, search says %s\nevents: %+v", index, describe(word), got, want, events)
				}
			}
		}
	})
	for _, j := range []Judgement{Right, Lost, Stale, Unknown} {
		if seen[j] == 0 {
			t.Errorf("no observation was ever judged %s: the test tests nothing", j)
		}
	}
	t.Logf("judged: %v", seen)
}

// putMayHaveFailedLast says if a put in doubt can have come after all that is certain: it may have
// dropped the record.
func putMayHaveFailedLast(events []event) bool {
	return slices.ContainsFunc(events, func(put event) bool {
		return put.state == doubtful && put.word != counters.ObservedMiss && !slices.ContainsFunc(events,
			func(e event) bool {
				return e.state == certain && (e.phase > put.phase || e.phase == put.phase && e.thread == put.thread &&
					e.sequence > put.sequence)
			})
	})
}

// A cache that drops the old value of a key where it has no room for the new one, and says that the
// write failed, has lost nothing; one that drops what it acknowledged has.
//
// Fault (physics): a cache without room drops the old value of a key and says that the write failed
// (memcached `-M`)
// Assay: neither right nor lost; the first screen says how many. What it acknowledged and then
// dropped is lost
// With: record.TestVerified
func TestFailedWriteMayDropTheRecord(t *testing.T) {
	file, err := trace.Generate(trace.Spec{Records: 2, Fresh: 2, Threads: 1,
		Order: trace.Order{Distribution: trace.Sequential},
		Sizes: []trace.Size{{Bytes: 100, Weight: 1}}, Mix: []trace.Share{{Operation: trace.Update, Weight: 1}},
		Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	load, err := trace.Generate(trace.Spec{Load: true, Records: 2, Fresh: 2, Threads: 1,
		Order: trace.Order{Distribution: trace.Sequential},
		Sizes: []trace.Size{{Bytes: 100, Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for failed, want := range map[bool]Counts{true: {Records: 2, Unknown: 2}, false: {Records: 2, Lost: 2}} {
		phases := []Phase{
			{Number: 0, Trace: load, ZeroVersions: true, Attempted: []uint64{2}, Acknowledged: []uint64{2},
				Doubt: []uint32{0}},
			{Number: 1, Trace: file, Attempted: []uint64{2}, Acknowledged: []uint64{2}, Doubt: []uint32{0}},
		}
		if failed {
			phases[1].Doubt[0] = 1 << trace.Update
		}
		got, err := Expect(phases, []uint64{0, 1}).Check([]uint64{counters.ObservedMiss, counters.ObservedMiss})
		if err != nil {
			t.Fatal(err)
		}
		if got.Examples = nil; got.Lost != want.Lost || got.Unknown != want.Unknown {
			t.Errorf("updates that failed, %v: %+v, want %+v", failed, got, want)
		}
	}
}

// Three threads and two phases, nothing in doubt: each way to damage a store has its name.
func TestDamageIsFlagged(t *testing.T) {
	put := func(index uint64) trace.Entry { return trace.MakeEntry(trace.Upsert, index, 0, false) }
	load := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Insert}, Threads: []trace.Thread{{
		Entries: []trace.Entry{trace.MakeEntry(trace.Insert, 0, 0, true)}, Stride: 1, Limit: 5,
	}}}
	changes := &trace.File{Groups: 1, Operations: []trace.Operation{trace.Upsert, trace.Delete},
		Threads: []trace.Thread{
			{Entries: []trace.Entry{put(1), put(1), trace.MakeEntry(trace.Delete, 2, 0, false), put(4)}},
			{Entries: []trace.Entry{put(1), put(3)}},
		}}
	phases := []Phase{
		{Number: 0, Trace: load, ZeroVersions: true, Attempted: []uint64{5}, Acknowledged: []uint64{5},
			Doubt: []uint32{0}},
		{Number: 7, Trace: changes, Attempted: []uint64{4, 4}, Acknowledged: []uint64{3, 4}, Doubt: []uint32{0, 0}},
	}
	indexes := []uint64{0, 1, 2, 3, 4}
	x := Expect(phases, indexes)
	v := func(thread int, sequence uint64) uint64 { return keyval.Version(7, thread, sequence) }
	for _, c := range []struct {
		what     string
		sample   int
		observed uint64
		want     Judgement
	}{
		{"loaded and left alone", 0, 0, Right},
		{"a loaded record dropped", 0, counters.ObservedMiss, Lost},
		{"another phase's value", 0, v(0, 0), Wrong},
		{"last of thread 0", 1, v(0, 1), Right},
		{"last of thread 1, in its second lap", 1, v(1, 2), Right},
		{"first lap of thread 1", 1, v(1, 0), Stale},
		{"overwritten by the same thread", 1, v(0, 0), Stale},
		{"the loaded value, overwritten", 1, 0, Stale},
		{"overwritten, then dropped", 1, counters.ObservedMiss, Lost},
		{"a lap that never came", 1, v(1, 4), Wrong},
		{"deleted", 2, counters.ObservedMiss, Right},
		{"a delete undone", 2, 0, Stale},
		{"a delete undone, the value too short to tell", 2, counters.ObservedShort, Stale},
		{"too short to tell", 3, counters.ObservedShort, Unknown},
		{"too short to tell, but written once", 0, counters.ObservedShort, Right},
		{"under way, done", 4, v(0, 3), Right},
		{"under way, not done", 4, 0, Right},
		{"under way, dropped", 4, counters.ObservedMiss, Lost},
		{"not a value of the key", 0, counters.ObservedWrong, Wrong},
		{"the read failed", 0, counters.ObservedError, Errors},
	} {
		if got := x.Judge(c.sample, c.observed); got != c.want {
			t.Errorf("%s: judged %s, want %s", c.what, got, c.want)
		}
	}
	counts, err := x.Check([]uint64{counters.ObservedMiss, v(0, 0), 0, v(1, 3), counters.ObservedShort})
	if err != nil || counts.Right != 1 || counts.Lost != 1 || counts.Stale != 2 || counts.Unknown != 1 ||
		len(counts.Examples) != 3 {
		t.Errorf("counted %+v, %v", counts, err)
	}
	if _, err := x.Check([]uint64{0}); err == nil {
		t.Error("too few observations were taken")
	}
	if _, err := x.Check([]uint64{0, 0, 0, 0, counters.ObservedNotRead}); err == nil {
		t.Error("a record that was not read was taken")
	}
}

func TestDoubtComesFromOutcomes(t *testing.T) {
	for _, c := range []struct {
		o       trace.Operation
		outcome counters.Outcome
		want    bool
	}{
		{trace.Update, counters.OK, false}, {trace.Update, counters.Error, true}, {trace.Update, counters.Timeout,
			true},
		{trace.Insert, counters.Conflict, true}, {trace.Update, counters.Conflict, true}, {trace.Upsert,
			counters.Conflict, true},
		{trace.Delete, counters.Conflict, true}, {trace.Batch, counters.Conflict, true}, {trace.Read,
			counters.Conflict, false},
		{trace.ReadModifyWrite, counters.Conflict, true}, {trace.Add, counters.Conflict, true},
		{trace.CompareAndSwap, counters.Miss, true}, {trace.ReadModifyWrite, counters.Lost, true},
		{trace.Delete, counters.Miss, false}, {trace.Delete, counters.Timeout, true}, {trace.Batch, counters.Error,
			true},
		{trace.Read, counters.Error, false}, {trace.Scan, counters.Wrong, false},
	} {
		var outcomes [counters.Outcomes]uint64
		outcomes[c.outcome] = 1
		if got := inDoubt(c.o, &outcomes); got != c.want {
			t.Errorf("%s that ended in %s: doubt %v", c.o, c.outcome, got)
		}
	}
}

func TestLiveAndLogicalBytesAgreeWithCounting(t *testing.T) {
	t.Run("known", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			if !agreesWithCounting(t, drawCountable(t)) {
				t.Fatal("nothing failed or was cut off, but the records are not known")
			}
		})
	})
	t.Run("perhaps known", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			w := drawWorld(t, rapid.IntRange(0, 4).Draw(t, "may fail") == 0)
			for _, p := range w.phases {
				if !slices.Equal(p.Attempted, p.Acknowledged) {
					return // what was under way is neither there nor not
				}
			}
			if !w.phases[0].isCompleteLoad() {
				return // the simulated read-modify-write stores where nothing was: a worker counts that as a miss
			}
			agreesWithCounting(t, w)
		})
	})
}

func agreesWithCounting(t *rapid.T, w *world) (known bool) {
	keys := rapid.SampledFrom([]keyval.KeyShape{
		{Format: keyval.Binary, Bytes: 16}, {Format: keyval.Decimal, Suffix: "asdf"}, {Format: keyval.YCSB, Prefix: "user"},
		{Format: keyval.Decimal, Digits: 16}, {Format: keyval.Decimal, Digits: 16, Scatter: true},
	}).Draw(t, "keys")
	name := "name"
	record, err := keyval.NewRecordShape([]keyval.Column{
		{Name: "a", Type: store.TextColumn, Sequence: &keyval.Sequence{Prefix: "mikio"}}, {Name: "b", Type: store.TextColumn, Constant: &name},
	})
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "plain") {
		record = nil
	}
	records, known := Live(w.phases)
	if !known {
		return false
	}
	bytes, bytesKnown := LogicalBytes(w.phases, records, keys, record)
	if !bytesKnown {
		t.Fatal("all values have one length here, but bytes are not known where records are")
	}
	want := 0
	for index := range w.truth {
		want += len(keys.Append(nil, index))
		if record != nil {
			want += len(record.Append(nil, nil, index, 0))
		} else {
			want += 30
		}
	}
	if records != uint64(len(w.truth)) || bytes != uint64(want) {
		t.Fatalf("%d records of %d bytes, counted %d of %d", records, bytes, len(w.truth), want)
	}
	return true
}

func BenchmarkExpect(b *testing.B) {
	const records = 1 << 20
	f, err := trace.Generate(trace.Spec{
		Mix: []trace.Share{{Operation: trace.Read, Weight: 1}, {Operation: trace.Update, Weight: 1},
			{Operation: trace.Insert, Weight: 0.1}},
		Records: records, Fresh: records, Threads: 4, Order: trace.Order{Distribution: trace.Uniform},
		Sizes: []trace.Size{{Bytes: 100, Weight: 1}},
	})
	if err != nil {
		b.Fatal(err)
	}
	done := uint64(10_000_000)
	all := []uint64{done, done, done, done}
	phases := []Phase{{Number: 1, Trace: f, Attempted: all, Acknowledged: all, Doubt: make([]uint32, 4)}}
	indexes, _ := Sample(phases, 100_000, 1)
	b.ResetTimer()
	for b.Loop() {
		Expect(phases, indexes)
	}
}
