package tokyotyrant

import (
	"fmt"

	"assay/store"
)

// The classes follow Tokyo Cabinet 1.4.48, whose put ends before the server answers:
//
//   - tchdbput writes to the mapped part of the file, or by pwrite(2): a kill loses nothing.
//   - tcbdbput changes a leaf in the process's cache (tcbdb.c, tcbdbputimpl), and so does each index
//     of a table, which is such a tree (tctdb.c, tctdbidxput).
//   - Databases in memory end with the process.
//
// An update log (-ulog) is written after the database, by write(2) and without a sync, and is
// replayed by hand: it changes no class.

// hosts are the kinds of database that stat reports, as a driver takes them, with the strongest class
// of answered puts.
var hosts = map[string]struct {
	driver string
	class  store.Durability
}{
	"hash":           {"tokyotyrant", store.D1},
	"on-memory hash": {"tokyotyrant", store.D0},
	"on-memory tree": {"tokyotyrant", store.D0},
	"B+ tree":        {"tokyotyrant-btree", store.D0},
	"table":          {"tokyotyrant-table", store.D1}, // without indexes: see Define
}

// refuse says why what a server hosts can't be driven, or gives another class.
func refuse(driver, endpoint string, told status, noAnswer bool, class store.Durability) error {
	kind := told["type"]
	host, known := hosts[kind]
	switch {
	case !known:
		return fmt.Errorf("%s at %s hosts a database of type %q, which no driver takes: %w", driver, endpoint,
			kind, store.ErrRefused)
	case host.driver != driver:
		return fmt.Errorf("%s at %s hosts a database of type %q: driver %s takes it: %w", driver, endpoint,
			kind, host.driver, store.ErrRefused)
	case noAnswer && class != store.D0:
		return fmt.Errorf("%s can't reach %s: write: putnr gives D0, since it has no answer: %w", driver,
			class, store.ErrRefused)
	case noAnswer:
		return nil
	case class == store.D1 && host.class == store.D0:
		return fmt.Errorf("%s at %s can't reach D1: a database of type %q gives D0; one in a file *.tch would: %w",
			driver, endpoint, kind, store.ErrRefused)
	case class == store.D0 && kind == "hash":
		return fmt.Errorf("%s at %s can't reach D0: a database of type %q gives D1; one in memory or write: "+
			"putnr would: %w",
			driver, endpoint, kind, store.ErrRefused)
	}
	return nil
}
