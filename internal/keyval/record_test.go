package keyval

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/store"
)

type recordVector struct {
	Name    string
	Shape   shape
	Columns []Column
	Records []struct {
		Index, Version word
		Record         hexBytes
	}
	Checks []struct {
		Name    string
		Index   word
		Record  hexBytes
		Right   bool
		Version word
	}
}

func TestRecordVectors(t *testing.T) {
	for _, v := range vectors[recordVector](t, "records.json") {
		pool := v.Shape.pool(t)
		r, err := NewRecordShape(v.Columns)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		for _, w := range v.Records {
			index, version := uint64(w.Index), uint64(w.Version)
			made := r.Append(nil, pool, index, version)
			if !bytes.Equal(made, w.Record) {
				t.Errorf("%s: record %d is %x, want %x", v.Name, index, made, w.Record)
			}
			if len(made) != r.Bytes(index) || len(made) > r.BytesMax() {
				t.Errorf("%s: record %d has %d bytes, told %d, at most %d", v.Name, index, len(made), r.Bytes(index), r.BytesMax())
			}
			proven, right := r.Check(pool, made, index, nil)
			if !right || r.Proves() && proven != version {
				t.Errorf("%s: record %d is not right: version %x, want %x", v.Name, index, proven, version)
			}
			if back, ok := r.Index(made); ok != r.LeadsBack() || ok && back != index {
				t.Errorf("%s: record %d leads back to %d, %v", v.Name, index, back, ok)
			}
		}
		for _, c := range v.Checks {
			if version, right := r.Check(pool, c.Record, uint64(c.Index), nil); right != c.Right || right && version != uint64(c.Version) {
				t.Errorf("%s, %s: right %v with version %x, want %v with %x", v.Name, c.Name, right, version, c.Right, uint64(c.Version))
			}
		}
	}
}

func TestColumnsThatCanNotBe(t *testing.T) {
	long, leading, number := strings.Repeat("x", store.ColumnBytesMax+1), "007", "7"
	column := func(name string, columnType store.ColumnType) Column {
		return Column{Name: name, Type: columnType, Constant: &number}
	}
	sequence := func(q Sequence) Column { return Column{Name: "n", Type: store.IntegerColumn, Sequence: &q} }
	many := make([]Column, ColumnsMax+1)
	for _, c := range []struct {
		says    string
		columns []Column
	}{
		{"1 to 64 columns", nil},
		{"1 to 64 columns", many},
		{"the first no digit", []Column{column("9", store.TextColumn)}},
		{"letters, digits", []Column{column("a b", store.TextColumn)}},
		{"1 to 64 letters", []Column{column(strings.Repeat("a", 65), store.TextColumn)}},
		{"two columns have the name", []Column{column("a", store.TextColumn), column("a", store.TextColumn)}},
		{"unknown type", []Column{column("a", "float")}},
		{"expected one of constant", []Column{{Name: "a", Type: store.TextColumn}}},
		{"expected one of constant", []Column{{Name: "a", Type: store.BytesColumn, Constant: &number, Proof: 50}}},
		{"a proof is of type bytes", []Column{{Name: "a", Type: store.TextColumn, Proof: 50}}},
		{"a proof is of type bytes", []Column{{Name: "a", Type: store.BytesColumn, Proof: 23}}},
		{"expected at most 65535", []Column{{Name: "a", Type: store.BytesColumn, Proof: 65536}}},
		{"expected at most 65535", []Column{{Name: "a", Type: store.TextColumn, Constant: &long}}},
		{"two columns have a proof", []Column{{Name: "a", Type: store.BytesColumn, Proof: 50}, {Name: "b", Type: store.BytesColumn, Proof: 50}}},
		{"an integer has", []Column{{Name: "a", Type: store.IntegerColumn, Constant: &leading}}},
		{"an integer has", []Column{sequence(Sequence{Prefix: "x"})}},
		{"an integer has", []Column{sequence(Sequence{Multiply: 1 << 20})}},
		{"an integer has", []Column{sequence(Sequence{Add: 1e18})}},
	} {
		if _, err := NewRecordShape(c.columns); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: got %v, want an error that says %q", c.columns, err, c.says)
		}
	}
}

// Whatever the bytes, Check, Index and Claimed don't panic, and Check takes nothing but the record
// itself.
func TestOnlyTheRecordItselfIsRight(t *testing.T) {
	text := "x"
	r, err := NewRecordShape([]Column{
		{Name: "a", Type: store.TextColumn, Sequence: &Sequence{Prefix: "mikio"}}, {Name: "b", Type: store.TextColumn, Constant: &text},
		{Name: "v", Type: store.BytesColumn, Proof: 40},
	})
	if err != nil {
		t.Fatal(err)
	}
	pool := NewPool(ValueShape{PoolBytes: 4096, LengthMax: 40, TrialTag: 7})
	rapid.Check(t, func(t *rapid.T) {
		index, version := rapid.Uint64Range(0, IndexMax).Draw(t, "index"), rapid.Uint64().Draw(t, "version")
		record := r.Append(nil, pool, index, version)
		changed := bytes.Clone(record)
		if rapid.Bool().Draw(t, "random") {
			changed = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		} else {
			changed[rapid.IntRange(0, len(changed)-1).Draw(t, "at")] ^= rapid.ByteRange(1, 255).Draw(t, "bits")
		}
		r.Index(changed)
		r.Claimed(changed)
		if got, right := r.Check(pool, changed, index, nil); right && !bytes.Equal(r.Append(nil, pool, index, got), changed) {
			t.Fatalf("%x was taken for a record of %d", changed, index)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	age, lang := "30", "ja,en,c"
	r, err := NewRecordShape([]Column{
		{Name: "name", Type: store.TextColumn, Sequence: &Sequence{Prefix: "mikio"}}, {Name: "age", Type: store.TextColumn, Constant: &age},
		{Name: "lang", Type: store.TextColumn, Constant: &lang},
	})
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 0, r.BytesMax())
	for i := range b.N {
		buffer = r.Append(buffer[:0], nil, uint64(i), 0)
	}
}
