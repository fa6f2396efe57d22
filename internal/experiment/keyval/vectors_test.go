package keyval

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

// word is a 64-bit number as the vectors write it.
type word uint64

func (w *word) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	n, err := strconv.ParseUint(text, 16, 64)
	*w = word(n)
	return err
}

// hexBytes are bytes as the vectors write them.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// vectors reads a file of vectors. An empty one would make a test that can't fail.
func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	var list []T
	read(t, name, &list)
	if len(list) == 0 {
		t.Fatalf("%s has no vectors", name)
	}
	return list
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

type shape struct {
	PoolBytes        int    `json:"pool_bytes"`
	PoolSeed         word   `json:"pool_seed"`
	RepeatedPermille int    `json:"repeated_permille"`
	LengthMax        int    `json:"length_max"`
	ShortLengths     uint32 `json:"short_lengths"`
	TrialTag         uint32 `json:"trial_tag"`
}

func (s shape) pool(t *testing.T) *Pool {
	t.Helper()
	v := ValueShape{s.PoolBytes, uint64(s.PoolSeed), s.RepeatedPermille, s.LengthMax, s.ShortLengths, s.TrialTag}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	return NewPool(v)
}

func TestMixVectors(t *testing.T) {
	for _, v := range vectors[struct {
		X, Mix   word
		YCSBHash word `json:"ycsb_hash"`
	}](t, "mix.json") {
		if got := Mix(uint64(v.X)); got != uint64(v.Mix) {
			t.Errorf("Mix(%#x) = %#x, want %#x", v.X, got, v.Mix)
		}
		if got := YCSBHash(uint64(v.X)); got != uint64(v.YCSBHash) {
			t.Errorf("YCSBHash(%#x) = %#x, want %#x", v.X, got, v.YCSBHash)
		}
	}
}

func TestKeyVectors(t *testing.T) {
	for _, v := range vectors[struct {
		Shape KeyShape
		Keys  []struct {
			Index word
			Key   hexBytes
		}
	}](t, "keys.json") {
		if err := v.Shape.Check(); err != nil {
			t.Errorf("%+v: %v", v.Shape, err)
		}
		maker := NewKeyMaker(v.Shape)
		for _, k := range v.Keys {
			if got := maker.Key(uint64(k.Index)); !bytes.Equal(got, k.Key) {
				t.Errorf("%+v: key of %d is %x, want %x", v.Shape, k.Index, got, k.Key)
			}
			if len(k.Key) > v.Shape.BytesMax() {
				t.Errorf("%+v: key of %d has %d bytes, more than the %d that are claimed", v.Shape, k.Index, len(k.Key), v.Shape.BytesMax())
			}
		}
	}
}

func TestPoolVectors(t *testing.T) {
	for _, v := range vectors[struct {
		Shape  shape
		Bytes  int
		SHA256 hexBytes
		Blocks []struct {
			Block int
			Bytes hexBytes
		}
	}](t, "pool.json") {
		p := v.Shape.pool(t)
		if digest := sha256.Sum256(p.bytes); len(p.bytes) != v.Bytes || !bytes.Equal(digest[:], v.SHA256) {
			t.Errorf("%+v: pool of %d bytes with digest %x, want %d and %x", v.Shape, len(p.bytes), digest, v.Bytes, v.SHA256)
		}
		for _, b := range v.Blocks {
			if got := p.bytes[64*b.Block:][:64]; !bytes.Equal(got, b.Bytes) {
				t.Errorf("%+v: block %d is %x, want %x", v.Shape, b.Block, got, b.Bytes)
			}
		}
	}
}

func TestValueVectors(t *testing.T) {
	for _, v := range vectors[struct {
		Shape  shape
		Values []struct {
			Index, Version word
			Length         int
			First, SHA256  hexBytes
		}
	}](t, "values.json") {
		p := v.Shape.pool(t)
		for _, w := range v.Values {
			value := make([]byte, w.Length)
			p.Put(value, uint64(w.Index), uint64(w.Version))
			digest := sha256.Sum256(value)
			if !bytes.HasPrefix(value, w.First) || !bytes.Equal(digest[:], w.SHA256) {
				t.Errorf("value of index %d, version %#x and %d bytes begins %x, want %x", w.Index, w.Version, w.Length, value[:min(64, len(value))], w.First)
			}
			if version, right := p.Check(value, uint64(w.Index)); !right || version != uint64(w.Version) {
				t.Errorf("value of index %d, version %#x and %d bytes is not taken: %v, version %#x", w.Index, w.Version, w.Length, right, version)
			}
		}
	}
}

func TestShortValueVectors(t *testing.T) {
	for _, v := range vectors[struct {
		Index    word
		TrialTag uint32 `json:"trial_tag"`
		Values   []hexBytes
	}](t, "short_values.json") {
		p := NewPool(ValueShape{PoolBytes: 4096, TrialTag: v.TrialTag})
		for length, want := range v.Values {
			value := make([]byte, length)
			if p.Put(value, uint64(v.Index), 99); !bytes.Equal(value, want) {
				t.Errorf("value of index %d and %d bytes is %x, want %x", v.Index, length, value, want)
			}
		}
	}
}

func TestCheckVectors(t *testing.T) {
	var v struct {
		Shape  shape
		Values []struct {
			Name           string
			Index, Version word
			Value          hexBytes
			Right          bool
			OtherTrial     bool `json:"other_trial"`
		}
	}
	read(t, "checks.json", &v)
	p, rights, others := v.Shape.pool(t), 0, 0
	for _, c := range v.Values {
		version, right := p.Check(c.Value, uint64(c.Index))
		if right != c.Right || right && version != uint64(c.Version) {
			t.Errorf("%s: right %v, version %#x; want %v, %#x", c.Name, right, version, c.Right, c.Version)
		}
		if other := p.OtherTrial(c.Value, uint64(c.Index)); other != c.OtherTrial {
			t.Errorf("%s: of another trial: %v, want %v", c.Name, other, c.OtherTrial)
		} else if other {
			others++
		}
		if right {
			rights++
		}
	}
	if rights == 0 || others == 0 || rights+others >= len(v.Values) {
		t.Errorf("of %d values %d are right and %d of another trial: all kinds must be there", len(v.Values), rights, others)
	}
}

func TestVersionVectors(t *testing.T) {
	for _, v := range vectors[struct {
		Phase, Thread int
		Sequence      uint64
		Version       word
	}](t, "versions.json") {
		if got := Version(v.Phase, v.Thread, v.Sequence); got != uint64(v.Version) {
			t.Errorf("version of %d, %d, %d is %#x, want %#x", v.Phase, v.Thread, v.Sequence, got, v.Version)
		}
		if p, th, s := SplitVersion(uint64(v.Version)); p != v.Phase || th != v.Thread || s != v.Sequence {
			t.Errorf("%#x is split into %d, %d, %d", v.Version, p, th, s)
		}
	}
}
