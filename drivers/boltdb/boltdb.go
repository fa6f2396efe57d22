// Package boltdb drives github.com/boltdb/bolt, the original that bbolt was forked from, unchanged since 2017. One put
// is one read-write transaction, and all records stand in one bucket.
package boltdb

import "assay/store"

// Driver opens bolt files.
type Driver struct{}

// Limits of the library, bucket.go. They are written out here so that the description does not need the engine, which
// is not in every build; a test compares them.
const (
	keyBytesMax   = 32768
	valueBytesMax = 1<<31 - 2
)

// Describe says what boltdb can do.
func (Driver) Describe() store.Description {
	d := store.Description{
		Name:    "boltdb",
		Summary: "the original of bbolt: copy-on-write B+tree in one mapped file, one writer",
		Library: "github.com/boltdb/bolt",
		Licence: "MIT",
		Kind:    store.Embedded,
		// tx.go, Tx.Commit: pages and then the meta page are written with WriteAt; fdatasync follows each of the two
		// unless DB.NoSync is set.
		Durability: []store.DurabilityClaim{
			{Class: store.D1, How: "DB.NoSync = true: commits are pwrite calls into the page cache; a power cut may leave a file that can't be opened"},
			{Class: store.D3, How: "DB.NoSync = false, the default: two fdatasync calls a commit"},
		},
		Options: []store.Option{
			{Name: "initial_mmap_bytes", Type: store.Bytes, Default: "0", Help: "Options.InitialMmapSize: address space mapped at open, so that growing seldom waits for readers"},
			{Name: "no_grow_sync", Type: store.Bool, Default: "false", Help: "Options.NoGrowSync: do not truncate and sync the file when it grows"},
			{Name: "alloc_bytes", Type: store.Bytes, Default: "16MiB", Help: "DB.AllocSize: how much the file grows at a time"},
			{Name: "fill_percent", Type: store.Int, Default: "50", Help: "100 × Bucket.FillPercent: how full a page is left when it is split, 10 to 100"},
		},
		HandlesShareable: true,
		FixedDiskBytes:   24 << 10,
		KeyBytesMin:      1,
		KeyBytesMax:      keyBytesMax,
		ValueBytesMax:    valueBytesMax,
		BatchAtomic:      true,
		Note: "not maintained since 2017; it makes pointers that break the rules of Go's unsafe package (bucket.go, page.go, freelist.go), " +
			"which runs in ordinary builds and ends the process under the race detector or checkptr; one writer at a time, as in bbolt",
	}
	describeEngine(&d)
	return d
}
