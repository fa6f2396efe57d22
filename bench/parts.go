package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"assay/bench/bareloop"
	"assay/internal/base/clock"
	"assay/internal/base/histogram"
	"assay/internal/evidence/counters"
	"assay/internal/experiment/keyval"
	"assay/internal/experiment/trace"
)

const (
	entriesBench = bareloop.Entries
	valueBytes   = bareloop.ValueBytes
)

// sink keeps the compiler from leaving work out: each thread adds what it has made.
var sink atomic.Uint64

// doing is one thread's: it does the part for the i-th time.
type doing func(i int) uint64

// printParts times each part alone, at one thread and at two that share nothing but what workers'
// threads share.
func printParts() {
	fmt.Printf("  %-28s %9s %9s\n", "", "1 thread", "2 threads")
	entries := make([]trace.Entry, entriesBench)
	for i := range entries {
		entries[i] = trace.MakeEntry(trace.Update, keyval.Mix(uint64(i))%1_000_000, 0, false)
	}
	pool := keyval.NewPool(bareloop.Values())

	part("trace", func() doing {
		return func(i int) uint64 { e := entries[i%entriesBench]; return e.EffectiveIndex(1, 1) }
	})
	part("key", func() doing {
		keys := keyval.NewKeyMaker(keyval.KeyShape{Format: keyval.Binary, Bytes: 16})
		return func(i int) uint64 { return uint64(keys.Key(uint64(i))[0]) }
	})
	part("value", func() doing {
		value := make([]byte, valueBytes, 4*valueBytes) // no line of it is another thread's
		return func(i int) uint64 { pool.Put(value, uint64(i), uint64(i)); return 0 }
	})
	for _, source := range []clock.Source{clock.TSC, clock.Monotonic} {
		name := map[clock.Source]string{clock.TSC: "clock, TSC", clock.Monotonic: "clock, monotonic"}[source]
		c, err := clock.New(source)
		if err != nil {
			fmt.Printf("  %-28s not measured: %v\n", name, err)
			continue
		}
		part(name, func() doing { return func(int) uint64 { return uint64(c.NowNS()) } })
	}
	part("counters and histogram", func() doing {
		slot := new(counters.Slot)
		return func(i int) uint64 {
			slot.Outcomes[counters.OK]++
			slot.BytesWritten += valueBytes
			slot.Service[histogram.Bucket(uint64(i)&1023)]++
			return 0
		}
	})
	part("checking a value", func() doing {
		value := make([]byte, valueBytes, 4*valueBytes) // no line of it is another thread's
		pool.Put(value, 7, 7)
		return func(int) uint64 {
			if _, right := pool.Check(value, 7); right {
				return 1
			}
			return 0
		}
	})
}

// part prints ns for each time that a part is done, over all threads, less what a call that does
// nothing costs.
func part(name string, start func() doing) {
	nothing := func() doing { return func(int) uint64 { return 0 } }
	fmt.Printf("  %-28s", name)
	for _, threads := range []int{1, 2} {
		fmt.Printf(" %9.1f", max(partNS(threads, start)-partNS(threads, nothing), 0))
	}
	fmt.Println()
}

func partNS(threads int, start func() doing) float64 {
	var rounds []float64
	for range 5 {
		r := testing.Benchmark(func(b *testing.B) {
			var all sync.WaitGroup
			for range threads {
				do := start()
				all.Go(func() {
					made := uint64(0)
					for i := range b.N / threads {
						made += do(i)
					}
					sink.Add(made)
				})
			}
			all.Wait()
		})
		rounds = append(rounds, float64(r.T.Nanoseconds())/float64(r.N))
	}
	return median(rounds)
}
