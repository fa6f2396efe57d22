// Package pogreb drives github.com/akrylysov/pogreb: an append-only log of records with a hash
// index beside it.
package pogreb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/akrylysov/pogreb"
	files "github.com/akrylysov/pogreb/fs"

	"assay/drivers/internal/fsync"
	"assay/store"
)

// Driver opens pogreb directories.
type Driver struct{}

// Describe says what pogreb can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "pogreb",
		Summary: "append-only log with a hash index; many readers or one writer",
		Library: "github.com/akrylysov/pogreb",
		Licence: "Apache-2.0",
		Kind:    store.Embedded,
		// db.go, DB.Put: a record is appended by pwrite (fs/os_mmap.go: only reads go through the
		// mapping), and the segment is synced before Put returns if BackgroundSyncInterval is -1.
		Durability: []store.DurabilityClaim{
			{Class: store.D1, How: "Options.BackgroundSyncInterval = 0, the default: records are appended by pwrite"},
			{Class: store.D3, How: "Options.BackgroundSyncInterval = -1: the segment is synced after every write; the driver syncs all files before the lock file goes, which the library does not"},
		},
		Options: []store.Option{
			{Name: "background_compaction_interval", Type: store.Duration, Default: "0s", Help: "Options.BackgroundCompactionInterval: 0, the default, never reclaims the space of overwritten and deleted records; class D1 only"},
		},
		HandlesShareable: true,
		FixedDiskBytes:   12 << 10,
		KeyBytesMax:      pogreb.MaxKeyLength,
		ValueBytesMax:    pogreb.MaxValueLength,
		Abilities:        store.Probe((*db)(nil), (*handle)(nil)),
		Note: "at most 2^32 − 1 records; without background_compaction_interval the files only grow; every open file maps 1 GiB or more of address space; a new segment's name, every 4 GiB, is not synced by itself; " +
			"v0.10.2 now and then brings deleted records back, and old values of overwritten ones, without any crash: a put takes a free slot though the key stands in a later bucket (index.go, findInsertionBucket); " +
			"v0.10.2 loses writes after a second crash in a row: the driver works around it by opening a recovered database twice",
	}
}

// Open opens or creates the database.
func (Driver) Open(_ context.Context, c store.Config) (store.Store, error) {
	options := &pogreb.Options{BackgroundCompactionInterval: c.Options.Duration("background_compaction_interval")}
	switch c.Durability {
	case store.D1:
	case store.D3:
		options.BackgroundSyncInterval = -1
		options.FileSystem = syncedFiles{files.OSMMap, c.Directory}
		if options.BackgroundCompactionInterval > 0 {
			// compaction.go, DB.compact: records move to the current segment unsynced, and then
			// their old segment is removed.
			return nil, fmt.Errorf("pogreb can't reach D3 with background_compaction_interval: compaction moves records without a sync: %w", store.ErrRefused)
		}
	case store.D2:
		// db.go and datalog.go: sync is of the current segment only.
		return nil, fmt.Errorf("pogreb can't reach D2: its background sync leaves out a segment that became full since the last one: %w", store.ErrRefused)
	default:
		return nil, fmt.Errorf("pogreb can't reach %s: records go to the page cache (D1) or are synced (D3), and there is nothing else: %w", c.Durability, store.ErrRefused)
	}
	if options.BackgroundCompactionInterval < 0 {
		return nil, fmt.Errorf("pogreb: background_compaction_interval is %v, expected 0 or more: %w", options.BackgroundCompactionInterval, store.ErrRefused)
	}
	engine, err := open(c.Directory, options)
	if err != nil {
		return nil, fmt.Errorf("open pogreb: %w", err)
	}
	d := &db{engine: engine, options: options, directory: c.Directory}
	if c.Durability == store.D3 {
		// The library does not make its files' names durable.
		if err := fsync.Directory(c.Directory); err != nil {
			return nil, errors.Join(err, engine.Close())
		}
	}
	return d, nil
}

// open opens the database twice where the library has to recover it. recovery.go cuts a torn record
// off the segment's file, but goes on to append where the torn one ended: the hole of zeros ends
// the next recovery, and every write after it is lost, synced or not. A second opening takes the
// file's length anew.
func open(directory string, options *pogreb.Options) (*pogreb.DB, error) {
	_, err := os.Stat(filepath.Join(directory, lockFile))
	closedProperly := errors.Is(err, fs.ErrNotExist)
	engine, err := pogreb.Open(directory, options)
	if err != nil || closedProperly {
		return engine, err
	}
	if err := engine.Close(); err != nil {
		return nil, fmt.Errorf("close after recovery: %w", err)
	}
	return pogreb.Open(directory, options)
}

// lockFile is lockName of the library's lock.go: it is there while the database is open, and after
// a crash.
const lockFile = "lock"

type db struct {
	engine    *pogreb.DB
	options   *pogreb.Options
	directory string
}

func (d *db) Handle() (store.Handle, error) { return &handle{d}, nil }

// Sync syncs all files: DB.Sync is of the current segment only, and a full one may never have been
// synced.
func (d *db) Sync() error { return fsync.Files(d.directory) }

// Close leaves files that are as durable as the class: see syncedFiles.
func (d *db) Close() error { return d.engine.Close() }

func (d *db) Settings() map[string]string {
	return map[string]string{
		"BackgroundSyncInterval":       d.options.BackgroundSyncInterval.String(),
		"BackgroundCompactionInterval": d.options.BackgroundCompactionInterval.String(),
		"FileSystem":                   "fs.OSMMap",
	}
}

// Inspect never says busy: pogreb does not report a compaction that is under way.
func (d *db) Inspect() store.Inspection {
	m := d.engine.Metrics()
	stats := map[string]float64{
		"records":         float64(d.engine.Count()),
		"puts":            float64(m.Puts.Value()),
		"gets":            float64(m.Gets.Value()),
		"deletes":         float64(m.Dels.Value()),
		"hash_collisions": float64(m.HashCollisions.Value()),
	}
	if size, err := d.engine.FileSize(); err == nil {
		stats["files_bytes"] = float64(size)
	}
	return store.Inspection{Stats: stats}
}

type handle struct{ *db }

func (h *handle) Close() error { return nil }

var errKeyTooLong = fmt.Errorf("pogreb: the key is longer than %s bytes", strconv.Itoa(pogreb.MaxKeyLength))

// Get hands out the library's own copy.
func (h *handle) Get(key, _ []byte) ([]byte, error) {
	value, err := h.engine.Get(key)
	if err != nil {
		return nil, err
	}
	if value == nil { // the empty value is empty, and not nil
		return nil, store.ErrNotFound
	}
	return value, nil
}

func (h *handle) Put(key, value []byte) error { return h.engine.Put(key, value) }

// Delete checks the length, which the library does not: it compares lengths cut to 16 bits.
func (h *handle) Delete(key []byte) error {
	if len(key) > pogreb.MaxKeyLength {
		return errKeyTooLong
	}
	return h.engine.Delete(key)
}
