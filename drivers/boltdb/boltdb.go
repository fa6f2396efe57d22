// Package boltdb drives github.com/boltdb/bolt, the original that bbolt was forked from, unchanged
// since 2017.
package boltdb

import (
	"assay/drivers/internal/bolt"
	"assay/store"
)

// Driver opens bolt files.
type Driver struct{}

// Limits of the library, bucket.go. They are written out here so that the description does not need
// the engine, which is not in every build; a test compares them.
const (
	keyBytesMax   = 32768
	valueBytesMax = 1<<31 - 2
)

// Describe says what boltdb can do.
func (Driver) Describe() store.Description {
	d := store.Description{
		Name:             "boltdb",
		Summary:          "the original of bbolt: copy-on-write B+tree in one mapped file, one writer",
		Library:          "github.com/boltdb/bolt",
		Licence:          "MIT",
		Kind:             store.Embedded,
		Durability:       bolt.Durability(),
		Options:          bolt.Options(),
		HandlesShareable: true,
		FixedDiskBytes:   bolt.FixedDiskBytes,
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
