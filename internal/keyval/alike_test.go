package keyval

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"assay/store"
)

func TestAlikeIsWhatCountingFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		column := Column{Name: "c", Type: store.TextColumn}
		if rapid.Bool().Draw(t, "constant") {
			same := "same"
			column.Constant = &same
		} else {
			column.Sequence = &Sequence{
				Divide: rapid.SampledFrom([]uint64{0, 1, 2, 7, 55, math.MaxUint64}).Draw(t, "divide"), Modulo: rapid.SampledFrom([]uint64{0, 1, 3, 20, 20000, math.MaxUint64}).Draw(t, "modulo"),
				Add: rapid.Uint64Range(0, 9).Draw(t, "add"), Multiply: rapid.Uint64Range(0, 3).Draw(t, "multiply"),
			}
		}
		r, err := NewRecordShape([]Column{column})
		if err != nil {
			t.Fatal(err)
		}
		below, index := rapid.Uint64Range(0, 500).Draw(t, "below"), rapid.Uint64Range(0, 900).Draw(t, "index")
		wanted, counted := r.AppendColumn(nil, 0, index), uint64(0)
		for i := range below {
			if bytes.Equal(r.AppendColumn(nil, 0, i), wanted) {
				counted++
			}
		}
		if got, exact := r.Alike(0, index, below); got != counted || !exact {
			t.Fatalf("%+v: of %d records %d are said to be like %d (exact: %v), counted %d", column.Sequence, below, got, index, exact, counted)
		}
	})
}

func TestAlikeSaysWhereNumbersMayMeet(t *testing.T) {
	q := &Sequence{Multiply: 1 << 63}
	r, err := NewRecordShape([]Column{{Name: "c", Type: store.TextColumn, Sequence: q}})
	if err != nil {
		t.Fatal(err)
	}
	if records, exact := r.Alike(0, 0, 10); records > 5 || exact {
		t.Errorf("%d of 10 records, exact: %v; it is 5 that have the number 0", records, exact)
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
