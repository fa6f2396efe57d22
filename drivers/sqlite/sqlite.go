// Package sqlite drives modernc.org/sqlite, SQLite translated to Go, through database/sql: one
// table, its key the primary key, in write-ahead-log mode. Records with columns are rows of a table
// with these columns. A handle is a connection with prepared statements of its own.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"assay/drivers/internal/fsync"
	"assay/drivers/internal/sqlkv"
	"assay/store"
)

// Driver opens SQLite files.
type Driver struct{}

// SQLITE_MAX_LENGTH is 10^9 bytes for a row. The two bounds together stay below it, and the driver
// holds to them.
const (
	keyBytesMax   = 1 << 20
	valueBytesMax = 1e9 - 2<<20
)

// Describe says what SQLite can do.
func (Driver) Describe() store.Description {
	return store.Description{
		Name:    "sqlite",
		Summary: "SQLite in Go: B-tree file with a write-ahead log, one writer, through database/sql",
		Library: "modernc.org/sqlite",
		Licence: "BSD-3-Clause",
		Kind:    store.Embedded,
		// https://www.sqlite.org/pragma.html#pragma_synchronous: in WAL mode NORMAL syncs at
		// checkpoints only, FULL the log after each transaction. The log is written by pwrite
		// (os_unix.c), so that a commit outlives the process.
		Durability: []store.DurabilityClaim{
			{Class: store.D1, How: "journal_mode=WAL, synchronous=NORMAL: the log is synced at checkpoints only (OFF: never, with option synchronous_off)"},
			{Class: store.D3, How: "journal_mode=WAL, synchronous=FULL: the log is synced after each transaction"},
		},
		Options: []store.Option{
			{Name: "page_bytes", Type: store.Bytes, Default: "4096", Help: "PRAGMA page_size, of a new file"},
			{Name: "cache_bytes", Type: store.Bytes, Default: strconv.Itoa(2000 << 10), Help: "PRAGMA cache_size, of each connection, in whole KiB",
				Tune: "log 1MiB 1GiB"},
			{Name: "mmap_bytes", Type: store.Bytes, Default: "0", Help: "PRAGMA mmap_size: how much of the file is read through a mapping",
				Tune: "list 0 64MiB 256MiB 1GiB"},
			{Name: "wal_autocheckpoint_pages", Type: store.Int, Default: "1000", Help: "PRAGMA wal_autocheckpoint: the commit that fills the log so far moves it into the file; 0: never",
				Tune: "log 250 16000"},
			{Name: "busy_timeout", Type: store.Duration, Default: "1m", Help: "PRAGMA busy_timeout: how long SQLite itself waits for another connection's write before the operation fails; the library's own default is 0, with which concurrent writers fail at once, and at 5s one of several writers was seen to starve and fail"},
			{Name: "synchronous_off", Type: store.Bool, Default: "false", Help: "PRAGMA synchronous=OFF instead of NORMAL: no syncs at all, and a power cut may damage the file; class D1 only"},
		},
		Processes:      true, // by locks of the file, and shared memory: https://www.sqlite.org/wal.html
		FixedDiskBytes: 52 << 10,
		KeyBytesMax:    keyBytesMax,
		ValueBytesMax:  valueBytesMax,
		BatchAtomic:    true,
		Abilities:      store.Probe((*db)(nil), (*sqlkv.Handle)(nil)),
		Note:           "one writer at a time; waiting writers poll with growing sleeps of up to 100 ms and without a queue, so that one may starve for seconds, and tails under concurrent writes are SQLite's waiting, not its work",
	}
}

// Open opens or creates the file.
func (Driver) Open(ctx context.Context, c store.Config) (store.Store, error) {
	synchronous := "NORMAL"
	switch c.Durability {
	case store.D1:
		if c.Options.Bool("synchronous_off") {
			synchronous = "OFF"
		}
	case store.D3:
		synchronous = "FULL"
		if c.Options.Bool("synchronous_off") {
			return nil, fmt.Errorf("sqlite can't reach D3 with synchronous_off: %w", store.ErrRefused)
		}
	default:
		return nil, fmt.Errorf("sqlite can't reach %s: its log goes to the page cache (D1) or is synced (D3), and there is nothing else: %w", c.Durability, store.ErrRefused)
	}
	page := c.Options.Bytes("page_bytes")
	if page < 512 || page > 65536 || page&(page-1) != 0 {
		return nil, fmt.Errorf("sqlite: page_bytes is %d, expected a power of two from 512 to 65536: %w", page, store.ErrRefused)
	}
	if c.Options.Int("wal_autocheckpoint_pages") < 0 || c.Options.Duration("busy_timeout") < 0 {
		return nil, fmt.Errorf("sqlite: wal_autocheckpoint_pages and busy_timeout can't be negative: %w", store.ErrRefused)
	}
	path := filepath.Join(c.Directory, "data.sqlite")
	pool, err := sql.Open("sqlite", dataSource(path, synchronous, c.Options))
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	pool.SetMaxIdleConns(-1) // a handle that is closed closes its connection: none is kept for the next one
	own, err := prepare(ctx, pool, page)
	if err == nil {
		err = fsync.Directory(c.Directory) // the file's name: SQLite syncs those of its logs only
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite: %w", err), closeOwn(own), pool.Close())
	}
	return &db{pool: pool, own: own, path: path, synchronous: synchronous, layout: plain}, nil
}

