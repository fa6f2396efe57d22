package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// hexWord is a 64-bit number as the vectors write it.
type hexWord uint64

func (w *hexWord) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 64)
	*w = hexWord(n)
	return err
}

func TestFileVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "vectors", "traces.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name  string
		Trace struct {
			Flags, Groups uint32
			Seed          hexWord
			Operations    []int
			Queries       []int
			Amounts       []uint32
			Threads       []struct {
				Entries         []hexWord
				Due             []uint64
				Stride, Limit   uint64
				LapNS           uint64 `json:"lap_ns"`
				FromNS          uint64 `json:"from_ns"`
				UntilNS         uint64 `json:"until_ns"`
				Group, Endpoint uint32
			}
		}
		EffectiveIndexes [][]hexWord `json:"effective_indexes"`
		Bytes            int
		File             map[string]string
		SHA256           string
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil || len(list) == 0 {
		t.Fatalf("%d vectors (%v)", len(list), err)
	}
	for _, v := range list {
		want := &File{Flags: v.Trace.Flags, Groups: v.Trace.Groups, Seed: uint64(v.Trace.Seed)}
		for slot, code := range v.Trace.Operations {
			want.Operations, want.Queries = append(want.Operations, Operation(code)), append(want.Queries,
				uint8(v.Trace.Queries[slot]))
		}
		copy(want.Amounts[:], v.Trace.Amounts)
		for _, thread := range v.Trace.Threads {
			made := Thread{
				Due: thread.Due, Stride: thread.Stride, Limit: thread.Limit, LapNS: thread.LapNS,
				Group: thread.Group, Endpoint: thread.Endpoint,
				FromNS: thread.FromNS, UntilNS: thread.UntilNS,
			}
			for _, e := range thread.Entries {
				made.Entries = append(made.Entries, Entry(e))
			}
			want.Threads = append(want.Threads, made)
		}
		file := aligned(make([]byte, v.Bytes))
		for at, block := range v.File {
			offset, err := strconv.Atoi(at)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := hex.Decode(file[offset:], []byte(block)); err != nil {
				t.Fatal(err)
			}
		}
		if digest := sha256.Sum256(file); hex.EncodeToString(digest[:]) != v.SHA256 {
			t.Fatalf("%s: the vector contradicts itself", v.Name)
		}
		if got, err := Decode(file); err != nil || !equal(got, want) {
			t.Errorf("%s: read as %+v, %v", v.Name, got, err)
		}
		if got, err := want.Encode(); err != nil || !bytes.Equal(got, file) {
			t.Errorf("%s: written differently (%v)", v.Name, err)
		}
		for i, walk := range v.EffectiveIndexes {
			for sequence, index := range walk {
				if _, got := want.Threads[i].EntryAt(uint64(sequence)); got != uint64(index) {
					t.Errorf("%s: thread %d, entry %d has effective index %d, want %d", v.Name, i, sequence, got, index)
				}
			}
		}
	}
}

// The script packs entries by the contract's table; MakeEntry must do the same.
func TestEntryFields(t *testing.T) {
	e := MakeEntry(Add, 1<<48-1, 255, true)
	if e != 0x2affffffffffffff || e.Member() != 0x6affffffffffffff {
		t.Errorf("packed as %#x, member %#x", uint64(e), uint64(e.Member()))
	}
	if e.Operation() != Add || e.Index() != 1<<48-1 || e.SizeClass() != 255 || !e.Grows() || e.IsMember() ||
		!e.Member().IsMember() ||
		e.IsRecorded() || !e.Record().IsRecorded() || e.Record() != 0xaaffffffffffffff {
		t.Error("an entry's fields do not come back")
	}
}

func TestOperationNames(t *testing.T) {
	last := Operation(0)
	for _, name := range OperationNames() {
		if o, ok := ParseOperation(name); !ok || o <= last || o.String() != name || !o.Known() {
			t.Errorf("operation %q is parsed as %v, %v", name, o, ok)
		} else {
			last = o
		}
	}
	for _, name := range []string{"", "fly", "operation 31"} {
		if _, ok := ParseOperation(name); ok {
			t.Errorf("%q is no operation", name)
		}
	}
	if Operation(0).Known() || Operation(31).Known() {
		t.Error("an unknown operation is known")
	}
}
