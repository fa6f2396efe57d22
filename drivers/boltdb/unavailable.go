//go:build race

package boltdb

import (
	"context"
	"fmt"

	"assay/store"
)

const unavailable = "it can't be opened in a build with the race detector, whose pointer checks (checkptr) end the process in its bucket.go"

// describeEngine leaves all abilities out: there is no engine in this build.
func describeEngine(d *store.Description) { d.Note = unavailable }

// Open refuses.
func (Driver) Open(context.Context, store.Config) (store.Store, error) {
	return nil, fmt.Errorf("boltdb: %s: %w", unavailable, store.ErrRefused)
}
