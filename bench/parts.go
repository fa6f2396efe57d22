package main

import (
	"fmt"
	"io"
	"testing"

	"assay/internal/clock"
	"assay/internal/counters"
	"assay/internal/histogram"
	"assay/internal/keyval"
	"assay/internal/trace"
)

// sink keeps the compiler from leaving work out.
var sink uint64

const (
	entriesBench = 1 << 16
	valueBytes   = 100
	poolBytes    = 1 << 18
)

func printParts() {
	entries := make([]trace.Entry, entriesBench)
	for i := range entries {
		entries[i] = trace.MakeEntry(trace.Update, keyval.Mix(uint64(i))%1_000_000, 0, false)
	}
	keys := keyval.NewKeyMaker(keyval.KeyShape{Format: keyval.Binary, Bytes: 16})
	pool := keyval.NewPool(keyval.ValueShape{PoolBytes: poolBytes, PoolSeed: 1, RepeatedPermille: 500, LengthMax: valueBytes})
	value, slot := make([]byte, valueBytes), new(counters.Slot)
	tsc, err := clock.New(clock.TSC)
	monotonic, _ := clock.New(clock.Monotonic)

	part("trace", func(i int) { e := entries[i%entriesBench]; sink += e.EffectiveIndex(1, 1) })
	part("key", func(i int) { sink += uint64(keys.Key(uint64(i))[0]) })
	part("value", func(i int) { pool.Put(value, uint64(i), uint64(i)) })
	if err == nil {
		part("clock, TSC", func(int) { sink += uint64(tsc.NowNS()) })
	} else {
		fmt.Printf("  %-28s not measured: %v\n", "clock, TSC", err)
	}
	part("clock, monotonic", func(int) { sink += uint64(monotonic.NowNS()) })
	part("counters and histogram", func(i int) {
		slot.Outcomes[counters.OK]++
		slot.BytesWritten += valueBytes
		slot.Service[histogram.Bucket(uint64(i)&1023)]++
	})
	pool.Put(value, 7, 7)
	part("checking a value", func(int) {
		if _, right := pool.Check(value, 7); right {
			sink++
		}
	})
	fmt.Fprint(io.Discard, sink)
}

// part times a call of f, less what an empty call costs.
func part(name string, f func(int)) {
	timed := func(f func(int)) float64 {
		var rounds []float64
		for range 5 {
			r := testing.Benchmark(func(b *testing.B) {
				for i := range b.N {
					f(i)
				}
			})
			rounds = append(rounds, float64(r.T.Nanoseconds())/float64(r.N))
		}
		return median(rounds)
	}
	fmt.Printf("  %-28s %5.1f\n", name, max(timed(f)-timed(func(int) {}), 0))
}
