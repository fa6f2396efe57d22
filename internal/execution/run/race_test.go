//go:build race

package run

import (
	"slices"

	"assay/drivers/bbolt"
	"assay/drivers/goleveldb"
	"assay/drivers/memcached"
	"assay/drivers/memory"
	"assay/drivers/nullstore"
	"assay/drivers/redis"
	"assay/internal/execution/server"
	"assay/store"
)

// linked are the drivers of the tests that run under the race detector. It looks at this process,
// not at stores, and compiling the other drivers' modules for it would take minutes.
func linked() []store.Driver {
	return []store.Driver{bbolt.Driver{}, goleveldb.Driver{}, memcached.Driver{}, memory.Driver{},
		nullstore.Driver{}, redis.Driver{}}
}

// programOf returns the server of a driver.
func programOf(driver string) (server.Program, bool) {
	programs := []server.Program{memcached.Program, redis.Program}
	i := slices.IndexFunc(programs, func(p server.Program) bool { return p.Driver == driver })
	if i < 0 {
		return server.Program{}, false
	}
	return programs[i], true
}
