package counters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"assay/internal/base/histogram"
	"assay/internal/base/memfile"
	"assay/internal/experiment/trace"
)

func traceOf(threads int, operations []trace.Operation, flags uint32) *trace.File {
	f := &trace.File{Groups: 1, Flags: flags, Operations: operations, Threads: make([]trace.Thread, threads)}
	for i := range f.Threads {
		f.Threads[i].Entries = []trace.Entry{trace.MakeEntry(operations[0], uint64(i), 0, false)}
	}
	return f
}

func create(t *testing.T, tr *trace.File) (*File, string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "counters")
	f, err := Create(name, tr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Unmap(); err != nil {
			t.Error(err)
		}
	})
	return f, name
}

func open(t *testing.T, name string, tr *trace.File) *File {
	t.Helper()
	f, err := Open(name, tr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Unmap(); err != nil {
			t.Error(err)
		}
	})
	return f
}

var readAndUpdate = []trace.Operation{trace.Read, trace.Update}

func TestConductorSeesWhatTheWorkerCounts(t *testing.T) {
	tr := traceOf(2, readAndUpdate, trace.FlagDue)
	conductor, name := create(t, tr)
	worker := open(t, name, tr)

	worker.SetState(Running)
	worker.SetStartNS(11)
	worker.SetEndNS(12)
	worker.SetClock(ClockTSC)
	worker.SetClockDriftNS(13)
	conductor.Stop()
	if *worker.StopWord() == 0 || conductor.State() != Running || conductor.StartNS() != 11 ||
		conductor.EndNS() != 12 ||
		conductor.Clock() != ClockTSC || conductor.ClockDriftNS() != 13 {
		t.Error("the header's words do not arrive")
	}
	for i := range 2 {
		n := uint64(i + 1)
		*worker.Thread(i) = Thread{Attempted: 10 * n, Acknowledged: 9 * n, State: Running, HandleWaitNS: 3 * n,
			HandlesOpened: n, LatenessMaxNS: 7 * n, Late: [LatenessWords]uint64{0: n, 8: 5 * n}}
		slot := worker.Slot(i, 1)
		for o := range slot.Outcomes {
			slot.Outcomes[o] = uint64(o+1) * n
		}
		slot.BytesWritten, slot.BytesRead, slot.Items, slot.ServiceMaxNS = 100*n, 200*n, 300*n, 400*n
		slot.Service[5] = n
		worker.Response(i, 1)[6] = 10 * n
	}
	worker.Thread(1).State = Stuck
	s := conductor.Sample(true)
	if !slices.Equal(s.Attempted, []uint64{10, 20}) || !slices.Equal(s.Acknowledged, []uint64{9, 18}) ||
		s.HandleWaitNS != 9 ||
		s.HandlesOpened != 3 || s.LatenessMaxNS != 14 || s.Late != [LatenessWords]uint64{0: 3, 8: 15} ||
		s.StuckThreads != 1 {
		t.Errorf("threads: %+v", s)
	}
	total := s.Totals[1]
	if total.Operation != trace.Update || total.Operations() != 3*28 || total.Outcomes[Timeout] != 21 ||
		total.BytesWritten != 300 ||
		total.BytesRead != 600 || total.Items != 900 || total.ServiceMaxNS != 800 {
		t.Errorf("slot: %+v", total)
	}
	if total.Service.Counts[5] != 3 || total.Service.Count() != 3 || total.Response.Counts[6] != 30 ||
		total.Response.Count() != 30 {
		t.Error("histograms do not arrive")
	}
	if s.Totals[0].Operations() != 0 || s.Totals[0].Service.Count() != 0 {
		t.Error("one slot's counts show in another")
	}
	if conductor.Sample(false).Totals[1].Service != nil {
		t.Error("histograms that were not asked for")
	}
}

// Each word of a block has one name: writing through every one of them touches no other's.
func TestCountersFieldsDoNotOverlap(t *testing.T) {
	tr := traceOf(2, readAndUpdate, trace.FlagDue)
	f, _ := create(t, tr)
	clear(f.data[pageBytes:])
	fill := func(p unsafe.Pointer, n uintptr) {
		for i, b := range unsafe.Slice((*byte)(p), n) {
			if b != 0 {
				t.Fatalf("byte %d of a part belongs to another, too", i)
			}
		}
		for i := range n {
			*(*byte)(unsafe.Add(p, i)) = 1
		}
	}
	for i := range 2 {
		fill(unsafe.Pointer(f.Thread(i)), unsafe.Sizeof(Thread{}))
		for k := range 2 {
			fill(unsafe.Pointer(f.Slot(i, k)), unsafe.Sizeof(Slot{}))
			fill(unsafe.Pointer(f.Response(i, k)), 8*histogram.Buckets)
		}
		for p := range ErrorPlaces {
			fill(unsafe.Pointer(&f.errorPlace(i, p)[0]), errorBytes)
		}
	}
}

