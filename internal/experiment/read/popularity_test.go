package read_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/experiment/read"
	"assay/internal/experiment/trace"
)

// Buckets in the experiment say the same as a file, and there is one of both.
func TestPopularityOfAFileOrOfBuckets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pop.json")
	if err := os.WriteFile(file, []byte(`{"popularityBuckets": [1, 999], "popularityWeights": [10, 90.5]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(order string) ([]trace.Bucket, error) {
		e, err := read.Load([]byte("name: p\nstores: [bbolt]\ndurability: D1\nphases:\n  - {name: load, load: true}\n"+
			"  - {name: r, mix: {read: 1}, operations: 5, order: "+order+"}\n"), "p.yaml", nil, fakeDrivers())
		if err != nil {
			return nil, err
		}
		return e.Phases[1].Order.Buckets, nil
	}
	want := []trace.Bucket{{Keys: 1, Weight: 10}, {Keys: 999, Weight: 90.5}}
	const inline = "buckets: [{keys: 1, weight: 10}, {keys: 999, weight: 90.5}]"
	for _, order := range []string{"{distribution: popularity, file: " + file + "}", "{distribution: popularity, " + inline + "}"} {
		if got, err := load(order); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v", order, got, err)
		}
	}
	for order, want := range map[string]string{
		"{distribution: popularity, file: " + file + ", " + inline + "}":      "of a file or of buckets, one of both",
		"{distribution: popularity, buckets: [{keys: 0, weight: 1}]}":         "expected a key at least",
		"{distribution: zipfian, buckets: [{keys: 1, weight: 1}]}":            "zipfian has no buckets",
		"{distribution: popularity, file: " + filepath.Dir(file) + "/x.json}": "can't be read",
	} {
		if _, err := load(order); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", order, err, want)
		}
	}
}
