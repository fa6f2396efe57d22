// Package drivers lists the stores that Assay's own Go worker can drive. Each sub-folder has one
// driver, which knows the package store and the library of its store; docs/add-a-driver.md says how
// to add one.
package drivers

import (
	"assay/drivers/badger"
	"assay/drivers/bbolt"
	"assay/drivers/boltdb"
	"assay/drivers/cassandra"
	"assay/drivers/etcd"
	"assay/drivers/goleveldb"
	"assay/drivers/mariadb"
	"assay/drivers/memcached"
	"assay/drivers/memory"
	"assay/drivers/mongodb"
	"assay/drivers/nats"
	"assay/drivers/nullstore"
	"assay/drivers/pebble"
	"assay/drivers/pogreb"
	"assay/drivers/postgres"
	"assay/drivers/redis"
	"assay/drivers/riak"
	"assay/drivers/sqlite"
	"assay/drivers/tarantool"
	"assay/drivers/tokyotyrant"
	"assay/internal/execution/server"
	"assay/store"
)

// All returns a driver for each store, sorted by name.
func All() []store.Driver {
	return []store.Driver{
		badger.Driver{},
		bbolt.Driver{},
		boltdb.Driver{},
		cassandra.Driver{},
		etcd.Driver{},
		mongodb.FerretDB{},
		goleveldb.Driver{},
		mariadb.Driver{},
		memcached.Driver{},
		memory.Driver{},
		mongodb.Driver{},
		nats.Driver{},
		nullstore.Driver{}, // "null"
		pebble.Driver{},
		pogreb.Driver{},
		postgres.Driver{},
		redis.Driver{},
		riak.Driver{},
		sqlite.Driver{},
		tarantool.Driver{},
		tokyotyrant.Driver{},
		tokyotyrant.Tree{},
		tokyotyrant.Table{},
	}
}

// Programs returns the servers that Assay can start, sorted by the names of their drivers.
func Programs() []server.Program {
	return []server.Program{
		cassandra.Program,
		etcd.Program,
		mongodb.FerretProgram,
		mariadb.Program,
		memcached.Program,
		mongodb.Program,
		nats.Program,
		postgres.Program,
		redis.Program,
		tarantool.Program,
		tokyotyrant.Program,
		tokyotyrant.TreeProgram,
		tokyotyrant.TableProgram,
	}
}

// Found returns the servers that Assay looks for and does not start: an experiment names where they
// are.
func Found() []server.Program { return []server.Program{riak.Program} }

// Program returns the server that a driver speaks to, if Assay can start it.
func Program(driver string) (server.Program, bool) {
	for _, p := range Programs() {
		if p.Driver == driver {
			return p, true
		}
	}
	return server.Program{}, false
}