func TestObservedWords(t *testing.T) {
	tr := traceOf(3, []trace.Operation{trace.Read}, trace.FlagRecordVersions)
	f, name := create(t, tr)
	if got := f.Observed(); !slices.Equal(got, []uint64{ObservedNotRead, ObservedNotRead, ObservedNotRead}) {
		t.Errorf("before the phase: %x", got)
	}
	open(t, name, tr).Observed()[2] = 5
	if f.Observed()[2] != 5 {
		t.Error("an observed word does not arrive")
	}
	plain, _ := create(t, traceOf(1, readAndUpdate, 0))
	if plain.Observed() != nil {
		t.Error("a phase that records nothing has observed words")
	}
}

func TestFilesThatDoNotFitAreRefused(t *testing.T) {
	tr := traceOf(2, readAndUpdate, 0)
	for _, c := range []struct {
		says   string
		change func(data []byte) []byte
		tr     *trace.File
	}{
		{"does not begin", func(d []byte) []byte { d[0]++; return d }, tr},
		{"format version", func(d []byte) []byte { d[8]++; return d }, tr},
		{"header bytes", func(d []byte) []byte { d[12]++; return d }, tr},
		{"thread bytes", func(d []byte) []byte { d[24]++; return d }, tr},
		{"histogram bits", func(d []byte) []byte { d[32]++; return d }, tr},
		{"histogram buckets", func(d []byte) []byte { d[36]++; return d }, tr},
		{"error places", func(d []byte) []byte { d[40]++; return d }, tr},
		{"flags", func(d []byte) []byte { d[44] = 1; return d }, tr},
		{"flags", func(d []byte) []byte { d[44] = 2; return d }, tr},
		{"observed versions at 8", func(d []byte) []byte { d[48] = 8; return d }, tr},
		{"slot 1", func(d []byte) []byte { d[65]++; return d }, tr},
		{"expected", func(d []byte) []byte { return append(d, make([]byte, 8)...) }, tr},
		{"too short, or cut", func(d []byte) []byte { return d[:pageBytes-8] }, tr},
		{"too short, or cut", func(d []byte) []byte { return d[:len(d)-1] }, tr},
		{"threads is 2, expected 1", nil, traceOf(1, readAndUpdate, 0)},
		{"slots is 2, expected 1", nil, traceOf(2, readAndUpdate[:1], 0)},
		{"slot 1 is update, expected delete", nil, traceOf(2, []trace.Operation{trace.Read, trace.Delete}, 0)},
		{"flags", nil, traceOf(2, readAndUpdate, trace.FlagDue)},
		{"observed versions", nil, traceOf(2, readAndUpdate, trace.FlagRecordVersions)},
	} {
		_, name := create(t, tr)
		if c.change != nil {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			name += ".changed"
			if err := os.WriteFile(name, c.change(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(name, c.tr); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want an error that says %q, got %v", c.says, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), tr); err == nil {
		t.Error("a file that is not there was opened")
	}
	_, name := create(t, tr)
	if _, err := Create(name, tr); err == nil {
		t.Error("a file that is there was made again")
	}
}

func TestMessages(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tr := traceOf(2, readAndUpdate, 0)
		f := inMemory(tr)
		type key struct {
			o       trace.Operation
			outcome Outcome
			text    string
		}
		want := map[key]uint64{}
		places := [2]map[key]bool{{}, {}}
		var total uint64
		for range rapid.IntRange(0, 100).Draw(r, "messages") {
			thread := rapid.IntRange(0, 1).Draw(r, "thread")
			k := key{
				rapid.SampledFrom(readAndUpdate).Draw(r, "operation"), rapid.SampledFrom([]Outcome{Wrong, Error}).Draw(r, "outcome"),
				rapid.SampledFrom([]string{"", "a", "b", "disk full", strings.Repeat("ä", 118), "x" + strings.Repeat("ä", 117)}).Draw(r, "text"),
			}
			f.CountMessage(thread, k.o, k.outcome, k.text)
			total++
			if places[thread][k] = true; len(places[thread]) < ErrorPlaces {
				want[k]++
			}
		}
		var sum uint64
		for i, m := range f.Messages() {
			sum += m.Count
			if got := f.Messages(); i > 0 && got[i-1].Count < m.Count {
				r.Fatalf("messages are not in the order of their counts: %v", got)
			}
			if w := want[key{m.Operation, m.Outcome, m.Text}]; m.Text != OtherMessages && m.Count < w {
				r.Fatalf("%+v, want at least %d", m, w)
			}
		}
		if sum != total {
			r.Fatalf("%d messages in all, %d were counted", sum, total)
		}
	})
}

func TestMessagesAreCutAtACharacterAndValid(t *testing.T) {
	for _, text := range []string{strings.Repeat("ä", 200), "x" + strings.Repeat("ä", 200), strings.Repeat("€", 200), "bad \xff byte", strings.Repeat("\xff", 500)} {
		f := inMemory(traceOf(1, readAndUpdate, 0))
		f.CountMessage(0, trace.Read, Error, text)
		f.CountMessage(0, trace.Read, Error, text)
		got := f.Messages()
		if len(got) != 1 || got[0].Count != 2 || !utf8.ValidString(got[0].Text) ||
			len(got[0].Text) > errorTextMax || len(got[0].Text) == 0 {
			t.Errorf("%.10q became %+v", text, got)
		}
	}
}

func TestEqualTextsOfDifferentOutcomesAreNotMerged(t *testing.T) {
	f := inMemory(traceOf(1, readAndUpdate, 0))
	f.CountMessage(0, trace.Read, Wrong, "same")
	f.CountMessage(0, trace.Read, Error, "same")
	if got := f.Messages(); len(got) != 2 {
		t.Errorf("one message for two outcomes: %+v", got)
	}
}

func TestLayoutVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "vectors", "counters.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Threads, Slots    int
		Response          bool
		HandleTimes       bool    `json:"handle_times"`
		HandleTimesAt     []int   `json:"handle_times_offsets"`
		ObservedEntries   int     `json:"observed_entries"`
		SlotBytes         int     `json:"slot_bytes"`
		ThreadBytes       int     `json:"thread_bytes"`
		ThreadOffsets     []int   `json:"thread_offsets"`
		SlotOffsets       [][]int `json:"slot_offsets"`
		ErrorPlaceOffsets [][]int `json:"error_place_offsets"`
		ObservedOffset    int     `json:"observed_offset"`
		FileBytes         int     `json:"file_bytes"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		t.Fatalf("%d vectors (%v)", len(list), err)
	}
	for _, v := range list {
		var flags uint32
		if v.Response {
			flags |= trace.FlagDue
		}
		if v.HandleTimes {
			flags |= trace.FlagHandleTimes
		}
		var operations []trace.Operation
		for code := range v.Slots {
			operations = append(operations, trace.Operation(code+1))
		}
		if v.ObservedEntries > 0 {
			flags |= trace.FlagRecordVersions
		}
		tr := traceOf(v.Threads, operations, flags)
		for extra := v.Threads; extra < v.ObservedEntries; extra++ {
			tr.Threads[0].Entries = append(tr.Threads[0].Entries, tr.Threads[0].Entries[0])
		}
		f, _ := create(t, tr)
		at := func(p unsafe.Pointer) int { return int(uintptr(p) - uintptr(unsafe.Pointer(&f.data[0]))) }
		if f.slotBytes != v.SlotBytes || f.threadBytes != v.ThreadBytes || f.observedAt != v.ObservedOffset ||
			len(f.data) != v.FileBytes {
			t.Errorf("slot, thread, observed, file: %d %d %d %d, want %d %d %d %d",
				f.slotBytes, f.threadBytes, f.observedAt, len(f.data), v.SlotBytes, v.ThreadBytes, v.ObservedOffset,
				v.FileBytes)
		}
		for i := range v.Threads {
			if got := at(unsafe.Pointer(f.Thread(i))); got != v.ThreadOffsets[i] {
				t.Errorf("thread %d at %d, want %d", i, got, v.ThreadOffsets[i])
			}
			for k := range v.Slots {
				if got := at(unsafe.Pointer(f.Slot(i, k))); got != v.SlotOffsets[i][k] {
					t.Errorf("thread %d, slot %d at %d, want %d", i, k, got, v.SlotOffsets[i][k])
				}
			}
			if times := f.HandleTimes(i); (times != nil) != v.HandleTimes || times != nil &&
				at(unsafe.Pointer(times)) != v.HandleTimesAt[i] {
				t.Errorf("thread %d: handle times at %p, want %v", i, times, v.HandleTimesAt)
			}
			for p := range ErrorPlaces {
				if got := at(unsafe.Pointer(&f.errorPlace(i, p)[0])); got != v.ErrorPlaceOffsets[i][p] {
					t.Errorf("thread %d, error place %d at %d, want %d", i, p, got, v.ErrorPlaceOffsets[i][p])
				}
			}
		}
	}
}

func TestBucketVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "vectors", "buckets.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Value  string
		Bucket int
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list) == 0 {
		t.Fatalf("%d vectors (%v)", len(list), err)
	}
	for _, v := range list {
		value, err := strconv.ParseUint(v.Value, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := histogram.Bucket(value); got != v.Bucket {
			t.Errorf("value %d goes to bucket %d, want %d", value, got, v.Bucket)
		}
	}
}

// inMemory makes a file that fits the trace without a disk.
func inMemory(tr *trace.File) *File {
	f := fileOf(tr, 1)
	f.words = make([]uint64, Bytes(tr, 1)/8)
	f.data = unsafe.Slice((*byte)(unsafe.Pointer(&f.words[0])), 8*len(f.words))
	return f
}

// FuzzAdopt changes header and error places of files that fit: whatever stands there, nothing
// panics.
func FuzzAdopt(f *testing.F) {
	name := filepath.Join(f.TempDir(), "counters")
	tr := traceOf(2, []trace.Operation{trace.Read}, trace.FlagRecordVersions)
	made, err := Create(name, tr)
	if err != nil {
		f.Fatal(err)
	}
	whole := slices.Clone(made.data)
	tail := pageBytes + made.threadBytes - ErrorPlaces*errorBytes
	if err := made.Unmap(); err != nil {
		f.Fatal(err)
	}
	f.Add(whole[:100], []byte{}, uint32(0))
	f.Add(whole[:100], []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9, 255, 255, 255, 255, 'x'}, uint32(8))
	f.Fuzz(func(t *testing.T, header, places []byte, cut uint32) {
		words := make([]uint64, len(whole)/8)
		data := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(whole))
		copy(data, whole)
		copy(data, header[:min(len(header), pageBytes)])
		copy(data[tail:], places[:min(len(places), ErrorPlaces*errorBytes)])
		words = words[:max(pageBytes/8, len(words)-int(cut%uint32(len(words))))]
		c := &File{data: data[:8*len(words)], words: words}
		if err := c.adopt(tr); err != nil {
			return
		}
		c.Sample(true)
		c.CountMessage(0, trace.Read, Error, "one more")
		for _, m := range c.Messages() {
			_ = m.Outcome.String()
			_ = m.Operation.String()
		}
		if len(c.Observed()) != 2 {
			t.Fatal("a file that does not fit was taken")
		}
	})
}

// Counters of a share have the size of all threads' and the memory of its own: what it counts is read
// where the whole file has it.
func TestCountersOfAShareTakeTheMemoryOfItsThreads(t *testing.T) {
	file := traceOf(400, []trace.Operation{trace.Read, trace.Update}, 0)
	share := Share{Process: 37, First: 370, Count: 10}
	shared, err := memfile.Create("share")
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	c, err := CreateShareIn(shared, file, 40, share)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Unmap()
	var s unix.Stat_t
	if err := unix.Fstat(int(shared.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	if uint64(s.Size) != Bytes(file, 40) {
		t.Errorf("the file has %d bytes, want %d", s.Size, Bytes(file, 40))
	}
	need := ShareBytes(file, 40, share)
	if used := uint64(s.Blocks) * 512; used < need/2 || used > need+10*4096 || used > Bytes(file, 40)/10 {
		t.Errorf("%d bytes of memory are used, want about %d", used, need)
	}
	c.Thread(375).Acknowledged = 7
	c.Process(37).SetProcessWords(ProcessWords{StartNS: 5})
	if got := c.Thread(375).Acknowledged; got != 7 || c.Process(37).StartNS() != 5 {
		t.Errorf("thread 375 has %d operations, its process began at %d", got, c.Process(37).StartNS())
	}
}
