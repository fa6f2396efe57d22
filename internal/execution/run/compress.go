package run

import (
	"fmt"
	"math"
	"slices"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"

	"assay/internal/experiment"
	"assay/internal/experiment/keyval"
	"assay/store"
)

// valueRatios measures what general compressors make of the experiment's values. Where all cells
// have values of one shape, it is in all; where they don't, in byShape, under the length of the
// values.
func valueRatios(e *experiment.Experiment) (all map[string]float64, byShape map[string]map[string]float64) {
	shapes := valueShapes(e)
	if len(shapes) == 1 {
		return compressedShares(e, shapes[0]), nil
	}
	byShape = map[string]map[string]float64{}
	for _, lengths := range shapes {
		byShape[fmt.Sprintf("%d B", lengths[0])] = compressedShares(e, lengths)
	}
	return nil, byShape
}

// lengths are those that values of one shape have, each as often as it comes among a thousand. Of
// records with columns, whose length their columns give, there are none.
type lengths []int

// valueShapes returns the distinct shapes of values that the cells have.
func valueShapes(e *experiment.Experiment) []lengths {
	if e.Values.Record() != nil {
		return []lengths{nil}
	}
	if len(e.Values.Sizes) > 0 {
		return []lengths{mixture(e.Values.Sizes)}
	}
	var shapes []lengths
	for _, c := range e.Cells {
		if shape := (lengths{c.ValueBytes}); !slices.ContainsFunc(shapes,
			func(s lengths) bool { return slices.Equal(s, shape) }) {
			shapes = append(shapes, shape)
		}
	}
	return shapes
}

// mixture returns lengths in the proportion of their weights, spread evenly: each time the one that
// is furthest behind its share.
func mixture(sizes []experiment.Size) lengths {
	const inAll = 1000
	weights := 0.0
	for _, s := range sizes {
		weights += s.Weight
	}
	var mixed lengths
	taken := make([]float64, len(sizes))
	for n := 1; n <= inAll; n++ {
		next, behindMost := 0, math.Inf(-1)
		for i, s := range sizes {
			if behind := s.Weight/weights*float64(n) - taken[i]; behind > behindMost {
				next, behindMost = i, behind
			}
		}
		taken[next]++
		mixed = append(mixed, sizes[next].Bytes)
	}
	return mixed
}

// compressedShares measures values of one shape in the blocks that stores compress: compressed size
// ÷ size of 4 KiB blocks.
func compressedShares(e *experiment.Experiment, shape lengths) map[string]float64 {
	const blockBytes = 4096
	sampleBytes := 256 << 10 // whose shares are within 0.004 of those of 1 MiB
	if len(shape) != 1 {
		sampleBytes = 1 << 20 // so that lengths that are rare are in it
	}
	record, longest := e.Values.Record(), store.ColumnBytesMax
	if record == nil {
		longest = slices.Max(shape)
	}
	if longest == 0 {
		return nil // of empty values there is nothing to compress
	}
	pool := keyval.NewPool(keyval.ValueShape{
		PoolBytes: e.Values.PoolBytes, PoolSeed: e.Seed, RepeatedPermille: e.Values.RepeatedPermille,
		LengthMax: longest, TrialTag: 1,
	})
	sample := make([]byte, 0, sampleBytes+longest)
	for index := uint64(0); len(sample) < sampleBytes; index++ {
		version := keyval.Version(1, 0, index)
		if record != nil {
			sample = record.Append(sample, pool, index, version)
			continue
		}
		value := make([]byte, shape[index%uint64(len(shape))])
		pool.Put(value, index, version)
		sample = append(sample, value...)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic("run: zstd without options: " + err.Error())
	}
	defer encoder.Close()
	var snappyBytes, zstdBytes, all int
	for block := sample; len(block) >= blockBytes; block = block[blockBytes:] {
		snappyBytes += len(snappy.Encode(nil, block[:blockBytes]))
		zstdBytes += len(encoder.EncodeAll(block[:blockBytes], nil))
		all += blockBytes
	}
	return map[string]float64{"snappy": float64(snappyBytes) / float64(all), "zstd": float64(zstdBytes) / float64(all)}
}
