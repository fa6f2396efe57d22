package trace_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/experiment/keyval"
	"assay/internal/experiment/recording"
	"assay/internal/experiment/trace"
)

// recorded writes a recording of known truth: request i of n comes at 10 i µs, for key i² mod keys.
func recorded(t *testing.T, n, keys int) (*trace.Replay, *recording.Summary) {
	t.Helper()
	var text strings.Builder
	text.WriteString("time_us,op,key,size\n")
	for i := range n {
		op := "get"
		switch i % 10 {
		case 3:
			op = "set"
		case 7:
			op = "delete"
		}
		fmt.Fprintf(&text, "%d,%s,k%d,%d\n", 10*i, op, i*i%keys, 50+i*i%keys)
	}
	file := filepath.Join(t.TempDir(), "r.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := recording.Selection{File: file}
	sum, err := s.Summarize(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &trace.Replay{Selection: s, Requests: sum.Requests, Keys: sum.Keys, Bytes: sum.Sizes, Speed: 2, Loops: 1,
		SpanNS: uint64(sum.DurationNS)}, sum
}

func replaySpec(r *trace.Replay, threads int) trace.Spec {
	s := trace.Spec{Replay: r, Records: r.Keys, Fresh: r.Keys, Order: trace.Order{Distribution: trace.Recorded},
		Threads: threads, Seed: 1,
		Mix: []trace.Share{{Operation: trace.Read, Weight: 8}, {Operation: trace.Upsert, Weight: 1},
			{Operation: trace.Delete, Weight: 1}}, Sizes: []trace.Size{{Bytes: 9, Weight: 1}}}
	if r.Speed > 0 {
		s.Rate = 1e5 * r.Speed
	}
	return s
}

// A recording whose truth is known is in the trace as it is: each request, in its order, at its time.
func TestReplayIsTheRecording(t *testing.T) {
	const n, threads = 10_001, 3
	r, _ := recorded(t, n, 500)
	f, err := trace.Generate(replaySpec(r, threads))
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[int]uint64{}
	for i := range n {
		key := i * i % 500
		if _, known := numbers[key]; !known {
			numbers[key] = uint64(len(numbers))
		}
		thread := &f.Threads[i%threads]
		e, at := thread.Entries[i/threads], thread.Due[i/threads]
		want := trace.Read
		switch i % 10 {
		case 3:
			want = trace.Upsert
		case 7:
			want = trace.Delete
		}
		if e.Operation() != want || e.Index() != numbers[key] || at != uint64(i)*5000 {
			t.Fatalf("request %d: %s of %d at %d ns", i, e.Operation(), e.Index(), at)
		}
		if want == trace.Upsert && int(f.Amounts[e.SizeClass()])-(50+key) > 4 {
			t.Errorf("request %d writes %d bytes, recorded %d", i, f.Amounts[e.SizeClass()], 50+key)
		}
	}
	limits := uint64(0)
	for _, thread := range f.Threads {
		limits += thread.Limit
	}
	if limits != n {
		t.Errorf("%d of %d requests are done", limits, n)
	}
}

func TestReplayLoopsAndEnds(t *testing.T) {
	r, _ := recorded(t, 1000, 50)
	r.Loops = 3
	s := replaySpec(r, 4)
	f, err := trace.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	if t0 := f.Threads[0]; t0.Limit != 750 || t0.DueOf(250) != t0.Due[0]+r.SpanNS/2 {
		t.Errorf("limit %d, the second time begins at %d", t0.Limit, t0.DueOf(250))
	}
	s.EndNS = r.SpanNS / 4 // half of one time, at twice the speed
	if f, err = trace.Generate(s); err != nil {
		t.Fatal(err)
	}
	if f.Threads[0].Limit != 125 {
		t.Errorf("%d entries in half of the time", f.Threads[0].Limit)
	}
	r.Speed, r.Loops = 0, 1
	if f, err = trace.Generate(replaySpec(r, 4)); err != nil || f.Flags&trace.FlagDue != 0 ||
		f.Threads[3].Limit != 250 {
		t.Errorf("closed: %v", err)
	}
}

func TestReplayLoadsKeysAsLongAsRecorded(t *testing.T) {
	r, _ := recorded(t, 5000, 300)
	f, err := trace.Generate(trace.Spec{Load: true, Replay: r, Records: r.Keys + 10, Fresh: r.Keys + 10,
		Order:   trace.Order{Distribution: trace.Sequential},
		Threads: 2, Seed: 1, Sizes: []trace.Size{{Bytes: 9, Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[uint64]int{}
	for i := range 5000 {
		key, known := i*i%300, false
		for _, k := range numbers {
			known = known || k == key
		}
		if !known {
			numbers[uint64(len(numbers))] = key
		}
	}
	for _, thread := range f.Threads {
		for _, e := range thread.Entries {
			got, want := int(f.Amounts[e.SizeClass()]), 50+numbers[e.Index()]
			if e.Index() >= r.Keys {
				want = 9
			}
			if got-want > 4 || want-got > 4 {
				t.Errorf("key %d has %d bytes, recorded %d", e.Index(), got, want)
			}
		}
	}
}

// Each request asks for a key of its recorded length, and each key is loaded with its own value's length.
func TestReplayKeepsLengthsOfKeys(t *testing.T) {
	const n, keys = 5000, 300
	r, sum := recorded(t, n, keys)
	shape, lengths := keyval.KeyShape{Format: keyval.Binary}, []keyval.LengthOf{}
	for _, l := range sum.KeyLengths {
		lengths = append(lengths, keyval.LengthOf{Bytes: l.Bytes, Keys: l.Keys})
	}
	if floor, more := shape.Lay(lengths, 0, 4); floor > 2 || more > 0 {
		t.Fatalf("%d keys get %d bytes", more, floor)
	}
	r.KeyLengths, r.KeyBytes = shape.Lengths, 4
	f, err := trace.Generate(replaySpec(r, 3))
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[int]uint64{}
	for i := range n {
		key, index := i*i%keys, f.Threads[i%3].Entries[i/3].Index()
		bytes, want := shape.BytesOf(index), len(fmt.Sprintf("k%d", key))
		if before, known := numbers[key]; known && before != index || bytes != want {
			t.Fatalf("request %d, for key k%d: index %d, before %d, of %d bytes", i, key, index, before, bytes)
		}
		numbers[key] = index
	}
	r.Speed = 0
	load, err := trace.Generate(trace.Spec{Load: true, Replay: r, Records: r.Keys, Fresh: r.Keys,
		Order:   trace.Order{Distribution: trace.Sequential},
		Threads: 2, Seed: 1, Sizes: []trace.Size{{Bytes: 9, Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	bytesOf := map[uint64]int{}
	for _, thread := range load.Threads {
		for _, e := range thread.Entries {
			bytesOf[e.Index()] = int(load.Amounts[e.SizeClass()])
		}
	}
	for key, index := range numbers {
		if got, want := bytesOf[index], 50+key; got-want > 4 || want-got > 4 {
			t.Errorf("key k%d is loaded with %d bytes, recorded %d", key, got, want)
		}
	}
}

// Fault (conductor): a recording changes between the reading of the experiment and a trial
// Assay: the trial fails and says so
func TestReplayOfAChangedRecordingIsRefused(t *testing.T) {
	r, _ := recorded(t, 1000, 50)
	for _, requests := range []uint64{999, 1001} {
		other := *r
		other.Requests = requests
		if _, err := trace.Generate(replaySpec(&other, 4)); err == nil || !strings.Contains(err.Error(), "has changed") {
			t.Error(err)
		}
	}
	r.Requests = 1 << 40
	if _, err := trace.Generate(replaySpec(r, 4)); err == nil || !strings.Contains(err.Error(), "more than the") {
		t.Error(err)
	}
}

// Recorded TTLs are in the trace, each with its value's length, as many as there are pairs of both.
func TestReplayPlaysTTLs(t *testing.T) {
	var text strings.Builder
	text.WriteString("time_us,op,key,size,ttl\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "%d,set,k%d,%d,%d\n", 10*i, i%100, 50+i%7, i%3*30)
	}
	file := filepath.Join(t.TempDir(), "ttl.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	selection := recording.Selection{File: file}
	sum, err := selection.Summarize(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sum.TTLSeconds, []int{30, 60}) || !slices.Equal(sum.TTLWrites, []uint64{1000, 1000}) {
		t.Fatalf("%v, %v writes", sum.TTLSeconds, sum.TTLWrites)
	}
	s := replaySpec(&trace.Replay{Selection: selection, Requests: sum.Requests, Keys: sum.Keys, Bytes: sum.Sizes,
		TTLSeconds: sum.TTLSeconds, TTLsMS: []uint32{15_000, 30_000}, Speed: 2, Loops: 1,
		SpanNS: uint64(sum.DurationNS)}, 3)
	if _, err := trace.Generate(s); err == nil {
		t.Error("TTLs that no read is held against are taken")
	}
	s.Expires = true
	f, err := trace.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		e := f.Threads[i%3].Entries[i/3]
		ttl, bytes := f.TTLs[e.SizeClass()], f.Amounts[e.SizeClass()]
		if int(ttl) != i%3*15_000 || int(bytes) != 50+i%7 {
			t.Fatalf("request %d: %d bytes for %d ms", i, bytes, ttl)
		}
	}
}

// A load of a recording's keys has both their lengths and its own TTL.
func TestReplayLoadsKeysWithATTL(t *testing.T) {
	r, _ := recorded(t, 5000, 300)
	f, err := trace.Generate(trace.Spec{Load: true, Replay: r, Records: r.Keys, Fresh: r.Keys, Expires: true,
		TTLs: []trace.TTL{{MS: 30_000, Weight: 1}}, Order: trace.Order{Distribution: trace.Sequential},
		Threads: 2, Seed: 1, Sizes: []trace.Size{{Bytes: 9, Weight: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range f.Threads {
		for _, e := range thread.Entries {
			if f.TTLs[e.SizeClass()] != 30_000 || f.Amounts[e.SizeClass()] < 50 {
				t.Fatalf("%d bytes for %d ms", f.Amounts[e.SizeClass()], f.TTLs[e.SizeClass()])
			}
		}
	}
}

// A trace on a disk is the one in memory, and its file is read as any other.
func TestReplayOnDiskIsTheSame(t *testing.T) {
	for _, speed := range []float64{0, 2} {
		r, _ := recorded(t, 10_001, 500)
		r.Speed = speed
		s := replaySpec(r, 3)
		memory, err := trace.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		directory := t.TempDir()
		s.Disk = func() (*os.File, error) { return os.Create(filepath.Join(directory, "trace")) }
		disk, err := trace.Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		if !disk.OnDisk() || memory.OnDisk() || disk.Digest(0, 3) != memory.Digest(0, 3) {
			t.Fatal("the traces differ")
		}
		disk.RecordKeys([]uint64{7})
		memory.RecordKeys([]uint64{7})
		want, err := memory.Encode()
		if err != nil {
			t.Fatal(err)
		}
		file, err := disk.FinishOnDisk()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(directory, "trace"))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("the files differ: %v", err)
		}
		mapped, unmap, err := trace.Map(file.Name())
		if err != nil || mapped.Digest(0, 3) != memory.Digest(0, 3) {
			t.Fatal(err)
		}
		if err := errors.Join(unmap(), file.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A recording of 100 million requests takes less than a GiB of memory, from its reading to its trace, which
// stands on the disk.
func TestReplayOfAHundredMillionRequestsInAGiB(t *testing.T) {
	if os.Getenv("ASSAY_LONG") == "" {
		t.Skip("minutes, and 5 GB of disk: set ASSAY_LONG=1")
	}
	const requests, keys = 100_000_000, 5_000_000
	directory := t.TempDir()
	file, err := os.Create(filepath.Join(directory, "long.bin"))
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	record, state := make([]byte, 24), uint64(1) // oracleGeneral: time, object, size, next request
	for i := range uint64(requests) {
		state = state*6364136223846793005 + 1442695040888963407
		binary.LittleEndian.PutUint32(record, uint32(i/50_000))
		binary.LittleEndian.PutUint64(record[4:], 1+(state>>33)%keys)
		binary.LittleEndian.PutUint32(record[12:], 100+uint32(state>>60))
		binary.LittleEndian.PutUint64(record[16:], ^uint64(0))
		if _, err := out.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
	var most atomic.Uint64
	stopped := func() error {
		most.Store(max(most.Load(), anonymousBytes(t)))
		return nil
	}
	s := recording.Selection{File: file.Name()}
	began := time.Now()
	sum, err := s.Summarize(stopped)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("summarized in %s", time.Since(began))
	if _, err := s.ShapeOf(sum.Keys, 1, stopped); err != nil {
		t.Fatal(err)
	}
	spec := replaySpec(&trace.Replay{Selection: s, Requests: sum.Requests, Keys: sum.Keys, Bytes: sum.Sizes, Speed: 1,
		Loops: 1, SpanNS: uint64(sum.DurationNS)}, 8)
	spec.Stopped = stopped
	spec.Disk = func() (*os.File, error) { return os.Create(filepath.Join(directory, "trace")) }
	f, err := trace.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	written, err := f.FinishOnDisk()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests of %d keys in %s, %d MiB at most", sum.Requests, sum.Keys, time.Since(began), most.Load()>>20)
	if sum.Requests != requests || most.Load() == 0 || most.Load() > 1<<30 {
		t.Errorf("%d requests, %d MiB", sum.Requests, most.Load()>>20)
	}
	if err := written.Close(); err != nil {
		t.Error(err)
	}
}

// anonymousBytes is the memory of the process that is no file's.
func anonymousBytes(t *testing.T) uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "RssAnon: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Fatal("the kernel tells no RssAnon")
	return 0
}
