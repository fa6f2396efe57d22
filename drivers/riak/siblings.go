package riak

import (
	"sync/atomic"

	"assay/store"
)

// The rules for a record of several values, which writers that did not know of each other have left.
const (
	newest         = "newest"
	failOnSiblings = "error"
)

// resolver gives a record with siblings one value, and counts. Handles share one.
type resolver struct {
	fail  bool
	reads atomic.Uint64 // gets of a record that had siblings
	extra atomic.Uint64 // siblings in them, beyond one a get
}

// value is that of the newest sibling: none if that is a tombstone.
func (r *resolver) value(newest sibling, siblings int) ([]byte, error) {
	if siblings > 1 {
		r.reads.Add(1)
		r.extra.Add(uint64(siblings - 1))
		if r.fail {
			return nil, errSiblings
		}
	}
	if siblings == 0 || newest.deleted {
		return nil, store.ErrNotFound
	}
	return newest.value, nil
}
