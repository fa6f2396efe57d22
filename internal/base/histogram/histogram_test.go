package histogram

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestEveryValueLiesInItsBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64Range(0, ValueMax).Draw(t, "v")
		b := Bucket(v)
		if v < Lowest(b) || v >= Lowest(b)+Width(b) {
			t.Fatalf("value %d went to bucket %d, which holds %d to %d", v, b, Lowest(b), Lowest(b)+Width(b)-1)
		}
		if Width(b) > 1 && float64(Width(b))/float64(Lowest(b)) > 1.0/128 {
			t.Fatalf("bucket %d is wider than 1/128 of its values", b)
		}
	})
}

func TestBucketsFollowOneAnother(t *testing.T) {
	for b := 1; b < Buckets; b++ {
		if Lowest(b) != Lowest(b-1)+Width(b-1) {
			t.Fatalf("bucket %d begins at %d, but bucket %d ends at %d", b, Lowest(b), b-1, Lowest(b-1)+Width(b-1)-1)
		}
	}
	if Bucket(ValueMax) != Buckets-1 || Bucket(math.MaxUint64) != Buckets-1 {
		t.Fatalf("the largest values must go to the last bucket")
	}
}

func TestQuantileIsTheNearestRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Uint64Range(0, 1<<30), 1, 300).Draw(t, "values")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		h := New()
		for _, v := range values {
			h.Record(v)
		}
		slices.Sort(values)
		rank := max(int(math.Ceil(q*float64(len(values)))), 1)
		want := Middle(Bucket(values[rank-1]))
		if got := h.Quantile(q); got != want {
			t.Fatalf("quantile %v of %v: %v, want %v", q, values, got, want)
		}
	})
}

func TestJSONRoundTrip(t *testing.T) {
	h := New()
	for v := uint64(1); v < 1<<41; v *= 3 {
		h.Record(v)
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back Histogram
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || !bytes.Equal(again, text) || back.Count() != h.Count() ||
		back.Quantile(0.5) != h.Quantile(0.5) || back.Mean() != h.Mean() {
		t.Fatalf("%s came back as %s (%v)", text, again, err)
	}
	if len(back.packed) > len(text) || back.Counts != nil {
		t.Errorf("%d bytes of JSON are kept in %d, and %d buckets", len(text), len(back.packed), len(back.Counts))
	}
	sum := New()
	sum.Add(&back)
	back.Add(h)
	back.Sub(h)
	if !slices.Equal(sum.Counts, h.Counts) || !slices.Equal(back.Counts, h.Counts) {
		t.Error("adding and subtracting what was read gives another histogram")
	}
	for _, bad := range []string{`[1]`, `[4608,1]`, `["x",1]`, `[-1,1]`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
