package keyval

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func drawShape(t *rapid.T) KeyShape {
	k := KeyShape{Format: rapid.SampledFrom([]KeyFormat{Binary, Decimal, YCSB}).Draw(t, "format")}
	switch k.Format {
	case Binary:
		k.Bytes = rapid.IntRange(6, 50).Draw(t, "bytes")
		k.Scatter = k.Bytes >= 8 && rapid.Bool().Draw(t, "scatter")
	case Decimal:
		k.Digits = rapid.IntRange(0, 20).Draw(t, "digits")
		k.First = rapid.SampledFrom([]uint64{0, 1, IndexMax}).Draw(t, "first")
		fallthrough
	default:
		k.Prefix, k.Suffix = rapid.StringN(0, 5, 20).Draw(t, "prefix"), rapid.StringN(0, 5, 20).Draw(t, "suffix")
		k.Scatter = k.First == 0 && rapid.Bool().Draw(t, "scatter")
	}
	return k
}

func TestDifferentIndexesHaveDifferentKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := drawShape(t)
		if err := k.Check(); err != nil {
			t.Fatal(err)
		}
		a, b := rapid.Uint64Range(0, IndexMax).Draw(t, "a"), rapid.Uint64Range(0, IndexMax).Draw(t, "b")
		ka, kb := k.Append(nil, a), k.Append(nil, b)
		if (a == b) != bytes.Equal(ka, kb) {
			t.Fatalf("indexes %d and %d have keys %q and %q", a, b, ka, kb)
		}
		if len(ka) > k.BytesMax() {
			t.Fatalf("key of %d bytes, at most %d were claimed", len(ka), k.BytesMax())
		}
		if ordered := k.Format == Binary || k.Format == Decimal && k.Digits >= 15; ordered && !k.Scatter && a < b &&
			bytes.Compare(ka, kb) >= 0 {
			t.Fatalf("index %d comes before %d, but key %q does not come before %q", a, b, ka, kb)
		}
		if got := NewKeyMaker(k).Key(a); !bytes.Equal(got, ka) {
			t.Fatalf("KeyMaker makes %q, Append %q", got, ka)
		}
	})
}

func TestMixIsABijection(t *testing.T) {
	// The inverse of each step, undone in turn.
	unshift := func(z uint64, by uint) uint64 {
		x := z
		for range 64/by + 1 {
			x = z ^ x>>by
		}
		return x
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Uint64().Draw(t, "x")
		z := unshift(Mix(x), 31) * 0x319642b2d24d8ec3
		z = unshift(z, 27) * 0x96de1b173f119089
		if got := unshift(z, 30) - 0x9e3779b97f4a7c15; got != x {
			t.Fatalf("Mix(%#x) is undone to %#x", x, got)
		}
	})
}

func TestChangedValuesAreNoticed(t *testing.T) {
	p := NewPool(ValueShape{PoolBytes: 4096, PoolSeed: 3, RepeatedPermille: 500, LengthMax: 300,
		ShortLengths: 1<<StampBytes - 1, TrialTag: 7})
	rapid.Check(t, func(t *rapid.T) {
		index, version := rapid.Uint64Range(0, IndexMax).Draw(t, "index"), rapid.Uint64().Draw(t, "version")
		value := make([]byte, rapid.IntRange(1, 300).Draw(t, "length"))
		p.Put(value, index, version)
		got, right := p.Check(value, index)
		if !right || len(value) >= StampBytes && got != version {
			t.Fatalf("a right value was not taken")
		}
		at := rapid.IntRange(0, len(value)-1).Draw(t, "at")
		value[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "change"))
		if _, right := p.Check(value, index); right {
			t.Fatalf("a change of byte %d of %d was not noticed", at, len(value))
		}
	})
}

// A value of a length that the trial does not write is none, and neither is the beginning of a longer one.
//
// Fault (physics): a read returns an empty value, or the beginning of a short one
// Assay: `wrong-values`, by the length in its bytes
// With: run.TestEachMisbehaviourIsCaught
func TestLengthsAreNoticed(t *testing.T) {
	p := NewPool(ValueShape{PoolBytes: 4096, LengthMax: 100,
		ShortLengths: ShortLength(16) | ShortLength(8) | ShortLength(100), TrialTag: 7})
	value := make([]byte, 16)
	p.Put(value, 5, 1)
	for length, want := range map[int]bool{0: false, 8: false, 15: false, 16: true} {
		if _, right := p.Check(value[:length], 5); right != want {
			t.Errorf("%d of 16 bytes: right %v, expected %v", length, right, want)
		}
	}
	if p.Put(value[:8], 5, 1); !isRight(p, value[:8]) || isRight(p, value[:4]) {
		t.Error("of two lengths that values have, one is not taken, or a third is")
	}
	empty := NewPool(ValueShape{PoolBytes: 4096, ShortLengths: ShortLength(0), TrialTag: 7})
	if !isRight(empty, nil) || isRight(p, nil) {
		t.Error("an empty value is right where values of no bytes are written, and nowhere else")
	}
}

