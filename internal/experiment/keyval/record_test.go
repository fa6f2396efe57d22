package keyval

import (
	"bytes"
	"fmt"
	"slices"
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
			if version, right := r.Check(pool, c.Record, uint64(c.Index), nil); right != c.Right || right &&
				version != uint64(c.Version) {
				t.Errorf("%s, %s: right %v with version %x, want %v with %x", v.Name, c.Name, right, version, c.Right, uint64(c.Version))
			}
		}
	}
}

func TestImpossibleColumnsAreRefused(t *testing.T) {
	long, leading, number := strings.Repeat("x", store.ColumnBytesMax+1), "007", "7"
	column := func(name string, columnType store.ColumnType) Column {
		return Column{Name: name, Type: columnType, Constant: &number}
	}
	sequence := func(q Sequence) Column { return Column{Name: "n", Type: store.IntegerColumn, Sequence: &q} }
	parts := func(p ...Part) Column { return Column{Name: "p", Type: store.TextColumn, Parts: p} }
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
		{"more than 64 parts", []Column{parts(slices.Repeat([]Part{{Text: "x"}}, PartsMax+1)...)}},
		{"more than 64 parts", []Column{{Name: "a", Type: store.TextColumn, Parts: slices.Repeat([]Part{{Text: "x"}}, PartsMax)}, parts(Part{Text: "x"})}},
		{"one of text, sequence and words", []Column{parts(Part{})}},
		{"one of text, sequence and words", []Column{parts(Part{Text: "x", Sequence: &Sequence{}})}},
		{"1 to 8 letters", []Column{parts(Part{Words: &Words{Counts: []uint64{1}}})}},
		{"1 to 8 letters", []Column{parts(Part{Words: &Words{Letters: 9, Counts: []uint64{1}}})}},
		{"1 to 64 counts", []Column{parts(Part{Words: &Words{Letters: 3}})}},
		{"a count of words", []Column{parts(Part{Words: &Words{Letters: 3, Counts: []uint64{0}}})}},
		{"a count of words", []Column{parts(Part{Words: &Words{Letters: 3, Counts: []uint64{256}}})}},
		{"either divide or", []Column{parts(Part{Sequence: &Sequence{Divide: 2, Steps: []uint64{1}}})}},
		{"an integer has", []Column{{Name: "a", Type: store.IntegerColumn, Parts: []Part{{Sequence: &Sequence{}}}}}},
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
		if got, right := r.Check(pool, changed, index, nil); right && !bytes.Equal(r.Append(nil, pool, index, got),
			changed) {
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

func TestNoRecordIsShorterThanTheShortest(t *testing.T) {
	r, err := NewRecordShape([]Column{{Name: "c", Type: store.TextColumn, Sequence: &Sequence{Prefix: "news ", Add: 7}}, {Name: "v", Type: store.BytesColumn, Proof: 40}})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		index := rapid.Uint64Range(0, IndexMax).Draw(t, "index")
		if n := r.Bytes(index); n < r.BytesMin() || n > r.BytesMax() {
			t.Fatalf("record %d has %d bytes, all are to have %d to %d", index, n, r.BytesMin(), r.BytesMax())
		}
	})
}

// The record of news-insert, as it was published in 2010: ids begin at 1, category cat has
// (cat%10+1)*10 records, 55 on average, and the first id of the categories from 10 k + 1 on is
// 550 k + 1.
func TestNewsRecordsAreThoseOfTheArticle(t *testing.T) {
	widths := []uint64{20, 30, 40, 50, 60, 70, 80, 90, 100, 10} // of categories 1 to 10
	columns := []Column{
		{Name: "Title", Type: store.TextColumn, Sequence: &Sequence{Prefix: "This is title of news ", Add: 1}},
		{Name: "CategoryID", Type: store.IntegerColumn, Sequence: &Sequence{Steps: widths, Add: 1}},
		{Name: "CreateTime", Type: store.IntegerColumn, Sequence: &Sequence{Add: 1262304000 + 1}},
		{Name: "UserID", Type: store.IntegerColumn, Sequence: &Sequence{Steps: widths, Shift: 1, Modulo: 10000}},
		{Name: "Tags", Type: store.TextColumn, Parts: []Part{
			{Text: "Tag_"}, {Sequence: &Sequence{Steps: widths, Shift: 1, Modulo: 3}},
			{Text: "_"}, {Sequence: &Sequence{Shift: 1, Modulo: 5}},
			{Text: " "}, {Words: &Words{Letters: 3, Counts: []uint64{2, 3, 4, 5, 1}}},
		}},
	}
	r, err := NewRecordShape(columns)
	if err != nil {
		t.Fatal(err)
	}
	id, words := uint64(1), 0
	nextWords := func(count uint64) (text string) {
		for range count {
			text += " " + string([]byte{'a' + byte(words/676), 'a' + byte(words/26%26), 'a' + byte(words%26)})
			words = (words + 1) % 17576
		}
		return text
	}
	for cat := uint64(1); cat <= 20000; cat++ {
		if (cat-1)%10 == 0 && id != (cat-1)*55+1 {
			t.Fatalf("category %d begins with id %d, expected %d", cat, id, (cat-1)*55+1)
		}
		records := (cat%10 + 1) * 10
		for in := id; in < id+records; in++ {
			tags := fmt.Sprintf("Tag_%d_%d", cat%3, in%5) + nextWords(in%5+1)
			if in > id && in < id+records-1 && in > 100_000 { // later ones are checked at each category's ends
				continue
			}
			for column, want := range map[int]string{
				0: fmt.Sprintf("This is title of news %d", in), 1: fmt.Sprint(cat), 2: fmt.Sprint(1262304000 + in),
				3: fmt.Sprint(cat % 10000), 4: tags,
			} {
				if got := r.AppendColumn(nil, column, in-1); string(got) != want {
					t.Fatalf("id %d: %s is %q, expected %q", in, columns[column].Name, got, want)
				}
			}
		}
		id += records
	}
	if id-1 != 20000*55 {
		t.Errorf("%d records in 20,000 categories, expected 55 each on average", id-1)
	}
}

