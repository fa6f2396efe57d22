// Package nullstore is the driver "null": it does nothing, as cheaply as can be. Its rate is the
// ceiling that the harness itself allows, and is printed beside every figure.
package nullstore

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"assay/store"
)

// Driver opens the store that stores nothing.
type Driver struct{}

// Describe claims every class and ability, so that the ceiling of any experiment can be measured.
func (Driver) Describe() store.Description {
	const how = "nothing is stored: this is the ceiling of the harness"
	return store.Description{
		Name:    "null",
		Summary: "does nothing: the ceiling of the harness",
		Licence: "NONE",
		Kind:    store.None,
		Durability: []store.DurabilityClaim{
			{Class: store.D0, How: how}, {Class: store.D1, How: how}, {Class: store.D2, How: how},
			{Class: store.D3, How: how}, {Class: store.D4, How: how},
		},
		HandlesShareable: true,
		BatchAtomic:      true,
		Expiry:           &store.Expiry{UnitNS: 1},
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note:             "it keeps nothing: every read gives the empty value, every scan ends at once, every query finds one record, and nothing can be verified",
	}
}

// Open never fails.
func (Driver) Open(context.Context, store.Config) (store.Store, error) { return &db{}, nil }

type db struct{}

func (*db) Handle() (store.Handle, error) { return &handle{}, nil }
func (*db) Settings() map[string]string   { return map[string]string{} }
func (*db) Sync() error                   { return nil }
func (*db) Close() error                  { return nil }

// Define accepts columns, indexes and queries of every kind.
func (*db) Define([]store.Column, []store.Index, []store.Query) error { return nil }

type handle struct{}

// empty is not nil: the empty value is a value.
var empty = []byte{}

func (*handle) Get(_, _ []byte) ([]byte, error)                            { return empty, nil }
func (*handle) Put(_, _ []byte) error                                      { return nil }
func (*handle) PutFor(_, _ []byte, _ time.Duration) error                  { return nil }
func (*handle) Delete(_ []byte) error                                      { return nil }
func (*handle) Apply(_ []store.Write) error                                { return nil }
func (*handle) Scan(_ []byte, _ int, _ func(key, value []byte) bool) error { return nil }
func (*handle) Add(_, _ []byte) error                                      { return nil }
func (*handle) CompareAndSwap(_, _, _ []byte) error                        { return nil }
func (*handle) Modify(_ []byte, _ []int, _ [][]byte) error                 { return nil }
func (*handle) Increment(_ []byte, _ int, _ int64) error                   { return nil }
func (*handle) Touch(_ []byte, _ time.Duration) error                      { return nil }
func (*handle) Append(_, _ []byte) error                                   { return nil }
func (*handle) GetAndSet(_, _, _ []byte) ([]byte, error)                   { return empty, nil }
func (*handle) Close() error                                               { return nil }

// MultiGet finds each key in one call.
func (*handle) MultiGet(_, values [][]byte, _ []byte) (int, error) {
	for i := range values {
		values[i] = empty
	}
	return 1, nil
}

// Query finds one empty record, not none: to find nothing where something must be is an outcome of
// its own.
func (*handle) Query(_ int, _ [][]byte, visit func(key, record []byte) bool) error {
	visit(empty, empty)
	return nil
}

// Count counts one, for the same reason.
func (*handle) Count(int, [][]byte) (uint64, error) { return 1, nil }

// DeleteQuery says that it deleted one.
func (*handle) DeleteQuery(int, [][]byte) (uint64, error) { return 1, nil }

// Loop ends each operation at the next Reap.
func (*db) Loop(_, _ int) (store.Loop, error) { return &loop{}, nil }

type loop struct{ submitted, ending []int }

func (l *loop) Submit(lane int, _ *store.Request) { l.submitted = append(l.submitted, lane) }

func (l *loop) Reap(wait time.Duration, ended store.Ended) error {
	if len(l.submitted) == 0 && wait > 0 {
		// As exactly as the loops of servers wait; a signal may end it, and then it was shorter.
		timeout := unix.NsecToTimeval(int64(wait))
		_, _ = unix.Select(0, nil, nil, nil, &timeout)
	}
	l.ending, l.submitted = l.submitted, l.ending[:0]
	for _, lane := range l.ending {
		ended(lane, empty, nil)
	}
	return nil
}

func (*loop) Close() error { return nil }