func isRight(p *Pool, value []byte) bool {
	_, right := p.Check(value, 5)
	return right
}

func FuzzCheck(f *testing.F) {
	p := NewPool(ValueShape{PoolBytes: 4096, PoolSeed: 3, RepeatedPermille: 500, LengthMax: 300,
		ShortLengths: 1<<8 | 1<<StampBytes>>1, TrialTag: 7})
	value := make([]byte, 100)
	p.Put(value, 5, 6)
	f.Add(value, uint64(5))
	f.Fuzz(func(t *testing.T, value []byte, index uint64) {
		if version, right := p.Check(value, index); right {
			again := make([]byte, len(value))
			if p.Put(again, index, version); !bytes.Equal(value, again) {
				t.Fatalf("took %x as a value of index %d, version %#x", value, index, version)
			}
		}
	})
}

func TestImpossibleShapesAreRefused(t *testing.T) {
	for _, c := range []struct {
		says string
		k    KeyShape
	}{
		{"unknown key format", KeyShape{}},
		{"1 to 65535", KeyShape{Format: Binary}},
		{"1 to 65535", KeyShape{Format: Binary, Bytes: 65536}},
		{"two indexes could meet", KeyShape{Format: Binary, Bytes: 7, Scatter: true}},
		{"leaves nothing", KeyShape{Format: Binary, Bytes: 8, Prefix: "12345678"}},
		{"two indexes could meet", KeyShape{Format: Binary, Bytes: 8, Prefix: "a", Scatter: true}},
		{"no suffix", KeyShape{Format: Binary, Bytes: 8, Suffix: "a"}},
		{"take digits", KeyShape{Format: Decimal, Bytes: 8}},
		{"20 digits", KeyShape{Format: Decimal, Digits: 21}},
		{"first is 0 to", KeyShape{Format: Binary, Bytes: 16, First: 1}},
		{"first is 0 to", KeyShape{Format: Decimal, First: 1, Scatter: true}},
		{"first is 0 to", KeyShape{Format: Decimal, First: IndexMax + 1}},
		{"take none", KeyShape{Format: YCSB, Digits: 1}},
		{"255 bytes", KeyShape{Format: YCSB, Prefix: strings.Repeat("a", 256)}},
	} {
		if err := c.k.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: want an error that says %q, got %v", c.k, c.says, err)
		}
	}
	for _, s := range []ValueShape{
		{PoolBytes: 4095, TrialTag: 1}, {PoolBytes: 2048, TrialTag: 1}, {PoolBytes: 4096, RepeatedPermille: 1001,
			TrialTag: 1},
		{PoolBytes: 4096, LengthMax: -1, TrialTag: 1}, {PoolBytes: 1 << 31, TrialTag: 1}, {PoolBytes: 4096},
	} {
		if s.Check() == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

func TestIndexLimitIsWhatFits(t *testing.T) {
	k := KeyShape{Format: Binary, Bytes: 1}
	var keys []string
	for index := range k.IndexLimit() {
		keys = append(keys, string(k.Append(nil, index)))
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 256 {
		t.Errorf("one byte makes %d keys", len(keys))
	}
}

func BenchmarkKey(b *testing.B) {
	m := NewKeyMaker(KeyShape{Format: Binary, Bytes: 16})
	for i := uint64(0); b.Loop(); i++ {
		m.Key(i)
	}
}

func BenchmarkPut(b *testing.B) {
	p, value := NewPool(ValueShape{PoolBytes: 1 << 20, LengthMax: 100, TrialTag: 7}), make([]byte, 100)
	for i := uint64(0); b.Loop(); i++ {
		p.Put(value, i, 1)
	}
}

func TestKeyMakerAgreesWithKey(t *testing.T) {
	for _, scatter := range []bool{false, true} {
		shape := KeyShape{Format: Binary, Bytes: 16, Scatter: scatter}
		m := NewKeyMaker(shape)
		for _, index := range []uint64{0, 1, 255, 1 << 40, IndexMax} {
			if got, want := m.Key(index), appendBinary(nil, map[bool]uint64{true: Mix(index),
				false: index}[scatter], 16); !bytes.Equal(got, want) {
				t.Errorf("index %d, scatter %v: %x, want %x", index, scatter, got, want)
			}
		}
	}
}
