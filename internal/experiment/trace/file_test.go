package trace

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func TestWrittenTraceIsReadBackEqual(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f, err := Generate(drawSpec(r))
		if err != nil {
			r.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "trace")
		if err := f.Write(name); err != nil {
			r.Fatal(err)
		}
		mapped, unmap, err := Map(name)
		if err != nil {
			r.Fatal(err)
		}
		if !equal(f, mapped) {
			r.Fatal("the trace is not what was written")
		}
		written, err := os.ReadFile(name)
		if err != nil {
			r.Fatal(err)
		}
		if encoded, err := f.Encode(); err != nil || string(encoded) != string(written) {
			r.Fatalf("Write and Encode differ (%v)", err)
		}
		if err := unmap(); err != nil {
			r.Fatal(err)
		}
	})
}

// equal takes nil and empty lists for the same.
func equal(a, b *File) bool {
	plain := func(f *File) File {
		c := *f
		c.Threads = nil
		c.Operations = append([]Operation{}, f.Operations...)
		for _, t := range f.Threads {
			t.Entries, t.Due = append([]Entry{}, t.Entries...), append([]uint64{}, t.Due...)
			c.Threads = append(c.Threads, t)
		}
		return c
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

func TestWriteNeverReplacesAFile(t *testing.T) {
	f := small()
	name := filepath.Join(t.TempDir(), "trace")
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(name); err == nil {
		t.Error("a trace replaced a file")
	}
}

func small() *File {
	f := &File{Groups: 1, Operations: []Operation{Read, Insert, Batch}, Threads: make([]Thread, 1)}
	f.Amounts[0], f.Amounts[1] = 100, 2
	f.Threads[0] = Thread{Entries: []Entry{
		MakeEntry(Read, 1, 0, false), MakeEntry(Batch, 0, 1, false), MakeEntry(Insert, 5, 0, true).Member(),
		MakeEntry(Delete, 6, 0, false).Member(), MakeEntry(Insert, 9, 0, true),
	}, Stride: 10}
	return f
}

func TestBrokenTracesAreRefused(t *testing.T) {
	for _, c := range []struct {
		says   string
		change func(*File)
	}{
		{"all are", func(f *File) { f.TimedEvery = 10 }},
		{"expected 2 to 1000", func(f *File) { f.Flags = FlagSampled }},
		{"flags", func(f *File) { f.Flags = 1 << 31 }},
		{"no flag for it", func(f *File) { f.TTLs[1] = 1000 }},
		{"no flag for one", func(f *File) { f.Flags = FlagFinds }},
		{"1 to 65535 threads", func(f *File) { f.Threads = nil }},
		{"client group", func(f *File) { f.Groups = 0 }},
		{"client group 1 of 1", func(f *File) { f.Threads[0].Group = 1 }},
		{"does not know", func(f *File) { f.Operations[2] = 31 }},
		{"out of order", func(f *File) { f.Operations[0] = Insert }},
		{"not in the header's list", func(f *File) { f.Operations = f.Operations[1:] }},
		{"no flag for a history", func(f *File) { f.Threads[0].Entries[0] |= 1 << 63 }},
		{"recorded and grows", func(f *File) { f.Flags = FlagHistory; f.Threads[0].Entries[4] |= 1 << 63 }},
		{"batch that it belongs to", func(f *File) { f.Flags = FlagHistory; f.Threads[0].Entries[3] |= 1 << 63 }},
		{"not about one key", func(f *File) {
			f.Flags, f.Operations, f.Threads[0].Entries[0] = FlagHistory, []Operation{Insert, Scan, Batch},
				MakeEntry(Scan, 1, 0, false).Record()
		}},
		{"has no history", func(f *File) { f.Flags = FlagHistory | FlagRecordVersions }},
		{"work from", func(f *File) { f.Threads[0].FromNS, f.Threads[0].UntilNS = 5, 5 }},
		{"work from", func(f *File) { f.Threads[0].FromNS = 1 << 63 }},
		{"a member, of no batch", func(f *File) { f.Threads[0].Entries[1] = f.Threads[0].Entries[0] }},
		{"should be a put or delete", func(f *File) { f.Amounts[1] = 3 }},
		{"should be a put or delete", func(f *File) { f.Threads[0].Entries[2] = MakeEntry(Read, 1, 0, false).Member() }},
		{"without members", func(f *File) { f.Amounts[1] = 0 }},
		{"crosses the end", func(f *File) { f.Threads[0].Entries = f.Threads[0].Entries[:3] }},
		{"only reads", func(f *File) { f.Flags = FlagRecordVersions }},
		{"cuts a batch", func(f *File) { f.Threads[0].Limit = 8 }},
		{"no thread has due times", func(f *File) { f.Flags = FlagDue }},
		{"1 due times", func(f *File) { f.Flags, f.Threads[0].Due = FlagDue, []uint64{1} }},
		{"closed load", func(f *File) { f.Threads[0].Due = make([]uint64, 5) }},
		{"do not ascend", func(f *File) { f.Flags, f.Threads[0].Due = FlagDue, []uint64{1, 2, 3, 3, 2} }},
		{"lap time", func(f *File) { f.Flags, f.Threads[0].Due = FlagDue, []uint64{1, 2, 3, 3, 4} }},
	} {
		f := small()
		c.change(f)
		if _, err := f.Encode(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want an error that says %q, got %v", c.says, err)
		}
	}
}

func TestEveryDamagedByteIsNoticed(t *testing.T) {
	data, err := small().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for at := headerBytes; at < len(data); at++ {
		data[at] ^= 1
		if _, err := Decode(data); err == nil {
			t.Errorf("a changed byte %d was not noticed", at)
		}
		data[at] ^= 1
	}
	if _, err := Decode(data[:len(data)-8]); err == nil {
		t.Error("a file cut short was not noticed")
	}
	if _, err := Decode(aligned(append([]byte{0}, data...))[1:]); err == nil {
		t.Error("bytes that are not aligned were taken")
	}
}

func TestCountAgreesWithWalking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := Generate(drawSpec(t))
		if err != nil {
			t.Fatal(err)
		}
		thread := &f.Threads[0]
		if len(thread.Entries) == 0 {
			return
		}
		attempted := rapid.Uint64Range(0, uint64(3*len(thread.Entries))).Draw(t, "attempted")
		want, slots := make([]uint64, len(f.Operations)), f.Slots()
		for sequence := range attempted {
			if e, _ := thread.EntryAt(sequence); !e.IsMember() {
				want[slots.Of(e)]++
			}
		}
		if got := f.Count(0, attempted); !slices.Equal(got, want) {
			t.Fatalf("counts %v, want %v", got, want)
		}
	})
}