// dataSource lets each connection begin with the same pragmas. The library runs them in
// alphabetical order (sqlite.go, applyQueryParams), so that the two whose order matters are left to
// prepare.
func dataSource(path, synchronous string, o store.Options) string {
	query := make(url.Values)
	for _, pragma := range []string{
		fmt.Sprintf("busy_timeout(%d)", o.Duration("busy_timeout").Milliseconds()),
		"synchronous(" + synchronous + ")",
		fmt.Sprintf("cache_size(-%d)", max(1, o.Bytes("cache_bytes")>>10)),
		fmt.Sprintf("mmap_size(%d)", o.Bytes("mmap_bytes")),
		fmt.Sprintf("wal_autocheckpoint(%d)", o.Int("wal_autocheckpoint_pages")),
	} {
		query.Add("_pragma", pragma)
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

// prepare makes the file. The page size has to come first: it holds only for a file that is still
// empty. Both it and the journal mode are kept in the file, for every connection.
func prepare(ctx context.Context, pool *sql.DB, pageBytes int64) (*sql.Conn, error) {
	own, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := createTable(ctx, own, pageBytes); err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return own, nil
}

func createTable(ctx context.Context, own *sql.Conn, pageBytes int64) error {
	if _, err := own.ExecContext(ctx, fmt.Sprintf("PRAGMA page_size=%d", pageBytes)); err != nil {
		return err
	}
	var mode string
	if err := own.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the journal mode stays %q: this filesystem has no shared memory for a write-ahead log", mode)
	}
	_, err := own.ExecContext(ctx, plain.CreateSQL())
	return err
}

func closeOwn(own *sql.Conn) error {
	if own == nil {
		return nil
	}
	return own.Close()
}

type db struct {
	pool        *sql.DB
	path        string
	synchronous string
	layout      sqlkv.Layout // Define changes it, while no handle is open

	lock sync.Mutex // of own: Inspect may come while Sync runs
	own  *sql.Conn  // of the store itself, for settings, statistics and syncs
}

func (d *db) Close() error { return errors.Join(d.own.Close(), d.pool.Close()) }

// Sync moves the whole log into the file, as a connection that syncs both. With synchronous=OFF
// what earlier checkpoints moved was never synced, and only syncing the filesystem catches it: the
// file itself must not be opened here, because closing it would drop SQLite's locks on it
// (fcntl(2)).
func (d *db) Sync() error {
	d.lock.Lock()
	defer d.lock.Unlock()
	ctx := context.Background()
	if _, err := d.own.ExecContext(ctx, "PRAGMA synchronous=FULL"); err != nil {
		return fmt.Errorf("sqlite: raise synchronous for a sync: %w", err)
	}
	var busy, logPages, movedPages int
	err := d.own.QueryRowContext(ctx, "PRAGMA wal_checkpoint(FULL)").Scan(&busy, &logPages, &movedPages)
	if err == nil && busy != 0 {
		err = fmt.Errorf("%d of %d log pages could be moved, others were in use", movedPages, logPages)
	}
	if _, back := d.own.ExecContext(ctx, "PRAGMA synchronous="+d.synchronous); back != nil {
		err = errors.Join(err, back)
	}
	if err != nil {
		return fmt.Errorf("sqlite checkpoint: %w", err)
	}
	if d.synchronous == "OFF" {
		return fsync.Filesystem(filepath.Dir(d.path))
	}
	return nil
}

var settings = []string{
	"page_size", "journal_mode", "synchronous", "cache_size", "mmap_size", "wal_autocheckpoint", "busy_timeout",
	"locking_mode", "auto_vacuum", "temp_store", "encoding",
}

// Settings asks SQLite. synchronous is 0 for OFF, 1 for NORMAL, 2 for FULL; a negative cache_size
// is in KiB.
func (d *db) Settings() map[string]string {
	d.lock.Lock()
	defer d.lock.Unlock()
	values := make(map[string]string)
	for _, name := range settings {
		var value string
		if err := d.own.QueryRowContext(context.Background(), "PRAGMA "+name).Scan(&value); err == nil {
			values[name] = value
		}
	}
	var version string
	if err := d.own.QueryRowContext(context.Background(), "SELECT sqlite_version()").Scan(&version); err == nil {
		values["sqlite_version"] = version
	}
	return values
}

// Inspect reports no background work: SQLite has none, checkpoints are part of the commit that starts
// them. Nor does it report hits and misses of the page caches, which each connection counts for
// itself: sqlite3_db_status needs the connection's pointer, which modernc.org/sqlite does not
// expose, and there is no pragma for it. The driver sqlite-c reports them.
func (d *db) Inspect() store.Inspection {
	stats := make(map[string]float64)
	d.lock.Lock()
	for pragma, name := range map[string]string{"PRAGMA page_count": "pages", "PRAGMA freelist_count": "free_pages", "PRAGMA page_size": "page_bytes"} {
		var n int64
		if err := d.own.QueryRowContext(context.Background(), pragma).Scan(&n); err == nil {
			stats[name] = float64(n)
		}
	}
	d.lock.Unlock()
	for suffix, name := range map[string]string{"": "file_bytes", "-wal": "wal_bytes"} {
		if info, err := os.Stat(d.path + suffix); err == nil {
			stats[name] = float64(info.Size())
		}
	}
	stats["open_connections"] = float64(d.pool.Stats().OpenConnections)
	return store.Inspection{Stats: stats}
}
