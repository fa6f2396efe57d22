package run

import (
	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"

	"assay/internal/keyval"
	"assay/internal/spec"
	"assay/store"
)

// compressedShares measures what general compressors make of the experiment's values, in the blocks that stores compress:
// compressed size ÷ size of 4 KiB blocks, over the first cell's length of value.
func compressedShares(e *spec.Experiment) map[string]float64 {
	const blockBytes, sampleBytes = 4096, 1 << 20
	record := e.Values.Record()
	length := e.Cells[0].ValueBytes
	if length < keyval.StampBytes && record == nil {
		return nil // short values have no body that could be declared
	}
	pool := keyval.NewPool(keyval.ValueShape{
		PoolBytes: e.Values.PoolBytes, PoolSeed: e.Seed, RepeatedPermille: e.Values.RepeatedPermille, LengthMax: max(length, store.ColumnBytesMax*min(len(e.Values.Columns), 1)),
	})
	sample := make([]byte, 0, sampleBytes+length)
	for index := uint64(0); len(sample) < sampleBytes; index++ {
		version := keyval.Version(1, 0, index)
		if record != nil {
			sample = record.Append(sample, pool, index, version)
			continue
		}
		start := len(sample)
		sample = sample[:start+length]
		pool.Put(sample[start:], index, version)
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
