//go:build !race

package boltdb_test

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/boltdb/bolt"

	"assay/drivers/boltdb"
	"assay/internal/testkit/drivertest"
	"assay/store"
)

func TestDescribesTheLibrarysLimitsAndDefaults(t *testing.T) {
	d := boltdb.Driver{}.Describe()
	if d.KeyBytesMax != bolt.MaxKeySize || d.ValueBytesMax != bolt.MaxValueSize {
		t.Errorf("limits are %d and %d", d.KeyBytesMax, d.ValueBytesMax)
	}
	options, err := store.Resolve(d.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	if options.Bytes("alloc_bytes") != bolt.DefaultAllocSize || options.Int("fill_percent") != bolt.DefaultFillPercent*100 ||
		options.Bool("no_grow_sync") != bolt.DefaultOptions.NoGrowSync || options.Bytes("initial_mmap_bytes") != int64(bolt.DefaultOptions.InitialMmapSize) {
		t.Errorf("defaults are %v", options)
	}
}

// TestTensOfThousandsOfRecords looks for what the library's use of unsafe pointers could break:
// records of all sizes, pages filled to the brim, deletions and a growing file, with readers beside
// the writer, while the garbage collector runs all the time. It shows that it works on this version
// of Go, and can't show that it always will.
func TestTensOfThousandsOfRecords(t *testing.T) {
	const records, batch = 60_000, 500
	driver := boltdb.Driver{}
	c := drivertest.Config(t, driver.Describe(), store.D1, map[string]string{"fill_percent": "100"})
	_, h := drivertest.Open(t, driver, c)

	done := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
				time.Sleep(time.Millisecond)
			}
		}
	})
	for range 2 {
		beside.Go(func() {
			for i := 0; ; i = (i + 7919) % records {
				select {
				case <-done:
					return
				default:
				}
				if got, err := h.Get(key(i), nil); err == nil && !bytes.Equal(got, value(i, 0)) && !bytes.Equal(got,
					value(i, 1)) {
					t.Errorf("record %d has a value that was never written: %d bytes", i, len(got))
					return
				}
			}
		})
	}
	write := func(from, to, version int) {
		for ; from < to; from += batch {
			var writes []store.Write
			for i := from; i < from+batch; i++ {
				if version == 1 && i%3 == 0 {
					writes = append(writes, store.Write{Key: key(i), Delete: true})
				} else {
					writes = append(writes, store.Write{Key: key(i), Value: value(i, version)})
				}
			}
			if err := h.(store.Batcher).Apply(writes); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0, records, 0)
	write(0, records/2, 1)
	close(done)
	beside.Wait()

	count := 0
	err := h.(store.Scanner).Scan(nil, records, func(k, v []byte) bool {
		var i int
		if _, err := fmt.Sscanf(string(k), "key-%d", &i); err != nil {
			t.Errorf("key %q: %v", k, err)
			return false
		}
		version := 0
		if i < records/2 {
			version = 1
		}
		if version == 1 && i%3 == 0 || !bytes.Equal(v, value(i, version)) {
			t.Errorf("record %d is deleted or wrong", i)
		}
		count++
		return !t.Failed()
	})
	if want := records - records/2/3; err != nil || count != want {
		t.Errorf("%d records, want %d; %v", count, want, err)
	}
}

func key(i int) []byte { return fmt.Appendf(nil, "key-%07d", i) }

func value(i, version int) []byte {
	length := i * 31 % 700
	if i%997 == 0 {
		length = 20_000 // several pages
	}
	return bytes.Repeat([]byte{byte(i), byte(i >> 8), byte(version)}, length/3)
}
