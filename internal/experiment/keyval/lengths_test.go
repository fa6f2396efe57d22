package keyval

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// laid lays keys of some lengths, and holds that they are as long as they should be, all different, and in
// their parts.
func laid(t *testing.T, k KeyShape, lengths []LengthOf, least, beyond, floor int, more uint64) KeyShape {
	t.Helper()
	gotFloor, gotMore := k.Lay(lengths, least, beyond)
	if err := k.Check(); err != nil {
		t.Fatalf("%+v: %v", k, err)
	}
	if gotFloor != floor || gotMore != more {
		t.Errorf("%+v: %d keys get %d bytes, expected %d and %d", k, gotMore, gotFloor, more, floor)
	}
	made, index := map[string]bool{}, uint64(0)
	maker := NewKeyMaker(k)
	for part := range lengths[0].Keys {
		want := map[int]uint64{}
		for _, l := range lengths {
			want[max(l.Bytes, floor)] += l.Keys[part]
		}
		for range sum(want) {
			key := maker.Key(index)
			if made[string(key)] || !strings.HasPrefix(string(key), k.Prefix) || len(key) != k.BytesOf(index) {
				t.Fatalf("%+v: key %d is %q of %d bytes", k, index, key, k.BytesOf(index))
			}
			made[string(key)] = true
			want[len(key)]--
			index++
		}
		for bytes, missing := range want {
			if missing != 0 {
				t.Errorf("%+v: part %d lacks %d keys of %d bytes", k, part, int64(missing), bytes)
			}
		}
	}
	if more := k.IndexLimit() - index; more < beyondLeast/2 {
		t.Errorf("%+v: %d keys beyond", k, more)
	}
	return k
}

func sum(counts map[int]uint64) (all uint64) {
	for _, n := range counts {
		all += n
	}
	return all
}

func TestKeysOfSeveralLengths(t *testing.T) {
	one := func(bytes int, keys ...uint64) LengthOf { return LengthOf{bytes, keys} }
	many := []LengthOf{one(1, 200), one(3, 500), one(12, 300), one(40, 7)}
	k := laid(t, KeyShape{Format: Binary}, many, 0, 13, 1, 0)
	if k.BytesMin() != 1 || k.BytesMax() != 40 {
		t.Errorf("%d to %d bytes", k.BytesMin(), k.BytesMax())
	}
	if low, high := k.BytesBetween(150, 250); low != 1 || high != 3 {
		t.Errorf("%d to %d bytes between", low, high)
	}
	laid(t, KeyShape{Format: Binary, Prefix: "12345678"}, many, 0, 13, 10, 700)
	laid(t, KeyShape{Format: Binary}, many, 4, 13, 4, 700)
	laid(t, KeyShape{Format: Binary, Scatter: true}, many, 0, 13, 8, 700)
	laid(t, KeyShape{Format: Decimal}, many, 0, 13, 3, 200)
	laid(t, KeyShape{Format: Decimal, Prefix: "12345678"}, many, 0, 13, 11, 700)
	laid(t, KeyShape{Format: Binary}, []LengthOf{one(1, 300)}, 0, 1, 2, 300) // a byte tells 256 apart
	// Parts: what is loaded comes first, whatever its length.
	laid(t, KeyShape{Format: Binary}, []LengthOf{one(2, 10, 20), one(9, 0, 5), one(30, 40, 0)}, 0, 9, 1, 0)
	// A length between holds too few numbers behind the prefix: it is a floor too.
	laid(t, KeyShape{Format: Decimal}, []LengthOf{one(1, 5), one(2, 101), one(9, 1)}, 0, 5, 3, 106)
}

func TestImpossibleLengthsAreRefused(t *testing.T) {
	for says, k := range map[string]KeyShape{
		"have no lengths":        {Format: YCSB, Lengths: []Stretch{{Bytes: 4}}},
		"no bytes, digits":       {Format: Binary, Bytes: 4, Lengths: []Stretch{{Bytes: 4}}},
		"begins at index 0":      {Format: Binary, Lengths: []Stretch{{Bytes: 4, From: 1}}},
		"ascend":                 {Format: Binary, Lengths: []Stretch{{Bytes: 4}, {Bytes: 5, From: 9}, {Bytes: 6, From: 9}}},
		"at least one byte more": {Format: Binary, Prefix: "abcd", Lengths: []Stretch{{Bytes: 4}}},
		"at most 65535":          {Format: Binary, Lengths: []Stretch{{Bytes: 65536}}},
		"at least 8 bytes":       {Format: Binary, Scatter: true, Lengths: []Stretch{{Bytes: 7}}},
		"are binary":             {Format: Decimal, Scatter: true, Lengths: []Stretch{{Bytes: 17}}},
		"can't hold the numbers": {Format: Binary, Lengths: []Stretch{{Bytes: 1}, {Bytes: 5, From: 257}}},
		"numbers up to 10":       {Format: Decimal, Lengths: []Stretch{{Bytes: 1, First: 1}, {Bytes: 5, From: 10}}},
		"both are at most":       {Format: Binary, Lengths: []Stretch{{Bytes: 9, First: IndexMax + 1}}},
		fmt.Sprintf("at most %d lengths", StretchesMax): {Format: Binary, Lengths: slices.Repeat([]Stretch{{Bytes: 9}}, StretchesMax+1)},
	} {
		if err := k.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: want an error that says %q, got %v", k, says, err)
		}
	}
}

func BenchmarkKeyOfLength(b *testing.B) {
	k := KeyShape{Format: Binary}
	for i := range 50 {
		k.Lengths = append(k.Lengths, Stretch{From: uint64(i) * 1000, Bytes: 10 + i})
	}
	m := NewKeyMaker(k)
	for i := uint64(0); b.Loop(); i++ {
		m.Key(Mix(i) % 50_000)
	}
}
