package read

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"

	"assay/internal/base/bounded"
	"assay/internal/base/format"
	"assay/internal/experiment"
	"assay/internal/experiment/trace"
)

// What CacheLib publishes of its caches, as its cachebench reads it (test_configs/hit_ratio): how many keys
// are about equally popular and how often one of them comes, and how long values are.

const (
	popularityFileBytes = 16 << 20
	bucketsMax          = 100_000
	// sizesOfFile is to how many lengths those of a file are joined: a trace has classes for few.
	sizesOfFile = 60
)

// readJSON reads a file beside the experiment.
func (r *resolver) readJSON(name string, into any) error {
	if name != "" && !filepath.IsAbs(name) {
		name = filepath.Join(r.folder, name)
	}
	text, err := bounded.ReadFile(name, popularityFileBytes)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// popularity reads the buckets of an order: those of a file, or those that stand in the experiment.
func (r workResolver) popularity(o OrderFile, resolved *experiment.Order) *Error {
	at, of := r.in("order", "buckets"), "order"
	switch {
	case (o.File == nil) == (len(o.Buckets) == 0):
		return r.fail(r.in("order"), "the order popularity is that of a file or of buckets, one of both").
			hint("expected order: {distribution: popularity, file: pop.json}, or buckets: [{keys: 1, weight: 10}, {keys: 1000, weight: 90}]")
	case o.File != nil:
		at, of = r.in("order", "file"), *o.File
		var err error
		if resolved.Buckets, err = r.bucketsOf(of); err != nil {
			return r.fail(at, "the popularity of keys in %s can't be read: %v", of, err)
		}
	}
	for _, b := range o.Buckets {
		resolved.Buckets = append(resolved.Buckets, trace.Bucket{Keys: uint64(b.Keys), Weight: b.Weight})
	}
	if err := (trace.Order{Distribution: trace.Popularity, Buckets: resolved.Buckets}).Check(); err != nil {
		return r.fail(at, "%s: %v", of, err)
	}
	keys := uint64(0)
	for _, b := range resolved.Buckets {
		keys += min(b.Keys, math.MaxUint64-keys)
	}
	r.note("%s: the popularity of %s keys; of fewer records, the most popular are taken, and of more, the others are not touched",
		of, format.Count(keys))
	return nil
}

// bucketsOf reads a file of CacheLib's form.
func (r *resolver) bucketsOf(name string) (buckets []trace.Bucket, err error) {
	var file struct {
		Keys    []uint64  `json:"popularityBuckets"`
		Weights []float64 `json:"popularityWeights"`
	}
	if err := r.readJSON(name, &file); err != nil {
		return nil, err
	}
	if len(file.Keys) == 0 || len(file.Keys) != len(file.Weights) || len(file.Keys) > bucketsMax {
		return nil, fmt.Errorf("%d popularityBuckets and %d popularityWeights: expected as many of both, and at most %d",
			len(file.Keys), len(file.Weights), bucketsMax)
	}
	for i := range file.Keys {
		buckets = append(buckets, trace.Bucket{Keys: file.Keys[i], Weight: file.Weights[i]})
	}
	return buckets, nil
}

// SizesForm is a list of lengths, or a file of them.
type SizesForm struct {
	List []SizeFile
	File string
}

func (f *SizesForm) fromNode(n *node, path string) *Error {
	if n.kind != table {
		if n.kind == null {
			return nil
		}
		return decode(n, reflect.ValueOf(&f.List).Elem(), path)
	}
	name := n.field("file")
	if name == nil || len(n.entries) != 1 || name.kind != scalar {
		return n.expected(path, "a list of lengths, each {bytes: 100, weight: 9}, or {file: sizes.json}")
	}
	f.File = name.text
	return nil
}

// count is above 0 where lengths are given.
func (f *SizesForm) count() int {
	if f.File != "" {
		return max(len(f.List), 1)
	}
	return len(f.List)
}

// sizesOf returns the lengths of values with their weights.
func (r *resolver) sizesOf() ([]SizeFile, error) {
	f := &r.file.Values.Sizes
	if f.File == "" || f.List != nil {
		return f.List, nil
	}
	var file struct {
		Sizes   []float64 `json:"valSizeRange"`
		Weights []float64 `json:"valSizeRangeProbability"`
	}
	if err := r.readJSON(f.File, &file); err != nil {
		return nil, err
	}
	if len(file.Sizes) == 0 || len(file.Sizes) != len(file.Weights) {
		return nil, fmt.Errorf("%d valSizeRange and %d valSizeRangeProbability: expected as many of both", len(file.Sizes), len(file.Weights))
	}
	joined, err := joinSizes(file.Sizes, file.Weights, sizesOfFile)
	if err == nil {
		f.List = joined
		r.note("%s: %s joined to %s, of the same mean", f.File, format.Plural(len(file.Sizes), "length", ""), format.Count(uint64(len(joined))))
	}
	return joined, err
}

// joinSizes joins neighbouring lengths to so many at most, each with the mean of those that it stands for:
// each has about as large a part of the values and of their bytes together.
func joinSizes(sizes, weights []float64, most int) (joined []SizeFile, err error) {
	values, bytes := 0.0, 0.0
	for i := range sizes {
		ordered := i == 0 || sizes[i] > sizes[i-1]
		if !ordered || !(sizes[i] >= 0 && sizes[i] <= valueBytesMax && weights[i] >= 0 && weights[i] <= 1e15) {
			return nil, fmt.Errorf("length %v with weight %v at position %d: expected lengths that ascend, and weights from 0 on", sizes[i], weights[i], i)
		}
		values, bytes = values+weights[i], bytes+weights[i]*sizes[i]
	}
	if values == 0 {
		return nil, errors.New("no length has a weight above 0")
	}
	part, weight, sum := 0.0, 0.0, 0.0
	end := func() {
		if weight > 0 {
			joined = append(joined, SizeFile{Bytes: Count(math.Round(sum / weight)), Weight: weight / values * 100})
		}
		part, weight, sum = 0, 0, 0
	}
	for i := range sizes {
		share := weights[i] / values
		if bytes > 0 {
			share += weights[i] * sizes[i] / bytes
		}
		part, weight, sum = part+share, weight+weights[i], sum+weights[i]*sizes[i]
		if part >= 2/float64(most) { // of 2 in all, so that no more than most come to it
			end()
		}
	}
	end()
	return joined, nil
}