func TestWroteKnowsTheWritesOfATrace(t *testing.T) {
	f := small()
	for _, c := range []struct {
		thread          int
		sequence, index uint64
		length          int
		want            bool
	}{
		{0, 2, 5, 100, true}, {0, 7, 15, 100, true}, {0, 4, 9, 100, true},
		{0, 2, 5, 101, false}, {0, 7, 5, 100, false}, {0, 0, 1, 100, false}, {0, 1, 0, 2, false}, {0, 3, 6, 100, false},
		{1, 2, 5, 100, false},
	} {
		if got := f.Wrote(c.thread, c.sequence, c.index, c.length); got != c.want {
			t.Errorf("Wrote(%d, %d, %d, %d) = %v", c.thread, c.sequence, c.index, c.length, got)
		}
	}
	f.Threads[0].Limit = 7
	if f.Wrote(0, 7, 15, 100) {
		t.Error("a write past the limit was taken for one of the trace")
	}
}

// aligned copies bytes to where Decode takes them.
func aligned(data []byte) []byte {
	words := make([]uint64, len(data)/8+1)
	all := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
	return all[:copy(all, data)]
}

func FuzzDecode(f *testing.F) {
	seed, err := small().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	open, err := Generate(Spec{
		Mix: []Share{{Read, 1}, {Insert, 1}}, Records: 9, Fresh: 9, Threads: 2, Order: Order{Distribution: Latest,
			Theta: 1}, Sizes: oneSize,
		Rate: 100, ThreadEntries: 5, Batch: 3,
	})
	if err != nil {
		f.Fatal(err)
	}
	if seed, err = open.Encode(); err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = aligned(data)
		if len(data) >= headerBytes { // a fuzzer can't guess a checksum or a length
			binary.LittleEndian.PutUint64(data[24:], uint64(len(data)))
			binary.LittleEndian.PutUint64(data[48:], checksum(data))
		}
		decoded, err := Decode(data)
		if err != nil {
			return
		}
		encoded, err := decoded.Encode()
		if err != nil {
			t.Fatalf("a trace was read that can't be written: %v", err)
		}
		again, err := Decode(encoded)
		if err != nil || !equal(decoded, again) {
			t.Fatalf("a trace changed when it was written and read again (%v)", err)
		}
	})
}
