// Package drivers lists the stores that Assay's own Go worker can drive. Each sub-folder has one driver, which knows
// the package store and the library of its store; docs/add-a-driver.md says how to add one.
package drivers

import (
	"assay/drivers/badger"
	"assay/drivers/bbolt"
	"assay/drivers/boltdb"
	"assay/drivers/goleveldb"
	"assay/drivers/memcached"
	"assay/drivers/memory"
	"assay/drivers/nullstore"
	"assay/drivers/pebble"
	"assay/drivers/pogreb"
	"assay/drivers/sqlite"
	"assay/store"
)

// All returns a driver for each store, sorted by name.
func All() []store.Driver {
	return []store.Driver{
		badger.Driver{},
		bbolt.Driver{},
		boltdb.Driver{},
		goleveldb.Driver{},
		memcached.Driver{},
		memory.Driver{},
		nullstore.Driver{}, // "null"
		pebble.Driver{},
		pogreb.Driver{},
		sqlite.Driver{},
	}
}