// drawColumn draws a text of parts, with counts and numbers of all sizes.
func drawColumn(t *rapid.T) Column {
	counts := rapid.SliceOfN(rapid.Uint64Range(1, 9), 1, 7)
	part := rapid.Custom(func(t *rapid.T) Part {
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return Part{Text: rapid.StringMatching("[ -~]{1,5}").Draw(t, "text")}
		case 1:
			return Part{Sequence: &Sequence{Divide: rapid.Uint64Range(0, 9).Draw(t, "divide"), Modulo: rapid.Uint64Range(0, 30).Draw(t, "modulo"), Suffix: "_"}}
		}
		return Part{Words: &Words{Letters: rapid.IntRange(1, 8).Draw(t, "letters"), Counts: counts.Draw(t, "counts")}}
	})
	return Column{Name: "p", Type: store.TextColumn, Parts: rapid.SliceOfN(part, 1, 6).Draw(t, "parts")}
}

// The lengths of parts are those of their bytes, no two ways to make a column differ, and nothing but
// the column itself is right.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, err := NewRecordShape([]Column{drawColumn(t), {Name: "n", Type: store.TextColumn, Sequence: &Sequence{Add: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		index := rapid.Uint64Range(0, IndexMax).Draw(t, "index")
		column := r.AppendColumn(nil, 0, index)
		if len(column) != r.columnBytes(0, index) || len(column) < r.ColumnBytesMin(0) ||
			len(column) > r.columns[0].bytesMax() {
			t.Fatalf("%q has %d bytes, told %d, at least %d, at most %d", column, len(column), r.columnBytes(0, index), r.ColumnBytesMin(0), r.columns[0].bytesMax())
		}
		record := r.Append(nil, nil, index, 0)
		if _, right := r.Check(nil, record, index, nil); !right {
			t.Fatalf("%q is not taken for the record of %d", record, index)
		}
		if back, ok := r.Index(record); !ok || back != index {
			t.Fatalf("%q leads back to %d", record, back)
		}
		record[2+rapid.IntRange(0, len(column)-1).Draw(t, "at")] ^= 1
		if _, right := r.Check(nil, record, index, nil); right {
			t.Fatalf("%q is taken for the record of %d", record, index)
		}
	})
}

// Each record's words begin where those of the record before it ended, also across the last word.
func TestWordsOfRecordsFollowEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Uint64Range(1, 255), 1, WordCountsMax).Draw(t, "counts")
		w := (&Words{Letters: rapid.IntRange(1, 2).Draw(t, "letters"), Counts: counts}).normal()
		index := rapid.Uint64Range(0, IndexMax-1).Draw(t, "index")
		before, after := strings.Fields(string(w.append(nil, index))), strings.Fields(string(w.append(nil, index+1)))
		if len(before) != int(counts[index%uint64(len(counts))]) {
			t.Fatalf("%d words, expected %d", len(before), counts[index%uint64(len(counts))])
		}
		last := before[len(before)-1]
		next := []byte(last)
		for i := len(next) - 1; i >= 0; i-- {
			if next[i] < 'z' {
				next[i]++
				break
			}
			next[i] = 'a'
		}
		if after[0] != string(next) {
			t.Fatalf("after %s comes %s, expected %s", last, after[0], next)
		}
	})
}

func BenchmarkNewsRecord(b *testing.B) {
	r, err := NewRecordShape([]Column{
		{Name: "Title", Type: store.TextColumn, Sequence: &Sequence{Prefix: "This is title of news ", Add: 1}},
		{Name: "Tags", Type: store.TextColumn, Parts: []Part{
			{Text: "Tag_"}, {Sequence: &Sequence{Divide: 55, Shift: 1, Modulo: 3}}, {Text: "_"}, {Sequence: &Sequence{Shift: 1, Modulo: 5}},
			{Text: " "}, {Words: &Words{Letters: 3, Counts: []uint64{2, 3, 4, 5, 1}}},
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	buffer := make([]byte, 0, r.BytesMax())
	for i := range b.N {
		buffer = r.Append(buffer[:0], nil, uint64(i), 0)
	}
}
